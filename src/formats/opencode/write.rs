//! Writer of export documents, for sessions of OpenCode and of other formats.
//!
//! A message of another format gets the template of a usual message, and is written by that. All
//! releases import such a document: nothing that one of them demands is missing. Each identifier is
//! a key of the whole database, where a further import changes nothing, so identifiers are derived
//! from the session's; they ascend with the times, because some releases order messages by one and
//! some by the other.

use super::ids::Ids;
use super::item::{STEP, Written, write_compaction};
use super::part::{Around, list_of, place_of};
use super::read::taken_back;
use super::usual::{self, Turn};
use super::wire::{self, INFO, SESSION_TIMES};
use super::{FORMAT, PATH, STYLE};
use crate::document::ListPen;
use crate::error::Result;
use crate::foreign::{ListWriter, MessageList};
use crate::format::{Cx, Sink, Version, Writer};
use crate::json::Json;
use crate::mapping::{Object, template};
use crate::record::{Field, Kind, Node, Record, block};
use bytes::Bytes;

/// Opens a document for writing.
pub fn open<'a>(
    sink: &'a mut dyn Sink,
    _: &'static Version,
    cx: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    let pen = ListPen::new(sink.spool()?, PATH, STYLE);
    let document = Document {
        sink,
        cx,
        pen,
        session: Node::default(),
        ids: Ids::default(),
        questions: Vec::new(),
        answer: None,
        turn: Turn::default(),
        taken_back: None,
        is_back: false,
    };
    Ok(ListWriter::begin(document, &FORMAT, cx))
}

struct Document<'a> {
    sink: &'a mut dyn Sink,
    cx: &'a Cx<'a>,
    pen: ListPen,
    session: Node,
    ids: Ids,
    /// Messages of the user that wait for the model which answers them.
    questions: Vec<Node>,
    /// Answer that waits for the results of its calls.
    answer: Option<Written>,
    turn: Turn,
    /// Message from which on the user took everything back.
    taken_back: Option<String>,
    /// Whether that message is in the conversation again.
    is_back: bool,
}

impl MessageList for Document<'_> {
    fn session(&mut self, node: &Node, first: bool, own: bool) -> Result<()> {
        if !first {
            return Ok(());
        }
        self.session = node.clone();
        let is_usual = !own || info_of(node).is_none();
        if is_usual {
            usual::session_losses(node, self.cx);
        }
        self.ids = Ids::of(node, self.cx);
        self.turn = Turn::of(node, self.cx);
        self.taken_back =
            taken_back(node).and_then(|(message, part)| Some(message).filter(|_| part.is_none()));
        Ok(())
    }

    fn item(&mut self, record: &Record, own: bool) -> Result<bool> {
        let node = &record.node;
        let is = |role| record.kind == Kind::Message && node.is(Field::Role, role);
        match record.kind {
            // What the user took back and answers that failed are in a document, and nothing else.
            _ if own && is_out(node) => Ok(is("tool") && self.results(node, own)),
            Kind::Opaque => {
                let Some(data) = node.json(Field::Data) else { return Ok(false) };
                self.flush()?;
                self.pen.item(data.as_bytes()).map(|()| true)
            }
            Kind::Compaction if own => {
                self.flush()?;
                write_compaction(node, &mut |item| self.pen.item(item))
            }
            _ if is("user") => {
                // A result may come behind words of the user.
                if self.answer.as_ref().is_none_or(Written::is_answered) {
                    self.flush_answer()?;
                }
                match own && info_of(node).is_some() {
                    true => {
                        self.flush()?;
                        self.own(Written { steps: vec![node.clone()], results: Vec::new() })?;
                    }
                    false => {
                        let question = usual::message(node, own, self.cx.log);
                        self.questions.push(question);
                    }
                }
                Ok(true)
            }
            _ if is("assistant") => self.answer(node, own),
            _ if is("tool") => Ok(self.results(node, own)),
            _ => Ok(false),
        }
    }

    fn finish(mut self, own: bool) -> Result<()> {
        self.flush()?;
        let mut session = std::mem::take(&mut self.session);
        if !own || info_of(&session).is_none() {
            usual::session(&mut session, &self.ids, &self.turn);
        }
        if !session.is(Field::Id, &self.ids.session) {
            session.set(Field::Id, Json::string(&self.ids.session));
        }
        let mut frame = Vec::new();
        write_frame(&session, self.is_back, &mut frame);
        self.pen.finish(self.sink.create("")?, &frame, &session)
    }
}

