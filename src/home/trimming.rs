//! Sessions that are made smaller for their own agent.

use super::converting::{Failed, converted, files, is_same, named, opened, spool, stem};
use super::summary::options;
use super::survey::Listed;
use crate::batch::{Job, Kind, Namer, OutputPlace};
use crate::context;
use crate::cuts::Cuts;
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts};
use crate::formats::Spec;
use crate::origin::{keep_whole, whole};
use crate::store::{Edit, Fingerprint, Held, Write, Writes, is_origin, origin_of};
use crate::trim::{Step, Weight, Weights, weigh};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Limits that the user sets for a session.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Maximum number of tokens that a model gets.
    pub tokens: Option<u64>,
    /// Maximum size in bytes of all files.
    pub bytes: Option<u64>,
    /// Number of the newest turns that stay as they are.
    pub keep_turns: usize,
    /// The kinds that may be cut; all that help, if none is named.
    pub drop: Vec<Step>,
}

/// Place of a trimmed session.
#[derive(Clone, Debug)]
pub enum TrimmedPlace {
    /// Its own files.
    InPlace,
    /// This file, and files beside it. The flag permits an existing file.
    File(PathBuf, bool),
    /// No file.
    Nowhere,
}

/// Size of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Size in bytes of its files.
    pub bytes: u64,
    /// Size in bytes of the text that a model gets.
    pub text: u64,
    /// Number of messages that a model gets.
    messages: u64,
}

/// A trimmed session, before its files get their places.
pub struct Trimming {
    /// The format.
    pub format: &'static Format,
    /// Weights of its contents.
    pub weights: Weights,
    /// Sums of what is cut of each kind, in the order of [`Step::ALL`].
    pub cut: [Weight; 6],
    /// Size before.
    pub before: Size,
    /// Size after.
    pub after: Size,
    /// Whether the session is within the limits.
    pub fits: bool,
    /// Place of the main file.
    pub path: PathBuf,
    /// The files that are to be written.
    pub writes: Writes,
}

/// Files of a session, and the states in which they were read.
type Read = HashMap<PathBuf, Fingerprint>;

/// Maximum number of attempts to come within a limit: sizes are weighed record by record, and the
/// limit is for the whole.
const ATTEMPTS: usize = 6;

/// Prepares a trimmed session. Nothing is written to its files.
///
/// # Errors
/// If its format has no lines, it cannot be read, or a model would get other messages.
pub fn trim(
    session: &Listed,
    limits: &Limits,
    place: &TrimmedPlace,
) -> std::result::Result<Trimming, Failed> {
    let work = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
    let job = session.job.path().map_or_else(|| session.job.clone(), |path| named(path));
    let opened = opened(&job)?;
    let format = opened.found.format;
    check(format)?;
    let own = Spec { format, version: format.version(opened.found.sniffed.version) };
    let read = opened.files.iter().map(|file| Ok((file.to_path_buf(), Fingerprint::of(file)?)));
    let read: Read = read.collect::<Result<_>>()?;
    let main = job.path().ok_or_else(|| refused("the session has no file"))?.to_path_buf();
    let mut input = opened.input;
    let (options, log) = (options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let weights = weigh(format, &mut input, limits.keep_turns, &cx)?;
    let before =
        Size { bytes: bytes_of(&mut input)?, text: weights.text, messages: weights.messages };
    let mut attempts = Attempts { job: &job, own, limits, weights, work: work.path(), before };
    let (out, cut, after) = attempts.fitting()?;
    let fits = attempts.fits(after);
    let mut trimming = Trimming {
        format,
        weights: attempts.weights,
        cut,
        before,
        after,
        fits,
        path: main.clone(),
        writes: Writes::default(),
    };
    let target = match place {
        TrimmedPlace::Nowhere => return Ok(trimming),
        _ if !fits => return Ok(trimming),
        TrimmedPlace::InPlace if out.is_none() => return Ok(trimming),
        TrimmedPlace::InPlace => not_held(&main, &read)?,
        TrimmedPlace::File(file, force) => free(file, *force)?,
    };
    let out = match out {
        Some(out) => out,
        None => written(&job, own, Cuts::default(), &work.path().join("same"))?,
    };
    let writes = placed((&job, own, &main), (&out, target), &read, work.path())?;
    trimming.path = target.to_owned();
    trimming.writes = Writes::of(writes);
    trimming.writes.keep(work);
    Ok(trimming)
}

/// Returns a main file, unless another program has it or a file beside it open.
fn not_held<'m>(main: &'m Path, read: &Read) -> Result<&'m Path> {
    let held = Held::among(read.keys().map(PathBuf::as_path));
    let why = read.keys().find_map(|file| held.why(file));
    why.map_or(Ok(main), |why| Err(Error::request(Code::Changed, why)))
}

