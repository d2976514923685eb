//! Lines of messages that are added to a log. A result is added by a further version of its answer.

use super::log::{REWIND, SET};
use super::usual::Usual;
use super::write::{Answers, is_own};
use super::{LOG, message};
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Options};
use crate::framing::Chain;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record};

/// Returns what a record is that the program adds by itself.
pub fn addition(record: &Record) -> Option<&'static str> {
    match record.kind {
        Kind::Notice => Some("record of the log"),
        Kind::Event => Some("copy of results"),
        _ => None,
    }
}

/// Opens a log behind its record.
pub fn open(session: &Record, version: u32) -> Option<Box<dyn Appender>> {
    let (options, log) = (Options::default(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let key = session.node.json(Field::Id).map_or(&b""[..], Json::as_bytes);
    let mut usual = Usual::default();
    usual.begin(&session.node, true, &cx);
    let end =
        End { usual, chain: Chain::of(key, &cx), answers: Answers::default(), list: Vec::new() };
    (version == LOG).then(|| Box::new(end) as _)
}

/// End of a log.
#[derive(Debug)]
struct End {
    usual: Usual,
    chain: Chain,
    answers: Answers,
    /// Messages of the conversation: the identifier of each, and its last entry.
    list: Vec<(Json, Json)>,
}

impl End {
    fn end(&self) -> Json {
        self.list.last().map_or(Json::constant("null"), |(_, end)| end.clone())
    }

    /// Notes that an entry belongs to the last message.
    fn extend(&mut self, node: &Node) {
        if let Some((_, end)) = self.list.last_mut() {
            *end = node.json(Field::Id).map(Json::detached).unwrap_or_default();
        }
    }

    /// Notes an entry that is a message.
    fn push(&mut self, node: &Node) {
        let id = node.json(Field::Id).map(Json::detached).unwrap_or_default();
        let own = node.json(Field::Extra).and_then(|extra| extra.member("id"));
        let own = own.filter(|own| own.text().is_some()).map(|own| own.detached());
        self.list.push((own.unwrap_or_else(|| id.clone()), id));
    }

    fn data(&mut self, data: &Json) {
        if let Some(id) = data.member(REWIND) {
            let place = self.list.iter().position(|(own, _)| *own == id);
            return self.list.truncate(place.unwrap_or(0));
        }
        let set = data.member(SET).unwrap_or_default();
        let Some(list) = set.member("messages") else { return };
        let before = std::mem::take(&mut self.list);
        let id = |item: Json| item.member("id").unwrap_or(item);
        let find = |id: Json| before.iter().find(|(own, _)| *own == id).cloned();
        self.list = list.elements().map(id).filter_map(find).collect();
    }
}

impl Appender for End {
    fn note(&mut self, record: &Record) -> bool {
        let node = &record.node;
        if node.is_true(Field::IdMade) && record.kind != Kind::Session {
            self.chain.name(&mut Node::default());
        }
        match record.kind {
            Kind::Event if record.is_repetition() => self.push(node),
            Kind::Notice | Kind::Event => {
                node.json(Field::Data).into_iter().for_each(|data| self.data(data))
            }
            Kind::Message if node.is(Field::Role, "tool") && !is_own(node) => {
                self.answers.takes(node);
                self.extend(node);
            }
            Kind::Message => {
                self.usual.note(node);
                self.answers.hold(node.clone());
                self.push(node);
            }
            _ => {}
        }
        true
    }

    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>> {
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let node = &record.node;
        let is = |role| node.is(Field::Role, role);
        if record.kind != Kind::Message
            || !["user", "assistant", "tool"].iter().any(|role| is(role))
        {
            return Ok(Vec::new());
        }
        let is_result = is("tool") && self.answers.takes(&self.usual.fitted(node, false, &cx));
        if !is_result {
            let message = self.usual.message(node, false, &cx);
            self.usual.note(&message);
            self.answers.hold(message);
        }
        let mut line = Vec::new();
        self.answers.write(&mut line);
        let item = message::json(&line);
        let read =
            message::read(&item).map_err(|fault| Error::json(fault, &line, Position::default()))?;
        out.extend_from_slice(&line);
        out.push(b'\n');
        let mut added = read.message;
        if is_result {
            let call = message::call_of(node);
            let own = read.results.into_iter().rfind(|own| message::call_of(&own.node) == call);
            let Some(own) = own else { return Ok(Vec::new()) };
            added = own;
            self.chain.name(&mut added.node);
        }
        added.node.set(Field::Parent, self.end());
        if is_result {
            self.extend(&added.node);
        } else {
            self.push(&added.node);
        }
        Ok(vec![added])
    }
}