impl Document<'_> {
    /// Takes an answer, or a further step of one.
    fn answer(&mut self, node: &Node, own: bool) -> Result<bool> {
        if let Some(answer) =
            self.answer.as_mut().filter(|_| own && node.json(Field::Layout) == Some(&STEP))
        {
            answer.steps.push(node.clone());
            return Ok(true);
        }
        self.flush_answer()?;
        let node = match own && info_of(node).is_some() {
            true => node.clone(),
            false => usual::message(node, own, self.cx.log),
        };
        self.turn.note(&node);
        self.flush_questions()?;
        self.answer = Some(Written { steps: vec![node], results: Vec::new() });
        Ok(true)
    }

    /// Takes the results of calls; false if no call waits for them.
    fn results(&mut self, node: &Node, own: bool) -> bool {
        let known = usual::message(node, own, self.cx.log);
        let results = known.nodes(Field::Content).unwrap_or_default();
        let results = results.iter().filter(|block| block.is(Field::Type, block::TOOL_RESULT));
        let Some(answer) = &mut self.answer else { return false };
        let mut any = false;
        for result in results {
            if answer.calls_for(result) {
                answer.results.push(result.clone());
                any = true;
            }
        }
        any
    }

    fn flush(&mut self) -> Result<()> {
        self.flush_answer()?;
        self.flush_questions()
    }

    fn flush_answer(&mut self) -> Result<()> {
        self.answer.take().map_or(Ok(()), |answer| self.own(answer))
    }

    fn flush_questions(&mut self) -> Result<()> {
        for node in std::mem::take(&mut self.questions) {
            self.own(Written { steps: vec![node], results: Vec::new() })?;
        }
        Ok(())
    }

    /// Writes a message; one without a template gets a usual one.
    fn own(&mut self, mut message: Written) -> Result<()> {
        let Some(first) = message.steps.first_mut() else { return Ok(()) };
        match info_of(first) {
            Some(_) => self.ids.pass(first),
            None => {
                self.ids.name(first);
                usual::complete(first, &self.ids, &mut self.turn);
            }
        }
        let id = first.text(Field::Id).unwrap_or_default();
        if first.is(Field::Role, "user") {
            self.turn.question = Some(id.clone());
        }
        let is_sent = first.json(Field::Excluded).is_none();
        self.is_back |= is_sent && self.taken_back.as_deref() == Some(&id);
        let around = Around { session: &self.ids.session, message: &id, time: self.ids.time };
        let mut item = Vec::new();
        message.write(around, &mut item);
        self.pen.item(&item)
    }
}

/// Returns the template of `info`, if a record has one. A message that came into the session from a
/// file of another format has another identifier than its parts name.
fn info_of(node: &Node) -> Option<Json> {
    let extra = node.json(Field::Extra)?;
    let id = node.json(Field::Id);
    let is_other = |part: Json| part.member("messageID").is_some_and(|own| Some(&own) != id);
    let parts = extra.member("parts").unwrap_or_default();
    let mut own = parts.elements().map(|item| place_of(&item).flatten().unwrap_or(item));
    let info = extra.member("info").filter(|info| info.as_bytes().starts_with(b"{"));
    info.filter(|_| id.is_some_and(is_named) || !own.any(is_other))
}

/// Whether a message is kept out of the conversation, and not by the program.
fn is_out(node: &Node) -> bool {
    let is_step = node.json(Field::Layout) == Some(&STEP);
    node.json(Field::Excluded).is_some() && !is_step && info_of(node).is_none()
}

/// Whether an identifier is one that the program makes.
fn is_named(id: &Json) -> bool {
    [&b"\"msg"[..], b"\"ses"].iter().any(|prefix| id.as_bytes().starts_with(prefix))
}

/// Writes the document without its messages, and without the mark of what was taken back if that is
/// in the conversation again.
fn write_frame(session: &Node, is_back: bool, out: &mut Vec<u8>) {
    let frame = session.json(Field::Extra).cloned().unwrap_or_default();
    let mut object = Object::open(out);
    for (key, value) in frame.members() {
        match key {
            b"\"messages\"" => object.spelled(key, list_of(&[]).as_bytes()),
            b"\"info\"" => {
                let own = Json::trusted(Bytes::copy_from_slice(value));
                let mut info = Object::open(object.key("info"));
                template::write(INFO, session, &own, &mut info, &mut |key, value, info| {
                    let parent = session.node(Field::ParentSession).and_then(|p| p.json(Field::Id));
                    match (key, parent) {
                        ("time", _) => {
                            wire::write_times(value, SESSION_TIMES, session, info.key(key));
                        }
                        ("parentID", Some(parent)) if value == template::PLACE => {
                            info.member(key, parent.as_bytes());
                        }
                        ("revert", _) if is_back => {}
                        _ => return false,
                    }
                    true
                });
                info.close();
            }
            _ => object.spelled(key, value),
        }
    }
    object.close();
}
