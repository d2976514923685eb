//! What a walk over a run must know of what stands further on: whether lines of messages are a
//! list that lost the line before it, or a part of a prompt that shows some.

use super::super::run::{CLOSE, MESSAGES, is_remark, member_of};
use super::clean::{Clean, Found, Line};
use crate::error::Result;
use crate::format::Cx;
use crate::position::Position;
use std::io::Read;

/// How a run ends.
#[derive(Debug, Default)]
pub struct Ahead {
    /// Where the last line begins that is one of a header, or names the messages.
    last: Option<u64>,
    /// Whether the file ends with the bracket that closes a list.
    closed: bool,
}

impl Ahead {
    /// Looks through a file.
    ///
    /// # Errors
    /// If it cannot be read.
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
    /// `prompt`, which may show messages, only if the list is closed at the end: a file that was cut
    /// in a prompt has none.
    pub fn may_begin(&self, byte: u64, prompt: bool) -> bool {
        self.last.is_none_or(|last| last < byte) && (self.closed || !prompt)
    }
}

/// All bytes of a line in pieces.
pub fn joined(line: &[(Position, Vec<u8>)]) -> Vec<u8> {
    line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
}

/// The two lines of which the one that names the messages lost its ending, or the one before it did,
/// which may be of a `prompt` whose end that is.
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
