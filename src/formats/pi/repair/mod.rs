//! Repair of pi's sessions.
//!
//! Source of pi's treatment of damage: `loadEntriesFromFile` and `buildSessionContext` of pi's
//! `session-manager.ts`, releases 0.73.1 and 1.5.2, and the observed behaviour of these releases.

pub mod entry;
mod header;
pub mod record;
mod refused;
mod resume;
mod slots;

use super::dialect::is_slot;
use super::needs;
use super::version::{Named, TREE};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reach, Records, RepairIo, RepairOptions, Repaired,
};
use crate::ids::{Maker, fingerprint};
use crate::json::{Json, is_whole, salvage, text};
use crate::members::Scan;
use crate::position::Position;
use crate::repair::{Walk, not_linked, nothing_back, write_marked};
use crate::tree::{Plan, Seen, Skeleton, Tail, key_of, marks, parent_of};
use header::{First, Header};
use resume::Resume;
use slots::{Moved, Slots};
use std::collections::HashMap;

/// Properties of pi's records.
static RECORDS: Records =
    Records { begins: record::BEGINS, recognise: record::recognise, restore: record::restore };

/// Repairs a session of pi's.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut mend = EntryRepair::new(wanted, cx);
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
    walk.look(io, &mut mend)?;
    let found = walk.found();
    if found.records == 0 || !mend.known {
        return Err(nothing_back());
    }
    let changed = walk.settle(io, &mut mend)?;
    let (before, after) = mend.reach();
    let (records, rescued) = (found.records, found.rescued);
    let counted = mend.counts;
    let done = Repaired { changed, records, rescued, counted, ..Repaired::default() };
    Ok(done.reaching(before, after))
}

/// Progress of writing.
#[derive(Debug, Default)]
struct Written {
    records: u64,
    entries: u32,
    /// Identifiers of entries that others need, in their spelling.
    names: HashMap<u32, Vec<u8>>,
}

struct EntryRepair<'a> {
    wanted: &'a RepairOptions,
    cx: &'a Cx<'a>,
    skeleton: Skeleton,
    tail: Tail,
    plan: Option<Plan>,
    resume: Option<Resume>,
    header: Header,
    /// Whether the title slot precedes the header.
    slot: bool,
    first: First,
    /// Whether the session is a list, as in version 1. Known with the first entry.
    list: Option<bool>,
    slots: Slots,
    /// Compactions of version 1 and the numbers in them.
    indexes: Vec<(u32, u64)>,
    /// Compactions of version 1 that get another number.
    shifted: HashMap<u32, Moved>,
    /// The first entry that the last compaction keeps.
    first_kept: Option<u32>,
    /// Whether the records contain a value on which pi fails.
    fails: bool,
    /// Whether the context's messages can be counted by the marks of entries. They cannot where an
    /// edit leaves some out, or an entry without an identifier is in a tree.
    counts: bool,
    /// Whether a record is one of pi's.
    known: bool,
    /// Whether an entry lacks a member that pi needs.
    lacking: bool,
    looked: u64,
    written: Written,
    /// Images that a record lost, until they go to the quarantine.
    aside: Vec<(Vec<u8>, Code)>,
}

impl<'a> EntryRepair<'a> {
    fn new(wanted: &'a RepairOptions, cx: &'a Cx<'a>) -> Self {
        Self {
            wanted,
            cx,
            skeleton: Skeleton::within(cx.options.index_memory),
            tail: Tail::default(),
            plan: None,
            resume: None,
            header: Header::default(),
            slot: false,
            first: First::default(),
            list: None,
            slots: Slots::default(),
            indexes: Vec::new(),
            shifted: HashMap::new(),
            first_kept: None,
            fails: false,
            counts: true,
            known: false,
            lacking: false,
            looked: 0,
            written: Written::default(),
            aside: Vec::new(),
        }
    }
}

