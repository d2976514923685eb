//! Sessions in memory, for tests and for programs that have the bytes already.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Parts, Sink};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};

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
    parts: BTreeMap<String, Vec<u8>>,
}

impl Buffer {
    /// The main part.
    #[must_use]
    pub fn main(&self) -> &[u8] {
        self.parts.get("").map_or(&[], Vec::as_slice)
    }
}

impl Sink for Buffer {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write + '_>> {
        let part = self.parts.entry(name.to_owned()).or_default();
        part.clear();
        Ok(Box::new(part))
    }
}
