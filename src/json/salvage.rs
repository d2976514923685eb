//! Recovery of the complete members of an object whose end is missing.

use super::Cursor;

/// Maximum depth at which incomplete values are searched.
const DEEPEST: usize = 16;

/// Returns an object of the complete members of a cut object. Of a member that is cut itself, the
/// complete members or elements are kept; a text, a number or a word that is cut is not. Bytes that
/// are not UTF-8 become U+FFFD.
///
/// ```
/// use copyist::json::salvage;
/// let cut = br#"{"a":1,"b":{"c":[2,3,{"d":4},{"e":5"#;
/// assert_eq!(salvage(cut).unwrap(), br#"{"a":1,"b":{"c":[2,3,{"d":4}]}}"#);
/// assert!(salvage(b"[1,").is_none());
/// ```
pub fn salvage(cut: &[u8]) -> Option<Vec<u8>> {
    let cut = String::from_utf8_lossy(cut);
    let mut out = Vec::with_capacity(cut.len() + 16);
    members(cut.as_bytes(), 0, &mut out).then_some(out)
}

/// Appends the object that `cut` begins with; returns `false` if it does not begin with an object.
fn members(cut: &[u8], depth: usize, out: &mut Vec<u8>) -> bool {
    let mut cursor = Cursor::new(cut);
    if cursor.begin_object().is_err() {
        return false;
    }
    out.push(b'{');
    let mut first = true;
    while let Ok(Some(key)) = cursor.next_key() {
        let before = out.len();
        if !first {
            out.push(b',');
        }
        out.extend_from_slice(key.of(cut));
        out.push(b':');
        let whole = value(&mut cursor, cut, depth, out);
        match whole {
            Some(true) => first = false,
            // Part of it was kept, and nothing follows.
            Some(false) => break,
            None => {
                out.truncate(before);
                break;
            }
        }
    }
    out.push(b'}');
    true
}

/// Appends the value at the cursor: whole, or its complete parts, or nothing.
fn value(cursor: &mut Cursor<'_>, cut: &[u8], depth: usize, out: &mut Vec<u8>) -> Option<bool> {
    let start = cursor.at();
    let rest = cut.get(start..).unwrap_or_default();
    let mut ahead = cursor.clone();
    match ahead.skip_value() {
        // A number that ends where the bytes end may have had more digits.
        Ok(span) if span.end < cut.len() => {
            out.extend_from_slice(span.of(cut));
            *cursor = ahead;
            return Some(true);
        }
        Ok(span) if !rest.first().is_some_and(|b| b.is_ascii_digit() || *b == b'-') => {
            out.extend_from_slice(span.of(cut));
            *cursor = ahead;
            return Some(true);
        }
        _ if depth >= DEEPEST => return None,
        _ => {}
    }
    match rest.first() {
        Some(b'{') => members(rest, depth + 1, out).then_some(false),
        Some(b'[') => {
            elements(rest, out);
            Some(false)
        }
        _ => None,
    }
}

/// Appends the list that `cut` begins with, as far as its elements are complete.
fn elements(cut: &[u8], out: &mut Vec<u8>) {
    let mut cursor = Cursor::new(cut);
    out.push(b'[');
    let mut first = true;
    if cursor.begin_array().is_ok() {
        while let Ok(true) = cursor.next_element() {
            match cursor.skip_value() {
                Ok(span) if span.end < cut.len() => {
                    if !std::mem::take(&mut first) {
                        out.push(b',');
                    }
                    out.extend_from_slice(span.of(cut));
                }
                _ => break,
            }
        }
    }
    out.push(b']');
}
