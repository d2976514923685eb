//! Files of turns: blocks that are whole stay, and what turns tell stands for messages that were
//! torn or lost.
//!
//! Two walks: the first says what is whole and what is known, the second writes. Of a turn its
//! question and its answer are kept between them, and of a file whose turns have lists the last one.

mod told;

use super::super::file::{Lists, Shape};
use super::blocks::{Block, Blocks, Kind, Piece};
use super::check::{Checked, check, is_bare, written};
use super::facts::{Facts, quoted};
use super::spell::{self, Notes};
use super::{State, finish, healthy, is_told, say};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Bench, Cx, Reach, Repaired, Wish};
use crate::json::Json;
use crate::lines::BOM;
use crate::position::Position;
use crate::repair::nothing_back;
use std::io::{Read, Write};
use std::ops::Range;

/// How far members of an item stand to the right of its dash.
const INDENT: usize = 2;

/// Repairs a file of turns.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(
    bench: &mut dyn Bench,
    shape: &'static Shape,
    state: &State,
    wish: &Wish,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let mut facts = Facts::new(shape);
    each(bench.parts().main()?, cx, &mut |piece, last| {
        match piece {
            Piece::Aside(..) => (facts.damaged, facts.removes) = (true, true),
            Piece::Block(block) => {
                let (checked, lossy) = checked(&block, last, state.foreign, &facts);
                facts.block(&block.kind, &block.bytes, last, &checked);
                facts.damaged |= lossy.is_some();
                facts.removes |= lossy.is_some();
            }
        }
        Ok(())
    })?;
    facts.decide();
    // A layout that is not that of the real software reads well, though its blocks do not.
    let odd = facts.broken > 0 || !(facts.torn || facts.twice || facts.removes);
    // What is wrong may be nothing that can be taken out or put in.
    if (state.reads && odd) || !facts.damaged {
        let records = state.records;
        return if state.unfinished { finish(bench, state, cx) } else { healthy(bench, records) };
    }
    if facts.records == 0 && facts.sections.is_empty() {
        return Err(nothing_back());
    }
    // Once for what is to be set aside, which needs its place before anything is written.
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut dry = Writing::new(None, &facts, wish, &quiet)?;
    dry.foreign = state.foreign;
    each(bench.parts().main()?, cx, &mut |piece, last| dry.piece(piece, last))?;
    let (removes, _) = dry.finish()?;
    if !is_told(&log) && !state.marked {
        return healthy(bench, state.records);
    }
    bench.begin(removes || state.marked)?;
    let source = bench.parts().main()?;
    let mut writing = Writing::new(Some(bench), &facts, wish, cx)?;
    writing.foreign = state.foreign;
    if state.marked {
        writing.aside(BOM, Position { line: 1, ..Position::default() }, Code::MarkRemoved)?;
    }
    each(source, cx, &mut |piece, last| writing.piece(piece, last))?;
    let (_, put) = writing.finish()?;
    let before = if state.reads { state.messages } else { 0 };
    let of = |messages| Reach { entries: facts.records, messages };
    let rescued = if state.reads { 0 } else { facts.records };
    Ok(Repaired { changed: true, records: facts.records, rescued, ..Repaired::default() }
        .reaching(Reach { entries: before, messages: before }, of(facts.messages + put)))
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|error| Error::io("cannot write", error))
}

/// Shows all pieces, each with whether it is the last block.
fn each(
    source: Box<dyn Read>,
    cx: &Cx<'_>,
    show: &mut dyn FnMut(Piece, bool) -> Result<()>,
) -> Result<()> {
    let mut blocks = Blocks::over(source, cx)?;
    let mut held: Option<Piece> = None;
    while let Some(piece) = blocks.next()? {
        match piece {
            Piece::Aside(..) => show(piece, false)?,
            Piece::Block(_) => {
                if let Some(before) = held.replace(piece) {
                    show(before, false)?;
                }
            }
        }
    }
    held.map_or(Ok(()), |last| show(last, true))
}

