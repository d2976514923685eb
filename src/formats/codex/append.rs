//! Lines of messages that are added to a rollout.

use super::chain::Chain;
use super::foreign::Foreign;
use super::line;
use super::read::State;
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Options};
use crate::json::Json;
use crate::position::Position;
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

impl Appender for Rollout {
    fn note(&mut self, record: &Record) -> bool {
        if record.kind != Kind::Session {
            self.foreign.note(record);
            self.linked(record.clone());
        }
        true
    }

    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>> {
        let (log, mut lines) = (Log::default(), Vec::new());
        self.foreign.add(record, &log, &mut |line| lines.push(Bytes::from(line.concat())));
        let mut added = Vec::new();
        for line in lines {
            let value = Json::read(&line)
                .map_err(|fault| Error::json(fault, &line, Position::default()))?;
            let read = line::read(&value, self.bare);
            added.push(self.linked(read));
            out.extend_from_slice(&line);
            out.push(b'\n');
        }
        Ok(added)
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
