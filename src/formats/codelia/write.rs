//! Writer of a stream of Codelia's records as the file of a run.

mod stored;

use super::input;
use super::names::run_part;
use super::read::SHARED;
use super::resolve::{Headers, Sources};
use super::survey::fill;
use super::wire::{self, Type, joined};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Writer, Writing, no_session};
use crate::framing::Pen;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};

/// Opens the file of a run for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, cx: &'a Cx<'a>) -> Writing<'a> {
    let sources = Sources::new(sink.spool()?);
    let pen = Pen::to(sink.create("")?);
    Ok(Box::new(Run::new(Some(pen), None, sources, 1, cx)))
}

/// Opens a whole session for writing. Each run and the state is a part of its own.
pub fn open_whole<'a>(sink: &'a mut dyn Sink, version: u32, cx: &'a Cx<'a>) -> Writing<'a> {
    if !sink.takes_parts() {
        let message = "a session takes a file for each run and one for its state";
        return Err(Error::request(Code::OutputName, message));
    }
    let sources = Sources::new(sink.spool()?);
    Ok(Box::new(Run::new(None, Some(sink), sources, version, cx)))
}

/// Fields that the first session record can contain beside the fields of the first header.
const HELD: &[Field] = &[
    Field::Source,
    Field::Id,
    Field::IdMade,
    Field::Updated,
    Field::File,
    Field::Layout,
    Field::Leaf,
];

struct Run<'a> {
    /// Part that is being written.
    pen: Option<Pen>,
    /// Sink in which the parts of a whole session are created.
    sink: Option<&'a mut dyn Sink>,
    /// Version of the format, which decides how the state is stored: 1 in a file, 2 as a row and a
    /// log.
    version: u32,
    /// Session record with the properties of the file that is created next.
    file: Option<Node>,
    /// Identifier of the session, unless the reader made it, and the time at which it was stored.
    id: Option<Json>,
    updated: Option<Json>,
    cx: &'a Cx<'a>,
    sources: Sources,
    headers: Headers,
    /// Whether the session record came.
    begun: bool,
    /// Whether a state was written.
    stored: bool,
    /// Header of the run.
    header: Node,
    /// Time of the last line that has one.
    time: Option<Json>,
    /// Line that is written once the messages that follow its record are there.
    waiting: Option<Located<Record>>,
}

impl Writer for Run<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        if record.is_restored() {
            // A line may refer to a message that the reader added.
            return self.sources.message(record).map(drop);
        }
        if record.kind == Kind::Session {
            return self.session(&record.node);
        }
        if self.sources.message(record)? {
            self.date(&record.node);
            return Ok(());
        }
        let is_line = matches!(record.kind, Kind::Opaque | Kind::Snapshot);
        if self.begun && !is_line && wire::type_of(record).is_none() {
            self.cx.log.lost(&record.path());
            return Ok(());
        }
        self.flush()?;
        if let Some(pen) = &mut self.pen
            && pen.write_unchanged(record)?
        {
            return Ok(());
        }
        if !self.begun {
            return Err(no_session(located.at));
        }
        self.waiting = Some(located.clone());
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        // A whole session may have a state only, which is written by now.
        if self.header.is_empty() && !self.stored {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, "no header of a run")));
        }
        self.pen.take().map_or(Ok(()), Pen::finish)
    }
}

impl<'a> Run<'a> {
    fn new(
        pen: Option<Pen>,
        sink: Option<&'a mut dyn Sink>,
        sources: Sources,
        version: u32,
        cx: &'a Cx<'a>,
    ) -> Self {
        Self {
            pen,
            sink,
            version,
            file: None,
            id: None,
            updated: None,
            cx,
            sources,
            headers: Headers::default(),
            begun: false,
            stored: false,
            header: Node::default(),
            time: None,
            waiting: None,
        }
    }
}

