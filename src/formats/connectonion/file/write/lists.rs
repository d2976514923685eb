//! The lists of messages, one for each turn.

use super::File;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::formats::connectonion::file::{KEY, NULL_KEY, NULL_TEXT_KEY, TEXT_KEY};
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Node, Record};

/// Spellings of a null value in YAML.
const NULLS: [&str; 5] = ["", "null", "Null", "NULL", "~"];

impl File<'_> {
    /// Writes a key that does not follow from the turns, and begins its list, if it has one; false
    /// if the notice represents no key.
    pub(super) fn key(&mut self, notice: &Node) -> bool {
        let layout = notice.text(Field::Layout).unwrap_or_default();
        let null = |key| layout.strip_prefix(key).filter(|null| NULLS.contains(&null.trim()));
        let (plain, null) = match layout.as_str() {
            KEY => (true, None),
            TEXT_KEY => (false, None),
            _ => match (null(NULL_KEY), null(NULL_TEXT_KEY)) {
                (Some(null), _) => (true, Some(null)),
                (_, Some(null)) => (false, Some(null)),
                _ => return false,
            },
        };
        self.close_turn();
        let number = notice.json(Field::Turn).and_then(Json::float).unwrap_or_default() as u32;
        let name = notice.text(Field::Data).unwrap_or_default();
        let yaml = &mut self.messages.yaml;
        match plain && name.parse::<u32>().is_ok() {
            true => yaml.plain(&name),
            false => yaml.string(name.as_str()),
        };
        if let Some(null) = null {
            yaml.raw(null.as_bytes());
            self.listed = self.listed.max(number.into());
        } else {
            yaml.begin_sequence();
            self.open = Some(number.into());
        }
        true
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
