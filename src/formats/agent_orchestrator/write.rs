//! Writer of a stream of records as a log and its metadata.

use super::line::{self, Shape};
use super::prompts::Prompts;
use super::{NAME, is_name, meta, stem};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::framing::Pen;
use crate::json::Json;
use crate::mapping::Extra;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};
use crate::times;
use bytes::Bytes;
use jiff::Timestamp;
use memchr::memmem;
use std::io::Write;

/// Opens a session for writing.
///
/// # Errors
/// None; the parts are created when it is known which there are.
pub fn open<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let shape = Shape::of(version.number);
    Ok(Box::new(Pair {
        sink,
        cx,
        version,
        shape,
        log: None,
        session: None,
        group: Vec::new(),
        prompts: Prompts::new(shape),
        began: None,
        unreadable: None,
    }))
}

struct Pair<'a> {
    sink: &'a mut dyn Sink,
    cx: &'a Cx<'a>,
    version: &'static Version,
    shape: Shape,
    /// The log, once a record of it came.
    log: Option<Pen>,
    session: Option<Session>,
    /// Records that wait for others of their group.
    group: Vec<Located<Record>>,
    /// Turns of a session from another format.
    prompts: Prompts,
    /// First time that a record contains.
    began: Option<Timestamp>,
    /// Text of metadata that could not be read.
    unreadable: Option<Vec<u8>>,
}

struct Session {
    node: Node,
    /// Whether the records come from a session of this format.
    own: bool,
    /// Whether the records come from a session of this version of the format.
    same: bool,
    /// Whether there are metadata.
    meta: bool,
}

impl Writer for Pair<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        self.began = self.began.or_else(|| times::read(record.node.json(Field::Time)?));
        let Some((own, same)) = self.session.as_ref().map(|session| (session.own, session.same))
        else {
            return match record.kind {
                Kind::Session => self.begin(located),
                _ => Err(no_session(located.at)),
            };
        };
        if own && record.is_restored() {
            return Ok(());
        }
        if !self.group.first().is_some_and(|first| is_joined(&first.value, record)) {
            self.flush_group()?;
        }
        let is_of_log = record.kind != Kind::Session && !record.node.is(Field::Layout, "meta");
        if is_of_log && self.log.is_none() {
            // Metadata without a log get one with the first record of a log.
            self.log = Some(Pen::to(self.sink.create("")?));
        }
        match record.kind {
            Kind::Session => self.later_session(&record.node),
            Kind::Opaque if is_line(record) && same => self.unchanged_line(&record.node)?,
            Kind::Opaque if is_line(record) => self.cx.log.lost("a line that is not a record"),
            // A log contains only messages that were sent to the model.
            Kind::Message if own && record.node.is_true(Field::Excluded) => {
                self.cx.log.lost("message that is kept out of the context");
            }
            _ if own => self.group.push(located.clone()),
            _ => {
                let (log, mut done) = (&mut self.log, Ok(()));
                self.prompts.record(record, self.cx.log, &mut |line| put(log, line, &mut done));
                return done;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush_group()?;
        let Some(mut session) = self.session.take() else {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        };
        if !session.same && session.node.json(Field::Created).is_none() {
            // The scripts list a session without these members as unknown.
            let began = times::with_micros(self.began.unwrap_or(Timestamp::UNIX_EPOCH));
            session.node.set(Field::Created, Json::string(&began));
            if session.node.json(Field::Updated).is_none() {
                session.node.set(Field::Updated, Json::string(&began));
            }
        }
        let (log, mut done) = (&mut self.log, Ok(()));
        self.prompts.close(&mut |line| put(log, line, &mut done));
        done?;
        let silent = self.log.as_ref().is_none_or(Pen::is_unused);
        // The shell's scripts take the identifier from the log.
        let unnamed = silent && self.shape == Shape::Printed && session.own && !session.same;
        if unnamed && session.node.get(Field::Id).is_some() {
            self.cx.log.lost("session.id");
        }
        if silent && !session.same {
            spell_times(&mut session.node, self.shape);
        }
        self.log.take().map_or(Ok(()), Pen::finish)?;
        if session.meta {
            let text = match self.unreadable.take() {
                Some(text) => text,
                None => self.metadata(session),
            };
            let mut to = self.sink.create(meta::ENDING)?;
            to.write_all(&text).and_then(|()| to.flush()).cannot("write")?;
        } else if session.own {
            self.count_lost(&session.node, &Bytes::from_static(b"{}"), &[Field::Cwd]);
        }
        Ok(())
    }
}

