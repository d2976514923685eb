//! Sessions in memory, for tests and for programs that have the bytes already.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Change, Opener, Parts, Sink, Spool};
use crate::parts::UNNAMED;
use crate::parts::memo::Memo;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::rc::Rc;
use tempfile::{NamedTempFile, TempDir};

/// A session that is read.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    parts: Vec<(String, bytes::Bytes)>,
    index: Option<(String, bytes::Bytes)>,
    origin: Option<bytes::Bytes>,
    memo: Memo,
}

impl Bytes {
    /// Returns a session of one part, with its contents.
    pub fn new(contents: impl AsRef<[u8]>) -> Self {
        Self::default().with("", contents)
    }

    /// Adds one more part.
    #[must_use]
    pub fn with(mut self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.memo = Memo::default();
        self.parts.push((name.to_owned(), bytes::Bytes::copy_from_slice(contents.as_ref())));
        self
    }

    /// Adds the origin beside the session.
    #[must_use]
    pub fn with_origin(mut self, contents: impl AsRef<[u8]>) -> Self {
        self.origin = Some(bytes::Bytes::copy_from_slice(contents.as_ref()));
        self
    }

    /// Adds a file with further data of the session, in which the session is called `name`.
    #[must_use]
    pub fn with_index(mut self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.index = Some((name.to_owned(), bytes::Bytes::copy_from_slice(contents.as_ref())));
        self
    }
}

impl Parts for Bytes {
    fn names(&self) -> Vec<String> {
        self.parts.iter().map(|(name, _)| name.clone()).collect()
    }

    fn memo(&self) -> Option<&Memo> {
        Some(&self.memo)
    }

    fn known_size(&self) -> Option<u64> {
        Some(self.parts.iter().map(|(_, part)| part.len() as u64).sum())
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        match self.parts.iter().find(|(part, _)| part == name) {
            Some((_, contents)) => Ok(Box::new(Cursor::new(contents.clone()))),
            None => Err(Error::request(Code::Io, format!("no part {name:?}"))),
        }
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        let failed = |error| Error::io("cannot write a temporary file", error);
        let folder = tempfile::tempdir().map_err(failed)?;
        let mut files = Vec::new();
        for name in names {
            let contents = self.parts.iter().find(|(part, _)| part == name);
            let contents = contents.map(|(_, contents)| contents.clone()).unwrap_or_default();
            let file = name.rsplit('/').next().filter(|file| !file.is_empty());
            let file = file.unwrap_or(UNNAMED);
            let file = tempfile::Builder::new().prefix(file).rand_bytes(0).tempfile_in(&folder);
            let mut file = file.map_err(failed)?;
            file.write_all(&contents).map_err(failed)?;
            files.push(file);
        }
        Ok(Box::new(Copies { _files: files, folder }))
    }

    fn keep(&mut self) -> Result<()> {
        Ok(())
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        let open = |(name, contents)| (name, Box::new(Cursor::new(contents)) as Box<dyn Read>);
        Ok(self.index.clone().map(open))
    }

    fn origin(&mut self) -> Result<Option<Opener>> {
        let opener = |origin: bytes::Bytes| -> Opener {
            Rc::new(move || Ok(Box::new(Cursor::new(origin.clone()))))
        };
        Ok(self.origin.clone().map(opener))
    }
}

/// Parts in a folder, for code that reads files by their paths.
struct Copies {
    /// Files, which are removed before their folder.
    _files: Vec<NamedTempFile>,
    folder: TempDir,
}

impl AsRef<Path> for Copies {
    fn as_ref(&self) -> &Path {
        self.folder.path()
    }
}

/// Collects the output, by part. After an error, its content is the beginning of an output, which
/// must be dropped.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    parts: BTreeMap<String, Part>,
    origin: Option<Part>,
    /// The parts and the origin at the mark.
    mark: Option<(BTreeMap<String, Part>, Option<Part>)>,
}

/// One part, shared with its writer.
#[derive(Clone, Debug, Default)]
struct Part(Rc<RefCell<Vec<u8>>>);

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    /// Returns the main part.
    #[must_use]
    pub fn main(&self) -> Vec<u8> {
        self.part("").unwrap_or_default()
    }

    /// Returns a part's contents.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<Vec<u8>> {
        self.parts.get(name).map(|part| part.0.borrow().clone())
    }

    /// Returns the origin, if one was written.
    #[must_use]
    pub fn origin(&self) -> Option<Vec<u8>> {
        self.origin.as_ref().map(|part| part.0.borrow().clone())
    }

    /// Returns the names of all parts, sorted: the main part's first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    /// Returns the output as a session that can be read.
    #[must_use]
    pub fn into_parts(self) -> Bytes {
        let parts = self.parts.into_iter();
        let parts = parts.map(|(name, part)| (name, part.0.take().into())).collect();
        let origin = self.origin.map(|part| part.0.take().into());
        Bytes { parts, index: None, origin, memo: Memo::default() }
    }
}

impl Sink for Buffer {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        let part = Part::default();
        self.parts.insert(name.to_owned(), part.clone());
        Ok(Box::new(part))
    }

    fn origin(&mut self) -> Result<Option<Box<dyn Write>>> {
        let part = Part::default();
        self.origin = Some(part.clone());
        Ok(Some(Box::new(part)))
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        let old = self.part(name);
        let part = Part::default();
        *part.0.borrow_mut() = change.make(old, true)?;
        self.parts.insert(name.to_owned(), part);
        Ok(())
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn stem(&self) -> Option<String> {
        None
    }

    fn checkpoint(&mut self) -> bool {
        self.mark = Some((self.parts.clone(), self.origin.clone()));
        true
    }

    fn can_roll_back(&self) -> bool {
        self.mark.is_some()
    }

    fn roll_back(&mut self) {
        if let Some((parts, origin)) = self.mark.take() {
            (self.parts, self.origin) = (parts, origin);
        }
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        Ok(Box::new(Cursor::new(Vec::new())))
    }
}