/// Returns a path that no file has, or any path with `force`.
fn free(file: &Path, force: bool) -> Result<&Path> {
    if force || file.symlink_metadata().is_err() {
        return Ok(file);
    }
    let why = format!("{}: the file exists; `--force` replaces it", file.display());
    Err(Error::request(Code::Exists, why))
}

/// Returns the writes that give the files of a trimmed session in the folder `out`, and its origin,
/// their places, the main file's at `target`.
fn placed(
    (job, own, main): (&Job, Spec, &Path),
    (out, target): (&Path, &Path),
    read: &Read,
    work: &Path,
) -> Result<Vec<Write>> {
    let own_stem = stem(&out.join(main.file_name().unwrap_or_default()));
    let all = files(out);
    let place = |file: &Path| {
        let rest = file.to_string_lossy();
        let rest = rest.strip_prefix(&*own_stem.to_string_lossy()).unwrap_or_default().to_owned();
        match all.len() == 1 || rest == ending_of(main) {
            true => target.to_owned(),
            false => PathBuf::from(format!("{}{rest}", stem(target).display())),
        }
    };
    let origin = work.join("new.origin");
    let new_main = all.iter().find(|file| place(file) == target);
    let new_main = new_main.ok_or_else(|| refused("the session gave no file"))?;
    keep(job, own, &named(new_main), &origin)?;
    let mut writes = vec![write(&origin, origin_of(target), None, main)?];
    for file in all.iter().filter(|file| !is_origin(file)) {
        let to = place(file);
        if !is_same(file, &to) {
            let known = read.get(&to).copied();
            writes.push(write(file, to, known, main)?);
        }
    }
    Ok(writes)
}

/// Refuses a format whose sessions are not files of lines to which its agent only adds.
fn check(format: &Format) -> Result<()> {
    let is_of_lines = format.extensions.first() == Some(&".jsonl");
    if is_of_lines && format.files.shared.is_none() && format.agent.context.is_some() {
        return Ok(());
    }
    let name = format.name;
    Err(refused(format!("sessions of {name} are not trimmed: its agent writes their files again")))
}

fn refused(why: impl Into<String>) -> Error {
    Error::request(Code::WrongFormat, why)
}

/// Returns the write of a file, which was `read` in this state if it exists.
fn write(from: &Path, to: PathBuf, read: Option<Fingerprint>, like: &Path) -> Result<Write> {
    let from = from.to_owned();
    if to.symlink_metadata().is_err() {
        return Ok(Write::New { from, to, like: like.to_owned() });
    }
    let read = read.map_or_else(|| Fingerprint::of(&to), Ok)?;
    Ok(Write::Replace { edit: Edit::once(from, read), to })
}

/// Returns the ending of a main file.
fn ending_of(main: &Path) -> String {
    let name = main.to_string_lossy();
    name.strip_prefix(&*stem(main).to_string_lossy()).unwrap_or_default().to_owned()
}

/// Attempts to bring a session within its limits.
struct Attempts<'m> {
    job: &'m Job,
    own: Spec,
    limits: &'m Limits,
    weights: Weights,
    work: &'m Path,
    before: Size,
}