impl Run<'_> {
    fn session(&mut self, node: &Node) -> Result<()> {
        let first = !std::mem::replace(&mut self.begun, true);
        self.flush()?;
        let begins = |file: &Node| file.is_true(Field::Bom) || file.json(Field::Eol).is_some();
        let next = first || node.node(Field::File).is_some_and(begins);
        match &mut self.pen {
            Some(pen) if !next || self.sink.is_none() => pen.file(node, first),
            _ => self.file = Some(node.clone()),
        }
        if first {
            self.id = node.json(Field::Id).filter(|_| !node.is_true(Field::IdMade)).cloned();
            self.updated = node.json(Field::Updated).cloned();
            self.headers.session(node);
            self.losses(node, |field| HELD.contains(&field) || SHARED.contains(&field));
            return Ok(());
        }
        self.losses(node, |field| matches!(field, Field::File | Field::Leaf));
        Ok(())
    }

    /// Counts the fields of a session record that have no place in the output.
    fn losses(&self, node: &Node, is_held: impl Fn(Field) -> bool) {
        self.cx.log.count_lost("session", node, is_held);
    }

    /// Begins a part of a whole session; does nothing where the output is a single file.
    fn create(&mut self, name: &str) -> Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        self.pen.take().map_or(Ok(()), Pen::finish)?;
        let mut pen = Pen::to(sink.create(name)?);
        self.file.take().iter().for_each(|node| pen.file(node, true));
        self.pen = Some(pen);
        Ok(())
    }

    /// Writes a line of the part.
    fn put(&mut self, line: &[u8]) -> Result<()> {
        if let Some(pen) = &mut self.pen {
            pen.put(line)?;
        }
        Ok(())
    }

    /// Gives the waiting line the time of a message that it contains.
    fn date(&mut self, message: &Node) {
        let Some(Located { value, .. }) = &mut self.waiting else { return };
        let own = value.node.json(Field::Messages).zip(message.json(Field::Id));
        let own = own.is_some_and(|(list, id)| {
            memchr::memmem::find(list.as_bytes(), id.as_bytes()).is_some()
        });
        if own
            && let Some(time) = message.json(Field::Time)
            && value.node.json(Field::Time).is_none()
        {
            value.node.set(Field::Time, time.clone());
        }
    }

    fn flush(&mut self) -> Result<()> {
        let Some(Located { value, at }) = self.waiting.take() else { return Ok(()) };
        if value.kind == Kind::Opaque {
            let data = value.node.json(Field::Data);
            return data.map_or(Ok(()), |data| self.put(data.as_bytes()));
        }
        if value.kind == Kind::Snapshot {
            return self.snapshot(&value.node, at);
        }
        let Some(of) = wire::type_of(&value) else { return Ok(()) };
        let (node, content) = self.filled(of, &value.node, at)?;
        if of.wire == "header" {
            self.create(&run_part(&node))?;
        }
        self.store(&node, at)?;
        let mut line = Vec::new();
        wire::write(of, &node, content.as_deref(), &mut line);
        self.put(&line)
    }

    /// Completes a line's record with the fields that the line contains, and spells its
    /// conversation member.
    fn filled(&mut self, of: &Type, node: &Node, at: Position) -> Result<(Node, Option<Vec<u8>>)> {
        let mut node = node.clone();
        if of.wire == "header" {
            self.begin(&mut node);
            self.time = node.json(Field::Created).cloned();
            return Ok((node, None));
        }
        let fields =
            if of.wire == "run.start" { &[Field::Run, Field::Session][..] } else { &[Field::Run] };
        for &field in fields {
            if let (None, Some(value)) = (node.json(field), self.header.json(field)) {
                node.set(field, value.clone());
            }
        }
        let references = node.json(Field::Messages).cloned();
        let alone = references.as_ref().is_some_and(|list| list.elements().next().is_none());
        self.stamp(&mut node, alone);
        if of.kind == Kind::Request && !self.sources.tools(&mut node)? {
            self.missing(1, at);
        }
        let Some(references) = references else {
            let input = node.json(Field::Input).map(|input| input.as_bytes().to_vec());
            return Ok((node, input.filter(|_| of.wire == "run.start")));
        };
        let found = self.sources.messages(&references)?;
        self.missing(found.missing, at);
        self.stamp(&mut node, found.missing > 0);
        let content = match (of.wire, found.messages.first()) {
            ("run.start", Some(message)) => input::of_message(message),
            ("tool.output", Some(message)) => {
                fill(&mut node, message);
                None
            }
            ("llm.request" | "llm.response", _) => Some(joined(&found.messages)),
            _ => None,
        };
        Ok((node, content))
    }

    /// Notes the time at which a line was written. A line that had its time from a message that was
    /// removed from the stream gets the time of the line before it.
    fn stamp(&mut self, node: &mut Node, alone: bool) {
        if let (None, Some(time), true) = (node.json(Field::Time), &self.time, alone) {
            node.set(Field::Time, time.clone());
        }
        self.time = node.json(Field::Time).or(self.time.as_ref()).cloned();
    }

    /// Begins a run. The header of the first run gets the fields that the session record contains.
    fn begin(&mut self, node: &mut Node) {
        self.headers.fill(node);
        self.sources.begin(node);
        self.header = node.clone();
    }

    /// Reports the number of missing messages, if there are any.
    fn missing(&self, count: u64, at: Position) {
        if count == 0 {
            return;
        }
        let message = format!("{count} messages are not in the stream that the line refers to");
        self.cx.report(Diagnostic::new(Code::MissingTarget, message).at(at));
    }
}
