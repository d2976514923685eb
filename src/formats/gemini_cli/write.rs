//! Writer of sessions of both versions.
//!
//! An answer is written with the results of its calls, which come behind it.

use super::log::{self, SET};
use super::pen::Pen;
use super::result;
use super::usual::Usual;
use super::{DOCUMENT, FORMAT, PATH, STYLE, message, wire};
use crate::document::ListPen;
use crate::error::Result;
use crate::foreign::{ListWriter, MessageList};
use crate::format::{Cx, Sink, Version, Writing};
use crate::framing;
use crate::json::{Json, text};
use crate::mapping::{template, without};
use crate::parts::list::SpooledList;
use crate::record::{Field, Kind, Node, Record, block};
use std::collections::{HashMap, HashSet};

/// Opens a session for writing.
///
/// # Errors
/// If the output cannot be created.
pub fn open<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let out = match version.number {
        DOCUMENT => {
            let pen = ListPen::new(sink.spool()?, PATH, STYLE);
            Out::Document(pen, Branch::of(SpooledList::new(sink.spool()?)))
        }
        _ => {
            let texts = SpooledList::new(sink.spool()?);
            Out::Log(Pen::of(framing::Pen::to(sink.create("")?), texts))
        }
    };
    let session = Session {
        sink,
        out,
        answers: Answers::default(),
        header: Node::default(),
        usual: Usual::default(),
        is_own: false,
        cx,
    };
    Ok(ListWriter::begin(session, &FORMAT, cx))
}

enum Out {
    Document(ListPen, Branch),
    Log(Pen),
}

/// Messages of a document: a document has no branches.
struct Branch {
    texts: SpooledList,
    /// Entry of each message; none for a notice.
    owners: Vec<Option<Json>>,
    /// Entry before each one.
    parents: HashMap<Json, Option<Json>>,
    leaf: Option<Json>,
}

impl Branch {
    fn of(texts: SpooledList) -> Self {
        Self { texts, owners: Vec::new(), parents: HashMap::new(), leaf: None }
    }

    /// Notes an entry.
    fn note(&mut self, record: &Record) {
        let node = &record.node;
        if record.kind == Kind::Session {
            self.leaf = node.json(Field::Leaf).cloned().or(self.leaf.take());
        } else if let Some(id) = node.json(Field::Id).filter(|_| record.is_node()) {
            self.parents.insert(id.clone(), node.json(Field::Parent).cloned());
            self.leaf = Some(id.clone());
        }
    }

    /// Writes the messages that lead to the last entry, and counts the others as lost.
    fn write(&mut self, pen: &mut ListPen, cx: &Cx<'_>) -> Result<()> {
        let (mut path, mut at) = (HashSet::new(), self.leaf.take());
        while let Some(id) = at.filter(|id| path.insert(id.clone())) {
            at = self.parents.get(&id).cloned().flatten();
        }
        for (number, owner) in std::mem::take(&mut self.owners).into_iter().enumerate() {
            match owner {
                Some(id) if self.parents.contains_key(&id) && !path.contains(&id) => {
                    cx.log.lost("message on another branch");
                }
                _ => pen.item(&self.texts.get(number)?)?,
            }
        }
        Ok(())
    }
}

/// Answer that waits for the results of its calls.
#[derive(Debug, Default)]
pub struct Answers {
    held: Option<(Node, Vec<Node>)>,
    /// Calls of the last answer that was written, with the parts of their results.
    written: Vec<(Json, Vec<Json>)>,
}

impl Answers {
    /// Whether a call of the answer waits for this result.
    pub fn takes(&mut self, result: &Node) -> bool {
        let Some(call) = message::call_of(result) else { return false };
        let Some((answer, results)) = &mut self.held else { return false };
        let blocks = answer.content();
        let is_its = |block: &&Node| {
            block.is(Field::Type, block::TOOL_CALL) && block.json(Field::Id) == Some(&call)
        };
        let calls = blocks.iter().filter(is_its).count();
        let taken = results.iter().filter(|own| message::call_of(own).as_ref() == Some(&call));
        let waits = taken.count() < calls;
        if waits {
            results.push(result.clone());
        }
        waits
    }

    /// Adds a further result to a message of results that is held; false if it is none of that.
    fn joins(&mut self, further: &Node) -> bool {
        self.held.as_mut().is_some_and(|(message, _)| message::join(message, further))
    }

    /// Holds an answer.
    pub fn hold(&mut self, answer: Node) {
        self.held = Some((answer, Vec::new()));
    }

    /// Writes the answer that is held, with the results so far.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some((answer, results)) = &self.held {
            message::write(answer, results, out);
        }
    }

    /// Returns the answer that was held, and its text.
    pub fn take(&mut self) -> Option<(Node, Json)> {
        let mut out = Vec::new();
        self.write(&mut out);
        let (text, (answer, _)) = (Json::trusted(out.into()), self.held.take()?);
        if answer.is(Field::Role, "assistant") {
            self.written = result::of_calls(&text);
        }
        Some((answer, text))
    }

    /// Returns the message that repeats results of the last answer; `None` if there are none.
    pub fn repeat(&self, data: &Json) -> Option<Json> {
        let parts = |call: Json| {
            // The program listed the results of an earlier answer once more.
            if call.member("functionResponse").is_some() {
                return vec![call];
            }
            let own = self.written.iter().find(|(own, _)| *own == call);
            own.map(|(_, parts)| parts.clone()).unwrap_or_default()
        };
        let calls = data.member("content")?;
        let parts: Vec<Json> = calls.elements().flat_map(parts).collect();
        let list = || Json::list(&parts);
        (!parts.is_empty()).then(|| log::with_member(data, "content", list().as_bytes()))
    }
}

