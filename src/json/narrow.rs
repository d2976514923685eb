//! Replacement for `wide` on processors whose instructions `wide` does not support. Its results are
//! right but slow, so that only tests use it.

use super::scan::SHORT_ESCAPE;
use super::search::{BLOCK, Block, Outside, Search, note};

/// Finds more tokens.
pub type Find = fn(&mut Search<'_>);

/// Returns the way of finding tokens that is worth using: none.
pub fn best() -> Option<Find> {
    None
}

/// Returns every available way of finding tokens.
pub fn ways() -> impl Iterator<Item = Find> {
    [find as Find].into_iter()
}

fn find(search: &mut Search<'_>) {
    search.find(look, outside, |_| false, note);
}

/// Returns the start as the place reached, because no instructions are available.
pub fn stop(_bytes: &[u8], at: usize) -> Result<usize, usize> {
    Err(at)
}

fn look(block: &[u8; BLOCK]) -> Block {
    Block {
        quotes: bits(block, |byte| byte == b'"'),
        backslashes: bits(block, |byte| byte == b'\\'),
        controls: bits(block, |byte| byte < 0x20),
        short: bits(block, |byte| SHORT_ESCAPE[usize::from(byte)]),
    }
}

fn outside(block: &[u8; BLOCK]) -> Outside {
    Outside {
        marks: bits(block, |byte| b"{}[]:,".contains(&byte)),
        spaces: bits(block, |byte| b" \t\r\n".contains(&byte)),
        breaks: bits(block, |byte| byte == b'\n'),
    }
}

fn bits(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(is(*byte)))
}
