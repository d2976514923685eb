//! Lines of records that are added to a transcript.

use super::files;
use super::foreign::Foreign;
use super::line;
use super::lineage::Lineage;
use super::members::key;
use super::preserved::Segments;
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Appender, Cx, Options};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use bytes::Bytes;

/// End of a transcript.
#[derive(Debug)]
struct Transcript {
    foreign: Foreign,
    lineage: Lineage,
    /// Messages that compactions keep.
    segments: Segments,
    /// Leaf that the session's records name.
    leaf: Option<Json>,
    /// Whether the records are those of the main part.
    is_main: bool,
}

/// Opens a transcript behind its session record.
pub fn open(session: &Record, _: u32) -> Option<Box<dyn Appender>> {
    let node = &session.node;
    let (options, log) = (Options::default(), Log::default());
    let foreign = Foreign::within(node, &Cx { options: &options, log: &log });
    let leaf = node.json(Field::Leaf).cloned();
    let (lineage, segments) = (Lineage::default(), Segments::default());
    Some(Box::new(Transcript { foreign, lineage, segments, leaf, is_main: true }))
}

impl Appender for Transcript {
    fn note(&mut self, record: &Record) -> bool {
        if record.kind == Kind::Session {
            self.leaf = record.node.json(Field::Leaf).cloned().or(self.leaf.take());
            return true;
        }
        record
            .node
            .json(Field::Data)
            .iter()
            .for_each(|line| self.segments.note(line.as_bytes(), 0));
        match files::begun(record) {
            Some(part) => self.is_main = part.name.is_empty(),
            None => {
                self.is_main |= files::is_of_transcript(record) && !record.is_restored();
                if self.is_main && !record.is_restored() {
                    self.lineage.note(record);
                }
            }
        }
        true
    }

    fn add(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<Vec<Record>> {
        let parent = record.node.json(Field::Parent);
        if parent.is_some_and(|parent| self.segments.keep_behind(key(parent.as_bytes()))) {
            // The reader would put the message behind those that are kept.
            return Ok(Vec::new());
        }
        let (options, log) = (Options::default(), Log::default());
        let mut lines = Vec::new();
        self.foreign.record(record, &mut lines, &Cx { options: &options, log: &log });
        self.foreign.flush(&mut lines);
        let mut added = self.read(&lines)?;
        // The first of several results has the parent of their line.
        let first = added.first_mut().filter(|first| first.node.json(Field::Parent).is_none());
        first.into_iter().for_each(|first| {
            first.node.put(Field::Parent, record.node.get(Field::Parent).cloned())
        });
        let Some(last) = added.last().and_then(|last| last.node.json(Field::Id)).cloned() else {
            return Ok(Vec::new());
        };
        out.append(&mut lines);
        let leaf = self.leaf.as_mut().map(|leaf| {
            *leaf = last;
            &*leaf
        });
        if let Some(leaf) = self.lineage.other_leaf(leaf) {
            let named = match self.lineage.ends_at(leaf) {
                true => vec![self.foreign.ends_at(leaf)],
                false => self.foreign.leaf_lines(leaf).to_vec(),
            };
            for line in named {
                lines.extend_from_slice(&line);
                lines.push(b'\n');
            }
            added.append(&mut self.read(&lines)?);
            out.append(&mut lines);
        }
        Ok(added)
    }
}

impl Transcript {
    /// Reads lines that are added, and notes their records.
    fn read(&mut self, lines: &[u8]) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let line = Bytes::copy_from_slice(line.trim_ascii_end());
            let read = line::read(&line);
            let mut read = read.map_err(|fault| Error::json(fault, &line, Position::default()))?;
            read.iter().for_each(|record| self.lineage.note(record));
            records.append(&mut read);
        }
        Ok(records)
    }
}
