//! Repair of a log and the metadata beside it.
//!
//! Source of the scripts' behaviour on damage: `session.py` (`get_session_status`,
//! `resume_session`) of November 2025, and observation.

mod line;
mod metadata;
mod resume;

use super::line::{Shape, What};
use super::meta;
use super::read::{self, File, shape_of, whole};
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reach, Reaches, Records, RepairIo, RepairOptions, Repaired,
};
use crate::ids::fingerprint;
use crate::json::{Json, without_nan};
use crate::lines::BOM;
use crate::position::Position;
use crate::repair::{Twice, Walk, nothing_back, write_marked};
use bytes::Bytes;
use metadata::Metadata;
use resume::Resume;
use std::borrow::Cow;

/// Recognition and restoration of the lines of logs.
static RECORDS: Records =
    Records { begins: line::BEGINS, recognise: line::recognise, restore: line::restore };

/// Repairs a session: the log first, for it contains facts that the metadata need.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let Files { log, shape, mut metadata } = Files::of(io, cx)?;
    let mut mend = Log::new(shape, wanted, cx);
    let mut walk = log.as_ref().map(|log| Walk::new(log, &RECORDS, wanted, cx));
    if let Some(walk) = &mut walk {
        walk.look(io, &mut mend)?;
    }
    let found = walk.as_ref().map(Walk::found).unwrap_or_default();
    let outcome =
        metadata.decide(&mend.facts, shape, &wanted.name, io.takes_parts() || log.is_none());
    if found.records == 0 && !metadata.has_content(&outcome) {
        return Err(nothing_back());
    }
    let removes = walk.as_ref().is_some_and(|walk| walk.removes(&mend));
    io.begin(removes || outcome.removes())?;
    let mut changed = outcome.changes();
    if let Some(walk) = walk {
        changed |= walk.changes(&mend);
        cx.log.turn_to(0);
        walk.write(io, &mut mend)?;
    }
    metadata.write(outcome, io, cx)?;
    let records = found.records + u64::from(metadata.is_there());
    let (before, after) = mend.reach();
    Ok(Repaired { changed, records, rescued: found.rescued, ..Repaired::default() }
        .reaching(before, after))
}

/// Files of a session.
struct Files {
    /// Name of the log's part.
    log: Option<String>,
    shape: Shape,
    metadata: Metadata,
}

impl Files {
    fn of(io: &mut dyn RepairIo, cx: &Cx<'_>) -> Result<Self> {
        let names = io.parts().names();
        let part = |number: u32| names.get(number as usize).cloned().unwrap_or_default();
        let (mut log, mut shape, mut metadata) = (None, None, Metadata::default());
        for File { number, is_metadata, head, source } in read::files(io.parts())? {
            if is_metadata {
                let at = Position { part: number, line: 1, ..Position::default() };
                metadata.own = Some(whole(source, cx.options.max_line, at)?);
                metadata.number = number;
                metadata.part = part(number);
            } else {
                shape = shape_of(&head);
                log = Some(part(number));
            }
        }
        if names.len() > 1 && names.iter().any(|name| name == meta::TEMPORARY) {
            let source = io.parts().open(meta::TEMPORARY)?;
            metadata.temporary = Some(whole(source, cx.options.max_line, Position::default())?);
        }
        let texts = [&metadata.own, &metadata.temporary].into_iter().flatten();
        let spoken = texts.filter_map(|text| meta::sniff(text.strip_prefix(BOM).unwrap_or(text)));
        let shape = shape.or(spoken.map(Shape::of).next()).unwrap_or(Shape::Classes);
        Ok(Self { log, shape, metadata })
    }
}

/// Facts about the session that a log contains.
#[derive(Debug, Default)]
struct Facts {
    /// Claude's identifier, from the last line that has one.
    id: Option<Json>,
    /// Working directory.
    cwd: Option<Json>,
    /// Times of the first and the last prompt.
    times: Option<(Json, Json)>,
}

impl Facts {
    fn line(&mut self, what: What, line: &Json) {
        let text = |value: Option<Json>| value.filter(Json::is_string);
        let data = line.member("data").filter(|_| matches!(what, What::System(_)));
        let of = |name| {
            text(data.as_ref().and_then(|data| data.member(name))).or(text(line.member(name)))
        };
        match what {
            What::Prompt => {
                if let Some(time) = text(line.member("timestamp")) {
                    let first = self.times.take().map_or_else(|| time.clone(), |(first, _)| first);
                    self.times = Some((first, time));
                }
            }
            What::System(_) | What::Result(_) => {
                let said = of("session_id").filter(|id| id.as_bytes() != b"\"\"");
                self.id = said.or(self.id.take());
                self.cwd = self.cwd.take().or_else(|| of("cwd"));
            }
            _ => {}
        }
    }
}

