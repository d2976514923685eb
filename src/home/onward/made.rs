//! Conversion of a session for another agent.

use super::compare::Sides;
use super::other::Other;
use super::{Failed, Onward, Recipient, Way, named, opened, options, summary_at};
use crate::batch::{FileReport, Found, Job, Kind, Namer, OutputPlace};
use crate::diagnostic::{Code, Log, Severity};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Map, Options, Parts};
use crate::formats::Spec;
use crate::home::converting::{begins_alike, converted, files, is_same, spool, stem};
use crate::home::places::HomeFolder;
use crate::home::survey::Listed;
use crate::ids;
use crate::origin::pair;
use crate::store::{Edit, Fingerprint, Write, Writes, is_origin, origin_of};
use crate::times;
use jiff::Timestamp;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Session that is converted.
pub struct Made<'m> {
    /// The session.
    pub job: &'m Job,
    /// Its format.
    pub format: &'static Format,
    /// The agent that gets the session.
    pub recipient: &'m Recipient<'m>,
    /// Folder for temporary files.
    pub work: &'m Path,
}

/// New lines and files for the other agent's session.
struct Additions {
    /// The writes.
    writes: Vec<Write>,
    /// A copy of the main file as it is then.
    main: PathBuf,
    /// Names of the parts that are other ones then, each with a copy of the file.
    parts: Vec<(String, PathBuf)>,
}

