//! Draft of a repaired session, which can be read again before it goes to its place.

use super::quarantine::QUARANTINE;
use crate::error::{Cannot, Result};
use crate::format::{Change, Parts, Sink, no_room_for_parts};
use crate::parts::Searched;
use crate::parts::memo::Memo;
use crate::parts::room::{Part, Room};
use std::io::{self, Read, Write};
use std::path::Path;

/// The parts of a session, in the order in which they go to their places.
#[derive(Default)]
pub struct Draft {
    room: Option<Room>,
    /// The parts by name; `None` for a part that stays as it was.
    parts: Vec<(String, Option<Part>)>,
    /// The parts that sessions share, with this session's change of each. They are read as they
    /// are.
    shared: Vec<(String, Option<Box<dyn Change>>)>,
    memo: Memo,
}

impl Draft {
    /// Adds a part that stays as it is, or as the draft `before` has it.
    pub fn keep(&mut self, name: &str, before: &Self) {
        self.parts.push((name.to_owned(), before.part(name).cloned()));
    }

    /// Adds a part that is written from the beginning.
    pub fn create(&mut self, name: &str, sink: &mut dyn Sink) -> Result<Part> {
        let part = Room::within(&mut self.room, sink)?.part();
        self.parts.push((name.to_owned(), Some(part.clone())));
        Ok(part)
    }

    /// Adds a part that sessions share, and this session's change of it.
    pub fn share(&mut self, name: &str, change: Option<Box<dyn Change>>) {
        self.parts.push((name.to_owned(), None));
        self.shared.push((name.to_owned(), change));
    }

    fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|(part, _)| part == name).and_then(|(_, part)| part.as_ref())
    }

    /// Puts all parts in their places, the quarantine first, so that each byte has a place at any
    /// moment.
    pub fn put(
        self,
        aside: Option<&Part>,
        source: &mut dyn Parts,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let others = self.parts.iter().any(|(name, _)| !name.is_empty());
        if others && !sink.takes_parts() {
            return Err(no_room_for_parts());
        }
        if let Some(aside) = aside {
            copy(&mut aside.reading(0), &mut *sink.create(QUARANTINE)?)?;
        }
        let own = |part: &&(String, _)| !self.shared.iter().any(|(name, _)| *name == part.0);
        for (name, part) in self.parts.iter().filter(own) {
            match part {
                Some(part) => copy(&mut part.reading(0), &mut *sink.create(name)?)?,
                None if sink.is_in_place() => {}
                None if sink.discards() => drop(sink.create(name)?),
                None => copy(&mut *source.open(name)?, &mut *sink.create(name)?)?,
            }
        }
        let mut changes =
            self.shared.into_iter().filter_map(|(name, change)| Some((name, change?)));
        changes.try_for_each(|(name, change)| sink.change(&name, change))
    }
}

/// Size, in bytes, of the pieces in which parts are copied.
const BUFFER: usize = 256 << 10;

fn copy(from: &mut dyn Read, to: &mut dyn Write) -> Result<()> {
    let mut from = io::BufReader::with_capacity(BUFFER, from);
    io::copy(&mut from, to).and_then(|_| to.flush()).cannot("write")
}

/// A session in the form of a draft.
pub struct Again<'a> {
    pub source: &'a mut dyn Parts,
    pub draft: &'a Draft,
}

impl Parts for Again<'_> {
    fn names(&self) -> Vec<String> {
        let has = |name: &String| self.draft.parts.iter().any(|(part, _)| part == name);
        let mut names = self.source.names();
        names.retain(has);
        let new = self.draft.parts.iter().map(|(name, _)| name);
        let new: Vec<_> = new.filter(|name| !names.contains(name)).cloned().collect();
        names.extend(new);
        names
    }

    fn file_name(&self) -> Option<String> {
        self.source.file_name()
    }

    fn session(&self) -> Option<String> {
        self.source.session()
    }

    fn memo(&self) -> Option<&Memo> {
        let stays = self.draft.parts.iter().all(|(_, part)| part.is_none());
        let same = stays && self.names() == self.source.names();
        if same { self.source.memo() } else { Some(&self.draft.memo) }
    }

    fn known_size(&self) -> Option<u64> {
        // What a repair adds is small, too.
        self.source.known_size()
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        match self.draft.part(name) {
            Some(part) => Ok(Box::new(part.reading(0))),
            None => self.source.open(name),
        }
    }

    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        match self.draft.part(name) {
            Some(part) => Ok(Box::new(part.reading(byte))),
            None => self.source.open_at(name, byte),
        }
    }

    fn keep(&mut self) -> Result<()> {
        Ok(())
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        self.source.copies(names)
    }

    fn follow(&mut self, name: &str) -> Result<Option<Box<dyn Read>>> {
        self.source.follow(name)
    }

    fn search(&mut self, folders: &[&str], wanted: &dyn Fn(&[u8]) -> bool) -> Searched {
        self.source.search(folders, wanted)
    }

    fn find(&mut self, folders: &[&str], ending: &str) -> Result<Option<Box<dyn Read>>> {
        self.source.find(folders, ending)
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        self.source.index()
    }
}