struct Session<'a> {
    sink: &'a mut dyn Sink,
    out: Out,
    answers: Answers,
    header: Node,
    usual: Usual,
    /// Whether the session comes from a file of this format.
    is_own: bool,
    cx: &'a Cx<'a>,
}

impl MessageList for Session<'_> {
    fn session(&mut self, node: &Node, first: bool, own: bool) -> Result<()> {
        if let Out::Log(pen) = &mut self.out {
            pen.file(node, first);
        }
        if !first {
            let record = Record { kind: Kind::Session, node: node.clone() };
            self.note(&record);
            return Ok(());
        }
        self.is_own = own;
        self.header = self.usual.begin(node, own, self.cx);
        let number = self.header.json(Field::Extra).and_then(|own| own.member("$line"));
        let mut out = Vec::new();
        let mut node = self.header.clone();
        let kept = node.json(Field::Extra).and_then(|kept| without(kept, "$line"));
        node.put(Field::Extra, kept);
        wire::write_header(&node, &mut out, &mut |_, _| false);
        match (&mut self.out, number.and_then(|number| number.float())) {
            (Out::Log(pen), Some(number)) => pen.at(number as usize, out),
            (Out::Log(pen), None) => pen.record(&message::json(&out))?,
            (Out::Document(..), _) => {}
        }
        Ok(())
    }

    fn item(&mut self, record: &Record, own: bool) -> Result<bool> {
        self.note(record);
        let node = &record.node;
        let is = |role| record.kind == Kind::Message && node.is(Field::Role, role);
        // Records of other formats have members of such a name, too.
        let is_template = own && is_own(node);
        if is("tool") && !is_template && self.answers.takes(&self.usual.fitted(node, own, self.cx))
        {
            return Ok(true);
        }
        if own && is("tool") && self.answers.joins(node) {
            return Ok(true);
        }
        self.flush()?;
        if let Some(line) = node.line().filter(|_| own && record.kind == Kind::Opaque) {
            return match &mut self.out {
                Out::Log(pen) => pen.line(&line).map(|()| true),
                Out::Document(..) => Ok(false),
            };
        }
        let data = node.json(Field::Data);
        match record.kind {
            Kind::Event if record.is_repetition() => {
                // The message that repeats results which were deleted goes with them.
                let Some(text) = data.and_then(|data| self.answers.repeat(data)) else {
                    return Ok(true);
                };
                self.put(node, &text)?;
                Ok(true)
            }
            Kind::Notice | Kind::Event | Kind::Opaque => {
                let Some(data) = data else { return Ok(false) };
                let is_message = data.member("id").is_some() && data.member(log::REWIND).is_none();
                let has_list = data.member(SET).is_some() || wire::is_header(data.as_bytes());
                match &mut self.out {
                    _ if is_message => self.put(node, data)?,
                    Out::Log(pen) if has_list => pen.record(data)?,
                    Out::Log(pen) => pen.line(data.as_bytes())?,
                    // A document has the newest data of its session, and no time of each record.
                    Out::Document(..) => return Ok(self.is_in_header(data)),
                }
                Ok(true)
            }
            Kind::Message if !["user", "assistant", "tool"].iter().any(|role| is(role)) => {
                Ok(false)
            }
            Kind::Message => {
                let message = match is_template {
                    true => node.clone(),
                    false => self.usual.message(node, own, self.cx),
                };
                self.usual.note(&message);
                self.answers.hold(message);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn finish(mut self, _: bool) -> Result<()> {
        self.flush()?;
        match self.out {
            Out::Log(pen) => pen.finish(),
            Out::Document(mut pen, mut branch) => {
                branch.write(&mut pen, self.cx)?;
                let mut frame = Vec::new();
                let has_list = self
                    .header
                    .json(Field::Extra)
                    .is_some_and(|own| own.member("messages").is_some());
                wire::write_header(&self.header, &mut frame, &mut |key, object| {
                    let is_list = key == "messages";
                    if is_list {
                        object.member(key, b"[]");
                    }
                    is_list
                });
                if !has_list {
                    frame.pop();
                    frame.extend_from_slice(b",\"messages\":[]}");
                }
                pen.finish(self.sink.create("")?, &frame, &self.header)
            }
        }
    }
}

impl Session<'_> {
    fn note(&mut self, record: &Record) {
        if let Out::Document(_, branch) = &mut self.out {
            branch.note(record);
        }
    }

    /// Writes the answer that is held.
    fn flush(&mut self) -> Result<()> {
        self.answers.take().map_or(Ok(()), |(node, text)| self.put(&node, &text))
    }

    /// Writes a message.
    fn put(&mut self, node: &Node, text: &Json) -> Result<()> {
        match &mut self.out {
            Out::Log(pen) => pen.message(node, text, node.is(Field::Layout, wire::LISTED)),
            Out::Document(_, branch) => {
                branch.owners.push(node.json(Field::Id).filter(|_| self.is_own).cloned());
                branch.texts.add(text.as_bytes())
            }
        }
    }

    /// Takes the newest data of the session into the header; false if a record has more of them.
    fn is_in_header(&mut self, data: &Json) -> bool {
        let set = data.member(SET).unwrap_or_default();
        if let Some(updated) = set.member("lastUpdated").filter(|it| it.text().is_some()) {
            let own = self.header.json(Field::Extra);
            let own = own.map(|own| log::with_member(own, "lastUpdated", template::PLACE));
            self.header.put(Field::Extra, own);
            self.header.set(Field::Updated, updated);
        }
        set.members().all(|(key, _)| text::is(key, "lastUpdated") || text::is(key, "sessionId"))
    }
}

/// Whether a message has a template.
pub fn is_own(node: &Node) -> bool {
    node.json(Field::Extra).is_some_and(|extra| extra.member("type").is_some())
}
