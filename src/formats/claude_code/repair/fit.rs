//! Changes of a line after which every release can send it.

use super::resume::Resume;
use super::{Lines, line, refused};
use crate::diagnostic::Code;
use crate::format::FoundRecord;
use crate::formats::claude_code::members::Members;
use crate::json::{Json, Span, text};
use crate::repair::Fixes;
use crate::times;
use jiff::Timestamp;

impl Lines<'_> {
    /// Takes out of a line that is sent what the interface of a model refuses, or some releases
    /// cannot read. Returns the reason for the change.
    pub(super) fn make_fit(
        &self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        members: &Members,
        fixes: &mut Fixes,
    ) -> Option<Code> {
        let resume = self.resume.as_ref().filter(|resume| resume.is_sent(ordinal))?;
        let bytes = record.bytes;
        let place = line::member_of(bytes, members.message?, "content")?;
        let (content, blocks) = (place.of(bytes), resume.removed_blocks(ordinal));
        if !blocks.is_empty() {
            let list = Json::trusted(content.to_vec().into());
            let remaining = list.elements().enumerate().filter(|(at, _)| !blocks.contains(at));
            let remaining = Json::list(remaining.map(|(_, block)| block));
            fixes.edits.replace(place, remaining.as_bytes());
            fixes.note(Code::OrphanResult, Some(("content", content)));
            return Some(Code::OrphanResult);
        }
        if line::list_content(bytes, members, fixes) {
            return Some(Code::ContentListed);
        }
        if let Some((new, changes)) =
            refused::accepted(content, resume.renamed(ordinal), resume.alone(ordinal))
        {
            fixes.edits.replace(place, &new);
            for (code, name, old) in &changes {
                fixes.note(*code, Some((name, old)));
            }
            return changes.first().map(|(code, ..)| *code);
        }
        let units = text::lone_halves(content);
        // A signature signs the thought as it is.
        if units.is_empty() || memchr::memmem::find(content, b"\"signature\"").is_some() {
            return None;
        }
        let moved =
            |unit: &Span| Span { start: place.start + unit.start, end: place.start + unit.end };
        fixes.replace_units(bytes, &units.iter().map(moved).collect::<Vec<_>>());
        Some(Code::SurrogateReplaced)
    }

    /// Gives a line that is sent, or was put together again, the members without which releases
    /// before 2.1.33 lose messages, and it would be one of version 1: its time, and the identifier
    /// of its answer. Returns the reason for the change.
    pub(super) fn complete(
        &mut self,
        ordinal: u32,
        record: &FoundRecord<'_>,
        members: &Members,
        fixes: &mut Fixes,
    ) -> Option<Code> {
        let is_sent = |resume: &Resume| resume.is_sent(ordinal);
        if !self.resume.as_ref().map_or(self.wanted.salvage, is_sent) {
            return None;
        }
        let bytes = record.bytes;
        let time = members.time.map(|time| Json::trusted(time.of(bytes).to_vec().into()));
        let time = time.as_ref().and_then(times::read);
        let after = times::after(self.clock);
        let known = self.clock > Timestamp::UNIX_EPOCH;
        self.clock = time.unwrap_or(after).max(self.clock);
        if self.resume.is_none() && !(known && record.repaired == Some(Code::Salvaged)) {
            return None;
        }
        let late = self.resume.as_ref().and_then(Resume::late);
        let dated = time.is_none() && late.is_none_or(|(end, _)| end != ordinal);
        if dated {
            line::set_time(bytes, members, after, Code::MemberRestored, fixes);
        }
        let named = line::name_answer(bytes, members, fixes);
        (dated || named).then_some(Code::MemberRestored)
    }
}
