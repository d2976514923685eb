//! A session that is written, and read again before it goes to its place.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Beginning, Carrier, Change, Load, Parts, Sink, Spool};
use crate::memory::Bytes;
use crate::parts::room::{Part, Room};
use crate::residue::pack::Chunks;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::Path;

/// Keeps the parts of a session outside of memory until it is known what they carry.
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
}

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

    /// Whether a part was written that can carry.
    pub fn carries(&self, carrier: &Carrier) -> Result<bool> {
        Ok((carrier.part)(&heads(&self.parts)?).is_some())
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

    /// Puts the parts in their places, one of them with what it carries; below the path `native`,
    /// if the format's software names it so. What waits to be [shared](Self::share) is left out.
    pub fn finish(
        self,
        mut load: Option<(&Carrier, u64, Chunks)>,
        native: Option<(String, &str)>,
    ) -> Result<()> {
        let load = load.as_mut().map(|(carrier, all, chunks)| (*carrier, *all, chunks));
        pour(&self.parts, load, self.sink, native)?;
        let sink = self.sink;
        self.changes.into_iter().try_for_each(|(name, change)| sink.change(&name, change))
    }

    /// What would be put in their places, to be read, and the chunks again.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn carrying(
        &mut self,
        (carrier, all, mut chunks): (&Carrier, u64, Chunks),
    ) -> Result<(Staged, Chunks)> {
        let mut whole = self.whole()?;
        let mut trial = Stage::trial(self.sink);
        pour(&self.parts, Some((carrier, all, &mut chunks)), &mut trial, None)?;
        for (plain, (_, carrying)) in whole.parts.iter_mut().zip(trial.parts) {
            plain.1 = carrying;
        }
        Ok((whole, chunks.rewind()?))
    }
}

/// What a session carries: how its format does, how many chunks there are, and these.
type Carried<'a> = (&'a Carrier, u64, &'a mut Chunks);

/// Writes parts, one of them with what it carries; below the path `native` if there is one.
fn pour(
    parts: &[(String, Part)],
    mut load: Option<Carried<'_>>,
    sink: &mut dyn Sink,
    native: Option<(String, &str)>,
) -> Result<()> {
    let heads = heads(parts)?;
    let carrying = load.as_ref().and_then(|(carrier, ..)| (carrier.part)(&heads));
    let all = load.as_ref().map(|(carrier, all, _)| (*carrier, *all));
    for (place, (name, part)) in parts.iter().enumerate() {
        let lines = if carrying == Some(place) { lines(part)? } else { 0 };
        let alone = heads.get(place..=place).unwrap_or_default();
        let says = all.filter(|(carrier, _)| (carrier.part)(alone).is_some());
        let mut from = io::BufReader::with_capacity(BUFFER, part.reading(0));
        let put = match &native {
            Some((path, ending)) if name.is_empty() => format!("{path}{ending}"),
            Some((path, _)) => format!("{path}{name}"),
            None => name.clone(),
        };
        let mut to = sink.create(&put)?;
        match load.take_if(|_| carrying == Some(place)) {
            Some((carrier, all, chunks)) => {
                let next = &mut || chunks.next();
                let load = Load { part: name, lines, count: all, all, next };
                (carrier.put)(&mut from, load, &mut *to)?;
            }
            None if let Some((carrier, all)) = says => {
                let next = &mut || Ok(None);
                let load = Load { part: name, lines, count: 0, all, next };
                (carrier.put)(&mut from, load, &mut *to)?;
            }
            None => drop(io::copy(&mut from, &mut to).map_err(cannot_copy)?),
        }
        to.flush().map_err(cannot_copy)?;
    }
    Ok(())
}

/// The parts' names, with their first bytes.
fn heads(parts: &[(String, Part)]) -> Result<Vec<Beginning>> {
    let head = |(name, part): &(String, Part)| {
        let mut head = Vec::new();
        part.reading(0).take(HEAD).read_to_end(&mut head).map_err(cannot_copy)?;
        Ok((name.clone(), head))
    };
    parts.iter().map(head).collect()
}

const BUFFER: usize = 256 << 10;
/// How much of a part tells what it is.
const HEAD: u64 = 64;

fn cannot_copy(error: io::Error) -> Error {
    Error::io("cannot copy", error)
}

/// How many lines a part has.
fn lines(part: &Part) -> Result<u64> {
    let mut reading = part.reading(0);
    let mut buffer = vec![0; BUFFER];
    let (mut count, mut last) = (0, b'\n');
    loop {
        let read = reading.read(&mut buffer).map_err(cannot_copy)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(count + u64::from(last != b'\n'));
        };
        count += memchr::memchr_iter(b'\n', bytes).count() as u64;
        last = bytes.last().copied().unwrap_or(last);
    }
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

    fn is_native(&self) -> bool {
        !self.free && self.sink.is_native()
    }

    fn takes_parts(&self) -> bool {
        self.free || self.sink.takes_parts()
    }

    fn stem(&self) -> Option<String> {
        self.sink.stem()
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
