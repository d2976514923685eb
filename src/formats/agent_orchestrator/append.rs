//! Lines of messages that are added to a log.

use super::line::{self, Shape};
use super::lineage::Lineage;
use super::prompts::Prompts;
use crate::diagnostic;
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Options};
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use bytes::Bytes;

/// End of a log.
#[derive(Debug)]
struct Log {
    shape: Shape,
    lineage: Lineage,
    session: Record,
    /// Number of records so far, by which the records of one line are grouped.
    records: u64,
}

/// Opens a log of this version behind its session record. Metadata alone have no log.
pub fn open(session: &Record, version: u32) -> Option<Box<dyn Appender>> {
    let node = &session.node;
    let is_log = node.node(Field::File).is_none_or(|file| !file.is(Field::Style, "meta"));
    if !is_log {
        return None;
    }
    let (options, log) = (Options::default(), diagnostic::Log::default());
    let lineage = Lineage::of(node, &Cx { options: &options, log: &log });
    let session = session.clone();
    Some(Box::new(Log { shape: Shape::of(version), lineage, session, records: 1 }))
}

impl Appender for Log {
    fn note(&mut self, record: &Record) -> bool {
        self.records += 1;
        match record.kind {
            Kind::Message if !record.is_restored() => self.lineage.link(&mut record.clone().node),
            Kind::Opaque if record.node.get(Field::Data).is_some() => self.lineage.pass(),
            _ => {}
        }
        true
    }

    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>> {
        let log = diagnostic::Log::default();
        let mut prompts = Prompts::new(self.shape);
        prompts.model(self.session.node.json(Field::Model));
        let mut lines = Vec::new();
        prompts.record(record, &log, &mut |line| lines.push(Bytes::copy_from_slice(line)));
        let mut added = Vec::new();
        for line in lines {
            let group = format!("{} appended", self.records);
            let mut read = line::read(&line, &group)
                .map_err(|fault| Error::json(fault, &line, Position::default()))?;
            for record in read.iter_mut().filter(|record| record.kind == Kind::Message) {
                self.lineage.link(&mut record.node);
            }
            self.records += read.len() as u64;
            added.append(&mut read);
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
        Ok(added)
    }
}
