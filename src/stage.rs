//! A session that is written, and read again before it goes to its place.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Change, Parts, Same, Sink, Spool};
use crate::memory::Bytes;
use crate::parts::room::{Part, Room};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;

/// Keeps the parts of a session outside of memory until it is known what becomes of them.
pub struct Stage<'s> {
    sink: &'s mut dyn Sink,
    room: Option<Room>,
    parts: Vec<(String, Part)>,
    /// What goes into files that sessions share.
    changes: Vec<(String, Change)>,
    /// Parts that sessions share.
    adds: Vec<(String, Part)>,
    /// Whether those wait until it is known whether anything is kept.
    waits: bool,
    /// Whether parts are written nowhere else.
    free: bool,
    /// How many parts, changes and shared parts there were at the mark.
    mark: Option<[usize; 3]>,
    /// The part that the origin goes beside.
    origin: Option<Placing>,
    /// What the place is like, if not as the sink's.
    like: Option<Like>,
}

/// What of an output's place shapes what is written there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Like {
    /// The output's name without its ending, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stem: Option<String>,
    /// Whether there is room for more parts than the main one.
    pub takes_parts: bool,
    /// Whether parts are named as the target's software names them.
    pub is_native: bool,
}

impl Like {
    /// The place of a sink.
    #[must_use]
    pub fn of(sink: &dyn Sink) -> Self {
        let (takes_parts, is_native) = (sink.takes_parts(), sink.is_native());
        Self { stem: sink.stem(), takes_parts, is_native }
    }
}

/// The part that an origin goes beside, and whether a file that stands there is the same.
type Placing = (String, Same);

impl<'s> Stage<'s> {
    /// Before this place.
    pub fn before(sink: &'s mut dyn Sink) -> Self {
        let (parts, changes) = (Vec::new(), Vec::new());
        Self {
            sink,
            room: None,
            parts,
            changes,
            adds: Vec::new(),
            waits: false,
            free: false,
            mark: None,
            origin: None,
            like: None,
        }
    }

    /// The same, of which perhaps nothing is kept.
    pub fn tentative(sink: &'s mut dyn Sink) -> Self {
        Self { waits: true, ..Self::before(sink) }
    }

    /// The same, of which nothing is kept: there is room for whatever is written.
    pub fn trial(sink: &'s mut dyn Sink) -> Self {
        Self { free: true, ..Self::tentative(sink) }
    }

    /// A trial in a place that is like another one.
    pub fn like(sink: &'s mut dyn Sink, like: Like) -> Self {
        Self { like: Some(like), ..Self::trial(sink) }
    }

    /// What was written, to be read.
    pub fn parts(&self) -> Staged {
        Staged::of(self.parts.clone())
    }

    /// The same with files that sessions share, as if nothing else were in them.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn whole(&mut self) -> Result<Staged> {
        let mut whole = self.parts();
        whole.shared.extend(self.adds.iter().cloned());
        for (name, change) in &self.changes {
            let mut part = Room::within(&mut self.room, self.sink)?.part();
            part.write_all(&change(None, true)?).map_err(cannot_copy)?;
            whole.add(name.clone(), part);
        }
        Ok(whole)
    }

    /// Takes the place of a part for the output, under the first of these names that is free.
    ///
    /// # Errors
    /// As [`Sink::take`].
    pub fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        self.sink.take(nth)
    }

    /// Lends room outside of memory.
    pub fn room(&mut self) -> Result<Box<dyn Spool>> {
        self.sink.spool()
    }

    /// Puts the parts that sessions share and that waited in their places. Gives the names of those
    /// where something else stands.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn share(&mut self) -> Result<Vec<String>> {
        let mut others = Vec::new();
        let waiting = if self.waits { std::mem::take(&mut self.adds) } else { Vec::new() };
        for (name, part) in waiting {
            let contents = part.contents().map_err(cannot_copy)?;
            if !self.sink.add(&name, &contents)? {
                others.push(name);
            }
        }
        Ok(others)
    }

    /// Puts the parts in their places; below the path `native`, if the format's software names it so.
    /// What waits to be [shared](Self::share) is left out.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn finish(self, native: Option<(String, &str)>) -> Result<()> {
        let placed = |name: &str| match &native {
            Some((path, ending)) if name.is_empty() => format!("{path}{ending}"),
            Some((path, _)) => format!("{path}{name}"),
            None => name.to_owned(),
        };
        let sink = self.sink;
        for (name, part) in &self.parts {
            let mut from = io::BufReader::with_capacity(BUFFER, part.reading(0));
            let mut to = sink.create(&placed(name))?;
            io::copy(&mut from, &mut to).and_then(|_| to.flush()).map_err(cannot_copy)?;
        }
        if let Some((part, same)) = self.origin {
            sink.place_origin(&placed(&part), same)?;
        }
        self.changes.into_iter().try_for_each(|(name, change)| sink.change(&name, change))
    }
}

