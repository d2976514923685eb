//! Findings in the two files of a session that prevent the scripts from resuming it.

use super::line::Shape;
use crate::diagnostic::{Code, Diagnostic};
use crate::format::Cx;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record, block};

/// Observer of the lines of a log.
#[derive(Debug, Default)]
pub struct Health {
    /// Whether the metadata exist and contain no session identifier.
    no_id: bool,
    /// Whether metadata are missing where the scripts expect them.
    no_metadata: bool,
    /// Claude's identifier, from the last line that has one.
    id: Option<Json>,
    /// Calls of tools that have no answer yet, each with its position.
    open: Vec<(Json, Position)>,
    /// Position of the last success, if only blank lines follow.
    success: Option<Position>,
    /// Whether blank lines follow the success.
    hidden: bool,
}

/// Maximum number of unanswered calls that are kept; an answer always comes within a few lines.
const CALLS: usize = 1000;

impl Health {
    /// Notes the state of the metadata.
    pub fn begin(&mut self, no_id: bool, no_metadata: bool) {
        self.no_id = no_id;
        self.no_metadata = no_metadata;
    }

    /// Notes a line that cannot be read.
    pub fn damaged(&mut self) {
        self.success = None;
    }

    /// Notes a record of a line.
    pub fn record(&mut self, record: &Record, at: Position) {
        let node = &record.node;
        if record.kind == Kind::Opaque && node.text(Field::Text).is_some_and(|t| is_blank(&t)) {
            self.hidden = self.success.is_some();
            return;
        }
        self.success = None;
        self.hidden = false;
        match record.kind {
            Kind::Notice => {
                let data = node.json(Field::Data);
                self.id = data.and_then(|data| data.member("session_id")).or(self.id.take());
            }
            Kind::Result => {
                self.id = node.json(Field::Session).cloned().or(self.id.take());
                self.open.clear();
                let success =
                    node.is(Field::Subtype, "success") && node.get(Field::Result).is_some();
                self.success = success.then_some(at);
            }
            Kind::Message if node.is(Field::Subtype, super::wire::PROMPT) => self.open.clear(),
            Kind::Message => self.calls(record, at),
            _ => {}
        }
    }

    fn calls(&mut self, record: &Record, at: Position) {
        for block in record.node.content() {
            if block.is(Field::Type, block::TOOL_CALL)
                && let Some(id) = block.json(Field::Id)
                && self.open.len() < CALLS
            {
                self.open.push((id.clone(), at));
            }
            if let Some(call) = block.json(Field::Call) {
                self.open.retain(|(id, _)| id != call);
            }
        }
    }

    /// Reports the findings at the end of the log.
    pub fn end(&self, shape: Shape, end: Position, cx: &Cx<'_>) {
        let say = |code: Code, message: String, at: Position| {
            cx.report(Diagnostic::new(code, message).at(at));
        };
        if let Some(id) = self.id.as_ref().filter(|_| self.no_id && shape == Shape::Classes) {
            let message = format!("{}; the log has {id:?}", Code::NoSessionId.title());
            cx.report(Diagnostic::new(Code::NoSessionId, message));
        }
        if self.no_metadata {
            cx.report(Diagnostic::of(Code::NoMetadata));
        }
        if let Some((id, at)) = self.open.first() {
            let message = format!("{}: {id:?} has no answer", Code::OpenToolCall.title());
            say(Code::OpenToolCall, message, *at);
        }
        if let Some(at) = self.success.filter(|_| self.hidden) {
            let lines = end.line.saturating_sub(at.line + 1);
            let message = format!("{}: {lines} behind it", Code::HiddenResult.title());
            say(Code::HiddenResult, message, at);
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
