//! How files of a format carry what the format cannot express.
//!
//! Residue travels in chunks of text, in order; where among a session's lines one stands means
//! nothing. So a format says only what a chunk looks like in its files, where one may stand, and
//! how it is told from what its own software writes.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::json::{Cursor, Json, Span};
use crate::lines::Lines;
use crate::mapping::{Extra, without};
use crate::record::{Field, Node, Record};
use std::io::{Read, Write};

/// How files of a format carry residue.
#[derive(Debug)]
pub struct Carrier {
    /// Takes what a record that was read carries out of it.
    pub take: fn(&mut Record) -> Took,
    /// The part that carries, among all of a session in the order of their creation, each with its
    /// first bytes; `None` if none of them can.
    pub part: fn(&[Beginning]) -> Option<usize>,
    /// Writes that part again, with chunks.
    pub put: fn(&mut dyn Read, Load<'_>, &mut dyn Write) -> Result<()>,
}

/// A part's name and its first bytes.
pub type Beginning = (String, Vec<u8>);

/// Writes a line with chunks, or refuses it and writes nothing.
pub type PutFn<'p> = &'p mut dyn FnMut(&[u8], &[String], &mut Vec<u8>) -> bool;

/// What stands in every file that carries residue, and in few others.
pub const MARK: &[u8] = b"copyist";

/// What the list is called where it stands in a member of its own or beside others.
pub const RESIDUE: &str = "residue";

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

/// What is to be carried.
pub struct Load<'l> {
    /// The part's name.
    pub part: &'l str,
    /// How many lines the part has.
    pub lines: u64,
    /// How many chunks there are.
    pub count: u64,
    /// Gives the next one, as a JSON string.
    pub next: &'l mut dyn FnMut() -> Result<Option<String>>,
}

/// Copies lines, and gives chunks to `put` with the line that is to carry them: as evenly spread
/// as can be, none before line `first`, counted from 1, and at line `last` all that are left. They
/// come early, for people delete what stands at the end.
/// A line that `put` refuses is written as it is, and the next one gets its chunks.
///
/// # Errors
/// If reading or writing fails, or chunks are left at the end.
pub fn spread(
    from: &mut dyn Read,
    load: Load<'_>,
    (first, last): (u64, u64),
    to: &mut dyn Write,
    put: PutFn<'_>,
) -> Result<()> {
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
        if !chunks.is_empty() && put(line.bytes, &chunks, &mut out) {
            chunks.clear();
        } else {
            out.extend_from_slice(line.bytes);
        }
        if line.terminated {
            out.push(b'\n');
        }
        to.write_all(&out).map_err(|error| Error::io("cannot write", error))?;
        out.clear();
    }
    if taken < load.count || !chunks.is_empty() {
        let message =
            "the output has no line that could carry residue; `--no-residue` leaves it out";
        return Err(Error::request(Code::NoCarrier, message));
    }
    Ok(())
}

/// Chunks as the items of a JSON list.
#[must_use]
pub fn list(chunks: &[String]) -> String {
    chunks.iter().map(|chunk| format!("\"{chunk}\"")).collect::<Vec<_>>().join(",")
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

/// Takes the list `residue` out of a member of what a record has no fields for. Whatever else the
/// member says, such as what was repaired, stays.
pub fn take_noted(node: &mut Node, name: &str) -> Vec<Json> {
    let carried = node.json(Field::Extra).and_then(|extra| extra.member(name)?.member(RESIDUE));
    let Some(carried) = carried else { return Vec::new() };
    let noted = take_extra(node, name).and_then(|noted| without(&noted, RESIDUE));
    if let Some(rest) = noted {
        let mut extra = Extra::default();
        node.json(Field::Extra).into_iter().for_each(|others| extra.add_members(others));
        extra.add(Json::string(name).as_bytes(), rest.as_bytes());
        extra.finish().into_iter().for_each(|extra| node.set(Field::Extra, extra));
    }
    chunks(&carried)
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

    fn spread_over(lines: u64, count: u64, between: (u64, u64)) -> Vec<usize> {
        let text: String = (0..lines).map(|n| format!("{n}\n")).collect();
        let (mut out, mut given) = (Vec::new(), 0);
        let next = &mut || {
            given += 1;
            Ok(Some(String::from("c")))
        };
        let load = Load { part: "", lines, count, next };
        let put = &mut |line: &[u8], chunks: &[String], out: &mut Vec<u8>| {
            out.extend_from_slice(line);
            out.extend(std::iter::repeat_n(b'+', chunks.len()));
            true
        };
        spread(&mut text.as_bytes(), load, between, &mut out, put).expect("memory");
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
