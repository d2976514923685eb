//! Division of a file of turns into blocks of lines, by the layout of `yaml.dump`: a member of the
//! top, a turn, the key of a turn's messages, a message. A line that begins none of these belongs
//! to the block before it.
//!
//! In that layout no line inside of a block looks like the beginning of a block: texts that go on
//! over lines are indented further.

use super::super::file::is_known;
use super::block::{Block, Kind, Piece};
use super::clean::{Clean, Found, Line};
use super::line::{glued, is_document, is_message, is_turn, key, member};
use super::merged::apart;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::Cx;
use crate::lines::BOM;
use crate::position::Position;
use std::collections::{HashSet, VecDeque};
use std::io::Read;

/// The list that lines belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Other,
    Turns,
    Messages,
}

/// Position of lines in the file.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    section: Section,
    /// Indentation of turns or messages, once one was seen.
    indent: Option<usize>,
    /// Whether a turn was seen that begins with its dash.
    dashed: bool,
}

impl List {
    fn of(section: Section) -> Self {
        Self { section, ..Self::default() }
    }

    /// Whether a line can only belong to this list, whatever came before the line.
    fn goes_on(self, bare: &str, indent: usize) -> bool {
        match self.section {
            Section::Other => false,
            Section::Turns => is_turn(bare) && self.indent.unwrap_or(indent) == indent,
            Section::Messages => {
                (1..=3).contains(&indent) && (is_message(bare) || key(bare).is_some())
            }
        }
    }

    /// Whether a line with this member of the top is within this list, as the line behind it
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
            // Texts have blank lines, but the software writes none before a list.
            (Section::Messages, _) => bare.is_empty() || inner && !is_turn(bare),
        }
    }
}

/// Walk over a file, block by block.
pub struct Blocks {
    lines: Clean,
    list: List,
    /// The list that a member of the top ended, if that member may be inside of the list.
    ended_list: Option<List>,
    /// Members of the top that were seen.
    names: HashSet<String>,
    /// The block that has not ended yet.
    open: Option<Block>,
    /// A member of the top that may be a stray line inside of a list, with its name.
    held: Option<(String, Line)>,
    /// Whether the line before this one is between documents.
    parted: bool,
    /// The text behind a lost line ending.
    rest: Option<Line>,
    /// Turns that were merged into one block, from the second on.
    merged: VecDeque<Block>,
}

