//! Restoration of halves of surrogate pairs where [`source`](super::source) marked their escapes.

use super::source::MARK;
use crate::json::text::push_wtf8;
use crate::yaml::Text;

/// Returns the text with its marks replaced: in double quotes by the half that the escape
/// represents, in other scalars by the two characters of the original. `None` if an escape lacks
/// digits.
pub fn restore(text: String, escapes: bool) -> Option<Text<'static>> {
    if !text.contains(MARK) {
        return Some(text.into());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((plain, after)) = rest.split_once(MARK) {
        out.extend_from_slice(plain.as_bytes());
        rest = after;
        if let Some(after) = rest.strip_prefix(MARK) {
            push_wtf8(MARK.into(), &mut out);
            rest = after;
        } else if escapes {
            let digits = rest.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            push_half(u32::from_str_radix(digits, 16).ok()?, &mut out);
            rest = rest.get(4..)?;
        } else {
            out.extend_from_slice(b"\\u");
        }
    }
    out.extend_from_slice(rest.as_bytes());
    Some(Text::from_wtf8(out))
}

/// Appends half of a pair; with the other half before it, the two become one character.
fn push_half(half: u32, out: &mut Vec<u8>) {
    let before = match out.as_slice() {
        [.., 0xed, b @ 0xa0..0xb0, c] if half >= 0xdc00 => {
            Some(u32::from(b & 0xf) << 6 | u32::from(c & 0x3f))
        }
        _ => None,
    };
    match before {
        Some(high) => {
            out.truncate(out.len() - 3);
            push_wtf8(0x10000 + (high << 10) + (half - 0xdc00), out);
        }
        None => push_wtf8(half, out),
    }
}
