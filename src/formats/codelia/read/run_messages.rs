//! Conversion of the lines of a run to messages.

use super::{Records, key};
use crate::formats::codelia::history::{Answer, record_of};
use crate::formats::codelia::survey::answer;
use crate::formats::codelia::{input, message, wire};
use crate::json::Json;
use crate::lines::utf8;
use crate::position::Position;
use crate::record::{Field, Node, Record, block};

/// Maximum number of lines between the input of a run and its first request.
const AHEAD: usize = 16;

/// Final texts of a run that the runtime writes itself and keeps in no message (release 0.1.80).
const RUNTIME: &[&str] = &[
    "Compaction run completed.",
    "Permission request was denied. Turn stopped. Please send your next input to continue.",
];

impl Records<'_> {
    /// Returns the messages that the run continues, and the message of its input.
    pub(super) fn start(
        &mut self,
        node: &mut Node,
        input: Option<Json>,
    ) -> (Vec<Record>, Vec<Record>) {
        let Some(input) = input else { return Default::default() };
        let request = self.first_request();
        let message = input::message_of(&input);
        let (Some((record, spelling)), Some(history)) = (message, &mut self.history) else {
            node.set(Field::Input, input);
            return Default::default();
        };
        let before = history.resume(&record, &spelling, &request);
        let own = history.append(record, &spelling);
        refer(node, own.node.json(Field::Id));
        (before, vec![own])
    }

    /// Returns the messages of the run's first request, if that follows within [`AHEAD`] lines.
    fn first_request(&mut self) -> Vec<Json> {
        for place in 0..AHEAD {
            while self.ahead.len() <= place {
                match self.frames.next().transpose() {
                    Some(frame) => self.ahead.push_back(frame),
                    None => return Vec::new(),
                }
            }
            let Some(Ok(frame)) = self.ahead.get(place) else { return Vec::new() };
            if utf8(&frame.line()).is_err() {
                return Vec::new();
            }
            let Ok(parsed) = wire::read(&frame.bytes) else { return Vec::new() };
            match (parsed.of.map(|of| of.wire), parsed.apart) {
                (Some("run.status" | "run.context" | "agent.event") | None, _) => {}
                (Some("llm.request"), Some(span)) => {
                    let list = Json::trusted(frame.bytes.slice(span.start..span.end));
                    return list.elements().collect();
                }
                _ => return Vec::new(),
            }
        }
        Vec::new()
    }

    pub(super) fn request(&mut self, node: &mut Node, input: Option<Json>) -> Vec<Record> {
        let Some(history) = &mut self.history else { return Vec::new() };
        history.tools(node);
        let list = input.as_ref().and_then(message::each);
        let Some(list) = list else { return Vec::new() };
        let (new, references) = history.request(&list);
        node.set(Field::Messages, references);
        self.run.calls.extend(new.iter().flat_map(calls_of));
        new
    }

    pub(super) fn response(&mut self, node: &mut Node, input: Option<Json>) -> Vec<Record> {
        let list = input.as_ref().and_then(message::each);
        let (Some(list), Some(history)) = (list, &mut self.history) else { return Vec::new() };
        let (new, references) = history.response(&list);
        node.set(Field::Messages, references);
        self.run.calls.extend(new.iter().flat_map(calls_of));
        new
    }

    /// Returns the answer with which the run ended, where no message contains it: the agent may
    /// name it in the event `final` and in the end of the run only.
    pub(super) fn last_answer(&mut self, node: &Node) -> Vec<Record> {
        let event = node.json(Field::Data);
        let event = event.filter(|data| data.text_of("type").is_some_and(|kind| kind == "final"));
        let text = event.and_then(|data| data.member("content"));
        let ended = node.json(Field::Final).filter(|_| node.is(Field::Outcome, "completed"));
        let text = text.or(ended.cloned()).filter(|_| !self.run.answered);
        let (Some(text), Some(history)) = (text, &mut self.history) else { return Vec::new() };
        let is_none = |text: &str| text.trim().is_empty() || RUNTIME.contains(&text.trim());
        if text.text().is_none_or(|text| is_none(&text)) {
            return Vec::new();
        }
        let message = [b"{\"role\":\"assistant\",\"content\":", text.as_bytes(), b"}"].concat();
        let message = Json::trusted(message.into());
        let mut answer = history.append(record_of(&message), message.as_bytes());
        answer.node.set(Field::Synthesized, Json::constant("true"));
        node.json(Field::Time)
            .into_iter()
            .for_each(|time| answer.node.set(Field::Time, time.clone()));
        vec![answer]
    }

    pub(super) fn output(&mut self, node: &mut Node, at: Position) -> Vec<Record> {
        let known = node.json(Field::Call).is_none_or(|call| self.run.calls.contains(&key(call)));
        if !known {
            self.unpaired("the output answers no call of this run", at);
        }
        let whole = answer(node);
        let unshown = whole.is_some() && self.survey.is_unshown(at.byte);
        let parts = unshown.then(|| self.in_parts(node)).flatten();
        let listed = parts.is_some();
        let (Some((record, spelling)), Some(history)) = (parts.or(whole), &mut self.history) else {
            return Vec::new();
        };
        let answer = history.answer(&record, &spelling);
        let spelled_alike = !matches!(answer, Answer::Known(_, false));
        let input = match answer {
            Answer::Known(id, _) => (id, Vec::new()),
            Answer::New(known) if !self.survey.is_otherwise(at.byte) => {
                let record = history.append_known(record, known);
                (record.node.json(Field::Id).cloned().unwrap_or_default(), vec![record])
            }
            Answer::New(_) | Answer::Otherwise => return Vec::new(),
        };
        // The record keeps the text of an answer in parts, and any other spelling of an answer.
        let own = match (spelled_alike, listed) {
            (false, _) => &[][..],
            (true, true) => &[Field::Call, Field::Name, Field::IsError],
            (true, false) => {
                &[Field::Call, Field::Name, Field::IsError, Field::Output, Field::Reference]
            }
        };
        own.iter().for_each(|field| drop(node.take(*field)));
        refer(node, Some(&input.0));
        input.1
    }
}

/// Whether a message is an answer of the model that calls no tool.
pub(super) fn is_answer(message: &Record) -> bool {
    message.node.is(Field::Role, "assistant") && calls_of(message).is_empty()
}

/// Sets the reference of a line's record to the message that the line contains.
fn refer(node: &mut Node, id: Option<&Json>) {
    if let Some(id) = id {
        let list = [b"[", id.as_bytes(), b"]"].concat();
        node.set(Field::Messages, Json::trusted(list.into()));
    }
}

/// Returns the calls of a message, by the hashes of their identifiers.
fn calls_of(message: &Record) -> Vec<u64> {
    let calls = message.node.blocks_of(block::TOOL_CALL);
    calls.filter_map(|call| call.json(Field::Id).map(key)).collect()
}