impl LineRepair for EntryRepair<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let Ok(Some(scan)) = Scan::of(record.bytes) else { return false };
        if self.looked == 0 && is_slot(record.bytes) {
            self.slot = true;
            return true;
        }
        let number = self.looked;
        self.looked += 1;
        let header = scan.is(record.bytes, "session");
        self.known = self.known || header || record::recognise(record.bytes);
        match (&mut self.resume, &self.plan, header) {
            (Some(resume), Some(plan), false) => resume.look(plan, record, &scan),
            (Some(_), ..) => {}
            (None, _, true) => self.look_at_header(number, record, &scan),
            (None, _, false) => self.look_at_entry(record, &scan),
        }
        true
    }

    fn quarantined(&mut self, bytes: &[u8], code: Code) {
        if self.plan.is_some() {
            return;
        }
        let restored = self.wanted.salvage && record::restore(bytes).is_some();
        match code {
            Code::TornRecord if restored => self.slots.restored(),
            Code::TornRecord => {
                self.slots.torn(header::may_be_torn(bytes));
                if bytes.contains(&0) {
                    self.slots.hole();
                }
                self.look_at_torn(bytes);
            }
            Code::StraySetAside => {
                if is_whole(bytes) {
                    self.slots.other();
                    // pi reads members of every value, and gives an identifier to each value of a
                    // list.
                    let object = matches!(bytes.first(), Some(b'{' | b'['));
                    let list = self.list == Some(true);
                    self.fails |= bytes == b"null" || list && !object;
                } else if record::is_rest(bytes) {
                    self.slots.rest();
                }
            }
            Code::NulsRemoved => self.slots.nuls(),
            _ => {}
        }
    }

    fn needs_another_pass(&mut self) -> bool {
        self.looked = 0;
        if self.plan.is_none() {
            if let Some(list) = self.header.list()
                && self.list.is_some_and(|own| own != list)
            {
                // Entries came before the header, and were noted as those of another version.
                *self = Self { list: Some(list), ..Self::new(self.wanted, self.cx) };
                return true;
            }
            if self.list == Some(true) && self.header.is_bare() && self.first.is_tree() {
                *self = Self { list: Some(false), ..Self::new(self.wanted, self.cx) };
                self.header.no_version = true;
                return true;
            }
            self.decide();
            if self.resume.is_some() {
                return true;
            }
        }
        let Some(plan) = &self.plan else { return false };
        if let Some(resume) = &mut self.resume {
            resume.close(plan);
            if resume.is_unordered() {
                self.resume = None;
                self.report_unordered();
            } else if resume.leaves() {
                let left = Diagnostic::of(Code::LeafLeft);
                self.cx.report(left.at(self.header.at));
            }
        }
        self.shift_indexes();
        false
    }

    fn changes(&self) -> bool {
        !self.header.is_kept()
            || self.lacking
            || self.removes()
            || !self.shifted.is_empty()
            || self.plan.as_ref().is_some_and(Plan::changes)
            || self.resume.as_ref().is_some_and(Resume::changes)
    }

    fn removes(&self) -> bool {
        self.header.numbers.len() > 1
            || self.plan.as_ref().is_some_and(Plan::removes)
            || self.resume.as_ref().is_some_and(Resume::removes)
    }

    fn removed_parts(&mut self) -> Vec<(Vec<u8>, Code)> {
        std::mem::take(&mut self.aside)
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.slot {
            self.begin_with_header(out);
        }
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        if self.written.records == 0 && is_slot(record.bytes) {
            write_marked(record, out);
            self.begin_with_header(out);
            return None;
        }
        let number = self.written.records;
        self.written.records += 1;
        if self.header.numbers.binary_search(&number).is_ok() {
            return self.write_header(number, record, out);
        }
        let ordinal = self.written.entries;
        self.written.entries += 1;
        self.write_entry(ordinal, record, out)
    }
}

