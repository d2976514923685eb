//! What stands beside the runs of a whole session: its state, and stored outputs.

use super::Run;
use crate::diagnostic::{Code, Diagnostic, Fate};
use crate::error::Result;
use crate::formats::codelia::names::{DATABASE, EPOCH, log_part, output_part, state_part};
use crate::formats::codelia::read::stored_of;
use crate::formats::codelia::rows::{self, Row};
use crate::formats::codelia::{log, state};
use crate::json::Json;
use crate::json::text::from_base64;
use crate::position::Position;
use crate::record::{Field, Kind, Node};
use bytes::Bytes;

impl Run<'_> {
    /// Writes the state of a whole session, behind its runs.
    pub(super) fn snapshot(&mut self, record: &Node, at: Position) -> Result<()> {
        let left = record.is(Field::Layout, "state");
        if self.sink.is_none() || (left && self.version == 1) {
            // Where states have files, that of the newer store is the session's.
            self.cx.log.count(Fate::Dropped, Kind::Snapshot.name());
            return Ok(());
        }
        self.stored = true;
        let mut node = record.clone();
        node.take(Field::Layout);
        if let (None, Some(id)) = (node.json(Field::Session), &self.id) {
            node.set(Field::Session, id.clone());
        }
        let references = record.json(Field::Messages).cloned().unwrap_or_default();
        let found = self.sources.messages(&references)?;
        if found.missing > 0 {
            self.missing(found.missing, at);
        }
        if self.version == 2 && !left {
            return self.row(record, node, &found.messages, at);
        }
        if record.is(Field::Layout, "log") {
            self.beyond(&node);
            for field in [Field::Extra, Field::Raw, Field::RawBytes] {
                node.take(field);
            }
        }
        self.state(record, node, &found.messages, at)
    }

    fn state(
        &mut self,
        record: &Node,
        mut node: Node,
        messages: &[Json],
        at: Position,
    ) -> Result<()> {
        self.dated(&mut node);
        self.create(&state_part(&node.text(Field::Session).unwrap_or_default()))?;
        let raw = node.text(Field::Raw).map(Bytes::from);
        if let Some(raw) = &raw
            && state::reads_as(raw, &node, messages)
        {
            return self.put(record, raw);
        }
        if raw.is_some() {
            self.cx.raw_refused(at);
        }
        let mut line = Vec::new();
        state::write(&node, messages, &mut line);
        self.put(record, &line)
    }

    /// Says when the state was stored, if nothing does.
    fn dated(&self, node: &mut Node) {
        if node.json(Field::Updated).is_none() {
            let updated = self.updated.clone().unwrap_or_else(|| Json::string(EPOCH));
            node.set(Field::Updated, updated);
        }
    }

    /// Counts what the other store has no place for.
    fn beyond(&self, node: &Node) {
        for name in Row::strangers(node) {
            self.cx.log.count(Fate::Dropped, &format!("snapshot.extra.{name}"));
        }
    }

    /// Writes the state as a log of its messages, and as a row of the database.
    fn row(
        &mut self,
        record: &Node,
        mut node: Node,
        messages: &[Json],
        at: Position,
    ) -> Result<()> {
        let own = record.is(Field::Layout, "log");
        if record.json(Field::Messages).is_some() {
            self.create(&log_part(&node.text(Field::Session).unwrap_or_default()))?;
            match self.kept(record, messages, at).filter(|_| own) {
                Some(raw) => self.put(record, &raw)?,
                None => messages.iter().try_for_each(|m| self.put(record, m.as_bytes()))?,
            }
        }
        self.beyond(&node);
        // A log without a row stays without one.
        if own && record.json(Field::Updated).is_none() {
            return Ok(());
        }
        self.dated(&mut node);
        let row = Row::of(&node, messages.len(), rows::last_user(messages));
        let put = move |old, force| row.put(old, force);
        self.sink.as_mut().map_or(Ok(()), |sink| sink.change(DATABASE, Box::new(put)))
    }

    /// The spelling of a log that its runtime would write otherwise.
    fn kept(&self, record: &Node, messages: &[Json], at: Position) -> Option<Bytes> {
        let bytes = record.text(Field::RawBytes).and_then(|text| from_base64(&text));
        let raw = Bytes::from(record.text(Field::Raw).map(String::into_bytes).or(bytes)?);
        if log::split(&raw, 0).0 == messages {
            return Some(raw);
        }
        self.cx.raw_refused(at);
        None
    }

    /// Writes what an output's reference names.
    pub(super) fn store(&mut self, output: &Node, at: Position) -> Result<()> {
        let Some(stored) = stored_of(output) else { return Ok(()) };
        let id = output.json(Field::Reference).and_then(|reference| reference.member("id"));
        let name = id.and_then(|id| output_part(&id.text()?));
        let (Some(name), Some(sink)) = (name, &mut self.sink) else {
            self.cx.log.count(Fate::Dropped, "tool_output.stored");
            return Ok(());
        };
        if !sink.add(&name, &stored)? {
            let message = format!("another output is called {name}; it was left");
            self.cx.report(Diagnostic::new(Code::OtherOutput, message).at(at));
        }
        Ok(())
    }
}
