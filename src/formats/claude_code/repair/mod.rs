//! Repair of a transcript.
//!
//! Whole lines stay, also those out of glued ones. Lines that occur twice, and lines whose parent is
//! lost, stay as they are where release 2.1.332 sends the whole conversation in spite of them; where
//! it does not, a line whose parent is lost is linked to the line before it, or to that of another
//! branch at which this release goes on. What only hides messages from other releases, or makes a model's interface refuse the session, is
//! `--resumable`'s (`resume`).

mod added;
mod conversation;
mod fit;
mod kept;
pub mod line;
mod links;
mod names;
mod refused;
mod resume;
mod spoken;

use super::about::About;
use super::files::{head, is_lines};
use super::opening::Looking;
use super::uuid::uuid_of;
use super::wire;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Result;
use crate::format::{
    Cx, FoundRecord, LineRepair, Reaches, Records, RepairIo, RepairOptions, Repaired,
};
use crate::formats::claude_code::members::Members;
use crate::json::Json;
use crate::lines::Line;
use crate::position::Position;
use crate::repair::{Fixes, Walk, not_linked, nothing_back, write_marked};
use crate::times;
use added::{Last, name_of_result};
use bytes::Bytes;
use conversation::Conversation;
use jiff::Timestamp;
use kept::Kept;
use links::{Links, Plan, key};
use resume::{Parent, Resume};
use std::collections::{HashMap, HashSet};

/// Recognition of lines, and restoration of torn ones.
static RECORDS: Records =
    Records { begins: line::BEGINS, recognise: line::recognise, restore: line::restore };

/// Repairs a session.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let agent = About::of(&head(&mut *io.parts().main()?)?).agent;
    let mut mend = Lines::new(agent, wanted, cx);
    mend.is_main = true;
    mend.looking = Looking::unless_known(io.parts());
    mend.resume = wanted.resumable.then(|| Resume::new(agent));
    let mut walk = Walk::new("", &RECORDS, wanted, cx);
    walk.look(io, &mut mend)?;
    mend.looking.take().into_iter().for_each(|looking| looking.keep(io.parts()));
    let (mut records, mut rescued) = (mend.reaches.after.entries, walk.found().rescued);
    let Reaches { mut before, mut after } = mend.reaches;
    let names = if io.takes_parts() { io.parts().names() } else { Vec::new() };
    let (of_agents, others): (Vec<_>, Vec<_>) =
        names.into_iter().skip(1).partition(|name| is_lines(name));
    // A resume needs only the conversation.
    let alone = RepairOptions { resumable: false, relink: Vec::new(), ..wanted.clone() };
    let mut agents = Vec::new();
    for name in of_agents {
        let mut lines = (Walk::new(&name, &RECORDS, &alone, cx), Lines::new(true, &alone, cx));
        lines.0.look(io, &mut lines.1)?;
        records += lines.1.reaches.after.entries;
        rescued += lines.0.found().rescued;
        before.entries += lines.1.reaches.before.entries;
        after.entries += lines.1.reaches.after.entries;
        agents.push(lines);
    }
    if records == 0 {
        return Err(nothing_back());
    }
    let mut all: Vec<_> = std::iter::once((walk, mend)).chain(agents).collect();
    io.begin(all.iter().any(|(walk, mend)| walk.removes(mend)))?;
    let changed = all.iter().any(|(walk, mend)| walk.changes(mend));
    for (walk, mut mend) in all.drain(..) {
        walk.write(io, &mut mend)?;
    }
    others.iter().try_for_each(|name| io.keep(name))?;
    Ok(Repaired { changed, records, rescued, ..Repaired::default() }.reaching(before, after))
}

