//! Messages that the agent leaves out when it continues a session.

use crate::diagnostic::{Code, Diagnostic};
use crate::format::Cx;
use crate::ids::hash;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Node, block};
use std::collections::{HashMap, HashSet};

/// Observer of the messages before the agent corrects calls and results.
#[derive(Default)]
pub struct Omitted {
    /// For each call of the conversation, the number of results before it.
    first_uses: HashMap<u64, u64>,
    results: u64,
    /// Calls with a result anywhere.
    answered: HashSet<u64>,
    /// Answers with words and calls, but for those that got a result at once.
    waiting: Vec<Waiting>,
    /// Number of these behind which the conversation goes on.
    passed: usize,
    /// The answer of the last message, if that is one.
    group: Option<Json>,
}

struct Waiting {
    at: Position,
    calls: Vec<u64>,
}

impl Omitted {
    /// Reports calls that are left out, because calls of earlier answers have their identifiers, and
    /// notes answers whose calls have no result.
    pub fn look(&mut self, message: &Node, at: Position, cx: &Cx<'_>) {
        let (mut calls, mut has_words, mut is_result) = (Vec::new(), false, false);
        for block in message.content() {
            if let Some(call) = block.json(Field::Call)
                && block.is(Field::Type, block::TOOL_RESULT)
            {
                self.results += 1;
                is_result = true;
                let call = hash(call.as_bytes());
                self.answered.insert(call);
                if self.waiting.len() > self.passed {
                    self.waiting.pop_if(|answer| answer.calls.contains(&call));
                }
            }
            has_words |= block.json(Field::Text).is_some_and(has_word);
            let id = block.json(Field::Id).filter(|_| block.is(Field::Type, block::TOOL_CALL));
            let Some(id) = id else { continue };
            calls.push(hash(id.as_bytes()));
            let before = *self.first_uses.entry(hash(&id.normal())).or_insert(self.results);
            if before < self.results {
                cx.report(Diagnostic::of(Code::CallOmitted).at(at));
            }
        }
        if is_result {
            return;
        }
        let is_answer = message.is(Field::Role, "assistant");
        let group = message.json(Field::Group).filter(|_| is_answer).cloned();
        if group.is_none() || group != self.group {
            self.passed = self.waiting.len();
        }
        self.group = group;
        if is_answer && has_words && !calls.is_empty() {
            self.waiting.push(Waiting { at, calls });
        }
    }

    /// Reports the answers that are left out.
    pub fn finish(&self, cx: &Cx<'_>) {
        let Self { waiting, passed, answered, .. } = self;
        let is_open = |answer: &&Waiting| !answer.calls.iter().any(|call| answered.contains(call));
        // Some of those that were passed may have got a result since.
        for answer in waiting.iter().take(*passed).filter(is_open) {
            cx.report(Diagnostic::of(Code::AnswerOmitted).at(answer.at));
        }
    }
}

fn has_word(text: &Json) -> bool {
    text.text().is_some_and(|text| !text.trim().is_empty())
}
