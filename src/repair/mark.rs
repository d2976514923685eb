//! Changes to one record, and the note of them in it.

use crate::diagnostic::Code;
use crate::format::FoundRecord;
use crate::json::edit::Edits;
use crate::json::{Cursor, Span, text};

/// The member that contains the notes of the program.
const NOTES: &str = "copyist";

/// Changes to one record.
#[derive(Debug, Default)]
pub struct Fixes {
    /// The changes.
    pub edits: Edits,
    /// Notes of the changes for `copyist.repaired`, as elements of a list.
    notes: Vec<u8>,
}

impl Fixes {
    /// Begins with the note of the fix by which a record was found.
    pub fn of(record: &FoundRecord<'_>) -> Self {
        let mut fixes = Self::default();
        record.repaired.into_iter().for_each(|code| fixes.note(code, None));
        fixes
    }

    /// Notes a change by its code, with the member that it replaced.
    pub fn note(&mut self, code: Code, old: Option<(&str, &[u8])>) {
        let comma = if self.notes.is_empty() { "" } else { "," };
        self.notes.extend_from_slice(format!("{comma}{{\"code\":\"{}\"", code.name()).as_bytes());
        if let Some((key, value)) = old {
            self.notes.extend_from_slice(format!(",\"{key}\":").as_bytes());
            self.notes.extend_from_slice(value);
        }
        self.notes.push(b'}');
    }

    /// Gives the member `name` of a record a new value, and notes the change with the old one.
    /// `place` is that of the member's value, if the record has the member; where the member is put
    /// in at an empty place, the old value is `null`.
    pub fn set(
        &mut self,
        record: &[u8],
        (place, name): (Option<Span>, &str),
        new: &[u8],
        code: Code,
    ) {
        self.edits.set(place, name, new);
        let old = |place: Span| if place.start < place.end { place.of(record) } else { b"null" };
        self.note(code, place.map(|place| (name, old(place))));
    }

    /// Replaces escapes that no model takes by U+FFFD, and notes them as one change. Each of
    /// `units` is the place of an escape in `record`.
    pub fn replace_units(&mut self, record: &[u8], units: &[Span]) {
        if units.is_empty() {
            return;
        }
        units.iter().for_each(|unit| self.edits.replace(*unit, b"\\ufffd"));
        // Spelled as escapes they would be found again.
        let old = units.iter().map(|unit| unit.of(record).get(2..).unwrap_or_default());
        let old = old.collect::<Vec<_>>().join(&b"\",\""[..]);
        let old = [b"[\"", old.as_slice(), b"\"]"].concat();
        self.note(Code::SurrogateReplaced, Some(("halves", &old)));
    }

    /// Whether there is neither a change nor a note.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.notes.is_empty()
    }

    /// Writes the changed record with its note. Without a change, and if it is not an object, the
    /// record passes as it is.
    pub fn apply(mut self, record: &[u8], out: &mut Vec<u8>) {
        let object = if self.is_empty() { None } else { Object::of(record) };
        let Some(object) = object else {
            out.extend_from_slice(record);
            return;
        };
        if !self.notes.is_empty() {
            self.edits.append(record, NOTES, object.note, "repaired", &self.notes);
        }
        self.edits.apply(record, object.close, object.empty, out);
    }
}

/// Appends a record with a note of this repair.
///
/// ```
/// use copyist::{diagnostic::Code, repair::mark};
/// let mut out = Vec::new();
/// mark(br#"{"a":1}"#, Code::Salvaged, &mut out);
/// assert_eq!(out, br#"{"a":1,"copyist":{"repaired":[{"code":"CY0807"}]}}"#);
/// ```
pub fn mark(record: &[u8], code: Code, out: &mut Vec<u8>) {
    let mut fixes = Fixes::default();
    fixes.note(code, None);
    fixes.apply(record, out);
}

/// Appends a line with a record as it was found, with a note of the fix by which it was.
pub fn write_marked(record: &FoundRecord<'_>, out: &mut Vec<u8>) {
    Fixes::of(record).apply(record.bytes, out);
    out.push(b'\n');
}

/// Place in an object for a note.
struct Object {
    note: Option<Span>,
    close: usize,
    empty: bool,
}

impl Object {
    fn of(text: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(text);
        cursor.begin_object().ok()?;
        let (mut note, mut empty) = (None, true);
        while let Some(key) = cursor.next_key().ok()? {
            let value = cursor.skip_value().ok()?;
            empty = false;
            if text::is(key.of(text), NOTES) {
                note = Some(value);
            }
        }
        Some(Self { note, close: cursor.at() - 1, empty })
    }
}
