//! Repair of one entry.

use super::super::needs::needs;
use super::super::{lineage::quoted, wire};
use super::EntryRepair;
use super::refused::Refused;
use crate::diagnostic::{Code, Diagnostic, plural};
use crate::format::FoundRecord;
use crate::json::{Json, member, text};
use crate::members::Scan;
use crate::repair::{Fixes, write_marked};
use crate::tree::{Aim, Plan, links_to_leaf, marks};

/// Returns the marks of an entry, by its type in JSON spelling.
pub fn marks_of(kind: &[u8], bytes: &[u8], scan: &Scan) -> u32 {
    // pi sends a summary of a branch while it is truthy.
    let says = || !matches!(member(bytes, "summary"), None | Some(b"\"\"" | b"null"));
    let notes = || scan.note.map(|note| note.value.of(bytes)).unwrap_or_default();
    match kind {
        b"\"message\"" if scan.message.is_none() => marks::UNUSABLE,
        b"\"branch_summary\"" if !says() => 0,
        b"\"message\"" | b"\"custom_message\"" | b"\"branch_summary\"" => marks::MESSAGE,
        b"\"compaction\"" => marks::COMPACTION,
        b"\"label\"" | b"\"session_info\"" | b"\"usage\"" if !links_to_leaf(notes()) => {
            marks::ASIDE
        }
        _ => 0,
    }
}

/// Whether entries of this type may do without an identifier.
pub fn needs_no_id(kind: &[u8]) -> bool {
    kind == b"\"leaf\""
}

/// Returns the reason why an entry gets another parent.
fn why_linked(plan: &Plan, ordinal: u32) -> Code {
    let parent = plan.linked(ordinal).flatten();
    let renamed = parent.is_some_and(|parent| plan.marks(parent) & marks::RENAMED != 0);
    match plan.marks(ordinal) {
        own if own & marks::ORPHAN != 0 => Code::ParentUnknown,
        own if own & marks::CIRCLE != 0 => Code::CycleBroken,
        _ if plan.is_moved(ordinal) => Code::LeafLinked,
        own if own & marks::NAMELESS != 0 => Code::IdGiven,
        _ if renamed => Code::IdChanged,
        _ => Code::ParentLinked,
    }
}