/// State of the other agent's session to which the new messages are added.
pub enum Base<'s> {
    /// The present one.
    Now(&'s mut Sides),
    /// The one that was known, of which the present one is a continuation with some or all of the new
    /// messages.
    Before(&'s mut Sides),
}

impl Made<'_> {
    /// Makes a new session of the agent. With a `note`, which says why it is not the one that the
    /// agent has already, it gets an identifier of its own.
    pub fn fresh(
        &self,
        session: &Listed,
        note: Option<String>,
    ) -> std::result::Result<Onward, Failed> {
        let Some(home) = self.recipient.places.first() else {
            return Err(Error::request(Code::Io, "no folder").into());
        };
        let own = session.summary.project.as_deref();
        let moved = self.recipient.cwd.as_deref().filter(|cwd| own.is_some_and(|own| own != *cwd));
        let maps = moved.zip(own).map(|(new, old)| Map::new(old, new));
        let is_apart = note.is_some();
        let to = self.recipient.to;
        let options = Options {
            map_paths: maps.into_iter().collect(),
            folder: Some(self.recipient.cwd.clone().unwrap_or_else(|| self.recipient.here.clone())),
            ignore_origin: is_apart,
            id: is_apart.then(new_id),
            home: Some(Arc::new(HomeFolder(home.path.clone()))),
            // A run that was killed and runs again on that day makes the same files.
            latest: to
                .format
                .agent
                .expires
                .then(|| times::day_of(Timestamp::now().as_millisecond())),
            ..options()
        };
        let out = self.work.join(if is_apart { "apart" } else { "new" });
        let name = Namer::default().name(self.job, Kind::Format(to.format));
        let report =
            converted((self.job, &name), to, OutputPlace::Native(out.clone()), options, None)?;
        self.mark(&report, &out, &home.path)?;
        let files = files(&out);
        // A session that stays in its format has no origin.
        let is_output = |file: &&PathBuf| report.output.as_ref().is_some_and(|out| out.is(file));
        let main = files.iter().find(|file| !is_origin(file) && origin_of(file).is_file());
        let main = main.or_else(|| files.iter().find(is_output));
        let Some(main) = main.cloned() else {
            return Err(Failed::Report(Box::new(report)));
        };
        if is_apart || moved.is_some() {
            // No writer makes this file from the session alone.
            let made = named(&main);
            let (mut source, mut made) = (opened(self.job)?, opened(&made)?);
            let to = if to.version.is_some() { to } else { spec_of(&made.found) };
            let source = (spec_of(&source.found), &mut source.input as &mut dyn Parts);
            write_pair(&origin_of(&main), source, (to, &mut made.input))?;
        }
        let place = |file: &Path| home.path.join(file.strip_prefix(&out).unwrap_or(file));
        // A run that was killed may have written some of the files.
        let (there, mut missing): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| place(file).symlink_metadata().is_ok());
        let is_same = there.iter().all(|file| is_same(file, &place(file)));
        if !is_apart && self.format == to.format && (!is_same || missing.is_empty()) {
            let why = format!("it is there already, as {}", place(&main).display());
            return Err(Error::request(Code::Exists, why).into());
        }
        if !is_same {
            let why = format!(
                "{} is there already and not a copy of this session, so this is a session of its own",
                place(&main).display()
            );
            return self.fresh(session, Some(why));
        }
        // A session without its origin would have no way back.
        missing.sort_by_key(|file| !is_origin(file));
        let new = |file: &PathBuf| self.new_file(file, place(file));
        let writes = missing.into_iter().map(new).collect::<Result<_>>()?;
        let summary = summary_at(&main, self.recipient.to.format);
        Ok(Onward {
            way: Way::New,
            path: place(&main),
            added: summary.messages,
            summary,
            note,
            report: Some(report),
            writes: Writes::of(writes),
            job: named(&main),
        })
    }

    /// Writes the file in which the software keeps the path of a project, where the project has none:
    /// by it the software finds the folder of a project that it does not know yet.
    fn mark(&self, report: &FileReport, out: &Path, home: &Path) -> Result<()> {
        let files = &self.recipient.to.format.files;
        let Some(index) = files.index.filter(|_| !files.marks.is_empty()) else { return Ok(()) };
        let Some(main) = report.output.as_ref().map(|output| output.path()) else { return Ok(()) };
        let Some(mark) = index(&main.to_string_lossy()).map(PathBuf::from) else { return Ok(()) };
        let place = home.join(mark.strip_prefix(out).unwrap_or(&mark));
        if place.symlink_metadata().is_ok() {
            return Ok(());
        }
        let project = summary_at(main, self.recipient.to.format).project;
        let written = project.map_or(Ok(()), |project| std::fs::write(&mark, project));
        written.map_err(|error| Error::io("cannot write", error))
    }

    /// Returns the write of a new file, which gets the permissions of the session.
    fn new_file(&self, from: &Path, to: PathBuf) -> Result<Write> {
        let none = || Error::request(Code::Io, "the session has no file");
        let like = self.job.files().next().ok_or_else(none)?.to_path_buf();
        Ok(Write::New { from: from.to_owned(), to, like })
    }

    /// Adds the new messages to the other agent's file, whose main file was `read` in this state.
    /// `Err` inside is the reason why that is not possible.
    pub fn added(
        &self,
        session: &Listed,
        other: &Other,
        read: Fingerprint,
        base: Base<'_>,
    ) -> std::result::Result<std::result::Result<Onward, String>, Failed> {
        let (is_resumed, sides) = match base {
            Base::Now(sides) => (false, sides),
            Base::Before(sides) => (true, sides),
        };
        let origin_read = Fingerprint::of(&other.origin)?;
        let theirs = named(&other.main);
        let mut then = opened(&theirs)?;
        let to = spec_of(&then.found);
        let origin = match other.is_original {
            true => None,
            false => Some(self.reverse_origin(&theirs, to, sides, is_resumed)?),
        };
        let out = self.work.join(if is_resumed { "resumed" } else { "out" });
        let name = Namer::default().name(self.job, Kind::Format(to.format));
        let done =
            converted((self.job, &name), to, OutputPlace::Folder(out.clone()), options(), origin);
        let report = match done {
            Ok(report) => report,
            Err(Failed::Report(report)) => {
                let all = || report.findings.diagnostics.iter();
                let first = all().find(|found| found.severity() == Severity::Error);
                let first = first.or_else(|| all().next()).map(|found| found.message.clone());
                let first = first.unwrap_or_default();
                return Ok(Err(format!("{first}; so this is a session of its own")));
            }
            Err(error) => return Err(error),
        };
        let known = (!is_resumed).then_some(sides.known);
        let own = out.join(&name.stem);
        let Additions { mut writes, main: after, parts } =
            match self.additions(&out, &own, other, (read, known))? {
                Ok(additions) => additions,
                Err(why) => return Ok(Err(why)),
            };
        let fresh = self.work.join("fresh.origin");
        for (name, path) in parts {
            then.input.replace(&name, &path)?;
        }
        let mut mine = opened(self.job)?;
        let mine: (Spec, &mut dyn Parts) = (spec_of(&mine.found), &mut mine.input);
        let then: (Spec, &mut dyn Parts) = (to, &mut then.input);
        let (source, target) = if other.is_original { (then, mine) } else { (mine, then) };
        write_pair(&fresh, source, target)?;
        let edit = Edit::once(fresh, origin_read);
        writes.push(Write::Replace { edit, to: other.origin.clone() });
        let mut summary = summary_at(&after, other.format);
        summary.project = summary.project.or_else(|| session.summary.project.clone());
        Ok(Ok(Onward {
            way: Way::Added,
            path: other.main.clone(),
            summary,
            added: sides.own,
            note: None,
            report: Some(report),
            writes: Writes::of(writes),
            job: named(&after),
        }))
    }

    /// Returns how the other agent's files get what is new in the converted ones below `out`, whose
    /// names begin with `own`. `Err` inside is the reason why that is not possible.
    fn additions(
        &self,
        out: &Path,
        own: &Path,
        other: &Other,
        (read, known): (Fingerprint, Option<u64>),
    ) -> Result<std::result::Result<Additions, String>> {
        let their = stem(&other.main);
        let (mut writes, mut after, mut parts) = (Vec::new(), None, Vec::new());
        for file in files(out).iter().filter(|file| !is_origin(file)) {
            let Some(rest) =
                file.to_string_lossy().strip_prefix(&*own.to_string_lossy()).map(str::to_owned)
            else {
                continue;
            };
            let to = PathBuf::from(format!("{}{rest}", their.display()));
            if !to.exists() {
                writes.push(self.new_file(file, to)?);
                parts.push((rest, file.clone()));
                continue;
            }
            let is_main = to == other.main;
            let read = if is_main { read } else { Fingerprint::of(&to)? };
            let known = known.filter(|known| is_main && *known > 0);
            let Some(skip) = behind(file, &to, (read.size(), known))? else {
                let why = "earlier messages were changed, so this is a session of its own";
                return Ok(Err(why.to_owned()));
            };
            let folder = self.work.join(format!("after-{}", parts.len()));
            let grown = grown(&folder, (file, skip), &to)?;
            parts.push((if is_main { String::new() } else { rest }, grown.clone()));
            if is_main {
                after = Some(grown);
            }
            if file.metadata().map_or(0, |meta| meta.len()) > skip {
                writes.push(Write::Grow { from: file.clone(), skip, to, read });
            }
        }
        let none = "the conversion gave no file, so this is a session of its own";
        Ok(after.map(|main| Additions { writes, main, parts }).ok_or_else(|| none.to_owned()))
    }

    /// Writes the origin by which the new messages of an original get to its copy: the copy as it is
    /// now, and the original as it was.
    fn reverse_origin(
        &self,
        copy: &Job,
        to: Spec,
        sides: &mut Sides,
        is_resumed: bool,
    ) -> Result<PathBuf> {
        let path = self.work.join("reverse.origin");
        let own = spec_of(&opened(self.job)?.found);
        let Sides { before, theirs, .. } = sides;
        let mut now = opened(copy)?.input;
        let copy: &mut dyn Parts = if is_resumed { theirs } else { &mut now };
        write_pair(&path, (to, copy), (own, before))?;
        Ok(path)
    }
}

