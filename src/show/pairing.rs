//! Results of tools beside their calls, and the pieces of an answer under one heading: items wait for
//! the results of their calls, and for the next piece.

use super::item::{Block, Call, Content, Item, Message};
use std::collections::VecDeque;

/// Maximum number of items that wait.
const ITEMS: usize = 64;

/// Items in order, of which the first may wait for results.
#[derive(Debug, Default)]
pub struct Pairing {
    items: VecDeque<Item>,
}

impl Pairing {
    /// Adds an item.
    pub fn push(&mut self, item: Item) {
        self.items.push_back(item);
    }

    /// Adds a piece of the answer to the last item, if that is the piece before it. Returns whether it
    /// was added.
    pub fn takes_piece(&mut self, piece: &mut Item) -> bool {
        let Some(last) = self.items.back_mut().filter(|last| is_one_answer(last, piece)) else {
            return false;
        };
        if let (Content::Message(answer), Content::Message(own)) =
            (&mut last.content, &mut piece.content)
        {
            answer.blocks.append(&mut own.blocks);
            // Each piece repeats the tokens of the answer, the last one with their final number.
            answer.usage = own.usage.take().or(answer.usage.take());
            answer.error = answer.error.take().or(own.error.take());
        }
        last.next = piece.next;
        last.forks.append(&mut piece.forks);
        last.label = last.label.take().or(piece.label.take());
        true
    }

    /// Gives the results of a message to their calls, as far as these still wait. Returns whether
    /// nothing of the message remains.
    pub fn takes_results(&mut self, item: &mut Item) -> bool {
        let (branch, has_forks) = (item.branch, !item.forks.is_empty());
        let Content::Message(message) = &mut item.content else { return false };
        if !message.blocks.iter().any(|block| matches!(block, Block::Output(_))) {
            return false;
        }
        let before = std::mem::take(&mut message.blocks);
        for block in before {
            match block {
                Block::Output(output) => {
                    let own = open_call(&mut message.blocks, output.call.as_deref());
                    match own.or_else(|| self.call(output.call.as_deref(), branch)) {
                        Some(call) => call.result = Some(output),
                        None => message.blocks.push(Block::Output(output)),
                    }
                }
                other => message.blocks.push(other),
            }
        }
        // An item that has a label or begins branches keeps its place.
        message.blocks.is_empty() && item.label.is_none() && !has_forks
    }

    /// Returns the last call with this identifier that waits, one of the same branch first.
    fn call(&mut self, id: Option<&str>, branch: u32) -> Option<&mut Call> {
        let id = id?;
        let waits =
            |item: &Item| calls(item).any(|call| is_open(call) && call.id.as_deref() == Some(id));
        let own = self.items.iter().rposition(|item| item.branch == branch && waits(item));
        let place = own.or_else(|| self.items.iter().rposition(waits))?;
        let Content::Message(message) = &mut self.items.get_mut(place)?.content else {
            return None;
        };
        open_call(&mut message.blocks, Some(id))
    }

    /// Returns the next item, if it waits for nothing, or if too many wait. At the `end`, no item
    /// waits.
    pub fn next(&mut self, end: bool) -> Option<Item> {
        let first = self.items.front()?;
        let grows = || self.items.len() == 1 && is_answer(first);
        let waits = !end && self.items.len() <= ITEMS && (calls(first).any(is_open) || grows());
        if waits { None } else { self.items.pop_front() }
    }
}

fn is_answer(item: &Item) -> bool {
    matches!(&item.content, Content::Message(message) if message.role == "assistant")
}

/// Whether the second item is a piece of the same answer as the first one.
fn is_one_answer(first: &Item, second: &Item) -> bool {
    let same = match (&first.answer, &second.answer) {
        // Without identifiers, the pieces of an answer are one behind the other.
        (None, None) => {
            let follows = first.next.is_some() && first.next == second.ordinal;
            follows && is_unmeasured(first) && is_unmeasured(second)
        }
        (first, second) => first == second,
    };
    let place = |item: &Item| (item.branch, item.turn, item.of_sub_agent);
    same && is_answer(first)
        && is_answer(second)
        && place(first) == place(second)
        && first.forks.is_empty()
}

/// Whether a message has no tokens of its own, as pieces of answers in some formats.
fn is_unmeasured(item: &Item) -> bool {
    matches!(&item.content, Content::Message(message) if message.usage.is_none())
}

fn is_open(call: &Call) -> bool {
    call.result.is_none()
}

/// Returns the first call with this identifier that waits.
fn open_call<'b>(blocks: &'b mut [Block], id: Option<&str>) -> Option<&'b mut Call> {
    blocks.iter_mut().find_map(|block| match block {
        Block::Call(call) if is_open(call) && call.id.as_deref() == id => Some(call),
        _ => None,
    })
}

fn calls(item: &Item) -> impl Iterator<Item = &Call> {
    let blocks = match &item.content {
        Content::Message(Message { blocks, .. }) => blocks.as_slice(),
        Content::Note(_) => &[],
    };
    blocks.iter().filter_map(|block| match block {
        Block::Call(call) => Some(call),
        _ => None,
    })
}
