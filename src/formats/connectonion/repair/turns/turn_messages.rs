//! Messages that only turns contain, and their keys.

use super::super::block::Block;
use super::super::check::{Checked, is_headless};
use super::super::resume::joined;
use super::super::{report_put, spell};
use super::Writing;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::json::Json;

/// Text below a key without messages.
const NO_MESSAGES: &[u8] = b"    []\n";

impl Writing<'_> {
    /// Returns the messages up to a turn whose own list is torn: the whole messages of that list,
    /// or the list before it and the turn's question.
    pub(super) fn list(&self, place: usize) -> Json {
        let own = self.facts.turns.get(place);
        let before = place.checked_sub(1).and_then(|place| self.facts.turns.get(place));
        let items =
            |list: Option<&Json>| list.into_iter().flat_map(Json::elements).collect::<Vec<_>>();
        let mut list = items(own.and_then(|turn| turn.list.as_ref()));
        let earlier = items(before.and_then(|turn| turn.list.as_ref()));
        if list.len() < earlier.len() {
            list = earlier.clone();
        }
        let asked = list.iter().skip(earlier.len()).any(|message| {
            message.member("role").is_some_and(|role| role.as_bytes() == b"\"user\"")
        });
        if let Some(input) = own.and_then(|turn| turn.input.as_ref()).filter(|_| !asked) {
            let text = [b"{\"role\": \"user\", \"content\": ", input.as_bytes(), b"}"].concat();
            list.push(Json::trusted(text.into()));
        }
        joined(&list)
    }

    /// Ends the messages before a key, and writes those of turns that have none.
    pub(super) fn before_key(&mut self, number: u64) -> Result<()> {
        self.end_key()?;
        self.fill(number)?;
        self.written = self.written.max(number);
        Ok(())
    }

    /// Writes messages for the turns before this one that have none.
    pub(super) fn fill(&mut self, before: u64) -> Result<()> {
        let missing = self.facts.missing();
        let from = missing.partition_point(|number| *number <= self.written);
        let to = missing.partition_point(|number| *number < before);
        for number in missing.get(from..to).unwrap_or_default().iter().copied() {
            self.add(format!("  {number}:\n").as_bytes())?;
            let (input, result) = self.texts_of(number);
            let written = self.restore_message("user", input, number)?
                | self.restore_message("assistant", result, number)?;
            if !written {
                self.add(NO_MESSAGES)?;
            }
        }
        Ok(())
    }

    fn texts_of(&self, number: u64) -> (Option<Json>, Option<Json>) {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let turn = place.and_then(|place| self.facts.turns.get(place));
        turn.map_or((None, None), |turn| (turn.input.clone(), turn.result.clone()))
    }

    /// Writes a message that a turn contains.
    fn restore_message(&mut self, role: &str, content: Option<Json>, number: u64) -> Result<bool> {
        let Some(content) = content.filter(|content| content.as_bytes().len() > 2) else {
            return Ok(false);
        };
        let code = Code::MessageRestored;
        let what = format!("turn {number}: {role}");
        report_put(code, &what, self.cx);
        self.notes.add(code, what);
        self.restored += 1;
        self.items += 1;
        self.add(&spell::message_item(role, &content, self.facts.indent()))?;
        Ok(true)
    }

    /// Counts a message, reports its repair, and writes the results that are put in behind it.
    pub(super) fn behind_message(&mut self, block: &Block, found: &Checked) -> Result<()> {
        let at = block.at();
        if found.straight.is_some() {
            let what = format!("the place of a message behind turn {}", self.written.max(1));
            report_put(Code::MemberRestored, &what, self.cx);
            self.notes.add(Code::MemberRestored, what);
        } else if is_headless(&block.kind, &block.bytes) {
            let what = format!("the beginning of a message behind turn {}", self.written.max(1));
            report_put(Code::MemberRestored, &what, self.cx);
            self.notes.add(Code::MemberRestored, what);
        }
        let facts = self.facts;
        let put_in = facts.talk().added(self.met);
        self.met += 1;
        self.items += 1;
        for result in put_in {
            let code = Code::ResultSynthesized;
            self.cx.report_at(code, at);
            self.notes.add(code, format!("turn {}: {}", self.written, result.what()));
            self.items += 1;
            self.add(&spell::message(&result.message(), facts.indent()))?;
        }
        Ok(())
    }

    /// Begins the messages of a key, and restores the question of a turn that lost it.
    pub(super) fn behind_key(&mut self, empty: bool) -> Result<()> {
        let place = self.keys;
        self.keys += 1;
        (self.keyed, self.empty, self.items) = (true, empty, 0);
        match self.facts.keys.get(place) {
            Some(key) if key.lost && !key.has_question && !empty => {
                let (input, _) = self.texts_of(key.number);
                self.restore_message("user", input, key.number).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Ends a turn's messages, and restores the answer if one was lost.
    pub(super) fn end_key(&mut self) -> Result<()> {
        let Some(key) = self.keys.checked_sub(1).and_then(|place| self.facts.keys.get(place))
        else {
            return Ok(());
        };
        if !std::mem::take(&mut self.keyed) || self.empty {
            return Ok(());
        }
        if key.lost && !key.answered {
            let (_, result) = self.texts_of(key.number);
            self.restore_message("assistant", result, key.number)?;
        }
        if self.items == 0 {
            self.add(NO_MESSAGES)?;
        }
        Ok(())
    }

    /// Writes the key of messages whose key is missing or wrong.
    pub(super) fn put_key(&mut self) -> Result<()> {
        let number = self.number(1);
        self.noted(&format!("the key of turn {number}"), format!("  {number}:\n").as_bytes())?;
        self.behind_key(false)
    }
}
