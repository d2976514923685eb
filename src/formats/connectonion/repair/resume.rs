//! Messages of a conversation that a model's interface refuses, and their repair.
//!
//! The messages are those of OpenAI's interface: every call of a tool has its result before the
//! next turn, every result has its call, and the last answer is not empty.

use crate::diagnostic::Code;
use crate::json::Json;
use crate::repair::OUTCOME_UNKNOWN;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Tracks the messages of a conversation; numbers count from 0.
#[derive(Debug, Default)]
pub struct Resume {
    looked: u64,
    /// Calls that wait for results; `after` is the number of the last message among the answer with
    /// these calls and its results.
    open: Vec<Json>,
    after: u64,
    /// Results that are put in, by the number of the message before them.
    put: BTreeMap<u64, Vec<Put>>,
    /// Results that are put in and have no late result yet, by their calls, in order: the message
    /// before each, and its index there.
    waiting: HashMap<Json, VecDeque<(u64, usize)>>,
    /// Messages that are removed, by their numbers.
    removed: BTreeMap<u64, Code>,
    /// Answers at the end that are empty.
    tail: Vec<u64>,
}

/// A result that is put in.
#[derive(Debug)]
pub struct Put {
    call: Json,
    /// The message with the result, if one comes too late.
    late: Option<Json>,
}

impl Put {
    /// Returns the message, in Python's spelling.
    pub fn message(&self) -> Json {
        if let Some(late) = &self.late {
            return late.clone();
        }
        let (call, said) = (self.call.as_bytes(), Json::string(OUTCOME_UNKNOWN));
        let members: [&[u8]; 5] = [
            b"{\"role\": \"tool\", \"content\": ",
            said.as_bytes(),
            b", \"tool_call_id\": ",
            call,
            b"}",
        ];
        Json::checked(members.concat().into())
    }

    /// Describes the result for a note.
    pub fn what(&self) -> String {
        format!("the result of {}", self.call.text().unwrap_or_default())
    }
}

/// A list of messages with the results that were put in.
#[derive(Debug)]
pub struct RepairedList {
    /// The list.
    pub list: Json,
    /// Descriptions of the results that were put in, for notes.
    pub put: Vec<String>,
    /// Number of messages that were removed.
    pub removed: usize,
}

impl Resume {
    /// Looks at the next message.
    pub fn look(&mut self, message: &Json) {
        let number = self.looked;
        self.looked += 1;
        match message.member("role").and_then(|role| role.text()).as_deref() {
            Some("tool") => self.result(number, message),
            Some("assistant") => {
                self.turn();
                let calls = message.member("tool_calls");
                let calls = calls.iter().flat_map(Json::elements);
                let ids = calls.filter_map(|call| call.member("id"));
                self.open = ids.filter(|id| id.as_bytes().starts_with(b"\"")).collect();
                self.after = number;
                if self.open.is_empty() && is_blank(message) {
                    self.tail.push(number);
                } else {
                    self.tail.clear();
                }
            }
            _ => {
                self.turn();
                self.tail.clear();
            }
        }
    }

    fn result(&mut self, number: u64, message: &Json) {
        let id = message.member("tool_call_id");
        if let Some(place) = self.open.iter().position(|call| Some(call) == id.as_ref()) {
            self.open.remove(place);
            self.after = number;
            return;
        }
        // A result that comes too late is moved behind its call.
        let waiting = id.and_then(|id| self.waiting.get_mut(&id)?.pop_front());
        let put = waiting.and_then(|(behind, place)| self.put.get_mut(&behind)?.get_mut(place));
        if let Some(put) = put {
            put.late = Some(message.clone());
        }
        self.removed.insert(number, Code::OrphanResult);
    }

    /// Begins the next turn: no more results of the calls before come.
    pub fn turn(&mut self) {
        if !self.open.is_empty() {
            let put = self.put.entry(self.after).or_default();
            for call in self.open.drain(..) {
                self.waiting.entry(call.clone()).or_default().push_back((self.after, put.len()));
                put.push(Put { call, late: None });
            }
        }
    }

    /// Ends the conversation.
    pub fn close(&mut self) {
        self.turn();
        self.removed.extend(self.tail.drain(..).map(|number| (number, Code::EmptyTail)));
    }

    /// Whether the conversation needs changes.
    pub fn changes(&self) -> bool {
        !(self.put.is_empty() && self.removed.is_empty())
    }

    /// Returns why a message is removed, if it is.
    pub fn removed(&self, number: u64) -> Option<Code> {
        self.removed.get(&number).copied()
    }

    /// Returns the number of messages that are removed.
    pub fn removed_count(&self) -> u64 {
        self.removed.len() as u64
    }

    /// Returns the results that are put in behind a message.
    pub fn behind(&self, number: u64) -> &[Put] {
        self.put.get(&number).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns all results that are put in.
    pub fn all(&self) -> impl Iterator<Item = &Put> {
        self.put.values().flatten()
    }
}

/// Returns a list of messages with the changes; `None` if there are none. If the list is not the
/// `last`, another list follows that begins with it, so an empty answer is not its end.
pub fn repaired_list(list: &Json, last: bool) -> Option<RepairedList> {
    let mut resume = Resume::default();
    list.elements().for_each(|message| resume.look(&message));
    resume.turn();
    if last {
        resume.close();
    }
    if !resume.changes() {
        return None;
    }
    let mut out = Vec::new();
    for (number, message) in (0..).zip(list.elements()) {
        out.extend(resume.removed(number).is_none().then_some(message));
        out.extend(resume.behind(number).iter().map(Put::message));
    }
    let put = resume.all().map(Put::what).collect();
    Some(RepairedList { list: joined(&out), put, removed: resume.removed.len() })
}

/// Joins messages to a list, in Python's spelling.
pub fn joined(messages: &[Json]) -> Json {
    let messages: Vec<_> = messages.iter().map(Json::as_bytes).collect();
    Json::checked([b"[", messages.join(b", ".as_slice()).as_slice(), b"]"].concat().into())
}

fn is_blank(message: &Json) -> bool {
    let Some(content) = message.member("content") else { return true };
    match content.text() {
        Some(text) => text.trim().is_empty(),
        None => {
            content.is_null()
                || content.as_bytes().starts_with(b"[") && content.elements().next().is_none()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_late_results_take_no_time() {
        let many = 100_000;
        let mut resume = Resume::default();
        let mut look = |message: String| resume.look(&Json::checked(message.into_bytes().into()));
        for call in 0..many {
            look(format!(r#"{{"role":"assistant","tool_calls":[{{"id":"{call}"}}]}}"#));
        }
        look(r#"{"role":"user"}"#.to_owned());
        for call in (0..many).rev() {
            look(format!(r#"{{"role":"tool","tool_call_id":"{call}"}}"#));
        }
        let late = |put: &Put| put.late.as_ref()?.member("tool_call_id");
        assert!(resume.all().all(|put| late(put).as_ref() == Some(&put.call)));
        assert_eq!((resume.all().count(), resume.removed_count()), (many, many as u64));
    }
}
