//! JSON strings: decoding and quoting.

use base64::Engine;

/// Decodes a JSON string with its quotes; `None` if the bytes are no JSON string.
///
/// A surrogate escape without its other half becomes U+FFFD: the decoded form is for looking,
/// the spelling is what is kept.
///
/// ```
/// use copyist::json::text::decode;
/// assert_eq!(decode(br#""a\n\u00e9\ud83d\ude00""#).as_deref(), Some("a\né😀"));
/// assert_eq!(decode(br#""\ud83d""#).as_deref(), Some("\u{fffd}"));
/// assert_eq!(decode(b"12"), None);
/// ```
#[must_use]
pub fn decode(spelling: &[u8]) -> Option<String> {
    let inner = spelling.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut rest = std::str::from_utf8(inner).ok()?;
    let mut out = String::with_capacity(rest.len());
    while let Some((plain, after)) = rest.split_once('\\') {
        out.push_str(plain);
        let escape = after.chars().next()?;
        rest = after.get(escape.len_utf8()..)?;
        match escape {
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => rest = decode_unicode(rest, &mut out)?,
            other => out.push(other),
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Decodes what follows `\u`, a second escape included where the two are a surrogate pair.
fn decode_unicode<'a>(rest: &'a str, out: &mut String) -> Option<&'a str> {
    let (first, rest) = hex4(rest)?;
    if (0xd800..0xdc00).contains(&first)
        && let Some((second, after)) = rest.strip_prefix("\\u").and_then(hex4)
        && (0xdc00..0xe000).contains(&second)
    {
        let point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        out.push(char::from_u32(point)?);
        return Some(after);
    }
    out.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    Some(rest)
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, text.get(4..)?))
}

/// Appends `text` as a JSON string, escaping what JSON demands and nothing more: the spelling of
/// JavaScript's `JSON.stringify`.
///
/// ```
/// let mut out = Vec::new();
/// copyist::json::text::quote("é\u{1}\n", &mut out);
/// assert_eq!(out, "\"é\\u0001\\n\"".as_bytes());
/// ```
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    let bytes = text.as_bytes();
    for (i, &b) in bytes.iter().enumerate() {
        let short = match b {
            b'"' | b'\\' => b,
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => 0,
            _ => continue,
        };
        out.extend_from_slice(bytes.get(plain..i).unwrap_or_default());
        if short == 0 {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            out.extend([b'\\', b'u', b'0', b'0', digit(b >> 4), digit(b & 0xf)]);
        } else {
            out.extend([b'\\', short]);
        }
        plain = i + 1;
    }
    out.extend_from_slice(bytes.get(plain..).unwrap_or_default());
    out.push(b'"');
}

/// Whether a string in its source spelling, quotes included, decodes to `name`.
///
/// ```
/// use copyist::json::text::is;
/// assert!(is(br#""type""#, "type"));
/// assert!(is(br#""\u0074ype""#, "type"));
/// ```
#[inline]
#[must_use]
pub fn is(spelling: &[u8], name: &str) -> bool {
    let inner = spelling.get(1..spelling.len().saturating_sub(1)).unwrap_or_default();
    inner == name.as_bytes()
        || (memchr::memchr(b'\\', inner).is_some() && decode(spelling).as_deref() == Some(name))
}

/// Bytes that are no text, as text.
#[must_use]
pub fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// The bytes again; `None` if the text is not base64.
///
/// ```
/// use copyist::json::text::{from_base64, to_base64};
/// assert_eq!(from_base64(&to_base64(b"\xff\0")).as_deref(), Some(&b"\xff\0"[..]));
/// ```
#[must_use]
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
