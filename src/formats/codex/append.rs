//! Lines of messages that are added to a rollout.

use super::chain::Chain;
use super::foreign::Foreign;
use super::line;
use super::read::State;
use crate::diagnostic::Log;
use crate::format::{Appender, Cx, LineAppender, Options};
use crate::json::{Fault, Json};
use crate::record::{Kind, Record};
use bytes::Bytes;

/// End of a rollout.
#[derive(Debug)]
struct Rollout {
    foreign: Foreign,
    state: State,
    chain: Chain,
    /// Whether items have no wrapper.
    bare: bool,
}

/// Opens a rollout of this version behind its session record.
pub fn open(session: &Record, version: u32) -> Option<Box<dyn Appender>> {
    let node = &session.node;
    let (options, log) = (Options::default(), Log::default());
    let chain = Chain::of(node, &Cx { options: &options, log: &log });
    let mut foreign = Foreign::behind(node, version);
    foreign.note(session);
    Some(Box::new(Rollout { foreign, state: State::default(), chain, bare: version == 1 }))
}

impl LineAppender for Rollout {
    fn note(&mut self, record: &Record) {
        if record.kind != Kind::Session {
            self.foreign.note(record);
            self.linked(record.clone());
        }
    }

    fn lines(&mut self, record: &Record) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        self.foreign.add(record, &Log::default(), &mut |line| lines.push(line.concat()));
        lines
    }

    fn read(&mut self, line: &Bytes) -> Result<Vec<Record>, Fault> {
        let record = line::read(&Json::read(line)?, self.bare);
        Ok(vec![self.linked(record)])
    }
}

impl Rollout {
    /// Links a record behind those before it.
    fn linked(&mut self, record: Record) -> Record {
        let mut record = self.state.settle(record);
        self.chain.link(&mut record);
        record
    }
}
