//! The journal file, in which a run records what it did, so that another run can continue or undo
//! it.
//!
//! The format is JSON Lines: a header, then one entry for each input. Entries are written and
//! flushed to the disk before the outputs that they describe are renamed to their places. So the
//! journal contains everything that an interrupted run can have left. A reader of an entry checks
//! whether its outputs really exist.

use super::barrier::sync_folder;
use super::claims::nth;
use super::destination::folder_of;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Marks the file as a journal: [`Header::MARK`].
    pub copyist: String,
    /// The version of the journal format: [`Header::VERSION`].
    pub version: u32,
    /// The program's version.
    pub program: String,
    /// The command.
    pub command: String,
    /// The other settings that determine the outputs.
    pub settings: String,
    /// Whether the run changes its inputs.
    pub in_place: bool,
    /// The folder that contains all inputs. The paths of entries are relative to it.
    pub root: Name,
}

impl Header {
    /// Value of the first member of every journal.
    pub const MARK: &str = "journal";
    /// The version that is written, and the newest one that can be read.
    pub const VERSION: u32 = 1;
    /// The command that writes one session, which is undone as a whole or not at all.
    pub const CONTINUE: &str = "continue";
}

/// The record of one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The main file of the input.
    pub path: Name,
    /// The session, where several sessions share the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The outcome for the input.
    pub outcome: String,
    /// The exit code that the outcome requires.
    pub exit: u8,
    /// Whether the run reported a warning or an error for the input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned: bool,
    /// Whether the run added rows to a database: the first of its files. Then the second file is the
    /// log of the database, of which the second output is a copy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rows: bool,
    /// The files that were read, in their state before the run.
    pub files: Vec<State>,
    /// The files that were written, in their state after the run.
    pub outputs: Vec<State>,
}

impl Entry {
    /// Returns an entry without files for this path.
    pub fn of(path: Name) -> Self {
        let (files, outputs, outcome) = (Vec::new(), Vec::new(), String::new());
        Self { path, session: None, outcome, exit: 0, warned: false, rows: false, files, outputs }
    }
}

/// State of a file at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The file's path.
    pub path: Name,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last change.
    pub modified: Option<String>,
    /// The BLAKE3 hash of its contents, if it was written by the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The path of the backup of the original that this file replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Name>,
    /// Whether the file contains quarantined data, which exists nowhere else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
    /// The size before the run, of a file to which the run only added bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown_from: Option<u64>,
    /// The path before the run, of a file that moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<Name>,
}

impl State {
    /// Whether both describe the same contents at the same path, made of a file that was at the same
    /// path before.
    pub fn is_alike(&self, other: &Self) -> bool {
        let made = |state: &Self| (state.path.clone(), state.size, state.hash.clone());
        let old = |state: &Self| (state.backup.clone(), state.moved_from.clone());
        made(self) == made(other) && old(self) == old(other)
    }
}

/// A path, stored as text, or as bytes if it is not valid UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Name {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Default for Name {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&Path> for Name {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_encoded_bytes().to_vec()),
        }
    }
}

impl Name {
    /// Returns the path.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            #[cfg(unix)]
            Self::Bytes(bytes) => {
                use std::os::unix::ffi::OsStrExt;
                PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
            }
            #[cfg(not(unix))]
            Self::Bytes(bytes) => PathBuf::from(String::from_utf8_lossy(bytes).into_owned()),
        }
    }
}

/// A journal that was read.
#[derive(Debug)]
pub struct Read {
    /// The first line.
    pub header: Header,
    /// The entries, in the order of the file.
    pub entries: Vec<Entry>,
    /// Number of lines that could not be read. A torn last line, which a power cut leaves, is not
    /// counted.
    pub unread: u64,
    /// Whether the last line was torn.
    pub torn: bool,
    /// The position in bytes after the last whole line, whether or not that line could be read.
    end: u64,
}

impl Read {
    /// Returns a journal of which only the header was written.
    pub fn begun(header: Header) -> Self {
        Self { header, entries: Vec::new(), unread: 0, torn: false, end: 0 }
    }
}

/// Reads a journal. `None` for an empty file, or one whose first line was torn.
pub fn read(file: &File) -> Result<Option<Read>> {
    let failed = |error| Error::io("cannot read", error);
    let mut lines = BufReader::new(file);
    lines.rewind().map_err(failed)?;
    let (mut line, mut end) = (Vec::new(), 0);
    let mut read: Option<Read> = None;
    loop {
        line.clear();
        let length = lines.read_until(b'\n', &mut line).map_err(failed)?;
        if !line.ends_with(b"\n") {
            // Nothing was done yet that a torn header could describe.
            let torn = || START.starts_with(line.get(..START.len().min(line.len())).unwrap_or(&[]));
            return match read {
                None if !torn() => Err(no_journal()),
                read => Ok(read.map(|read| Read { torn: length > 0, ..read })),
            };
        }
        end += length as u64;
        if let Some(read) = &mut read {
            read.end = end;
        }
        match &mut read {
            None => {
                let header: Header = serde_json::from_slice(&line).map_err(|_| no_journal())?;
                if header.copyist != Header::MARK || header.version > Header::VERSION {
                    return Err(no_journal());
                }
                read = Some(Read { header, entries: Vec::new(), unread: 0, torn: false, end });
            }
            Some(read) => match serde_json::from_slice(&line) {
                Ok(entry) => read.entries.push(entry),
                Err(_) => read.unread += 1,
            },
        }
    }
}

