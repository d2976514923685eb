//! A scanner for the layout in which PyYAML writes: block mappings, sequences that are no deeper
//! than their keys, scalars without quotes and in quotes, `[]` and `{}`.
//!
//! The scanner is several times as fast as the parser and returns the very same events. All other
//! syntax (comments, anchors, tags, flow collections, blocks of text, empty lines, documents, tabs,
//! errors) is left to the parser: the scanner stops, and the parser continues at a place from which
//! it sees everything that it would have seen. The parser looks ahead by one token, and an error
//! that it finds there takes the place of the event before. Therefore events are returned once the
//! entry behind theirs was understood as well, and the parser begins at the first entry whose
//! events were not returned.

use super::fault::Shift;
use super::parsed::Parsed;
use super::scalar::{Scan, Stop};
use super::window::Window;
use super::{Event, Layout, Limits, Node, ScalarStyle, What};
use crate::position::Position;
use crate::yaml::Text;
use std::collections::VecDeque;
use std::io::Read;

/// Maximum depth; deeper documents are left to the parser, which counts.
const DEPTH: usize = 64;

/// Maximum length of a key; longer keys are left to the parser, and PyYAML writes none.
const KEY: usize = 512;

/// An open collection.
#[derive(Clone, Copy, Debug)]
struct Level {
    mapping: bool,
    column: usize,
}

/// State of the document at which an entry begins.
#[derive(Clone, Debug, Default)]
struct State {
    open: Vec<Level>,
    /// Whether the innermost mapping has a key without a value so far.
    pending: bool,
}

impl State {
    fn copy_from(&mut self, other: &Self) {
        self.open.clone_from(&other.open);
        self.pending = other.pending;
    }

    /// Returns text that leads the parser to where an entry begins, and the number of its events.
    fn way_here(&self) -> (Vec<u8>, usize) {
        let (mut text, mut events) = (Vec::new(), usize::from(!self.open.is_empty()));
        let mut levels = self.open.iter().peekable();
        while let Some(level) = levels.next() {
            if !text.ends_with(b"- ") {
                text.resize(text.len() + level.column, b' ');
            }
            let innermost = levels.peek().is_none();
            text.extend_from_slice(if level.mapping { b"k:" } else { b"- " });
            events += 1 + usize::from(level.mapping);
            if innermost && !self.pending {
                text.extend_from_slice(b" v");
                events += 1;
            }
            if level.mapping || innermost {
                text.push(b'\n');
            }
        }
        (text, events)
    }
}

/// The scanner, up to the first text that it does not surely understand.
#[derive(Debug)]
pub struct Plain<R> {
    window: Window<R>,
    limits: Limits,
    /// Events to be returned, those of the last entry, and those of the entry being read.
    ready: VecDeque<Event>,
    held: VecDeque<Event>,
    fresh: VecDeque<Event>,
    /// Begins of the last entry, and of the one behind it.
    back: EntryStart,
    here: EntryStart,
    /// State at the end of the entry being read.
    next: State,
    ended: bool,
}

/// The beginning of an entry.
#[derive(Debug, Default)]
struct EntryStart {
    /// Offset in the window.
    at: usize,
    line: u64,
    state: State,
}

/// Result of a step of the scanner.
pub enum Scanned {
    Event(Event),
    /// The document is at its end.
    End,
    /// The parser must continue.
    Unsure,
}

impl<R: Read> Plain<R> {
    pub fn new(reader: R, limits: Limits) -> Self {
        let start = || EntryStart { line: 1, ..EntryStart::default() };
        Self {
            window: Window::new(reader),
            limits,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            fresh: VecDeque::new(),
            back: start(),
            here: start(),
            next: State::default(),
            ended: false,
        }
    }

