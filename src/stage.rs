//! Stage for a session that is written, and read again before it goes to its place.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Change, Opener, Parts, ReadSeek, Same, Sink, Spool};
use crate::memory::Bytes;
use crate::parts::room::{Part, Room};
use crate::parts::watched::Further;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;

/// Keeps the parts of a session outside of memory until their use is decided.
pub struct Stage<'s> {
    sink: &'s mut dyn Sink,
    room: Option<Room>,
    parts: Vec<(String, Part)>,
    /// Changes of files that sessions share.
    changes: Vec<(String, Box<dyn Change>)>,
    /// Parts that sessions share.
    adds: Vec<(String, Part)>,
    purpose: Purpose,
    /// Numbers of parts, changes and shared parts at the mark.
    mark: Option<[usize; 3]>,
    /// The part beside which the origin goes.
    origin: Option<Placing>,
}

/// Use of the output.
enum Purpose {
    /// It is kept.
    Kept,
    /// It may be discarded: parts that sessions share wait until that is known.
    Tentative,
    /// It is never written to the sink, and is made for a place with these properties.
    Trial(Like),
}

/// Properties of an output's place that determine its contents.
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
    /// Returns the properties of a sink.
    pub fn of(sink: &dyn Sink) -> Self {
        let (takes_parts, is_native) = (sink.takes_parts(), sink.is_native());
        Self { stem: sink.stem(), takes_parts, is_native }
    }
}

/// The part beside which an origin goes, and the test whether a file that is there is the same.
type Placing = (String, Same);

impl<'s> Stage<'s> {
    /// Begins a stage before this sink.
    pub fn before(sink: &'s mut dyn Sink) -> Self {
        let (parts, changes, adds) = Default::default();
        let (room, mark, origin) = (None, None, None);
        Self { sink, room, parts, changes, adds, purpose: Purpose::Kept, mark, origin }
    }

    /// Begins a stage whose output may be discarded.
    pub fn tentative(sink: &'s mut dyn Sink) -> Self {
        Self { purpose: Purpose::Tentative, ..Self::before(sink) }
    }

    /// Begins a stage whose output is always discarded: there is room for any part.
    pub fn trial(sink: &'s mut dyn Sink) -> Self {
        let like = Like { stem: sink.stem(), takes_parts: true, is_native: false };
        Self::like(sink, like)
    }

    /// Begins a trial for a place with these properties.
    pub fn like(sink: &'s mut dyn Sink, like: Like) -> Self {
        Self { purpose: Purpose::Trial(like), ..Self::before(sink) }
    }

    /// Whether parts that sessions share wait until it is known whether the output is kept.
    fn waits(&self) -> bool {
        !matches!(self.purpose, Purpose::Kept)
    }

    /// Whether the stage is a trial.
    fn is_trial(&self) -> bool {
        matches!(self.purpose, Purpose::Trial(_))
    }

    /// Returns the properties of the place.
    fn place(&self) -> Like {
        match &self.purpose {
            Purpose::Trial(like) => like.clone(),
            Purpose::Kept | Purpose::Tentative => Like::of(self.sink),
        }
    }

    /// Returns the output as a session that can be read.
    pub fn parts(&self) -> Staged {
        Staged::of(self.parts.clone())
    }

    /// Returns the output with the files that sessions share, as if these contained only this
    /// session.
    pub fn whole(&mut self) -> Result<Staged> {
        let mut whole = self.parts();
        for (name, part) in &self.adds {
            whole.refer(Further::Followed(name.clone()), part.clone());
        }
        for (name, change) in &self.changes {
            let mut part = Room::within(&mut self.room, self.sink)?.part();
            part.write_all(&change.make(None, true)?).map_err(cannot_copy)?;
            whole.add(name.clone(), part);
        }
        Ok(whole)
    }

    /// Replaces the parts by those of a session that `takes` names. Changes of files that sessions
    /// share stay.
    pub fn replace(&mut self, session: &Staged, takes: &dyn Fn(&str) -> bool) {
        let parts = session.parts.iter().filter(|(name, _)| takes(name));
        self.parts = parts.cloned().collect();
    }

    /// Gives the parts the contents of parts of a session, by their names in the same order.
    pub fn fill(&mut self, names: &[String], session: &mut dyn Parts) -> Result<()> {
        let there = session.names();
        for ((_, part), name) in self.parts.iter_mut().zip(names) {
            if there.contains(name) {
                *part = Room::within(&mut self.room, self.sink)?.part();
                io::copy(&mut session.open(name)?, part).map_err(cannot_copy)?;
            }
        }
        Ok(())
    }

    /// Takes the parts out: what remains are the files that sessions share.
    pub fn clear(&mut self) {
        self.parts.clear();
    }

