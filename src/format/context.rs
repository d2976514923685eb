//! What a format offers to say what its software would send to a model.

use crate::error::Result;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Node, Record};
use std::ops::ControlFlow;

/// Builds what a format's own software would send to a model, from the nodes on the path from the
/// root to a leaf. All of them are shown twice, in the path's order, so that nothing need be kept.
pub trait Context {
    /// First showing: settings, and what decides which messages count. `position` is that on the
    /// path.
    ///
    /// # Errors
    /// If the software could not build a context with this record.
    fn look(&mut self, _position: u32, _record: &Located<Record>) -> Result<()> {
        Ok(())
    }

    /// Between the showings: what comes before the messages of the path. `place` finds the
    /// position of a node by its identifier.
    fn begin(&mut self, _place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        Vec::new()
    }

    /// Second showing: the record with all edits, if it counts.
    fn message(&mut self, position: u32, record: &Record) -> Option<Record>;

    /// The same of a record that nobody needs any more.
    fn taken(&mut self, position: u32, record: Record) -> Option<Record> {
        self.message(position, &record)
    }

    /// The record with all edits, whether it counts or not; `None` if an edit leaves it out.
    fn edited(&self, record: &Record) -> Option<Record> {
        Some(record.clone())
    }

    /// Writes what [`begin`](Self::begin) or [`message`](Self::message) gave in the format's own
    /// shape.
    fn own(&self, message: &Record, out: &mut Vec<u8>);

    /// The same as the model gets it, a message by its role and content; `None` for what is kept
    /// from it.
    fn sent(&mut self, message: &Record) -> Option<Node> {
        Some(message.node.clone())
    }

    /// Whether there is such a message.
    fn is_sent(&mut self, message: &Record) -> bool {
        self.sent(message).is_some()
    }

    /// What a message sums up of those before it, where the software writes that as a message: its
    /// words without those that say so.
    fn summary(&self, _message: &Record) -> Option<Json> {
        None
    }

    /// Members that stand behind the messages.
    fn settings(&self) -> Vec<(&'static str, Vec<u8>)> {
        Vec::new()
    }
}

/// Builds what a model was shown by one request, from the records before it. They are shown twice,
/// so that only what the request refers to need be kept.
pub trait Prompt {
    /// First showing: a break where the request is found.
    fn look(&mut self, record: &Record) -> ControlFlow<()>;

    /// Second showing, likewise.
    ///
    /// # Errors
    /// If there is no room for what is kept.
    fn keep(&mut self, record: &Record) -> Result<ControlFlow<()>>;

    /// The messages, and how many of them are not in the session.
    ///
    /// # Errors
    /// If what was kept cannot be read back.
    fn messages(&mut self) -> Result<(Vec<Record>, u64)>;
}
