//! Messages before the turns.
//!
//! The real software writes the top first, then turns, then messages, but the order of a mapping's
//! members has no meaning: a program that sorts them changes it. If messages come first, the reader
//! passes over them and the turns, and reads them at the end, from the beginning of the file once
//! more.

use super::super::super::EXPANSION;
use super::super::tee::{Seen, Tee};
use super::super::top::Lists;
use super::{Records, Stage};
use crate::error::Result;
use crate::record::{Field, Kind, Node, Record, Value};
use crate::yaml::json::{Nodes, Scalars};
use crate::yaml::read::{Budget, Event, Events, What};
use std::cell::Cell;
use std::rc::Rc;

/// State of turns and messages that come early in the file and are read late.
#[derive(Default)]
pub(super) struct Early {
    /// Whether turns or messages were passed over.
    pub passed: bool,
    /// The system prompt, which is between both.
    prompt: Option<Value>,
    /// The reading to which the reader returns after them.
    pub aside: Option<Aside>,
}

/// A reading that is suspended while the reader reads turns and messages.
pub(super) struct Aside {
    events: Events<Tee>,
    nodes: Nodes,
    seen: Rc<Cell<Seen>>,
    /// Whether the suspended reading ended without damage; otherwise its error was reported.
    whole: bool,
}

impl Records<'_> {
    /// Whether turns or messages that begin now are to be read at the end.
    pub(super) fn is_early(&self) -> bool {
        let first = !self.names.contains("turns") && self.early.aside.is_none();
        self.early.passed || (first && self.shape.lists == Lists::Behind)
    }

    /// Keeps the prompt of a top that was read whole, to be returned in its usual place.
    pub(super) fn keep_prompt(&mut self, top: &mut Node) {
        if self.early.passed {
            self.early.prompt = top.take(Field::SystemPrompt);
        }
    }

    /// Passes over turns or messages.
    pub(super) fn pass(&mut self, value: Event) -> Result<()> {
        self.early.passed = true;
        self.skip(value)?;
        // These comments are reported when the values are read.
        self.nodes.comments.clear();
        Ok(())
    }

    /// Passes over a value item by item, because there may be many. Anchors in the items are read,
    /// because aliases may refer to them.
    fn skip(&mut self, value: Event) -> Result<()> {
        if !matches!(value.what, What::SequenceStart(..) | What::MappingStart(..)) {
            return self.json(value, Scalars::Text).map(drop);
        }
        let mut depth = 1;
        while depth > 0 {
            let event = self.nodes.next(&mut self.events)?;
            match event.what {
                What::SequenceEnd | What::MappingEnd => depth -= 1,
                // The lists of turns.
                What::SequenceStart(..) if depth == 1 => depth += 1,
                _ => self.json(event, Scalars::Text).map(drop)?,
            }
        }
        Ok(())
    }

    /// Reads the turns and messages that were passed over; false if there are none.
    pub(super) fn read_passed(&mut self, whole: bool) -> Result<bool> {
        if !std::mem::take(&mut self.early.passed) {
            return Ok(false);
        }
        let (events, nodes, seen) = self.restart()?;
        self.early.aside = Some(Aside { events, nodes, seen, whole });
        match self.go_to("turns") {
            Err(error) if whole => Err(error),
            Ok(true) => Ok(true),
            _ => self.read_messages(),
        }
    }

    /// Reads messages that were passed over, and then continues where the file ended.
    pub(super) fn read_messages(&mut self) -> Result<bool> {
        self.restart()?;
        if let Some(prompt) = self.early.prompt.take() {
            let record = Record::new(Kind::Session).with(Field::SystemPrompt, prompt);
            self.push(record, self.nodes.end);
        }
        let found = self.go_to("messages")?;
        if !found {
            self.return_to_end()?;
        }
        Ok(found)
    }

    /// Restarts at the beginning of the file; returns the state of the reading so far.
    fn restart(&mut self) -> Result<(Events<Tee>, Nodes, Rc<Cell<Seen>>)> {
        let (tee, seen) = Tee::new(self.parts.main()?, self.cx.options.encoding);
        let events = std::mem::replace(&mut self.events, Events::new(tee, self.limits));
        let nodes = std::mem::replace(&mut self.nodes, Nodes::new(Budget::of(EXPANSION)));
        let seen = std::mem::replace(&mut self.seen, seen);
        Ok((events, nodes, seen))
    }

    /// Advances to the member of this name, and begins it.
    fn go_to(&mut self, name: &str) -> Result<bool> {
        for _ in ["document", "mapping"] {
            self.nodes.next(&mut self.events)?;
        }
        loop {
            let key = self.nodes.next(&mut self.events)?;
            let What::Scalar(found, ..) = &key.what else { return Ok(false) };
            if found == name {
                break self.begin_passed(name, key);
            }
            let value = self.nodes.next(&mut self.events)?;
            self.skip(value)?;
        }
    }

    fn begin_passed(&mut self, name: &str, key: Event) -> Result<bool> {
        self.nodes.comments.clear();
        self.names.remove(name);
        self.member(key)?;
        Ok(matches!(self.stage, Stage::Turns | Stage::Messages))
    }

    /// Continues where the file ended.
    pub(super) fn return_to_end(&mut self) -> Result<()> {
        let Some(Aside { events, nodes, seen, whole }) = self.early.aside.take() else {
            return Ok(());
        };
        (self.events, self.nodes, self.seen) = (events, nodes, seen);
        if whole {
            return self.finish();
        }
        self.stage = Stage::Done;
        Ok(())
    }

    /// Whether the damage that stops the reading now was already reported when the values were
    /// passed over.
    pub(super) fn is_reported(&self) -> bool {
        self.early.aside.as_ref().is_some_and(|aside| !aside.whole)
    }

    /// Reads the turns and messages that were passed over before damage that was reported; `stage`
    /// is the stage at the damage.
    pub(super) fn go_back(&mut self, stage: Stage) {
        let found = match self.is_reported() {
            true => stage == Stage::Turns && self.read_messages().unwrap_or_default(),
            // Damage in these values was found when they were passed over.
            false => self.read_passed(false).unwrap_or_default(),
        };
        if !found {
            self.stage = Stage::Done;
        }
    }
}
