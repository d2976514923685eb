//! What keeps a session from being taken up again, as far as its two files tell.

use super::line::Shape;
use crate::diagnostic::{Code, Diagnostic};
use crate::format::Cx;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record, block};

/// Watches the lines of a log go by.
#[derive(Debug, Default)]
pub struct Health {
    /// Whether the metadata are there and name no session.
    no_id: bool,
    /// Whether there are no metadata where there should be.
    no_metadata: bool,
    /// Claude's identifier, as the log has it last.
    id: Option<Json>,
    /// The calls of tools that have no answer yet, each with its place.
    open: Vec<(Json, Position)>,
    /// Where the last success stands, if nothing but blank lines follow.
    success: Option<Position>,
    /// Whether blank lines follow it.
    hidden: bool,
}

/// How many unanswered calls are remembered; an answer always comes within a few lines.
const CALLS: usize = 1000;

impl Health {
    /// Says what the metadata are like.
    pub fn begin(&mut self, no_id: bool, no_metadata: bool) {
        self.no_id = no_id;
        self.no_metadata = no_metadata;
    }

    /// A line that cannot be read.
    pub fn damaged(&mut self) {
        self.success = None;
    }

    /// A record of a line.
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
        for block in record.node.nodes(Field::Content).unwrap_or_default() {
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

    /// Says what is wrong, at the end of the log.
    pub fn end(&self, shape: Shape, end: Position, cx: &Cx<'_>) {
        let say = |code: Code, message: String, at: Position| {
            cx.report(Diagnostic::new(code, message).at(at));
        };
        if let Some(id) = self.id.as_ref().filter(|_| self.no_id && shape == Shape::Classes) {
            let message = format!("{}; the log has {id:?}", Code::NoSessionId.title());
            cx.report(Diagnostic::new(Code::NoSessionId, message));
        }
        if self.no_metadata {
            cx.report(Diagnostic::new(Code::NoMetadata, Code::NoMetadata.title()));
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
