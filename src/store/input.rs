//! Files, and standard input, as the parts of a session.

use super::copies::Copies;
use super::meter::{Reach, Tally};
use super::packed::{Packing, Unpacked, plain_name, unpacked};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Head, Parts};
use crate::lines::BOM;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A session that is read: files, or standard input.
pub struct Input {
    /// By name, the main part first.
    parts: Vec<(String, Source)>,
    /// What tells more of the session, and what that calls it.
    index: Option<(String, PathBuf)>,
    /// Where the session stands among others.
    among: Option<Among>,
    tally: Tally,
    /// How far each part was read, by name.
    reaches: HashMap<String, Reach>,
}

/// A session's place in the folder of all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Among {
    /// The folder, which the parts' names are behind.
    pub home: PathBuf,
    /// The session's identifier.
    pub session: String,
    /// Copies of what the sessions share.
    pub copies: Copies,
}

enum Source {
    File(PathBuf),
    /// What can be read only once: standard input, a named pipe, a device.
    Pipe(Pipe),
    /// A pipe's contents, copied to a temporary file that has no name.
    Spooled(File),
}

struct Pipe {
    /// `None` once it was handed out.
    reader: Option<Box<dyn Read>>,
    /// What was read of it ahead.
    ahead: Vec<u8>,
}

impl Input {
    /// A file. What is no regular file is read once, like standard input.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn file(path: impl Into<PathBuf>) -> Result<Self> {
        Self::files([(String::new(), path.into())])
    }

    /// Files that make up one session, by the names of its parts.
    ///
    /// # Errors
    /// If one of them cannot be opened.
    pub fn files(files: impl IntoIterator<Item = (String, PathBuf)>) -> Result<Self> {
        let open = |(name, path)| Source::file(path).map(|source| (name, source));
        let parts = files.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Self::of(parts))
    }

    /// Standard input.
    #[must_use]
    pub fn stdin() -> Self {
        let source = Source::pipe(Box::new(io::stdin()));
        Self::of(vec![(String::new(), source)])
    }

    fn of(parts: Vec<(String, Source)>) -> Self {
        let (tally, reaches) = (Tally::default(), HashMap::new());
        Self { parts, index: None, among: None, tally, reaches }
    }

    /// Counts what is read of a part.
    fn counting(&mut self, name: &str, reader: Box<dyn Read>) -> Box<dyn Read> {
        let reach = self.reaches.entry(name.to_owned()).or_default();
        Box::new(self.tally.reader(reach, reader))
    }

    /// The same, with a file that tells more of the session, which it calls `name`.
    #[must_use]
    pub fn with_index(self, name: String, path: PathBuf) -> Self {
        Self { index: Some((name, path)), ..self }
    }

    /// The same, standing among others.
    #[must_use]
    pub fn among(self, among: Among) -> Self {
        Self { among: Some(among), ..self }
    }

    /// The folder of all sessions, if this one stands in such a folder.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.among.as_ref().map(|among| among.home.as_path())
    }

    /// The same, counted by `tally`.
    #[must_use]
    pub fn counted(self, tally: Tally) -> Self {
        Self { tally, ..self }
    }

    /// The first bytes of the first part, a byte order mark left out, and whether they are all
    /// there are.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub fn head(&mut self) -> Result<(Vec<u8>, bool)> {
        let Some((_, source)) = self.parts.first_mut() else { return Ok((Vec::new(), true)) };
        let (mut bytes, whole) = source.head()?;
        if bytes.starts_with(BOM) {
            bytes.drain(..BOM.len());
        }
        Ok((bytes, whole))
    }

    /// Reads a part from this file from now on, which has no name.
    pub fn put(&mut self, name: &str, file: File) {
        match self.parts.iter_mut().find(|(part, _)| part == name) {
            Some((_, source)) => *source = Source::Spooled(file),
            None => self.parts.push((name.to_owned(), Source::Spooled(file))),
        }
    }

    fn part(&mut self, name: &str) -> Result<&mut Source> {
        let part = self.parts.iter_mut().find(|(part, _)| part == name);
        part.map(|(_, source)| source).ok_or_else(not_there)
    }
}

fn not_there() -> Error {
    Error::io("cannot open", io::Error::from(io::ErrorKind::NotFound))
}

impl Source {
    fn file(path: PathBuf) -> Result<Self> {
        if std::fs::metadata(&path).is_ok_and(|meta| meta.is_file()) {
            return Ok(Self::File(path));
        }
        Ok(Self::pipe(Box::new(opened(&path)?)))
    }

    fn pipe(reader: Box<dyn Read>) -> Self {
        let reader = Box::new(Unpacked::new(reader));
        Self::Pipe(Pipe { reader: Some(reader), ahead: Vec::new() })
    }

    /// Makes it one that can be read again, at any place.
    fn spool(&mut self, tally: &Tally, reach: &Reach) -> Result<()> {
        let failed = |error| Error::io("cannot copy the input to a temporary file", error);
        tally.again(1);
        let mut from = tally.reader(reach, self.read()?);
        let mut spool = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut from, &mut spool).map_err(failed)?;
        spool.flush().map_err(failed)?;
        *self = Self::Spooled(spool);
        Ok(())
    }

    fn head(&mut self) -> Result<(Vec<u8>, bool)> {
        match self {
            Self::File(path) => head(&mut text_of(path)?),
            Self::Pipe(pipe) => {
                let mut whole = false;
                if let Some(reader) = pipe.reader.as_mut().filter(|_| pipe.ahead.is_empty()) {
                    (pipe.ahead, whole) = head(reader)?;
                }
                Ok((pipe.ahead.clone(), whole))
            }
            Self::Spooled(file) => head(&mut rewound(file)?),
        }
    }

    /// The whole of it; a pipe only once.
    fn read(&mut self) -> Result<Box<dyn Read>> {
        Ok(match self {
            Self::File(path) => text_of(path)?,
            Self::Pipe(pipe) => {
                let reader = pipe.reader.take().ok_or_else(not_there)?;
                Box::new(io::Cursor::new(std::mem::take(&mut pipe.ahead)).chain(reader))
            }
            Self::Spooled(file) => Box::new(rewound(file)?),
        })
    }
}

