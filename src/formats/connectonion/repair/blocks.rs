//! A file of turns as blocks of lines, by the layout of `yaml.dump`: a member of the top, a turn, the
//! key of a turn's messages, a message. What begins none of these belongs to the block before it.
//!
//! In that layout nothing inside of a block begins where a block begins: texts that go on over lines
//! are indented further.

use super::super::file::is_known;
use super::melted::apart;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::Cx;
use crate::lines::{BOM, Lines};
use crate::position::Position;
use std::collections::VecDeque;
use std::io::Read;
use std::ops::Range;

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A member of the top, with its name.
    Top(String),
    /// A turn.
    Turn,
    /// The key of the messages of a turn.
    Key(String),
    /// A message.
    Message,
    /// What stands before the first member.
    Before,
    /// The line between two documents, and what follows it before a member does.
    Between,
}

/// A piece of the file.
#[derive(Debug)]
pub enum Piece {
    /// A block.
    Block(Block),
    /// What belongs to none: the marks of a merge and one of its sides, NUL bytes.
    Aside(Vec<u8>, Position, Code),
}

/// A block with its lines.
#[derive(Debug)]
pub struct Block {
    /// What it is.
    pub kind: Kind,
    /// Its lines, with their ends.
    pub bytes: Vec<u8>,
    /// Whether the last line ends.
    pub terminated: bool,
    /// Where pieces of it stand in the file, by where they begin in it.
    places: Vec<(usize, Position)>,
}

impl Block {
    /// Where it begins.
    #[must_use]
    pub fn at(&self) -> Position {
        self.places.first().map(|(_, at)| *at).unwrap_or_default()
    }

    /// Whether it stands nowhere in the file.
    #[must_use]
    pub fn is_put_in(&self) -> bool {
        self.places.is_empty()
    }

    /// Its last line so far, with its end.
    fn last_line(&self) -> &[u8] {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let start = memchr::memrchr(b'\n', text).map_or(0, |end| end + 1);
        self.bytes.get(start..).unwrap_or_default()
    }

    /// Whether it is a text that a person laid out in lines of its own.
    fn is_of_text(&self) -> bool {
        let line = self.bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        line.trim_ascii_end().ends_with(b"|") || line.trim_ascii_end().ends_with(b"|-")
    }

    /// The pieces of a range, each with its place in the file.
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (Position, &[u8])> {
        let ends = self.places.iter().skip(1).map(|(start, _)| *start).chain([self.bytes.len()]);
        self.places.iter().zip(ends).filter_map(move |((start, at), end)| {
            let (from, to) = (range.start.max(*start), range.end.min(end));
            let bytes = self.bytes.get(from..to).filter(|bytes| !bytes.is_empty())?;
            Some((at.plus(from - start), bytes))
        })
    }

    /// Leaves what stands before a line, and gives what begins with it.
    pub fn split_off(&mut self, start: usize) -> Self {
        let first = self.places.partition_point(|(place, _)| *place < start);
        let places = self.places.split_off(first);
        let places = places.into_iter().map(|(place, at)| (place - start, at)).collect();
        let bytes = self.bytes.split_off(start);
        let terminated = std::mem::replace(&mut self.terminated, true);
        Self { kind: self.kind.clone(), bytes, terminated, places }
    }

    fn add(&mut self, pieces: Vec<(Position, Vec<u8>)>, terminated: bool) {
        for (at, bytes) in pieces {
            self.places.push((self.bytes.len(), at));
            self.bytes.extend_from_slice(&bytes);
        }
        self.terminated = terminated;
    }
}

/// Where in the file lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Other,
    Turns,
    Messages,
}

/// A line in pieces, for something else may have stood in it, each with its place; and whether the
/// line ends.
pub type Line = (Vec<(Position, Vec<u8>)>, bool);

/// What a walk over lines gives.
pub enum Found {
    /// A line.
    Line(Line),
    /// What belongs to none.
    Aside(Vec<u8>, Position, Code),
}

