//! Tokens in base64, which are found by the three spellings of their beginnings.

use super::{Found, Search};
use crate::json::text::{from_base64, to_base64};

/// Minimum length of a beginning whose spellings are rare enough.
const LEAST: usize = 4;

/// Maximum length of a run of base64 before and behind the beginning of a token.
const LONGEST: usize = 4096;

/// Returns the spellings of a token's beginning in base64, each with its place in a group of four
/// characters.
pub fn spellings(beginning: &str) -> Vec<(String, usize)> {
    if beginning.len() < LEAST {
        return Vec::new();
    }
    // Only the characters that no neighbour changes.
    let spelling = |before: usize| {
        let (start, end) = ((before * 4).div_ceil(3), (before + beginning.len()) * 4 / 3);
        let coded = to_base64(&[&vec![0; before], beginning.as_bytes()].concat());
        (coded.get(start..end).unwrap_or_default().to_owned(), start)
    };
    (0..3).map(spelling).collect()
}

/// Searches for a token in the run of base64 around this place, which is in this place of a group.
/// `tokens` searches the decoded text.
pub fn find<'r>(
    search: &mut Search<'_, 'r>,
    at: usize,
    place: usize,
    tokens: impl Fn(&mut Search<'_, 'r>),
) {
    let bytes = search.text.as_bytes();
    if search.is_done(at) || at < place {
        return;
    }
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let before = bytes.get(..at - place).unwrap_or_default().iter().rev().take(LONGEST);
    let start = at - place - before.take_while(part).count() / 4 * 4;
    let after = bytes.get(at..).unwrap_or_default().iter().take(LONGEST).take_while(part).count();
    let groups = (at + after - start) / 4 * 4;
    let coded = search.text.get(start..at + after).unwrap_or_default();
    let usual: String = coded
        .chars()
        .map(|c| {
            if c == '-' {
                '+'
            } else if c == '_' {
                '/'
            } else {
                c
            }
        })
        .collect();
    let padding = ["", "", "==", "="].get(usual.len() % 4).copied().unwrap_or_default();
    let decoded =
        from_base64(&(usual.clone() + padding)).or_else(|| from_base64(usual.get(..groups)?));
    let decoded = decoded.unwrap_or_default();
    let text = String::from_utf8_lossy(&decoded);
    let mut inner = Search::new(&text);
    tokens(&mut inner);
    match inner.found.first() {
        Some(found) => {
            let padding = bytes.get(at + after..).unwrap_or_default().iter().take(2);
            let padding = padding.take_while(|byte| **byte == b'=').count();
            search.add(Found { start, end: at + after + padding, kind: found.kind });
        }
        None => search.fail(at, at + after),
    }
}