/// Spells the times of a session as the scripts of a version do. Metadata without a log show their
/// version only by this spelling.
fn spell_times(session: &mut Node, shape: Shape) {
    let spell = match shape {
        Shape::Printed => times::with_seconds,
        Shape::Classes => times::with_micros,
    };
    for field in [Field::Created, Field::Updated] {
        if let Some(time) = session.json(field).and_then(times::read) {
            session.set(field, Json::string(&spell(time)));
        }
    }
}

/// Whether a record is on the same line as the one before.
fn is_joined(first: &Record, record: &Record) -> bool {
    let group = |record: &Record| record.node.json(Field::Group).cloned();
    let spoken = |record: &Record| record.kind == Kind::Message && !is_assistant(record);
    spoken(first) && spoken(record) && group(first).is_some() && group(first) == group(record)
}

fn is_assistant(record: &Record) -> bool {
    record.node.is(Field::Role, "assistant")
}

/// Whether a record is a line that is not a record of the source.
fn is_line(record: &Record) -> bool {
    record.node.json(Field::Text).is_some() || record.node.json(Field::Base64).is_some()
}

impl Pair<'_> {
    fn begin(&mut self, located: &Located<Record>) -> Result<()> {
        let node = &located.value.node;
        let source = node.text(Field::Source).unwrap_or_default();
        let own = source.split('@').next() == Some(NAME);
        let same = source == format!("{NAME}@{}", self.version.number);
        let file = node.node(Field::File).cloned().unwrap_or_default();
        let style = |style| same && file.is(Field::Style, style);
        let (meta, log) = (!style("log"), !style("meta"));
        if meta && log && !self.sink.takes_parts() {
            let message = "the session takes two files, and there is room for one";
            return Err(Error::request(Code::OutputName, message));
        }
        if log {
            let mut pen = Pen::to(self.sink.create("")?);
            if own {
                pen.file(node, true);
            }
            self.log = Some(pen);
        }
        let mut node = node.clone();
        if !own {
            self.adopt(&mut node);
        }
        self.prompts.model(node.json(Field::Model));
        self.session = Some(Session { node, own, same, meta });
        Ok(())
    }

    /// Converts the session record of another format to the metadata of a new session.
    fn adopt(&mut self, node: &mut Node) {
        const HELD: &[Field] =
            &[Field::Source, Field::Agent, Field::Cwd, Field::Created, Field::Updated, Field::File];
        let fields: Vec<Field> = node.fields().collect();
        for field in fields {
            // The session gets the name of its files.
            if field != Field::Name && field != Field::Model && !HELD.contains(&field) {
                self.cx.log.lost(&format!("session.{}", field.name()));
                node.take(field);
            }
        }
        for field in [Field::Created, Field::Updated] {
            let Some(time) = node.json(field) else { continue };
            match times::read(time) {
                Some(time) => node.set(field, Json::string(&times::with_micros(time))),
                None => {
                    self.cx.log.lost(&format!("session.{}", field.name()));
                    node.take(field);
                }
            }
        }
        let first = node.json(Field::Created).or(node.json(Field::Updated)).cloned();
        if let Some(first) = first {
            let last = node.json(Field::Updated).cloned().unwrap_or_else(|| first.clone());
            node.set(Field::Created, first);
            node.set(Field::Updated, last);
        }
        let mut extra = Extra::default();
        if let Some(cwd) = node.text(Field::Cwd) {
            let agents = Json::string(&format!("{cwd}/.agent-orchestrator/agents"));
            extra.add(b"\"agents_dir\"", agents.as_bytes());
        }
        extra.add(b"\"schema_version\"", b"\"1.0\"");
        extra.put(node);
        self.cx.report(Diagnostic::of(Code::NotResumable));
    }

    /// Takes a session record after the first one.
    fn later_session(&mut self, node: &Node) {
        self.log.iter_mut().for_each(|pen| pen.file(node, false));
        let own = self.session.as_ref().is_some_and(|session| session.own);
        for field in node.fields().filter(|field| *field != Field::File) {
            // The current message of a session of this format follows from its lines.
            if !(own && field == Field::Leaf) {
                self.cx.log.lost(&format!("session.{}", field.name()));
            }
        }
    }

    fn unchanged_line(&mut self, node: &Node) -> Result<()> {
        let bytes = node.line().unwrap_or_default();
        if node.is(Field::Layout, "meta") {
            self.unreadable = Some(bytes);
            return Ok(());
        }
        self.log.as_mut().map_or(Ok(()), |pen| pen.put(&bytes))
    }

    /// Writes the line of the records that waited.
    fn flush_group(&mut self) -> Result<()> {
        let group = std::mem::take(&mut self.group);
        let same = self.session.as_ref().is_some_and(|session| session.same);
        let mut records: Vec<Record> = group.into_iter().map(|located| located.value).collect();
        if !same {
            records.iter_mut().for_each(|record| self.reshape(record));
        }
        let mut text = Vec::new();
        if line::write(&records, self.shape, &mut text) {
            // Only prompts of the user have a time of their own.
            let times = records.iter().filter_map(|record| record.node.json(Field::Time));
            for _ in times.filter(|time| memmem::find(&text, time.as_bytes()).is_none()) {
                self.cx.log.lost("message.time");
            }
            return self.log.as_mut().map_or(Ok(()), |pen| pen.put(&text));
        } else if let Some(record) = records.first() {
            self.cx.log.lost(record.kind.name());
        }
        Ok(())
    }

    /// Removes members that this version has no place for from a record of the other version.
    fn reshape(&self, record: &mut Record) {
        let extra = record.node.json(Field::Extra).cloned();
        let Some(extra) = extra.filter(|extra| extra.member("message").is_some()) else { return };
        self.cx.log.lost(&format!("{}.extra.message", record.kind.name()));
        let mut rest = Extra::default();
        for (key, value) in extra.members().filter(|(key, _)| *key != b"\"message\"") {
            rest.add(key, value);
        }
        record.node.take(Field::Extra);
        rest.put(&mut record.node);
    }

    /// Spells the metadata.
    fn metadata(&self, session: Session) -> Vec<u8> {
        let Session { mut node, own, same, .. } = session;
        let name = node.text(Field::Name).filter(|name| own && is_name(name));
        // Metadata that had no valid name in the source are written without one.
        if name.is_none() && !same {
            let files = self.sink.stem().or_else(|| node.text(Field::Name));
            node.set(Field::Name, Json::string(&stem(&files.unwrap_or_default())));
        }
        if own && !same && self.shape == Shape::Classes && node.get(Field::Id).is_none() {
            self.cx.report(Diagnostic::of(Code::NotResumable));
        }
        let mut out = Vec::new();
        meta::write(&node, self.shape, &mut out);
        if own {
            self.count_lost(&node, &Bytes::copy_from_slice(&out), &[]);
        }
        out
    }

    /// Counts the fields of a session of this format that the new metadata do not contain; fields
    /// in `log`, which the log contains, do not count.
    fn count_lost(&self, node: &Node, text: &Bytes, log: &[Field]) {
        const APART: &[Field] = &[Field::Source, Field::File, Field::Id, Field::Leaf];
        let held = meta::read(text, self.shape).ok().flatten().unwrap_or_default();
        for field in node.fields().filter(|field| !APART.contains(field) && !log.contains(field)) {
            if held.get(field).is_none() {
                self.cx.log.lost(&format!("session.{}", field.name()));
            }
        }
    }
}

/// Writes a line of the log, unless one before it could not be written.
fn put(log: &mut Option<Pen>, line: &[u8], done: &mut Result<()>) {
    if let (Some(pen), Ok(())) = (log, &done) {
        *done = pen.put(line);
    }
}
