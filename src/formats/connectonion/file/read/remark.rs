//! Comments and blank lines between the records of a file.
//!
//! People are told to edit these files, so what they write beside the values is carried along as
//! a notice of its own, in the place where it stands. What stands inside a record is part of the
//! record's own spelling.

use super::super::REMARK;
use super::{Records, Stage};
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Kind, Record};

/// What a remark stands in front of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// A member of the top, by the name that the notice's layout has.
    Top(&'static str),
    /// A turn.
    Turn,
    /// The key of a turn's messages, behind those of the turn with this number.
    Key(u64),
    /// A message of this turn.
    Message(u64),
}

impl Records<'_> {
    /// Gives what stands before the node at `at` as a notice; `opener` is what opens the
    /// collection whose first node it is. Says whether there was something.
    pub(super) fn remark(&mut self, at: Position, opener: &str, before: Before) -> bool {
        let Some(text) = self.shadow.take_remark(at.byte, opener) else { return false };
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

    /// The place of a remark in front of a member of the top that comes now.
    pub(super) fn place(&self) -> Before {
        debug_assert_eq!(self.stage, Stage::Top);
        Before::Top(if self.listed.is_some() { "end" } else { "messages" })
    }
}
