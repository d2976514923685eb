//! Writer of a session that is a list of messages behind a header.

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Writer, no_session};
use crate::mapping::{Object, Putting, Row};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, is_sent};

/// The file of such a session. `own` is true if the session comes from a file of the same format.
pub trait MessageList {
    /// Takes a record of the session; the first one comes before all messages.
    ///
    /// # Errors
    /// If it cannot be written.
    fn session(&mut self, node: &Node, first: bool, own: bool) -> Result<()>;

    /// Writes a message, or an item that no reader understands; false if the format has no place
    /// for it.
    ///
    /// # Errors
    /// If it cannot be written.
    fn item(&mut self, record: &Record, own: bool) -> Result<bool>;

    /// Writes the rest.
    ///
    /// # Errors
    /// If it cannot be written.
    fn finish(self, own: bool) -> Result<()>;
}

/// Writes the messages that the source's software sent, and counts the other records as lost.
pub struct ListWriter<'a, L> {
    list: L,
    /// Name of the format.
    name: &'static str,
    cx: &'a Cx<'a>,
    /// Whether the session comes from a file of the same format; `None` before its record.
    own: Option<bool>,
}

impl<'a, L: MessageList + 'a> ListWriter<'a, L> {
    /// Begins to write.
    #[must_use]
    pub fn begin(list: L, format: &'static Format, cx: &'a Cx<'a>) -> Box<dyn Writer + 'a> {
        Box::new(Self { list, name: format.name, cx, own: None })
    }
}

impl<L: MessageList> Writer for ListWriter<'_, L> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        if record.kind == Kind::Session {
            let named = || record.node.text(Field::Source).unwrap_or_default();
            let first = self.own.is_none();
            let own = *self.own.get_or_insert_with(|| named().split('@').next() == Some(self.name));
            return self.list.session(&record.node, first, own);
        }
        let own = self.own.ok_or_else(|| no_session(located.at))?;
        let sent = own || (record.kind == Kind::Message && is_sent(&record.node));
        // Only the source's own file lacks what its reader restored.
        let restored = own && record.is_restored() && !record.is_repetition();
        if restored || !sent || !self.list.item(record, own)? {
            self.cx.log.lost(&record.description());
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let own = self.own.ok_or_else(|| no_session(Position::default()))?;
        self.list.finish(own)
    }
}

/// Writes the object of a session by its rows; `put` is called first for each row. Counts what the
/// object does not hold.
pub fn write_session(
    rows: &'static [Row],
    node: &Node,
    own: bool,
    out: &mut Vec<u8>,
    put: Putting<'_>,
    log: &Log,
) {
    const ELSEWHERE: &[Field] = &[Field::Source, Field::File, Field::Leaf, Field::IdMade];
    log.count_lost("session", node, |field| match field {
        Field::Extra => own,
        _ => ELSEWHERE.contains(&field) || rows.iter().any(|row| row.field == field),
    });
    let mut object = Object::open(out);
    object.in_order(rows, node, node.json(Field::Extra).filter(|_| own), put);
    object.close();
}
