//! Index of a large document: where its members and their items are, and hashes of what they say.

use super::items::{Items, Pair, has_twice};
use super::lines::Lines;
use super::meaning::{Hash, pair_hash, scalar};
use crate::diagnostic::Code;
use crate::error::{Cannot, Result};
use crate::yaml::read::{Event, Events, Layout, Limits, Node, ScalarStyle, What};
use std::io::{BufRead, BufReader, Read};

/// Opens a text at a byte.
pub type Open<'o> = &'o mut dyn FnMut(u64) -> Result<Box<dyn Read>>;

/// An item of a list, or a member of a mapping.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Begin: of its `-` or key.
    pub start: u64,
    /// End of its last line or before, without a comment behind it.
    pub end: u64,
    pub hash: Hash,
    pub loose: u64,
}

/// A member of the outermost mapping.
#[derive(Debug)]
pub struct Member {
    pub key: Pair,
    pub whole: Item,
    pub items: Vec<Item>,
    /// Whether the items are those of a mapping; `None` if the value has no items in lines of their
    /// own.
    pub mapping: Option<bool>,
}

/// Returns the members of a document; `None` if it is not a mapping, or has something in it that is
/// more than its own text says: anchors, merge keys, keys that occur twice, a second document. A
/// text that cannot be read has no members, too.
pub fn index(open: Open<'_>) -> Result<Option<Vec<Member>>> {
    let mut events = Events::new(open(0)?, Limits::default());
    let mut index = Index::of(open(0)?);
    loop {
        match events.next() {
            Ok(Some(event)) => {
                if index.event(event)?.is_none() {
                    return Ok(None);
                }
            }
            Ok(None) => return Ok(index.finish()),
            Err(error) if error.code() == Code::Io => return Err(error),
            Err(_) => return Ok(None),
        }
    }
}

/// An open collection.
#[derive(Debug)]
struct Level {
    mapping: bool,
    flow: bool,
    tag: Option<String>,
    /// Hashes of its keys and values, in turn.
    hashes: Vec<Pair>,
    /// Begin of the last entry.
    start: u64,
}

struct Index {
    gaps: Gaps,
    open: Vec<Level>,
    documents: usize,
    members: Vec<Member>,
    items: Vec<Item>,
    /// The level whose entry begins with the next text.
    begins: Option<usize>,
    /// End of the last text.
    end: u64,
}

/// Number of collections around the entries that are indexed.
const DEEP: usize = 2;

impl Index {
    fn of(reader: Box<dyn Read>) -> Self {
        let reader = BufReader::new(reader);
        Self {
            gaps: Gaps { reader, at: 0, bytes: Vec::new(), last: 0, moved: false },
            open: Vec::new(),
            documents: 0,
            members: Vec::new(),
            items: Vec::new(),
            begins: None,
            end: 0,
        }
    }

    fn finish(self) -> Option<Vec<Member>> {
        (self.documents == 1 && !self.gaps.moved).then_some(self.members)
    }

    fn event(&mut self, event: Event) -> Result<Option<()>> {
        match event.what {
            What::DocumentStart => self.documents += 1,
            What::DocumentEnd | What::Comment { .. } => {}
            What::Alias(_) => return Ok(None),
            What::MappingStart(_, Node { anchor: Some(_), .. })
            | What::SequenceStart(_, Node { anchor: Some(_), .. })
            | What::Scalar(_, _, Node { anchor: Some(_), .. }) => return Ok(None),
            What::MappingStart(layout, node) => return self.begin(true, layout, node, &event.at),
            What::SequenceStart(layout, node) => return self.begin(false, layout, node, &event.at),
            What::MappingEnd | What::SequenceEnd => return Ok(self.close(event.end.byte)),
            What::Scalar(text, style, node) => {
                self.enter();
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let (at, end) = (event.at.byte, event.end.byte);
                self.gaps.take(if block { end } else { at })?;
                self.entry_begins();
                self.end = if block { self.gaps.end_of_block() } else { end };
                self.gaps.skip(end)?;
                if at == end {
                    // The parser places a missing value before its colon.
                    self.gaps.skip_colon()?;
                    self.end = self.gaps.at;
                }
                let hashes = scalar(text, style, node.tag.as_deref());
                let merges = style == ScalarStyle::Plain && hashes.text == "<<";
                let key = self.open.last().is_some_and(|l| l.mapping && l.hashes.len() % 2 == 0);
                if key && merges || self.open.is_empty() {
                    return Ok(None);
                }
                self.add_hashes((hashes.hash, hashes.loose), None);
            }
        }
        Ok(Some(()))
    }

    /// Notes that a node begins.
    fn enter(&mut self) {
        let depth = self.open.len();
        if let Some(level) = self.open.last().filter(|_| (1..=DEEP).contains(&depth)) {
            let entry = !level.mapping || level.hashes.len() % 2 == 0;
            if entry && !level.flow {
                self.begins = Some(depth - 1);
            }
        }
    }

    /// Notes where an entry begins, if one does in the gap that was read.
    fn entry_begins(&mut self) {
        let Some(level) = self.begins.take().and_then(|level| self.open.get_mut(level)) else {
            return;
        };
        level.start = self.gaps.entry(level.hashes.is_empty());
    }

