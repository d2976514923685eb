//! Writer for files of turns, in the spelling of PyYAML or for human readers.
//!
//! Turns come before the messages that they sum up, and the top before both contains values that
//! are known last. So turns and messages go to spools, and the file is assembled at its end.
//! Records from the same format mostly come in the order of the file: if a wrong guess does no
//! harm, the messages are written directly behind the turns.

use super::super::{NAME, REMARK, message, time, timed};
use super::assembly::{CHUNK, Frame, Out, Section, add_file};
use super::top::{Lists, Shape, put, superseded};
use super::turn::{self, Summary};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Writer, Writing, no_session};
use crate::json::Json;
use crate::mapping::Spacing;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value};
use crate::yaml::write::Style;
use std::io::Write;

mod lists;

/// Opens a file for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, shape: &'static Shape, cx: &'a Cx<'a>) -> Writing<'a> {
    let to = sink.create("")?;
    Ok(Box::new(File {
        to: Some(to),
        trusts: sink.can_roll_back(),
        out: None,
        cx,
        shape,
        own: None,
        style: Style::PyYaml,
        top: Node::default(),
        middle: Vec::new(),
        tail: Vec::new(),
        turns: Section::new("turns", sink.spool()?),
        messages: Section::new("messages", sink.spool()?),
        written: 0,
        open: None,
        listed: 0,
        summary: None,
        header_prompt: None,
        sums: (0.0, 0.0),
        json: Vec::new(),
    }))
}

struct File<'a> {
    /// The destination, until the file is begun.
    to: Option<Box<dyn Write>>,
    /// Whether the file may be begun before all records are there.
    trusts: bool,
    /// The file, once the text before the messages is written.
    out: Option<Out>,
    cx: &'a Cx<'a>,
    shape: &'static Shape,
    /// Whether the records come from a file of this kind; `None` before the session record.
    own: Option<bool>,
    /// The YAML style: records from other formats are spelled for human readers.
    style: Style,
    /// The session record.
    top: Node,
    /// Text between turns and messages; `tail` is the text behind the messages.
    middle: Vec<u8>,
    tail: Vec<u8>,
    turns: Section,
    messages: Section,
    /// Number of turns that were written.
    written: u64,
    /// The turn whose messages are being written; `listed` is the last one before it.
    open: Option<u64>,
    listed: u64,
    /// The turn that is being summed up, if the source format has no turns.
    summary: Option<Summary>,
    /// The prompt of the session record, until a message contains one.
    header_prompt: Option<Json>,
    /// Tokens and cost of all turns that were summed up.
    sums: (f64, f64),
    /// The message that is being written, as JSON.
    json: Vec<u8>,
}

impl Writer for File<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        if self.own == Some(true) && record.is_restored() {
            return Ok(());
        }
        match (record.kind, self.own) {
            (Kind::Session, _) => self.session(&record.node),
            (_, None) => return Err(no_session(located.at)),
            (Kind::Notice, Some(true)) if self.is_key(&record.node) => self.key(&record.node),
            (Kind::Notice, Some(true)) => message::lost(record, self.cx.log),
            (Kind::Turn, Some(true)) => self.turn(record),
            (Kind::Turn, Some(false)) => self.begin_summary(&record.node),
            (Kind::Opaque, Some(true)) if record.node.is(Field::Type, "turn") => {
                self.turn(record);
            }
            (_, Some(own)) => self.message(located, own)?,
        }
        self.turns.flush(CHUNK)?;
        if self.own == Some(true) && self.trusts && self.has_lists() {
            return self.straight();
        }
        self.messages.flush(CHUNK)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let Some(own) = self.own else {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        };
        self.end_summary();
        if !own {
            self.head();
            let prompt = self.header_prompt.take().filter(|_| self.middle.is_empty());
            prompt.into_iter().for_each(|prompt| self.prompt(&prompt));
        }
        self.close_turn();
        self.list_empty(self.written);
        self.begin()?;
        let lists = self.has_lists();
        let Some(mut out) = self.out else { return Ok(()) };
        if lists {
            self.messages.finish(&mut out)?;
        }
        out.put(&self.tail)?;
        out.end(&self.top)
    }
}

