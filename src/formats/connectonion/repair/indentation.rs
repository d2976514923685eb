//! Indentation of the messages of a file, and straightening of their lines that are one space
//! beside it: in this layout no other lines are there.

use super::block::Kind;
use super::line::{begins_with_dash, member, spaces};
use std::collections::BTreeMap;

/// Members that a message itself has; its calls have others.
const MEMBERS: [&str; 4] = ["role", "content", "tool_calls", "tool_call_id"];

/// Indentation of the messages of a file, counted by lines.
#[derive(Debug, Default)]
pub struct Indentation(BTreeMap<usize, u64>);

impl Indentation {
    /// Adds the lines of a message.
    pub fn look(&mut self, message: &[u8]) {
        for line in message.split(|b| *b == b'\n') {
            let begins = begins_with_dash(line);
            let own = if begins { 0 } else { 2 };
            if let Some(place) = spaces(line).checked_sub(own)
                && is_member(line, begins)
            {
                *self.0.entry(place).or_default() += 1;
            }
        }
    }

    /// Returns the most frequent indentation; of equals an even one, because indentations are even.
    pub fn most(&self) -> Option<usize> {
        let best = self.0.iter().max_by_key(|(place, lines)| (**lines, **place % 2 == 0));
        best.map(|(place, _)| *place)
    }
}

/// Whether a line is a member of a message; `begins` is whether the line begins the message.
fn is_member(line: &[u8], begins: bool) -> bool {
    let text = String::from_utf8_lossy(line.trim_ascii());
    let bare = if begins { text.trim_start_matches(['-', ' ']) } else { &text };
    member(bare).is_some_and(|(name, _)| MEMBERS.contains(&name))
}

/// Returns a message with its lines at their `place`, if some are beside it.
pub fn straightened(kind: &Kind, bytes: &[u8], place: usize) -> Option<Vec<u8>> {
    if kind != &Kind::Message {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len() + 8);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let begins = out.is_empty() && begins_with_dash(line);
        let (space, bare) = line.split_at(spaces(line));
        let own = if begins { place } else { place + 2 };
        let beside = space.len().abs_diff(own) == 1 && (begins || is_member(bare, false));
        out.extend(std::iter::repeat_n(b' ', if beside { own } else { space.len() }));
        out.extend_from_slice(bare);
    }
    (out != bytes).then_some(out)
}
