//! Writer for files of version 1, in the spelling of PyYAML.
//!
//! Each turn repeats the messages of all turns before it, so one list grows from turn to turn. The
//! writer keeps only this list, which is as long as the last turn of the file. Turns go to a spool,
//! because the top comes before them and may contain values that are known last.

use super::super::{agent, message, timed};
use super::assembly::{CHUNK, Frame, Section, add_file};
use super::list::{Begin, List};
use super::queue::Queue;
use super::top::{DATED, put};
use super::turn::{self, Summary};
use super::write::has_scattered_turns;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::json::{Cursor, Json, text};
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value};
use crate::yaml::write::Style;
use std::io::Write;

/// Opens a file for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, _version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let to = sink.create("")?;
    let (turns, waiting) = (sink.spool()?, sink.spool()?);
    Ok(Box::new(File {
        to,
        cx,
        own: None,
        top: Node::default(),
        tail: Vec::new(),
        turns: Section::new("turns", turns),
        waiting: Queue::new(waiting),
        list: List::default(),
        open: None,
        prompt: None,
        written: 0,
    }))
}

struct File<'a> {
    to: Box<dyn Write>,
    cx: &'a Cx<'a>,
    /// Whether the records come from a file of version 1; `None` before the session record.
    own: Option<bool>,
    /// The session record.
    top: Node,
    /// Text behind the turns.
    tail: Vec<u8>,
    turns: Section,
    /// Turns of another format whose messages have not come yet.
    waiting: Queue,
    /// The messages so far.
    list: List,
    /// The turn whose messages are being read.
    open: Option<Turn>,
    /// The prompt of the session record, until a message contains one.
    prompt: Option<Json>,
    written: u64,
}

/// A turn whose messages are being read.
struct Turn {
    /// The turn's record, from a file of version 1.
    own: Option<Located<Record>>,
    /// The summary of a turn that has no record of its own.
    summary: Summary,
    /// The turn's number, in formats whose messages have one.
    number: Option<u64>,
    begun: bool,
}

impl Turn {
    fn new(own: Option<Located<Record>>, summary: Summary, number: Option<u64>) -> Self {
        Self { own, summary, number, begun: false }
    }
}

impl Writer for File<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        if self.own == Some(true) && record.is_restored() {
            return Ok(());
        }
        let turn = record.kind == Kind::Turn
            || (record.kind == Kind::Opaque && record.node.is(Field::Type, "turn"));
        match (record.kind, self.own) {
            (Kind::Session, _) => self.session(&record.node),
            (_, None) => return Err(no_session(located.at)),
            (_, Some(true)) if turn => self.turn(located)?,
            (Kind::Notice, Some(_)) => message::lost(record, self.cx.log),
            (Kind::Turn, Some(false)) => self.queue_turn(record)?,
            (_, Some(own)) => self.message(record, own)?,
        }
        self.turns.flush(CHUNK)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let Some(own) = self.own else {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record")));
        };
        self.put_prompt();
        self.close()?;
        self.drop_queued()?;
        while let Some(turn) = self.waiting.pop()? {
            self.open = Some(Turn::new(None, Summary::of(&turn.node), None));
            self.close()?;
        }
        if self.written == 0 && self.list.has_system() {
            self.cx.log.lost("message of role system");
        }
        if !own {
            self.head();
        }
        self.turns.yaml.end();
        let frame = Frame { shape: &DATED, top: &self.top, own, style: Style::PyYaml };
        let mut out = frame.begin(self.to)?;
        self.turns.finish(&mut out)?;
        out.put(&self.tail)?;
        out.end(&self.top)
    }
}

