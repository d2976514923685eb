//! Changes to one record, and the note of them in it.

use super::super::scan::Scan;
use crate::diagnostic::Code;
use crate::json::edit::Edits;

/// Changes to one record.
#[derive(Debug, Default)]
pub struct Fixes {
    /// The changes.
    pub edits: Edits,
    /// What stands under `copyist.repaired` of them, as elements of a list.
    notes: Vec<u8>,
}

impl Fixes {
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

    /// Whether there is nothing to be changed or noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.notes.is_empty()
    }

    /// Writes the changed record with its note.
    pub fn apply(mut self, record: &[u8], scan: &Scan, out: &mut Vec<u8>) {
        if !self.notes.is_empty() {
            let present = scan.note.map(|note| note.value);
            self.edits.append(record, "copyist", present, "repaired", &self.notes);
        }
        self.edits.apply(record, scan.close, scan.members == 0, out);
    }
}
