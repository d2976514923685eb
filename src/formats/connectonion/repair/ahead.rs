//! Facts about the rest of a run that a walk needs early: whether lines of messages are a list that
//! lost the line before it, or a part of a prompt that shows messages.

use super::super::run::{CLOSE, MESSAGES, is_remark, member_of};
use super::clean::{Clean, Found, Line};
use crate::error::Result;
use crate::format::Cx;
use crate::position::Position;
use std::io::Read;

/// The end of a run.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Offset of the beginning of the last line that is a header line or names the messages.
    last: Option<u64>,
    /// Whether the file ends with the bracket that closes a list.
    closed: bool,
}

impl Ahead {
    /// Scans a file.
    pub fn of(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Self> {
        let mut ahead = Self::default();
        let mut lines = Clean::over(part, cx)?;
        while let Some(found) = lines.next()? {
            let Found::Line((line, terminated)) = found else { continue };
            let bytes = joined(&line);
            let text = String::from_utf8_lossy(bytes.trim_ascii_end());
            if text == MESSAGES || (terminated && member_of(&text).is_some()) {
                ahead.last = line.first().map(|(at, _)| at.byte);
            }
            if !is_remark(&bytes) {
                ahead.closed = text == CLOSE;
            }
        }
        Ok(ahead)
    }

    /// Whether a list of messages may begin at this byte without the line that names them. In a
    /// `prompt`, which may show messages, a list may begin only if it is closed at the end: a file
    /// that was cut in a prompt has no list.
    pub fn may_begin(&self, byte: u64, prompt: bool) -> bool {
        self.last.is_none_or(|last| last < byte) && (self.closed || !prompt)
    }
}

/// Joins the pieces of a line.
pub fn joined(line: &[(Position, Vec<u8>)]) -> Vec<u8> {
    line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
}

/// Divides a line in which the line that names the messages, or the line before it, lost its
/// ending; the line before may be the end of a `prompt`.
pub fn divided((line, terminated): Line, prompt: bool) -> (Line, Option<Line>) {
    let bytes = joined(&line);
    let text = bytes.trim_ascii_end();
    let name = MESSAGES.as_bytes();
    let before = || {
        let before = text.strip_suffix(name)?;
        let own = prompt && before.starts_with(b"  ");
        let member = std::str::from_utf8(before).ok().and_then(member_of);
        (own || member.is_some()).then_some(before.len())
    };
    let behind = || text.strip_prefix(name).filter(|rest| !rest.is_empty()).map(|_| name.len());
    let Some(mut left) = behind().or_else(before) else { return ((line, terminated), None) };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (at, mut piece) in line {
        let rest = piece.split_off(left.min(piece.len()));
        let behind = at.plus(piece.len());
        left -= piece.len();
        first.extend((!piece.is_empty()).then_some((at, piece)));
        second.extend((!rest.is_empty()).then_some((behind, rest)));
    }
    ((first, false), Some((second, terminated)))
}
