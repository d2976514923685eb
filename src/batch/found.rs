//! Detection of an input's format, and of the files that make it up.

use super::beside::{Beside, beside, is_link};
use super::inputs::{Between, JobSource, Whole, stem};
use super::merged::merged;
use crate::detect::detect;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{At, Confidence, Format, Head, Options, Parts, Sniffed};
use crate::formats::{FORMATS, Spec};
use crate::json::{Cursor, EscapeStyle};
use crate::show::is_view;
use crate::store::{Input, Packing, is_origin, plain_name, target_beside};
use crate::yaml::encoding::Encoding;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The user's options for how inputs are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// The format of the inputs.
    pub from: Option<Spec>,
    /// The encoding of the inputs.
    pub encoding: Option<&'static Encoding>,
    /// Whether damaged inputs are repaired: compressed files are then unpacked as far as possible.
    pub mends: bool,
}

impl ReadOptions {
    /// Collects the format if the user named it, and the reading options.
    pub fn new(from: Option<Spec>, options: &Options) -> Self {
        Self { from, encoding: options.encoding, mends: false }
    }

    fn lent(self, input: Input) -> Input {
        if self.mends { input.up_to_tears() } else { input }
    }
}

/// A session that was detected and can be read.
#[derive(Debug)]
pub struct Opened<'j> {
    /// The detected format and version.
    pub found: Found,
    /// The parts of the session.
    pub input: Input,
    /// The files of the parts; none for standard input.
    pub files: Cow<'j, [Arc<Path>]>,
    /// Links beside the files, which the user did not name.
    pub links: Vec<Arc<Path>>,
    /// The main part's file, if the given path is that of another part.
    pub part_of: Option<Arc<Path>>,
}

impl<'j> Opened<'j> {
    /// Opens a session with all files that make it up. `None` for a file that is not a session, if
    /// the user did not name it.
    pub fn new(origin: &'j JobSource, reading: ReadOptions, named: bool) -> Result<Option<Self>> {
        let path = match origin {
            JobSource::File(path) => path,
            JobSource::Stdin => {
                let mut input = reading.lent(Input::stdin());
                let found = Found::of(&mut input, None, reading, named)?;
                let (files, links) = (Cow::default(), vec![]);
                let session = |found| Self { found, input, files, links, part_of: None };
                return found.map(|found| session(found).settled(reading)).transpose();
            }
            JobSource::Whole(whole) => return Self::whole(whole).map(Some),
            JobSource::Between(between) => return Self::between(between).map(Some),
            JobSource::Copies(files) => return Self::copies(files, reading).map(Some),
            // Each of its files is opened separately.
            JobSource::Joined { .. } => return Ok(None),
        };
        let file = Arc::clone(path);
        let input = match named {
            true if is_origin(path) => Input::of_origin(path),
            true => Input::file(file),
            false => Input::found(file),
        };
        let mut input = reading.lent(input?);
        let found = Found::of(&mut input, Some(path), reading, named);
        if let Some(opened) = Self::several(path, reading, &found, named)? {
            return opened.settled(reading).map(Some);
        }
        let Some(found) = found? else { return Ok(None) };
        if let Some((name, index)) = index(found.format, path) {
            input = input.with_index(name, index);
        }
        let files = Cow::Borrowed(std::slice::from_ref(path));
        // The user may have named the session, too.
        let main = || beside(found.format, path).files.into_iter().next().map(|(_, main)| main);
        let part_of = if named { main().filter(|main| main != path) } else { None };
        Self { found, input, files, links: vec![], part_of }.settled(reading).map(Some)
    }

    /// Determines the version, where the beginning of the main part alone does not show it and the
    /// user does not name it.
    fn settled(mut self, reading: ReadOptions) -> Result<Self> {
        let asked = reading.from.is_some_and(|spec| spec.version.is_some());
        let whole = self.part_of.is_none() || self.files.len() == 1;
        if let (Some(settle), true, false) = (self.found.format.settle, whole, asked) {
            self.input.keep()?;
            let limit = Options::default().max_line;
            self.found.sniffed.version = settle(&mut self.input, limit)?;
        }
        Ok(self)
    }

    /// Opens copies of a session as one.
    fn copies(files: &'j [Arc<Path>], reading: ReadOptions) -> Result<Self> {
        let all = files.iter().map(|file| (String::new(), Arc::clone(file)));
        let mut input = Input::files(all.take(1))?;
        input.put("", merged(files, &Options::default())?);
        let path = files.first().map(|file| &**file);
        let found = Found::of(&mut input, path, reading, true)?
            .ok_or_else(|| Error::unfit(Diagnostic::of(Code::UnknownFormat)))?;
        Ok(Self { found, input, files: Cow::Borrowed(files), links: vec![], part_of: None })
    }

