//! Writing the entries of a session in its format.

use super::Session;
use super::entries::Entries;
use super::file::Writing;
use super::open::{random, uuid};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Options};
use crate::formats;
use crate::json::Json;
use crate::memory::{Buffer, Bytes};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};

impl Session {
    /// Writes a new entry, and returns its identifier.
    pub(super) fn write(&mut self, writing: Option<Writing>, record: Record) -> Result<String> {
        let id = record.node.text(Field::Id).unwrap_or_default();
        let located = Located { value: record, at: Position::default() };
        let leaf = self.leaf_record(&located.value);
        let added: Vec<_> = std::iter::once(&located).chain(&leaf).collect();
        if let (true, Some(lines)) = (self.version.tree, self.lines_of(&added)?) {
            match &mut self.files {
                Some(files) if files.is_new() => {
                    let all = self.entries.located().chain(added.iter().copied());
                    files.fill(&written(self.format, self.version, all)?)?;
                }
                Some(files) => files.append(&lines)?,
                None => {}
            }
            drop(writing);
            self.entries.push(located);
            leaf.into_iter().for_each(|leaf| self.entries.push(leaf));
            self.entries.set_leaf(Some(Json::string(&id)))?;
            self.entries.follow();
            return Ok(id);
        }
        if let Some(behind) = self.behind(&added)? {
            self.files
                .iter_mut()
                .try_for_each(|files| files.change(&behind.before, &behind.after, true))?;
            drop(writing);
            behind.nodes.into_iter().chain(leaf).for_each(|node| self.entries.push(node));
            self.entries.set_leaf(Some(behind.leaf.clone()))?;
            self.entries.follow();
            return Ok(behind.leaf.text().unwrap_or_default());
        }
        let all = self.entries.located().chain(added.iter().copied());
        let output = written(self.format, self.version, all)?;
        // A list does not contain identifiers: its reader makes them.
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let part = |name: &str| (name.to_owned(), output.part(name).unwrap_or_default());
        let copies = output.names().map(part);
        let mut parts = copies.fold(Bytes::default(), |all, (name, copy)| all.with(&name, copy));
        let read = Entries::read(formats::records(self.format, &mut parts, &cx)?)?;
        if !self.continues(&read, &located.value) {
            return Err(self.no_place(&located.value));
        }
        match &mut self.files {
            Some(files) if files.is_new() => files.fill(&output)?,
            Some(files) => {
                let before = written(self.format, self.version, self.entries.located())?;
                files.change(&before, &output, self.format.has_lines())?;
            }
            None => {}
        }
        drop(writing);
        self.entries = read;
        Ok(self.leaf().unwrap_or_default())
    }

    /// Returns the lines that new records are behind those that the file of a tree has; `None` if
    /// the format's writer needs the whole session, or these lines alone would be read otherwise.
    fn behind(&self, added: &[&Located<Record>]) -> Result<Option<Behind>> {
        let exists = self.files.as_ref().is_some_and(|files| !files.is_new());
        if !(exists && self.version.tree && self.format.has_lines()) {
            return Ok(None);
        }
        let (options, log) = (writing_options(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let output = |added: &[&Located<Record>]| {
            let mut sink = Buffer::default();
            let mut writer = (self.format.write)(&mut sink, self.version, &cx)?;
            for located in self.entries.located() {
                if !writer.pass(located)? {
                    return Ok(None);
                }
            }
            added.iter().try_for_each(|record| writer.record(record))?;
            writer.finish()?;
            Ok(Some(sink))
        };
        let (Some(before), Some(after)) = (output(&[])?, output(added)?) else { return Ok(None) };
        let both = after.main();
        let lines = both.strip_prefix(before.main().as_slice()).unwrap_or_default();
        let mut parts = Bytes::new(lines);
        let mut nodes = Vec::new();
        for item in formats::records(self.format, &mut parts, &cx)? {
            let value = item?.value;
            if value.is_node() {
                nodes.push(Located { value, at: Position::default() });
            }
        }
        let new = |id: &&Json| !self.entries.has(id);
        let last = nodes.last().map(|last| &last.value);
        let same = |last: &&Record| added.first().is_some_and(|new| new.value.kind == last.kind);
        let leaf = last.filter(same).and_then(|last| last.node.json(Field::Id)).filter(new);
        let first = nodes.first().and_then(|first| first.value.node.json(Field::Parent));
        let parent = first.filter(|parent| !parent.is_null());
        let Some(leaf) = leaf.filter(|_| parent == self.entries.leaf()).cloned() else {
            return Ok(None);
        };
        Ok(Some(Behind { before, after, nodes, leaf }))
    }

    /// Returns the record that makes a new entry the leaf, if an earlier record names another one.
    fn leaf_record(&self, entry: &Record) -> Option<Located<Record>> {
        let names_leaf = |record: &Record| {
            record.kind == Kind::Session && record.node.get(Field::Leaf).is_some()
        };
        let named = self.entries.located().any(|located| names_leaf(&located.value));
        let id = entry.node.json(Field::Id).filter(|_| named && self.version.tree)?;
        let mut leaf = Record::new(Kind::Session);
        leaf.node.set(Field::Leaf, id.clone());
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
    fn no_place(&self, entry: &Record) -> Error {
        let name = self.format.at(self.version.number);
        if self.version.tree {
            let role = entry.node.text(Field::Role).unwrap_or_default();
            let message = format!("{name} has no place for this message of the role `{role}`");
            return Error::request(Code::NoSuchEntry, message);
        }
        let message = format!(
            "copyist cannot continue this session of {name} yet, because the format has no place \
             for a message behind the last one; convert it to another format (`copyist convert \
             --to pi`) and append to the output"
        );
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
struct Behind {
    /// The output of the session's end without the new records, and with them.
    before: Buffer,
    after: Buffer,
    /// The new records as they are read.
    nodes: Vec<Located<Record>>,
    /// The identifier of the last one.
    leaf: Json,
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
