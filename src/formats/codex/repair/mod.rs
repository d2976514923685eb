//! Repair of a rollout.
//!
//! Every whole line stays. The line about the session goes to the front, gets the members that it
//! lacks, or is made of the file's name, because Codex opens no file without one. In a numbered
//! rollout to which an older release appended, the lines behind the last number get numbers, and
//! further lines about the session are set aside: newer releases refuse the file or lose what comes
//! before them. A message of the user of which only the event is left becomes an item again, because
//! Codex sends items alone. Calls without results stay, because Codex completes them itself, unless the session
//! is to be accepted by any interface (`--resumable`).

mod calls;
mod first;
mod members;
mod refused;
mod spoken;

use super::{base, line, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reach, Reaches, Records, RepairIo, RepairOptions, Repaired,
};
use crate::json::{Json, Span, salvage};
use crate::parts::Searched;
use crate::position::Position;
use crate::record::{Field, Kind};
use crate::repair::{Fixes, Walk, mark, nothing_back};
use bytes::Bytes;
use calls::Calls;
use first::First;
use spoken::Spoken;

static RECORDS: Records = Records {
    begins: &[
        b"{\"timestamp\":",
        b"{\"record_type\":",
        b"{\"type\":\"message\",",
        b"{\"type\":\"function_call",
        b"{\"type\":\"reasoning\",",
    ],
    recognise,
    restore,
};

/// Whether an object is a line of a rollout.
fn recognise(object: &[u8]) -> bool {
    object_of(object).is_some_and(|object| super::what(&object).is_some())
}

fn object_of(bytes: &[u8]) -> Option<Json> {
    let bytes = Bytes::copy_from_slice(bytes.trim_ascii());
    std::str::from_utf8(&bytes).ok()?;
    Json::read(&bytes).ok().filter(Json::is_object)
}

/// Returns the complete members of a torn line, if they make a line with content: an item
/// with content, or what is left of the line about the session.
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(torn)?;
    let line = object_of(&object)?;
    if line.member("payload").is_some() && !is_of(&line, wire::ITEM) {
        return first::is_first(&line).then_some(object);
    }
    let item = line::read_item(&payload_of(&line))?;
    let says = item.node.nodes(Field::Content).is_some_and(|blocks| !blocks.is_empty());
    says.then_some(object)
}

/// Repairs a rollout.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut mend = Rollout::new(wanted, cx);
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
    walk.look(io, &mut mend)?;
    let found = walk.found();
    if mend.reaches.after.entries == 0 {
        return Err(nothing_back());
    }
    if let Some(meta) = mend.first.payload().filter(|_| wanted.resumable) {
        mend.first.is_detached = base::is_lost(&meta, io.parts(), cx.options.max_line)?;
    }
    mend.decide();
    if walk.changes(&mend) && mend.is_numbered && io.is_in_place() {
        cx.report(Diagnostic::of(Code::IndexBehind));
        report_forks(&mend, io, cx);
    }
    let changed = walk.settle(io, &mut mend)?;
    let (records, rescued) = (mend.reaches.after.entries, found.rescued);
    Ok(Repaired { changed, records, rescued, ..Repaired::default() }
        .reaching(mend.reaches.before, mend.reaches.after))
}

/// Reports that forks of a rollout count its bytes, if there are any, or may be.
fn report_forks(mend: &Rollout<'_>, io: &mut dyn RepairIo, cx: &Cx<'_>) {
    let thread = mend.first.payload().and_then(|meta| meta.member("id")?.text());
    let found = thread.map(|thread| base::fork_of(&thread, io.parts()));
    let title = Code::ForksCount.title();
    let message = match found.unwrap_or(Searched::Unknown) {
        Searched::Nothing => return,
        Searched::Found(name) => format!("{title}: {name}"),
        Searched::Unknown => format!("{title}, if there are any"),
    };
    cx.report(Diagnostic::new(Code::ForksCount, message));
}

/// Facts about a rollout, and what is written of it.
struct Rollout<'a> {
    cx: &'a Cx<'a>,
    reaches: Reaches,
    first: First,
    /// Calls and results, if they are to be in pairs.
    calls: Option<Calls>,
    /// Messages of the user, and their events.
    spoken: Spoken,
    /// Whether the lines are bare items.
    bare: bool,
    /// The last number that a line has or gets, and whether any line has one.
    number: Option<u64>,
    is_numbered: bool,
    /// Whether a line behind the first number lacks one, and whether one has a number that is not
    /// higher than the one before.
    lacks_numbers: bool,
    is_disordered: bool,
    /// Whether Codex refuses the file as a whole.
    refused: bool,
    /// Whether members of lines are changed.
    changes: bool,
    /// Number of lines about the session, and whether all but the first are set aside.
    firsts: u64,
    is_single: bool,
    /// Place of the record that is written next, and the time of the line before.
    place: u64,
    time: Json,
    /// Whether records are set aside, and thoughts that a model's interface refuses.
    removes: bool,
    removes_thoughts: bool,
    /// The line to be written first.
    begin: Option<Vec<u8>>,
}