/// Lines without what surely is none of theirs: the marks of a merge with one of its sides, and NUL
/// bytes.
pub struct Clean {
    lines: Lines<Box<dyn Read>>,
    /// The pieces of a line that is not ended yet.
    begun: Vec<(Position, Vec<u8>)>,
    /// The rest of a line that was begun, and whether it ends.
    rest: Option<(Position, Vec<u8>, bool)>,
    /// Whether the first side of a merge is open, and whether the second is.
    merging: (bool, bool),
}

impl Clean {
    /// Over a part.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn over(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Self> {
        let mut lines = Lines::new(part, cx.options.max_line);
        lines.skip_bom()?;
        Ok(Self { lines, begun: Vec::new(), rest: None, merging: (false, false) })
    }

    /// The next line, or what is none, or `None` at the end.
    ///
    /// # Errors
    /// If the part cannot be read.
    pub fn next(&mut self) -> Result<Option<Found>> {
        let Some((at, mut bytes, terminated)) = self.line()? else {
            let begun = std::mem::take(&mut self.begun);
            return Ok((!begun.is_empty()).then_some(Found::Line((begun, false))));
        };
        let aside = self.merged(&mut bytes, at);
        if let Some(aside) = aside.or_else(|| self.nuls(&mut bytes, at, terminated)) {
            return Ok(Some(aside));
        }
        let mut line = std::mem::take(&mut self.begun);
        line.push((at, bytes));
        Ok(Some(Found::Line((line, terminated))))
    }

    /// The next line, or the rest of one.
    fn line(&mut self) -> Result<Option<(Position, Vec<u8>, bool)>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        Ok(self.lines.next()?.map(|line| {
            let end: &[u8] = if line.terminated { b"\n" } else { b"" };
            (line.at, [line.bytes, end].concat(), line.terminated)
        }))
    }

    /// Takes the marks of a merge out of a line: gives what goes, and leaves what stays.
    fn merged(&mut self, line: &mut Vec<u8>, at: Position) -> Option<Found> {
        let text = line.trim_ascii_end();
        let aside = |bytes, at| Some(Found::Aside(bytes, at, Code::MergeRemoved));
        if self.merging.1 {
            if text.starts_with(b">>>>>>> ") {
                self.merging = (false, false);
            }
            return aside(std::mem::take(line), at);
        }
        if text.starts_with(b"<<<<<<< ") {
            self.merging = (true, false);
            return aside(std::mem::take(line), at);
        }
        let kept = text.strip_suffix(b"=======").filter(|_| self.merging.0)?.len();
        self.merging.1 = true;
        let gone = line.split_off(kept);
        if kept > 0 {
            self.begun.push((at, std::mem::take(line)));
        }
        aside(gone, at.plus(kept))
    }

    /// Takes a run of NUL bytes at the beginning of a line out of it, likewise. What stands before a
    /// run in its line is torn.
    fn nuls(&mut self, line: &mut Vec<u8>, at: Position, terminated: bool) -> Option<Found> {
        let length = line.iter().take_while(|b| **b == 0).count();
        if length == 0 || !self.begun.is_empty() {
            return None;
        }
        let rest = line.split_off(length);
        let mut run = std::mem::take(line);
        if rest.trim_ascii().is_empty() {
            run.extend_from_slice(&rest);
        } else {
            self.rest = Some((at.plus(length), rest, terminated));
        }
        Some(Found::Aside(run, at, Code::NulsRemoved))
    }
}

/// The walk over a file.
pub struct Blocks {
    lines: Clean,
    section: Section,
    /// How far turns or messages are indented, once one was seen.
    indent: Option<usize>,
    /// Whether a turn was seen that begins with its dash.
    dashed: bool,
    /// Whether the line was seen that names the messages.
    listed: bool,
    /// The block that is not ended yet.
    open: Option<Block>,
    /// What stood behind a lost line ending.
    rest: Option<Line>,
    /// Turns that stood in one, from the second on.
    melted: VecDeque<Block>,
}

