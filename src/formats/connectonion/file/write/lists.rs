//! The lists of messages, one for each turn.

use super::{File, REMARK};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::formats::connectonion::file::{KEY, NULL_KEY, NULL_TEXT_KEY, TEXT_KEY};
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Node, Record};

impl File<'_> {
    /// Whether a notice represents a key that does not follow from the turns.
    pub(super) fn is_key(&self, notice: &Node) -> bool {
        let layout = notice.text(Field::Layout).unwrap_or_default();
        let is_key = [KEY, TEXT_KEY, NULL_KEY, NULL_TEXT_KEY].contains(&layout.as_str());
        self.has_lists() && notice.is(Field::Subtype, REMARK) && is_key
    }

    /// Writes such a key, and begins its list, if it has one.
    pub(super) fn key(&mut self, notice: &Node) {
        let is = |layouts: [&str; 2]| layouts.iter().any(|name| notice.is(Field::Layout, name));
        self.close_turn();
        let number = notice.json(Field::Turn).and_then(Json::float).unwrap_or_default() as u32;
        let name = notice.text(Field::Data).unwrap_or_default();
        let yaml = &mut self.messages.yaml;
        match is([KEY, NULL_KEY]) && name.parse::<u32>().is_ok() {
            true => yaml.plain(&name),
            false => yaml.string(name.as_str()),
        };
        if is([NULL_KEY, NULL_TEXT_KEY]) {
            yaml.plain("null");
            self.listed = self.listed.max(number.into());
        } else {
            yaml.begin_sequence();
            self.open = Some(number.into());
        }
    }

    /// Begins the list of a turn's messages, unless it is open.
    pub(super) fn open_turn(&mut self, number: u64, located: &Located<Record>) -> Result<()> {
        if self.open == Some(number) {
            return Ok(());
        }
        self.close_turn();
        if number <= self.listed {
            let message = format!("messages of turn {number} come after those of a later turn");
            let found = Diagnostic::new(Code::BadRecord, message);
            return Err(Error::unfit(found.at(located.at)));
        }
        // Only turns that exist get empty lists.
        self.list_empty((number - 1).min(self.written));
        self.messages.yaml.plain(&number.to_string()).begin_sequence();
        self.open = Some(number);
        Ok(())
    }

    pub(super) fn close_turn(&mut self) {
        if let Some(number) = self.open.take() {
            self.messages.yaml.end();
            self.listed = self.listed.max(number);
        }
    }

    /// Writes empty lists for turns without messages, up to the turn `last`.
    pub(super) fn list_empty(&mut self, last: u64) {
        for number in self.listed + 1..=last {
            self.messages.yaml.plain(&number.to_string()).begin_sequence().end();
        }
        self.listed = self.listed.max(last);
    }
}
