//! Turns and messages that lost the line that they began with, and so stand in the one before them: a
//! mapping with members that stand twice, of which the real loader takes the later ones.

use super::blocks::{Block, Kind, member};
use super::check::members_indent;
use std::collections::HashSet;

/// Members that a person writes, and may write once more.
const AUTHORED: [&str; 4] = ["expected", "evaluation", "eval", "passed"];

/// A block, or the turns that it consists of.
pub fn apart(block: Block) -> Vec<Block> {
    let mut all = vec![block];
    while let Some(start) = all.last().and_then(restart) {
        let behind = all.last_mut().map(|last| last.split_off(start));
        all.extend(behind);
    }
    all
}

/// Where another turn begins in a turn: at the first member that was there before, if more members
/// that only software writes are there again. One alone may be what a person added. In a message it
/// is one whose first line is gone, and what is left of that line goes with it.
fn restart(block: &Block) -> Option<usize> {
    let message = block.kind == Kind::Message;
    if !(message || block.kind == Kind::Turn) {
        return None;
    }
    let indent = members_indent(&block.kind, &block.bytes);
    let (mut names, mut again) = (HashSet::new(), HashSet::new());
    let (mut start, mut found, mut torn) = (0, None, None);
    for line in block.bytes.split_inclusive(|b| *b == b'\n') {
        let (at, text) = (start, line.get(indent..).unwrap_or_default());
        start += line.len();
        let lead = line.get(..indent).unwrap_or_default().trim_ascii();
        if !(lead.is_empty() || at == 0 && lead == b"-") {
            torn = Some(at).filter(|at| *at > 0);
            continue;
        }
        let text = String::from_utf8_lossy(text);
        let Some((name, _)) = member(text.trim_end()) else { continue };
        if found.is_some() || names.contains(name) {
            found = found.or(Some(at));
            let before = names.contains(name) && !AUTHORED.contains(&name);
            again.extend(before.then(|| name.to_owned()));
        } else {
            names.insert(name.to_owned());
        }
    }
    match found {
        Some(found) if message => Some(torn.filter(|torn| *torn < found).unwrap_or(found)),
        _ => found.filter(|_| again.len() > 1),
    }
}
