//! Number of messages in a context.

use crate::format::{Context, Corrections};
use crate::record::{Node, Record};

/// Count of the messages that [`run`](super::run) prints in the form of a session's software.
pub struct Counted {
    corrections: Option<Box<dyn Corrections>>,
    /// Messages that the corrections made of the last one.
    made: Vec<Node>,
    count: u64,
}

impl Counted {
    /// Begins to count, behind [`Context::begin`].
    pub fn of(context: &dyn Context) -> Self {
        Self { corrections: context.own_corrections(), made: Vec::new(), count: 0 }
    }

    /// Counts what is sent of a record.
    pub fn message(&mut self, context: &dyn Context, message: &Record) {
        match &mut self.corrections {
            Some(corrections) => corrections.message(message.node.clone(), &mut self.made),
            None => self.count += context.count(message),
        }
        self.count += self.made.drain(..).len() as u64;
    }

    /// Returns the number.
    pub fn finish(mut self) -> u64 {
        let made = &mut self.made;
        self.corrections.iter_mut().for_each(|corrections| corrections.finish(made));
        self.count + made.len() as u64
    }
}
