//! JSON strings: decoding and quoting.

use super::scan::{first, hits, next_special};
use super::{Span, Unit, refused_units};
use base64::Engine;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Decodes a JSON string with its quotes; `None` if the bytes are not a JSON string.
///
/// A surrogate escape without its other half becomes U+FFFD: the decoded form is for inspection,
/// and the spelling is kept.
///
/// ```
/// use copyist::json::text::decode;
/// assert_eq!(decode(br#""a\n\u00e9\ud83d\ude00""#).as_deref(), Some("a\né😀"));
/// assert_eq!(decode(br#""\ud83d""#).as_deref(), Some("\u{fffd}"));
/// assert_eq!(decode(b"12"), None);
/// ```
pub fn decode(spelling: &[u8]) -> Option<String> {
    decoded(spelling).map(Cow::into_owned)
}

/// Decodes a JSON string with its quotes, without a copy if it has no escapes; `None` if the bytes
/// are not a JSON string.
pub fn decoded(spelling: &[u8]) -> Option<Cow<'_, str>> {
    let inner = spelling.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inner).is_none() {
        return simdutf8::basic::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    String::from_utf8(unescape(spelling, |_| 0xfffd)?).ok().map(Cow::Owned)
}

/// Decodes a JSON string with its quotes as [WTF-8](https://simonsapin.github.io/wtf-8/): UTF-8,
/// and a surrogate escape without its other half spelled as UTF-8 would spell it, so that nothing
/// is lost.
///
/// ```
/// use copyist::json::text::decode_wtf8;
/// assert_eq!(decode_wtf8(br#""a\ud83d""#).as_deref(), Some(&b"a\xed\xa0\xbd"[..]));
/// ```
pub fn decode_wtf8(spelling: &[u8]) -> Option<Vec<u8>> {
    unescape(spelling, |half| half)
}

/// Decodes a JSON string; `lone` returns the replacement for a surrogate without its other half.
fn unescape(spelling: &[u8], lone: fn(u32) -> u32) -> Option<Vec<u8>> {
    let inner = spelling.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let mut rest = simdutf8::basic::from_utf8(inner).ok()?.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, after) = rest.split_at_checked(at)?;
        out.extend_from_slice(plain);
        rest = escaped(after.get(1..)?, lone, &mut out)?;
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Decodes an escape, behind its backslash; returns the text behind it.
#[inline]
fn escaped<'a>(text: &'a [u8], lone: fn(u32) -> u32, out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (&letter, rest) = text.split_first()?;
    out.push(match letter {
        b'b' => 0x8,
        b'f' => 0xc,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let (point, after) = unicode(rest)?;
            let surrogate = (0xd800..0xe000).contains(&point);
            push_wtf8(if surrogate { lone(point) } else { point }, out);
            return Some(after);
        }
        other => other,
    });
    Some(rest)
}

/// Appends a JSON string with as few escapes as possible; a surrogate without its other half keeps
/// its own. `None` if the string is not UTF-8 or an escape lacks digits: then the appended bytes
/// must not be used.
///
/// ```
/// let mut out = Vec::new();
/// copyist::json::text::respell(br#""\u00e9\/\u000A\uD83D\n""#, &mut out);
/// assert_eq!(out, r#""é/\n\ud83d\n""#.as_bytes());
/// ```
pub fn respell(string: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut rest = simdutf8::basic::from_utf8(string).ok()?.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escaped) = rest.split_at_checked(at)?;
        out.extend_from_slice(plain);
        let (escape, after) = escaped.split_at_checked(2)?;
        rest = match escape {
            b"\\u" => {
                let (point, after) = unicode(after)?;
                respell_point(point, out);
                after
            }
            b"\\/" => {
                out.push(b'/');
                after
            }
            _ => {
                out.extend_from_slice(escape);
                after
            }
        };
    }
    out.extend_from_slice(rest);
    Some(())
}

fn respell_point(point: u32, out: &mut Vec<u8>) {
    match char::from_u32(point) {
        Some(c) => escape(c.encode_utf8(&mut [0; 4]).as_bytes(), out),
        None => out.extend_from_slice(format!("\\u{point:04x}").as_bytes()),
    }
}

/// Decodes the string at the beginning of a text, behind its quote, as WTF-8; returns the text
/// behind the closing quote. `None` if the string has no end or an escape lacks digits.
pub(super) fn decode_here<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        rest = match plain(rest, out) {
            [b'"', after @ ..] => return Some(after),
            [b'\\', after @ ..] => escaped(after, |half| half, out)?,
            _ => return None,
        };
    }
}

/// Copies the literal bytes, and returns the rest. Most such pieces are short: eight bytes at a
/// time are copied before it is known whether all of them belong there.
fn plain<'a>(mut text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    while let Some((block, after)) = text.split_first_chunk::<8>() {
        out.extend_from_slice(block);
        let hits = hits(u64::from_le_bytes(*block));
        if hits != 0 {
            out.truncate(out.len() - 8 + first(hits));
            return text.get(first(hits)..).unwrap_or_default();
        }
        text = after;
    }
    let end = next_special(text, 0);
    let (plain, rest) = text.split_at_checked(end).unwrap_or((text, b""));
    out.extend_from_slice(plain);
    rest
}

/// Decodes the digits behind `\u`, including a second escape where the two are a surrogate pair.
fn unicode(rest: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = hex4(rest)?;
    if (0xd800..0xdc00).contains(&first)
        && let Some((second, after)) = rest.strip_prefix(b"\\u").and_then(hex4)
        && (0xdc00..0xe000).contains(&second)
    {
        return Some((0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), after));
    }
    Some((first, rest))
}

