//! Properties of a file that are known only at its end.

use super::super::super::second_document;
use super::super::top::Lists;
use super::{Records, Stage};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::read::{Event, What};

impl Records<'_> {
    /// Reports once that the encoding is a guess.
    pub(super) fn report_guess(&mut self) {
        let Some(found) = self.seen.get().found.filter(|_| !self.guessed) else { return };
        if let Some(percent) = found.confidence {
            self.guessed = true;
            let name = found.encoding.name();
            let message = format!("taken for {name}, with a certainty of {percent} %");
            self.cx.report(Diagnostic::new(Code::GuessedEncoding, message));
        }
    }

    /// Reports the properties of the file that are known only at its end.
    fn file(&mut self) {
        let mut file = Node::default();
        if let Some(found) = self.seen.get().found.filter(|found| !found.is_utf8()) {
            file.set(Field::Encoding, Json::string(found.encoding.name()));
        }
        if !self.seen.get().is_ended() {
            let found = Diagnostic::of(Code::NoFinalNewline);
            self.cx.report(found.at(self.nodes.end));
            file.set(Field::FinalNewline, Json::constant("false"));
        }
        if file.is_empty() {
            return;
        }
        let record = Record::new(Kind::Session).with(Field::File, file);
        self.push(record, self.nodes.end);
    }

    pub(super) fn end(&mut self) -> Result<()> {
        self.flush_top(true);
        if self.read_passed(true)? {
            return Ok(());
        }
        self.finish()
    }

    /// Reports what only the whole file shows, and ends the reading.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.shape.lists {
            Lists::Behind => self.missing()?,
            Lists::Within | Lists::Elsewhere => self.cut()?,
        }
        self.behind()?;
        self.file();
        self.stage = Stage::Done;
        Ok(())
    }

    /// Reads the text behind the mapping.
    fn behind(&mut self) -> Result<()> {
        loop {
            match self.events.next()? {
                None => {
                    self.report_comments();
                    return Ok(());
                }
                Some(Event { what: What::Comment { .. }, at, .. }) => {
                    self.nodes.comments.push(at);
                }
                Some(Event { what: What::DocumentStart, at, .. }) => {
                    return Err(second_document(at));
                }
                Some(_) => {}
            }
        }
    }
}
