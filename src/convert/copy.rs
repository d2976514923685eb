//! Copies a session of several parts, with the files to which these refer.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Parts, Sink};
use crate::migrate::Outcome;
use crate::parts;
use std::io::Read;
use std::path::Path;

/// Copies a session of any parts, once all of it was read without an error. Files that sessions may
/// share, such as stored outputs, are added where they do not exist yet.
///
/// # Errors
/// If the session is damaged beyond what the options allow, or reading or writing fails.
pub fn copy(
    format: &Format,
    version: u32,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    parts.keep()?;
    let mut done = Outcome { from: version, ..Outcome::default() };
    let mut watched = Watched { parts, followed: Vec::new() };
    for item in (format.read)(&mut watched, cx)? {
        item?;
        done.records += 1;
    }
    let Watched { parts, followed } = watched;
    let names = parts.names();
    done.bytes_in += parts::copy(parts, sink, &names)?;
    // A session that is changed in place keeps the files beside it, and a single output file has no
    // files beside it.
    let beside = sink.takes_parts() && !sink.is_in_place();
    for name in followed.iter().filter(|_| beside) {
        done.bytes_in += share(name, parts, sink, cx)?;
    }
    done.bytes_out = done.bytes_in;
    Ok(done)
}

/// Copies a file that sessions may share.
fn share(name: &str, parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<u64> {
    let Some(mut from) = parts.follow(name)? else { return Ok(0) };
    let mut contents = Vec::new();
    let read = from.read_to_end(&mut contents).map_err(|error| Error::io("cannot read", error))?;
    if !sink.add(name, &contents)? {
        let message = format!("another output has the name {name} and was not replaced");
        cx.report(Diagnostic::new(Code::OtherOutput, message));
    }
    Ok(read as u64)
}

/// Parts, and the names of the files that were opened from them.
struct Watched<'a> {
    parts: &'a mut dyn Parts,
    followed: Vec<String>,
}

impl Parts for Watched<'_> {
    fn names(&self) -> Vec<String> {
        self.parts.names()
    }

    fn file_name(&self) -> Option<String> {
        self.parts.file_name()
    }

    fn session(&self) -> Option<String> {
        self.parts.session()
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        self.parts.open(name)
    }

    fn keep(&mut self) -> Result<()> {
        self.parts.keep()
    }

    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        self.parts.open_at(name, byte)
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        self.parts.copies(names)
    }

    fn follow(&mut self, name: &str) -> Result<Option<Box<dyn Read>>> {
        let found = self.parts.follow(name)?;
        if found.is_some() && !self.followed.iter().any(|followed| followed == name) {
            self.followed.push(name.to_owned());
        }
        Ok(found)
    }

    fn find(&mut self, folders: &[&str], ending: &str) -> Result<Option<Box<dyn Read>>> {
        self.parts.find(folders, ending)
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        self.parts.index()
    }
}
