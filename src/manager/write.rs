//! Writing the entries of a session in its format.

use super::Session;
use super::entries::Entries;
use super::file::{Files, Writing};
use super::open::{random, reading, source_of, uuid};
use super::rewritten::Rewritten;
use crate::batch::{Opened, ReadOptions};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Options};
use crate::formats;
use crate::json::Json;
use crate::memory::{Buffer, Bytes};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};

impl Session {
    /// Writes a new entry, and returns its identifier.
    pub(super) fn write(&mut self, writing: Option<Writing>, record: Record) -> Result<String> {
        let id = record.node.text(Field::Id).unwrap_or_default();
        let located = unplaced(record);
        let leaf = self.leaf_record(&located.value);
        let added: Vec<_> = std::iter::once(&located).chain(&leaf).collect();
        if let (true, Some(lines)) = (self.version.tree, self.lines_of(&added)?) {
            self.put_lines(&lines, &added)?;
            drop(writing);
            self.entries.push(located);
            leaf.into_iter().for_each(|leaf| self.entries.push(leaf));
            self.entries.set_leaf(Some(Json::string(&id)))?;
            self.entries.follow();
            return Ok(id);
        }
        if let Some(Added { lines, records, leaf }) = self.added(&located.value)? {
            if let Some(files) = &mut self.files
                && let Err(error) = files.append(&lines)
            {
                // The file does not have the lines that the end of the session has.
                self.end = None;
                return Err(error);
            }
            drop(writing);
            records.into_iter().for_each(|value| self.entries.push(unplaced(value)));
            self.entries.set_leaf(Some(leaf))?;
            self.entries.follow();
            return Ok(self.leaf().unwrap_or_default());
        }
        self.end = None;
        let rewritten = self.whole(&located.value, &added)?;
        // A list does not contain identifiers: its reader makes them.
        let read = self.read_back(&rewritten.parts)?;
        if !self.continues(&read, &located.value) {
            return Err(self.no_place(&located.value));
        }
        match &mut self.files {
            Some(files) if files.is_new() => files.fill(&rewritten.parts)?,
            Some(files) => files.change(&files.contents()?, rewritten)?,
            None => {}
        }
        drop(writing);
        self.entries = read;
        Ok(self.leaf().unwrap_or_default())
    }

    /// Appends the lines of new records to the file; a new file gets all records.
    fn put_lines(&mut self, lines: &[u8], added: &[&Located<Record>]) -> Result<()> {
        match &mut self.files {
            Some(files) if files.is_new() => {
                let all = self.entries.located().chain(added.iter().copied());
                files.fill(&written(self.format, self.version, all)?)
            }
            Some(files) => files.append(lines),
            None => Ok(()),
        }
    }

    /// Returns the files of the whole session with a new record; `added` are the record and the one
    /// that states the leaf, if there is one.
    ///
    /// # Errors
    /// If the format has no place for the record.
    fn whole(&self, record: &Record, added: &[&Located<Record>]) -> Result<Rewritten> {
        match &self.files {
            Some(files) if !files.is_new() => {
                let source = source_of(files.main());
                let opened = Opened::new(&source, ReadOptions::new(None, &reading()), true)?;
                let opened = opened.ok_or_else(|| self.no_place(record))?;
                self.rewritten(&mut { opened.input }, record)
            }
            None if self.header().node.get(Field::Source).is_some() => {
                self.rewritten(&mut self.to_bytes()?.into_parts(), record)
            }
            _ => {
                let all = self.entries.located().chain(added.iter().copied());
                let parts = written(self.format, self.version, all)?;
                Ok(Rewritten { parts, ..Rewritten::default() })
            }
        }
    }

    /// Reads the files of the session with a further record.
    fn read_back(&self, output: &Buffer) -> Result<Entries> {
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let part = |name: &str| (name.to_owned(), output.part(name).unwrap_or_default());
        let copies = output.names().map(part);
        let mut parts = copies.fold(Bytes::default(), |all, (name, copy)| all.with(&name, copy));
        Entries::read(formats::records(self.format, &mut parts, &cx)?)
    }

    /// Returns a new record as lines behind those that the session has; `None` if the whole session
    /// is needed for that.
    fn added(&mut self, record: &Record) -> Result<Option<Added>> {
        if self.files.as_ref().is_some_and(Files::is_new) {
            return Ok(None);
        }
        let Some(mut end) = self.end.take().or_else(|| self.open_end()) else { return Ok(None) };
        let (parent, mut lines) = (self.entries.leaf().cloned(), Vec::new());
        let records = end.add(record, &mut lines)?;
        let nodes = || records.iter().filter(|record| record.is_node());
        let first = nodes().next().and_then(|first| first.node.json(Field::Parent));
        let last = nodes().next_back().filter(|last| last.kind == record.kind);
        let leaf = last.and_then(|last| last.node.json(Field::Id)).cloned();
        let leaf = leaf.filter(|leaf| !self.entries.has(leaf));
        let follows = first.filter(|parent| !parent.is_null()) == parent.as_ref();
        let leaf = leaf.filter(|_| follows).ok_or_else(|| self.no_place(record))?;
        self.end = Some(end);
        Ok(Some(Added { lines, records, leaf }))
    }

