//! Lists of the messages that compactions keep. If one of the messages is lost, the newest release
//! keeps none of them, so that it is taken out of the list.

use super::line::member_of;
use super::links::{Plan, key};
use crate::diagnostic::Code;
use crate::formats::claude_code::wire;
use crate::json::{Json, Span};
use crate::repair::Fixes;
use memchr::memmem;
use std::collections::HashMap;

const LIST: [&str; 3] = [wire::COMPACTION, "preservedMessages", "uuids"];

/// The lists of a transcript.
#[derive(Debug, Default)]
pub struct Kept {
    found: Vec<(u32, Json)>,
    /// Lists without the lost messages, by the ordinals of their lines.
    new: HashMap<u32, Json>,
}

/// Returns the place of the list in a line.
fn place(line: &[u8]) -> Option<Span> {
    let whole = Some(Span { start: 0, end: line.len() });
    let inner = |span: Option<Span>, name: &&str| member_of(line, span?, name);
    LIST.iter().fold(whole, inner).filter(|list| list.of(line).starts_with(b"["))
}

impl Kept {
    /// Notes a line of the chain.
    pub fn note(&mut self, ordinal: u32, line: &[u8]) {
        if memmem::find(line, LIST[1].as_bytes()).is_some()
            && let Some(list) = place(line)
        {
            self.found.push((ordinal, Json::trusted(list.of(line).to_vec().into())));
        }
    }

    /// Decides which lists change.
    pub fn decide(&mut self, plan: &Plan) {
        for (ordinal, list) in self.found.drain(..) {
            let is_there = |id: &Json| plan.find(key(id.as_bytes()), u32::MAX).is_some();
            let left: Vec<_> = list.elements().filter(is_there).collect();
            // Nothing is sent of an empty list, as of one with lost messages.
            if !left.is_empty() && left.len() < list.elements().count() {
                self.new.insert(ordinal, Json::list(left));
            }
        }
    }

    /// Whether a list changes.
    pub fn changes(&self) -> bool {
        !self.new.is_empty()
    }

    /// Changes the list in a line; returns the reason.
    pub fn fix(&self, ordinal: u32, line: &[u8], fixes: &mut Fixes) -> Option<Code> {
        let (new, place) = (self.new.get(&ordinal)?, place(line)?);
        fixes.edits.replace(place, new.as_bytes());
        fixes.note(Code::ParentLinked, Some((LIST[2], place.of(line))));
        Some(Code::ParentLinked)
    }
}
