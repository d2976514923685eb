//! Decisions before anything is written: which parts are whole, and in which encoding.

use super::super::super::file::{Lists, Shape};
use super::super::block::{Block, Kind, Piece};
use super::super::blocks::Blocks;
use super::super::check::{Around, Checked, check, is_bare, is_complete};
use super::super::facts::Facts;
use super::super::indentation::Indentation;
use super::super::{State, is_reported};
use super::Writing;
use crate::diagnostic::{Code, Log};
use crate::error::Result;
use crate::format::{Cx, Reach, RepairIo, RepairOptions, Repaired};
use crate::json::Json;
use crate::lines::BOM;
use crate::position::Position;
use crate::yaml::encoding::Encoding;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::rc::Rc;

/// Makes the first walk, which collects the facts.
pub fn look(
    io: &mut dyn RepairIo,
    shape: &'static Shape,
    foreign: Option<&'static Encoding>,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Facts> {
    let mut place = Indentation::default();
    each(io.parts().main()?, cx, &mut |piece, _| {
        if let Piece::Block(Block { kind: Kind::Message, bytes, .. }) = piece {
            place.look(&bytes);
        }
        Ok(())
    })?;
    let place = place.most();
    let facts = Facts::new(shape, wanted.resumable, place, u64::MAX);
    let (facts, Blocked { end, all }) = survey(io, facts, foreign, cx)?;
    if end == all {
        return Ok(facts);
    }
    // The block before all removed blocks is then the last one, and has to be whole as such.
    let facts = Facts::new(shape, wanted.resumable, place, end);
    survey(io, facts, foreign, cx).map(|(facts, _)| facts)
}

/// Numbers of the blocks of a file, which are counted from 1.
struct Blocked {
    /// The last block that stays even if it is not the last of the file.
    end: u64,
    all: u64,
}

/// Collects the facts of a file in one walk.
fn survey(
    io: &mut dyn RepairIo,
    mut facts: Facts,
    foreign: Option<&'static Encoding>,
    cx: &Cx<'_>,
) -> Result<(Facts, Blocked)> {
    let (mut place, mut end) = (0, 0);
    each(io.parts().main()?, cx, &mut |piece, last| {
        match piece {
            Piece::Aside(..) => (facts.damaged, facts.removes) = (true, true),
            Piece::Block(block) => {
                place += 1;
                let (checked, lossy) = checked(&block, last || facts.ends(place), foreign, &facts);
                let message = block.kind == Kind::Message;
                let stays = |says: &Json| last || !message || is_complete(says);
                if checked.content.as_ref().is_some_and(stays) {
                    end = place;
                }
                facts.block(&block.kind, &block.bytes, last, &checked);
                // A line without an ending comes before another line.
                facts.damaged |=
                    block.is_put_in() || lossy.is_some() || !(last || block.terminated);
                facts.removes |= lossy.is_some();
            }
        }
        Ok(())
    })?;
    facts.decide();
    Ok((facts, Blocked { end, all: place }))
}

/// Input of the second walk.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Facts that the blocks contain.
    pub facts: &'a Facts,
    /// The encoding of the file, if that is another than UTF-8.
    pub foreign: Option<&'static Encoding>,
    /// Options that the user requested.
    pub wanted: &'a RepairOptions,
}

/// Result of a second walk without output.
pub struct Tried {
    /// Whether the walk sets any bytes aside.
    pub removes: bool,
    /// Whether the walk reports any fix.
    pub reported: bool,
    /// The part of the output from which its encoding is guessed.
    pub sample: Vec<u8>,
}

impl Plan<'_> {
    /// Walks without an output. The place for bytes to set aside is needed before anything is
    /// written.
    pub fn try_out(self, io: &mut dyn RepairIo, cx: &Cx<'_>) -> Result<Tried> {
        let log = Log::default();
        let quiet = Cx { options: cx.options, log: &log };
        let sample = Sample::default();
        let mut dry = Writing::new(None, Box::new(sample.clone()), self, &quiet);
        each(io.parts().main()?, cx, &mut |piece, last| dry.piece(piece, last))?;
        let (removes, _) = dry.finish()?;
        Ok(Tried { removes, reported: is_reported(&log), sample: sample.0.take() })
    }

    /// Walks, and writes the repaired file.
    pub fn carry_out(
        self,
        io: &mut dyn RepairIo,
        state: &State,
        removes: bool,
        cx: &Cx<'_>,
    ) -> Result<Repaired> {
        io.begin(removes || state.marked)?;
        let (source, out) = (io.parts().main()?, io.create("")?);
        let mut writing = Writing::new(Some(io), out, self, cx);
        if state.marked {
            writing.aside(BOM, Position { line: 1, ..Position::default() }, Code::MarkRemoved)?;
        }
        each(source, cx, &mut |piece, last| writing.piece(piece, last))?;
        let (_, restored) = writing.finish()?;
        let facts = self.facts;
        let before = if state.reads { state.messages } else { 0 };
        let of = |messages| Reach { entries: facts.records.max(before), messages };
        // Messages in the lists of turns are not counted, and all that a reader finds there stay.
        let seen = if facts.shape().lists == Lists::Within { before } else { 0 };
        let messages = facts.talk().count(facts.messages + restored).max(seen);
        let rescued = if state.reads { 0 } else { facts.records };
        Ok(Repaired { changed: true, records: facts.records, rescued, ..Repaired::default() }
            .reaching(Reach { entries: before, messages: before }, of(messages)))
    }
}

