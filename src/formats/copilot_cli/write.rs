//! Writer of the events of a session.

use super::{events::Events, line, starts::Calls};
use crate::error::Result;
use crate::foreign::{ListWriter, MessageList};
use crate::format::{Cx, Sink, Version, Writing};
use crate::framing::Pen;
use crate::record::{Field, Node, Record};

/// Opens a session for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, _: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let pen = Pen::to(sink.create("")?);
    Ok(ListWriter::begin(
        Session { pen, cx, events: Events::default(), calls: Calls::default() },
        &super::FORMAT,
        cx,
    ))
}

struct Session<'a> {
    pen: Pen,
    cx: &'a Cx<'a>,
    events: Events,
    /// Calls that events repeat.
    calls: Calls,
}

impl MessageList for Session<'_> {
    fn session(&mut self, node: &Node, first: bool, own: bool) -> Result<()> {
        self.pen.file(node, first);
        if first {
            let line = self.events.begin(node, own, self.cx);
            self.pen.put(&line)?;
        }
        Ok(())
    }

    fn item(&mut self, record: &Record, own: bool) -> Result<bool> {
        if own && self.pen.write_unchanged(record)? {
            return Ok(true);
        }
        self.calls.note(record);
        if own && record.is_repetition() {
            let data = record.node.json(Field::Data).and_then(|data| self.calls.renewed(data));
            // The event of a call that was deleted goes with it.
            let Some(data) = data else { return Ok(true) };
            let mut renewed = record.clone();
            renewed.node.set(Field::Data, data);
            self.events.note(&renewed);
            return self.pen.try_line(|out| line::write(&renewed, out));
        }
        if own && line::is_complete(record) {
            self.events.note(record);
            return self.pen.try_line(|out| line::write(record, out));
        }
        let lines = self.events.of(record, self.cx.log);
        for line in &lines {
            self.pen.put(line)?;
        }
        Ok(!lines.is_empty())
    }

    fn finish(self, _: bool) -> Result<()> {
        self.pen.finish()
    }
}
