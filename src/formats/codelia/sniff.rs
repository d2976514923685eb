//! Detection of Codelia's files by their beginning.

use super::{log, state, wire};
use crate::error::{Cannot, Result};
use crate::format::{Confidence, Head, Parts, Sniffed};
use crate::json::{Cursor, Fault};
use crate::lines::BOM;
use crate::mapping::Source;
use bytes::Bytes;
use std::io::Read;

/// Shape of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Run,
    State,
    Log,
}

/// Detects a file of Codelia by its beginning.
pub fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let found = |confidence, version| Some(Sniffed { confidence, version });
    if state::is_state(head.bytes) {
        return found(Confidence::Certain, 1);
    }
    let called = Head::is_called(head.name, super::FORMAT.extensions);
    let behind = || head.behind_tears(called, is_own);
    let first = behind().next()?;
    let torn = head.lines().next() != Some(first);
    if let Some(confidence) = run(first) {
        return found(if torn { confidence.min(Confidence::Strong) } else { confidence }, 1);
    }
    // Other programs write such lines, too.
    if log::begin_a_log(behind()) {
        return found(Confidence::Weak, 2);
    }
    // Most files are of other programs, and do not contain this word.
    memchr::memmem::find(head.bytes, b"\"schema_version\"")?;
    if head.lines().take(LOOKED_AT).any(is_header) { found(Confidence::Buried, 1) } else { None }
}

/// Maximum number of lines that detection looks at.
const LOOKED_AT: usize = 16;

/// Whether a line is one of Codelia's, as far as the line goes.
fn is_own(line: &[u8]) -> bool {
    run(line).is_some() || log::is_like_a_message(line)
}

/// Returns the lines at the beginning of a file of Codelia, after the lines that a crash tore.
pub fn lines_behind_tears(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    head_of(bytes).behind_tears(true, is_own)
}

/// Whether the beginning of a state or a line is damaged, not only cut where the head ends.
pub fn begins_damaged(head: &[u8]) -> bool {
    let mut cursor = Cursor::new(head);
    let cut = |fault: &Fault| head.len() >= Head::SIZE && fault.what.is_truncation();
    let value = cursor.skip_value().and_then(|_| cursor.end());
    value.err().is_some_and(|fault| !cut(&fault))
}

/// Whether a line is the header of a run.
fn is_header(line: &[u8]) -> bool {
    run(line) == Some(Confidence::Certain)
}

/// Returns the confidence that a line is one of a run; `None` for any other line.
pub fn run(line: &[u8]) -> Option<Confidence> {
    let line = Bytes::copy_from_slice(line);
    let source = Source::new(&line);
    let has = |name| source.peek(name).ok().flatten();
    let kind = source.peek_text("type").ok()??;
    let run = has("run_id").is_some_and(|id| id.text().is_some());
    if kind == "header" {
        // Other programs use the same names of lines, but write no such first line.
        let version = has("schema_version").is_some_and(|version| version.float().is_some());
        return (version && run).then_some(Confidence::Certain);
    }
    let known = wire::TYPES.iter().any(|of| of.wire == kind);
    let dated = has("ts").is_some_and(|ts| ts.text().is_some());
    (known && dated && run).then_some(Confidence::Weak)
}

/// Determines the shape of the main part by its beginning.
pub fn shape(parts: &mut dyn Parts) -> Result<Shape> {
    let bytes = beginning(parts)?;
    let first = lines_behind_tears(&bytes).next().unwrap_or_default();
    Ok(match () {
        () if run(first).is_some() => Shape::Run,
        () if state::is_state(&bytes) => Shape::State,
        () if log::begin_a_log(lines_behind_tears(&bytes)) => Shape::Log,
        () => Shape::Run,
    })
}

/// Reads the beginning of the main part, without a byte order mark.
pub fn beginning(parts: &mut dyn Parts) -> Result<Vec<u8>> {
    parts.keep()?;
    let mut bytes = Vec::new();
    parts.main()?.take(Head::SIZE as u64).read_to_end(&mut bytes).cannot("read")?;
    Ok(bytes.strip_prefix(BOM).map(<[u8]>::to_vec).unwrap_or(bytes))
}

/// Returns the lines of a beginning that are not blank.
pub fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    head_of(bytes).lines()
}

fn head_of(bytes: &[u8]) -> Head<'_> {
    Head { name: "", bytes, whole: false, encoding: None }
}