/// The part of an output from which its encoding is guessed, from the first byte that is not ASCII.
#[derive(Clone, Debug, Default)]
struct Sample(Rc<RefCell<Vec<u8>>>);

impl Sample {
    const SIZE: usize = 64 << 10;
}

impl Write for Sample {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sample = self.0.borrow_mut();
        let ascii = bytes.iter().take_while(|b| b.is_ascii()).count();
        let start = if sample.is_empty() { ascii } else { 0 };
        let room = Self::SIZE.saturating_sub(sample.len());
        sample.extend(bytes.iter().skip(start).take(room));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

/// Returns the whole parts of a block, and the block as text if bytes had to be replaced to make it
/// whole.
pub fn checked(
    block: &Block,
    last: bool,
    foreign: Option<&'static Encoding>,
    facts: &Facts,
) -> (Checked, Option<Vec<u8>>) {
    let known = |text: &str| facts.is_known(text);
    let around = Around { last, cut: !block.terminated, known: &known, place: facts.place };
    let check = |text: &[u8]| check(&block.kind, text, around);
    let bytes = block.bytes.as_slice();
    let (text, bad) = foreign.map_or_else(
        || {
            let text = String::from_utf8_lossy(bytes);
            let bad = matches!(text, Cow::Owned(_));
            (text, bad)
        },
        |encoding| encoding.decode_without_bom_handling(bytes),
    );
    let plain = if bad { Cow::Owned(unreadable(&text)) } else { Cow::Borrowed(text.as_bytes()) };
    let whole = |found: &Checked| found.is_all(text.len());
    let decoded = bad.then(|| check(text.as_bytes())).filter(whole);
    let (found, lossy) = match decoded {
        Some(decoded) => {
            let kept = vec![Range { start: 0, end: bytes.len() }];
            let straight = decoded.straight.unwrap_or_else(|| text.as_bytes().to_vec());
            (Checked::of(kept, decoded.content), Some(straight))
        }
        None if !bad && foreign.is_none() => (check(bytes), None),
        None => (in_source(check(&plain), &plain, bytes), None),
    };
    // A file with such a member may look like a run.
    if list_of(block, &found) == Some(List::Other) {
        return (Checked::default(), None);
    }
    (found, lossy)
}

/// Replaces each replacement character of a text by an invalid byte, so that no part with one is
/// whole.
fn unreadable(text: &str) -> Vec<u8> {
    let parts: Vec<_> = text.split(char::REPLACEMENT_CHARACTER).map(str::as_bytes).collect();
    parts.join(b"\xff".as_slice())
}

/// Converts the ranges that stay of a text to ranges of the bytes from which it was decoded. Each
/// range begins and ends with lines, which are the same in both.
fn in_source(found: Checked, text: &[u8], source: &[u8]) -> Checked {
    let lines = |of: &[u8]| -> Vec<usize> {
        let starts = memchr::memchr_iter(b'\n', of).map(|end| end + 1);
        std::iter::once(0).chain(starts).chain([of.len()]).collect()
    };
    let (lines, own) = (lines(text), lines(source));
    let place = |at: usize| lines.binary_search(&at).ok().and_then(|line| own.get(line).copied());
    let range = |kept: &Range<usize>| Some(place(kept.start)?..place(kept.end)?);
    let kept = found.staying.iter().map(range).collect::<Option<Vec<_>>>();
    match kept.filter(|_| lines.len() == own.len()) {
        Some(kept) => Checked { staying: kept, ..found },
        None => Checked::default(),
    }
}

/// Content of a member where the lists of messages belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// No value, so that lists may follow.
    Bare,
    /// The value for no messages: lists behind it would not be YAML.
    None,
    /// Lists, on the line itself.
    Here,
    /// A value that holds no lists.
    Other,
}

/// Returns the content of a block, if the block is that member.
pub fn list_of(block: &Block, found: &Checked) -> Option<List> {
    let value = found
        .content
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