impl Blocks {
    /// Over a part.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn over(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Self> {
        let lines = Clean::over(part, cx)?;
        Ok(Self {
            lines,
            section: Section::Other,
            indent: None,
            dashed: false,
            listed: false,
            open: None,
            rest: None,
            melted: VecDeque::new(),
        })
    }

    /// The next piece, or `None` at the end.
    ///
    /// # Errors
    /// If the part cannot be read.
    pub fn next(&mut self) -> Result<Option<Piece>> {
        loop {
            if let Some(block) = self.melted.pop_front() {
                return Ok(Some(Piece::Block(block)));
            }
            let found = match self.rest.take() {
                Some(rest) => Some(Found::Line(rest)),
                None => self.lines.next()?,
            };
            match found {
                None => {
                    let Some(block) = self.open.take() else { return Ok(None) };
                    self.melted.extend(apart(block));
                }
                Some(Found::Aside(bytes, at, code)) => {
                    return Ok(Some(Piece::Aside(bytes, at, code)));
                }
                Some(Found::Line(line)) => {
                    let lost = self.unnamed(&line);
                    self.melted.extend(lost.into_iter().flat_map(apart));
                    let (line, terminated) = self.divided(line);
                    let ended = self.add(line, terminated);
                    self.melted.extend(ended.into_iter().flat_map(apart));
                }
            }
        }
    }

    /// Opens the lists of messages of which the line that names them is lost, at a key with this
    /// message behind it; gives what stands before the key. Lines of a text are not so close.
    fn unnamed(&mut self, (line, _): &Line) -> Vec<Block> {
        let said = line.first().is_some_and(|(_, line)| line.starts_with(b"  - role:"));
        let free = said && !self.listed && self.section != Section::Messages;
        let Some(open) = self.open.as_mut().filter(|_| free) else { return Vec::new() };
        let text = String::from_utf8_lossy(open.last_line()).into_owned();
        let number = text.strip_prefix("  ").and_then(|text| key(text.trim_end()));
        let Some((number, "")) = number.filter(|_| !open.is_of_text()) else { return Vec::new() };
        let key = open.split_off(open.bytes.len() - open.last_line().len());
        let length = open.last_line().len();
        let last = String::from_utf8_lossy(open.last_line()).into_owned();
        let torn = !last.starts_with([' ', '#', '-']) && member(last.trim_end()).is_none();
        let torn = torn.then(|| open.split_off(open.bytes.len() - length));
        if matches!(&open.kind, Kind::Top(name) if !is_known(name)) && length == open.bytes.len() {
            open.kind = Kind::Between;
        }
        let torn = torn.map(|torn| Block { kind: Kind::Between, ..torn });
        let name = Kind::Top("messages".to_owned());
        let bytes = b"messages:\n".to_vec();
        let named = Block { kind: name, bytes, terminated: true, places: Vec::new() };
        let before = self.open.replace(Block { kind: Kind::Key(number.to_owned()), ..key });
        (self.section, self.indent, self.listed) = (Section::Messages, None, true);
        before
            .into_iter()
            .chain(torn)
            .chain([named])
            .filter(|block| !block.bytes.is_empty())
            .collect()
    }

    /// A line, or what stands before the place where it lost a line ending: no turn begins on the line
    /// that names them.
    fn divided(&mut self, (mut line, terminated): Line) -> Line {
        let name = b"turns:";
        let Some((at, bytes)) = line.first_mut() else { return (line, terminated) };
        let turn = bytes.strip_prefix(name).map(<[u8]>::trim_ascii_start);
        if !turn.is_some_and(|turn| turn.starts_with(b"- ")) {
            return (line, terminated);
        }
        let behind = (at.plus(name.len()), bytes.split_off(name.len()));
        let rest = [behind].into_iter().chain(line.drain(1..)).collect();
        self.rest = Some((rest, terminated));
        (line, false)
    }

    /// Takes a line in; gives the block that it ends.
    fn add(&mut self, line: Vec<(Position, Vec<u8>)>, terminated: bool) -> Option<Block> {
        let bytes: Vec<u8> = line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let text = String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
        let later = line.first().is_some_and(|(at, _)| at.byte > BOM.len() as u64);
        let kind = if later && is_document(&text) {
            self.section = Section::Other;
            Some(Kind::Between)
        } else {
            self.begins(&text)
        };
        let empty = |kind| Block { kind, bytes: Vec::new(), terminated, places: Vec::new() };
        let ended = match (kind, &self.open) {
            (Some(kind), _) => self.open.replace(empty(kind)),
            (None, None) => self.open.replace(empty(Kind::Before)),
            (None, Some(_)) => None,
        };
        if let Some(open) = &mut self.open {
            open.add(line, terminated);
        }
        ended
    }

    /// What begins with this line.
    fn begins(&mut self, line: &str) -> Option<Kind> {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let item = bare == "-" || bare.starts_with("- ");
        if !item && (indent == 0 || self.is_askew(bare, indent)) {
            let (name, rest) = member(bare)?;
            (self.indent, self.dashed) = (None, false);
            self.listed |= name == "messages";
            self.section = match (name, rest) {
                ("turns", "") => Section::Turns,
                ("messages", "") => Section::Messages,
                _ => Section::Other,
            };
            return Some(Kind::Top(name.to_owned()));
        }
        // Nothing in an item stands further left than it, so one that does is none that was in one.
        let own = self.indent.is_none_or(|own| indent <= own);
        match self.section {
            Section::Turns if item && own => {
                (self.indent, self.dashed) = (Some(indent), true);
                Some(Kind::Turn)
            }
            Section::Turns if !item && !self.dashed => self.headless(bare, indent),
            Section::Messages if item && own && indent > 0 => {
                self.indent = Some(indent);
                Some(Kind::Message)
            }
            // No member of a message stands so far to the left.
            Section::Messages if self.is_beside(bare, indent) => Some(Kind::Message),
            Section::Messages if (1..=3).contains(&indent) && !item => {
                let (name, rest) = key(bare)?;
                matches!(rest, "" | "[]" | "null").then(|| Kind::Key(name.to_owned()))
            }
            _ => None,
        }
    }

    /// Whether this is a member of the top with a space before it: texts that go on stand further to
    /// the right. Turns have members of the same names.
    fn is_askew(&self, bare: &str, indent: usize) -> bool {
        let Some((name, rest)) = member(bare).filter(|_| indent == 1 || self.open.is_none()) else {
            return false;
        };
        match self.section {
            Section::Other => is_known(name),
            Section::Turns => name == "system_prompt" || (name, rest) == ("messages", ""),
            Section::Messages => false,
        }
    }

    /// Whether a message begins here whose first line stands a space too far to the right.
    fn is_beside(&self, bare: &str, indent: usize) -> bool {
        self.indent.is_some_and(|own| indent == own + 1) && bare.starts_with("- role:")
    }

    /// The first turn, if the line with its dash is lost and this line is a member of it. The rest of
    /// a text that the lost line began stands further right than members do.
    fn headless(&mut self, bare: &str, indent: usize) -> Option<Kind> {
        let turn =
            indent.checked_sub(2).filter(|_| key(bare).is_none() && member(bare).is_some())?;
        if self.indent.is_some_and(|own| turn >= own) {
            return None;
        }
        self.indent = Some(turn);
        Some(Kind::Turn)
    }
}

/// The name of a member that begins with this line, and what follows it.
pub fn member(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = !name.is_empty() && name.chars().all(plain);
    (fits && (rest.is_empty() || rest.starts_with(' '))).then_some((name, rest.trim()))
}

/// The number of a turn whose messages follow.
fn key(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once(':')?;
    let bare = name.trim_matches(['\'', '"']);
    let fits = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
    (fits && (rest.is_empty() || rest.starts_with(' '))).then_some((bare, rest.trim()))
}

/// Whether a line begins another document, or ends one.
fn is_document(line: &str) -> bool {
    matches!(line, "---" | "...") || line.starts_with("--- ")
}
