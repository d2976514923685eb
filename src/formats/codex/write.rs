//! Writer of a stream of records as a rollout.

use super::foreign::Foreign;
use super::{NAME, line, twin};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::framing::Pen;
use crate::json::{Json, text};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};

/// Opens a session for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    Ok(Box::new(Rollout {
        pen: Pen::to(sink.create("")?),
        cx,
        version: version.number,
        session: None,
        last_texts: [None, None, None],
    }))
}

struct Rollout<'a> {
    pen: Pen,
    cx: &'a Cx<'a>,
    version: u32,
    session: Option<Session>,
    /// The last text of each speaker, for the events that repeat it.
    last_texts: [Option<Json>; 3],
}

enum Session {
    /// The records come from a rollout of this version.
    Same,
    /// The records come from elsewhere.
    Other(Box<Foreign>),
}

/// Returns a function that writes lines of a session from elsewhere, and reports those that Codex
/// drops. `done` takes an error.
fn lines<'w>(
    pen: &'w mut Pen,
    done: &'w mut Result<()>,
    at: Position,
    cx: &'w Cx<'_>,
) -> impl FnMut(&[&[u8]]) + 'w {
    move |line| {
        if let Err(error) = pen.put_pieces(line) {
            *done = Err(error);
        }
        if line.iter().any(|piece| !text::lone_halves(piece).is_empty()) {
            cx.report_at(Code::LineDropped, at);
        }
    }
}

impl Writer for Rollout<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        match (&mut self.session, record.kind) {
            (None, Kind::Session) => self.header(located),
            (None, _) if self.pen.write_unchanged(record)? => Ok(()),
            (None, _) => Err(no_session(located.at)),
            (Some(Session::Same), Kind::Session) => {
                self.pen.file(&record.node, false);
                Ok(())
            }
            (Some(Session::Same), _) => self.same(record),
            (Some(Session::Other(foreign)), _) => {
                let mut done = Ok(());
                let mut to = lines(&mut self.pen, &mut done, located.at, self.cx);
                foreign.record(record, self.cx, &mut to);
                drop(to);
                done
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        match &mut self.session {
            None => return Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record"))),
            Some(Session::Same) => {}
            Some(Session::Other(foreign)) => {
                let mut done = Ok(());
                let mut to = lines(&mut self.pen, &mut done, Position::default(), self.cx);
                foreign.finish(self.cx, &mut to);
                drop(to);
                done?;
            }
        }
        self.pen.finish()
    }
}

impl Rollout<'_> {
    fn header(&mut self, located: &Located<Record>) -> Result<()> {
        let node = &located.value.node;
        let same = node.is(Field::Source, &format!("{NAME}@{}", self.version));
        if !same {
            self.session = Some(Session::Other(Box::new(Foreign::of(node, self.version, self.cx))));
            return Ok(());
        }
        if node.json(Field::Id).is_none() {
            let found = Diagnostic::new(Code::BadRecord, "the session record has no `id`");
            return Err(Error::unfit(found.at(located.at)));
        }
        self.pen.file(node, true);
        self.session = Some(Session::Same);
        line::write_meta(node, self.version == 1, self.pen.line()?);
        Ok(())
    }

    /// Writes a record of a rollout of this version.
    fn same(&mut self, record: &Record) -> Result<()> {
        if self.pen.write_unchanged(record)? || record.node.is_true(Field::Synthesized) {
            return Ok(());
        }
        let twin = self.twin(record);
        let (record, bare) = (twin.as_ref().unwrap_or(record), self.version == 1);
        if !self.pen.try_line(|out| line::write(record, bare, out))? {
            self.cx.log.lost(record.kind.name());
        }
        Ok(())
    }

    /// Notes the text of an item; returns an event with the present text of the item that it
    /// repeats, if the item was edited.
    fn twin(&mut self, record: &Record) -> Option<Record> {
        if let Some((speaker, text)) =
            twin::of_message(&record.node).filter(|_| record.kind == Kind::Message)
        {
            *self.last_texts.get_mut(speaker as usize)? = Some(text);
            return None;
        }
        if record.kind != Kind::Event || !record.node.is_true(Field::Derived) {
            return None;
        }
        let payload = record.node.json(Field::Data)?;
        let (speaker, old) = twin::of_event(payload)?;
        let new = self.last_texts.get(speaker as usize)?.as_ref()?;
        if *new == old || new.text() == old.text() {
            return None;
        }
        let mut edited = record.clone();
        edited.node.set(Field::Data, twin::with_text(payload, &old, new));
        Some(edited)
    }
}
