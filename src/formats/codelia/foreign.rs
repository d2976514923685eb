//! Writer of another format's session as runs and a state.
//!
//! Each input of the user begins a run. The writer does not invent the other contents of a run file
//! (requests, steps, the times between).

mod state_messages;

use super::answers::flat;
use super::input;
use super::made::{EPOCH, is_uuid, uuid};
use super::message;
use super::names::{made_run, run_part};
use super::wire::{self, END, HEADER, START};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Writer, Writing};
use crate::framing::Pen;
use crate::json::Json;
use crate::json::text::is_simple;
use crate::lines::USUAL;
use crate::position::Located;
use crate::record::{Called, Field, Kind, Node, Record, Value, block, identity, is_sent};
use crate::times;
use state_messages::StateMessages;

/// Opens runs and a state for writing. `session` is the session's record.
pub fn open<'a>(
    sink: &'a mut dyn Sink,
    session: &Node,
    version: u32,
    cx: &'a Cx<'a>,
) -> Writing<'a> {
    if !sink.takes_parts() {
        let message = "a session takes a file for each run and one for its state";
        return Err(Error::request(Code::OutputName, message));
    }
    let messages = StateMessages::new(sink.spool()?, version);
    let id = session.text(Field::Id).filter(|id| is_uuid(id));
    let question = cx.options.question.as_deref();
    let id = id.unwrap_or_else(|| uuid(&identity(session, question)));
    let created = session.json(Field::Created).or(session.json(Field::Updated)).cloned();
    let time = created.and_then(|time| stamp(&time)).unwrap_or_else(|| EPOCH.to_owned());
    losses_of_session(session, &id, cx);
    Ok(Box::new(Runs {
        sink,
        cx,
        session: session.clone(),
        id,
        time,
        began: None,
        run: None,
        runs: 0,
        messages,
        answers: 0,
        called: Called::default(),
    }))
}

struct Runs<'a> {
    sink: &'a mut dyn Sink,
    cx: &'a Cx<'a>,
    session: Node,
    /// Identifier of the session.
    id: String,
    /// Last time that a record contained.
    time: String,
    /// Time at which the last run began.
    began: Option<String>,
    run: Option<Run>,
    runs: u64,
    messages: StateMessages,
    answers: u64,
    called: Called,
}

struct Run {
    pen: Pen,
    id: String,
    /// Text of the last answer, if that answer calls no tools.
    last: Option<Json>,
}

impl Writer for Runs<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let known = message::without_refused_parts(&located.value, &|path| self.cx.log.lost(path));
        let record = known.as_ref().unwrap_or(&located.value);
        if let Some(time) = record.node.json(Field::Time).and_then(stamp) {
            self.time = time;
        }
        let is = |role| record.kind == Kind::Message && record.node.is(Field::Role, role);
        if !is_sent(&record.node) {
            self.cx.log.lost("message that is not sent");
            return Ok(());
        }
        match record.kind {
            Kind::Session => self.later(&record.node),
            _ if is("user") => {
                self.end()?;
                let message = self.keep(record)?;
                self.messages.note_question(&message);
                self.begin(input::of_message(&message))?;
            }
            Kind::Run if record.node.is(Field::Layout, START) => {
                self.end()?;
                self.begin(None)?;
            }
            _ if is("assistant") => self.answer(record)?,
            _ if is("tool") => self.output(record)?,
            _ if is("system") => drop(self.keep(record)?),
            _ => {
                let role = record.node.text(Field::Role).map(|role| format!(" of role {role}"));
                let path = format!("{}{}", record.kind.name(), role.unwrap_or_default());
                self.cx.log.lost(&path);
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let last = self.run.as_ref().map(|run| run.id.clone());
        self.end()?;
        if self.runs == 0 {
            // A state alone contains no fields of headers.
            let lost = HEADERS.iter().filter(|field| self.session.json(**field).is_some());
            lost.for_each(|field| self.cx.log.lost(&format!("session.{}", field.name())));
        }
        self.state(last)
    }
}

