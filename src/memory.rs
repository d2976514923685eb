//! Sessions in memory, for tests and for programs that have the bytes already.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Parts, Sink, Spool};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::rc::Rc;

/// A session of one part.
#[derive(Clone, Debug)]
pub struct Bytes(bytes::Bytes);

impl Bytes {
    /// The part's contents.
    pub fn new(contents: impl AsRef<[u8]>) -> Self {
        Self(bytes::Bytes::copy_from_slice(contents.as_ref()))
    }
}

impl Parts for Bytes {
    fn names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        if name.is_empty() {
            Ok(Box::new(Cursor::new(self.0.clone())))
        } else {
            Err(Error::request(Code::Io, format!("no part {name:?}")))
        }
    }

    fn keep(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Collects what is written, by part.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    parts: BTreeMap<String, Part>,
}

/// One part, shared with whoever writes it.
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
    /// The main part.
    #[must_use]
    pub fn main(&self) -> Vec<u8> {
        self.parts.get("").map_or(Vec::new(), |part| part.0.borrow().clone())
    }
}

impl Sink for Buffer {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        let part = Part::default();
        self.parts.insert(name.to_owned(), part.clone());
        Ok(Box::new(part))
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        Ok(Box::new(Cursor::new(Vec::new())))
    }
}
