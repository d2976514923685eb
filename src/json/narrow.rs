//! Stands for `wide` on processors that it knows no instructions of: nothing is found there.

use super::tokens::Tokens;

/// Never.
pub fn is_there() -> bool {
    false
}

/// Finds none.
pub fn find(_tokens: &mut Tokens<'_>) {}

/// Comes nowhere.
pub fn stop(_bytes: &[u8], at: usize) -> Result<usize, usize> {
    Err(at)
}