    /// Returns the end of the session, if records can be added to it as lines.
    fn open_end(&self) -> Option<Box<dyn Appender>> {
        // Only a file of this very version can get further lines of it.
        let source = self.format.at(self.version.number);
        let append =
            self.format.append.filter(|_| self.header().node.is(Field::Source, &source))?;
        let mut end = append(self.header(), self.version.number)?;
        self.entries().all(|record| end.note(record)).then_some(end)
    }

    /// Returns the record that makes a new entry the leaf, if an earlier record names another one.
    fn leaf_record(&self, entry: &Record) -> Option<Located<Record>> {
        let named = self.entries.names_leaf();
        let id = entry.node.json(Field::Id).filter(|_| named && self.version.tree)?;
        let leaf = Record::new(Kind::Session).with(Field::Leaf, id.clone());
        Some(Located { value: leaf, at: Position::default() })
    }

    /// Whether a session that was read back ends with the new entry.
    fn continues(&self, read: &Entries, entry: &Record) -> bool {
        let (before, _) = self.entries.messages();
        let (after, last) = read.messages();
        if self.version.tree {
            let leaf = read.leaf().filter(|leaf| !self.entries.has(leaf));
            let leaf = leaf.and_then(|leaf| read.get(leaf));
            return after > before && leaf.is_some_and(|leaf| leaf.kind == entry.kind);
        }
        // An answer that only the end of a turn contains would come behind the new message.
        after > before && last == entry.node.json(Field::Role)
    }

    /// Returns the error for an entry that would not come behind the last one.
    pub(super) fn no_place(&self, entry: &Record) -> Error {
        let name = self.format.at(self.version.number);
        let role = entry.node.text(Field::Role).unwrap_or_default();
        let mut message = format!("{name} has no place for this message of the role `{role}`");
        if !self.version.tree {
            message += " behind the last one; convert the session to another format (`copyist \
                        convert --to pi`) and append to the output";
        }
        Error::request(Code::NoSuchEntry, message)
    }

    /// Returns the lines that new records are in the file of a format that has one line an entry;
    /// `None` where what is written of one entry depends on the others.
    fn lines_of(&self, records: &[&Located<Record>]) -> Result<Option<Vec<u8>>> {
        if self.format.plane.is_none() {
            return Ok(None);
        }
        // Whether the last line of the file has its ending is a matter of that line alone.
        let mut header = self.entries.located().next().cloned().into_iter().collect::<Vec<_>>();
        if let Some(header) = header.first_mut() {
            header.value.node.take(Field::File);
        }
        let alone = written(self.format, self.version, header.iter())?.main();
        let both =
            written(self.format, self.version, header.iter().chain(records.iter().copied()))?
                .main();
        Ok(both.strip_prefix(alone.as_slice()).map(<[u8]>::to_vec))
    }

    /// Returns an identifier that no entry has, in the form of those that the session has.
    pub(super) fn new_id(&self) -> Json {
        let last = self.entries.leaf().and_then(Json::text);
        let long = last.is_some_and(|last| last.len() == 36);
        loop {
            let id = if long { uuid() } else { format!("{:08x}", random() >> 32) };
            let id = Json::string(&id);
            if !self.entries.has(&id) {
                return id;
            }
        }
    }
}

/// Lines behind those that a file has.
struct Added {
    lines: Vec<u8>,
    /// The records as which they are read.
    records: Vec<Record>,
    /// The identifier of the last one.
    leaf: Json,
}

fn unplaced(value: Record) -> Located<Record> {
    Located { value, at: Position::default() }
}

/// Returns options by which a program's messages get the members that the agent requires.
fn writing_options() -> Options {
    Options { complete: true, ..Options::default() }
}

/// Writes records in a format into memory.
pub fn written<'r>(
    format: &'static crate::format::Format,
    version: &'static crate::format::Version,
    records: impl Iterator<Item = &'r Located<Record>>,
) -> Result<Buffer> {
    let (options, log) = (writing_options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut sink = Buffer::default();
    let mut writer = (format.write)(&mut sink, version, &cx)?;
    for record in records {
        writer.record(record)?;
    }
    writer.finish()?;
    Ok(sink)
}
