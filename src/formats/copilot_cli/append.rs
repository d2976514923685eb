//! Events of messages that are added to a session.

use super::events::Events;
use super::read::Lineage;
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Options};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Kind, Record};
use bytes::Bytes;

/// End of a session.
#[derive(Debug)]
struct End {
    events: Events,
    lineage: Lineage,
}

/// Opens a session behind its record.
pub fn open(session: &Record, _version: u32) -> Option<Box<dyn Appender>> {
    let (options, log) = (Options::default(), Log::default());
    let lineage = Lineage::of(&session.node, &Cx { options: &options, log: &log });
    let mut events = Events::default();
    events.note(session);
    Some(Box::new(End { events, lineage }))
}

impl Appender for End {
    fn note(&mut self, record: &Record) -> bool {
        if record.kind != Kind::Session {
            self.events.note(record);
            self.lineage.link(&mut record.clone());
        }
        true
    }

    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>> {
        let mut added = Vec::new();
        for line in self.events.of(record, &Log::default()) {
            let value = Json::read(&Bytes::copy_from_slice(&line))
                .map_err(|fault| Error::json(fault, &line, Position::default()))?;
            added.push(self.lineage.read(&value));
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
        Ok(added)
    }
}
