//! Interface by which a format gives the messages that its software would send to a model.

use crate::error::Result;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Kind, Node, Record};
use std::ops::ControlFlow;

/// Builds the messages that a format's own software would send to a model, from the nodes on the
/// path from the root to a leaf. All nodes are shown twice, in the path's order, so that nothing
/// must be kept.
pub trait Context {
    /// First showing: notes settings, and data that decide which messages count. `position` is the
    /// position on the path.
    ///
    /// # Errors
    /// If the software could not build a context with this record.
    fn look(&mut self, _position: u32, _record: &Located<Record>) -> Result<()> {
        Ok(())
    }

    /// First showing, for the newest context of a session only: notes a record, which may be on no
    /// path, before its node is looked at.
    fn pass(&mut self, _record: &Record) {}

    /// Between the showings: returns the records before the messages of the path. `place` finds the
    /// position of a node by its identifier.
    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        Vec::new()
    }

    /// Second showing: returns the record with all edits, if it counts.
    fn message(&mut self, _position: u32, record: &Record) -> Option<Record> {
        (record.kind == Kind::Message && !record.is_aside()).then(|| record.clone())
    }

    /// Returns the message of a record that is consumed.
    fn taken(&mut self, position: u32, record: Record) -> Option<Record> {
        self.message(position, &record)
    }

    /// Returns the record with all edits, whether it counts or not; `None` if an edit leaves it
    /// out.
    fn edited(&self, record: &Record) -> Option<Record> {
        Some(record.clone())
    }

    /// Writes a record that [`begin`](Self::begin) or [`message`](Self::message) returned, in the
    /// format's own shape; nothing, if the software drops it in this shape only.
    fn own(&self, message: &Record, out: &mut Vec<u8>);

    /// Returns the number of messages that [`own`](Self::own) writes of a record.
    fn count(&self, _message: &Record) -> u64 {
        1
    }

    /// Returns a record of [`begin`](Self::begin) or [`message`](Self::message) as the model gets
    /// it: a message by its role and content; `None` for a record that is not sent.
    fn sent(&mut self, message: &Record) -> Option<Node> {
        Some(message.node.clone())
    }

    /// Whether the record is sent as a message.
    fn is_sent(&mut self, message: &Record) -> bool {
        self.sent(message).is_some()
    }

    /// Returns the summary of earlier messages that a message contains, where the software writes a
    /// summary as a message. The words that mark it as a summary are removed.
    fn summary(&self, _message: &Record) -> Option<Json> {
        None
    }

    /// Returns the stage that makes the messages fit for this interface, where the software does
    /// not send them as they are; requested between the showings, after [`begin`](Self::begin).
    fn resent(&self, _api: Api) -> Option<Box<dyn Resent>> {
        None
    }

    /// Returns the interface to which the software sends the messages, where the session decides
    /// on it.
    fn interface(&self) -> Option<Interface> {
        None
    }

    /// Returns the stage that takes faults out of the history before it is sent, where the software
    /// does that; requested between the showings, after [`begin`](Self::begin).
    fn corrections(&self) -> Option<Box<dyn Corrections>> {
        None
    }

    /// Returns what the software does to the messages in its own form, which [`own`](Self::own)
    /// writes.
    fn own_corrections(&self) -> Option<Box<dyn Corrections>> {
        self.corrections()
    }

    /// Whether the interface refuses the messages if the first is an answer.
    fn begins_with_question(&self) -> bool {
        false
    }

    /// Returns members behind the messages.
    fn settings(&self) -> Vec<(&'static str, Vec<u8>)> {
        Vec::new()
    }
}

/// Interface of a model to which messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    OpenAi,
}

/// Interface of a model by what it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// Anthropic's Messages.
    AnthropicMessages,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Chat Completions of OpenAI and of other providers.
    ChatCompletions,
}

/// Faults that a format's software mends in a history before it sends it, so that the interface
/// does not refuse them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mends {
    /// None.
    Nothing,
    /// Calls without results get results; results without calls are sent.
    OpenCalls,
    /// Calls without results get results, or are left out; so are results without calls.
    Calls,
    /// The faults of [`Calls`](Self::Calls), and images without data that a model accepts.
    CallsAndImages,
    /// All: the software does not send the contents of the session, but a history of its own.
    Everything,
}

impl Mends {
    /// Whether calls without results, and results without calls, are not sent as they are.
    #[must_use]
    pub fn pairs(self) -> bool {
        matches!(self, Self::Calls | Self::CallsAndImages | Self::Everything)
    }

    /// Whether a text is sent in the place of an image whose data no model accepts.
    #[must_use]
    pub fn images(self) -> bool {
        matches!(self, Self::CallsAndImages | Self::Everything)
    }
}

/// Makes the messages of a history fit for an interface and its model, as the format's software
/// does when it sends them again. Messages that come out are written exactly as they are: content
/// that is a text as a text, content blocks as a list.
pub trait Resent {
    /// Takes a record of [`Context::begin`] or [`Context::message`], and adds what is sent of it.
    fn message(&mut self, record: &Record, out: &mut Vec<Node>);

    /// Adds what is sent behind the last message.
    fn finish(&mut self, out: &mut Vec<Node>);
}

/// Takes faults out of a history that an interface would refuse, as the format's software does.
pub trait Corrections {
    /// Takes the next message, and adds what is sent.
    fn message(&mut self, message: Node, out: &mut Vec<Node>);

    /// Adds what is sent behind the last message.
    fn finish(&mut self, out: &mut Vec<Node>);

    /// Whether a call is left out if an earlier one has its identifier, and an answer if none of its
    /// calls has a result.
    fn omits(&self) -> bool {
        false
    }
}

/// Builds the messages that one request showed to a model, from the records before it. The records
/// are shown twice, so that only those must be kept to which the request refers.
pub trait Prompt {
    /// First showing: breaks where the request is found.
    fn look(&mut self, record: &Record) -> ControlFlow<()>;

    /// Second showing: keeps the records to which the request refers, and breaks where the request
    /// is found.
    ///
    /// # Errors
    /// If there is no room for what is kept.
    fn keep(&mut self, record: &Record) -> Result<ControlFlow<()>>;

    /// Returns the messages, and how many of them are not in the session.
    ///
    /// # Errors
    /// If what was kept cannot be read back.
    fn messages(&mut self) -> Result<(Vec<Record>, u64)>;
}
