//! Lines of messages that are added to a log.

use super::chain_of;
use super::line::{self, Shape};
use super::prompts::Prompts;
use crate::diagnostic;
use crate::format::{Appender, Cx, LineAppender, Options};
use crate::framing::Chain;
use crate::json::{Fault, Json};
use crate::record::{Field, Kind, Record};
use bytes::Bytes;

/// End of a log.
#[derive(Debug)]
struct Log {
    shape: Shape,
    chain: Chain,
    model: Option<Json>,
    /// Number of records before the present one, by which the records of one line are grouped.
    records: u64,
}

/// Opens a log of this version behind its session record. Metadata alone have no log.
pub fn open(session: &Record, version: u32) -> Option<Box<dyn Appender>> {
    let node = &session.node;
    let is_log = node.node(Field::File).is_none_or(|file| !file.is(Field::Style, "meta"));
    let (options, log) = (Options::default(), diagnostic::Log::default());
    let chain = chain_of(node, &Cx { options: &options, log: &log });
    let model = node.json(Field::Model).cloned();
    is_log.then(|| Box::new(Log { shape: Shape::of(version), chain, model, records: 1 }) as _)
}

impl LineAppender for Log {
    fn note(&mut self, record: &Record) {
        self.records += 1;
        match record.kind {
            Kind::Message if !record.is_restored() => {
                self.chain.link_by_agent(&mut record.clone().node);
            }
            Kind::Opaque if record.node.get(Field::Data).is_some() => self.chain.pass(),
            _ => {}
        }
    }

    fn lines(&mut self, record: &Record) -> Vec<Vec<u8>> {
        let log = diagnostic::Log::default();
        let mut prompts = Prompts::new(self.shape);
        prompts.model(self.model.as_ref());
        let mut lines = Vec::new();
        prompts.record(record, &log, &mut |line| lines.push(line.to_vec()));
        lines
    }

    fn read(&mut self, line: &Bytes) -> Result<Vec<Record>, Fault> {
        let mut read = line::read(line, &format!("{} appended", self.records))?;
        for record in read.iter_mut().filter(|record| record.kind == Kind::Message) {
            self.chain.link_by_agent(&mut record.node);
        }
        self.records += read.len() as u64;
        Ok(read)
    }
}
