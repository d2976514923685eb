//! Lookups of rows, and of members of objects that are not read yet.

use super::{How, Row, Source};
use crate::json::{Fault, Json, Span, text};
use std::borrow::Cow;

/// Finds rows by key; producers keep their order, so the next row is tried first.
#[derive(Debug)]
pub struct Finder {
    rows: &'static [Row],
    next: usize,
}

impl Finder {
    /// Begins a search in these rows.
    pub fn new(rows: &'static [Row]) -> Self {
        Self { rows, next: 0 }
    }

    /// Returns the row whose key is spelled `name`, quotes included.
    pub fn find(&mut self, name: &[u8]) -> Option<&'static Row> {
        let (before, after) = self.rows.split_at_checked(self.next)?;
        let mut rows = after.iter().zip(self.next..).chain(before.iter().zip(0..));
        let (row, at) = rows.find(|(row, _)| text::is(name, row.key))?;
        self.next = at + 1;
        Some(row)
    }
}

impl<'a> Source<'a> {
    /// Looks ahead, in the object that begins here, for the string value of the member `name`. The
    /// lookup costs nothing where the member comes first, as producers write it.
    pub fn peek_text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Fault> {
        let value = self.peek_span(name)?;
        Ok(value.and_then(|value| text::decoded(self.spelling(value))))
    }

    /// Looks ahead, in the object that begins here, for the value of any kind of the member `name`.
    pub fn peek(&self, name: &str) -> Result<Option<Json>, Fault> {
        Ok(self.peek_span(name)?.map(|value| self.json(value)))
    }

    fn peek_span(&self, name: &str) -> Result<Option<Span>, Fault> {
        let mut ahead = self.cursor.clone();
        if ahead.peek() != Some(b'{') {
            return Ok(None);
        }
        ahead.begin_object()?;
        while let Some(key) = ahead.next_key()? {
            let value = ahead.skip_value()?;
            if text::is(self.spelling(key), name) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Walks through a group or a list of blocks, only to determine whether it can be read in two
    /// ways.
    pub(super) fn skim(&mut self, how: &How) -> Result<(), Fault> {
        match (how, self.cursor.peek()) {
            (How::Object(rows), Some(b'{')) => self.skim_members(rows, None),
            (How::Blocks(types), Some(b'[')) => {
                self.cursor.begin_array()?;
                while self.cursor.next_element()? {
                    let wire = self.peek_text("type")?;
                    match types.iter().find(|t| Some(t.wire) == wire.as_deref()) {
                        Some(known) => self.skim_members(known.rows, Some("type"))?,
                        None => drop(self.cursor.skip_value()?),
                    }
                }
                Ok(())
            }
            _ => self.cursor.skip_value().map(drop),
        }
    }

    fn skim_members(&mut self, rows: &'static [Row], decides: Option<&str>) -> Result<(), Fault> {
        let mut finder = Finder::new(rows);
        self.each_member(decides, |source, key| {
            source.skim(finder.find(source.spelling(key)).map_or(&How::Json, |row| &row.how))
        })
    }
}