/// The first bytes of every journal.
const START: &[u8] = b"{\"copyist\":\"journal\",\"version\":";

fn no_journal() -> Error {
    let why = "it is not a journal, or one of a newer release";
    Error::io("cannot go on", io::Error::new(io::ErrorKind::InvalidData, why))
}

/// Creates an empty journal under the first of the numbered names that is free.
pub fn free_journal(stem: &Path, ending: &str) -> Result<PathBuf> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut n = 1;
    loop {
        let mut name = nth(stem, n).into_os_string();
        name.push(ending);
        match options.write(true).create_new(true).open(&name) {
            Ok(_) => return Ok(name.into()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
            Err(error) => {
                return Err(Error::io(format!("cannot create {}", name.display()), error));
            }
        }
    }
}

/// A journal that is open for writing. As long as it is open, no other run can write to it.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// The position of the next entry, in bytes.
    end: u64,
}

impl Journal {
    /// Opens or creates a journal, and returns its contents. The file is not changed before
    /// [`begin`](Self::begin) or [`go_on`](Self::go_on).
    ///
    /// # Errors
    /// If it cannot be opened, another run has it, or it is something else.
    pub fn open(path: &Path) -> Result<(Self, Option<Read>)> {
        let failed = |error| Error::io("cannot open", error);
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(no_journal());
        }
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let busy = io::Error::new(io::ErrorKind::WouldBlock, "another run writes to it");
            return Err(failed(busy));
        }
        let read = read(&file)?;
        let end = read.as_ref().map_or(0, |read| read.end);
        sync_folder(folder_of(path))?;
        Ok((Self { file, end }, read))
    }

    /// Whether there are bytes after the last whole line.
    pub fn is_torn(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.len() > self.end)
    }

    /// Writes the header as the first line. Existing contents are removed, because they describe
    /// nothing that was done.
    pub fn begin(&mut self, header: &Header) -> Result<()> {
        self.end = 0;
        self.go_on()?;
        self.write(std::slice::from_ref(header))
    }

    /// Removes a last line without a line feed, which a power cut left: it describes nothing that
    /// was done. Whole lines stay, whatever they contain.
    pub fn go_on(&mut self) -> Result<()> {
        self.file.set_len(self.end).map_err(|error| Error::io("cannot write the journal", error))
    }

    /// Appends entries. They are on the disk when the function returns.
    pub fn append(&mut self, entries: &[Entry]) -> Result<()> {
        self.write(entries)
    }

    fn write(&mut self, lines: &[impl Serialize]) -> Result<()> {
        let mut text = Vec::new();
        let mut written = lines.iter().try_for_each(|line| {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
            Ok::<_, io::Error>(())
        });
        written = written.and_then(|()| {
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.write_all(&text)?;
            self.file.sync_data()
        });
        match written {
            Ok(()) => {
                self.end += text.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a line would spoil the next one.
                let _ = self.file.set_len(self.end);
                Err(Error::io("cannot write the journal", error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            copyist: Header::MARK.to_owned(),
            version: Header::VERSION,
            program: "0".to_owned(),
            command: "migrate".to_owned(),
            settings: String::new(),
            in_place: true,
            root: Name::Text("/".to_owned()),
        }
    }

    fn entry(n: u32) -> Entry {
        Entry {
            path: Name::Text(format!("{n}.jsonl")),
            session: None,
            outcome: "migrated".to_owned(),
            exit: 0,
            warned: false,
            rows: false,
            files: Vec::new(),
            outputs: Vec::new(),
        }
    }

    #[test]
    fn cut_at_every_byte_it_gives_its_whole_lines_and_goes_on_behind_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("j");
        let (mut journal, none) = Journal::open(&path).expect("a new file");
        assert!(none.is_none());
        journal.begin(&header()).expect("room");
        journal.append(&[entry(1), entry(2)]).expect("room");
        drop(journal);
        let whole = std::fs::read(&path).expect("a file");
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("room");
            let lines = whole[..cut].iter().filter(|b| **b == b'\n').count();
            let (mut journal, read) = Journal::open(&path).expect("a journal");
            assert_eq!(read.as_ref().map_or(0, |read| 1 + read.entries.len()), lines, "{cut}");
            if lines > 0 {
                journal.go_on().expect("room");
                journal.append(&[entry(3)]).expect("room");
                let read = super::read(&journal.file).expect("a journal").expect("a header");
                assert_eq!((read.entries.len(), read.unread), (lines, 0), "{cut}");
                assert_eq!(read.entries.last(), Some(&entry(3)), "{cut}");
            }
        }
    }

    #[test]
    fn nothing_else_is_taken_for_a_journal() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("j");
        let newer = String::from_utf8(serde_json::to_vec(&header()).expect("JSON"))
            .expect("UTF-8")
            .replace("\"version\":1", "\"version\":2");
        for text in ["precious", "precious\n", "{\"copyist\":\"0.1.0\"}\n", "{}\n", &(newer + "\n")]
        {
            std::fs::write(&path, text).expect("room");
            assert!(Journal::open(&path).is_err(), "{text}");
            assert_eq!(std::fs::read(&path).expect("a file"), text.as_bytes());
        }
    }

    #[test]
    fn a_journal_has_one_writer() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("j");
        let first = Journal::open(&path).expect("a new file");
        assert!(Journal::open(&path).is_err());
        drop(first);
        assert!(Journal::open(&path).is_ok());
    }
}