    fn between(between: &'j Between) -> Result<Self> {
        let sniffed = Sniffed { confidence: Confidence::Certain, version: between.version };
        Ok(Self {
            found: Found { format: between.format, sniffed },
            input: Input::row(between.row.clone())?,
            files: Cow::Borrowed(std::slice::from_ref(&between.row.path)),
            links: vec![],
            part_of: None,
        })
    }

    fn whole(whole: &Whole) -> Result<Self> {
        let sniffed = Sniffed { confidence: Confidence::Certain, version: whole.version };
        Ok(Self {
            found: Found { format: whole.format, sniffed },
            input: Input::files(whole.files.iter().cloned())?.among(whole.among.clone()),
            files: whole.files.iter().map(|(_, path)| path.clone()).collect(),
            links: vec![],
            part_of: None,
        })
    }

    /// Opens a session of a format whose sessions may have several files, if the contents of one of
    /// the files confirm the format. A part whose main part is missing keeps its name.
    fn several(
        path: &Arc<Path>,
        reading: ReadOptions,
        own: &Result<Option<Found>>,
        named: bool,
    ) -> Result<Option<Self>> {
        let own = own.as_ref().ok().copied().flatten();
        let certain = own.filter(|own| own.sniffed.confidence == Confidence::Certain);
        for format in FORMATS {
            // There are many files: those that clearly have another format are not searched for
            // parts.
            if certain.is_some_and(|own| own.format.name != format.name) {
                continue;
            }
            let Beside { files, links } = beside(format, path);
            let Some((_, main)) = files.first() else { continue };
            // A file that the user named below a session's folder is what the user wants.
            let alone = if main == path { files.len() == 1 } else { named };
            if alone && format.files.beside.is_empty() {
                continue;
            }
            let of_format = |found: &Found| found.format.name == format.name;
            let theirs = || {
                files.iter().filter(|(_, file)| file != path).find_map(|(_, file)| {
                    let found = Found::of(
                        &mut Input::file(Arc::clone(file)).ok()?,
                        Some(file),
                        reading,
                        false,
                    );
                    found.ok().flatten().filter(of_format)
                })
            };
            let own = own.filter(of_format);
            let part_of = (main != path).then(|| main.clone());
            // The main part shows the version best.
            let found = match own {
                Some(own) if part_of.is_none() => own,
                own => match theirs().or(own) {
                    Some(found) => found,
                    None => continue,
                },
            };
            let paths = files.iter().map(|(_, file)| file.clone()).collect();
            let input = reading.lent(Input::files(files)?);
            return Ok(Some(Self { found, input, files: paths, links, part_of }));
        }
        Ok(None)
    }
}

/// Returns the session file of which a file in a walked folder seems to be a backup, kept under an
/// ending that the user chose.
pub fn backed_up(path: &Path, reading: ReadOptions) -> Option<PathBuf> {
    let name = plain_name(path.file_name()?.to_str()?);
    if stem(name) != name {
        return None;
    }
    let (first, ending) = name.rsplit_once('.')?;
    let number = ending.bytes().all(|b| b.is_ascii_digit());
    let second = first.rsplit_once('.').filter(|_| number).map(|(second, _)| second);
    let is_session = |path: &PathBuf| {
        let found = || {
            Found::of(&mut Input::file(path.as_path()).ok()?, Some(path), reading, false).ok()?
        };
        path.is_file() && found().is_some()
    };
    let mut originals = [Some(first), second].into_iter().flatten().map(|o| path.with_file_name(o));
    originals.find(is_session)
}

/// Describes the target of a link that was found in a folder, if a session may be missed because
/// links are not followed: the target is a folder or a session file.
pub fn missed(link: &Path, reading: ReadOptions) -> Option<&'static str> {
    let meta = std::fs::metadata(link).ok()?;
    if meta.is_dir() {
        return Some("it is a link to a folder");
    }
    let found = || Found::of(&mut Input::file(link).ok()?, Some(link), reading, false).ok()?;
    (meta.is_file() && found().is_some()).then_some("it is a link to a session")
}

/// Explains why no session can be read from a file that no format recognises, if the file has the
/// name of a session and so most likely was one. Other files in folders are ignored.
pub fn ruin(path: &Path, reading: ReadOptions) -> Result<Option<&'static str>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = plain_name(&name);
    if target_beside(path).is_some() {
        return Ok(Some("the session in it is lost; `copyist repair` restores it from the origin"));
    }
    if stem(name) == name {
        return Ok(None);
    }
    let mut input = reading.lent(Input::file(path)?);
    let (bytes, whole) = input.head()?;
    let head = Head { name, bytes, whole, encoding: reading.encoding };
    let buried =
        || detect(&head).is_some_and(|(_, sniffed)| sniffed.confidence == Confidence::Buried);
    let spread = || is_spread(&head).then_some(SPREAD);
    let found = head.ruin().or_else(spread).or_else(|| buried().then_some(BURIED));
    Ok(found.or_else(|| torn_first(&head)))
}

