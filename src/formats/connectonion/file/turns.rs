//! Second reading of the turns beside the messages, to restore messages that only turns contain.

use super::super::EXPANSION;
use super::turn::KEYED;
use crate::error::Result;
use crate::json::{Json, text};
use crate::mapping::Source;
use crate::record::{Field, Record};
use crate::yaml::encoding::{Decoder, Encoding};
use crate::yaml::json::{Nodes, Scalars};
use crate::yaml::read::{Budget, Events, Limits, What};
use bytes::Bytes;
use std::io::Read;

/// Question and answer of a turn.
#[derive(Clone, Debug, Default)]
pub struct TurnTexts {
    /// The question.
    pub input: Option<Json>,
    /// The answer.
    pub result: Option<Json>,
}

impl TurnTexts {
    /// Returns the question and the answer that a turn's record holds.
    pub fn of(turn: &Record) -> Self {
        let is_text = |value: &&Json| value.is_string();
        let text = |field| turn.node.json(field).filter(is_text).cloned();
        Self { input: text(Field::Input), result: text(Field::Result) }
    }
}

/// Reads the turns a second time, one by one, so that none must be kept.
pub struct Turns {
    events: Events<Decoder<Box<dyn Read>>>,
    nodes: Nodes,
    /// The number of the turn read last; `last` is its question and answer.
    at: u64,
    last: Option<TurnTexts>,
    inside: bool,
}

impl Turns {
    /// Enters a list of turns of a part: the one that counts, counting from 1.
    pub fn open(
        part: Box<dyn Read>,
        encoding: Option<&'static Encoding>,
        limits: Limits,
        list: usize,
    ) -> Result<Self> {
        let events = Events::new(Decoder::new(part, encoding), limits);
        let nodes = Nodes::new(Budget::of(EXPANSION));
        let mut turns = Self { events, nodes, at: 0, last: None, inside: false };
        turns.enter(list)?;
        Ok(turns)
    }

    fn enter(&mut self, mut list: usize) -> Result<()> {
        // At the top, keys and values alternate.
        let (mut depth, mut key, mut named) = (0, true, false);
        loop {
            match self.nodes.next(&mut self.events)?.what {
                What::DocumentStart => {}
                What::Scalar(text, ..) if depth == 1 => {
                    named = key && text == "turns";
                    key = !key;
                }
                What::SequenceStart(..) if depth == 1 && named && list <= 1 => {
                    self.inside = true;
                    return Ok(());
                }
                What::MappingStart(..) | What::SequenceStart(..) => {
                    list -= usize::from(depth == 1 && named && list > 0);
                    depth += 1;
                }
                What::MappingEnd | What::SequenceEnd if depth > 1 => {
                    depth -= 1;
                    key |= depth == 1;
                }
                What::Scalar(..) | What::Alias(_) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Returns question and answer of turn `number`, counting from 1. The number must not be
    /// smaller than in the call before.
    pub fn turn_texts(&mut self, number: u64) -> Result<Option<TurnTexts>> {
        while self.inside && self.at < number {
            let first = self.nodes.next(&mut self.events)?;
            if first.what == What::SequenceEnd {
                self.inside = false;
                break;
            }
            let mut json = Vec::new();
            self.nodes.value(&mut self.events, first, Scalars::Text, &mut json)?;
            self.at += 1;
            // Only the requested turn is parsed.
            self.last = (self.at == number).then(|| turn_texts(json.into()));
        }
        Ok(self.last.clone().filter(|_| self.at == number))
    }
}

fn turn_texts(turn: Bytes) -> TurnTexts {
    let source = Source::new(&turn);
    let text = |name: &str| {
        debug_assert!(KEYED.texts.contains(&name));
        let value = source.peek(name).ok().flatten()?;
        text::decode(value.as_bytes()).map(|_| value)
    };
    TurnTexts { input: text("input"), result: text("result") }
}