/// Appends a code point below U+110000, a surrogate as UTF-8 would spell it.
pub(crate) fn push_wtf8(point: u32, out: &mut Vec<u8>) {
    match char::from_u32(point) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let low = |shift: u32| 0x80 | (point >> shift & 0x3f) as u8;
            out.extend([0xe0 | (point >> 12 & 0xf) as u8, low(6), low(0)]);
        }
    }
}

fn hex4(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

/// Appends `text` as a JSON string, escaping only what JSON demands: the spelling of JavaScript's
/// `JSON.stringify`.
///
/// ```
/// let mut out = Vec::new();
/// copyist::json::text::quote("é\u{1}\n", &mut out);
/// assert_eq!(out, "\"é\\u0001\\n\"".as_bytes());
/// ```
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape(text.as_bytes(), out);
    out.push(b'"');
}

/// Appends the text between the quotes.
fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len());
    let mut plain = 0;
    loop {
        let at = next_special(bytes, plain);
        out.extend_from_slice(bytes.get(plain..at).unwrap_or_default());
        let Some(&b) = bytes.get(at) else { return };
        let short = match b {
            b'"' | b'\\' => b,
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => 0,
        };
        if short == 0 {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            out.extend([b'\\', b'u', b'0', b'0', digit(b >> 4), digit(b & 0xf)]);
        } else {
            out.extend([b'\\', short]);
        }
        plain = at + 1;
    }
}

/// Appends WTF-8 as a JSON string: a lone surrogate becomes an escape again.
///
/// ```
/// let mut out = Vec::new();
/// copyist::json::text::quote_wtf8(b"a\xed\xa0\xbd", &mut out);
/// assert_eq!(out, br#""a\ud83d""#);
/// ```
pub fn quote_wtf8(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    // Most texts have no lone surrogate. The basic check shows this fastest, because it need not
    // find the place. It is made once: checking the whole rest again behind each surrogate would
    // take the square of the time.
    let whole = simdutf8::basic::from_utf8(text).is_ok();
    while !whole && let Err(fault) = simdutf8::compat::from_utf8(rest) {
        let (valid, odd) = rest.split_at(fault.valid_up_to());
        escape(valid, out);
        let half = match odd {
            [0xed, b @ 0xa0..0xc0, c, ..] => {
                0xd000 | u32::from(b & 0x3f) << 6 | u32::from(c & 0x3f)
            }
            _ => 0xfffd,
        };
        out.extend_from_slice(format!("\\u{half:04x}").as_bytes());
        rest = odd.get(if half == 0xfffd { 1 } else { 3 }..).unwrap_or_default();
    }
    escape(rest, out);
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
pub fn is(spelling: &[u8], name: &str) -> bool {
    let inner = spelling.get(1..spelling.len().saturating_sub(1)).unwrap_or_default();
    // Escapes make a spelling longer than its content.
    inner == name.as_bytes()
        || (inner.len() > name.len()
            && differs_by_escape(inner, name.as_bytes())
            && decode(spelling).as_deref() == Some(name))
}

/// Whether a spelling, has an escape where it first differs from a text.
#[inline]
fn differs_by_escape(inner: &[u8], text: &[u8]) -> bool {
    let same = inner.iter().zip(text).take_while(|(a, b)| a == b).count();
    inner.get(same) == Some(&b'\\')
}

/// Whether no string of a JSON text has another spelling with fewer escapes, as far as a quick look
/// shows: true is certain.
///
/// ```
/// use copyist::json::text::is_simple;
/// assert!(is_simple(br#"["a\n","\u001b[0m"]"#));
/// assert!(!is_simple(br#""\u00e9""#));
/// assert!(!is_simple(br#""a\/b""#));
/// ```
pub fn is_simple(json: &[u8]) -> bool {
    // Most values are short and without any escape, and nothing is found faster than that.
    let Some(first) = memchr::memchr(b'\\', json) else { return true };
    let json = json.get(first..).unwrap_or_default();
    // Control characters have no other spelling, except those that have an escape of two
    // characters.
    let mut codes = CODE.find_iter(json).map(|at| json.get(at + 2..at + 6).unwrap_or_default());
    let needed = |code: &[u8]| match code {
        [b'0', b'0', b'0', low] => matches!(low, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'0', b'0', b'1', low] => matches!(low, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    };
    codes.all(needed) && SLASH.find(json).is_none()
}

static CODE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u"));
static SLASH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\/"));

/// Returns the places of the escapes of surrogates without their other half.
///
/// ```
/// use copyist::json::text::lone_halves;
/// let found = lone_halves(br#""\ud83d\ude00 \\ud83d \ud83d""#);
/// assert_eq!(found.iter().map(|half| (half.start, half.end)).collect::<Vec<_>>(), [(22, 28)]);
/// ```
pub fn lone_halves(json: &[u8]) -> Vec<Span> {
    let halves = refused_units(json).filter(|(_, unit)| *unit == Unit::Half);
    halves.map(|(span, _)| span).collect()
}

/// Returns bytes that are not text in base64.
pub fn to_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Decodes base64; `None` if the text is not base64.
///
/// ```
/// use copyist::json::text::{from_base64, to_base64};
/// assert_eq!(from_base64(&to_base64(b"\xff\0")).as_deref(), Some(&b"\xff\0"[..]));
/// ```
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_halves_take_no_time() {
        let string = format!("\"{}\"", "\\udc80\\udcff".repeat(300_000));
        let mut again = Vec::new();
        quote_wtf8(&decode_wtf8(string.as_bytes()).expect("JSON"), &mut again);
        assert!(again == string.as_bytes());
    }
}
