//! Writer of a stream of records as a transcript.

use super::about::{FIRST, SECOND};
use super::files::{self, Begun};
use super::foreign::Foreign;
use super::lineage::Lineage;
use super::upgrade::Upgrade;
use super::{NAME, line};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::framing::Pen;
use crate::json::Json;
use crate::lines::{BOM, empty};
use crate::parts::no_room_for_parts;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use std::io::Write;

/// Opens a session for writing.
///
/// # Errors
/// If the part cannot be created.
pub fn open<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let pen = Pen::to(sink.create("")?);
    Ok(Box::new(Transcript {
        pen,
        sink,
        version: version.number,
        part: Destination::Main,
        upgrade: None,
        cx,
        session: None,
        group: Vec::new(),
        line: Vec::new(),
        written: Lineage::default(),
        leaf: None,
    }))
}

struct Transcript<'a> {
    /// Writes the main part.
    pen: Pen,
    sink: &'a mut dyn Sink,
    version: u32,
    /// Part whose lines are written now.
    part: Destination,
    /// State of the migration of a session of version 1.
    upgrade: Option<Upgrade>,
    cx: &'a Cx<'a>,
    session: Option<Session>,
    /// Records that wait for others of their line.
    group: Vec<Located<Record>>,
    /// Buffer for one line.
    line: Vec<u8>,
    /// Links of the records of a transcript, and the leaf that its session record names.
    written: Lineage,
    leaf: Option<Json>,
}

/// Part to which lines go.
enum Destination {
    Main,
    Part(Pen),
    /// A file beside the session in version 1, whose lines move.
    Flat,
    /// A file in its place, which stays as it is.
    Kept,
}

enum Session {
    /// The records come from a transcript. Records that were added in another format get their
    /// lines as foreign ones do.
    Own(Box<Foreign>),
    /// The records come from another format.
    Foreign(Box<Foreign>),
}

impl Writer for Transcript<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        match (&mut self.session, record.kind) {
            (None, Kind::Session) => self.begin(record),
            (None, _) => return Err(no_session(located.at)),
            (Some(Session::Own(_)), Kind::Session) => {
                self.flush_group()?;
                if let Destination::Part(pen) = &mut self.part {
                    pen.file(&record.node, false);
                } else {
                    self.pen.file(&record.node, false);
                }
                self.leaf = record.node.json(Field::Leaf).cloned().or(self.leaf.take());
            }
            (Some(Session::Own(_)), _) => return self.own(located),
            (Some(Session::Foreign(foreign)), _) => {
                foreign.record(record, &mut self.line, self.cx);
                return self.foreign_lines();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush_group()?;
        self.flush_foreign()?;
        self.end_part()?;
        match self.session.take() {
            None => return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record"))),
            Some(Session::Foreign(foreign)) => {
                for last in foreign.finish() {
                    self.pen.put(&last)?;
                }
            }
            Some(Session::Own(foreign)) => {
                // A session that was moved to another leaf names it.
                if let Some(leaf) = self.written.other_leaf(self.leaf.as_ref()) {
                    let lines = match self.written.ends_at(leaf) {
                        true => vec![foreign.ends_at(leaf)],
                        false => foreign.leaf_lines(leaf).to_vec(),
                    };
                    for line in lines {
                        self.pen.put(&line)?;
                    }
                } else if let Some(last) = self.upgrade.as_ref().and_then(Upgrade::last) {
                    self.pen.put(&last)?;
                }
            }
        }
        self.pen.finish()?;
        self.upgrade.map_or(Ok(()), |upgrade| upgrade.finish(self.sink))
    }
}

