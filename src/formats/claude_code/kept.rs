//! Messages before a compaction that stay in the context: the program puts them behind the summary
//! when it resumes, and so does the reader.
//!
//! Source: observation of releases 2.1.81 and 2.1.332.

use super::wire;
use crate::error::Result;
use crate::json::{Cursor, Json};
use crate::lines::Lines;
use bytes::Bytes;
use std::collections::HashMap;
use std::io::Read;

/// New parents of lines, by the spelling of their identifiers.
#[derive(Debug, Default)]
pub struct Kept {
    /// Parents of the messages that compactions keep.
    parents: HashMap<Json, Json>,
    /// The last message that is kept behind a summary, by the summary's identifier.
    ends: HashMap<Json, Json>,
}

impl Kept {
    /// Looks for compactions in a transcript.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(source: Box<dyn Read>, limit: usize) -> Result<Self> {
        let (mut kept, mut lines) = (Self::default(), Lines::new(source, limit));
        let marks = memchr::memmem::Finder::new("\"preserved");
        loop {
            match lines.next() {
                Ok(None) => return Ok(kept),
                Ok(Some(line)) if marks.find(line.bytes).is_some() => kept.line(line.bytes),
                // The reader reports damage.
                Ok(Some(_)) => {}
                Err(error) if error.is_recoverable() => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        let mut cursor = Cursor::new(line);
        let whole = cursor.skip_value().and_then(|_| cursor.end()).is_ok();
        if !whole || std::str::from_utf8(line).is_err() || !line.starts_with(b"{") {
            return;
        }
        let about = Json::checked(Bytes::copy_from_slice(line)).member(wire::COMPACTION);
        let Some(about) = about.filter(|about| about.as_bytes().starts_with(b"{")) else { return };
        let of = |holder: &str, name: &str| {
            let holder = about.member(holder).filter(|json| json.as_bytes().starts_with(b"{"))?;
            holder.member(name)
        };
        let text = |json: &Json| json.text().is_some();
        let anchor = of("preservedMessages", "anchorUuid");
        let anchor = anchor.or_else(|| of("preservedSegment", "anchorUuid")).filter(text);
        let Some(anchor) = anchor else { return };
        let listed = of("preservedMessages", "uuids");
        let listed = listed.filter(|list| list.as_bytes().starts_with(b"["));
        let mut last = anchor.clone();
        for id in listed.iter().flat_map(Json::elements) {
            self.parents.insert(id.clone(), std::mem::replace(&mut last, id));
        }
        if last == anchor {
            let head = of("preservedSegment", "headUuid").filter(text);
            let tail = of("preservedSegment", "tailUuid").filter(text);
            let (Some(head), Some(tail)) = (head, tail) else { return };
            self.parents.insert(head, anchor.clone());
            last = tail;
        }
        self.ends.insert(anchor, last);
    }

    /// Returns the parent of a line, if it is another than the line names.
    #[must_use]
    pub fn parent_of(&self, id: &Json, parent: Option<&Json>) -> Option<&Json> {
        if self.ends.is_empty() {
            return None;
        }
        self.parents.get(id).or_else(|| self.ends.get(parent?).filter(|end| *end != id))
    }
}
