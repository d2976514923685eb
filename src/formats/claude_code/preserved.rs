//! Messages before a compaction that stay in the context: the program puts them behind the summary
//! when it resumes, and so does the reader.
//!
//! Source: observation of releases 2.1.81 and 2.1.332.

use super::members::key;
use super::wire;
use crate::json::{Json, is_whole};
use bytes::Bytes;
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::sync::LazyLock;

/// New parents of lines. All identifiers are given by their keys.
#[derive(Debug, Default)]
pub struct Preserved {
    /// Parents of the messages that compactions keep.
    parents: HashMap<u64, u64>,
    /// The last message that is kept behind a summary, by the summary.
    ends: HashMap<u64, u64>,
}

/// Messages that a compaction keeps.
#[derive(Debug)]
struct Segment {
    /// The summary, behind which they are.
    anchor: u64,
    /// The messages, or else the first and the last of them.
    listed: Vec<u64>,
    ends: Option<(u64, u64)>,
}

impl Segment {
    fn of(line: Json) -> Option<Self> {
        let about = line.member(wire::COMPACTION)?;
        let about = Some(about).filter(Json::is_object)?;
        let of = |holder: &str, name: &str| {
            let holder = about.member(holder).filter(Json::is_object)?;
            holder.member(name)
        };
        let text = |json: &Json| json.text().is_some();
        let name = |json: Json| key(json.as_bytes());
        let anchor = of("preservedMessages", "anchorUuid");
        let anchor = anchor.or_else(|| of("preservedSegment", "anchorUuid")).filter(text)?;
        let listed = of("preservedMessages", "uuids");
        let listed = listed.filter(Json::is_list);
        let listed: Vec<_> = listed.iter().flat_map(Json::elements).map(name).collect();
        let head = of("preservedSegment", "headUuid").filter(text).map(name);
        let ends = head.zip(of("preservedSegment", "tailUuid").filter(text).map(name));
        Some(Self { anchor: name(anchor), ends: ends.filter(|_| listed.is_empty()), listed })
    }
}

/// Compactions of a transcript that keep messages.
#[derive(Debug, Default)]
pub struct Segments {
    list: Vec<Segment>,
    /// Ordinal of the line at which the newest one begins.
    begin: u32,
}

impl Segments {
    /// Notes a line, if it is about such a compaction.
    pub fn note(&mut self, line: &[u8], ordinal: u32) {
        static FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(MARK));
        if FINDER.find(line).is_some()
            && let Some(segment) = object(line).and_then(Segment::of)
        {
            self.list.push(segment);
            self.begin = ordinal;
        }
    }

    /// Returns the ordinal of the line at which the newest compaction begins, of those that keep
    /// messages. Of the lines before, the program knows those that are kept.
    #[must_use]
    pub fn begin(&self) -> u32 {
        self.begin
    }

    /// Whether messages are kept behind this summary.
    #[must_use]
    pub fn keep_behind(&self, id: u64) -> bool {
        self.list.iter().any(|segment| segment.anchor == id)
    }

    /// Returns the new parents of messages. If one of the messages is lost, none of the compaction
    /// is kept.
    #[must_use]
    pub fn kept(&self, is_there: &dyn Fn(&u64) -> bool) -> Preserved {
        let mut kept = Preserved::default();
        let whole = self.list.iter().filter(|segment| segment.listed.iter().all(is_there));
        whole.for_each(|segment| kept.add(segment, is_there));
        kept
    }
}

/// Text in each line that names kept messages.
const MARK: &[u8] = b"\"preserved";

impl Preserved {
    fn add(&mut self, segment: &Segment, is_there: &dyn Fn(&u64) -> bool) {
        let Segment { anchor, listed, ends } = segment;
        let mut last = *anchor;
        for id in listed {
            self.parents.insert(*id, std::mem::replace(&mut last, *id));
        }
        if let Some((head, tail)) = ends.filter(|(a, b)| is_there(a) && is_there(b)) {
            self.parents.insert(head, *anchor);
            last = tail;
        }
        if last != *anchor {
            self.ends.insert(*anchor, last);
        }
    }

    /// Returns the parent of a line, if it is another than the line names.
    #[must_use]
    pub fn parent_of(&self, id: u64, parent: u64) -> Option<u64> {
        let end = || self.ends.get(&parent).copied().filter(|end| *end != id);
        self.parents.get(&id).copied().or_else(end)
    }
}

/// Returns a line that is one JSON object in UTF-8.
#[must_use]
pub fn object(line: &[u8]) -> Option<Json> {
    let whole = line.starts_with(b"{") && is_whole(line) && std::str::from_utf8(line).is_ok();
    whole.then(|| Json::trusted(Bytes::copy_from_slice(line)))
}