struct Lines<'a> {
    cx: &'a Cx<'a>,
    wanted: &'a RepairOptions,
    /// Whether all lines are those of one sub-agent, and whether the session continues here.
    agent: bool,
    is_main: bool,
    reaches: Reaches,
    /// The facts for later readings of the session, and the members of the line that was shown.
    looking: Option<Looking>,
    members: Option<(Position, Members)>,
    links: Links,
    kept: Kept,
    plan: Option<Plan>,
    resume: Option<Resume>,
    /// The conversation, if parents are lost whose lines may hide messages.
    conversation: Option<Conversation>,
    /// Showings that ended, and the ordinal of the next line of the chain.
    shown: u32,
    next: u32,
    /// Lines whose names others need, and their names in their spelling.
    needed: HashSet<u32>,
    names: HashMap<u32, Vec<u8>>,
    added: HashMap<u32, Vec<u8>>,
    /// The end of the conversation, if a line that is added names it.
    end: Option<Last>,
    /// Whether a message is changed.
    unfit: bool,
    /// Newest time of the lines before.
    clock: Timestamp,
}

impl<'a> Lines<'a> {
    fn new(agent: bool, wanted: &'a RepairOptions, cx: &'a Cx<'a>) -> Self {
        Self {
            cx,
            wanted,
            agent,
            is_main: false,
            reaches: Reaches::default(),
            looking: None,
            members: None,
            links: Links::default(),
            kept: Kept::default(),
            plan: None,
            resume: None,
            conversation: None,
            shown: 0,
            next: 0,
            needed: HashSet::new(),
            names: HashMap::new(),
            added: HashMap::new(),
            end: None,
            unfit: false,
            clock: Timestamp::UNIX_EPOCH,
        }
    }

    /// Returns the ordinal of a line of the chain that is shown.
    fn count(&mut self) -> u32 {
        let ordinal = self.next;
        self.next += 1;
        ordinal
    }

    /// Returns the name of a line, which is its own unless repair gives it another one.
    fn name(&mut self, ordinal: u32, record: &FoundRecord<'_>, own: Option<&[u8]>) -> Vec<u8> {
        let renamed = self.plan.as_ref().is_some_and(|plan| plan.is_renamed(ordinal));
        let name = match own.filter(|_| !renamed) {
            Some(own) => own.to_vec(),
            None => {
                let line = own.unwrap_or(record.bytes);
                quoted(&uuid_of(&[line, b" again ", &ordinal.to_le_bytes()].concat()))
            }
        };
        if self.needed.contains(&ordinal) {
            self.names.insert(ordinal, name.clone());
        }
        name
    }

