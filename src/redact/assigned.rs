//! Places of values behind their names: `name=value`, `"name": "value"`, YAML below its name.

use super::names::LONGEST as LONGEST_NAME;

/// Maximum length of a value.
pub const LONGEST: usize = 4096;

/// Place of a value behind its name.
pub struct Begins {
    pub value: usize,
    /// Whether only an equals sign, or a colon with a space, is between the two.
    pub tight: bool,
    /// Whether a colon is between the two.
    pub colon: bool,
    /// Whether "is" is between the two.
    pub sentence: bool,
}

/// Returns where the value of a name begins that ends here.
pub fn behind(bytes: &[u8], end: usize, option: bool, tag: bool) -> Option<Begins> {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut at = end;
    // The closing quote of the name.
    if byte(at) == b'\\' && matches!(byte(at + 1), b'"' | b'\'') {
        at += 2;
    } else if matches!(byte(at), b'"' | b'\'' | b'`') {
        at += 1;
    }
    let quoted = at > end;
    if byte(at) == b']' && quoted {
        at += 1;
    }
    if tag && byte(at) == b'>' {
        return Some(Begins { value: at + 1, tight: true, colon: false, sentence: false });
    }
    let named = at;
    at += blanks(bytes, at);
    if option && byte(named) == b' ' && !matches!(byte(at), b'-' | b'=' | b':') {
        return Some(Begins { value: at, tight: false, colon: false, sentence: false });
    }
    let spaced = at > named;
    if let Some(rest) = bytes.get(at..).filter(|rest| spaced && !quoted && rest.starts_with(b"is "))
    {
        let is = 3 + blanks(rest, 3);
        return Some(Begins { value: at + is, tight: false, colon: false, sentence: true });
    }
    let colon = byte(at) == b':';
    match (byte(at), byte(at + 1)) {
        (b':', b'=') | (b'=', b'>') => at += 2,
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => return None,
        (b'=' | b':', _) => at += 1,
        _ => return None,
    }
    let gap = blanks(bytes, at);
    let tight = !spaced && (colon || gap == 0);
    Some(Begins { value: at + gap, tight, colon, sentence: false })
}

fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take(16).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// Returns the ends of the value that begins here, without its quotes, and whether it has some. An
/// open value is not among code, so it can contain punctuation.
pub fn value_at(bytes: &[u8], at: usize, open: bool) -> (usize, usize, bool) {
    let rest = |from: usize| bytes.get(from..).unwrap_or_default().iter().take(LONGEST);
    match bytes.get(at) {
        Some(b'\\') if matches!(bytes.get(at + 1), Some(b'"' | b'\'')) => {
            let (from, quote) = (at + 2, bytes.get(at + 1));
            let limit = from + rest(from).take_while(|b| **b != b'\n').count();
            let mut to = from;
            while to < limit && !(bytes.get(to) == Some(&b'\\') && bytes.get(to + 1) == quote) {
                // A quote in the value has three backslashes.
                let inner = bytes.get(to..to + 3) == Some(br"\\\");
                to += if inner {
                    4
                } else if bytes.get(to) == Some(&b'\\') {
                    2
                } else {
                    1
                };
            }
            (from, to.min(limit), true)
        }
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            let (from, mut escaped) = (at + 1, false);
            let length = rest(from)
                .take_while(|b| {
                    let ends = **b == b'\n' || *b == quote && !escaped;
                    escaped = **b == b'\\' && !escaped;
                    !ends
                })
                .count();
            let closed = bytes.get(from + length) == Some(quote);
            (from, if closed { from + length } else { from }, true)
        }
        _ => {
            let mut to = at;
            let limit = at + rest(at).count();
            while to < limit && !ends_value(bytes, to, open) {
                to += 1;
            }
            (at, to, false)
        }
    }
}

