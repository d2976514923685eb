//! Identifiers and times for sessions that have none of Codelia's.

use crate::ids::hash;

/// Time that is written if no time is known. The clock is not used, so that repeated conversions
/// give the same result.
pub const EPOCH: &str = "1970-01-01T00:00:00.000Z";

/// Whether a text is an identifier as Codelia makes them.
pub fn is_uuid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| {
            if dashes.contains(&at) { b == b'-' } else { matches!(b, b'0'..=b'9' | b'a'..=b'f') }
        })
}

/// Derives an identifier of Codelia's shape from the bytes `of`.
pub fn uuid(of: &[u8]) -> String {
    let (a, b) = (hash(of), hash(&[of, b" 2"].concat()));
    let digits = format!("{a:016x}{b:016x}");
    let cut = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-a{}-{}", cut(0, 8), cut(8, 12), cut(13, 16), cut(17, 20), cut(20, 32))
}