impl File<'_> {
    fn session(&mut self, node: &Node) {
        let first = self.own.is_none();
        let own = *self.own.get_or_insert(node.is(Field::Source, &DATED.source()));
        // In another format, only the time of the beginning or only that of the last write may be
        // known.
        let dated = node.json(Field::Created).is_some() || self.top.json(Field::Created).is_some();
        let moved =
            |field| !own && (field == Field::SystemPrompt || (field == Field::Updated && !dated));
        DATED.losses(node, own, &moved, self.cx.log);
        if own && !first && self.written + u64::from(self.open.is_some()) > 0 {
            self.tail.extend_from_slice(&DATED.text(node, Style::PyYaml));
            add_file(&mut self.top, node);
            return;
        }
        let spelled = if own { node.clone() } else { timed(node) };
        for (field, value) in spelled.iter().filter(|(field, _)| *field != Field::File) {
            match (field, value) {
                (Field::SystemPrompt, Value::Json(prompt)) if !own => {
                    self.prompt = Some(prompt.clone()).filter(|prompt| !prompt.is_null());
                }
                (Field::Extra, _) if !own => {}
                (field, value) => self.top.set(field, value.clone()),
            }
        }
        add_file(&mut self.top, node);
    }

    /// Keeps a turn of another format until its messages come.
    fn queue_turn(&mut self, turn: &Record) -> Result<()> {
        for field in turn.node.fields().filter(|field| !turn::KEYED.holds(*field)) {
            self.cx.log.lost(&format!("turn.{}", field.name()));
        }
        self.drop_queued()?;
        self.waiting.push(turn)
    }

    /// Drops turns of another format that come before their messages and got none; counts each as
    /// lost.
    fn drop_queued(&mut self) -> Result<()> {
        while has_scattered_turns(&self.top) && self.waiting.pop()?.is_some() {
            self.cx.log.lost("turn without messages");
        }
        Ok(())
    }

    /// Begins a turn of a file of version 1.
    fn turn(&mut self, located: &Located<Record>) -> Result<()> {
        self.close()?;
        self.list.begin(Begin::of(&located.value));
        self.open = Some(Turn::new(Some(located.clone()), Summary::default(), None));
        Ok(())
    }

    fn message(&mut self, record: &Record, own: bool) -> Result<()> {
        let node = &record.node;
        let system = node.is(Field::Role, "system");
        if !own && !system {
            self.put_prompt();
            self.go_on(node)?;
        }
        self.prompt = None;
        if !self.list.add(record, own) {
            message::lost(record, self.cx.log);
            return Ok(());
        }
        // A message without a turn begins one that is summed up; a system message belongs to no
        // turn.
        if self.open.is_some() || !system {
            let fresh = || Turn::new(None, Summary::default(), None);
            let turn = self.open.get_or_insert_with(fresh);
            turn.summary.message(node);
            turn.begun = true;
        }
        let mut counted = record.clone();
        // In a file of version 1 this field follows from the lists.
        counted.node.take(Field::Excluded);
        message::losses(&counted, own, self.cx.log);
        Ok(())
    }

    /// Advances to the turn of a message of another format: the turn with its number, or the next
    /// turn if the message is a question.
    fn go_on(&mut self, node: &Node) -> Result<()> {
        let number = node.json(Field::Turn).and_then(Json::float).map(|number| number as u64);
        let same = self.open.as_ref().is_some_and(|turn| match number {
            Some(_) => turn.number == number,
            None => !(turn.begun && node.is(Field::Role, "user")),
        });
        if same {
            return Ok(());
        }
        self.close()?;
        let mut popped = None;
        while number.is_none_or(|number| self.waiting.taken < number) {
            popped = self.waiting.pop()?;
            let Some(turn) = &popped else { break };
            if number.is_none_or(|number| self.waiting.taken == number) {
                break;
            }
            // A turn without messages.
            self.open = Some(Turn::new(None, Summary::of(&turn.node), None));
            self.close()?;
        }
        let summary = popped.map(|popped| Summary::of(&popped.node)).unwrap_or_default();
        self.open = Some(Turn::new(None, summary, number));
        Ok(())
    }

    /// Puts the system prompt first if the messages do not contain one.
    fn put_prompt(&mut self) {
        if let Some(prompt) = self.prompt.take().filter(|_| !self.list.has_system()) {
            let record = Record::new(Kind::Message)
                .with(Field::Role, Json::constant("\"system\""))
                .with(Field::Content, prompt);
            self.list.add(&record, false);
        }
    }

    /// Writes the turn whose messages were read.
    fn close(&mut self) -> Result<()> {
        let Some(turn) = self.open.take() else { return Ok(()) };
        self.written += 1;
        let Some(located) = turn.own else {
            let record = self.foreign(turn.summary);
            self.put(&record, Some(&self.list.text()));
            return self.turns.flush(CHUNK);
        };
        let record = &located.value;
        let listed =
            record.kind == Kind::Turn && (turn.begun || Begin::of(record) != Begin::Missing);
        let list = listed.then(|| self.list.text());
        self.put(record, list.as_deref());
        for field in record.node.fields().filter(|field| !DATED.turns.holds(*field)) {
            self.cx.log.lost(&format!("turn.{}", field.name()));
        }
        self.turns.flush(CHUNK)
    }

    fn put(&mut self, turn: &Record, list: Option<&str>) {
        let mut json = Vec::new();
        if DATED.turns.write(turn, list, &mut json) {
            put(&json, &mut self.turns.yaml);
        }
    }

    /// Returns a turn of another format as version 1 has it: without number and time, and with only
    /// the names of tools.
    fn foreign(&self, summary: Summary) -> Record {
        let source = summary.source_turn.clone().unwrap_or_default();
        let mut record = summary.record(0);
        let node = &mut record.node;
        node.take(Field::Number);
        node.take(Field::Time);
        node.put(Field::ToolsCalled, node.json(Field::ToolsCalled).map(names));
        if let Some(Value::Node(mut eval)) = node.take(Field::Eval) {
            for field in [Field::Expected, Field::Evaluation] {
                if eval.is(field, "") {
                    eval.take(field);
                }
            }
            if !eval.is_empty() {
                node.set(Field::Eval, eval);
            }
        }
        let number = Field::Number;
        for field in source.fields().filter(|field| *field != number) {
            if node.get(field).is_none() && !matches!(field, Field::Eval | Field::Layout) {
                self.cx.log.lost(&format!("turn.{}", field.name()));
            }
        }
        record
    }

    /// Sets the members that every file of the real software has at its top.
    fn head(&mut self) {
        if self.top.json(Field::Agent).is_none() {
            self.top.set(Field::Agent, agent(&self.top));
        }
        if self.top.json(Field::Created).is_none() {
            let updated = self.top.json(Field::Updated).cloned();
            self.top.set(Field::Created, updated.unwrap_or(Json::constant("\"\"")));
        }
        self.top.take(Field::Totals);
    }
}

/// Returns the names of tools without the arguments that version 2 shows.
fn names(tools: &Json) -> Json {
    let mut cursor = Cursor::new(tools.as_bytes());
    let mut out = vec![b'['];
    let begun = cursor.begin_array();
    while begun.is_ok() && cursor.next_element().is_ok_and(|more| more) {
        let Ok(tool) = cursor.skip_value() else { break };
        if out.len() > 1 {
            out.push(b',');
        }
        let shown = text::decode(tool.of(tools.as_bytes())).unwrap_or_default();
        text::quote(shown.split('(').next().unwrap_or_default(), &mut out);
    }
    out.push(b']');
    Json::trusted(out.into())
}