/// Whether a value without quotes ends at this place. Punctuation belongs to an open value if it
/// goes on behind it and no other name follows.
fn ends_value(bytes: &[u8], at: usize, open: bool) -> bool {
    let after = bytes.get(at + 1..).unwrap_or_default();
    let goes_on = |test: fn(&u8) -> bool| open && after.first().is_some_and(test);
    match bytes.get(at) {
        Some(b'"' | b'\'' | b'`' | b'<' | b'>') | None => true,
        Some(b')' | b']' | b'}') => !goes_on(u8::is_ascii_alphanumeric),
        Some(b'\\') => !goes_on(|byte| byte.is_ascii_graphic() && !b"nrt\"'\\".contains(byte)),
        Some(byte @ (b',' | b';' | b'&' | b'|')) => {
            let names = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(byte);
            let name = after.iter().take(LONGEST_NAME).take_while(names).count();
            let named = name > 0 && after.get(name) == Some(&b'=');
            let entity = *byte == b'&' && after.starts_with(b"amp;");
            let twice = after.first() == Some(byte);
            let rest = goes_on(|byte| byte.is_ascii_graphic() && !b"\"'`\\".contains(byte));
            named || entity || twice || !rest
        }
        Some(byte) => byte.is_ascii_whitespace(),
    }
}

/// Whether a name begins its line, as in a file of settings. A command that exports it, marks of a
/// list or a difference, and what `grep -n` prints may precede it.
pub fn begins_line(text: &str, start: usize) -> bool {
    const LONGEST: usize = 96;
    let bytes = text.as_bytes().get(start.saturating_sub(LONGEST)..start).unwrap_or_default();
    let before = match memchr::memrchr(b'\n', bytes) {
        Some(at) => bytes.get(at + 1..).unwrap_or_default(),
        None if start < LONGEST => bytes,
        None => return false,
    };
    let mark = |byte: &u8| byte.is_ascii_whitespace() || b"-+>*|\xE2\x86\x92".contains(byte);
    let trimmed = |bytes: &[u8]| bytes.iter().rev().skip_while(|byte| mark(byte)).count();
    let before = before.get(..trimmed(before)).unwrap_or_default();
    let before = before.strip_suffix(b":").unwrap_or(before);
    let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let file = before.get(..before.len() - digits).unwrap_or_default();
    let numbered = digits > 0 && !file.iter().any(u8::is_ascii_whitespace);
    before.is_empty() || numbered || [&b"export"[..], b"set", b"ENV"].contains(&before)
}

/// Whether a line ends behind this place.
pub fn ends_line(bytes: &[u8], end: usize) -> bool {
    let after = bytes.get(end..).unwrap_or_default();
    let after = after.iter().take(16).find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    matches!(after, None | Some(b'\n'))
}

/// Returns the ends of a value of YAML on the lines below its name, which are indented deeper: one
/// line, or several behind `>` or `|`.
pub fn below(text: &str, start: usize, begins: &Begins) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let header = bytes.get(begins.value..)?.iter().take(8).take_while(|byte| **byte != b'\n');
    let header = bytes.get(begins.value..begins.value + header.count())?.trim_ascii_end();
    let block = header.starts_with(b">") || header.starts_with(b"|");
    let marks = header.iter().skip(1).all(|byte| b"+-123456789".contains(byte));
    if !begins.colon || !(header.is_empty() || block && marks) {
        return None;
    }
    let line = memchr::memrchr(b'\n', bytes.get(..start)?).map_or(0, |at| at + 1);
    let outer = indent(bytes.get(line..)?);
    let first = begins.value + memchr::memchr(b'\n', bytes.get(begins.value..)?)? + 1;
    let (mut end, mut next) = (None, first);
    while let Some(rest) = bytes.get(next..).filter(|rest| indent(rest) > outer) {
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let value = rest.get(..length)?.trim_ascii();
        let plain = !value.is_empty() && !value.iter().any(u8::is_ascii_whitespace);
        if !plain || next > first + LONGEST || !block && value.ends_with(b":") {
            break;
        }
        end = Some(next + rest.get(..length)?.trim_ascii_end().len());
        next += length + 1;
        if !block {
            break;
        }
    }
    Some((first + indent(bytes.get(first..)?), end?))
}

fn indent(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}
