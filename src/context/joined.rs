//! Messages in the order that interfaces require, with consecutive answers joined into one.
//!
//! Some programs write each block of an answer as a message of its own, others write the whole
//! answer. A model gets the same input from both. Interfaces accept consecutive answers, but no
//! other message while calls wait for their results.

use super::plain::{Thoughts, add_block};
use crate::format::{Format, Mends};
use crate::position::Position;
use crate::record::turns::{Member, NO_RESULT, Part, Rules, Turns, message_part};
use crate::record::{Field, Node, Value, calls};
use std::collections::VecDeque;
use std::rc::Rc;

/// A message as role and blocks, and the places of its blocks.
#[derive(Debug)]
pub struct Whole {
    /// The message.
    pub node: Node,
    /// Numbers of the first block of each piece, with the piece's place.
    places: Vec<(usize, Position)>,
}

impl Whole {
    /// Creates a message that comes from one place.
    pub fn new(at: Position, node: Node) -> Self {
        Self { node, places: vec![(0, at)] }
    }

    /// Returns the place of a block.
    pub fn place(&self, block: usize) -> Position {
        let of = self.places.iter().rev().find(|(first, _)| *first <= block);
        of.map(|(_, at)| *at).unwrap_or_default()
    }

    fn join(&mut self, other: Self) {
        if let Some(Value::Nodes(list)) = self.node.get_mut(Field::Content) {
            self.places.extend(other.places.into_iter().map(|(_, at)| (list.len(), at)));
            for block in other.node.content() {
                add_block(block, Thoughts::All, list);
            }
        }
    }
}

impl Member for Whole {
    fn part(&self) -> Part {
        message_part(&self.node)
    }

    fn node(&self) -> &Node {
        &self.node
    }

    fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    fn beside(&self, node: Node) -> Self {
        Self::new(self.place(0), node)
    }
}

/// Holds an answer back until it is whole, and messages until the calls before them are answered.
#[derive(Debug)]
pub struct Joined {
    /// Whether answers are joined only while their calls wait for results.
    waiting: bool,
    turns: Turns<Whole>,
    ordered: Vec<Whole>,
    held: Option<Whole>,
    ready: VecDeque<Whole>,
}

impl Joined {
    /// Begins joining for an interface that accepts consecutive answers as they are. The `format`
    /// is that of the software that sends the messages.
    pub fn waiting(format: &Format) -> Self {
        let unanswered = (format.agent.mends != Mends::Nothing).then_some(format.agent.unanswered);
        Self::new(
            true,
            Rules { tree: false, moves: true, drops: format.agent.mends.pairs(), unanswered },
        )
    }

    /// Begins joining for a comparison. What only one software adds or leaves out does not count:
    /// each call has a result, and each result a call.
    pub fn compared() -> Self {
        Self::new(
            false,
            Rules { tree: false, moves: true, drops: true, unanswered: Some(NO_RESULT) },
        )
    }

    fn new(waiting: bool, rules: Rules) -> Self {
        let turns = Turns::new(rules, Rc::default());
        Self { waiting, turns, ordered: Vec::new(), held: None, ready: VecDeque::new() }
    }

    /// Takes a message as role and blocks.
    pub fn add(&mut self, at: Position, message: Node) {
        self.turns.take(Whole::new(at, message), &mut self.ordered);
        self.join();
    }

    /// Returns the next message that is complete.
    pub fn next(&mut self) -> Option<Whole> {
        self.ready.pop_front()
    }

    /// Completes the messages that are held back at the end.
    pub fn finish(&mut self) {
        self.turns.finish(&mut self.ordered);
        self.join();
        self.ready.extend(self.held.take());
    }

    fn join(&mut self) {
        let is_answer = |whole: &Whole| whole.node.is(Field::Role, "assistant");
        for message in self.ordered.drain(..) {
            let waiting = self.waiting;
            match &mut self.held {
                Some(held)
                    if is_answer(held)
                        && is_answer(&message)
                        && (!waiting || calls(&held.node)) =>
                {
                    held.join(message);
                }
                held => self.ready.extend(held.replace(message)),
            }
        }
    }
}