/// Returns the format and version of a session that was found.
fn spec_of(found: &Found) -> Spec {
    Spec { format: found.format, version: found.format.version(found.sniffed.version) }
}

/// Copies a file into a folder, with what is in another one behind as many bytes.
fn grown(folder: &Path, (file, skip): (&Path, u64), to: &Path) -> Result<PathBuf> {
    let failed = |error| Error::io("cannot copy", error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let after = folder.join(to.file_name().unwrap_or_default());
    let grow = || {
        std::fs::copy(to, &after)?;
        let mut from = File::open(file)?;
        io::Seek::seek(&mut from, io::SeekFrom::Start(skip))?;
        let mut after = File::options().append(true).open(&after)?;
        io::copy(&mut from, &mut after)
    };
    grow().map_err(failed)?;
    Ok(after)
}

/// Writes the origin of two files as they are now.
fn write_pair(
    path: &Path,
    source: (Spec, &mut dyn Parts),
    target: (Spec, &mut dyn Parts),
) -> Result<()> {
    let failed = |error| Error::io("cannot write the origin", error);
    let file = File::create(path).map_err(failed)?;
    let (options, log) = (options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    pair(source, target, Box::new(io::BufWriter::new(file)), &mut spool()?, &cx)
}

/// Returns an identifier that no other session has.
fn new_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = || RandomState::new().hash_one(std::process::id());
    let (a, b) = (random(), random());
    // Version 4 and its variant.
    ids::uuid(a & 0xffff_ffff_ffff_0fff | 0x4000, b & 0x0fff_ffff_ffff_ffff | 0xa << 60)
}

/// Returns the position in `file` behind which its bytes are new for the file at `to` of this size;
/// `None` if it does not begin with that file's bytes. The agent may have added lines without
/// messages behind the `known` ones.
fn behind(file: &Path, to: &Path, (size, known): (u64, Option<u64>)) -> Result<Option<u64>> {
    if begins_alike(file, to, size)? {
        return Ok(Some(size));
    }
    match known.filter(|known| *known <= size) {
        Some(known) if begins_alike(file, to, known)? => Ok(Some(known)),
        _ => Ok(None),
    }
}
