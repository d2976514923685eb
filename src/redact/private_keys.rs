//! Private keys as texts of several lines, whole or cut.

use super::{Found, Search};

/// Beginning of the first line, in small letters, because the search ignores case.
pub const BEGIN: &str = "-----begin ";
/// Beginning of the last line.
pub const END: &str = "-----end ";

const DASHES: &[u8] = b"-----";
const KIND: &str = "private key";
/// Maximum length of a label such as `RSA PRIVATE KEY`.
const LONGEST_LABEL: usize = 64;
/// Maximum length of such a line: a key whose line breaks are escapes is one line.
const LONGEST_LINE: usize = 16 << 10;
/// Minimum length of a line that belongs to a key whose first or last line is missing.
const LEAST: usize = 16;

/// Searches for the key whose first line begins at this place. A first line without a last one is
/// masked with the lines of the key that follow it.
pub fn from_begin(search: &mut Search<'_, '_>, at: usize) {
    let bytes = search.text.as_bytes();
    let Some(head) = label(bytes, at + BEGIN.len()) else { return };
    let next = memchr::memmem::find(bytes.get(head..).unwrap_or_default(), DASHES);
    let next = next.map(|next| head + next);
    let closed = next.filter(|next| begins(bytes, *next, END));
    let end = match closed.and_then(|next| label(bytes, next + END.len())) {
        Some(end) => end,
        None => body(bytes, head, next.unwrap_or(bytes.len())),
    };
    search.add(Found { start: at, end, kind: KIND });
}

/// Searches for the key whose last line begins at this place, and whose first line is missing.
pub fn from_end(search: &mut Search<'_, '_>, at: usize) {
    let bytes = search.text.as_bytes();
    let Some(end) = label(bytes, at + END.len()).filter(|_| !search.is_done(at)) else { return };
    let mut start = at;
    while let Some(before) = bytes.get(..start.saturating_sub(1)) {
        let far = before.len().saturating_sub(LONGEST_LINE);
        let near = before.get(far..).unwrap_or_default();
        let line = memchr::memrchr(b'\n', near).map_or(far, |at| far + at + 1);
        let text = before.get(line..).unwrap_or_default();
        if !is_body(text) || text.len() < LEAST {
            break;
        }
        start = line;
    }
    search.add(Found { start, end, kind: KIND });
}

/// Returns the end of a label of a private key that begins here, with the dashes behind it.
fn label(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let rest = rest.get(..LONGEST_LABEL.min(rest.len()))?;
    let length = memchr::memmem::find(rest, DASHES)?;
    let label = rest.get(..length)?;
    let private = memchr::memmem::find(label, b"PRIVATE KEY").is_some();
    let line = label.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ');
    (private && line).then_some(at + length + DASHES.len())
}

fn begins(bytes: &[u8], at: usize, with: &str) -> bool {
    let there = bytes.get(at..at + with.len());
    there.is_some_and(|there| there.eq_ignore_ascii_case(with.as_bytes()))
}

/// Returns the end of the lines from `at` on that look like those of a key, before `limit`. Only the
/// last line of a key is short.
fn body(bytes: &[u8], at: usize, limit: usize) -> usize {
    let (mut end, mut from, mut long) = (at, at, false);
    while let Some(rest) = bytes.get(from..limit).filter(|rest| !rest.is_empty()) {
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..length).unwrap_or_default().trim_ascii_end();
        let first = from == at && line.is_empty();
        let is_long = line.trim_ascii_start().len() >= LEAST;
        if !first && !(is_body(line) && (is_long || long && !line.is_empty())) {
            break;
        }
        long = is_long;
        end = from + line.len();
        from += length + 1;
    }
    end
}

/// Whether a line can be one of a key: base64, or base64 behind the number of a line, or with the
/// escapes of another notation. The last line of a cut key may be short.
fn is_body(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\\"',".contains(byte);
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = line.get(digits..).filter(|_| digits > 0).unwrap_or_default();
    let numbered =
        ["→".as_bytes(), b"\t", b"|", b":"].iter().find_map(|mark| numbered.strip_prefix(*mark));
    let line = numbered.unwrap_or(line).trim_ascii();
    line.is_empty() || line.iter().all(key)
}
