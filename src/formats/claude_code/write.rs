//! Writer of a stream of records as a transcript.

use super::foreign::Foreign;
use super::lineage::Lineage;
use super::{NAME, line};
use crate::diagnostic::{Code, Diagnostic, FieldOutcome, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer, no_session};
use crate::framing::Pen;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;

/// Opens a session for writing.
///
/// # Errors
/// If the part cannot be created.
pub fn open<'a>(
    sink: &'a mut dyn Sink,
    _version: &'static Version,
    cx: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    let pen = Pen::to(sink.create("")?);
    Ok(Box::new(Transcript {
        pen,
        cx,
        session: None,
        group: Vec::new(),
        line: Vec::new(),
        written: Lineage::default(),
        leaf: None,
    }))
}

struct Transcript<'a> {
    pen: Pen,
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

enum Session {
    /// The records come from a transcript. Records that were added in another format get their lines
    /// as foreign ones do.
    Own(Box<Foreign>),
    /// The records come from another format.
    Foreign(Box<Foreign>),
}

/// Fields that a reader derives from other lines, or that belong to the file.
const DERIVED: &[Field] = &[
    Field::Parent,
    Field::Extra,
    Field::Group,
    Field::ParentCall,
    Field::Excluded,
    Field::Eol,
    Field::Kept,
];

impl Writer for Transcript<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        match (&mut self.session, record.kind) {
            (None, Kind::Session) => self.begin(record),
            (None, _) => return Err(no_session(located.at)),
            (Some(Session::Own(_)), Kind::Session) => {
                self.pen.file(&record.node, false);
                self.leaf = record.node.json(Field::Leaf).cloned().or(self.leaf.take());
            }
            (Some(Session::Own(_)), _) => return self.own(located),
            (Some(Session::Foreign(foreign)), _) => {
                foreign.record(record, &mut self.line, self.cx);
                return self.foreign_line(record);
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush_group()?;
        match self.session.take() {
            None => return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record"))),
            Some(Session::Foreign(foreign)) => {
                for last in foreign.finish() {
                    self.pen.line(&Node::default())?.extend_from_slice(&last);
                }
            }
            Some(Session::Own(foreign)) => {
                // A session that was moved to another leaf names it.
                if let Some(leaf) = self.written.other_leaf(self.leaf.as_ref()) {
                    for line in foreign.stands_at(leaf) {
                        self.pen.line(&Node::default())?.extend_from_slice(&line);
                    }
                }
            }
        }
        self.pen.finish()
    }
}

impl Transcript<'_> {
    fn begin(&mut self, record: &Record) {
        let source = record.node.text(Field::Source).unwrap_or_default();
        if source.split('@').next() == Some(NAME) {
            self.pen.file(&record.node, true);
            self.leaf = record.node.json(Field::Leaf).cloned();
            let quiet = Log::default();
            let cx = Cx { options: self.cx.options, log: &quiet };
            self.session = Some(Session::Own(Box::new(Foreign::of(&record.node, &cx))));
        } else {
            let foreign = Foreign::of(&record.node, self.cx);
            self.session = Some(Session::Foreign(Box::new(foreign)));
        }
    }

    /// Takes a record of a transcript.
    fn own(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        if record.is_restored() {
            return Ok(());
        }
        self.written.note(record);
        if self.group.first().is_some_and(|first| line::is_joined(&first.value, record)) {
            self.group.push(located.clone());
            return Ok(());
        }
        self.flush_group()?;
        if self.pen.kept(record)? {
            return Ok(());
        }
        let added = record.kind != Kind::Opaque && record.node.json(Field::Extra).is_none();
        match &mut self.session {
            Some(Session::Own(foreign)) if added => {
                foreign.record(record, &mut self.line, self.cx);
                self.foreign_line(record)
            }
            _ => {
                self.group.push(located.clone());
                Ok(())
            }
        }
    }

    /// Writes the line of a foreign record, if it has one.
    fn foreign_line(&mut self, record: &Record) -> Result<()> {
        if let Some(line) = self.line.strip_suffix(b"\n") {
            self.pen.line(&record.node)?.extend_from_slice(line);
        }
        self.line.clear();
        Ok(())
    }

    /// Writes the line of the records that waited.
    fn flush_group(&mut self) -> Result<()> {
        let group = std::mem::take(&mut self.group);
        let Some(Located { at, .. }) = group.first() else { return Ok(()) };
        let at = *at;
        let records: Vec<Record> = group.into_iter().map(|located| located.value).collect();
        let Some(first) = records.first() else { return Ok(()) };
        if let Some(raw) = first.node.text(Field::Raw).map(Bytes::from) {
            if gives(&raw, &records) {
                self.pen.line(&first.node)?.extend_from_slice(&raw);
                return Ok(());
            }
            self.cx.raw_refused(at);
        }
        if line::write(&records, &mut self.line) {
            self.pen.line(&first.node)?.extend_from_slice(&self.line);
        } else {
            self.cx.log.count(FieldOutcome::Dropped, first.kind.name());
        }
        self.line.clear();
        Ok(())
    }
}

/// Whether reading this line gives these records.
fn gives(raw: &Bytes, records: &[Record]) -> bool {
    let same = |(a, b): (&Record, &Record)| a.kind == b.kind && a.node.is_same(&b.node, DERIVED);
    line::read(raw)
        .is_ok_and(|read| read.len() == records.len() && read.iter().zip(records).all(same))
}
