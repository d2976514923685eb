//! Search inside strings, which contain most of a session's bytes: eight bytes at a time, or 64
//! with AVX2, where the processor has it. Both stop at the same places.

use super::scan::{SHORT_ESCAPE, first, hits, next_special, word};

/// Returns the place from `at` on, inside a string, of the first byte that is not a plain part of
/// it: its closing quote, a control character, a backslash that does not begin an escape of two
/// characters, or the end.
///
/// ```
/// use copyist::json::strings::{portable, stop};
/// let text = br#"a \"word\" and \u00e9","next""#;
/// assert_eq!((stop(text, 0), portable(text, 0)), (15, 15));
/// assert_eq!(stop(text, 21), 21);
/// ```
#[inline]
pub fn stop(bytes: &[u8], at: usize) -> usize {
    // Most strings are short: keys, names, identifiers.
    if let Some(word) = word(bytes, at) {
        let hits = hits(word);
        let place = at + first(hits);
        if hits != 0 && bytes.get(place) == Some(&b'"') {
            return place;
        }
    }
    long(bytes, at)
}

fn long(bytes: &[u8], at: usize) -> usize {
    super::wide::stop(bytes, at).unwrap_or_else(|rest| portable(bytes, rest))
}

/// Returns the same place as [`stop`], on any processor.
pub fn portable(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = next_special(bytes, at);
        let escaped = bytes.get(at + 1);
        match bytes.get(at) {
            Some(b'\\') if escaped.is_some_and(|b| SHORT_ESCAPE[usize::from(*b)]) => at += 2,
            _ => return at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces that can be in a string, valid and invalid, in many orders.
    const PIECES: [&[u8]; 15] = [
        b"a",
        b"plain text of some length ",
        b"\\n",
        b"\\\\",
        b"\\\"",
        b"\\u00e9",
        b"\\x",
        b"\"",
        b"\x01",
        b"\x1f",
        b"\x7f",
        "\u{e9}\u{1f600}".as_bytes(),
        b"\\",
        b" ",
        b"\\/\\b\\f\\r\\t",
    ];

    #[test]
    fn both_stop_at_the_same_places() {
        let mut state = 1u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..2000 {
            let mut text = Vec::new();
            for _ in 0..draw() % 24 {
                // Mostly what lets the walk go on.
                let choice = if draw() % 8 > 0 { draw() % 5 } else { draw() % PIECES.len() };
                text.extend_from_slice(PIECES[choice]);
            }
            for at in 0..=text.len() {
                let (fast, slow) = (stop(&text, at), portable(&text, at));
                assert_eq!(fast, slow, "at {at} of {:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn every_byte_is_what_it_is_at_every_place_of_a_block() {
        for byte in 0..=255u8 {
            for place in 0..70 {
                for escaped in [false, true] {
                    let mut text = [b'a'; 110];
                    text[place + 1] = byte;
                    if escaped {
                        text[place] = b'\\';
                    }
                    assert_eq!(stop(&text, 0), portable(&text, 0), "{byte:#x} at {place}");
                }
            }
        }
    }
}
