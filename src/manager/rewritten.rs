//! The files of a session that is written again.

use crate::error::Result;
use crate::format::{Change, Sink, Spool};
use crate::memory::Buffer;
use std::io::Write;

/// The files of a session with a further message.
#[derive(Default)]
pub struct Rewritten {
    /// The parts.
    pub parts: Buffer,
    /// Changes of files that sessions share, by the names of the parts.
    pub changes: Vec<(String, Box<dyn Change>)>,
}

impl Sink for Rewritten {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        self.parts.create(name)
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        self.changes.push((name.to_owned(), change));
        Ok(())
    }

    fn is_in_place(&self) -> bool {
        true
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn stem(&self) -> Option<String> {
        None
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.parts.spool()
    }
}
