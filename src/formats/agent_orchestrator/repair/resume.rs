//! Results for calls of tools that got none.
//!
//! A log contains the conversation, but Claude resumes from its own transcript. Still, a model's
//! interface refuses the same faults in a conversation that was made from a log.

use super::super::line::{Shape, What};
use super::super::wire::PARENT;
use crate::diagnostic::{Code, Diagnostic};
use crate::format::Cx;
use crate::json::{Json, text};
use crate::position::Position;
use crate::repair::{Added, OUTCOME_UNKNOWN, Pairing, mark};

/// Observer of calls and results.
#[derive(Debug)]
pub struct Resume {
    shape: Shape,
    /// Calls; a result is added before the line of its place.
    calls: Pairing<Call>,
}

#[derive(Debug)]
struct Call {
    /// Call for which the calling sub-agent works, and the session; both as they are spelled.
    parent: Json,
    session: Option<Json>,
}

impl Resume {
    /// Creates the observer for a log whose lines have this shape.
    pub fn new(shape: Shape) -> Self {
        Self { shape, calls: Pairing::default() }
    }

    /// Looks at the next line. An answer comes line by line, so that only a prompt, a new run of
    /// Claude or an outcome shows that no more results come.
    pub fn look(&mut self, place: u32, what: What, line: &Json) {
        let message = line.member("message").unwrap_or_else(|| line.clone());
        let content = message.member("content");
        let blocks: Vec<_> = content.iter().flat_map(Json::elements).collect();
        match what {
            What::Assistant(_) => {
                let calls = blocks.iter().filter(|block| block.member("input").is_some());
                for id in calls.filter_map(|call| call.member("id")) {
                    let parent = line.member(PARENT).unwrap_or(Json::constant("null"));
                    let session = line.member("session_id");
                    self.calls.call(id.as_bytes(), Call { parent, session });
                }
            }
            What::User(_) => {
                let answered = blocks.iter().filter_map(|block| block.member("tool_use_id"));
                // A result answers all calls with its identifier.
                answered.for_each(|id| while self.calls.take(id.as_bytes()).is_some() {});
            }
            What::Prompt | What::Result(_) => self.calls.settle(place),
            What::System(_)
                if line.member("subtype").is_some_and(|s| s.as_bytes() == b"\"init\"") =>
            {
                self.calls.settle(place);
            }
            What::System(_) | What::Other => {}
        }
    }

    /// Ends the search after all lines; `lines` is their number.
    pub fn close(&mut self, lines: u32) {
        self.calls.settle(lines);
    }

    /// Returns the number of results that are added.
    pub fn count(&self) -> u64 {
        self.calls.count(0)
    }

    /// Appends the results before a line.
    pub fn put_in(&self, place: u32, at: Position, cx: &Cx<'_>, out: &mut Vec<u8>) {
        for added in self.calls.added(place) {
            let code = Code::ResultSynthesized;
            mark(&self.line(added), code, out);
            out.push(b'\n');
            let id = text::decode(&added.id).unwrap_or_default();
            let message = format!("{} for the call {id}", code.title());
            cx.report(Diagnostic::new(code, message).at(at));
        }
    }

    fn line(&self, Added { id, call, .. }: &Added<Call>) -> Vec<u8> {
        let text = |json: &Json| String::from_utf8_lossy(json.as_bytes()).into_owned();
        let (id, parent) = (String::from_utf8_lossy(id), text(&call.parent));
        let said = text(&Json::string(OUTCOME_UNKNOWN));
        match self.shape {
            Shape::Classes => format!(
                "{{\"content\": [{{\"tool_use_id\": {id}, \"content\": {said}, \"is_error\": true}}], \"{PARENT}\": {parent}}}"
            ),
            Shape::Printed => {
                let session = call.session.as_ref().map_or_else(|| "null".to_owned(), text);
                format!(
                    "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"tool_use_id\":{id},\"type\":\"tool_result\",\"content\":{said},\"is_error\":true}}]}},\"{PARENT}\":{parent},\"session_id\":{session}}}"
                )
            }
        }
        .into_bytes()
    }
}