impl Attempts<'_> {
    /// Cuts as much as the limits need. Returns the folder with the result, unless nothing is cut.
    fn fitting(&mut self) -> std::result::Result<(Option<PathBuf>, [Weight; 6], Size), Failed> {
        let mut goal = self.missing(self.before);
        let is_limited = self.limits.tokens.is_some() || self.limits.bytes.is_some();
        let mut best = (None, Default::default(), self.before);
        for attempt in 0..ATTEMPTS {
            if is_limited && self.fits(best.2) {
                break;
            }
            let steps = self.steps();
            let last = attempt + 1 == ATTEMPTS;
            let enough = |sum: Weight| {
                is_limited && !last && sum.bytes >= goal.bytes && sum.context >= goal.context
            };
            let (cuts, cut) = self.weights.cuts(&steps, enough);
            if cut == best.1 {
                break;
            }
            let out = self.work.join(format!("out{attempt}"));
            let folder = written(self.job, self.own, cuts, &out)?;
            let after = self.measured(&folder)?;
            if after.messages != self.before.messages {
                let why = "a model would get other messages of the trimmed session";
                return Err(Error::request(Code::OtherOutput, why).into());
            }
            best = (Some(folder), cut, after);
            let more = self.missing(after);
            let saved = |size: fn(&Weight) -> u64| best.1.iter().map(size).sum::<u64>();
            goal.bytes = more.bytes + saved(|cut| cut.bytes);
            goal.context = more.context + saved(|cut| cut.context);
        }
        Ok(best)
    }

    /// Returns the kinds that may be cut: those that help, unless the user names them.
    fn steps(&self) -> Vec<Step> {
        let only_context = self.limits.tokens.is_some() && self.limits.bytes.is_none();
        let helps = |step: &Step| {
            !only_context || matches!(step, Step::Copies | Step::Images | Step::Results)
        };
        match self.limits.drop.as_slice() {
            [] => Step::ALL.into_iter().filter(helps).collect(),
            named => named.to_vec(),
        }
    }

    /// Returns the largest text for the limit of tokens.
    fn most_text(&self) -> u64 {
        self.limits.tokens.map_or(u64::MAX, |tokens| self.weights.text_of(tokens))
    }

    fn missing(&self, now: Size) -> Weight {
        Weight {
            records: 0,
            bytes: now.bytes.saturating_sub(self.limits.bytes.unwrap_or(u64::MAX)),
            context: now.text.saturating_sub(self.most_text()),
        }
    }

    fn fits(&self, now: Size) -> bool {
        self.missing(now) == Weight::default()
    }

    fn measured(&self, folder: &Path) -> Result<Size> {
        let files = files(folder);
        let main = files.iter().filter(|file| !is_origin(file));
        let main = main.min_by_key(|file| file.components().count());
        let job = named(main.ok_or_else(|| refused("the session gave no file"))?);
        let mut input = opened(&job)?.input;
        let (options, log) = (options(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let bytes = bytes_of(&mut input)?;
        let context::Size { messages, bytes: text, .. } =
            context::size(self.own.format, &mut input, &cx)?;
        Ok(Size { bytes, text, messages })
    }
}

/// Writes a session with these cuts into a folder; returns the folder.
fn written(
    job: &Job,
    own: Spec,
    cuts: Cuts,
    folder: &Path,
) -> std::result::Result<PathBuf, Failed> {
    let options = Options { cuts: Some(Arc::new(cuts)), origin: false, ..options() };
    let name = Namer::default().name(job, Kind::Same);
    converted((job, &name), own, OutputPlace::Folder(folder.to_owned()), options, None)?;
    Ok(folder.to_owned())
}

/// Writes the origin of a trimmed session. A session that was trimmed before has the whole one in its
/// origin.
pub fn keep(job: &Job, own: Spec, target: &Job, path: &Path) -> Result<()> {
    let failed = |error| Error::io("cannot write the origin", error);
    let mut sink = spool()?;
    let mut input = opened(job)?.input.with_origin(own.format, None);
    let mut before = whole(&mut input, &mut sink)?;
    let source: &mut dyn Parts = match &mut before {
        Some(source) => &mut source.parts,
        None => &mut input,
    };
    let (options, log) = (options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let file = Box::new(io::BufWriter::new(File::create(path).map_err(failed)?));
    keep_whole((own, source), &mut opened(target)?.input, file, &mut sink, &cx)
}

/// Returns the size of a session's files.
fn bytes_of(parts: &mut dyn Parts) -> Result<u64> {
    parts.keep()?;
    let sizes = parts.names().into_iter().map(|name| parts.size(&name));
    sizes.sum()
}
