//! Turns that lost the line that they began with, and so stand in the turn before them: a mapping
//! with members that stand twice, of which the real loader takes the later ones.

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
/// that only software writes are there again. One alone may be what a person added.
fn restart(block: &Block) -> Option<usize> {
    if block.kind != Kind::Turn {
        return None;
    }
    let indent = members_indent(&block.kind, &block.bytes);
    let (mut names, mut again) = (HashSet::new(), HashSet::new());
    let (mut start, mut found) = (0, None);
    for line in block.bytes.split_inclusive(|b| *b == b'\n') {
        let (at, text) = (start, line.get(indent..).unwrap_or_default());
        start += line.len();
        let lead = line.get(..indent).unwrap_or_default().trim_ascii();
        if !(lead.is_empty() || at == 0 && lead == b"-") {
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
    found.filter(|_| again.len() > 1)
}
