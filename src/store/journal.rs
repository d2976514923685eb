//! The file in which a run writes what it did, so that another can go on or take it back.
//!
//! JSON Lines: a header, then an entry for each input. Entries are written before the outputs that
//! they tell of get their places, and are on the disk by then. So whatever a run leaves that ended
//! at any moment is in its journal; whoever reads an entry looks whether it came true.

use super::barrier::sync_folder;
use super::destination::folder_of;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// What the file is: [`Header::MARK`].
    pub copyist: String,
    /// The version of this kind of file: [`Header::VERSION`].
    pub version: u32,
    /// The program's version.
    pub program: String,
    /// The command.
    pub command: String,
    /// What else decides on the outputs.
    pub settings: String,
    /// Whether the run changes its inputs.
    pub in_place: bool,
    /// The folder below which all inputs are; paths of entries are relative to it.
    pub root: Name,
}

impl Header {
    /// What the first member of every journal says.
    pub const MARK: &str = "journal";
    /// The version that is written, and the newest that is read.
    pub const VERSION: u32 = 1;
}

/// What became of one input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its main file.
    pub path: Name,
    /// Which of the sessions that share the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What became of it.
    pub outcome: String,
    /// The exit code that it calls for.
    pub exit: u8,
    /// The files that were read, as they were before.
    pub files: Vec<State>,
    /// The files that were written, as they are.
    pub outputs: Vec<State>,
}

/// A file at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Where it is.
    pub path: Name,
    /// Its size in bytes.
    pub size: u64,
    /// When it was written to.
    pub modified: Option<String>,
    /// The BLAKE3 hash of its contents, if it was written by the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Where the original is that it took the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Name>,
    /// Whether it holds what was set aside, which nobody else has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

/// A path; one that is no text as its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Name {
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
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
    /// The path.
    #[must_use]
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
    /// Its first line.
    pub header: Header,
    /// Its entries, in their order.
    pub entries: Vec<Entry>,
    /// Lines that could not be read, a torn last one apart: that is what a power cut leaves.
    pub unread: u64,
    /// Whether a last line was torn.
    pub torn: bool,
    /// Where the last whole line ends, whether it can be read or not.
    end: u64,
}

/// Reads a journal. `None` for an empty file, or one whose first line was torn.
///
/// # Errors
/// If it cannot be read, or is no journal.
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
            // Nothing that a torn header could tell of was done.
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

/// How every journal begins.
const START: &[u8] = b"{\"copyist\":\"journal\",\"version\":";

fn no_journal() -> Error {
    let why = "it is no journal, or one of a newer release";
    Error::io("cannot go on", io::Error::new(io::ErrorKind::InvalidData, why))
}

/// A journal that is written. As long as it is open, no other run can write to it.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// Where the next entry goes.
    end: u64,
}

impl Journal {
    /// Opens a journal, new or not, and gives what it holds. Nothing of it changes before
    /// [`begin`](Self::begin) or [`go_on`](Self::go_on).
    ///
    /// # Errors
    /// If it cannot be opened, another run has it, or it is something else.
    pub fn open(path: &Path) -> Result<(Self, Option<Read>)> {
        let failed = |error| Error::io("cannot open", error);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(no_journal());
        }
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(failed(io::Error::other("another run writes to it")));
        }
        let read = read(&file)?;
        let end = read.as_ref().map_or(0, |read| read.end);
        sync_folder(folder_of(path))?;
        Ok((Self { file, end }, read))
    }

    /// Whether something stands behind the last whole line.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.len() > self.end)
    }

    /// Writes the first line; nothing that stands there already told of anything that was done.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn begin(&mut self, header: &Header) -> Result<()> {
        self.end = 0;
        self.go_on()?;
        self.write(std::slice::from_ref(header))
    }

    /// Cuts off a last line without its ending, which a power cut left: it told of nothing that
    /// was done. Whole lines stay, whatever is in them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn go_on(&mut self) -> Result<()> {
        self.file.set_len(self.end).map_err(|error| Error::io("cannot write the journal", error))
    }

    /// Adds entries. They are on the disk when this ends.
    ///
    /// # Errors
    /// If the system refuses; then none was added.
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