impl Runs<'_> {
    /// Counts fields that come at the end, too late for the headers.
    fn later(&self, node: &Node) {
        self.cx.log.count_lost("session", node, |field| matches!(field, Field::File | Field::Leaf));
    }

    /// Appends a message to the history, and returns its spelling.
    fn keep(&mut self, record: &Record) -> Result<Json> {
        losses(record, self.cx.log);
        let message = spelled(record);
        self.messages.add(message.as_bytes())?;
        Ok(message)
    }

    /// Begins a run with its input.
    fn begin(&mut self, input: Option<Vec<u8>>) -> Result<()> {
        self.runs += 1;
        // Runs are in the order in which they began, so no two begin at one time.
        if let Some(later) = self.began.as_deref().and_then(|began| behind(began, &self.time)) {
            self.time = later;
        }
        self.began = Some(self.time.clone());
        let id = made_run(&self.id, self.runs);
        let mut header = Node::default()
            .with(Field::Run, Json::string(&id))
            .with(Field::Created, Json::string(&self.time));
        let pen = Pen::to(self.sink.create(&run_part(&header))?);
        self.run = Some(Run { pen, id, last: None });
        for &field in HEADERS {
            header.put(field, self.session.json(field).filter(|value| !value.is_null()).cloned());
        }
        header.put(Field::ThinkingLevel, self.session.json(Field::ThinkingLevel).cloned());
        header.set(Field::Session, Json::string(&self.id));
        self.line(Some(HEADER), Kind::Run, header, None)?;
        let start = Node::default().with(Field::Session, Json::string(&self.id));
        let input = input.unwrap_or_else(|| b"{\"type\":\"text\",\"text\":\"\"}".to_vec());
        self.line(Some(START), Kind::Run, start, Some(&input))?;
        self.status("running")
    }

    fn status(&mut self, status: &str) -> Result<()> {
        let node = Node::default().with(Field::Status, Json::string(status));
        self.line(None, Kind::Status, node, None)
    }

    /// Writes a line of the run; a line before any input begins a run of its own.
    fn line(
        &mut self,
        layout: Option<&str>,
        kind: Kind,
        node: Node,
        content: Option<&[u8]>,
    ) -> Result<()> {
        if self.run.is_none() {
            self.begin(None)?;
        }
        let mut record = Record { kind, node };
        if let Some(layout) = layout {
            record.node.set(Field::Layout, Json::string(layout));
        }
        let (Some(run), Some(of)) = (&mut self.run, wire::type_of(&record)) else { return Ok(()) };
        record.node.set(Field::Run, Json::string(&run.id));
        record.node.set(Field::Time, Json::string(&self.time));
        let line = run.pen.line()?;
        wire::write(of, &record.node, content, line);
        Ok(())
    }

    /// Writes an answer: its thoughts and its content, each a message.
    fn answer(&mut self, record: &Record) -> Result<()> {
        losses(record, self.cx.log);
        let blocks = record.node.nodes(Field::Content);
        let thoughts = blocks.unwrap_or_default().iter();
        let thoughts = thoughts.filter(|block| block.is(Field::Type, block::THINKING));
        let mut list: Vec<Json> = thoughts.map(reasoning).collect();
        self.called.note(&record.node);
        if list.is_empty() || blocks.is_none_or(|blocks| blocks.len() > list.len()) {
            // Thoughts are not part of the content of an answer.
            list.push(match record.node.get(Field::Layout) {
                None => spelled(record),
                Some(_) => {
                    let mut own = record.clone();
                    own.node.take(Field::Layout);
                    spelled(&own)
                }
            });
        }
        for message in &list {
            self.messages.add(message.as_bytes())?;
        }
        self.answers += 1;
        let mut node = Node::default().with(Field::Seq, Json::number(self.answers));
        for field in [Field::Usage, Field::StopReason] {
            let value = record.node.get(field).cloned();
            value.into_iter().for_each(|value| node.set(field, self.adapted(value, record)));
        }
        self.line(None, Kind::Response, node, Some(&wire::joined(&list)))?;
        if let Some(run) = &mut self.run {
            run.last = final_text(&record.node);
        }
        Ok(())
    }

    /// Converts usage to Codelia's: with the model that gave the answer, without another format's
    /// members.
    fn adapted(&self, value: Value, answer: &Record) -> Value {
        let Value::Node(mut usage) = value else { return value };
        let model = answer.node.json(Field::Model).or(self.session.json(Field::Model));
        let model = model.filter(|model| model.text().is_some());
        let model = model.map_or(&b"\"\""[..], Json::as_bytes);
        let parts = [Field::InputTokens, Field::OutputTokens];
        for field in parts {
            if usage.json(field).is_none() {
                usage.set(field, Json::constant("0"));
            }
        }
        if usage.json(Field::Total).is_none() {
            let parts = parts.iter().filter_map(|field| usage.json(*field)?.float());
            usage.set(Field::Total, Json::number(parts.sum::<f64>().max(0.0) as u64));
        }
        let extra = [b"{\"model\":", model, b"}"].concat();
        usage.set(Field::Extra, Json::trusted(extra.into()));
        Value::Node(usage)
    }

    /// Writes the answer of a tool. Its images are in the state only, as in Codelia's own files.
    fn output(&mut self, record: &Record) -> Result<()> {
        let mut record = record.clone();
        if let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content)
            && let Some(result) = blocks.first_mut()
        {
            let name = result.json(Field::Call).and_then(|call| self.called.answered(call));
            if result.json(Field::Name).is_none() {
                let name = name.unwrap_or(Json::constant("\"\""));
                result.set(Field::Name, name);
            }
            if result.get(Field::Content).is_none_or(is_null) {
                // Answers of pi's first generation.
                let output = result.json(Field::Output).cloned();
                result.set(Field::Content, output.unwrap_or(Json::constant("\"\"")));
            }
            // Codelia writes this member only if it is true; if it were written as false, the
            // history and the run would contain two different messages.
            if !result.is_true(Field::IsError) {
                result.take(Field::IsError);
            }
        }
        self.keep(&record)?;
        let empty = Node::default();
        let result = record.node.nodes(Field::Content).and_then(<[Node]>::first).unwrap_or(&empty);
        let mut node = Node::default();
        let none = Json::constant("\"\"");
        for field in [Field::Name, Field::Call] {
            node.set(field, result.json(field).unwrap_or(&none).clone());
        }
        node.set(Field::Output, flat(result));
        node.put(Field::IsError, result.json(Field::IsError).cloned());
        if let Some(run) = &mut self.run {
            run.last = None;
        }
        self.line(None, Kind::ToolOutput, node, None)
    }

    /// Ends the run; writes its end only if its last message is an answer without calls.
    fn end(&mut self) -> Result<()> {
        let answer = self.run.as_mut().and_then(|run| run.last.take());
        if let Some(answer) = answer {
            let event = [b"{\"type\":\"final\",\"content\":", answer.as_bytes(), b"}"].concat();
            let node = Node::default()
                .with(Field::Seq, Json::number(0))
                .with(Field::Data, Json::trusted(event.into()));
            self.line(None, Kind::Event, node, None)?;
            self.status("completed")?;
            let node = Node::default()
                .with(Field::Outcome, Json::constant("\"completed\""))
                .with(Field::Final, answer);
            self.line(Some(END), Kind::Run, node, None)?;
        }
        self.run.take().map_or(Ok(()), |run| run.pen.finish())
    }

    /// Writes the state of the session, which is the history.
    fn state(&mut self, run: Option<String>) -> Result<()> {
        let mut node = Node::default()
            .with(Field::Session, Json::string(&self.id))
            .with(Field::Updated, Json::string(&self.time));
        run.iter().for_each(|run| node.set(Field::Run, Json::string(run)));
        node.set(Field::Seq, Json::number(self.answers));
        self.messages.write(self.sink, &node)
    }
}

