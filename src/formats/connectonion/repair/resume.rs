//! Messages of a conversation that a model's interface refuses, and their repair.
//!
//! The messages are those of OpenAI's interface: every call of a tool has its result before the
//! next turn, every result has its call, and the last answer is not empty.

use crate::diagnostic::Code;
use crate::json::{Json, text};
use crate::repair::{Added, OUTCOME_UNKNOWN, Pairing, Rules};

/// Tracks the messages of a conversation; numbers count from 0.
#[derive(Debug)]
pub struct Resume {
    looked: u32,
    /// Calls and late results. A result is added behind the message of its place.
    pairing: Pairing<(), Json>,
    /// Number of the last message among the last answer with calls and its results.
    after: u32,
}

impl Default for Resume {
    fn default() -> Self {
        let rules = Rules { late_in_order: true, ..Rules::default() };
        Self { looked: 0, pairing: Pairing::new(rules), after: 0 }
    }
}

/// A result that is put in.
pub type Put = Added<(), Json>;

impl Put {
    /// Returns the message, in Python's spelling.
    pub fn message(&self) -> Json {
        if let Some(late) = &self.result {
            return late.clone();
        }
        let said = Json::string(OUTCOME_UNKNOWN);
        let members: [&[u8]; 5] = [
            b"{\"role\": \"tool\", \"content\": ",
            said.as_bytes(),
            b", \"tool_call_id\": ",
            &self.id,
            b"}",
        ];
        Json::trusted(members.concat().into())
    }

    /// Describes the result for a note.
    pub fn what(&self) -> String {
        format!("the result of {}", text::decode(&self.id).unwrap_or_default())
    }
}

/// A list of messages with the results that were put in.
#[derive(Debug)]
pub struct RepairedList {
    /// The list.
    pub list: Json,
    /// Descriptions of the results that were put in, for notes.
    pub put: Vec<String>,
    /// Why messages were removed, if any were: the reason for the first of them.
    pub removed: Option<Code>,
}

impl Resume {
    /// Looks at the next message.
    pub fn look(&mut self, message: &Json) {
        let number = self.looked;
        self.looked += 1;
        match message.text_of("role").as_deref() {
            Some("tool") => {
                let id = message.member("tool_call_id").unwrap_or_default();
                match self.pairing.take(id.as_bytes()) {
                    Some(_) => self.after = number,
                    None => self.pairing.orphan(number, id.as_bytes(), message.clone()),
                }
            }
            Some("assistant") => {
                self.turn();
                let calls = message.member("tool_calls");
                let calls = calls.iter().flat_map(Json::elements);
                for id in calls.filter_map(|call| call.member("id")) {
                    self.pairing.call(id.as_bytes(), ());
                }
                self.after = number;
                self.pairing.answer(number, !self.pairing.is_settled() || !is_blank(message));
            }
            _ => {
                self.turn();
                self.pairing.speak();
            }
        }
    }

    /// Begins the next turn: no more results of the calls before come.
    pub fn turn(&mut self) {
        self.pairing.settle(self.after);
    }

    /// Ends the conversation.
    pub fn close(&mut self) {
        self.turn();
        self.pairing.close();
    }

    /// Returns the results that are put in, and the messages that are removed.
    pub fn pairing(&self) -> &Pairing<(), Json> {
        &self.pairing
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
    let pairing = resume.pairing;
    if !pairing.changes() {
        return None;
    }
    let (mut out, mut removed) = (Vec::new(), None);
    for (number, message) in (0..).zip(list.elements()) {
        removed = removed.or(pairing.removed(number));
        out.extend(pairing.removed(number).is_none().then_some(message));
        out.extend(pairing.added(number).iter().map(Put::message));
    }
    let put = pairing.all_added().map(|(_, put)| put.what()).collect();
    Some(RepairedList { list: joined(&out), put, removed })
}

/// Joins messages to a list, in Python's spelling.
pub fn joined(messages: &[Json]) -> Json {
    let messages: Vec<_> = messages.iter().map(Json::as_bytes).collect();
    Json::trusted([b"[", messages.join(b", ".as_slice()).as_slice(), b"]"].concat().into())
}

fn is_blank(message: &Json) -> bool {
    let Some(content) = message.member("content") else { return true };
    match content.text() {
        Some(text) => text.trim().is_empty(),
        None => content.is_null() || content.is_list() && content.elements().next().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_late_results_take_no_time() {
        let many = 100_000;
        let mut resume = Resume::default();
        let mut look = |message: String| resume.look(&Json::trusted(message.into_bytes().into()));
        for call in 0..many {
            look(format!(r#"{{"role":"assistant","tool_calls":[{{"id":"{call}"}}]}}"#));
        }
        look(r#"{"role":"user"}"#.to_owned());
        for call in (0..many).rev() {
            look(format!(r#"{{"role":"tool","tool_call_id":"{call}"}}"#));
        }
        let late = |put: &Put| Some(put.result.as_ref()?.member("tool_call_id")?.bytes().to_vec());
        let mut put = resume.pairing().all_added();
        assert!(put.all(|(_, put)| late(put).as_ref() == Some(&put.id)));
        assert_eq!(resume.pairing().count(many), many);
        assert_eq!(resume.pairing().all_added().count() as u64, many);
    }
}
