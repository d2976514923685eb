//! Escapes of code units that a model's interface refuses.

use super::Span;

/// Code unit of a string that a model's interface refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// U+0000, which programs written in C cannot store.
    Nul,
    /// A surrogate without its other half, which is not a character.
    Half,
}

/// Returns the escapes in a JSON text that represent such units.
///
/// ```
/// use copyist::json::{Unit, refused_units};
/// let found: Vec<_> = refused_units(br#""a\u0000 \\u0000 \ud83d\ude00 \ud83d""#).collect();
/// assert_eq!(found.iter().map(|(span, unit)| (span.start, *unit)).collect::<Vec<_>>(),
///     [(2, Unit::Nul), (30, Unit::Half)]);
/// ```
pub fn refused_units(json: &[u8]) -> impl Iterator<Item = (Span, Unit)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += memchr::memchr(b'\\', json.get(at..)?)?;
            let start = at;
            let unit = match code(json, at) {
                Some(high) if (0xd800..0xdc00).contains(&high) && is_low(json, at + 6) => {
                    at += 12;
                    continue;
                }
                Some(0) => Unit::Nul,
                Some(unit) if (0xd800..0xe000).contains(&unit) => Unit::Half,
                _ => {
                    at += 2;
                    continue;
                }
            };
            at += 6;
            return Some((Span { start, end: at }, unit));
        }
    })
}

/// Returns the unit of the escape `\uXXXX` at this place.
fn code(json: &[u8], at: usize) -> Option<u32> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_low(json: &[u8], at: usize) -> bool {
    code(json, at).is_some_and(|low| (0xdc00..0xe000).contains(&low))
}
