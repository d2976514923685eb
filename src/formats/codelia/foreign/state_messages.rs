//! Store outside of memory for the messages that a session's state will contain.

use crate::document::around;
use crate::error::{Cannot, Error, Result};
use crate::format::{Sink, Spool};
use crate::formats::codelia::names::{log_part, state_part};
use crate::formats::codelia::rows::{DATABASE, Row};
use crate::formats::codelia::state;
use crate::json::Json;
use crate::parts::room::{Part, Room};
use crate::record::{Field, Node};
use std::io::{self, Write};

/// Messages, in the order of the conversation.
pub struct StateMessages {
    messages: Part,
    /// Version of the format, which decides how the state is stored: 1 in a file, 2 as a row and a
    /// log.
    version: u32,
    count: usize,
    /// Last message of the user.
    question: Option<Json>,
}

impl StateMessages {
    /// Creates an empty store.
    pub fn new(spool: Box<dyn Spool>, version: u32) -> Self {
        Self { messages: Room::of(spool).part(), version, count: 0, question: None }
    }

    /// Adds a message.
    pub fn add(&mut self, spelling: &[u8]) -> Result<()> {
        let between: &[u8] = match self.version {
            _ if self.count == 0 => b"",
            1 => b",",
            _ => b"\n",
        };
        self.count += 1;
        let to = &mut self.messages;
        to.write_all(between).and_then(|()| to.write_all(spelling)).cannot("write a temporary file")
    }

    /// Notes a message of the user.
    pub fn note_question(&mut self, message: &Json) {
        self.question = Some(message.clone());
    }

    /// Writes the state of the session; `state` is its record without the messages.
    pub fn write(&mut self, sink: &mut dyn Sink, state: &Node) -> Result<()> {
        let id = state.text(Field::Session).unwrap_or_default();
        let failed = |error| Error::io("cannot write", error);
        if self.version == 1 {
            let mut to = sink.create(&state_part(&id))?;
            let mut frame = Vec::new();
            state::write(state, &[], &mut frame);
            frame.push(b'\n');
            let (head, tail) = around(&frame, state::LIST);
            to.write_all(head).map_err(failed)?;
            self.pour(&mut to)?;
            return to.write_all(tail).and_then(|()| to.flush()).map_err(failed);
        }
        let mut to = sink.create(&log_part(&id))?;
        self.pour(&mut to)?;
        let end: &[u8] = if self.count > 0 { b"\n" } else { b"" };
        to.write_all(end).and_then(|()| to.flush()).map_err(failed)?;
        let row = Row::of(state, self.count, self.question.as_ref());
        sink.change(DATABASE, Box::new(row))
    }

    fn pour(&self, to: &mut dyn Write) -> Result<()> {
        io::copy(&mut self.messages.reading(0), to).map(drop).cannot("write")
    }
}
