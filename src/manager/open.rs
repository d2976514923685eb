//! Opening a session, and beginning one.

use super::Session;
use super::entries::Entries;
use super::file::{Files, QUIET};
use super::stream::each_record;
use crate::batch::{Gather, Job, JobSource, Opened, ReadOptions, group};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Named, OnError, Options, Parts, Version};
use crate::formats::{self, Spec};
use crate::ids;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};
use crate::store::Fingerprint;
use crate::times;
use jiff::Timestamp;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// How often a file that was changed a moment ago is read again.
const REREADS: u32 = 5;

/// A session as it was read from its files.
pub struct StoredSession {
    /// The format.
    pub format: &'static Format,
    /// The number of the version.
    pub version: u32,
    /// The records.
    pub entries: Entries,
    /// Its files, as they were before they were read.
    pub files: Files,
}

impl StoredSession {
    /// Reads the session in a file, and in those that belong to it. Damaged lines are kept. A file
    /// that cannot be read is read again if a program may still be writing it.
    ///
    /// # Errors
    /// If it cannot be read, or is not a session.
    pub fn read(path: &Path) -> Result<Self> {
        for _ in 0..REREADS {
            let read = Self::read_once(path);
            let age = Fingerprint::of(path).ok().and_then(|file| file.age());
            match age.and_then(|age| QUIET.checked_sub(age)).filter(|_| read.is_err()) {
                Some(rest) => std::thread::sleep(rest),
                None => return read,
            }
        }
        Self::read_once(path)
    }

    fn read_once(path: &Path) -> Result<Self> {
        let source = source_of(path);
        let options = reading();
        // Opening reads the beginning of the file, so the fingerprint is taken before it.
        let before = Fingerprint::of(path)?;
        let opened = Opened::new(&source, ReadOptions::new(None, &options), true)?;
        let none = || Error::request(Code::UnknownFormat, Code::UnknownFormat.title());
        let Opened { found, mut input, files, .. } = opened.ok_or_else(none)?;
        let log = Log::default();
        let cx = Cx { options: &options, log: &log };
        let parts = input.names().into_iter().zip(files.iter().map(|file| file.to_path_buf()));
        // What is written while they are read is read again before the first entry is appended.
        let files = Files::read(parts.collect(), home_of(&source), (path, before))?;
        let entries = Entries::read(formats::records(found.format, &mut input, &cx)?)?;
        let (format, version) = (found.format, found.sniffed.version);
        Ok(Self { format, version, entries, files })
    }
}