/// Returns why the first record cannot be read, if the file contains nothing else: it was cut off,
/// or it is longer than what formats are detected by.
fn torn_first(head: &Head<'_>) -> Option<&'static str> {
    let text = head.bytes.trim_ascii_start();
    // JSON of other programs has other names, or spaces before its first member.
    let is_record = head.name.ends_with(".jsonl") && text.starts_with(b"{\"");
    let fault = Cursor::new(text).skip_value().err().filter(|_| is_record)?;
    fault.what.is_truncation().then_some(if head.whole { TORN_FIRST } else { LONG_FIRST })
}

const TORN_FIRST: &str = "its first record is cut off, and no other follows";

const LONG_FIRST: &str = "its first record is too long to detect the format; `-f FORMAT` names it";

/// Whether the first value of the file, which is spread over several lines, is the first record of
/// a session.
fn is_spread(head: &Head<'_>) -> bool {
    let mut cursor = Cursor::new(head.bytes);
    if !head.is_pretty_json() || cursor.skip_value().is_err() {
        return false;
    }
    let mut line = Vec::new();
    EscapeStyle::SCRIPT.spell(head.bytes.get(..cursor.at()).unwrap_or_default(), &mut line);
    let begin = Head { bytes: &line, whole: false, ..*head };
    detect(&begin).is_some_and(|(_, sniffed)| sniffed.confidence == Confidence::Certain)
}

const SPREAD: &str = "its records are spread over several lines; `jq -c . FILE` prints each on one";

const BURIED: &str = "it does not begin as a session, but contains records of one; name the file \
                      to read it";

/// Returns the files of the session that the file at `path` is, or is part of.
pub fn files_of(path: &Arc<Path>, reading: ReadOptions, named: bool) -> Vec<Arc<Path>> {
    let alone = || vec![Arc::clone(path)];
    if FORMATS.iter().all(|format| beside(format, path).files.len() < 2) {
        return alone();
    }
    let origin = JobSource::File(Arc::clone(path));
    let opened = Opened::new(&origin, reading, named);
    opened.ok().flatten().map_or_else(alone, |opened| opened.files.into_owned())
}

/// Returns the session's name in the index file that contains more about the session at `path`, and
/// the path of that file, if there is one.
fn index(format: &Format, path: &Path) -> Option<(String, PathBuf)> {
    let index = format.files.index?;
    let path = std::path::absolute(path).ok()?;
    let index = PathBuf::from(index(&path.to_str()?.replace('\\', "/"))?);
    let name = path.file_stem()?.to_str()?.to_owned();
    (index.is_file() && !is_link(&index)).then_some((name, index))
}

/// The detected format and version of an input.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The format.
    pub format: &'static Format,
    /// The version, and how certain the detection is.
    pub sniffed: Sniffed,
}

impl Found {
    /// Returns the format and version in which a file was written, from the origin beside it.
    fn by_origin(path: &Path) -> Option<Self> {
        let target = Spec::parse(&target_beside(path)?).ok()?;
        let version = target.version().number;
        let sniffed = Sniffed { confidence: Confidence::Weak, version };
        Some(Self { format: target.format, sniffed })
    }

    /// Returns the format and the version.
    pub fn name(&self) -> At {
        At { format: self.format, number: self.sniffed.version }
    }

    /// Detects the format from the first bytes, unless the user named it. `None` for a file that is
    /// not a session, if the user did not name the file.
    pub fn of(
        input: &mut Input,
        path: Option<&Path>,
        reading: ReadOptions,
        named: bool,
    ) -> Result<Option<Self>> {
        let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let name = plain_name(&name);
        let (bytes, whole) = match input.head() {
            Err(_)
                if !named && path.is_some_and(|path| is_foreign_archive(path, name, reading)) =>
            {
                return Ok(None);
            }
            head => head?,
        };
        let head = Head { name, bytes, whole, encoding: reading.encoding };
        let found = match reading.from {
            _ if whole && bytes.trim_ascii().is_empty() => {
                Err(Error::unfit(Diagnostic::of(Code::Empty)))
            }
            Some(spec) => in_requested_format(spec, &head, named),
            None => recognised(&head, named),
        };
        // So little may be left of a damaged file that only its origin shows what it was.
        let is_remnant = whole && reading.mends && reading.from.is_none();
        let lost = path.filter(|_| is_remnant && found.is_err()).and_then(Self::by_origin);
        match found {
            Ok((format, sniffed)) => Ok(Some(Self { format, sniffed })),
            Err(_) if lost.is_some() => Ok(lost),
            Err(error) if named => Err(match input.torn() {
                // Too little of the file could be read to detect its format.
                Some(torn) => Error::unfit(Diagnostic::new(Code::TornArchive, torn.to_string())),
                None => error,
            }),
            Err(_) => Ok(None),
        }
    }
}

