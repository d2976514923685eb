//! Writer of pi's file from a stream of records.

use super::foreign::{self, Foreign};
use super::lineage::Lineage;
use super::version::TREE;
use super::wire::{self, BLOCKS};
use super::{NAME, dialect, migrated, other_lines, write};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::framing::Pen;
use crate::ids::{self, hash};
use crate::json::Json;
use crate::mapping::can_write;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, block, identity};
use std::collections::HashMap;

/// Opens a session for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    Ok(Box::new(Entries {
        pen: Pen::to(sink.create("")?),
        version,
        cx,
        session: None,
        slot: Node::default(),
        numbers: Vec::new(),
        passed: HashMap::new(),
    }))
}

struct Entries<'a> {
    pen: Pen,
    version: &'static Version,
    cx: &'a Cx<'a>,
    session: Option<Session>,
    /// The name in the title slot before the header.
    slot: Node,
    /// Hash of the identifier of each record, by record number, in version 1.
    numbers: Vec<u64>,
    /// Number of the record that follows a record that was left out, by the hash of the latter's
    /// identifier, in version 1.
    passed: HashMap<u64, u64>,
}

struct Session {
    /// Whether the records come from a file of this format.
    own: bool,
    /// Whether the records come from a file of this very version.
    same: bool,
    lineage: Lineage,
    /// Facts about a session of another format.
    foreign: Foreign,
}

impl Writer for Entries<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        // Records that a reader of this format restored are not written; those of another format
        // are.
        let own = self.session.as_ref().is_some_and(|session| session.own);
        if own && record.is_restored() {
            return Ok(());
        }
        let foreign = self.session.as_ref().is_some_and(|session| !session.own);
        match record.kind {
            Kind::Session => self.session_record(located),
            // An entry without an identifier hides the others.
            kind if foreign && kind.is_named() && !record.is_node() => {
                let session = self.session.as_mut();
                let value = session.map(|session| session.foreign.named(record.clone()));
                value.map_or(Ok(()), |value| self.entry(&Located { value, at: located.at }))
            }
            // A record that is not a node in another format is not an entry in pi.
            Kind::Opaque if foreign => {
                self.leave_out(record);
                Ok(())
            }
            kind if !record.is_node() && (foreign || !self.version.kinds.contains(&kind)) => {
                self.cx.log.lost(&record.path());
                Ok(())
            }
            _ if other_lines::is_line(record) => self.unchanged_line(record),
            _ => self.entry(located),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.session.is_none() {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        }
        self.write_last_entry()?;
        self.pen.finish()
    }
}