struct Log<'a> {
    shape: Shape,
    cx: &'a Cx<'a>,
    facts: Facts,
    twice: Twice,
    /// Places of duplicate lines; known after all lines were looked at.
    copies: Option<Vec<u32>>,
    resume: Option<Resume>,
    /// Whether the last line is the outcome of a prompt.
    closed: bool,
    looked: u32,
    written: u32,
    /// Position of the last line.
    end: Position,
    reaches: Reaches,
}

impl<'a> Log<'a> {
    fn new(shape: Shape, wanted: &RepairOptions, cx: &'a Cx<'a>) -> Self {
        Self {
            shape,
            cx,
            facts: Facts::default(),
            twice: Twice::default(),
            copies: None,
            resume: wanted.resumable.then(|| Resume::new(shape)),
            closed: false,
            looked: 0,
            written: 0,
            end: Position::default(),
            reaches: Reaches::default(),
        }
    }

    /// Returns how much of the log the scripts read before the repair, and how much after it.
    fn reach(&self) -> (Reach, Reach) {
        let copies = self.copies.as_ref().map_or(0, Vec::len) as u64;
        let put = self.resume.as_ref().map_or(0, Resume::count);
        let more = |count: u64| (count + put).saturating_sub(copies);
        let after = Reach {
            entries: more(self.reaches.after.entries),
            messages: more(self.reaches.after.messages),
        };
        (self.reaches.before, after)
    }

    /// Looks again at the lines that stay: for calls without results, and for the kind of the last
    /// line.
    fn look_again(&mut self, place: u32, known: Option<(What, Cow<'_, [u8]>)>) {
        if self.is_copy(place) {
            return;
        }
        self.closed = matches!(known, Some((What::Result(_), _)));
        if let (Some((what, text)), Some(resume)) = (known, &mut self.resume) {
            resume.look(place, what, &Json::trusted(Bytes::copy_from_slice(&text)));
        }
    }

    fn is_copy(&self, place: u32) -> bool {
        self.copies.as_ref().is_some_and(|copies| copies.binary_search(&place).is_ok())
    }
}

/// Determines the kind of a line; `None` for text that is not a JSON object, not even for Python.
fn what_of(line: &[u8]) -> Option<(What, Cow<'_, [u8]>)> {
    let plain = Cow::Borrowed(line);
    What::of(line).ok().map(|what| (what, plain)).or_else(|| {
        let plain = without_nan(line)?;
        Some((What::of(&plain).ok()?, Cow::Owned(plain)))
    })
}

impl LineRepair for Log<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let bytes = record.bytes.trim_ascii();
        let known = what_of(bytes);
        if known.is_none() && !line::is_words(bytes, self.shape) {
            return false;
        }
        let place = self.looked;
        self.looked += 1;
        if self.copies.is_some() {
            self.look_again(place, known);
            return true;
        }
        let unlike = known.as_ref().is_some_and(|(what, _)| line::is_unlike(*what, bytes));
        self.twice.record(fingerprint(bytes), unlike);
        let (mut says, mut closed) = (false, false);
        if let Some((what, text)) = known {
            let line = Json::trusted(Bytes::copy_from_slice(&text));
            self.facts.line(what, &line);
            says = matches!(what, What::Prompt | What::Assistant(_) | What::User(_));
            closed = matches!(what, What::Result(_));
        }
        self.closed = closed;
        self.reaches.count(says, record.read);
        true
    }

    fn needs_another_pass(&mut self) -> bool {
        let lines = std::mem::take(&mut self.looked);
        if self.copies.is_none() {
            self.copies = Some(std::mem::take(&mut self.twice).copies());
            return self.resume.is_some() || self.removes();
        }
        if let Some(resume) = &mut self.resume {
            resume.close(lines);
        }
        false
    }

    fn changes(&self) -> bool {
        self.removes() || self.resume.as_ref().is_some_and(|resume| resume.count() > 0)
    }

    fn removes(&self) -> bool {
        self.copies.as_ref().is_some_and(|copies| !copies.is_empty())
    }

    fn is_kept(&self) -> bool {
        !self.is_copy(self.looked.saturating_sub(1))
    }

    fn blank_end(&self) -> Option<Code> {
        self.closed.then_some(Code::BlankRemoved)
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let place = self.written;
        self.written += 1;
        self.end = record.at;
        if let Some(resume) = &self.resume {
            resume.put_in(place, record.at, self.cx, out);
        }
        if self.is_copy(place) {
            let code = Code::DuplicateRemoved;
            self.cx.report_at(code, record.at);
            return Some(code);
        }
        write_marked(record, out);
        None
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(resume) = &self.resume {
            resume.put_in(self.written, self.end, self.cx, out);
        }
    }
}