impl<'a> Rollout<'a> {
    fn new(wanted: &RepairOptions, cx: &'a Cx<'a>) -> Self {
        Self {
            cx,
            reaches: Reaches::default(),
            first: First::of(&wanted.name),
            calls: wanted.resumable.then(Calls::default),
            spoken: Spoken::default(),
            bare: false,
            number: None,
            is_numbered: false,
            lacks_numbers: false,
            is_disordered: false,
            refused: false,
            changes: false,
            firsts: 0,
            is_single: false,
            place: 0,
            time: Json::default(),
            removes: false,
            removes_thoughts: false,
            begin: None,
        }
    }

    /// Looks at a line whose time is text now if it was a number, as `dated` states.
    fn note(&mut self, object: &Json, dated: bool, record: &FoundRecord<'_>) {
        let place = self.reaches.after.entries;
        let (number, next) = self.numbers(object);
        self.lacks_numbers |= number.is_none() && next.is_some();
        self.is_disordered |= number.is_some() && number != next;
        self.number = next.or(self.number);
        if place == 0 {
            self.bare = object.member("payload").is_none();
        }
        self.first.note(object, place, record.repaired);
        let first = first::is_first(object);
        self.firsts += u64::from(first);
        self.changes |= dated || (!first && members::needs(object, self.calls.is_some()));
        self.refused |= first && dated;
        self.removes_thoughts |= self.is_thought_removed(object);
        self.refused |= record.repaired == Some(Code::Utf8Replaced);
        self.calls.iter_mut().for_each(|calls| calls.note(object, place));
        self.spoken.note(object, place);
    }

    /// Whether an object is set aside: a replaced byte in a name makes another member of it, and a
    /// bare item in a torn line of a later version is a part of that line.
    fn is_refused(&self, record: &FoundRecord<'_>, object: &Json) -> bool {
        let part = !record.read && !self.bare && object.member("payload").is_none();
        part || (record.repaired.is_some() && has_spoiled_name(object, DEEPEST))
    }

    /// Decides on the first line, on further ones, and on numbers.
    fn decide(&mut self) {
        self.calls.iter_mut().for_each(Calls::decide);
        let numbered = self.number.take().is_some();
        self.is_numbered = numbered;
        let paginated = self.first.is_paginated().unwrap_or(numbered);
        self.lacks_numbers &= paginated;
        self.is_disordered &= paginated;
        if self.lacks_numbers {
            self.cx.report(Diagnostic::of(Code::LineNumbered));
        }
        self.begin = self.first.decide(self.bare, numbered, self.cx);
        self.is_single = paginated && self.firsts > 1;
        if self.refused || self.lacks_numbers || self.is_disordered || self.begin.is_some() {
            self.reaches.before = Reach::default();
        }
        self.time = self.first.time();
    }

    /// Returns the number of a line, and the one that it must have: a line behind the first number
    /// has a higher one than the line before.
    fn numbers(&self, object: &Json) -> (Option<u64>, Option<u64>) {
        let number = object.member("ordinal").and_then(|number| number.float());
        let number = number.map(|number| number as u64);
        let least = self.number.map(|before| before + 1);
        let next = match number {
            Some(number) => Some(least.map_or(number, |least| least.max(number))),
            None => least.filter(|_| is_counted(object)),
        };
        (number, next)
    }

    /// Takes the number for a line that is added, if lines have numbers here.
    fn added_number(&mut self) -> Option<u64> {
        let paginated = self.first.is_paginated().unwrap_or(true);
        self.number = self.number.map(|before| before + 1);
        self.number.filter(|_| paginated)
    }

    /// Gives a line its number, if it lacks it or has another one.
    fn settle_number(&mut self, object: &Json, at: Position, fixes: &mut Fixes) {
        let (number, next) = self.numbers(object);
        self.number = next.or(self.number);
        let paginated = self.first.is_paginated().unwrap_or(true);
        let Some(next) = next.filter(|_| paginated && number != next) else { return };
        let Some(old) = object.member("ordinal") else { return add_number(object, next, fixes) };
        fixes.note(Code::Renumbered, Some(("ordinal", old.as_bytes())));
        fixes.edits.replace(object.place_of(&old), next.to_string().as_bytes());
        self.cx.report_at(Code::Renumbered, at);
    }

    fn is_thought_removed(&self, object: &Json) -> bool {
        self.calls.is_some() && refused::is_empty_thought(object)
    }

    /// Returns why a line is set aside, if it is.
    fn removed(&self, object: &Json, place: u64) -> Option<Code> {
        let further =
            self.is_single && first::is_first(object) && self.first.place() != Some(place);
        let orphan = self.calls.as_ref().is_some_and(|calls| calls.is_orphan(place));
        let thought = self.is_thought_removed(object);
        further
            .then_some(Code::HeaderRemoved)
            .or(orphan.then_some(Code::OrphanResult))
            .or(thought.then_some(Code::ThoughtRemoved))
    }
}

