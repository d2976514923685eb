//! Repair of files of turns: blocks that are whole stay, and question and answer of turns replace
//! messages that were torn or lost.
//!
//! The repair makes two walks: the first collects which blocks are whole and which facts are known,
//! the second writes. Between them the question and the answer of each turn are kept, and the last
//! list of a file whose turns have lists.

mod plan;
mod turn_messages;

use super::super::file::{Lists, Shape};
use super::block::{Block, Kind, Piece};
use super::check::{self, Checked, written};
use super::facts::Facts;
use super::resume::RepairedList;
use super::spell::{self, Notes};
use super::{NOTES, State, as_it_is, guessed, report_aside, report_put};
use crate::diagnostic::Code;
use crate::error::{Cannot, Result};
use crate::format::{Cx, RepairIo, RepairOptions, Repaired};
use crate::json::Json;
use crate::position::Position;
use crate::repair::nothing_back;
use crate::yaml::encoding::encode;
use plan::{List, Plan, checked, list_of, look};
use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

/// Repairs a file of turns.
pub fn repair(
    io: &mut dyn RepairIo,
    shape: &'static Shape,
    state: &State,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let named = cx.options.encoding.is_some();
    let mut foreign = state.foreign;
    loop {
        let mut facts = look(io, shape, foreign, wanted, cx)?;
        // A file in another layout than the real software's reads well, though its blocks do not.
        let odd = facts.broken > 0
            || (facts.headless && !state.is_doubled())
            || !(facts.torn || facts.twice || facts.removes || facts.headless);
        // Some faults cannot be repaired by removing or putting in text.
        if (state.reads && odd) || !facts.damaged {
            let seen = shape.lists == Lists::Within || facts.messages == state.messages;
            if !(facts.mends() && facts.broken == 0 && !facts.headless && seen) {
                return as_it_is(io, state, wanted, cx);
            }
            facts.leave();
        }
        if facts.records == 0 && facts.sections.is_empty() {
            return Err(nothing_back());
        }
        facts.make_room();
        let plan = Plan { facts: &facts, foreign, wanted };
        let tried = plan.try_out(io, cx)?;
        // The repair can change the guess of the encoding; a file in UTF-8 has no other encoding.
        if foreign.is_some() && !named && guessed(tried.sample.as_slice())? != foreign {
            foreign = None;
            continue;
        }
        if !tried.reported && !state.marked {
            return as_it_is(io, state, wanted, cx);
        }
        return plan.carry_out(io, state, tried.removes, cx);
    }
}

fn put(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).cannot("write")
}

/// The second walk, which writes.
struct Writing<'a> {
    /// The destination; `None` for a dry run.
    io: Option<&'a mut dyn RepairIo>,
    out: Box<dyn Write>,
    /// Whether any bytes were set aside.
    removes: bool,
    facts: &'a Facts,
    plan: Plan<'a>,
    cx: &'a Cx<'a>,
    /// Number of blocks that were met, and of members of the top, and of turns and keys that stay.
    blocks: u64,
    sections: usize,
    turns: usize,
    keys: usize,
    /// The last turn whose messages were written.
    written: u64,
    /// The member of the top that is open, if it stays.
    open: Option<String>,
    begun: bool,
    /// Number of questions and answers that were restored.
    restored: u64,
    /// Whether a key is open, whether its line contains the value for no messages, and how many
    /// messages were written.
    keyed: bool,
    empty: bool,
    items: u64,
    /// Number of messages that were met.
    met: u32,
    notes: Notes,
    /// The notes of an earlier repair.
    earlier: Vec<u8>,
}

impl<'a> Writing<'a> {
    fn new(
        io: Option<&'a mut dyn RepairIo>,
        out: Box<dyn Write>,
        plan: Plan<'a>,
        cx: &'a Cx<'a>,
    ) -> Self {
        Self {
            io,
            out,
            removes: false,
            facts: plan.facts,
            plan,
            cx,
            blocks: 0,
            sections: 0,
            turns: 0,
            keys: 0,
            written: 0,
            open: None,
            begun: false,
            restored: 0,
            keyed: false,
            empty: false,
            items: 0,
            met: 0,
            notes: Notes::default(),
            earlier: Vec::new(),
        }
    }

