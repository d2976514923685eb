//! Division of turns and messages that lost the line that they began with, and so are part of the
//! one before them: a mapping with members that occur twice, of which the real loader takes the
//! later ones.

use super::block::{Block, Kind};
use super::check::members_indent;
use super::line::member;
use std::collections::HashSet;

/// Members that the user writes, and may write twice.
const AUTHORED: [&str; 4] = ["expected", "evaluation", "eval", "passed"];

/// Members of which each message has one.
const CONTENTS: [&str; 2] = ["content", "tool_calls"];

/// Maximum number of members that are examined behind one that occurs twice; software writes fewer
/// members in a turn.
const SOON: usize = 64;

/// Returns the block, or the turns or messages that it consists of.
pub fn apart(mut block: Block) -> Vec<Block> {
    let (mut starts, mut from) = (Vec::new(), 0);
    while let Some(start) = block.bytes.get(from..).and_then(|bytes| restart(&block.kind, bytes)) {
        from += start;
        starts.push(from);
    }
    let mut all: Vec<_> = starts.into_iter().rev().map(|start| block.split_off(start)).collect();
    all.push(block);
    all.reverse();
    all
}

/// Returns where another turn begins inside of a turn: at the first member that was there before,
/// if more members that only software writes are there again. A single one may be an addition of
/// the user. A message that begins inside of a message has lost its first line; the rest of that
/// line goes with it.
fn restart(kind: &Kind, bytes: &[u8]) -> Option<usize> {
    let message = kind == &Kind::Message;
    if !(message || kind == &Kind::Turn) {
        return None;
    }
    let indent = members_indent(kind, bytes);
    let (mut names, mut again) = (HashSet::new(), HashSet::new());
    let (mut start, mut found, mut torn, mut behind) = (0, None, None, 0);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let (at, text) = (start, line.get(indent..).unwrap_or_default());
        start += line.len();
        let lead = line.get(..indent).unwrap_or_default().trim_ascii();
        if !(lead.is_empty() || at == 0 && lead == b"-") {
            torn = Some(at).filter(|at| *at > 0);
            continue;
        }
        let text = String::from_utf8_lossy(text);
        let Some((name, _)) = member(text.trim_end()) else { continue };
        let double = names.contains(name);
        // A message with two roles and one content is one message.
        if message && double && CONTENTS.iter().any(|name| names.contains(*name)) {
            return torn.or(Some(at));
        }
        if found.is_none() && !double {
            names.insert(name.to_owned());
            continue;
        }
        found = found.or(Some(at));
        behind += 1;
        again.extend((double && !AUTHORED.contains(&name)).then(|| name.to_owned()));
        if again.len() > 1 {
            return found;
        }
        if behind > SOON {
            return None;
        }
    }
    None
}