/// Fields of the session record that the headers of runs contain unchanged.
const HEADERS: &[Field] =
    &[Field::Cwd, Field::Provider, Field::Model, Field::SystemPrompt, Field::Tools];

/// Returns a time one millisecond after the first, if the second is not after the first.
fn behind(first: &str, second: &str) -> Option<String> {
    let first: jiff::Timestamp = first.parse().ok()?;
    let second: jiff::Timestamp = second.parse().ok()?;
    let later = first.checked_add(jiff::SignedDuration::from_millis(1)).ok()?;
    (second <= first).then(|| stamp(&Json::string(&later.to_string()))).flatten()
}

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Json(json) if json.is_null())
}

/// Converts a thought to a message of its own.
fn reasoning(block: &Node) -> Json {
    let mut record = Record::new(Kind::Message)
        .with(Field::Role, Json::constant("\"assistant\""))
        .with(Field::Layout, Json::constant("\"reasoning\""));
    let mut block = block.clone();
    if block.json(Field::Thinking).is_none() {
        block.set(Field::Thinking, Json::constant("\"\""));
    }
    record.node.set(Field::Content, vec![block]);
    spelled(&record)
}

/// Spells a message as Codelia does. Codelia rewrites its state after each run, and a message that
/// is spelled there in another way than in a run file is another message.
fn spelled(message: &Record) -> Json {
    let mut spelling = Vec::with_capacity(USUAL);
    message::write(message, false, &mut spelling);
    let own = Json::trusted(spelling.into());
    if is_simple(own.as_bytes()) { own } else { Json::trusted(own.normal().into()) }
}