    /// Takes the place of a part for the output, under the first of these names that is free.
    ///
    /// # Errors
    /// The errors of [`Sink::take`].
    pub fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        self.sink.take(nth)
    }

    /// Puts the waiting parts that sessions share in their places. Returns the names of those whose
    /// place has other contents.
    pub fn share(&mut self) -> Result<Vec<String>> {
        let mut others = Vec::new();
        let waiting = if self.waits() { std::mem::take(&mut self.adds) } else { Vec::new() };
        for (name, part) in waiting {
            let contents = part.contents().map_err(cannot_copy)?;
            if !self.sink.add(&name, &contents)? {
                others.push(name);
            }
        }
        Ok(others)
    }

    /// Puts the parts in their places; below the path `native`, if the format's software names it
    /// so. Parts that wait to be [shared](Self::share) are left out.
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
        if !self.waits() && !self.sink.add(name, contents)? {
            return Ok(false);
        }
        let mut part = Room::within(&mut self.room, self.sink)?.part();
        part.write_all(contents).map_err(cannot_copy)?;
        self.adds.push((name.to_owned(), part));
        Ok(true)
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        self.changes.push((name.to_owned(), change));
        Ok(())
    }

    fn origin(&mut self) -> Result<Option<Box<dyn Write>>> {
        if self.is_trial() { Ok(None) } else { self.sink.origin() }
    }

    fn place_origin(&mut self, part: &str, same: Same) -> Result<()> {
        self.origin = Some((part.to_owned(), same));
        Ok(())
    }

    fn is_native(&self) -> bool {
        self.place().is_native
    }

    fn is_in_place(&self) -> bool {
        !self.is_trial() && self.sink.is_in_place()
    }

    fn takes_parts(&self) -> bool {
        self.place().takes_parts
    }

    fn stem(&self) -> Option<String> {
        self.place().stem
    }

    fn checkpoint(&mut self) -> bool {
        // Shared parts were added to the sink already, unless they wait here.
        let mark = [self.parts.len(), self.changes.len(), self.adds.len()];
        self.mark = self.waits().then_some(mark);
        self.can_roll_back()
    }

    fn roll_back(&mut self) {
        let Some([parts, changes, adds]) = self.mark.take() else { return };
        self.parts.truncate(parts);
        self.changes.truncate(changes);
        self.adds.truncate(adds);
    }

    fn can_roll_back(&self) -> bool {
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
    /// First place of each name: a session may have thousands of parts, and each is requested.
    places: HashMap<String, usize>,
    /// Files to which this session refers, and other sessions may, too.
    further: Vec<(Further, Part)>,
    /// Name of the main part's file.
    file_name: Option<String>,
    /// Identifier of the session, where the parts contain several sessions.
    session: Option<String>,
    /// The origin beside the session.
    origin: Option<Part>,
}

impl Staged {
    /// Returns a session of one part.
    pub fn one(part: Part) -> Self {
        Self::of(vec![(String::new(), part)])
    }

    /// Returns a session of these parts, the main part first.
    pub fn of(parts: Vec<(String, Part)>) -> Self {
        let mut staged = Self::default();
        parts.into_iter().for_each(|(name, part)| staged.add(name, part));
        staged
    }

    /// Adds a file to which the session refers.
    pub fn refer(&mut self, file: Further, part: Part) {
        self.further.push((file, part));
    }

    /// Sets the name of the main part's file, and the identifier of the session.
    pub fn name(&mut self, file_name: Option<String>, session: Option<String>) {
        (self.file_name, self.session) = (file_name, session);
    }

    /// Sets the origin beside the session.
    pub fn come_from(&mut self, origin: Part) {
        self.origin = Some(origin);
    }

    /// Sets a part, instead of the one of this name if there is one.
    pub fn set(&mut self, name: &str, part: Part) {
        match self.places.get(name).and_then(|place| self.parts.get_mut(*place)) {
            Some((_, known)) => *known = part,
            None => self.add(name.to_owned(), part),
        }
    }

    fn referred(&self, file: &Further) -> Option<Box<dyn Read>> {
        let part = self.further.iter().find(|(known, _)| known == file);
        part.map(|(_, part)| Box::new(part.reading(0)) as Box<dyn Read>)
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
        Ok(self.referred(&Further::Followed(name.to_owned())))
    }

    fn find(&mut self, folders: &[&str], ending: &str) -> Result<Option<Box<dyn Read>>> {
        let folders = folders.iter().map(|folder| (*folder).to_owned()).collect();
        Ok(self.referred(&Further::Found(folders, ending.to_owned())))
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        let index = self.further.iter().find_map(|(file, part)| match file {
            Further::Index(name) => Some((name.clone(), part)),
            _ => None,
        });
        Ok(index.map(|(name, part)| (name, Box::new(part.reading(0)) as Box<dyn Read>)))
    }

    fn file_name(&self) -> Option<String> {
        self.file_name.clone()
    }

    fn session(&self) -> Option<String> {
        self.session.clone()
    }

    fn size(&mut self, name: &str) -> Result<u64> {
        let part = self.places.get(name).and_then(|place| self.parts.get(*place));
        Ok(part.map_or(0, |(_, part)| part.length()))
    }

    fn origin(&mut self) -> Result<Option<Opener>> {
        let opener = |origin: Part| -> Opener {
            Rc::new(move || Ok(Box::new(origin.reading(0)) as Box<dyn ReadSeek>))
        };
        Ok(self.origin.clone().map(opener))
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        // Shared files contain only this session here, so they are small.
        let mut small = Bytes::default();
        for (name, part) in self.parts.iter().filter(|(name, _)| names.contains(&name.as_str())) {
            let contents = part.contents().map_err(cannot_copy)?;
            small = small.with(name, contents);
        }
        small.copies(names)
    }
}
