//! Stands for `wide` on processors that it knows no instructions of. What it does is right and
//! slow, so that nothing asks it but tests.

use super::scan::SHORT_ESCAPE;
use super::tokens::{BLOCK, Block, Outside, Tokens, note};

/// Finds more tokens.
pub type Find = fn(&mut Tokens<'_>);

/// The way that is worth going: none.
pub fn best() -> Option<Find> {
    None
}

/// Every way there is.
pub fn ways() -> impl Iterator<Item = Find> {
    [find as Find].into_iter()
}

fn find(tokens: &mut Tokens<'_>) {
    tokens.find(look, outside, |_| false, note);
}

/// Comes nowhere.
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