/// Returns the text of an answer that calls no tools; `None` for an answer that does.
fn final_text(node: &Node) -> Option<Json> {
    match node.get(Field::Content)? {
        Value::Json(text) => Some(text.clone()).filter(|text| !text.is_null()),
        Value::Nodes(blocks) => {
            let calls = blocks.iter().any(|block| block.is(Field::Type, block::TOOL_CALL));
            let texts = blocks.iter().filter_map(|block| block.json(Field::Text).cloned());
            let text = texts.reduce(|a, b| a.joined(&b));
            (!calls).then(|| text.unwrap_or(Json::constant("\"\"")))
        }
        Value::Node(_) => None,
    }
}

/// Converts a time to Codelia's spelling.
fn stamp(time: &Json) -> Option<String> {
    times::read(time).map(times::with_millis)
}

fn losses_of_session(session: &Node, id: &str, cx: &Cx<'_>) {
    const HELD: &[Field] = &[
        Field::Source,
        Field::Created,
        Field::Cwd,
        Field::Provider,
        Field::Model,
        Field::ThinkingLevel,
        Field::SystemPrompt,
        Field::Tools,
        Field::IdMade,
        Field::File,
        Field::Layout,
        Field::Leaf,
    ];
    cx.log.count_lost("session", session, |field| {
        let same = field == Field::Id && session.is(Field::Id, id);
        let dated = field == Field::Updated && session.json(Field::Created).is_none();
        same || dated || HELD.contains(&field)
    });
}

/// Counts the fields of a message that have no place in Codelia's messages.
fn losses(record: &Record, log: &Log) {
    const HELD: &[Field] = &[Field::Usage, Field::StopReason, Field::Turn];
    let node = &record.node;
    let held = |field| HELD.contains(&field) || Field::STRUCTURAL.contains(&field);
    log.count_lost("message", node, held);
    if let Some(usage) = node.node(Field::Usage) {
        let held = [Field::InputTokens, Field::OutputTokens, Field::CacheRead, Field::CacheWrite];
        let held = |field| held.contains(&field) || field == Field::Total;
        log.count_lost("message.usage", usage, held);
    }
    blocks(node, "message.content", log);
}

fn blocks(node: &Node, path: &str, log: &Log) {
    for block in node.content() {
        let kind = block.text(Field::Type).unwrap_or_default();
        let held: &[Field] = match kind.as_str() {
            block::TEXT => &[Field::Text],
            block::THINKING => &[Field::Thinking],
            block::IMAGE if block.json(Field::Extra).is_some_and(block::is_detail) => {
                &[Field::Data, Field::MediaType, Field::Extra]
            }
            block::IMAGE | block::DOCUMENT | block::OPAQUE => &[Field::Data, Field::MediaType],
            block::TOOL_CALL => &[Field::Id, Field::Name, Field::Arguments],
            _ => &[Field::Call, Field::Name, Field::Content, Field::Output, Field::IsError],
        };
        let path = || format!("{path}.*.{kind}");
        for field in block.fields().filter(|field| *field != Field::Type && !held.contains(field)) {
            log.lost(&format!("{}.{}", path(), field.name()));
        }
        if block.nodes(Field::Content).is_some() {
            blocks(block, &format!("{}.content", path()), log);
        }
    }
}
