//! Stands for `wide` on processors that it knows no instructions of. What it does is right and
//! slow, so that nothing asks it but tests.

use super::scan::SHORT_ESCAPE;
use super::tokens::{BLOCK, Block, Tokens};

/// Whether it is worth asking: never.
pub fn is_there() -> bool {
    false
}

/// Finds more tokens.
pub fn find(tokens: &mut Tokens<'_>) {
    tokens.find(look, |_| false);
}

/// Comes nowhere.
pub fn stop(_bytes: &[u8], at: usize) -> Result<usize, usize> {
    Err(at)
}

fn look(block: &[u8; BLOCK]) -> Block {
    let bits = |is: &dyn Fn(u8) -> bool| {
        block.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(is(*byte)))
    };
    Block {
        quotes: bits(&|byte| byte == b'"'),
        backslashes: bits(&|byte| byte == b'\\'),
        controls: bits(&|byte| byte < 0x20),
        short: bits(&|byte| SHORT_ESCAPE[usize::from(byte)]),
        marks: bits(&|byte| b"{}[]:,".contains(&byte)),
        spaces: bits(&|byte| b" \t\r\n".contains(&byte)),
    }
}
