//! How files of a format carry what the format cannot express.
//!
//! Residue travels in chunks of text, in order; where among a session's lines one stands means
//! nothing. So a format says only what a chunk looks like in its files, where one may stand, and
//! how it is told from what its own software writes.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Cx, Parts};
use crate::json::{Cursor, Json, Span};
use crate::lines::Lines;
use crate::mapping::{Extra, without};
use crate::record::{Field, Kind, Node, Record};
use std::io::{Read, Write};

/// How files of a format carry residue.
#[derive(Debug)]
pub struct Carrier {
    /// Takes what a record that was read carries out of it.
    pub take: fn(&mut Record) -> Took,
    /// The part that carries, among all of a session in the order of their creation, each with its
    /// first bytes; `None` if none of them can. Others that could if they were alone say how many
    /// chunks there are.
    pub part: fn(&[Beginning]) -> Option<usize>,
    /// Whether what is left of a session shows, though it has no mark, that it was written with a part
    /// that could carry, which is not there any more.
    pub lacks: Option<LacksFn>,
    /// Writes that part again, with chunks.
    pub put: fn(&mut dyn Read, Load<'_>, &mut dyn Write) -> Result<()>,
}

/// Looks for what a session was written with.
pub type LacksFn = fn(&mut dyn Parts, &Cx<'_>) -> Result<bool>;

/// A part's name and its first bytes.
pub type Beginning = (String, Vec<u8>);

/// Writes a line with what it carries, or refuses it and writes nothing.
pub type PutFn<'p> = &'p mut dyn FnMut(&[u8], Freight<'_>, &mut Vec<u8>) -> bool;

/// What one line carries.
#[derive(Clone, Copy, Debug)]
pub struct Freight<'c> {
    /// Chunks, if it is to carry some.
    pub chunks: &'c [String],
    /// How many there are in the file, if the line is to say so.
    pub count: Option<u64>,
}

/// What stands in every file that carries residue, and in few others.
pub const MARK: &[u8] = b"copyist";

/// What the list is called where it stands in a member of its own or beside others.
pub const RESIDUE: &str = "residue";

/// What the member is called that says how many chunks there are. It stands apart from them, for who
/// deletes the record that carries all of them is not to lose them unnoticed.
pub const COUNT: &str = "chunks";

/// What a record carried.
#[derive(Debug, Default, PartialEq)]
pub struct Took {
    /// Chunks of residue, as JSON strings.
    pub chunks: Vec<Json>,
    /// Whether the record says that its session carries residue elsewhere.
    pub marked: bool,
    /// Whether nothing is left of the record.
    pub whole: bool,
}

impl Took {
    /// Of the object that holds what is carried.
    fn of(noted: &Json) -> Self {
        let chunks = noted.member(RESIDUE).map(|list| chunks(&list)).unwrap_or_default();
        Self { chunks, marked: noted.member(COUNT).is_some(), whole: false }
    }
}

/// What is to be carried.
pub struct Load<'l> {
    /// The part's name.
    pub part: &'l str,
    /// How many lines the part has.
    pub lines: u64,
    /// How many chunks the part is to carry: all, or none.
    pub count: u64,
    /// How many there are.
    pub all: u64,
    /// Gives the next one, as a JSON string.
    pub next: &'l mut dyn FnMut() -> Result<Option<String>>,
}

/// Lines are handed on in pieces of this size: each is a request to the system.
const PIECE: usize = 64 << 10;

/// Copies lines, and gives chunks to `put` with the line that is to carry them: as evenly spread
/// as can be, none before line `first`, counted from 1, and at line `last` all that are left. They
/// come early, for people delete what stands at the end. Line `mark`, if there is one, says how many
/// there are.
/// A line that `put` refuses is written as it is, and the next one gets its chunks.
///
/// # Errors
/// If reading or writing fails, or chunks are left at the end.
pub fn spread(
    from: &mut dyn Read,
    load: Load<'_>,
    (first, last, mark): (u64, u64, Option<u64>),
    to: &mut dyn Write,
    put: PutFn<'_>,
) -> Result<()> {
    let failed = |error| Error::io("cannot write", error);
    let room = (last + 1).saturating_sub(first).max(1);
    let mut lines = Lines::new(from, usize::MAX);
    let (mut number, mut taken) = (0u64, 0);
    let (mut out, mut chunks) = (Vec::new(), Vec::new());
    while let Some(line) = lines.next()? {
        number += 1;
        let passed = (number + 1).saturating_sub(first).min(room);
        let due = if number < first { 0 } else { (load.count * passed).div_ceil(room) };
        while taken < due {
            chunks.extend((load.next)()?);
            taken += 1;
        }
        let count = mark.filter(|mark| *mark == number).map(|_| load.all);
        let carries = !chunks.is_empty() || count.is_some();
        if carries && put(line.bytes, Freight { chunks: &chunks, count }, &mut out) {
            chunks.clear();
        } else {
            out.extend_from_slice(line.bytes);
        }
        if line.terminated {
            out.push(b'\n');
        }
        if out.len() >= PIECE {
            to.write_all(&out).map_err(failed)?;
            out.clear();
        }
    }
    to.write_all(&out).map_err(failed)?;
    if taken < load.count || !chunks.is_empty() {
        let message =
            "the output has no line that could carry residue; `--no-residue` leaves it out";
        return Err(Error::request(Code::NoCarrier, message));
    }
    Ok(())
}

/// Chunks as the items of a JSON list. A part with few lines carries all chunks in one, so they are
/// copied once.
#[must_use]
pub fn list(chunks: &[String]) -> String {
    let mut list = String::with_capacity(length(chunks));
    for (place, chunk) in chunks.iter().enumerate() {
        if place > 0 {
            list.push(',');
        }
        list.extend(["\"", chunk, "\""]);
    }
    list
}

/// How long such a list is, at most.
fn length(chunks: &[String]) -> usize {
    chunks.iter().map(|chunk| chunk.len() + "\"\",".len()).sum()
}

/// The strings of a list of chunks.
#[must_use]
pub fn chunks(list: &Json) -> Vec<Json> {
    let mut cursor = Cursor::new(list.as_bytes());
    let mut chunks = Vec::new();
    if cursor.begin_array().is_ok() {
        while let Ok(true) = cursor.next_element() {
            let Ok(Span { start, end }) = cursor.skip_value() else { break };
            chunks.push(Json::checked(list.bytes().slice(start..end)));
        }
    }
    chunks
}

/// Takes what is carried out of a member of what a record has no fields for. Whatever else the
/// member says, such as what was repaired, stays.
pub fn take_noted(node: &mut Node, name: &str) -> Took {
    let noted = node.json(Field::Extra).and_then(|extra| extra.member(name));
    let took = noted.map(|noted| Took::of(&noted)).unwrap_or_default();
    if took == Took::default() {
        return took;
    }
    let rest = take_extra(node, name).and_then(|noted| without(&noted, RESIDUE));
    if let Some(rest) = rest.and_then(|rest| without(&rest, COUNT)) {
        let mut extra = Extra::default();
        node.json(Field::Extra).into_iter().for_each(|others| extra.add_members(others));
        extra.add(Json::string(name).as_bytes(), rest.as_bytes());
        extra.finish().into_iter().for_each(|extra| node.set(Field::Extra, extra));
    }
    took
}

/// Takes what a record of a type of its own carries, which is there for nothing else.
#[must_use]
pub fn take_whole(record: &Record, kind: &str) -> Took {
    let own = record.kind == Kind::Opaque && record.node.is(Field::Type, kind);
    let data = record.node.json(Field::Data).filter(|_| own);
    let took = data.map(Took::of).unwrap_or_default();
    Took { whole: took.marked || !took.chunks.is_empty(), ..took }
}

/// Appends the lines of records that carry, their first members given.
pub fn lines_of(freight: Freight<'_>, head: &str, out: &mut Vec<u8>) {
    if !freight.chunks.is_empty() {
        let begin = format!("\n{{{head},\"{RESIDUE}\":[");
        out.reserve_exact(begin.len() + length(freight.chunks) + "]}".len());
        out.extend_from_slice(begin.as_bytes());
        for (place, chunk) in freight.chunks.iter().enumerate() {
            let separator: &[u8] = if place > 0 { b",\"" } else { b"\"" };
            [separator, chunk.as_bytes(), b"\""]
                .iter()
                .for_each(|part| out.extend_from_slice(part));
        }
        out.extend_from_slice(b"]}");
    }
    if let Some(count) = freight.count {
        let count = format!("\n{{{head},\"{COUNT}\":[{count}]}}");
        out.extend_from_slice(count.as_bytes());
    }
}

/// Takes a member out of what a record has no fields for.
pub fn take_extra(node: &mut Node, name: &str) -> Option<Json> {
    let extra = node.json(Field::Extra)?.clone();
    let value = extra.member(name)?;
    match without(&extra, name) {
        Some(rest) => node.set(Field::Extra, rest),
        None => drop(node.take(Field::Extra)),
    }
    // The stored spelling has it, too.
    node.take(Field::Raw);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread_over(lines: u64, count: u64, (first, last): (u64, u64)) -> Vec<usize> {
        let text: String = (0..lines).map(|n| format!("{n}\n")).collect();
        let (mut out, mut given) = (Vec::new(), 0);
        let next = &mut || {
            given += 1;
            Ok(Some(String::from("c")))
        };
        let load = Load { part: "", lines, count, all: count, next };
        let put = &mut |line: &[u8], freight: Freight<'_>, out: &mut Vec<u8>| {
            out.extend_from_slice(line);
            out.extend(std::iter::repeat_n(b'+', freight.chunks.len()));
            true
        };
        spread(&mut text.as_bytes(), load, (first, last, None), &mut out, put).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        text.lines().map(|line| line.matches('+').count()).collect()
    }

    #[test]
    fn chunks_are_spread_evenly() {
        assert_eq!(spread_over(6, 2, (2, 6)), [0, 1, 0, 1, 0, 0]);
        assert_eq!(spread_over(5, 1, (2, 5)), [0, 1, 0, 0, 0]);
        assert_eq!(spread_over(3, 5, (2, 2)), [0, 5, 0]);
        assert_eq!(spread_over(1, 1, (1, 1)), [1]);
    }
}
