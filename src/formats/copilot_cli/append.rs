//! Events of messages that are added to a session.

use super::events::Events;
use super::read::Lineage;
use crate::diagnostic::Log;
use crate::format::{Appender, Cx, LineAppender, Options};
use crate::json::{Fault, Json};
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

impl LineAppender for End {
    fn note(&mut self, record: &Record) {
        if record.kind != Kind::Session {
            self.events.note(record);
            self.lineage.link(&mut record.clone());
        }
    }

    fn lines(&mut self, record: &Record) -> Vec<Vec<u8>> {
        self.events.of(record, &Log::default())
    }

    fn read(&mut self, line: &Bytes) -> Result<Vec<Record>, Fault> {
        Ok(vec![self.lineage.read(&Json::read(line)?)])
    }
}
