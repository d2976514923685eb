//! Messages of a turn of version 1: one JSON text that repeats all earlier messages.
//!
//! A file of n turns contains its first message n times. Only the messages that a turn adds become
//! records, so the reader keeps one list, the last. The writer keeps the same list, because it
//! writes the list again.

use super::super::message;
use crate::json::{Cursor, Fault, Json, without_nan};
use crate::mapping::Spacing;
use crate::record::{Field, Record};
use bytes::Bytes;

/// How a turn's list begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// With the whole list of the turn before, as the real software writes it.
    Whole,
    /// With only the system message of that list, as the documentation of the software shows it.
    System,
    /// With nothing of that list.
    Fresh,
    /// There is no list.
    Missing,
}

impl Begin {
    /// Returns the layout for the turn's record.
    pub fn layout(self) -> Option<Json> {
        match self {
            Self::Whole => None,
            Self::System => Some(Json::constant("\"apart\"")),
            Self::Fresh => Some(Json::constant("\"alone\"")),
            Self::Missing => Some(Json::constant("\"none\"")),
        }
    }

    /// Reads how a turn's list begins from the layout of its record.
    pub fn of(turn: &Record) -> Self {
        match turn.node.text(Field::Layout).as_deref() {
            Some("apart") => Self::System,
            Some("alone") => Self::Fresh,
            Some("none") => Self::Missing,
            _ => Self::Whole,
        }
    }
}

/// A list in Python's spelling, without its last bracket.
#[derive(Clone, Debug)]
pub struct List {
    text: String,
    /// Length of the text up to the end of the first message if that is the system's, else 1.
    system: usize,
    /// Whether any list so far had a system message.
    prompted: bool,
}

impl Default for List {
    fn default() -> Self {
        Self { text: "[".to_owned(), system: 1, prompted: false }
    }
}

impl List {
    /// Truncates the list to the part with which a turn's list begins.
    pub fn begin(&mut self, begin: Begin) {
        match begin {
            Begin::Whole | Begin::Missing => {}
            Begin::System => self.text.truncate(self.system),
            Begin::Fresh => {
                self.text.truncate(1);
                self.system = 1;
            }
        }
    }

    /// Adds the message that a record represents; false if the record represents none. `own` is
    /// whether the record comes from this format.
    pub fn add(&mut self, record: &Record, own: bool) -> bool {
        let mut json = Vec::new();
        if !message::write(record, Spacing::None, own, &mut json) {
            return false;
        }
        let first = self.text.len() == 1;
        if !first {
            self.text.push_str(", ");
        }
        self.text.push_str(&String::from_utf8_lossy(&Json::trusted(json.into()).python()));
        if first && record.node.is(Field::Role, "system") {
            self.system = self.text.len();
            self.prompted = true;
        }
        true
    }

    /// Whether the list begins with a system message.
    pub fn has_system(&self) -> bool {
        self.system > 1
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        [&self.text, "]"].concat()
    }

    /// Reads a turn's list and makes it the current one. Returns how the list begins, the messages
    /// that it adds, and whether the list contained numbers that only Python's JSON allows. Such
    /// numbers are read as `null`.
    pub fn read(&mut self, source: &str) -> Result<(Begin, Vec<Record>, bool), Fault> {
        let read = self.read_json(source).map(|(begin, new)| (begin, new, false));
        read.or_else(|fault| {
            let plain = without_nan(source.as_bytes()).ok_or(fault)?;
            let (begin, new) = self.read_json(&String::from_utf8_lossy(&plain))?;
            Ok((begin, new, true))
        })
    }

    fn read_json(&mut self, source: &str) -> Result<(Begin, Vec<Record>), Fault> {
        if let Some(more) = source.strip_prefix(&self.text) {
            // The known messages are one value before the new ones.
            let known = usize::from(self.text.len() > 1);
            let records = records(&[if known > 0 { "[0" } else { "[" }, more].concat());
            if let Ok(mut records) = records {
                let new = records.split_off(known.min(records.len()));
                for record in &new {
                    self.add(record, true);
                }
                return Ok((Begin::Whole, new));
            }
        }
        let mut records = records(source)?;
        let mut new = Self { prompted: self.prompted, ..Self::default() };
        let (mut whole, mut system) = (None, None);
        for (at, record) in (1..).zip(&records) {
            new.add(record, true);
            if new.text == self.text {
                whole = Some(at);
            } else if at == 1
                && self.has_system()
                && self.text.get(..self.system) == Some(&new.text)
            {
                system = Some(at);
            }
        }
        let (begin, known) = match (whole, system) {
            (Some(known), _) => (Begin::Whole, known),
            (None, Some(known)) => (Begin::System, known),
            (None, None) => (Begin::Fresh, 0),
        };
        // A model gets one system message; this one differs from the first.
        let second = begin == Begin::Fresh && self.prompted && new.has_system();
        if let Some(first) = records.first_mut().filter(|_| second) {
            first.node.set(Field::Excluded, Json::constant("true"));
        }
        *self = new;
        Ok((begin, records.split_off(known)))
    }
}

/// Returns the messages of a list, their strings with as few escapes as possible.
fn records(list: &str) -> Result<Vec<Record>, Fault> {
    let mut cursor = Cursor::new(list.as_bytes());
    let mut records = Vec::new();
    cursor.begin_array()?;
    while cursor.next_element()? {
        let span = cursor.skip_value()?;
        let spelled = Json::trusted(Bytes::copy_from_slice(span.of(list.as_bytes())));
        records.push(message::read(&spelled.normal().into())?);
    }
    cursor.end()?;
    Ok(records)
}