impl Entries<'_> {
    /// Writes the entry with the session's name, and a last entry where the session's leaf would not
    /// be pi's leaf otherwise.
    fn write_last_entry(&mut self) -> Result<()> {
        let held = self.version.kinds.contains(&Kind::SessionInfo);
        let Some(session) = self.session.as_mut().filter(|_| self.version.tree) else {
            return Ok(());
        };
        let name = session.foreign.name_entry().filter(|_| held && !session.own);
        let leaf = session.foreign.leaf_entry();
        for value in name.into_iter().chain(leaf) {
            self.entry(&Located { value, at: Position::default() })?;
        }
        Ok(())
    }

    fn unchanged_line(&mut self, record: &Record) -> Result<()> {
        match other_lines::line_of(&record.node, self.session.is_some()) {
            Some(line) => {
                if self.session.is_none() && dialect::is_slot(&line) {
                    dialect::set_name(&line, &mut self.slot);
                }
                self.pen.put(&line)?;
            }
            None => self.leave_out(record),
        }
        Ok(())
    }

    fn session_record(&mut self, located: &Located<Record>) -> Result<()> {
        let node = &located.value.node;
        let first = self.session.is_none();
        self.pen.file(node, first);
        for field in node.fields() {
            let own = node.text(Field::Source).is_some_and(|source| source.starts_with(NAME));
            let held =
                if first { wire::HEADER_FIELDS.contains(&field) } else { field == Field::File };
            // oh-my-pi's name is in the title slot before the header; pi's own header has none.
            let titled = own && self.slot.text(field) == node.text(field);
            let held = held && (own || field != Field::Extra);
            let held = held && (titled || field != Field::Name);
            let held = held || (self.version.tree && field == Field::Leaf);
            let held = held || (self.version.tree && !own && field == Field::Name);
            if !held {
                self.cx.log.lost(&format!("session.{}", field.name()));
            }
        }
        if first {
            self.header(located)?;
        }
        let [leaf, name] = [Field::Leaf, Field::Name].map(|field| node.json(field));
        self.session.iter_mut().for_each(|session| {
            session.foreign.set_leaf(leaf);
            session.foreign.set_name(name);
        });
        Ok(())
    }

    fn header(&mut self, located: &Located<Record>) -> Result<()> {
        let node = &located.value.node;
        let own = node
            .text(Field::Source)
            .is_some_and(|source| source == NAME || source.starts_with(&format!("{NAME}@")));
        let mut foreign = with_id(node, self.cx.options.question.as_deref());
        let known = Foreign::of(&foreign);
        known.header(&mut foreign);
        let node = if own { node } else { &foreign };
        let Some(id) = node.json(Field::Id) else {
            let found = Diagnostic::new(Code::BadRecord, "the session record has no `id`");
            return Err(Error::unfit(found.at(located.at)));
        };
        let same = node.is(Field::Source, &format!("{NAME}@{}", self.version.number));
        let lineage = Lineage::new(id.as_bytes(), self.cx);
        self.session = Some(Session { own, same, lineage, foreign: known });
        self.number(None);
        write::header(node, self.version.number, self.pen.line()?);
        Ok(())
    }

    fn entry(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        let Some(session) = &self.session else {
            return Err(no_session(located.at));
        };
        let (own, same) = (session.own, session.same);
        let mut plain = match own {
            true => session.foreign.moves(record).then(|| record.clone()),
            false => Some(self.adapted(record)),
        };
        if let (Some(plain), Some(session)) = (&mut plain, &mut self.session) {
            session.foreign.link(plain);
            if !session.own {
                session.foreign.complete(plain);
                // An entry of a tree has a parent, if only none.
                if plain.is_node() && plain.node.json(Field::Parent).is_none() {
                    plain.node.set(Field::Parent, Json::constant("null"));
                }
            }
        }
        let record = plain.as_ref().unwrap_or(record);
        let whole = self.completed(record);
        let record = whole.as_ref().unwrap_or(record);
        let unnamed = match &self.session {
            Some(to) if !same && self.version.number < TREE => {
                migrated::without_index(record, &to.lineage, self.cx.log)
            }
            _ => None,
        };
        let record = unnamed.as_ref().unwrap_or(record);
        // A list has no place beside the conversation.
        if (!same && !self.holds(record)) || (record.is_aside() && !self.version.tree) {
            self.leave_out(record);
            return Ok(());
        }
        let index = self.index(record);
        let older = self.session.as_ref().filter(|_| !same && self.version.number < TREE);
        let noted = older.and_then(|to| migrated::index_of(record, index, &to.lineage));
        let (record, spelled) = match &noted {
            Some((spelled, record)) => (record, Some(spelled.clone())),
            None => (record, index.map(Json::number)),
        };
        let number = self.version.number;
        let written =
            self.pen.try_line(|out| write::entry(record, number, spelled.as_ref(), out))?;
        if !written {
            self.leave_out(record);
            return Ok(());
        }
        self.number(Some(record));
        self.losses(record, index);
        Ok(())
    }

    /// Completes a message that the user added to a stream of a pi session with the fields that pi
    /// requires; `None` if the message needs nothing.
    fn completed(&mut self, record: &Record) -> Option<Record> {
        let session = self.session.as_mut().filter(|session| session.own)?;
        if !self.cx.options.complete || !foreign::is_bare(record) {
            return None;
        }
        let mut whole = record.clone();
        session.foreign.complete(&mut whole);
        Some(whole)
    }

    /// Leaves out a record that has no place in this version.
    fn leave_out(&mut self, record: &Record) {
        self.cx.log.lost(&record.path());
        self.session.iter_mut().for_each(|session| session.foreign.omit(&record.node));
        let id = record.node.json(Field::Id).filter(|_| self.version.number < TREE);
        id.into_iter().for_each(|id| self.pass(id));
    }

    /// Converts a record of another format to pi's form: without members that only that format
    /// knows, whose names may mean something else here, and with arguments that are values.
    fn adapted(&self, record: &Record) -> Record {
        let mut record = record.clone();
        let kind = record.kind.name();
        let lost = |path: &str| self.cx.log.lost(&format!("{kind}.{path}"));
        if record.kind != Kind::Opaque {
            foreign::adapt(&mut record.node, "", &lost);
        }
        record
    }

    /// Whether the version has a place for the record.
    fn holds(&self, record: &Record) -> bool {
        // An opaque record of another format would become an entry that pi never wrote.
        let own = self.session.as_ref().is_some_and(|session| session.own);
        self.version.kinds.contains(&record.kind)
            && (own || record.kind != Kind::Opaque)
            && (self.version.tree || !record.node.is(Field::Subtype, "custom_message"))
    }

    /// Counts the fields of a record that the line just written does not contain.
    fn losses(&self, record: &Record, index: Option<u64>) {
        let node = &record.node;
        let count = |field: &str| {
            self.cx.log.lost(&format!("{}.{field}", record.kind.name()));
        };
        for field in node.fields() {
            // The loss of a parent is not counted beside the loss of its identifier.
            if field != Field::Parent && !write::holds(record, self.version.number, field) {
                count(field.name());
            }
        }
        let lost_index = self.version.number < TREE && index.is_none();
        if lost_index && node.json(Field::FirstKept).is_some() {
            count("first_kept");
        }
        if write::message_extra_is_lost(record) {
            count("extra.message");
        }
        let tool = node.is(Field::Role, "tool");
        unwritable(node, tool, "content", &count);
        for field in [Field::Replacement, Field::SystemMessage] {
            if let Some(inner) = node.node(field) {
                unwritable(inner, false, &format!("{}.content", field.name()), &count);
            }
        }
    }

    /// Notes the number of a record, for the indexes of version 1.
    fn number(&mut self, record: Option<&Record>) {
        let node = record.map(|record| &record.node);
        if self.version.number < TREE {
            let id = node.and_then(|node| node.json(Field::Id));
            self.numbers.push(id.map_or(0, |id| hash(id.as_bytes())));
        }
        // The lineage is needed to read stored spellings, which depend on earlier records.
        let (Some(session), Some(record)) = (&mut self.session, record) else {
            return;
        };
        if record.is_node() {
            session.foreign.written(&record.node);
        }
        let data = record.node.json(Field::Data).map(Json::as_bytes);
        match (record.kind, data) {
            (Kind::Notice, _) => session.lineage.header(),
            (Kind::Opaque, Some(data)) if !data.starts_with(b"{") => session.lineage.other(),
            _ => drop(session.lineage.entry()),
        }
    }

    /// Returns the record number of a compaction's first kept entry, which may be the compaction
    /// itself.
    fn index(&self, record: &Record) -> Option<u64> {
        if self.version.number >= TREE {
            return None;
        }
        let first_kept = record.node.json(Field::FirstKept)?;
        if record.node.json(Field::Id) == Some(first_kept) {
            return Some(self.numbers.len() as u64);
        }
        let first_kept = hash(first_kept.as_bytes());
        let number =
            self.numbers.iter().rposition(|id| *id == first_kept).map(|number| number as u64);
        number.or_else(|| self.passed.get(&first_kept).copied())
    }

    /// Notes that no record has this identifier: a compaction that keeps entries from it on begins
    /// with the next record.
    fn pass(&mut self, id: &Json) {
        self.passed.insert(hash(id.as_bytes()), self.numbers.len() as u64);
    }
}

/// Returns the session record of another format with an identifier, which pi requires of a header.
/// The identifier is derived from the content of the record and from the first question.
fn with_id(node: &Node, wanted: Option<&str>) -> Node {
    let mut node = node.clone();
    node.take(Field::Extra);
    if node.json(Field::Id).is_none() {
        let spelled = identity(&node, wanted);
        let (a, b) = (hash(&spelled), hash(&[spelled.as_slice(), b"2"].concat()));
        node.set(Field::Id, Json::string(&ids::uuid(a, b)));
    }
    node
}

/// Names the blocks that pi has no place for, those in a tool's answer included.
fn unwritable(node: &Node, tool: bool, path: &str, count: &dyn Fn(&str)) {
    for (i, block) in node.content().iter().enumerate() {
        let answer = tool && i == 0 && block.is(Field::Type, block::TOOL_RESULT);
        if answer {
            unwritable(block, false, &format!("{path}.*.content"), count);
        } else if tool || !can_write(BLOCKS, block) {
            count(&format!("{path}.*.{}", block.text(Field::Type).unwrap_or_default()));
        }
    }
}