impl EntryRepair<'_> {
    /// Writes a header that cannot be left where it is.
    fn begin_with_header(&self, out: &mut Vec<u8>) {
        if self.header.is_kept() {
            return;
        }
        out.extend_from_slice(&self.header.new);
        out.push(b'\n');
        let code = self.header.fix();
        let message = match code {
            Code::HeaderMoved => format!("{} from line {}", code.title(), self.header.at.line),
            _ => format!("{}: {}", code.title(), String::from_utf8_lossy(&self.header.new)),
        };
        let at = if self.header.own.is_some() {
            self.header.at
        } else {
            Position { line: 1, ..Position::default() }
        };
        self.report(code, message, at);
    }

    /// Counts the entries and messages that pi reaches, before and after the repair.
    fn reach(&self) -> (Reach, Reach) {
        let Some(plan) = &self.plan else { return Default::default() };
        let readable = self.header.taken && self.header.in_place && !self.fails;
        let before = match self.list {
            _ if !readable => Reach::default(),
            Some(true) => self.list_reach(plan),
            _ => plan.before(),
        };
        let mut after = plan.reach(self.first_kept);
        if let Some(resume) = &self.resume {
            resume.count(&mut after);
        }
        (before, after)
    }

    fn report_unordered(&self) {
        self.report(Code::Unordered, Code::Unordered.title(), self.header.at);
    }

    fn report(&self, code: Code, message: impl Into<String>, at: Position) {
        self.cx.report(Diagnostic::new(code, message).at(at));
    }

    fn look_at_header(&mut self, number: u64, record: &FoundRecord<'_>, scan: &Scan) {
        self.header.numbers.push(number);
        if self.header.own.is_some() {
            self.slots.other();
            return;
        }
        self.slots.header();
        let id = scan.id.and_then(|id| text::decode(id.value.of(record.bytes)));
        self.header.taken = id.is_some();
        self.header.fits =
            id.is_some_and(|id| !id.is_empty()) && scan.time.is_some() && !self.header.no_version;
        self.header.in_place = number == 0;
        self.header.at = record.at;
        let mut own = Vec::with_capacity(record.bytes.len());
        write_marked(record, &mut own);
        self.header.own = Some(own.trim_ascii().to_vec());
        if self.list.is_none() {
            let version = scan.version.map(|version| version.value.of(record.bytes));
            self.list = Some(Named::of(version).read_as() < TREE);
        }
    }

    fn look_at_entry(&mut self, record: &FoundRecord<'_>, scan: &Scan) {
        let bytes = record.bytes;
        let id = scan.id.map(|id| id.value.of(bytes)).filter(|id| is_id(id));
        let content = fingerprint(bytes.trim_ascii());
        let list = *self.list.get_or_insert(id.is_none());
        if self.skeleton.is_empty() {
            self.first.time = scan.time.map(|time| time.value.of(bytes).to_vec());
            self.first.content = content;
        }
        self.first.tree |= !list;
        self.first.link(id, scan.parent.map(|parent| parent.value.of(bytes)));
        self.first.hooks |= scan.role.is_some_and(|role| role.of(bytes) == b"\"hookMessage\"");
        self.slots.entry();
        self.lacking |= !needs::needs(bytes, scan).is_empty();
        let kind = scan.kind.map_or(&b""[..], |kind| kind.value.of(bytes));
        let mut note = entry::marks_of(kind, bytes, scan);
        if record.read {
            note |= marks::READ;
        }
        let ordinal = self.skeleton.len() as u32;
        if list {
            // Times are counted in milliseconds: no two entries of a list are the same.
            let dated = scan.time.is_some_and(|time| time.value.of(bytes).ends_with(b"Z\""));
            // Results that a repair added for two calls with one identifier are the same, however.
            let put_in = scan.note.is_some_and(|note| {
                let code = Code::ResultSynthesized.name();
                memchr::memmem::find(note.value.of(bytes), code.as_bytes()).is_some()
            });
            let id = (dated && !put_in).then_some(content);
            self.skeleton.entry(Seen { id, parent: 0, content, marks: note });
            if let Some(index) = scan.kept_index.filter(|_| note & marks::COMPACTION != 0) {
                let number = Json::trusted(index.value.of(bytes).to_vec().into()).float();
                if let Some(number) = number.filter(|n| n.fract() == 0.0 && *n >= 0.0) {
                    self.indexes.push((ordinal, number as u64));
                }
            }
            return;
        }
        self.counts &= id.is_some() && kind != b"\"context_edit\"";
        if id.is_none() && entry::needs_no_id(kind) {
            note |= marks::OUTSIDE;
        }
        let parent = parent_of(scan.parent.map(|parent| parent.value.of(bytes)));
        self.skeleton.entry(Seen { id: id.map(key_of), parent, content, marks: note });
        self.tail.note(ordinal, id.unwrap_or_default(), note);
        let kept = scan.kept_id.filter(|_| note & marks::COMPACTION != 0);
        for (member, kept) in [(kept, true), (scan.target, false)] {
            let target = member.map(|member| member.value.of(bytes)).filter(|id| is_id(id));
            if let Some(target) = target.filter(|_| note & marks::UNUSABLE == 0) {
                self.skeleton.refer(key_of(target), kept);
            }
        }
    }

    /// Looks at a torn record, whose remains may contain its parent, or most of the header.
    fn look_at_torn(&mut self, bytes: &[u8]) {
        let Some(left) = salvage(bytes) else { return };
        let Ok(Some(scan)) = Scan::of(&left) else { return };
        if scan.is(&left, "session") {
            self.header.torn.get_or_insert(left);
        } else if let (Some(id), Some(parent)) = (scan.id, scan.parent) {
            let (id, parent) = (id.value.of(&left), parent.value.of(&left));
            if is_id(id) {
                self.skeleton.torn(key_of(id), parent_of(Some(parent)));
            }
        }
    }

    fn decide(&mut self) {
        let left = self.header.own.as_deref().or(self.header.torn.as_deref());
        self.header.new = match &self.header.own {
            Some(own) if self.header.fits => own.clone(),
            _ => header::rebuild(left, self.wanted, &self.first, self.header.fix()),
        };
        let scan = Scan::of(&self.header.new).ok().flatten();
        let id = scan.and_then(|scan| text::decode(scan.id?.value.of(&self.header.new)));
        let maker = Maker::new(self.cx.options.ids, id.unwrap_or_default().as_bytes());
        let mut skeleton = std::mem::replace(&mut self.skeleton, Skeleton::within(0));
        let list = self.list == Some(true);
        for (entry, parent) in &self.wanted.relink {
            let key = |id: &String| key_of(Json::string(id).as_bytes());
            let known = |id: &String| skeleton.knows(key(id));
            if !list && entry != parent && known(entry) && known(parent) {
                skeleton.wanted(key(entry), key(parent));
            } else {
                self.cx.report(not_linked(entry, parent));
            }
        }
        let plan = if list { skeleton.decide_list(maker) } else { skeleton.decide(maker) };
        self.first_kept = match plan.compaction() {
            Some(at) if list => {
                let index = self.indexes.iter().find(|(ordinal, _)| *ordinal == at);
                let kept = index.and_then(|(_, number)| self.slots.entry_at(*number));
                kept.filter(|kept| *kept < at)
            }
            Some(at) => plan.first_kept_by(at),
            None => None,
        };
        let order = if plan.is_in_file_order() { Vec::new() } else { plan.active() };
        // What a compaction keeps is found by the order of the file.
        if self.wanted.resumable && !order.is_empty() && plan.compaction().is_some() {
            self.report_unordered();
        } else if self.wanted.resumable {
            let kept = (self.first_kept, plan.compaction());
            self.resume = Some(Resume::new(list, kept, order, maker));
        }
        if let Some((top, count)) = plan.old_branch().filter(|_| !list) {
            self.cx.report(self.tail.old_branch(top, count));
        }
        self.plan = Some(plan);
    }

    /// Shifts the numbers of version 1 that point at other records now.
    fn shift_indexes(&mut self) {
        let Some(plan) = &self.plan else { return };
        let gone = |ordinal: &u32| {
            let removed =
                self.resume.as_ref().is_some_and(|resume| resume.removed(*ordinal).is_some());
            removed || plan.marks(*ordinal) & marks::REMOVED != 0
        };
        if self.indexes.is_empty() {
            return;
        }
        let gone: Vec<u32> = (0..plan.len()).filter(gone).collect();
        let put_in = self.resume.as_ref().map(Resume::places).unwrap_or_default();
        for (ordinal, number) in &self.indexes {
            let moved = self.slots.shifted(*number, *ordinal, &gone, &put_in);
            self.shifted.extend(moved.map(|moved| (*ordinal, moved)));
        }
    }

    /// Counts the entries and messages that pi reaches in a list before the repair: pi counts the
    /// records that it can read.
    fn list_reach(&self, plan: &Plan) -> Reach {
        let read = |ordinal: &u32| plan.marks(*ordinal) & marks::READ != 0;
        let readable: Vec<u32> = (0..plan.len()).filter(read).collect();
        if readable.iter().any(|ordinal| plan.marks(*ordinal) & marks::UNUSABLE != 0) {
            return Reach::default();
        }
        let is = |ordinal: &&u32, mark: u32| plan.marks(**ordinal) & mark != 0;
        let compaction = readable.iter().rev().find(|o| is(o, marks::COMPACTION)).copied();
        let index = self.indexes.iter().find(|(ordinal, _)| Some(*ordinal) == compaction);
        let kept = index.and_then(|(_, number)| readable.get(number.checked_sub(1)? as usize));
        let said = readable.iter().filter(|o| is(o, marks::MESSAGE));
        let said = said.filter(|o| plan.is_sent(**o, compaction, kept.copied()));
        let messages = said.count() as u64 + u64::from(compaction.is_some());
        Reach { entries: readable.len() as u64, messages }
    }

    fn write_header(
        &mut self,
        number: u64,
        record: &FoundRecord<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Code> {
        if self.header.numbers.first() != Some(&number) {
            let twice = self.header.own.as_deref() == Some(record.bytes.trim_ascii());
            let code = if twice { Code::DuplicateRemoved } else { Code::HeaderRemoved };
            self.report(code, code.title(), record.at);
            return Some(code);
        }
        if self.header.is_kept() {
            write_marked(record, out);
        }
        None
    }
}

/// Whether a JSON spelling is that of an identifier.
fn is_id(spelling: &[u8]) -> bool {
    spelling.len() > 2 && spelling.first() == Some(&b'"')
}
