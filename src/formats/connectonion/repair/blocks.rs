//! A file of turns as blocks of lines, by the layout of `yaml.dump`: a member of the top, a turn, the
//! key of a turn's messages, a message. What begins none of these belongs to the block before it.
//!
//! In that layout nothing inside of a block begins where a block begins: texts that go on over lines
//! are indented further.

use super::super::file::is_known;
use super::clean::{Clean, Found, Line};
use super::line::{glued, is_document, is_message, is_turn, key, member};
use super::melted::apart;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::Cx;
use crate::lines::BOM;
use crate::position::Position;
use std::collections::{HashSet, VecDeque};
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
    /// What belongs to none of these, as what stands behind a line between documents.
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

/// What lines are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Other,
    Turns,
    Messages,
}

/// Where in the file lines are.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    section: Section,
    /// How far turns or messages are indented, once one was seen.
    indent: Option<usize>,
    /// Whether a turn was seen that begins with its dash.
    dashed: bool,
}

impl List {
    fn of(section: Section) -> Self {
        Self { section, ..Self::default() }
    }

    /// Whether a line can only be one of this list, whatever stood before it.
    fn goes_on(self, bare: &str, indent: usize) -> bool {
        match self.section {
            Section::Other => false,
            Section::Turns => is_turn(bare) && self.indent.unwrap_or(indent) == indent,
            Section::Messages => {
                (1..=3).contains(&indent) && (is_message(bare) || key(bare).is_some())
            }
        }
    }

    /// Whether a line with this member of the top stands within this list, as the line behind it
    /// shows.
    fn holds(self, name: &str, bare: &str, indent: usize) -> bool {
        let names = matches!(name, "turns" | "messages");
        let inner =
            names || bare.starts_with("- ") || member(bare).is_some() || key(bare).is_some();
        let inner = inner && indent > 0;
        match (self.section, name) {
            (Section::Other, _) => false,
            (Section::Turns, "turns") | (Section::Messages, "messages") => true,
            (Section::Turns, _) => {
                is_turn(bare) || inner && !(is_message(bare) || key(bare).is_some())
            }
            // Texts have blank lines, and nothing of the software's does before a list.
            (Section::Messages, _) => bare.is_empty() || inner && !is_turn(bare),
        }
    }
}