/// What is whole in a block; and the block in UTF-8, if it was to be and that makes it whole.
fn checked(block: &Block, last: bool, foreign: bool, facts: &Facts) -> (Checked, Option<Vec<u8>>) {
    let known = |text: &str| facts.is_known(text);
    let cut = !block.terminated;
    let found = check(&block.kind, &block.bytes, last, cut, &known);
    if facts.shape().lists == Lists::Behind && list_of(block, &found) == Some(List::Other) {
        return (Checked::default(), None);
    }
    if std::str::from_utf8(&block.bytes).is_err() {
        let text = String::from_utf8_lossy(&block.bytes).into_owned().into_bytes();
        let lossy = check(&block.kind, &text, last, cut, &known);
        if matches!(lossy.kept.as_slice(), [one] if one.len() == text.len()) {
            let says = lossy.says;
            let kept = vec![Range { start: 0, end: block.bytes.len() }];
            return (Checked { kept, says }, (!foreign).then_some(text));
        }
    }
    (found, None)
}

/// What stands in a member where the lists of messages belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    /// Nothing, so that lists may follow.
    Bare,
    /// The word that there are none: what followed would make no YAML.
    None,
    /// Lists, on the line itself.
    Here,
    /// What holds no lists.
    Other,
}

/// The same of a block, if it is that member.
fn list_of(block: &Block, found: &Checked) -> Option<List> {
    let value = found
        .says
        .as_ref()
        .filter(|_| matches!(&block.kind, Kind::Top(name) if name == "messages"))?;
    let value = value.member("messages")?;
    Some(match value.as_bytes() {
        b"null" if is_bare("messages", &block.bytes) => List::Bare,
        b"null" | b"{}" => List::None,
        [b'{', ..] => List::Here,
        _ => List::Other,
    })
}

/// The second walk.
struct Writing<'a> {
    /// `None` where it is only to be found out what would be done.
    bench: Option<&'a mut dyn Bench>,
    out: Box<dyn Write>,
    /// Whether anything was set aside.
    removes: bool,
    facts: &'a Facts,
    wish: &'a Wish,
    cx: &'a Cx<'a>,
    /// Whether the file is in another encoding than UTF-8.
    foreign: bool,
    /// How many members of the top were met, and turns and keys that stay.
    sections: usize,
    turns: usize,
    keys: usize,
    /// The last turn that messages were written of.
    written: u64,
    /// The member of the top that is open, if it stays.
    open: Option<String>,
    begun: bool,
    /// Messages that were put in.
    put: u64,
    /// Whether a key is open, whether its line says that it has no messages, and how many were
    /// written.
    keyed: bool,
    empty: bool,
    items: u64,
    notes: Notes,
}

impl<'a> Writing<'a> {
    fn new(
        mut bench: Option<&'a mut dyn Bench>,
        facts: &'a Facts,
        wish: &'a Wish,
        cx: &'a Cx<'a>,
    ) -> Result<Self> {
        Ok(Self {
            out: match &mut bench {
                Some(bench) => bench.create("")?,
                None => Box::new(std::io::sink()),
            },
            bench,
            removes: false,
            facts,
            wish,
            cx,
            foreign: false,
            sections: 0,
            turns: 0,
            keys: 0,
            written: 0,
            open: None,
            begun: false,
            put: 0,
            keyed: false,
            empty: false,
            items: 0,
            notes: Notes::default(),
        })
    }

    /// Sets bytes aside, and says so.
    fn aside(&mut self, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        say(code, at, self.cx);
        self.removes = true;
        let bench = self.bench.as_mut();
        bench.map_or(Ok(()), |bench| bench.aside("", bytes, at, code))
    }

    fn behind(&self) -> bool {
        self.facts.shape().lists == Lists::Behind
    }