    fn begin(
        &mut self,
        mapping: bool,
        layout: Layout,
        node: Node,
        at: &crate::position::Position,
    ) -> Result<Option<()>> {
        let flow = layout == Layout::Flow;
        let key = self.open.last().is_some_and(|l| l.mapping && l.hashes.len() % 2 == 0);
        if self.open.is_empty() && (flow || !mapping) || key {
            return Ok(None);
        }
        self.enter();
        if flow {
            self.gaps.take(at.byte)?;
            self.entry_begins();
        }
        self.open.push(Level { mapping, flow, tag: node.tag, hashes: Vec::new(), start: 0 });
        Ok(Some(()))
    }

    fn close(&mut self, end: u64) -> Option<()> {
        let level = self.open.pop()?;
        if level.flow {
            self.end = end;
            self.gaps.skip(end).ok()?;
        }
        let items = if level.mapping {
            let pairs: Vec<_> =
                level.hashes.as_chunks::<2>().0.iter().map(|[key, value]| (*key, *value)).collect();
            if has_twice(&pairs) {
                return None;
            }
            Items::Mapping(pairs)
        } else {
            Items::Sequence(level.hashes)
        };
        let kind = (!level.flow).then_some(level.mapping);
        self.add_hashes(items.hashes(level.tag.as_deref()), kind);
        Some(())
    }

    /// Notes the hashes of a node that ended.
    fn add_hashes(&mut self, hashes: Pair, kind: Option<bool>) {
        let depth = self.open.len();
        let Some(level) = self.open.last_mut() else { return };
        let key = level.hashes.last().copied().filter(|_| level.hashes.len() % 2 == 1);
        level.hashes.push(hashes);
        let item = |(hash, loose), end| Item { start: level.start, end, hash, loose };
        match (depth, level.mapping, key) {
            (1, true, Some(key)) => {
                let items = std::mem::take(&mut self.items);
                let whole = item(hashes, self.end);
                self.members.push(Member { key, whole, items, mapping: kind });
            }
            (DEEP, true, Some(key)) if !level.flow => {
                let loose = key.1.rotate_left(1) ^ hashes.1;
                self.items.push(item((pair_hash(&key.0, &hashes.0), loose), self.end));
            }
            (DEEP, false, _) if !level.flow => self.items.push(item(hashes, self.end)),
            _ => {}
        }
    }
}

/// The text between the nodes.
struct Gaps {
    reader: BufReader<Box<dyn Read>>,
    /// Offset in the text up to which it was read.
    at: u64,
    /// The text that was taken last, up to `at`.
    bytes: Vec<u8>,
    /// The last byte that was read.
    last: u8,
    /// Whether a character occurred that moves the places which the parser reports.
    moved: bool,
}

impl Gaps {
    /// Reads the text up to a place.
    fn take(&mut self, to: u64) -> Result<()> {
        self.bytes.clear();
        let length = to.saturating_sub(self.at);
        self.at +=
            self.reader.by_ref().take(length).read_to_end(&mut self.bytes).cannot("read")? as u64;
        let text = &self.bytes;
        self.moved |= self.last == 0xce && text.first() == Some(&0xa2);
        self.moved |= memchr::memmem::find(text, b"\xce\xa2").is_some();
        self.last = text.last().copied().unwrap_or(self.last);
        Ok(())
    }

    fn skip(&mut self, to: u64) -> Result<()> {
        if to > self.at { self.take(to) } else { Ok(()) }
    }

    /// Steps over a colon, and spaces before it, if one follows.
    fn skip_colon(&mut self) -> Result<()> {
        loop {
            let next = self.reader.fill_buf().cannot("read")?;
            match next.first() {
                Some(b' ' | b'\t') => self.take(self.at + 1)?,
                Some(b':') => return self.take(self.at + 1),
                _ => return Ok(()),
            }
        }
    }

    fn start(&self) -> u64 {
        self.at - self.bytes.len() as u64
    }

    /// Returns where an entry begins in the text that was taken; the first entry may be behind the
    /// beginning of the document, or behind a colon and a tag.
    fn entry(&self, first: bool) -> u64 {
        let lines = Lines(&self.bytes);
        let mut at = if self.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        loop {
            at = lines.behind_blank(at);
            let rest = self.bytes.get(at..).unwrap_or_default();
            match rest {
                [b':', ..] if first => at += 1,
                [b'-', b'-', b'-', ..] if first => at += 3,
                [b'%', ..] if first => at = lines.end(at),
                [b'!', ..] if first => {
                    let end = rest.iter().position(u8::is_ascii_whitespace);
                    at += end.unwrap_or(rest.len());
                }
                _ => return self.start() + at as u64,
            }
        }
    }

    /// Returns where the last line of a block ends, whose text was taken up to the next node.
    fn end_of_block(&self) -> u64 {
        let mut text = self.bytes.as_slice();
        while let [rest @ .., b' '] = text {
            text = rest;
        }
        match text {
            [rest @ .., b'\r', b'\n'] => self.start() + rest.len() as u64,
            [rest @ .., b'\n' | b'\r'] => self.start() + rest.len() as u64,
            _ => self.at,
        }
    }
}