    #[inline]
    pub fn next(&mut self) -> Scanned {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Scanned::Event(event);
            }
            if self.ended {
                return Scanned::End;
            }
            if !self.entry() {
                return Scanned::Unsure;
            }
        }
    }

    /// Reads one entry; returns false if it is not surely understood.
    fn entry(&mut self) -> bool {
        let gone = self.window.forget(self.back.at);
        self.back.at -= gone;
        self.here.at -= gone;
        loop {
            self.fresh.clear();
            self.next.copy_from(&self.here.state);
            let mut reader = Reader {
                scan: Scan {
                    text: self.window.text(),
                    at: self.here.at,
                    line: self.here.line,
                    base: self.window.base,
                    last: self.window.is_last(),
                },
                state: &mut self.next,
                events: &mut self.fresh,
                depth: DEPTH.min(self.limits.depth.saturating_sub(1)),
            };
            match reader.entry() {
                Ok(ended) => {
                    let (at, line) = (reader.scan.at, reader.scan.line);
                    self.ended = ended;
                    self.advance(at, line);
                    return true;
                }
                Err(Stop::More) => {
                    let long = self.window.text().len() - self.here.at > self.limits.scalar;
                    if long || !self.window.widen(self.here.at) {
                        return false;
                    }
                }
                Err(Stop::Unsure) => return false,
            }
        }
    }

    /// Accepts an entry that was understood: the one before it can be returned.
    fn advance(&mut self, at: usize, line: u64) {
        std::mem::swap(&mut self.ready, &mut self.held);
        std::mem::swap(&mut self.held, &mut self.fresh);
        std::mem::swap(&mut self.back, &mut self.here);
        self.here.at = at;
        self.here.line = line;
        self.here.state.copy_from(&self.next);
        if self.ended {
            self.ready.append(&mut self.held);
        }
    }

    /// Leaves the rest to the parser.
    pub fn hand_over(self) -> Parsed<R> {
        let (before, events) = self.back.state.way_here();
        let lines = before.iter().filter(|b| **b == b'\n').count();
        let bytes = self.window.base + self.back.at;
        let shift = Shift {
            lines: self.back.line as i64 - 1 - lines as i64,
            bytes: bytes as i64 - before.len() as i64,
        };
        let rest = self.window.into_rest(self.back.at, before);
        Parsed::resumed(rest, self.limits, events, shift)
    }
}

/// Reads one entry: a line, and the lines in which the scalar at its end continues.
struct Reader<'r> {
    scan: Scan<'r>,
    state: &'r mut State,
    events: &'r mut VecDeque<Event>,
    depth: usize,
}