    fn piece(&mut self, piece: Piece, last: bool) -> Result<()> {
        let block = match piece {
            Piece::Aside(bytes, at, code) => return self.aside(&bytes, at, code),
            Piece::Block(block) => block,
        };
        let whole = 0..block.bytes.len();
        let (found, lossy) = checked(&block, last, self.foreign, self.facts);
        if found.says.is_none() {
            return self.go(&block, whole, code_of(&block));
        }
        if let Kind::Top(name) = &block.kind {
            let section = self.facts.sections.get(self.sections);
            let stays = section.is_none_or(|section| section.stays);
            self.sections += 1;
            self.close()?;
            self.open = stays.then(|| name.clone());
            self.begin()?;
            if stays && self.behind() {
                match list_of(&block, &found) {
                    Some(List::Here) => self.written = u64::MAX,
                    Some(List::None) if !self.facts.missing().is_empty() => {
                        self.go(&block, whole, Code::TornRecord)?;
                        return self.noted("messages", b"messages:\n");
                    }
                    _ => {}
                }
            }
        }
        if self.open.is_none() && block.kind != Kind::Before {
            return self.go(&block, whole, Code::DuplicateRemoved);
        }
        if let Kind::Key(number) = &block.kind {
            let own = self.facts.keys.get(self.keys).map(|key| key.number);
            self.before_key(own.unwrap_or(number.parse().unwrap_or(0)))?;
        }
        if block.kind == Kind::Message && !self.keyed {
            self.key_of(None)?;
        }
        if let Some(code) = self.belied(&block) {
            self.go(&block, whole.clone(), code)?;
            self.key_of(Some(()))?;
            return Ok(());
        }
        if self.is_emptied(&block) {
            self.noted("turns", b"turns: []\n")?;
            let line = memchr::memchr(b'\n', &block.bytes).map_or(whole.end, |end| end + 1);
            let end = found.kept.first().map_or(line, |kept| kept.end);
            if line < end {
                let rest = std::slice::from_ref(&(line..end)).to_vec();
                put(&mut self.out, &written(&block.bytes, &rest))?;
            }
            self.go(&block, end..whole.end, Code::StraySetAside)?;
        } else if let Some(text) = &lossy {
            self.go(&block, whole, Code::Utf8Replaced)?;
            let what = match &block.kind {
                Kind::Top(name) => name.clone(),
                Kind::Turn => format!("turn {}", self.turns + 1),
                _ => format!("a message behind turn {}", self.written.max(1)),
            };
            self.notes.add(Code::Utf8Replaced, what);
            put(&mut self.out, text)?;
        } else {
            self.stay(&block, &found)?;
        }
        match block.kind {
            Kind::Turn => self.behind_turn(&block),
            Kind::Key(_) => self.behind_key(!block.bytes.trim_ascii_end().ends_with(b":")),
            Kind::Message => {
                self.items += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with a key that says that there are no messages, though some follow, or that
    /// says the number of another turn.
    fn belied(&self, block: &Block) -> Option<Code> {
        let key = self.facts.keys.get(self.keys).filter(|_| matches!(block.kind, Kind::Key(_)))?;
        match key {
            _ if key.wrong => Some(Code::IdChanged),
            _ if key.empty && key.messages > 0 => Some(Code::TornRecord),
            _ => None,
        }
    }

    /// Whether the block opens a list of turns of which none is left.
    fn is_emptied(&self, block: &Block) -> bool {
        let turns = block.kind == Kind::Top("turns".to_owned());
        let line = block.bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        turns && self.facts.turns.is_empty() && line.trim_ascii_end() == b"turns:"
    }

    /// Writes what stays of a block, and sets the rest of it aside.
    fn stay(&mut self, block: &Block, found: &Checked) -> Result<()> {
        put(&mut self.out, &written(&block.bytes, &found.kept))?;
        let mut from = 0;
        for kept in &found.kept {
            self.go(block, from..kept.start, Code::TornRecord)?;
            from = kept.end;
        }
        self.go(block, from..block.bytes.len(), Code::TornRecord)?;
        if !block.terminated && from == block.bytes.len() {
            say(Code::LineEnded, block.at(), self.cx);
        }
        Ok(())
    }

    /// Sets a range of a block aside.
    fn go(&mut self, block: &Block, range: Range<usize>, code: Code) -> Result<()> {
        let mut gone: Option<(Vec<u8>, Position)> = None;
        for (place, bytes) in block.pieces(range) {
            if let Some((before, at)) = &mut gone
                && at.plus(before.len()).byte == place.byte
            {
                before.extend_from_slice(bytes);
                continue;
            }
            if let Some((before, at)) = gone.replace((bytes.to_vec(), place)) {
                self.aside(&before, at, code)?;
            }
        }
        gone.map_or(Ok(()), |(bytes, at)| self.aside(&bytes, at, code))
    }

    /// Members of the top that come first and are not there.
    fn begin(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        // Without these nobody knows what kind of file it is.
        let shape = self.facts.shape();
        let needs: &[&str] = match shape.lists {
            Lists::Behind => &["name", "created", "updated"],
            Lists::Within => &["name", "timestamp"],
            Lists::Elsewhere if shape.says == Some(Code::RunSummary) => {
                &["name", "created", "runs"]
            }
            Lists::Elsewhere if self.facts.has("expected") => &[],
            Lists::Elsewhere => &["agent"],
        };
        let stem = self.wish.name.split('.').next().unwrap_or_default();
        for name in needs.iter().filter(|name| !self.facts.has(name)) {
            match *name {
                "runs" => self.noted(name, b"runs: 1\n")?,
                "name" => self.member(name, &quoted(stem), 0)?,
                _ => self.member(name, &quoted(""), 0)?,
            }
        }
        Ok(())
    }

    fn member(&mut self, name: &str, value: &Json, indent: usize) -> Result<()> {
        self.noted(name, &spell::member(name, value, indent))
    }

    /// Writes a member that was not there.
    fn noted(&mut self, name: &str, text: &[u8]) -> Result<()> {
        let code = Code::MemberRestored;
        say(code, Position::default(), self.cx);
        let place = if self.turns > 0 { format!("turn {}: ", self.turns) } else { String::new() };
        self.notes.add(code, format!("{place}{name}"));
        put(&mut self.out, text)
    }

    /// What a turn lacks.
    fn behind_turn(&mut self, block: &Block) -> Result<()> {
        let place = self.turns;
        self.turns += 1;
        let Some(turn) = self.facts.turns.get(place) else { return Ok(()) };
        let indent = block.bytes.iter().take_while(|b| **b == b' ').count() + INDENT;
        for name in &turn.lacks {
            match *name {
                "messages" => {
                    let list = self.list(place);
                    let text = quoted(&String::from_utf8_lossy(list.as_bytes()));
                    self.member(name, &text, indent)?;
                }
                "history" | "tools_called" => {
                    let text = format!("{}{name}: []\n", " ".repeat(indent));
                    self.noted(name, text.as_bytes())?;
                }
                _ => self.member(name, &quoted(""), indent)?,
            }
        }
        Ok(())
    }

    /// The end of a member of the top.
    fn close(&mut self) -> Result<()> {
        if self.open.take().is_some_and(|name| name == "messages") && self.behind() {
            self.end_key()?;
            self.fill(u64::MAX)?;
            self.written = u64::MAX;
        }
        Ok(())
    }

    /// Writes what is left; says whether anything was set aside, and how many messages were put in.
    fn finish(mut self) -> Result<(bool, u64)> {
        self.close()?;
        self.begin()?;
        self.turns = 0;
        if !self.facts.has("turns") {
            self.noted("turns", b"turns: []\n")?;
        }
        if self.behind() {
            if !self.facts.has("system_prompt") {
                self.member("system_prompt", &quoted(""), 0)?;
            }
            if !self.facts.has("messages") {
                let empty = self.facts.turns.is_empty();
                self.noted("messages", if empty { b"messages: {}\n" } else { b"messages:\n" })?;
                self.fill(u64::MAX)?;
            }
        }
        let notes = self.notes.yaml();
        put(&mut self.out, &notes)?;
        self.out.flush().map_err(|error| Error::io("cannot write", error))?;
        Ok((self.removes, self.put))
    }
}

/// Why a block goes.
fn code_of(block: &Block) -> Code {
    match block.kind {
        Kind::Before | Kind::Between => Code::StraySetAside,
        _ => Code::TornRecord,
    }
}