impl EntryRepair<'_> {
    /// Writes an entry with its repairs, and the results that are added behind it. Returns why the
    /// entry is removed, if it is.
    pub(super) fn write_entry(
        &mut self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Code> {
        let Some(plan) = &self.plan else { return None };
        let marks = plan.marks(ordinal);
        let gone = match marks {
            _ if marks & marks::DUPLICATE != 0 => Some(Code::DuplicateRemoved),
            _ if marks & marks::UNUSABLE != 0 => Some(Code::EntryUnusable),
            _ => None,
        };
        if let Some(code) = gone {
            self.report(code, code.title(), record.at);
            return Some(code);
        }
        let touched = self.lacking
            || marks & (marks::RENAMED | marks::LINKED) != 0
            || plan.is_wanted(ordinal)
            || plan.aim(ordinal, true).is_some()
            || plan.aim(ordinal, false).is_some()
            || self.shifted.contains_key(&ordinal)
            || self.resume.as_ref().is_some_and(|resume| resume.touches(ordinal));
        let scan = if touched { Scan::of(record.bytes).ok().flatten() } else { None };
        let Some(scan) = scan else {
            write_marked(record, out);
            return None;
        };
        let mut fixes = Fixes::of(record);
        let own = self.name_entry(ordinal, record, &scan, &mut fixes);
        let parent = self.link_entry(ordinal, record, &scan, &own, &mut fixes);
        self.aim_entry(ordinal, record, &scan, &own, &mut fixes);
        self.shift_entry(ordinal, record, &scan, &mut fixes);
        let completed = self.complete_entry(record, &scan, &mut fixes);
        if let Some(code) =
            self.resume_entry(ordinal, record, (&own, parent, completed), &mut fixes)
        {
            return Some(code);
        }
        fixes.apply(record.bytes, out);
        out.push(b'\n');
        self.put_in(ordinal, &own, record, out);
        None
    }

    /// Gives the entry a new identifier where it needs one. Returns the identifier that it has now.
    fn name_entry(
        &mut self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        scan: &Scan,
        fixes: &mut Fixes,
    ) -> Vec<u8> {
        let old = scan.id.map(|id| id.value);
        let before = old.map_or(&b""[..], |old| old.of(record.bytes));
        let Some(plan) = &self.plan else { return before.to_vec() };
        let (name, wanted) = (plan.name(ordinal), plan.is_wanted(ordinal));
        let own = match name {
            None => before.to_vec(),
            Some(name) => {
                let new = quoted(name).to_vec();
                let nameless = plan.marks(ordinal) & marks::NAMELESS != 0;
                let code = if nameless { Code::IdGiven } else { Code::IdChanged };
                fixes.set(record.bytes, (old, "id"), &new, code);
                self.report_change(code, "id", before, &new, record);
                new
            }
        };
        if wanted {
            self.written.names.insert(ordinal, own.clone());
        }
        own
    }

    /// Links the entry to another parent where it needs one. Returns the parent that it has now.
    fn link_entry(
        &mut self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        scan: &Scan,
        own: &[u8],
        fixes: &mut Fixes,
    ) -> Vec<u8> {
        let old = scan.parent.map(|parent| parent.value);
        let before = old.map_or(&b""[..], |old| old.of(record.bytes));
        let Some(plan) = &self.plan else { return before.to_vec() };
        let linked = match plan.linked(ordinal) {
            None => None,
            Some(None) => Some(b"null".to_vec()),
            Some(Some(parent)) => self.name_of(parent, scan, record),
        };
        let why = linked.as_ref().map(|_| why_linked(plan, ordinal));
        let linked = linked.unwrap_or_else(|| before.to_vec());
        let active = plan.is_active(ordinal);
        let over = self.resume.as_mut().and_then(|resume| resume.parent(active, &linked));
        let gone = over
            .as_ref()
            .map(|(_, code)| *code)
            .filter(|code| links_to_leaf(code.name().as_bytes()));
        let (new, code) = match (over, why) {
            (Some((new, code)), why) => (new, why.unwrap_or(code)),
            (None, Some(code)) => (linked, code),
            (None, None) => return linked,
        };
        if let Some(gone) = gone.filter(|gone| new == before || *gone != code) {
            fixes.note(gone, None);
        }
        if new == before {
            return new;
        }
        fixes.edits.set(old, "parentId", &new);
        if code != Code::IdGiven || old.is_some() {
            fixes.note(code, old.map(|_| ("parentId", before)));
        }
        match code {
            Code::IdGiven => {}
            Code::ParentUnknown => self.report_unlinked(own, before, record),
            _ => self.report_change(code, "parentId", before, &new, record),
        }
        new
    }

    /// Returns the identifier of an entry to which another one is linked. A parent behind its child
    /// has a new identifier, or the user named it.
    fn name_of(&self, parent: u32, scan: &Scan, record: &FoundRecord<'_>) -> Option<Vec<u8>> {
        let written = self.written.names.get(&parent).cloned();
        let new = || self.plan.as_ref()?.name(parent).map(|name| quoted(name).to_vec());
        let wished = || {
            let own = text::decode(scan.id?.value.of(record.bytes))?;
            let mut wishes = self.wanted.relink.iter().rev();
            let (_, parent) = wishes.find(|(entry, _)| *entry == own)?;
            Some(Json::string(parent).as_bytes().to_vec())
        };
        written.or_else(new).or_else(wished)
    }

    /// Reports the old and the new value of a member.
    fn report_change(
        &self,
        code: Code,
        key: &str,
        old: &[u8],
        new: &[u8],
        record: &FoundRecord<'_>,
    ) {
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        let old = if old.is_empty() { "missing".into() } else { old };
        self.report(code, format!("{}: {key} {old} is now {new}", code.title()), record.at);
    }

    /// Reports an entry whose parent is not known, with the identifiers by which the user can link
    /// it.
    fn report_unlinked(&self, own: &[u8], old: &[u8], record: &FoundRecord<'_>) {
        let code = Code::ParentUnknown;
        let (own, old) = (String::from_utf8_lossy(own), String::from_utf8_lossy(old));
        let message = format!("{} of the entry {own}: it was {old}", code.title());
        self.report(code, message, record.at);
    }

    fn aim_entry(
        &self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        scan: &Scan,
        own: &[u8],
        fixes: &mut Fixes,
    ) {
        let Some(plan) = &self.plan else { return };
        let members = [(scan.kept_id, wire::FIRST_KEPT_ID, true), (scan.target, "targetId", false)];
        for (member, key, kept) in members {
            let (Some(member), Some(aim)) = (member, plan.aim(ordinal, kept)) else { continue };
            let new = match aim {
                Aim::Itself if own.is_empty() => &b"null"[..],
                Aim::Itself => own,
                Aim::At(target) => match self.written.names.get(&target) {
                    Some(name) => name.as_slice(),
                    None => continue,
                },
            };
            let old = member.value.of(record.bytes);
            fixes.set(record.bytes, (Some(member.value), key), new, Code::TargetItself);
            self.report_change(Code::TargetItself, key, old, new, record);
        }
    }

    fn shift_entry(&self, ordinal: u32, record: &FoundRecord<'_>, scan: &Scan, fixes: &mut Fixes) {
        let (Some(index), Some(moved)) = (scan.kept_index, self.shifted.get(&ordinal)) else {
            return;
        };
        let (old, mut new) = (index.value.of(record.bytes), moved.number.to_string());
        let member = (Some(index.value), wire::FIRST_KEPT_INDEX);
        fixes.set(record.bytes, member, new.as_bytes(), moved.why);
        if moved.at_most {
            new.push_str(", or less: how many records were lost with NUL bytes is not known");
        }
        self.report_change(moved.why, wire::FIRST_KEPT_INDEX, old, new.as_bytes(), record);
    }

    /// Puts in the members that pi needs. Returns whether there are any.
    fn complete_entry(&self, record: &FoundRecord<'_>, scan: &Scan, fixes: &mut Fixes) -> bool {
        let needs = if self.lacking { needs(record.bytes, scan) } else { Vec::new() };
        for need in &needs {
            fixes.edits.replace(need.at, &need.text);
            let (old, path) = (need.at.of(record.bytes), Json::string(need.path));
            let member = ("member", path.as_bytes());
            let code = Code::MemberRestored;
            fixes.note(code, Some(if old.is_empty() { member } else { ("was", old) }));
            self.report(code, format!("{}: `{}`", code.title(), need.path), record.at);
        }
        !needs.is_empty()
    }

    /// Applies the decisions by which the session can be resumed. Returns why the entry is removed,
    /// if it is.
    fn resume_entry(
        &mut self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        (own, parent, completed): (&[u8], Vec<u8>, bool),
        fixes: &mut Fixes,
    ) -> Option<Code> {
        let active = self.plan.as_ref().is_some_and(|plan| plan.is_active(ordinal));
        let resume = self.resume.as_mut()?;
        if let Some(code) = resume.removed(ordinal) {
            resume.remove(active, own, parent, code);
            self.report(code, code.title(), record.at);
            return Some(code);
        }
        let places = resume.refused(ordinal, record.bytes);
        // A member that was put in may have taken in what contains them; the next pass finds them.
        if !completed {
            self.replace(&places, record, fixes);
        }
        None
    }

    /// Replaces places that a model's interface refuses.
    fn replace(&mut self, places: &[Refused], record: &FoundRecord<'_>, fixes: &mut Fixes) {
        let mut units = Vec::new();
        for Refused { at, new, member, code } in places {
            let old = at.of(record.bytes);
            match code {
                Code::SurrogateReplaced => units.push(*at),
                Code::ImageReplaced => {
                    fixes.edits.replace(*at, new);
                    fixes.note(*code, None);
                    self.aside.push((old.to_vec(), *code));
                    self.report(*code, code.title(), record.at);
                }
                _ => {
                    fixes.set(record.bytes, (Some(*at), member), new, *code);
                    self.report_change(*code, member, old, new, record);
                }
            }
        }
        if !units.is_empty() {
            fixes.replace_units(record.bytes, &units);
            let code = Code::SurrogateReplaced;
            let message = format!("{}: {}", code.title(), plural(units.len() as u64, "place"));
            self.report(code, message, record.at);
        }
    }

    /// Adds results behind an entry.
    fn put_in(&mut self, ordinal: u32, own: &[u8], record: &FoundRecord<'_>, out: &mut Vec<u8>) {
        let Some(resume) = &mut self.resume else { return };
        let results = resume.put_in(ordinal, own);
        for (call, line) in results {
            out.extend_from_slice(&line);
            out.push(b'\n');
            let code = Code::ResultSynthesized;
            let call = text::decode(&call).unwrap_or_default();
            let message = format!("{} for the call {call}", code.title());
            self.cx.report(Diagnostic::new(code, message).at(record.at));
        }
    }
}