const BUFFER: usize = 256 << 10;

fn cannot_copy(error: io::Error) -> Error {
    Error::io("cannot copy", error)
}

impl Sink for Stage<'_> {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        let part = Room::within(&mut self.room, self.sink)?.part();
        self.parts.push((name.to_owned(), part.clone()));
        Ok(Box::new(part))
    }

    fn add(&mut self, name: &str, contents: &[u8]) -> Result<bool> {
        if let Some((_, part)) = self.adds.iter().find(|(known, _)| known == name) {
            let known = part.contents().map_err(cannot_copy)?;
            return Ok(known == contents);
        }
        if !self.waits && !self.sink.add(name, contents)? {
            return Ok(false);
        }
        let mut part = Room::within(&mut self.room, self.sink)?.part();
        part.write_all(contents).map_err(cannot_copy)?;
        self.adds.push((name.to_owned(), part));
        Ok(true)
    }

    fn change(&mut self, name: &str, change: Change) -> Result<()> {
        self.changes.push((name.to_owned(), change));
        Ok(())
    }

    fn origin(&mut self) -> Result<Option<Box<dyn Write>>> {
        if self.free { Ok(None) } else { self.sink.origin() }
    }

    fn place_origin(&mut self, part: &str, same: Same) -> Result<()> {
        self.origin = Some((part.to_owned(), same));
        Ok(())
    }

    fn is_native(&self) -> bool {
        let own = || !self.free && self.sink.is_native();
        self.like.as_ref().map_or_else(own, |like| like.is_native)
    }

    fn takes_parts(&self) -> bool {
        let own = || self.free || self.sink.takes_parts();
        self.like.as_ref().map_or_else(own, |like| like.takes_parts)
    }

    fn stem(&self) -> Option<String> {
        self.like.as_ref().map_or_else(|| self.sink.stem(), |like| like.stem.clone())
    }

    fn mark(&mut self) -> bool {
        // What sessions share was added to the sink already, unless it waits here.
        let mark = [self.parts.len(), self.changes.len(), self.adds.len()];
        self.mark = self.waits.then_some(mark);
        self.forgets()
    }

    fn forget(&mut self) {
        let Some([parts, changes, adds]) = self.mark.take() else { return };
        self.parts.truncate(parts);
        self.changes.truncate(changes);
        self.adds.truncate(adds);
    }

    fn forgets(&self) -> bool {
        self.mark.is_some()
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.sink.spool()
    }
}

/// Parts that are not in their places yet, or never will be.
#[derive(Default)]
pub struct Staged {
    parts: Vec<(String, Part)>,
    /// Where each name stands first: a session may have thousands of parts, and each is asked for.
    places: HashMap<String, usize>,
    /// What the parts refer to, and other sessions may, too.
    shared: Vec<(String, Part)>,
}

impl Staged {
    /// A session of one part.
    pub fn one(part: Part) -> Self {
        Self::of(vec![(String::new(), part)])
    }

    fn of(parts: Vec<(String, Part)>) -> Self {
        let mut staged = Self::default();
        parts.into_iter().for_each(|(name, part)| staged.add(name, part));
        staged
    }

    fn add(&mut self, name: String, part: Part) {
        self.places.entry(name.clone()).or_insert(self.parts.len());
        self.parts.push((name, part));
    }
}

impl Parts for Staged {
    fn names(&self) -> Vec<String> {
        self.parts.iter().map(|(name, _)| name.clone()).collect()
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        self.open_at(name, 0)
    }

    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        let part = self.places.get(name).and_then(|place| self.parts.get(*place));
        let Some((_, part)) = part else {
            return Err(Error::request(Code::Io, format!("no part {name:?}")));
        };
        Ok(Box::new(part.reading(byte)))
    }

    fn keep(&mut self) -> Result<()> {
        Ok(())
    }

    fn follow(&mut self, name: &str) -> Result<Option<Box<dyn Read>>> {
        let part = self.shared.iter().find(|(part, _)| part == name);
        Ok(part.map(|(_, part)| Box::new(part.reading(0)) as Box<dyn Read>))
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        // What sessions share holds nothing of others here, so it is small.
        let mut small = Bytes::default();
        for (name, part) in self.parts.iter().filter(|(name, _)| names.contains(&name.as_str())) {
            let contents = part.contents().map_err(cannot_copy)?;
            small = small.with(name, contents);
        }
        small.copies(names)
    }
}