impl Reader<'_> {
    /// Reads the next entry; returns true at the end of the document.
    fn entry(&mut self) -> Result<bool, Stop> {
        if self.scan.is_end()? {
            return self.end();
        }
        let column = self.scan.spaces()?;
        let first = self.scan.peek()?;
        let second = self.scan.peek_second()?;
        let item = first == b'-' && second == b' ';
        let marker = column == 0 && matches!((first, second), (b'-', b'-') | (b'.', b'.'));
        if marker || (first == b'-' && second == b'\n') {
            return Err(Stop::Unsure);
        }
        self.arrive(column, item)?;
        if item {
            self.item(column)?;
        } else {
            self.member(column)?;
        }
        if self.state.open.len() > self.depth { Err(Stop::Unsure) } else { Ok(false) }
    }

    fn end(&mut self) -> Result<bool, Stop> {
        if self.state.pending || self.state.open.is_empty() {
            return Err(Stop::Unsure);
        }
        while let Some(level) = self.state.open.pop() {
            self.close(level);
        }
        self.add(What::DocumentEnd);
        Ok(true)
    }

    /// Goes to the collection to which an entry at this column belongs.
    fn arrive(&mut self, column: usize, item: bool) -> Result<(), Stop> {
        let Some(top) = self.state.open.last().copied() else {
            if column > 0 || item {
                return Err(Stop::Unsure);
            }
            self.add(What::DocumentStart);
            self.open_mapping(0);
            return Ok(());
        };
        if std::mem::take(&mut self.state.pending) {
            // The parser places a sequence where the first item's text begins.
            return match (item, column) {
                (true, column) if column == top.column => {
                    self.state.open.push(Level { mapping: false, column });
                    self.scan.at += 2;
                    self.add(What::SequenceStart(Layout::Block, Node::default()));
                    self.scan.at -= 2;
                    Ok(())
                }
                (false, column) if column > top.column => {
                    self.open_mapping(column);
                    Ok(())
                }
                _ => Err(Stop::Unsure),
            };
        }
        while let Some(level) = self.state.open.last().copied() {
            if level.column == column && level.mapping != item {
                return Ok(());
            }
            if level.column < column || level.mapping && level.column == column {
                break;
            }
            self.close(level);
            self.state.open.pop();
        }
        Err(Stop::Unsure)
    }

    /// Reads an item of a sequence, from its `-` on.
    fn item(&mut self, column: usize) -> Result<(), Stop> {
        self.scan.at += 2;
        let (start, line) = (self.scan.at, self.scan.line);
        let is_key = match self.scan.peek()? {
            b'\'' | b'"' => {
                let at = self.scan.position();
                let (text, spelling) = self.quoted(column)?;
                if self.scan.peek()? == b'\n' {
                    self.scan.end_line()?;
                    return self.add_quoted(text, spelling, at);
                }
                true
            }
            _ => self.scan.key()?.is_some(),
        };
        if !is_key {
            return self.value(column);
        }
        (self.scan.at, self.scan.line) = (start, line);
        self.open_mapping(column + 2);
        self.member(column + 2)
    }

    /// Reads a key and its value.
    fn member(&mut self, column: usize) -> Result<(), Stop> {
        let (start, line) = (self.scan.at, self.scan.line);
        let at = self.scan.position();
        let (text, spelling) = match self.scan.peek()? {
            b'\'' | b'"' => self.quoted(column)?,
            _ => {
                let key = self.scan.key()?.ok_or(Stop::Unsure)?;
                (key.to_vec(), ScalarStyle::Plain)
            }
        };
        if self.scan.line > line || self.scan.at - start > KEY {
            return Err(Stop::Unsure);
        }
        self.push(What::Scalar(Text::from_wtf8(text), spelling, Node::default()), at);
        match (self.scan.peek()?, self.scan.peek_second()?) {
            (b':', b'\n') => {
                self.scan.at += 1;
                self.state.pending = true;
                self.scan.end_line()
            }
            (b':', b' ') => {
                self.scan.at += 2;
                self.value(column)
            }
            _ => Err(Stop::Unsure),
        }
    }

    /// Reads a value that ends its line; lines in which it continues are deeper than `column`.
    fn value(&mut self, column: usize) -> Result<(), Stop> {
        let at = self.scan.position();
        match self.scan.peek()? {
            b'\'' | b'"' => {
                let (text, spelling) = self.quoted(column)?;
                self.scan.end_line()?;
                self.add_quoted(text, spelling, at)
            }
            bracket @ (b'[' | b'{') => self.empty(bracket),
            _ => {
                let (text, end) = self.scan.plain(column)?;
                let text = Text::from_wtf8(text);
                let what = What::Scalar(text, ScalarStyle::Plain, Node::default());
                self.events.push_back(Event { what, at, end });
                Ok(())
            }
        }
    }

    fn quoted(&mut self, column: usize) -> Result<(Vec<u8>, ScalarStyle), Stop> {
        if self.scan.peek()? == b'"' {
            Ok((self.scan.double(column)?, ScalarStyle::DoubleQuoted))
        } else {
            Ok((self.scan.single(column)?, ScalarStyle::SingleQuoted))
        }
    }

    /// Adds a quoted scalar whose line was ended.
    fn add_quoted(
        &mut self,
        text: Vec<u8>,
        spelling: ScalarStyle,
        at: Position,
    ) -> Result<(), Stop> {
        let what = What::Scalar(Text::from_wtf8(text), spelling, Node::default());
        let end = self.scan.line_before();
        self.events.push_back(Event { what, at, end });
        Ok(())
    }

    /// Reads `[]` or `{}`.
    fn empty(&mut self, bracket: u8) -> Result<(), Stop> {
        let (start, end, closing) = if bracket == b'[' {
            let start = What::SequenceStart(Layout::Flow, Node::default());
            (start, What::SequenceEnd, b']')
        } else {
            (What::MappingStart(Layout::Flow, Node::default()), What::MappingEnd, b'}')
        };
        for (what, wanted) in [(start, bracket), (end, closing)] {
            let at = self.scan.position();
            if self.scan.peek()? != wanted {
                return Err(Stop::Unsure);
            }
            self.scan.at += 1;
            self.push(what, at);
        }
        self.scan.end_line()
    }

    fn open_mapping(&mut self, column: usize) {
        self.state.open.push(Level { mapping: true, column });
        self.add(What::MappingStart(Layout::Block, Node::default()));
    }

    fn close(&mut self, level: Level) {
        self.add(if level.mapping { What::MappingEnd } else { What::SequenceEnd });
    }

    /// Adds an event without extent.
    fn add(&mut self, what: What) {
        self.push(what, self.scan.position());
    }

    /// Adds an event that ends here.
    fn push(&mut self, what: What, at: Position) {
        self.events.push_back(Event { what, at, end: self.scan.position() });
    }
}