/// The walk over a file.
pub struct Blocks {
    lines: Clean,
    list: List,
    /// The list that a member of the top ended which may be none.
    left: Option<List>,
    /// Members of the top that were seen.
    names: HashSet<String>,
    /// The block that is not ended yet.
    open: Option<Block>,
    /// A member of the top that may have come into a list from elsewhere, with its name.
    held: Option<(String, Line)>,
    /// Whether the line before this one stands between documents.
    parted: bool,
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
            list: List::default(),
            left: None,
            names: HashSet::new(),
            open: None,
            held: None,
            parted: false,
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
                None => match self.held.take() {
                    Some((_, held)) => self.take(held),
                    None => {
                        let Some(block) = self.open.take() else { return Ok(None) };
                        self.melted.extend(apart(block));
                    }
                },
                Some(Found::Aside(bytes, at, code)) => {
                    return Ok(Some(Piece::Aside(bytes, at, code)));
                }
                Some(Found::Line(line)) => {
                    if let Some(stray) = self.line(line) {
                        return Ok(Some(stray));
                    }
                }
            }
        }
    }

    /// Takes a line in, or gives one that is of no block: one between documents, or the name of a
    /// list that stands within one.
    fn line(&mut self, line: Line) -> Option<Piece> {
        let text = text_of(&line);
        let bare = text.trim_start_matches(' ');
        if let Some((name, held)) = self.held.take() {
            if self.list.holds(&name, bare, text.len() - bare.len()) {
                self.rest = Some(line);
                return stray(held);
            }
            self.take(held);
        }
        let later = line.0.first().is_some_and(|(at, _)| at.byte > BOM.len() as u64);
        let alone = line.0.len() == 1;
        if alone && later && is_document(&text) {
            self.parted = true;
            return stray(line);
        }
        match member(&text).filter(|_| alone && self.list.section != Section::Other) {
            Some((name, rest)) if self.is_doubtful(name, rest) => {
                self.held = Some((name.to_owned(), line));
            }
            _ => self.take(line),
        }
        None
    }

    /// Whether a member of the top may have come into a list from elsewhere: the name of a list, or a
    /// member that was there before.
    fn is_doubtful(&self, name: &str, rest: &str) -> bool {
        let names = matches!(name, "turns" | "messages");
        if rest.is_empty() { names } else { !names && self.names.contains(name) }
    }

    /// Takes a line of a block in.
    fn take(&mut self, line: Line) {
        let lost = self.unnamed(&text_of(&line));
        self.melted.extend(lost.into_iter().flat_map(apart));
        let (line, terminated) = self.divided(line);
        let ended = self.add(line, terminated);
        self.melted.extend(ended.into_iter().flat_map(apart));
    }

    /// Opens a list of which the line that names it is lost, at its first turn or at a key with this
    /// message behind it; gives what stands before. Lines of a text are not so close.
    fn unnamed(&mut self, line: &str) -> Vec<Block> {
        let bare = line.trim_start_matches(' ');
        let free = |name: &str| !self.names.contains(name);
        if self.list.section == Section::Other
            && free("turns")
            && is_turn(bare)
            && line.len() - bare.len() <= 2
        {
            return self.name("turns", Section::Turns);
        }
        let said = line.starts_with("  - role:");
        let free = said && free("messages") && self.list.section != Section::Messages;
        let Some(open) = self.open.as_mut().filter(|_| free) else { return Vec::new() };
        let text = String::from_utf8_lossy(open.last_line()).into_owned();
        let number = text.strip_prefix("  ").and_then(|text| key(text.trim_end()));
        let Some((number, "")) = number.filter(|_| !open.is_of_text()) else { return Vec::new() };
        let key = open.split_off(open.bytes.len() - open.last_line().len());
        let before = self.name("messages", Section::Messages);
        self.open = Some(Block { kind: Kind::Key(number.to_owned()), ..key });
        before
    }

    /// Ends the open block, which may end in what is left of a lost name, and begins the list that
    /// had it.
    fn name(&mut self, name: &str, section: Section) -> Vec<Block> {
        let mut open = self.open.take();
        let torn = open.as_mut().and_then(|open| {
            let last = String::from_utf8_lossy(open.last_line()).into_owned();
            let torn = !last.starts_with([' ', '#', '-']) && member(last.trim_end()).is_none();
            let start = open.bytes.len() - open.last_line().len();
            match &open.kind {
                _ if torn => return Some(Block { kind: Kind::Between, ..open.split_off(start) }),
                Kind::Top(name) if start == 0 && !is_known(name) => open.kind = Kind::Between,
                _ => {}
            }
            None
        });
        self.list = List::of(section);
        self.names.insert(name.to_owned());
        let bytes = format!("{name}:\n").into_bytes();
        let kind = Kind::Top(name.to_owned());
        let named = Block { kind, bytes, terminated: true, places: Vec::new() };
        let all = open.into_iter().chain(torn).chain([named]);
        all.filter(|block| !block.bytes.is_empty()).collect()
    }

    /// A line, or what stands before the place where it lost a line ending: nothing else stands on
    /// the line that names a list.
    fn divided(&mut self, (mut line, terminated): Line) -> Line {
        let glued = line.first_mut().and_then(|(at, bytes)| Some((*at, glued(bytes)?, bytes)));
        let Some((at, place, bytes)) = glued else { return (line, terminated) };
        let behind = (at.plus(place), bytes.split_off(place));
        let rest = [behind].into_iter().chain(line.drain(1..)).collect();
        self.rest = Some((rest, terminated));
        (line, false)
    }

    /// Takes a line in; gives the block that it ends.
    fn add(&mut self, line: Vec<(Position, Vec<u8>)>, terminated: bool) -> Option<Block> {
        let text = joined(&line);
        let kind = self.begins(&text);
        // Of a document of something else nothing belongs to the block before it.
        let parted = std::mem::take(&mut self.parted) && !text.starts_with([' ', '#']);
        let kind = kind.or_else(|| (parted && !text.is_empty()).then(|| self.between()));
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
            return Some(self.top(name, rest));
        }
        if let Some(left) = self.left.filter(|left| left.goes_on(bare, indent)) {
            // What stands within a list is no member of the top.
            (self.list, self.left) = (left, None);
            self.open.iter_mut().for_each(|open| open.kind = Kind::Between);
        }
        // Nothing in an item stands further left than it, so one that does is none that was in one.
        let own = self.list.indent.is_none_or(|own| indent <= own);
        match self.list.section {
            Section::Turns if item && own => {
                (self.list.indent, self.list.dashed) = (Some(indent), true);
                Some(Kind::Turn)
            }
            Section::Turns if !item && !self.list.dashed => self.headless(bare, indent),
            Section::Messages if item && own && indent > 0 => {
                self.list.indent = Some(indent);
                Some(Kind::Message)
            }
            // No member of a message stands so far to the left.
            Section::Messages if self.is_beside(bare, indent) => Some(Kind::Message),
            Section::Messages if (1..=3).contains(&indent) && !item => {
                key(bare).map(|(name, _)| Kind::Key(name.to_owned()))
            }
            _ => None,
        }
    }

    /// A member of the top begins.
    fn top(&mut self, name: &str, rest: &str) -> Kind {
        let list = List::of(match (name, rest) {
            ("turns", "") => Section::Turns,
            ("messages", "") => Section::Messages,
            _ => Section::Other,
        });
        let again = !self.names.insert(name.to_owned());
        let ended = self.list.section != Section::Other && list.section == Section::Other;
        self.left = Some(self.list).filter(|_| ended && (again || !is_known(name)));
        self.list = list;
        Kind::Top(name.to_owned())
    }

    /// What is no session's begins.
    fn between(&mut self) -> Kind {
        (self.list, self.left) = (List::default(), None);
        Kind::Between
    }

    /// Whether this is a member of the top with a space before it: texts that go on stand further to
    /// the right. Turns have members of the same names.
    fn is_askew(&self, bare: &str, indent: usize) -> bool {
        let Some((name, rest)) = member(bare).filter(|_| indent == 1) else { return false };
        match self.list.section {
            Section::Other => is_known(name),
            Section::Turns => name == "system_prompt" || (name, rest) == ("messages", ""),
            Section::Messages => false,
        }
    }

    /// Whether a message begins here whose first line stands a space too far to the right.
    fn is_beside(&self, bare: &str, indent: usize) -> bool {
        self.list.indent.is_some_and(|own| indent == own + 1) && is_message(bare)
    }

    /// The first turn, if the line with its dash is lost and this line is a member of it. The rest of
    /// a text that the lost line began stands further right than members do.
    fn headless(&mut self, bare: &str, indent: usize) -> Option<Kind> {
        let turn =
            indent.checked_sub(2).filter(|_| key(bare).is_none() && member(bare).is_some())?;
        if self.list.indent.is_some_and(|own| turn >= own) {
            return None;
        }
        self.list.indent = Some(turn);
        Some(Kind::Turn)
    }
}

/// The text of a line without its ending.
fn text_of((line, _): &Line) -> String {
    joined(line)
}

/// The same of its pieces.
fn joined(line: &[(Position, Vec<u8>)]) -> String {
    let bytes: Vec<u8> = line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned()
}

/// A line that is of no block.
fn stray((line, _): Line) -> Option<Piece> {
    let (at, bytes) = line.into_iter().next()?;
    Some(Piece::Aside(bytes, at, Code::StraySetAside))
}
