//! Writer of the parts beside the runs of a whole session: its state, and stored outputs.

use super::Run;
use crate::diagnostic::{Code, Diagnostic};
use crate::document::around;
use crate::error::Result;
use crate::formats::codelia::log::Survey;
use crate::formats::codelia::made::EPOCH;
use crate::formats::codelia::names::{log_part, output_part, state_part};
use crate::formats::codelia::read::stored_of;
use crate::formats::codelia::rows::{DATABASE, Row};
use crate::formats::codelia::state;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Node};

fn references(record: &Node) -> Json {
    record.json(Field::Messages).cloned().unwrap_or_default()
}

impl Run<'_> {
    /// Writes the state of a whole session, after its runs.
    pub(super) fn snapshot(&mut self, record: &Node, at: Position) -> Result<()> {
        let left = record.is(Field::Layout, "state");
        if self.sink.is_none() || (left && self.version == 1) {
            // Where states have files, the state of the newer store is the session's.
            self.cx.log.lost(Kind::Snapshot.name());
            return Ok(());
        }
        self.stored = true;
        let mut node = record.clone();
        node.take(Field::Layout);
        if let (None, Some(id)) = (node.json(Field::Session), &self.id) {
            node.set(Field::Session, id.clone());
        }
        let log = record.is(Field::Layout, "log");
        if self.version == 2 && !left {
            return self.row(record, node, at);
        }
        if log {
            self.beyond(&node);
            node.take(Field::Extra);
        }
        self.state(record, node, at)
    }

    fn state(&mut self, record: &Node, mut node: Node, at: Position) -> Result<()> {
        self.dated(&mut node);
        self.create(&state_part(&node.text(Field::Session).unwrap_or_default()))?;
        let references = references(record);
        let mut frame = Vec::new();
        state::write(&node, &[], &mut frame);
        let (head, tail) = around(&frame, state::LIST);
        let Some(pen) = &mut self.pen else { return Ok(()) };
        pen.put(head)?;
        let mut between: &[u8] = b"";
        let missing = self.sources.each(&references, &mut |message| {
            let line = pen.more()?;
            line.extend_from_slice(std::mem::replace(&mut between, b","));
            line.extend_from_slice(message.as_bytes());
            Ok(())
        })?;
        pen.more()?.extend_from_slice(tail);
        self.missing(missing, at);
        Ok(())
    }

    /// Sets the time at which the state was stored, if the record has none.
    fn dated(&self, node: &mut Node) {
        if node.json(Field::Updated).is_none() {
            let updated = self.updated.clone().unwrap_or_else(|| Json::string(EPOCH));
            node.set(Field::Updated, updated);
        }
    }

    /// Counts the members that the other store has no place for.
    fn beyond(&self, node: &Node) {
        for name in Row::members_without_column(node) {
            self.cx.log.lost(&format!("snapshot.extra.{name}"));
        }
    }

    /// Writes the state as a log of its messages, and as a row of the database.
    fn row(&mut self, record: &Node, mut node: Node, at: Position) -> Result<()> {
        let own = record.is(Field::Layout, "log");
        let mut found = Survey::default();
        if record.json(Field::Messages).is_some() {
            self.create(&log_part(&node.text(Field::Session).unwrap_or_default()))?;
            found = self.log(record, at)?;
        }
        self.beyond(&node);
        // A log without a row stays without one.
        if own && record.json(Field::Updated).is_none() {
            return Ok(());
        }
        self.dated(&mut node);
        let row = Row::of(&node, found.messages, found.last_user.as_ref());
        if !own {
            let lost = |name| self.cx.log.lost(&format!("snapshot.{name}"));
            Row::respelled(&node).into_iter().for_each(lost);
        }
        self.sink.as_mut().map_or(Ok(()), |sink| sink.change(DATABASE, Box::new(row)))
    }

    /// Writes the log, and returns a survey of its messages.
    fn log(&mut self, record: &Node, at: Position) -> Result<Survey> {
        let references = references(record);
        let (mut found, pen) = (Survey::default(), &mut self.pen);
        let missing = self.sources.each(&references, &mut |message| {
            if let Some(pen) = pen {
                pen.put(message.as_bytes())?;
            }
            found.look(message);
            Ok(())
        })?;
        self.missing(missing, at);
        Ok(found)
    }

    /// Writes the stored output that an output's reference names.
    pub(super) fn store(&mut self, output: &Node, at: Position) -> Result<()> {
        let Some(stored) = stored_of(output) else { return Ok(()) };
        let id = output.json(Field::Reference).and_then(|reference| reference.member("id"));
        let name = id.and_then(|id| output_part(&id.text()?));
        let (Some(name), Some(sink)) = (name, &mut self.sink) else {
            self.cx.log.lost("tool_output.stored");
            return Ok(());
        };
        if !sink.add(&name, &stored)? {
            let message = format!("another output has the name {name} and was not replaced");
            self.cx.report(Diagnostic::new(Code::OtherOutput, message).at(at));
        }
        Ok(())
    }
}