    /// Writes text that was not in the file, in the file's encoding.
    fn add(&mut self, text: &[u8]) -> Result<()> {
        let text = self.encoded(text);
        put(&mut self.out, &text)
    }

    fn encoded<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let (Some(encoding), Ok(mut rest)) = (self.plan.foreign, std::str::from_utf8(text)) else {
            return Cow::Borrowed(text);
        };
        let mut out = Vec::with_capacity(text.len());
        while let Err(lacking) = encode(rest, encoding, &mut out) {
            out.push(b'?');
            rest = rest.split_once(lacking).map_or("", |(_, rest)| rest);
        }
        Cow::Owned(out)
    }

    /// Sets bytes aside, and reports that.
    fn aside(&mut self, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        report_aside(code, bytes, at, self.cx);
        self.removes = true;
        let io = self.io.as_mut();
        io.map_or(Ok(()), |io| io.aside("", bytes, at, code))
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
        self.blocks += 1;
        let last = last || self.facts.ends(self.blocks);
        let (found, lossy) = checked(&block, last, self.plan.foreign, self.facts);
        if found.content.is_none() {
            return self.go(&block, whole, code_of(&block));
        }
        if let Kind::Top(name) = &block.kind
            && self.is_reopened(name, &block, &found)?
        {
            return Ok(());
        }
        if self.open.is_none() && block.kind != Kind::Before {
            return self.go(&block, whole, Code::DuplicateRemoved);
        }
        match &block.kind {
            Kind::Key(number) => self.before_key(self.number(number.parse().unwrap_or(0)))?,
            Kind::Message if !self.keyed => {
                self.before_key(self.number(1))?;
                self.put_key()?;
            }
            _ => {}
        }
        if let Some(code) = self.belied(&block) {
            self.go(&block, whole, code)?;
            return self.put_key();
        }
        let message = block.kind == Kind::Message;
        if let Some(code) = self.facts.talk().removed(self.met).filter(|_| message) {
            self.met += 1;
            return self.go(&block, whole, code);
        }
        match &lossy {
            _ if self.is_emptied(&block) => self.put_empty(&block, &found, lossy.is_some())?,
            Some(text) => self.replace(&block, &found, text)?,
            None => self.stay(&block, &found)?,
        }
        match block.kind {
            Kind::Turn => self.behind_turn(&block),
            Kind::Key(_) => self.behind_key(!check::opens_messages(&block.bytes)),
            Kind::Message => self.behind_message(&block, &found),
            _ => Ok(()),
        }
    }

    /// Ends the member of the top before this one. Returns whether another line is written in place
    /// of the block.
    fn is_reopened(&mut self, name: &str, block: &Block, found: &Checked) -> Result<bool> {
        let section = self.facts.sections.get(self.sections);
        let stays = section.is_none_or(|section| section.stays);
        self.sections += 1;
        self.close()?;
        self.open = stays.then(|| name.to_owned());
        self.begin()?;
        if stays && block.is_put_in() {
            self.noted(name, &block.bytes)?;
            return Ok(true);
        }
        match list_of(block, found).filter(|_| stays && self.behind()) {
            Some(List::Here) => self.written = u64::MAX,
            Some(List::None) if !self.facts.missing().is_empty() => {
                self.go(block, 0..block.bytes.len(), Code::TornRecord)?;
                self.noted("messages", b"messages:\n")?;
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    /// Writes an empty list of turns if none is left, and the remarks behind its line unless the
    /// block is `bad`.
    fn put_empty(&mut self, block: &Block, found: &Checked, bad: bool) -> Result<()> {
        self.noted("turns", b"turns: []\n")?;
        let whole = block.bytes.len();
        let line = memchr::memchr(b'\n', &block.bytes).map_or(whole, |end| end + 1);
        let kept = found.staying.first().filter(|_| !bad);
        let end = kept.map_or(line, |kept| kept.end);
        if line < end {
            put(&mut self.out, &written(&block.kind, &block.bytes, &[Range { start: line, end }]))?;
        }
        self.go(block, end..whole, Code::StraySetAside)
    }

    /// Writes a block as text with replaced bytes, and sets its bytes aside.
    fn replace(&mut self, block: &Block, found: &Checked, text: &[u8]) -> Result<()> {
        self.go(block, 0..block.bytes.len(), Code::Utf8Replaced)?;
        let what = match &block.kind {
            Kind::Top(name) => name.clone(),
            Kind::Turn => format!("turn {}", self.turns + 1),
            _ => format!("a message behind turn {}", self.written.max(1)),
        };
        self.notes.add(Code::Utf8Replaced, what);
        let (text, _) = self.relisted(block, found, self.encoded(text).into_owned());
        self.keep(block, &text)
    }

    /// Returns the number of the next key, or `otherwise` if that is unknown.
    fn number(&self, otherwise: u64) -> u64 {
        self.facts.keys.get(self.keys).map_or(otherwise, |key| key.number)
    }

    /// Returns why the line of a key is replaced: the key contains the value for no messages
    /// although some follow, or the number of another turn, or is beside the place of keys.
    fn belied(&self, block: &Block) -> Option<Code> {
        let key = self.facts.keys.get(self.keys).filter(|_| matches!(block.kind, Kind::Key(_)))?;
        match key {
            _ if key.wrong => Some(Code::IdChanged),
            _ if key.empty && key.messages > 0 || check::is_askew(&block.bytes) => {
                Some(Code::TornRecord)
            }
            _ => None,
        }
    }

    /// Whether the block opens a list of turns of which none is left.
    fn is_emptied(&self, block: &Block) -> bool {
        let turns = block.kind == Kind::Top("turns".to_owned());
        let line = block.bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        turns && self.facts.turns.is_empty() && line.trim_ascii_end() == b"turns:"
    }

    /// Writes the new text of a block; notes of an earlier repair are held back, so that more notes
    /// can follow.
    fn keep(&mut self, block: &Block, text: &[u8]) -> Result<()> {
        if block.kind == Kind::Top(NOTES.to_owned()) {
            self.earlier.extend_from_slice(text);
            return Ok(());
        }
        put(&mut self.out, text)
    }

    /// Writes the parts of a block that stay, and sets the rest aside.
    fn stay(&mut self, block: &Block, found: &Checked) -> Result<()> {
        let straight = found.straight.as_deref().map(|text| self.encoded(text).into_owned());
        let text = straight.unwrap_or_else(|| written(&block.kind, &block.bytes, &found.staying));
        let (text, code) = self.relisted(block, found, text);
        if let Some(code) = code {
            // Text that was begun behind the list is set aside with the rest.
            let end = found.staying.last().map_or(0, |kept| kept.end);
            let kept = block.bytes.get(..end).unwrap_or_default();
            self.go(block, check::list_in(kept), code)?;
        }
        self.keep(block, &text)?;
        let mut from = 0;
        for kept in &found.staying {
            self.go(block, from..kept.start, Code::TornRecord)?;
            from = kept.end;
        }
        self.go(block, from..block.bytes.len(), Code::TornRecord)?;
        if !block.terminated && from == block.bytes.len() {
            self.cx.report_at(Code::LineEnded, block.at());
        }
        Ok(())
    }

    /// Returns the new text of a block, with the results that are put into the list of a turn, and
    /// why the turn's own list is replaced.
    fn relisted(
        &mut self,
        block: &Block,
        found: &Checked,
        text: Vec<u8>,
    ) -> (Vec<u8>, Option<Code>) {
        let within = block.kind == Kind::Turn && self.facts.shape().lists == Lists::Within;
        let list =
            found.content.as_ref().filter(|_| within).and_then(|turn| turn.member("messages"));
        let mended = list.and_then(|list| list.parsed()).and_then(|list| self.repaired_list(&list));
        let Some(mended) = mended else { return (text, None) };
        let spelled = check::list_of(&text, &mended.list);
        let text = check::relisted(text, &self.encoded(&spelled));
        let code = mended.removed.unwrap_or(Code::ResultSynthesized);
        (text, Some(code))
    }

    /// Returns the list of the next turn with the results that are put in, and adds notes for them.
    fn repaired_list(&mut self, list: &Json) -> Option<RepairedList> {
        let number = self.turns + 1;
        let mended = self.facts.repaired_list(list, number == self.facts.turns.len())?;
        for what in &mended.put {
            self.notes.add(Code::ResultSynthesized, format!("turn {number}: {what}"));
        }
        if let Some(code) = mended.removed {
            self.notes.add(code, format!("turn {number}: messages"));
        }
        Some(mended)
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

    /// Writes the members of the top that come first and are missing.
    fn begin(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        // Without these members the kind of the file is unknown.
        let shape = self.facts.shape();
        let needs: &[&str] = match shape.lists {
            _ if self.facts.calm => &[],
            Lists::Behind => &["name", "created", "updated"],
            Lists::Within => &["name", "timestamp"],
            Lists::Elsewhere if shape.finding == Some(Code::RunSummary) => {
                &["name", "created", "runs"]
            }
            Lists::Elsewhere if self.facts.has("expected") => &[],
            Lists::Elsewhere => &["agent"],
        };
        let stem = self.plan.wanted.name.split('.').next().unwrap_or_default();
        for name in needs.iter().filter(|name| !self.facts.has(name)) {
            match *name {
                "runs" => self.noted(name, b"runs: 1\n")?,
                "name" => self.member(name, &Json::string(stem), 0)?,
                _ => self.member(name, &Json::string(""), 0)?,
            }
        }
        Ok(())
    }

    fn member(&mut self, name: &str, value: &Json, indent: usize) -> Result<()> {
        self.noted(name, &spell::member(name, value, indent))
    }

    /// Writes a member that was missing, and adds a note.
    fn noted(&mut self, name: &str, text: &[u8]) -> Result<()> {
        let code = Code::MemberRestored;
        let place = if self.turns > 0 { format!("turn {}: ", self.turns) } else { String::new() };
        let what = format!("{place}{name}");
        report_put(code, &what, self.cx);
        self.notes.add(code, what);
        self.add(text)
    }

    /// Writes the members that a turn lacks.
    fn behind_turn(&mut self, block: &Block) -> Result<()> {
        let place = self.turns;
        let Some(turn) = self.facts.turns.get(place) else { return Ok(()) };
        if check::is_headless(&block.kind, &block.bytes) {
            let what = format!("the beginning of turn {}", place + 1);
            report_put(Code::MemberRestored, &what, self.cx);
            self.notes.add(Code::MemberRestored, what);
        }
        let list = turn.lacks.contains(&"messages").then(|| self.list(place));
        let list = list.map(|list| self.repaired_list(&list).map_or(list, |mended| mended.list));
        self.turns += 1;
        let indent = check::members_indent(&block.kind, &block.bytes);
        for name in &turn.lacks {
            match *name {
                "messages" => {
                    let text = list.as_ref().map(Json::as_bytes).unwrap_or_default();
                    self.member(name, &Json::string(&String::from_utf8_lossy(text)), indent)?;
                }
                "history" | "tools_called" => {
                    let text = format!("{}{name}: []\n", " ".repeat(indent));
                    self.noted(name, text.as_bytes())?;
                }
                _ => self.member(name, &Json::string(""), indent)?,
            }
        }
        Ok(())
    }

    /// Ends the open member of the top.
    fn close(&mut self) -> Result<()> {
        if self.open.take().is_some_and(|name| name == "messages") && self.behind() {
            self.end_key()?;
            self.fill(u64::MAX)?;
            self.written = u64::MAX;
        }
        Ok(())
    }

    /// Writes the rest of the file; returns whether any bytes were set aside, and how many messages
    /// were restored.
    fn finish(mut self) -> Result<(bool, u64)> {
        self.close()?;
        self.begin()?;
        self.turns = 0;
        let calm = self.facts.calm;
        if !calm && !self.facts.has("turns") {
            self.noted("turns", b"turns: []\n")?;
        }
        if !calm && self.behind() {
            if !self.facts.has("system_prompt") {
                self.member("system_prompt", &Json::string(""), 0)?;
            }
            if !self.facts.has("messages") {
                let empty = self.facts.turns.is_empty();
                self.noted("messages", if empty { b"messages: {}\n" } else { b"messages:\n" })?;
                self.fill(u64::MAX)?;
            }
        }
        let notes = self.notes.yaml();
        let more = spell::behind(&notes, &self.earlier);
        put(&mut self.out, &self.earlier)?;
        self.add(more)?;
        self.out.flush().cannot("write")?;
        Ok((self.removes, self.restored))
    }
}

/// Returns why a block is removed.
fn code_of(block: &Block) -> Code {
    match block.kind {
        Kind::Before | Kind::Between => Code::StraySetAside,
        _ => Code::TornRecord,
    }
}
