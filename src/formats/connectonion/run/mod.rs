//! Version 3: `run_N.yaml`, a whole conversation.
//!
//! ConnectOnion writes these files by hand: a header of one line a field, and under `messages: |` a
//! JSON array with one message a line. The result is often not YAML that a parser accepts (a system
//! prompt that begins with a space, control characters), so the reader reads the lines as lines. A
//! file that the user or another program laid out in another way is read as YAML.
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
//! Turns are `synthesized`, because the file does not contain them: the writer does not write them
//! back to a run.

mod edited;
mod header;
mod joined;
mod read;
mod write;

use super::message;
use crate::format::Cx;
use crate::json::{Fault, Json, without_nan};
use crate::record::{Field, Record};
use crate::yaml::encoding::Found;
use bytes::Bytes;

pub use header::{PROMPT, is_edited, is_headless, is_known, is_run, is_unnamed, member_of};
pub use joined::{open, summary_of};
pub use read::pieces;
pub use write::open as open_writer;

/// The line before the messages.
pub const MESSAGES: &str = "messages: |";
/// The beginning of the array of messages; `CLOSE` is its end.
pub const OPEN: &str = "  [";
pub const CLOSE: &str = "  ]";
/// Layout of a notice for a list that was not closed. The writer closes the list and reports that.
const TORN: &str = "torn";
/// Indentation of each message.
pub const INDENT: &str = "    ";
/// The beginning of the line of a message.
const MESSAGE_START: &str = "    {\"role\": ";

/// Whether a line behind the list is blank or a comment. A line that is indented as the list is
/// belongs to the list.
pub fn is_remark(line: &[u8]) -> bool {
    let text = std::str::from_utf8(line).map(|line| line.trim_end_matches(['\r', '\n']));
    text.is_ok_and(|text| {
        let is_outside = !text.starts_with("  ") || text.trim().is_empty();
        let text = text.trim_ascii();
        is_outside && (text.is_empty() || text.starts_with('#')) && text.chars().all(is_of_line)
    })
}

/// Whether a character is a part of a line for every reader: PyYAML ends a line at characters that
/// other readers take for a part of it.
fn is_of_line(c: char) -> bool {
    c == '\t' || !(c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}'))
}

/// Reads a message. Numbers that only Python's JSON allows are read as `null`; the result contains
/// whether there were any.
pub fn parse(text: &Bytes) -> Result<(Record, bool), Fault> {
    message::read(text).map(|record| (record, false)).or_else(|fault| {
        let plain = without_nan(text).ok_or(fault)?;
        message::read(&plain.into()).map(|record| (record, true)).map_err(|_| fault)
    })
}

/// Sets the properties of the session's file that its beginning shows.
fn note_file(record: &mut Record, encoding: Found, crlf: bool, cx: &Cx<'_>) {
    let mut file = cx.file(encoding.mark, crlf, None).unwrap_or_default();
    if !encoding.is_utf8() {
        file.set(Field::Encoding, Json::string(encoding.encoding.name()));
    }
    if !file.is_empty() {
        record.node.set(Field::File, file);
    }
}
