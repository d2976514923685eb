//! Comments and blank lines between the records of a file.
//!
//! The documentation of the software invites users to edit these files, so the reader keeps
//! comments as notices, in their places. A comment inside a record is part of the record's own
//! spelling.

use super::super::REMARK;
use super::{Records, Stage};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};

/// The element behind a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// A member of the top, by the name for the notice's layout.
    Top(&'static str),
    /// A turn.
    Turn,
    /// The key of a turn's messages, behind the messages of the turn with this number.
    Key(u64),
    /// A message of the turn with this number.
    Message(u64),
}

impl Records<'_> {
    /// Returns the text before the node at `at` as a notice record; `opener` is the text that opens
    /// the collection whose first node it is. Returns whether there was such text.
    pub(super) fn remark(&mut self, at: Position, opener: &str, before: Before) -> bool {
        let Some(text) = self.comparison.take_remark(at.byte, opener) else { return false };
        let mut record = Record::new(Kind::Notice);
        let node = &mut record.node;
        node.set(Field::Subtype, Json::string(REMARK));
        node.set(Field::Data, Json::string(&text));
        match before {
            Before::Turn => {}
            Before::Top(layout) => node.set(Field::Layout, Json::string(layout)),
            Before::Message(turn) => node.set(Field::Turn, Json::number(turn)),
            Before::Key(turn) => {
                node.set(Field::Turn, Json::number(turn));
                node.set(Field::Layout, Json::string("behind"));
            }
        }
        self.push(record, at);
        true
    }

    /// Returns the place of a remark in front of the next member of the top.
    pub(super) fn place(&self) -> Before {
        debug_assert_eq!(self.stage, Stage::Top);
        Before::Top(if self.listed.is_some() { "end" } else { "messages" })
    }
}
