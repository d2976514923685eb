//! Repair of one part of lines whose order is the conversation, behind a header.
//!
//! A format states facts about its lines: which is the header, which members a line needs, which
//! lines are calls and results. The order of the work is the same for all of them.

use super::{Fixes, Pairing, Rules, Walk, nothing_back};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reach, Reaches, Records, RepairIo, RepairOptions, Repaired,
};
use crate::json::Json;
use crate::position::Position;
use bytes::Bytes;

/// The part of a line in the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A message that calls tools, by the identifiers of the calls.
    Calls(Vec<Json>),
    /// The result of a call.
    Result(Json),
    /// Any other message.
    Speech,
    /// None.
    Other,
}

/// Facts about the lines of a session, and the state that its writer has at a line: lines are shown
/// in their order, those that the repair adds, too.
pub trait Talk: Clone {
    /// Recognition and restoration of lines, the header included.
    const RECORDS: &'static Records;

    /// Whether a line is the header.
    fn is_header(&self, line: &Json) -> bool;

    /// Returns a header. `first` is the first line of the file.
    fn header(&self, first: &Json) -> Vec<u8>;

    /// Notes the changes that a line needs so that the software reads it, and returns their codes.
    fn mend(&mut self, _line: &Json, _fixes: &mut Fixes) -> Vec<Code> {
        Vec::new()
    }

    /// Returns the part of a line in the conversation.
    fn role(&self, line: &Json) -> Role {
        if self.is_header(line) { Role::Other } else { Role::Speech }
    }

    /// Returns a line with a result of a call, by the identifier of the call in its spelling.
    fn result(&mut self, _call: &[u8]) -> Vec<u8> {
        Vec::new()
    }
}

/// Repairs a session that is one such part.
///
/// # Errors
/// If not one record is there, or reading or writing fails.
pub fn repair_talk<T: Talk>(
    facts: T,
    io: &mut dyn RepairIo,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let mut lines = Lines {
        cx,
        noted: facts.clone(),
        written: facts,
        pairing: wanted.resumable.then(|| Pairing::new(Rules { late_in_order: true, early: true })),
        header: None,
        first: None,
        reaches: Reaches::default(),
        place: 0,
        changes: false,
    };
    let mut walk = Walk::new("", T::RECORDS, wanted, cx);
    walk.look(io, &mut lines)?;
    let found = walk.found();
    if found.records == 0 {
        return Err(nothing_back());
    }
    let end = std::mem::take(&mut lines.place);
    lines.pairing.iter_mut().for_each(|pairing| pairing.settle(end));
    if lines.changes || !lines.is_headed() {
        lines.reaches.before = Reach::default();
    }
    let Reaches { before, after } = lines.reaches;
    let changed = walk.settle(io, &mut lines)?;
    Ok(Repaired { changed, records: found.records, rescued: found.rescued, ..Repaired::default() }
        .reaching(before, after))
}

struct Lines<'a, T> {
    cx: &'a Cx<'a>,
    /// The facts at the line that is looked at, and at the one that is written.
    noted: T,
    written: T,
    /// Calls and results, if they are to be in pairs.
    pairing: Option<Pairing<(), Vec<u8>>>,
    /// The first header, and its position.
    header: Option<(Position, Json)>,
    /// The first line, and its position.
    first: Option<(Position, Json)>,
    reaches: Reaches,
    /// Number of the next record.
    place: u32,
    /// Whether members of lines are changed.
    changes: bool,
}

fn object_of(bytes: &[u8]) -> Option<Json> {
    std::str::from_utf8(bytes).ok()?;
    let value = Json::read(&Bytes::copy_from_slice(bytes)).ok()?;
    value.is_object().then_some(value)
}

impl<T: Talk> Lines<'_, T> {
    fn is_headed(&self) -> bool {
        let at = |found: &Option<(Position, Json)>| found.as_ref().map(|(at, _)| *at);
        self.header.is_some() && at(&self.header) == at(&self.first)
    }

    /// Notes a record in the pairing.
    fn pair(&mut self, record: &FoundRecord<'_>, role: &Role) {
        let Some(pairing) = &mut self.pairing else { return };
        match role {
            Role::Result(call) if pairing.waits(call.as_bytes()) => {
                pairing.take(call.as_bytes());
            }
            Role::Result(call) => {
                pairing.orphan(self.place, call.as_bytes(), record.bytes.to_vec())
            }
            Role::Speech => pairing.settle(self.place),
            Role::Calls(calls) => {
                pairing.settle(self.place);
                calls.iter().for_each(|call| pairing.call(call.as_bytes(), ()));
            }
            Role::Other => {}
        }
    }

    /// Writes a line that is there already, or was: with the members that it needs.
    fn line(&mut self, line: &Json, mut fixes: Fixes, at: Position, out: &mut Vec<u8>) {
        for code in self.written.mend(line, &mut fixes) {
            self.cx.report_at(code, at);
        }
        fixes.apply(line.as_bytes(), out);
        out.push(b'\n');
    }

    /// Writes the results that are added at a place.
    fn add(&mut self, place: u32, at: Position, out: &mut Vec<u8>) {
        let added = self.pairing.as_ref().map(|pairing| pairing.added(place).to_vec());
        for added in added.unwrap_or_default() {
            let line = added.result.unwrap_or_else(|| self.written.result(&added.id));
            let Some(line) = object_of(&line) else { continue };
            let mut fixes = Fixes::default();
            fixes.note(Code::ResultSynthesized, None);
            self.cx.report_at(Code::ResultSynthesized, at);
            self.line(&line, fixes, at, out);
        }
    }
}

impl<T: Talk> LineRepair for Lines<'_, T> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let line = object_of(record.bytes).filter(|_| (T::RECORDS.recognise)(record.bytes));
        let Some(line) = line else { return false };
        self.first.get_or_insert_with(|| (record.at, line.clone()));
        if self.noted.is_header(&line) {
            self.header.get_or_insert_with(|| (record.at, line.clone()));
        }
        let codes = self.noted.mend(&line, &mut Fixes::default());
        self.changes |= !codes.is_empty();
        let role = self.noted.role(&line);
        self.reaches.count(role != Role::Other, record.read);
        self.pair(record, &role);
        self.place += 1;
        true
    }

    fn changes(&self) -> bool {
        let pairs = self.pairing.as_ref().is_some_and(Pairing::changes);
        self.changes || !self.is_headed() || pairs
    }

    fn removes(&self) -> bool {
        self.pairing.as_ref().is_some_and(Pairing::removes)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        let Some((at, first)) = self.first.clone().filter(|_| !self.is_headed()) else { return };
        let (code, line) = match &self.header {
            Some((_, header)) => (Code::HeaderMoved, Some(header.clone())),
            None => (Code::HeaderRebuilt, object_of(&self.written.header(&first))),
        };
        self.cx.report(Diagnostic::of(code).at(at));
        let mut fixes = Fixes::default();
        fixes.note(code, None);
        line.iter().for_each(|line| self.line(line, std::mem::take(&mut fixes), at, out));
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let place = self.place;
        self.place += 1;
        self.add(place, record.at, out);
        let moved =
            !self.is_headed() && self.header.as_ref().is_some_and(|(at, _)| *at == record.at);
        if moved {
            return None;
        }
        if let Some(code) = self.pairing.as_ref().and_then(|pairing| pairing.removed(place)) {
            self.cx.report_at(code, record.at);
            return Some(code);
        }
        let line = object_of(record.bytes)?;
        self.line(&line, Fixes::of(record), record.at, out);
        None
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        self.add(self.place, Position::default(), out);
    }
}
