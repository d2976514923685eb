//! Answers with words and calls of tools, which wait for the message behind them.
//!
//! Source: release 2.1.332 leaves out a line if no call in it has a result, with the words in it.
//! In its own transcripts each block has a line, so that only calls are left out.

use super::line;
use super::uuid::uuid_of;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};
use crate::times;

/// The last line, if it has words and calls.
#[derive(Debug, Default)]
pub struct Held(Option<Node>);

impl Held {
    /// Appends the line of a message, with its line feed, and the lines that waited for it. An
    /// answer with words and calls waits itself.
    pub fn put(&mut self, next: Node, out: &mut Vec<u8>) {
        if let Some(answer) = self.0.take() {
            match is_answered(&answer, &next) {
                true => write(answer, out),
                false => apart(answer, out),
            }
        }
        let calls = blocks(&next).filter(|block| is_call(block)).count();
        match calls > 0 && calls < blocks(&next).count() {
            true => self.0 = Some(next),
            false => write(next, out),
        }
    }

    /// Appends the lines that waited, behind which no result comes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.0.take().into_iter().for_each(|answer| apart(answer, out));
    }
}

fn blocks(node: &Node) -> impl Iterator<Item = &Node> {
    node.content().iter()
}

fn is_call(block: &Node) -> bool {
    block.is(Field::Type, block::TOOL_CALL)
}

/// Whether a message has a result of a call in an answer.
fn is_answered(answer: &Node, next: &Node) -> bool {
    let results = || blocks(next).filter(|block| block.is(Field::Type, block::TOOL_RESULT));
    let mut calls = blocks(answer).filter(|block| is_call(block)).map(|call| call.json(Field::Id));
    calls.any(|id| id.is_some() && results().any(|result| result.json(Field::Call) == id))
}

/// Appends an answer as a line of its words and one of its calls, which keeps the identifier.
fn apart(mut answer: Node, out: &mut Vec<u8>) {
    let Some(id) = answer.json(Field::Id) else { return write(answer, out) };
    let own = Json::string(&uuid_of(&[id.as_bytes(), b" words"].concat()));
    let (calls, words): (Vec<Node>, Vec<Node>) = blocks(&answer).cloned().partition(is_call);
    let mut first = answer.clone();
    first.set(Field::Id, own.clone());
    first.set(Field::Content, words);
    first.set(Field::StopReason, Json::constant("null"));
    // Older releases take the line with the newest time for the leaf.
    let time = first.json(Field::Time).and_then(times::read).map(times::before);
    time.iter().for_each(|time| first.set(Field::Time, Json::string(&times::with_millis(*time))));
    answer.set(Field::Parent, own);
    answer.set(Field::Content, calls);
    write(first, out);
    write(answer, out);
}

fn write(node: Node, out: &mut Vec<u8>) {
    line::write(&[Record { kind: Kind::Message, node }], out);
    out.push(b'\n');
}