/// The longest first line that is looked at whole.
const LONGEST_HEAD: usize = 16 << 20;

/// Reads [`Head::SIZE`] bytes, or more until there is a whole line: headers of old releases carry
/// the system prompt. Says whether that is all there is.
fn head(source: &mut dyn Read) -> Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::with_capacity(Head::SIZE);
    loop {
        let before = bytes.len();
        let read = Read::take(&mut *source, Head::SIZE as u64).read_to_end(&mut bytes);
        let read = read.map_err(|error| Error::io("cannot read", error))?;
        if read < Head::SIZE {
            return Ok((bytes, true));
        }
        let new = bytes.get(before..).unwrap_or_default();
        if memchr::memchr(b'\n', new).is_some() || bytes.len() >= LONGEST_HEAD {
            return Ok((bytes, false));
        }
    }
}

fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::io("cannot open", error))
}

/// A file's text, compressed or not.
fn text_of(path: &Path) -> Result<Box<dyn Read>> {
    unpacked(opened(path)?).map_err(|error| Error::io("cannot read", error))
}

fn rewound(file: &File) -> Result<File> {
    let mut file = file.try_clone().map_err(|error| Error::io("cannot reopen", error))?;
    file.rewind().map_err(|error| Error::io("cannot rewind", error))?;
    Ok(file)
}

impl Parts for Input {
    fn names(&self) -> Vec<String> {
        self.parts.iter().map(|(name, _)| name.clone()).collect()
    }

    fn file_name(&self) -> Option<String> {
        match self.parts.first() {
            Some((_, Source::File(path))) => {
                Some(plain_name(&path.file_name()?.to_string_lossy()).to_owned())
            }
            _ => None,
        }
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        let reader = self.part(name)?.read()?;
        Ok(self.counting(name, reader))
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        let Some((name, path)) = &self.index else { return Ok(None) };
        Ok(Some((name.clone(), Box::new(opened(path)?))))
    }

    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        let packed = |source: &&mut Source| matches!(source, Source::File(path) if Packing::of_file(path).is_some());
        if let Some((name, source)) = self.parts.iter_mut().find(|(part, _)| part == name)
            && packed(&source)
        {
            // There is no place in it to go to.
            source.spool(&self.tally, self.reaches.entry(name.clone()).or_default())?;
        }
        let mut file = match self.part(name)? {
            Source::File(path) => opened(path)?,
            Source::Spooled(file) => rewound(file)?,
            Source::Pipe(_) => return self.open(name),
        };
        file.seek(SeekFrom::Start(byte)).map_err(|error| Error::io("cannot seek", error))?;
        Ok(Box::new(file))
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        let path = |name: &&str| match self.part(name)? {
            Source::File(path) => Ok(path.clone()),
            _ => Err(not_there()),
        };
        let files: Vec<_> = names.iter().map(path).collect::<Result<_>>()?;
        let copies = self.among.as_ref().map_or_else(Copies::default, |a| a.copies.clone());
        Ok(Box::new(copies.of(&files, &self.tally)?))
    }

    fn session(&self) -> Option<String> {
        self.among.as_ref().map(|among| among.session.clone())
    }

    fn follow(&mut self, name: &str) -> Result<Option<Box<dyn Read>>> {
        let Some(mut path) = self.among.as_ref().map(|among| among.home.clone()) else {
            return Ok(None);
        };
        for piece in name.split('/').skip(1) {
            let plain = !matches!(piece, "" | "." | "..") && !piece.contains(['\\', '\0']);
            path.push(piece);
            let link = || path.symlink_metadata().map_or(true, |meta| meta.is_symlink());
            if !plain || link() {
                return Ok(None);
            }
        }
        if !path.is_file() {
            return Ok(None);
        }
        Ok(Some(self.counting(name, Box::new(opened(&path)?))))
    }

    fn keep(&mut self) -> Result<()> {
        self.tally.again(1);
        for (name, source) in &mut self.parts {
            if matches!(source, Source::Pipe(_)) {
                source.spool(&self.tally, self.reaches.entry(name.clone()).or_default())?;
            }
        }
        Ok(())
    }
}

/// What tells whether a file was written to: its size, its time and the file itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Fingerprint {
    /// Of the file at `path`, links followed.
    ///
    /// # Errors
    /// If it is not there.
    pub fn of(path: &Path) -> Result<Self> {
        let meta = std::fs::metadata(path).map_err(|error| Error::io("cannot open", error))?;
        Ok(Self { size: meta.len(), modified: meta.modified().ok(), inode: inode(&meta) })
    }

    /// Whether the file at `path` is still like that.
    ///
    /// # Errors
    /// If it is not, or is not there.
    pub fn holds(&self, path: &Path) -> Result<()> {
        if Self::of(path)? == *self {
            return Ok(());
        }
        Err(Error::request(Code::Changed, Code::Changed.title()))
    }

    /// The size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The time of the last change, to the nanosecond; `None` where the file system knows none, or
    /// one that no calendar has.
    #[must_use]
    pub fn modified(&self) -> Option<String> {
        Some(jiff::Timestamp::try_from(self.modified?).ok()?.to_string())
    }
}

#[cfg(unix)]
fn inode(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