impl Blocks {
    /// Walks over a part.
    pub fn over(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Self> {
        let lines = Clean::over(part, cx)?;
        Ok(Self {
            lines,
            list: List::default(),
            ended_list: None,
            names: HashSet::new(),
            open: None,
            held: None,
            parted: false,
            rest: None,
            merged: VecDeque::new(),
        })
    }

    /// Returns the next piece, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Piece>> {
        loop {
            if let Some(block) = self.merged.pop_front() {
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
                        self.merged.extend(apart(block));
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

    /// Adds a line to its block, or returns a line that belongs to no block: one between documents,
    /// or the name of a list that is within a list.
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

    /// Whether a member of the top may be a stray line inside of a list: the name of a list, or a
    /// member that was there before.
    fn is_doubtful(&self, name: &str, rest: &str) -> bool {
        let names = matches!(name, "turns" | "messages");
        if rest.is_empty() { names } else { !names && self.names.contains(name) }
    }

    /// Adds a line that belongs to a block.
    fn take(&mut self, line: Line) {
        let lost = self.unnamed(&text_of(&line));
        self.merged.extend(lost.into_iter().flat_map(apart));
        let (line, terminated) = self.divided(line);
        let ended = self.add(line, terminated);
        self.merged.extend(ended.into_iter().flat_map(apart));
    }

    /// Opens a list whose name line is lost, at its first turn, or at a key with this message
    /// behind it; returns the blocks before. Lines of a text are never so close to the margin.
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

    /// Ends the open block, which may end in the rest of a lost name line, and begins the list of
    /// that name.
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

    /// Returns the line, or the part before the place where a line ending was lost: the line that
    /// names a list contains nothing else.
    fn divided(&mut self, (mut line, terminated): Line) -> Line {
        let glued = line.first_mut().and_then(|(at, bytes)| Some((*at, glued(bytes)?, bytes)));
        let Some((at, place, bytes)) = glued else { return (line, terminated) };
        let behind = (at.plus(place), bytes.split_off(place));
        let rest = [behind].into_iter().chain(line.drain(1..)).collect();
        self.rest = Some((rest, terminated));
        (line, false)
    }

    /// Adds a line to the open block or begins one; returns the block that the line ends.
    fn add(&mut self, line: Vec<(Position, Vec<u8>)>, terminated: bool) -> Option<Block> {
        let text = joined(&line);
        let kind = self.begins(&text);
        // Text of a document that is not a session does not belong to the block before it.
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

    /// Returns the kind of the block that begins with this line, if one does.
    fn begins(&mut self, line: &str) -> Option<Kind> {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let item = bare == "-" || bare.starts_with("- ");
        if !item && (indent == 0 || self.is_askew(bare, indent)) {
            let (name, rest) = member(bare)?;
            return Some(self.top(name, rest));
        }
        if let Some(left) = self.ended_list.filter(|left| left.goes_on(bare, indent)) {
            // A line within a list is not a member of the top.
            (self.list, self.ended_list) = (left, None);
            self.open.iter_mut().for_each(|open| open.kind = Kind::Between);
        }
        // Nothing in an item is further left than the item, so such a line is not part of it.
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
            // No member of a message is so far to the left.
            Section::Messages if self.is_beside(bare, indent) => Some(Kind::Message),
            Section::Messages if (1..=3).contains(&indent) && !item => {
                key(bare).map(|(name, _)| Kind::Key(name.to_owned()))
            }
            _ => None,
        }
    }

    /// Begins a member of the top.
    fn top(&mut self, name: &str, rest: &str) -> Kind {
        let list = List::of(match (name, rest) {
            ("turns", "") => Section::Turns,
            ("messages", "") => Section::Messages,
            _ => Section::Other,
        });
        let again = !self.names.insert(name.to_owned());
        let ended = self.list.section != Section::Other && list.section == Section::Other;
        self.ended_list = Some(self.list).filter(|_| ended && (again || !is_known(name)));
        self.list = list;
        Kind::Top(name.to_owned())
    }

    /// Begins a block that belongs to no session.
    fn between(&mut self) -> Kind {
        (self.list, self.ended_list) = (List::default(), None);
        Kind::Between
    }

    /// Whether the line is a member of the top with one space before it: continued texts are
    /// further to the right. Turns have members of the same names.
    fn is_askew(&self, bare: &str, indent: usize) -> bool {
        let Some((name, rest)) = member(bare).filter(|_| indent == 1) else { return false };
        match self.list.section {
            Section::Other => is_known(name),
            Section::Turns => name == "system_prompt" || (name, rest) == ("messages", ""),
            Section::Messages => false,
        }
    }

    /// Whether the line begins a message that is one space too far to the right.
    fn is_beside(&self, bare: &str, indent: usize) -> bool {
        self.list.indent.is_some_and(|own| indent == own + 1) && is_message(bare)
    }

    /// Begins the first turn, if the line with its dash is lost and this line is a member of it.
    /// The rest of a text that the lost line began is further right than members are.
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

/// Returns the text of a line without its ending.
fn text_of((line, _): &Line) -> String {
    joined(line)
}

/// The text of a line in pieces, without its ending.
fn joined(line: &[(Position, Vec<u8>)]) -> String {
    let bytes: Vec<u8> = line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned()
}

/// Makes a piece of a line that belongs to no block.
fn stray((line, _): Line) -> Option<Piece> {
    let (at, bytes) = line.into_iter().next()?;
    Some(Piece::Aside(bytes, at, Code::StraySetAside))
}