impl Session {
    /// Opens the session in a file of any format.
    ///
    /// ```no_run
    /// let session = copyist::Session::open("session.jsonl")?;
    /// for message in session.messages()? {
    ///     println!("{}: {}", message["role"], message["content"]);
    /// }
    /// # Ok::<(), copyist::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it cannot be read, or no format recognises it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let StoredSession { format, version, entries, files } = StoredSession::read(path.as_ref())?;
        let version = format.version(version).or(format.versions.last());
        let version = version.ok_or_else(|| Error::request(Code::WrongVersion, "no version"))?;
        Ok(Self { format, version, entries, files: Some(files), end: None })
    }

    /// Begins a session of this format (`pi`, `pi@3`), in memory alone, for the folder `cwd`.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn in_memory(format: &str, cwd: &str) -> Result<Self> {
        let spec = Spec::parse(format).map_err(|why| Error::request(Code::WrongFormat, why))?;
        let (format, version) = (spec.format, spec.version());
        let entries = Entries::new(header(format, version, cwd));
        Ok(Self { format, version, entries, files: None, end: None })
    }

    /// Begins a session of this format in a folder, for the folder `cwd`. The file is called as its
    /// agent calls it, and is written with the first entry.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn create(format: &str, cwd: &str, folder: impl AsRef<Path>) -> Result<Self> {
        let mut session = Self::in_memory(format, cwd)?;
        session.files = Some(Files::new(session.place_in(folder.as_ref()), None));
        Ok(session)
    }

    /// Begins a session of this format, for the folder `cwd`, in a file that the first entry will
    /// begin.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn create_at(format: &str, cwd: &str, path: impl AsRef<Path>) -> Result<Self> {
        let mut session = Self::in_memory(format, cwd)?;
        session.files = Some(Files::new(path.as_ref().to_owned(), None));
        Ok(session)
    }

    /// Opens the session for the folder `cwd` that was written to last among the files of a folder,
    /// or begins one.
    ///
    /// # Errors
    /// If the folder or the session cannot be read.
    pub fn continue_recent(format: &str, cwd: &str, folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let meta = entry.metadata().ok().filter(std::fs::Metadata::is_file);
            if let Some(time) = meta.and_then(|meta| meta.modified().ok()) {
                files.push((time, entry.path()));
            }
        }
        files.sort();
        let spec = Spec::parse(format).map_err(|why| Error::request(Code::WrongFormat, why))?;
        // The session record is near the beginning, so that no file is read whole.
        let fits = |path: PathBuf| {
            let mut here = false;
            let read = each_record(&path, &mut |record| {
                here = record.value.node.is(Field::Cwd, cwd);
                match record.value.kind {
                    Kind::Session => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            let same = read.is_ok_and(|(format, _)| format == spec.format.name);
            (same && here).then_some(path)
        };
        match files.into_iter().rev().find_map(|(_, path)| fits(path)) {
            Some(path) => Self::open(path),
            None => Self::create(format, cwd, folder),
        }
    }

    /// Reads the session again if another program wrote to it since.
    ///
    /// # Errors
    /// If it cannot be read, or is of another format now.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let Some(files) = self.files.as_ref().filter(|files| !files.are_current()) else {
            return Ok(());
        };
        let (path, read) = (files.main().display(), StoredSession::read(files.main())?);
        if read.format.name != self.format.name {
            let message = format!("{path} is now a session of {}", read.format.name);
            return Err(Error::request(Code::WrongFormat, message));
        }
        let chosen = self.entries.is_chosen().then(|| self.entries.leaf().cloned());
        (self.entries, self.files, self.end) = (read.entries, Some(read.files), None);
        match chosen {
            Some(Some(leaf)) if self.entries.has(&leaf) => self.entries.set_leaf(Some(leaf)),
            Some(None) => self.entries.set_leaf(None),
            _ => Ok(()),
        }
    }

    /// Returns the path that a new session gets in a folder.
    pub(super) fn place_in(&self, folder: &Path) -> PathBuf {
        let header = self.entries.header();
        let id = header.node.text(Field::Id).unwrap_or_default();
        let named = Named {
            session: &header.node,
            question: None,
            stem: &id,
            version: self.version.number,
            nth: 1,
            home: None,
        };
        let native = self.format.files.native.map(|native| native(&named));
        let name = native.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or(&id);
        let ending = self.format.extensions.first().copied().unwrap_or_default();
        folder.join(format!("{name}{ending}"))
    }
}

/// Returns the options with which sessions are read: damaged lines are kept.
pub fn reading() -> Options {
    Options { on_error: OnError::Keep, ..Options::default() }
}

/// Returns the session that a file belongs to, with all its files.
pub fn source_of(path: &Path) -> JobSource {
    let (source, relative) = (JobSource::File(path.into()), PathBuf::new());
    let job = Job { source, relative, named: true, passed_over: None };
    let whole = group(vec![job], &Gather { whole: true, session: None }).pop();
    whole.map_or_else(|| JobSource::File(path.into()), |job| job.source)
}

/// Returns the folder to which the names of a session's parts are paths, if it is one that sessions
/// share.
fn home_of(source: &JobSource) -> Option<PathBuf> {
    match source {
        JobSource::Whole(whole) => Some(whole.among.home.clone()),
        _ => None,
    }
}

/// Returns the session record of a new session.
pub fn header(format: &'static Format, version: &Version, cwd: &str) -> Located<Record> {
    let mut header = Record::new(Kind::Session);
    // Without a source, the writer of a list makes what its files hold beside the messages.
    if version.tree {
        let source = format!("{}@{}", format.name, version.number);
        header.node.set(Field::Source, Json::string(&source));
    }
    header.node.set(Field::Id, Json::string(&uuid()));
    header.node.set(Field::Created, Json::string(&times::with_millis(Timestamp::now())));
    header.node.set(Field::Cwd, Json::string(cwd));
    Located { value: header, at: Position::default() }
}

/// Returns a random UUID (version 4 of RFC 9562).
pub fn uuid() -> String {
    ids::uuid(random() & 0xffff_ffff_ffff_0fff | 0x4000, random() & 0x3fff_ffff_ffff_ffff | 1 << 63)
}

/// Returns a random number: the standard library seeds its hash tables with them.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
