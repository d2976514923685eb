//! Messages before a compaction that stay in the context: the program puts them behind the summary
//! when it resumes, and so does the reader.
//!
//! Source: observation of releases 2.1.81 and 2.1.332.

use super::wire;
use crate::error::Result;
use crate::format::Parts;
use crate::json::{Cursor, Json};
use crate::lines::Lines;
use crate::record::{Field, Node};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// New parents of lines, by the spelling of their identifiers.
#[derive(Debug, Default)]
pub struct Preserved {
    /// Parents of the messages that compactions keep.
    parents: HashMap<Json, Json>,
    /// The last message that is kept behind a summary, by the summary's identifier.
    ends: HashMap<Json, Json>,
}

/// Messages that a compaction keeps.
struct Segment {
    /// The summary, behind which they are.
    anchor: Json,
    /// The messages, or else the first and the last of them.
    listed: Vec<Json>,
    ends: Option<(Json, Json)>,
}

impl Segment {
    fn of(line: Json) -> Option<Self> {
        let about = line.member(wire::COMPACTION)?;
        let about = Some(about).filter(|about| about.as_bytes().starts_with(b"{"))?;
        let of = |holder: &str, name: &str| {
            let holder = about.member(holder).filter(|json| json.as_bytes().starts_with(b"{"))?;
            holder.member(name)
        };
        let text = |json: &Json| json.text().is_some();
        let anchor = of("preservedMessages", "anchorUuid");
        let anchor = anchor.or_else(|| of("preservedSegment", "anchorUuid")).filter(text)?;
        let listed = of("preservedMessages", "uuids");
        let listed = listed.filter(|list| list.as_bytes().starts_with(b"["));
        let listed: Vec<_> = listed.iter().flat_map(Json::elements).collect();
        let head = of("preservedSegment", "headUuid").filter(text);
        let ends = head.zip(of("preservedSegment", "tailUuid").filter(text));
        Some(Self { anchor, ends: ends.filter(|_| listed.is_empty()), listed })
    }

    fn names(&self) -> impl Iterator<Item = &Json> {
        let ends = self.ends.iter().flat_map(|(head, tail)| [head, tail]);
        std::iter::once(&self.anchor).chain(&self.listed).chain(ends)
    }
}

impl Preserved {
    /// Whether a line names messages that a compaction keeps.
    #[must_use]
    pub fn is_named_in(node: &Node) -> bool {
        let data = node.json(Field::Data).map(Json::as_bytes).unwrap_or_default();
        memchr::memmem::find(data, b"\"preserved").is_some()
    }

    /// Looks for compactions in a transcript. Names of lines that are lost do not count.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(parts: &mut dyn Parts, limit: usize) -> Result<Self> {
        let mut segments = Vec::new();
        each(parts, limit, b"\"preserved", &mut |line| segments.extend(Segment::of(line)))?;
        if segments.is_empty() {
            return Ok(Self::default());
        }
        let names: HashSet<&Json> = segments.iter().flat_map(Segment::names).collect();
        let mut present = HashSet::new();
        each(parts, limit, b"\"uuid", &mut |line| {
            present.extend(line.member("uuid").filter(|uuid| names.contains(uuid)));
        })?;
        let mut kept = Self::default();
        segments.iter().for_each(|segment| kept.add(segment, &present));
        Ok(kept)
    }

    fn add(&mut self, segment: &Segment, present: &HashSet<Json>) {
        let Segment { anchor, listed, ends } = segment;
        if !present.contains(anchor) {
            return;
        }
        let mut last = anchor.clone();
        for id in listed.iter().filter(|id| present.contains(*id)) {
            self.parents.insert(id.clone(), std::mem::replace(&mut last, id.clone()));
        }
        if let Some((head, tail)) =
            ends.as_ref().filter(|(a, b)| present.contains(a) && present.contains(b))
        {
            self.parents.insert(head.clone(), anchor.clone());
            last = tail.clone();
        }
        if last != *anchor {
            self.ends.insert(anchor.clone(), last);
        }
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

/// Shows each undamaged line that contains a mark; the reader reports damage.
fn each(
    parts: &mut dyn Parts,
    limit: usize,
    mark: &[u8],
    show: &mut dyn FnMut(Json),
) -> Result<()> {
    let (mut lines, mark) = (Lines::new(parts.main()?, limit), memchr::memmem::Finder::new(mark));
    loop {
        match lines.next() {
            Ok(None) => return Ok(()),
            Ok(Some(line)) if mark.find(line.bytes).is_some() => {
                object(line.bytes).into_iter().for_each(&mut *show);
            }
            Ok(Some(_)) => {}
            Err(error) if error.is_recoverable() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns a line that is one JSON object in UTF-8.
#[must_use]
pub fn object(line: &[u8]) -> Option<Json> {
    let mut cursor = Cursor::new(line);
    let whole = line.starts_with(b"{") && cursor.skip_value().and_then(|_| cursor.end()).is_ok();
    let text = whole && std::str::from_utf8(line).is_ok();
    text.then(|| Json::checked(Bytes::copy_from_slice(line)))
}