/// Whether a compressed file that is damaged near its beginning is not a session: it does not have
/// the name of one, and its readable part does not begin as one.
fn is_foreign_archive(path: &Path, name: &str, reading: ReadOptions) -> bool {
    let begins_as_session = || {
        let mut input = Input::file(path).ok()?.up_to_tears();
        let (bytes, whole) = input.head().ok()?;
        recognised(&Head { name, bytes, whole, encoding: reading.encoding }, false).ok()
    };
    Packing::of_file(path).is_some() && !is_called(name) && begins_as_session().is_none()
}

/// Whether a file has a name that sessions have, or no name.
fn is_called(name: &str) -> bool {
    FORMATS.iter().any(|format| Head::is_called(name, format.extensions))
}

/// Detects the format from the first bytes. A file in which a session's lines come after other text
/// is accepted only if the user named it and it has a name that sessions have. With another name,
/// the file quotes or describes a session.
fn recognised(head: &Head<'_>, named: bool) -> Result<(&'static Format, Sniffed)> {
    match detect(head) {
        None => Err(unknown(head)),
        Some((format, sniffed)) if sniffed.confidence == Confidence::Stray => {
            let message =
                format!("{}, only lines of {} beside one", Code::Stray.title(), format.name);
            Err(Error::request(Code::Stray, message))
        }
        Some((format, sniffed)) if sniffed.confidence == Confidence::Buried => {
            if named && is_called(head.name) {
                return Ok((format, sniffed));
            }
            let message = format!(
                "{}: it has lines of {}, but does not begin as a session; `-f {}` reads it as one",
                Code::UnknownFormat.title(),
                format.at(sniffed.version),
                format.name
            );
            Err(Error::request(Code::UnknownFormat, message))
        }
        Some(found) => Ok(found),
    }
}

/// Uses the format that the user named. A file that the format does not recognise may be damaged,
/// and its reader then reports the damage. A file that clearly has another format is refused.
fn in_requested_format(
    spec: Spec,
    head: &Head<'_>,
    named: bool,
) -> Result<(&'static Format, Sniffed)> {
    if head.archive().is_some() || is_view(head.bytes) {
        return Err(unknown(head));
    }
    let wrong = |what: String| Err(Error::request(Code::WrongFormat, what));
    let name = spec.format.name;
    let json_lines = spec.format.plane.is_some();
    let sniffed = match (spec.format.sniff)(head) {
        Some(sniffed) => sniffed,
        None => match detect(head) {
            Some((other, Sniffed { confidence: Confidence::Certain, version })) => {
                return wrong(format!("the file is {}, not {name}", other.at(version)));
            }
            _ if json_lines && head.is_pretty_json() => {
                return wrong(format!("{name} has one record a line, and the file is {PRETTY}"));
            }
            _ if json_lines && head.lacks_objects() => {
                let why = head.ruin().unwrap_or("no line begins as a JSON object does");
                return wrong(format!("the file is not {name}: {why}"));
            }
            _ => Sniffed { confidence: Confidence::Weak, version: spec.version().number },
        },
    };
    let foreign = !Head::is_called(head.name, spec.format.extensions);
    let unlike = match (spec.format.sniff)(head) {
        Some(sniffed) => sniffed.confidence == Confidence::Buried,
        None => foreign,
    };
    if !named && unlike {
        return wrong(format!("the file does not begin as a session of {name} does"));
    }
    let version = spec.version.map_or(sniffed.version, |version| version.number);
    Ok((spec.format, Sniffed { version, ..sniffed }))
}

const PRETTY: &str = "JSON spread over several lines; `jq -c . FILE` prints each record on one";

const VIEW: &str = "it is a view by copyist, which contains no session; name the session itself";

fn packed_in(archive: &str) -> String {
    format!("{}: it is {archive}; unpack it first", Code::UnknownFormat.title())
}

fn unknown(head: &Head<'_>) -> Error {
    let title = Code::UnknownFormat.title();
    let message = match head.archive() {
        Some(archive) => packed_in(archive),
        None if is_view(head.bytes) => format!("{title}: {VIEW}"),
        None if head.is_pretty_json() => format!("{title}: it is {PRETTY}"),
        None => head.ruin().map_or_else(|| title.into(), |why| format!("{title}: {why}")),
    };
    Error::request(Code::UnknownFormat, message)
}
