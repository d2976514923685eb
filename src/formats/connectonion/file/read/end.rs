//! What is known of a file only at its end.

use super::super::super::carrier::KEY;
use super::super::super::second_document;
use super::super::top::Lists;
use super::remark::Before;
use super::{Records, Stage};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::read::{Event, What};
use std::io::Read;

/// What tells a converted file from one that its own software wrote.
#[derive(Default)]
pub(super) struct Converted {
    /// Whether the last turn has the mark of one.
    signed: bool,
    /// Whether its answer is not in `messages`.
    pub unanswered: bool,
}

impl Converted {
    /// Looks at a turn.
    pub fn look(&mut self, turn: &Node) {
        let extra = turn.json(Field::Extra);
        self.signed = extra.is_some_and(|extra| extra.member(KEY).is_some());
    }
}

impl Records<'_> {
    /// Says once that the encoding is a guess.
    pub(super) fn say_guess(&mut self) {
        let Some(found) = self.shadow.found().filter(|_| !self.guessed) else { return };
        if let Some(percent) = found.confidence {
            self.guessed = true;
            let name = found.encoding.name();
            let message = format!("taken for {name}, with a certainty of {percent} %");
            self.cx.report(Diagnostic::new(Code::GuessedEncoding, message));
        }
    }

    /// Says what is known of the file only at its end.
    fn file(&mut self) {
        if self.shadow.is_mixed() {
            self.say_relaid(self.nodes.end);
        }
        let mut file = Node::default();
        if let Some(found) = self.shadow.found().filter(|found| !found.is_utf8()) {
            file.set(Field::Encoding, Json::string(found.encoding.name()));
        }
        if !self.shadow.is_ended() {
            let found = Diagnostic::new(Code::NoFinalNewline, Code::NoFinalNewline.title());
            self.cx.report(found.at(self.nodes.end));
            file.set(Field::FinalNewline, Json::constant("false"));
        }
        if file.is_empty() {
            return;
        }
        let mut record = Record::new(Kind::Session);
        record.node.set(Field::File, file);
        self.push(record, self.nodes.end);
    }

    pub(super) fn end(&mut self) -> Result<()> {
        self.flush_top(true);
        if self.read_passed(true)? {
            return Ok(());
        }
        self.finish()
    }

    /// Says what only the whole file tells.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.shape.lists {
            Lists::Behind => self.missing()?,
            Lists::Within | Lists::Elsewhere => self.cut()?,
        }
        self.behind()?;
        self.residue_is_cut()?;
        self.file();
        self.stage = Stage::Done;
        Ok(())
    }

    /// Says of a converted file that cannot be read further whether it was cut.
    pub(super) fn say_cut(&mut self) {
        if self.converted.signed && self.ends_in_a_line().unwrap_or_default() {
            let message = format!(
                "`{KEY}`, which a converted file ends with, is not there whole: it was cut"
            );
            self.cx.report(Diagnostic::new(Code::YamlCutShort, message).at(self.nodes.end));
        }
    }

    /// Whether the last line of the part is not ended.
    fn ends_in_a_line(&mut self) -> Result<bool> {
        let (mut part, mut last) = (self.parts.main()?, b'\n');
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = part.read(&mut buffer).map_err(|error| Error::io("cannot read", error))?;
            let Some(end) = read.checked_sub(1).and_then(|end| buffer.get(end)) else {
                return Ok(last != b'\n');
            };
            last = *end;
        }
    }

    /// Says where a converted file was cut before what it ends with. Its messages hold all answers,
    /// which sets it apart from one that its own software wrote again.
    fn residue_is_cut(&self) -> Result<()> {
        let cut = self.converted.unanswered || !self.shadow.is_ended();
        if !self.converted.signed || !cut || self.names.contains(KEY) {
            return Ok(());
        }
        let message = format!("`{KEY}`, which a converted file ends with, is missing: it was cut");
        let error = Diagnostic::new(Code::YamlCutShort, message).at(self.nodes.end);
        self.cx.tolerate(Error::damaged(error)).map(drop)
    }

    /// Reads what stands behind the mapping.
    fn behind(&mut self) -> Result<()> {
        loop {
            match self.events.next()? {
                None => {
                    self.say_comments();
                    let end = Position { byte: u64::MAX, ..self.nodes.end };
                    let told = self.remark(end, "", Before::Top("end"));
                    if let Some(last) = self.ready.back_mut().filter(|_| told) {
                        last.at.byte = self.nodes.end.byte;
                    }
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