/// Maximum depth at which names of members are looked at.
const DEEPEST: usize = 8;

/// Whether a name of a member holds a replaced byte.
fn has_spoiled_name(value: &Json, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let spoiled = |key: &Json| key.text().is_none_or(|name| name.contains('\u{fffd}'));
    let inside = |value: &Json| has_spoiled_name(value, depth);
    value.pairs().iter().any(|(key, value)| spoiled(key) || inside(value))
        || value.elements().any(|value| inside(&value))
}

/// Returns a string with bytes of its own, so that it does not keep its line in memory.
fn own(value: Option<Json>) -> Option<Json> {
    let value = value.filter(Json::is_string)?;
    Some(Json::trusted(value.as_bytes().to_vec().into()))
}

fn is_of(object: &Json, wire: &str) -> bool {
    object.member("type").is_some_and(|kind| kind.text().as_deref() == Some(wire))
}

/// Returns the payload of a line; a bare item is its own.
fn payload_of(object: &Json) -> Json {
    object.member("payload").unwrap_or_else(|| object.clone())
}

/// Whether a line must have a number in a numbered rollout: lines of unknown types need none.
fn is_counted(object: &Json) -> bool {
    super::LINES.iter().any(|wire| is_of(object, wire)) && object.member("payload").is_some()
}

impl LineRepair for Rollout<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let Some(object) = object_of(record.bytes) else { return false };
        if self.is_refused(record, &object) {
            self.removes = true;
            return true;
        }
        let old_time = line::dated(&object);
        let dated = old_time.is_some();
        let object = old_time.map_or(object, |(object, _)| object);
        self.note(&object, dated, record);
        let message = line::read(&object, object.member("payload").is_none()).kind == Kind::Message;
        let reads = record.read && !dated;
        self.reaches.count(message, reads);
        true
    }

    fn quarantined(&mut self, _bytes: &[u8], code: Code) {
        self.refused |= code == Code::MarkRemoved;
    }

    fn changes(&self) -> bool {
        self.begin.is_some()
            || self.lacks_numbers
            || self.is_disordered
            || self.changes
            || self.spoken.changes()
            || self.calls.as_ref().is_some_and(Calls::changes)
            || self.removes()
    }

    fn removes(&self) -> bool {
        self.removes
            || self.removes_thoughts
            || self.is_single
            || self.calls.as_ref().is_some_and(Calls::removes)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(line) = &self.begin {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let object = object_of(record.bytes)?;
        if self.is_refused(record, &object) {
            return Some(record.repaired.unwrap_or(Code::TornRecord));
        }
        let old_time = line::dated(&object);
        let (object, old_time) = match old_time {
            Some((object, old)) => (object, Some(old)),
            None => (object, None),
        };
        let place = self.place;
        self.place += 1;
        if self.begin.is_some() && self.first.place() == Some(place) {
            return None;
        }
        if let Some(code) = self.removed(&object, place) {
            self.cx.report_at(code, record.at);
            return Some(code);
        }
        if self.spoken.is_lost(place) {
            let line = spoken::item(&object, self.added_number());
            mark(&line, Code::ItemRestored, out);
            out.push(b'\n');
            self.cx.report_at(Code::ItemRestored, record.at);
        }
        let mut fixes = Fixes::of(record);
        if let Some(old) = &old_time {
            fixes.note(Code::Retyped, Some(("timestamp", old.as_bytes())));
            self.cx.report_at(Code::Retyped, record.at);
        }
        let sent = self.calls.is_some();
        let codes = members::mend(&object, &self.time, sent, &mut fixes);
        codes.into_iter().for_each(|code| self.cx.report_at(code, record.at));
        self.settle_number(&object, record.at, &mut fixes);
        if let Some(time) = own(object.member("timestamp")) {
            self.time = time;
        }
        if fixes.is_empty() {
            out.extend_from_slice(record.bytes);
        } else {
            fixes.apply(object.as_bytes(), out);
        }
        out.push(b'\n');
        let call = self.calls.as_ref().and_then(|calls| calls.lacking(place)).cloned();
        if let Some(call) = call {
            let line = calls::result(&object, &call, self.added_number());
            mark(&line, Code::ResultSynthesized, out);
            out.push(b'\n');
            self.cx.report_at(Code::ResultSynthesized, record.at);
        }
        None
    }
}

/// Puts a number behind the time of a line.
fn add_number(line: &Json, number: u64, fixes: &mut Fixes) {
    fixes.note(Code::LineNumbered, None);
    let Some(time) = line.member("timestamp") else {
        return fixes.edits.add("ordinal", number.to_string().as_bytes());
    };
    let place = line.place_of(&time).end;
    let number = format!(",\"ordinal\":{number}");
    fixes.edits.replace(Span { start: place, end: place }, number.as_bytes());
}