impl Transcript<'_> {
    fn begin(&mut self, record: &Record) {
        let source = record.node.text(Field::Source).unwrap_or_default();
        if source.split('@').next() == Some(NAME) {
            self.pen.file(&record.node, true);
            let first = source == format!("{NAME}@{FIRST}");
            self.upgrade = (first && self.version == SECOND).then(|| Upgrade::of(&record.node));
            self.leaf = record.node.json(Field::Leaf).cloned();
            let quiet = Log::default();
            let cx = Cx { options: self.cx.options, log: &quiet };
            self.session = Some(Session::Own(Box::new(Foreign::within(&record.node, &cx))));
        } else {
            let foreign = Foreign::of(&record.node, self.cx);
            self.session = Some(Session::Foreign(Box::new(foreign)));
        }
    }

    /// Takes a record of a transcript.
    fn own(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        let added = record.kind != Kind::Opaque && record.node.json(Field::Extra).is_none();
        if !added {
            self.flush_foreign()?;
        }
        if let Some(part) = files::begun(record) {
            self.flush_group()?;
            return self.begin_part(part);
        }
        if record.is_restored() {
            return Ok(());
        }
        if !matches!(self.part, Destination::Main) && files::is_of_transcript(record) {
            self.flush_group()?;
            self.end_part()?;
        }
        self.upgrade.iter_mut().for_each(|upgrade| upgrade.note(record));
        if matches!(self.part, Destination::Main) {
            self.written.note(record);
        }
        if self.group.first().is_some_and(|first| line::is_joined(&first.value, record)) {
            self.group.push(located.clone());
            return Ok(());
        }
        self.flush_group()?;
        let kept = match &mut self.part {
            Destination::Part(pen) => pen.write_unchanged(record)?,
            Destination::Main => self.pen.write_unchanged(record)?,
            Destination::Flat | Destination::Kept => false,
        };
        if kept {
            return Ok(());
        }
        match &mut self.session {
            Some(Session::Own(foreign)) if added => {
                foreign.record(record, &mut self.line, self.cx);
                self.foreign_lines()
            }
            _ => {
                self.group.push(located.clone());
                Ok(())
            }
        }
    }

    /// Begins a part.
    fn begin_part(&mut self, part: Begun) -> Result<()> {
        self.end_part()?;
        let Begun { name, bom, text, moves } = part;
        if name.is_empty() {
            return Ok(());
        }
        if let Some(upgrade) = self.upgrade.as_mut().filter(|_| moves && files::is_flat(&name)) {
            self.part = Destination::Flat;
            return upgrade.begin(&name, self.sink);
        }
        if self.upgrade.is_some() && files::is_flat(&name) && self.sink.is_in_place() {
            self.part = Destination::Kept;
            return Ok(());
        }
        if !self.sink.takes_parts() {
            return Err(no_room_for_parts());
        }
        let mut to = self.sink.create(&name)?;
        let begin = text.as_deref().unwrap_or(if bom { BOM } else { b"" });
        to.write_all(begin).and_then(|()| to.flush()).cannot("write")?;
        if text.is_none() {
            self.part = Destination::Part(Pen::to(to));
        }
        Ok(())
    }

    /// Ends the part whose lines came before.
    fn end_part(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.part, Destination::Main) {
            Destination::Part(pen) => pen.finish(),
            Destination::Main | Destination::Flat | Destination::Kept => Ok(()),
        }
    }

    /// Writes a line of a record to the part that it belongs to.
    fn put(&mut self, (node, at): (&Node, Position), line: &[u8]) -> Result<()> {
        match (&mut self.part, &mut self.upgrade) {
            (Destination::Part(pen), _) => pen.put(line)?,
            (Destination::Flat, Some(upgrade)) => upgrade.flat(node, line)?,
            (Destination::Flat, None) | (Destination::Kept, _) => {}
            (Destination::Main, Some(upgrade)) => {
                let mut out = Vec::with_capacity(line.len() + 64);
                upgrade.line((node, at), line, &mut out, self.sink, self.cx)?;
                if !out.is_empty() {
                    self.pen.put(&out)?;
                }
            }
            (Destination::Main, None) => self.pen.put(line)?,
        }
        Ok(())
    }

    /// Writes the lines of foreign records.
    fn foreign_lines(&mut self) -> Result<()> {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &self.line) {
            self.pen.put(self.line.get(start..end).unwrap_or_default())?;
            start = end + 1;
        }
        empty(&mut self.line);
        Ok(())
    }

    /// Writes the line of a foreign record that waited for the next one.
    fn flush_foreign(&mut self) -> Result<()> {
        if let Some(Session::Own(foreign) | Session::Foreign(foreign)) = &mut self.session {
            foreign.flush(&mut self.line);
        }
        self.foreign_lines()
    }

    /// Writes the line of the records that waited.
    fn flush_group(&mut self) -> Result<()> {
        let group = std::mem::take(&mut self.group);
        let Some(Located { at, .. }) = group.first() else { return Ok(()) };
        let at = *at;
        let records: Vec<Record> = group.into_iter().map(|located| located.value).collect();
        let Some(first) = records.first() else { return Ok(()) };
        let mut line = std::mem::take(&mut self.line);
        if line::write(&records, &mut line) {
            self.put((&first.node, at), &line)?;
        } else {
            self.cx.log.lost(first.kind.name());
        }
        empty(&mut line);
        self.line = line;
        Ok(())
    }
}