impl File<'_> {
    /// Writes the text before the messages, unless that was done.
    fn begin(&mut self) -> Result<()> {
        let Some(to) = self.to.take() else { return Ok(()) };
        let (shape, top) = (self.shape, &self.top);
        let own = self.own == Some(true);
        let mut out = Frame { shape, top, own, style: self.style }.begin(to)?;
        self.turns.yaml.end();
        self.turns.finish(&mut out)?;
        out.put(&self.middle)?;
        self.out = Some(out);
        Ok(())
    }

    /// Writes messages directly behind the turns, on the assumption that no more turns come.
    fn straight(&mut self) -> Result<()> {
        if self.messages.yaml.buffer().len() >= CHUNK {
            self.begin()?;
        }
        self.out.as_mut().map_or(Ok(()), |out| self.messages.pour(CHUNK, out))
    }

    /// Gives up direct writing, because a record comes that belongs before the messages.
    fn early(&self) {
        if self.out.is_some() {
            self.cx.log.give_up();
        }
    }

    fn session(&mut self, node: &Node) {
        let first = self.own.is_none();
        let own = *self.own.get_or_insert(node.is(Field::Source, &self.shape.source()));
        self.shape.losses(node, own, &|_| false, self.cx.log);
        if first {
            self.set_style(own);
            self.top = if own { node.clone() } else { timed(node) };
            if !own {
                self.top.take(Field::Extra);
                self.top.take(Field::Totals);
                // A system message takes precedence, if there is one.
                if let Some(Value::Json(prompt)) = self.top.take(Field::SystemPrompt) {
                    self.header_prompt = Some(prompt).filter(|prompt| !prompt.is_null());
                }
            }
            return;
        }
        let file = node.node(Field::File);
        if file.is_some_and(|file| file.fields().any(|field| field != Field::FinalNewline)) {
            self.early();
        }
        add_file(&mut self.top, node);
        if !own {
            if let Some(updated) = node.json(Field::Updated) {
                self.top.set(Field::Updated, time(updated));
            }
            if let Some(prompt) = node.json(Field::SystemPrompt).filter(|p| !p.is_null()) {
                self.header_prompt = Some(prompt.clone());
            }
            return;
        }
        if superseded(&mut self.top, node, self.cx.log) {
            self.early();
        }
        let text = self.shape.text(node, self.style);
        let before = self.open.is_none() && self.listed == 0;
        if before {
            self.early();
        }
        let place = if before { &mut self.middle } else { &mut self.tail };
        place.extend_from_slice(&text);
    }

    fn set_style(&mut self, own: bool) {
        self.style = if own { Style::PyYaml } else { Style::Readable };
        self.turns.yaml.set_style(self.style);
        self.messages.yaml.set_style(self.style);
    }

    fn prompt(&mut self, prompt: &Json) {
        let node = Node::default().with(Field::SystemPrompt, prompt.clone());
        self.middle.extend_from_slice(&self.shape.text(&node, self.style));
    }

    fn turn(&mut self, record: &Record) {
        self.early();
        self.written += 1;
        let mut json = Vec::new();
        if self.shape.turns.write(record, None, &mut json) {
            put(&json, &mut self.turns.yaml);
        }
        self.turn_losses(&record.node, &[]);
    }

    fn message(&mut self, located: &Located<Record>, own: bool) -> Result<()> {
        let record = &located.value;
        let node = &record.node;
        self.json.clear();
        if !self.has_lists() || !message::write(record, Spacing::None, own, &mut self.json) {
            message::lost(record, self.cx.log);
            return Ok(());
        }
        if own {
            let number = node.json(Field::Turn).and_then(Json::float);
            let number =
                number.map_or(self.open.unwrap_or(1), |number| (number as u32).max(1).into());
            self.open_turn(number, located)?;
        } else if let Some(number) = self.written_turn(node) {
            self.open_turn(number, located)?;
        } else if self.sum_up(record) {
            self.open_turn(self.written + 1, located)?;
        } else {
            return Ok(());
        }
        put(&self.json, &mut self.messages.yaml);
        message::losses(record, own, self.cx.log);
        Ok(())
    }

    fn has_lists(&self) -> bool {
        self.shape.lists == Lists::Behind
    }

    /// Adds a message of another format to the summary of its turn; false for a system message,
    /// which has another place.
    fn sum_up(&mut self, record: &Record) -> bool {
        let node = &record.node;
        if let Some(stated) = node.json(Field::Time).map(time) {
            let before = self.top.json(Field::Updated).and_then(Json::text);
            if before.is_none_or(|before| stated.text().is_some_and(|stated| stated > before)) {
                self.top.set(Field::Updated, stated);
            }
        }
        if node.is(Field::Role, "system") {
            match turn::text_of(node).filter(|_| self.middle.is_empty()) {
                Some(prompt) => self.prompt(&prompt),
                None => self.cx.log.lost("message of role system"),
            }
            return false;
        }
        let has_turn = self.summary.as_ref().is_some_and(|summary| summary.source_turn.is_some());
        if node.is(Field::Role, "user") && !has_turn {
            self.end_summary();
        }
        self.summary.get_or_insert_default().message(node);
        true
    }

    /// Begins a turn with the values of another format's turn record; the next such record ends the
    /// turn.
    fn begin_summary(&mut self, turn: &Node) {
        self.end_summary();
        self.summary = Some(Summary::of(turn));
        self.turn_losses(turn, &[Field::Extra]);
    }

    /// Returns the turn that a message names, if that turn is written already: some formats list
    /// all turns before the first message.
    fn written_turn(&self, message: &Node) -> Option<u64> {
        let number = message.json(Field::Turn).and_then(Json::float)? as u64;
        let written = (1..=self.written).contains(&number);
        let comes = self.open == Some(number) || number > self.listed;
        Some(number).filter(|_| written && comes && !message.is(Field::Role, "system"))
    }

    /// Counts the fields of a turn that have no place as lost.
    fn turn_losses(&self, turn: &Node, also: &[Field]) {
        for field in turn.fields().filter(|f| !self.shape.turns.holds(*f) || also.contains(f)) {
            self.cx.log.lost(&format!("turn.{}", field.name()));
        }
    }

    /// Sets the members that every file of the real software has at its top.
    fn head(&mut self) {
        let empty = Json::constant("\"\"");
        for (field, default) in
            [(Field::Agent, super::super::agent(&self.top)), (Field::Created, empty.clone())]
        {
            if self.top.json(field).is_none() {
                self.top.set(field, default);
            }
        }
        if self.top.json(Field::Updated).is_none() {
            let created = self.top.json(Field::Created).cloned().unwrap_or(empty);
            self.top.set(Field::Updated, created);
        }
        let (tokens, cost) = self.sums;
        let cost = turn::money(cost);
        let totals = format!("{{\"total_cost\":{cost:?},\"total_tokens\":{tokens:.0}}}");
        self.top.set(Field::Totals, Json::trusted(totals.into()));
    }

    /// Writes the summary of the turn that ends.
    fn end_summary(&mut self) {
        if let Some(summary) = self.summary.take() {
            if summary.source_turn.is_some()
                && !summary.has_messages
                && has_scattered_turns(&self.top)
            {
                return self.cx.log.lost("turn without messages");
            }
            self.sums.0 += summary.tokens;
            self.sums.1 += summary.cost;
            self.written += 1;
            let mut json = Vec::new();
            let turn = summary.record(self.written);
            self.shape.turns.write(&turn, None, &mut json);
            put(&json, &mut self.turns.yaml);
        }
    }
}

/// Whether each turn of a session from another format comes before its own messages, so that a
/// turn without messages has lost them. Sessions of this software list all turns first.
pub fn has_scattered_turns(session: &Node) -> bool {
    let source = session.text(Field::Source);
    source.is_some_and(|source| source.split('@').next() != Some(NAME))
}
