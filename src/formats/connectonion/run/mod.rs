//! Version 3: `run_N.yaml`, a whole conversation.
//!
//! ConnectOnion writes these files by hand: a header of one line a field, and under `messages: |`
//! a JSON array with one message a line. What it writes so is often no YAML that a parser takes
//! (a system prompt that begins with a space, control characters), so the lines are read as
//! lines. Where a person or another program laid the file out in another way, it is read as YAML.
//!
//! | header | canonical |
//! |---|---|
//! | `agent`, `system_prompt`, `model`, `cwd` | the same names, in `session` |
//! | `timestamp` | `updated`: it is written at the end of a turn |
//! | `tokens`, `cost`, `duration_ms` | `totals` |
//! | any other line `key: value` | `extra` |
//! | white space behind a line of the list, blank lines in it and behind it, comments behind it | `notice` of a comment |
//! | a list that the file ends in | `notice` of a comment, `torn` |
//! | a turn of the summary beside it, or an earlier run of one in its `history` | `turn` |
//!
//! Turns are `synthesized`, for the file does not hold them: they are not written back to a run.

mod edited;
mod header;
mod joined;
mod read;
mod write;

use super::{file, message};
use crate::json::{Fault, without_nan};
use crate::record::Record;
use bytes::Bytes;

pub use header::{PROMPT, is_edited, is_headless, is_known, is_run, is_unnamed, member_of};
pub use joined::{open, summary_of};
pub use read::pieces;
pub use write::open as open_writer;

/// The line that the messages follow.
pub const MESSAGES: &str = "messages: |";
/// How the array of messages begins and ends.
pub const OPEN: &str = "  [";
pub const CLOSE: &str = "  ]";
/// What a notice says of a list that was not closed: whoever writes it closes it, and says so.
const TORN: &str = "torn";
/// What stands before each message.
pub const INDENT: &str = "    ";
/// How the line of a message begins.
const SAID: &str = "    {\"role\": ";

/// Whether a line behind the list is blank or a comment. What is indented as the list is, is a part
/// of it.
#[must_use]
pub fn is_remark(line: &[u8]) -> bool {
    let text = std::str::from_utf8(line).map(|line| line.trim_end_matches(['\r', '\n']));
    text.is_ok_and(|text| {
        (!text.starts_with("  ") || text.trim().is_empty()) && file::is_remark(text)
    })
}

/// Reads a message. Numbers that only Python's JSON knows are read as `null`; says whether there
/// were any.
///
/// # Errors
/// If the text is not one JSON value.
pub fn parse(text: &Bytes) -> Result<(Record, bool), Fault> {
    message::read(text).map(|record| (record, false)).or_else(|fault| {
        let plain = without_nan(text).ok_or(fault)?;
        message::read(&plain.into()).map(|record| (record, true)).map_err(|_| fault)
    })
}