    /// Gives a line its new identifier and parent, with the reasons. Returns its identifier.
    fn link(
        &mut self,
        ordinal: u32,
        (record, members): (&FoundRecord<'_>, &Members),
        fixes: &mut Fixes,
    ) -> (Vec<u8>, Vec<Code>) {
        let (bytes, mut codes) = (record.bytes, Vec::new());
        let own = members.uuid(bytes);
        let name = self.name(ordinal, record, own);
        if own != Some(&name) {
            let code = if own.is_some() { Code::IdChanged } else { Code::IdGiven };
            fixes.set(bytes, (members.uuid, "uuid"), &name, code);
            codes.push(code);
        }
        if let Some((parent, code)) = self.new_parent(ordinal) {
            let old = members.parent.map(|parent| parent.of(bytes));
            if old != Some(parent.as_slice()) {
                fixes.set(bytes, (members.parent, wire::PARENT), &parent, code);
                codes.push(code);
            }
        }
        codes.extend(self.kept.fix(ordinal, bytes, fixes));
        (name, codes)
    }

    /// Returns the new parent of a line in its spelling, and the reason for it.
    fn new_parent(&self, ordinal: u32) -> Option<(Vec<u8>, Code)> {
        let links = || {
            let (parent, code) = self.plan.as_ref()?.new_parent(ordinal)?;
            Some((parent.map_or(Parent::Root, Parent::At), code))
        };
        let resume = self.resume.as_ref().and_then(|resume| resume.new_parent(ordinal));
        let (parent, code) = resume.or_else(links)?;
        let name = match parent {
            Parent::Root => None,
            Parent::At(at) => self.names.get(&at).cloned(),
            Parent::Added(at) => self.added.get(&at).cloned(),
        };
        Some((name.unwrap_or_else(|| b"null".to_vec()), code))
    }

    /// Looks at a line of the chain for `--resumable`.
    fn look_again(&mut self, record: &FoundRecord<'_>, members: &Members) {
        let ordinal = self.count();
        if self.plan.as_ref().is_some_and(|plan| plan.is_set_aside(ordinal)) {
            return;
        }
        let mut fixes = Fixes::default();
        let unfit = self.make_fit(ordinal, record, members, &mut fixes).is_some();
        let lacking = self.complete(ordinal, record, members, &mut fixes).is_some();
        self.unfit |= unfit || lacking;
        let mut fixes = Fixes::default();
        self.link(ordinal, (record, members), &mut fixes);
        let mut line = Vec::with_capacity(record.bytes.len());
        fixes.apply(record.bytes, &mut line);
        if let Some(resume) = &mut self.resume {
            resume.look(ordinal, &Bytes::from(line));
        }
    }

    fn decide(&mut self) {
        let mut plan = self.links.decide(self.agent, self.wanted.resumable);
        for (entry, parent) in &self.wanted.relink {
            let key = |id: &String| key(Json::string(id).as_bytes());
            if entry == parent || !plan.relink(key(entry), key(parent)) {
                self.cx.report(not_linked(entry, parent));
            }
        }
        self.needed.extend(plan.new_parents());
        self.kept.decide(&plan);
        let lost = self.is_main && plan.lost().next().is_some();
        self.conversation = lost.then(|| Conversation::new(self.agent));
        self.plan = Some(plan);
    }

    /// Writes a line of the chain, and what is added behind it.
    fn write_line(
        &mut self,
        record: &FoundRecord<'_>,
        members: &Members,
        out: &mut Vec<u8>,
    ) -> Option<Code> {
        let ordinal = self.count();
        let gone = self.plan.as_ref().is_some_and(|plan| plan.is_set_aside(ordinal));
        let removed = self.resume.as_ref().and_then(|resume| resume.removed(ordinal));
        if let Some(code) = gone.then_some(Code::DuplicateRemoved).or(removed) {
            self.cx.report_at(code, record.at);
            return Some(code);
        }
        let bytes = record.bytes;
        let mut fixes = Fixes::of(record);
        let (name, codes) = self.link(ordinal, (record, members), &mut fixes);
        let unfit = self.make_fit(ordinal, record, members, &mut fixes);
        let completed = self.complete(ordinal, record, members, &mut fixes);
        let codes = codes.into_iter().chain(unfit).chain(completed);
        codes.for_each(|code| self.cx.report_at(code, record.at));
        let late = self.resume.as_ref().and_then(Resume::late);
        let late = late.filter(|(end, _)| *end == ordinal);
        if let Some((_, time)) = late {
            line::set_time(bytes, members, time, Code::EndDated, &mut fixes);
            self.cx.report_at(Code::EndDated, record.at);
        }
        let mut line = Vec::with_capacity(bytes.len() + 64);
        fixes.apply(bytes, &mut line);
        line.push(b'\n');
        self.add(ordinal, record, &name, late.is_some(), &mut line);
        out.extend_from_slice(&line);
        None
    }

    /// Writes the results that are added to a line, and keeps the line behind which the session
    /// continues.
    fn add(
        &mut self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        name: &[u8],
        late: bool,
        out: &mut Vec<u8>,
    ) {
        let Some(resume) = &self.resume else { return };
        let like = Json::trusted(record.bytes.to_vec().into());
        let time = match late {
            true => resume.late().map(|(_, time)| time),
            false => like.member("timestamp").as_ref().and_then(times::read),
        };
        let (time, parent) = (time.unwrap_or_default(), name.to_vec());
        let mut last = Last { like, parent, time };
        let mut lines = Vec::new();
        for result in resume.added(ordinal) {
            let mut line = Vec::new();
            last.add_result(&result.id, &result.block(), &mut line);
            self.cx.report_at(Code::ResultSynthesized, record.at);
            lines.push(line);
        }
        // Where what follows is before the line, the results are, too.
        if resume.is_overtaken(ordinal) {
            lines.reverse();
            out.splice(..0, lines.concat());
        } else {
            lines.iter().for_each(|line| out.extend_from_slice(line));
        }
        if last.parent != name {
            self.added.insert(ordinal, last.parent.clone());
        }
        if self.resume.as_ref().and_then(Resume::marked_end) == Some(ordinal) {
            self.end = Some(last);
        }
    }
}

fn quoted(value: &str) -> Vec<u8> {
    Json::string(value).as_bytes().to_vec()
}

impl LineRepair for Lines<'_> {
    fn line(&mut self, line: &Line<'_>) {
        let looking = self.looking.as_mut().filter(|_| self.shown == 0);
        let members = looking.and_then(|looking| looking.line(line));
        self.members = members.map(|members| (line.at, members));
    }

    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let whole = record.read && record.repaired.is_none();
        let known = self.members.take().filter(|(at, _)| whole && *at == record.at);
        let members = known.map(|(_, members)| members);
        let members = members.or_else(|| Members::of(record.bytes.trim_ascii()));
        let Some(members) = members else { return false };
        // A replaced byte in the name of a member makes another member of it.
        let chained = members.is_chained(record.bytes);
        let line = || Bytes::copy_from_slice(record.bytes.trim_ascii());
        if let Some(conversation) = &mut self.conversation {
            if chained {
                conversation.look(self.next, &line());
                self.next += 1;
            } else {
                conversation.beside(&line());
            }
            return true;
        }
        match (&mut self.resume, self.shown) {
            (_, 0) => {
                self.reaches.count(false, record.read);
                if chained {
                    self.links.note(record.bytes, &members);
                    let ordinal = self.count();
                    self.kept.note(ordinal, record.bytes);
                }
            }
            (Some(_), _) if chained => self.look_again(record, &members),
            (Some(resume), _) => resume.beside(&line()),
            (None, _) => {}
        }
        true
    }

    fn quarantined(&mut self, bytes: &[u8], code: Code) {
        if code == Code::TornRecord && self.shown == 0 {
            self.links.torn(bytes);
        }
    }

    fn needs_another_pass(&mut self) -> bool {
        self.next = 0;
        self.clock = Timestamp::UNIX_EPOCH;
        self.shown += 1;
        // A line before its parent needs a name that comes later.
        if self.resume.as_ref().is_none_or(|resume| resume.ahead().is_empty()) {
            self.names.clear();
        }
        if self.shown == 1 {
            self.decide();
            return self.resume.is_some() || self.conversation.is_some();
        }
        if let (Some(conversation), Some(plan)) = (self.conversation.take(), &mut self.plan) {
            plan.close(&conversation.gaps(plan, self.resume.is_some()));
            self.needed.extend(plan.new_parents());
            // What follows sees the lines as they are linked now.
            self.shown -= 1;
            return self.resume.is_some();
        }
        let (Some(resume), Some(plan)) = (&mut self.resume, &mut self.plan) else { return false };
        if self.shown == 2 {
            if resume.find_path(plan) {
                self.needed.extend(resume.ahead());
                return true;
            }
            let found = Diagnostic::of(Code::Unordered);
            self.cx.report(found);
            self.resume = None;
            return false;
        }
        resume.close(plan);
        self.needed.extend(resume.new_parents());
        let ahead = resume.all_added().filter(|_| !resume.ahead().is_empty());
        for (at, result) in ahead {
            let name = self.added.get(&at).or(self.names.get(&at));
            let name = name_of_result(name.map_or(b"", Vec::as_slice), &result.id);
            self.added.insert(at, name);
        }
        if !(self.unfit || self.kept.changes() || resume.changes()) {
            plan.keep_copies();
        }
        false
    }

    fn changes(&self) -> bool {
        self.unfit
            || self.kept.changes()
            || self.plan.as_ref().is_some_and(Plan::changes)
            || self.resume.as_ref().is_some_and(Resume::changes)
    }

    fn removes(&self) -> bool {
        self.plan.as_ref().is_some_and(Plan::removes)
            || self.resume.as_ref().is_some_and(Resume::removes)
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let members = Members::of(record.bytes.trim_ascii());
        if let Some(members) = members.filter(|members| members.is_chained(record.bytes)) {
            return self.write_line(record, &members, out);
        }
        write_marked(record, out);
        None
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(mut end) = self.end.take() {
            end.add_mark(out);
            self.cx.report(Diagnostic::of(Code::EndMarked));
        }
    }
}
