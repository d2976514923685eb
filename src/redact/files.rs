//! Passwords in the files of programs that log in: `.netrc` and `.pgpass`.

use super::names::PASSWORD;
use super::values::is_given;
use super::{Found, Search};

/// Words before the entries of `.netrc`.
pub const ENTRIES: [&str; 2] = ["machine ", "default login "];

/// Maximum length of an entry.
const LONGEST: usize = 512;

/// Searches for the password in an entry of `.netrc`, which begins at this place.
pub fn netrc(search: &mut Search<'_, '_>, at: usize, entry: &str) {
    let text = search.text;
    if !search.is_boundary(at) {
        return;
    }
    let mut words = words(text, at + entry.len());
    // The name of the machine or of the user.
    words.next();
    let mut login = entry.contains("login");
    while let (Some((_, key)), Some((start, value))) = (words.next(), words.next()) {
        match key {
            "login" => login = true,
            "account" | "port" => {}
            "password" => {
                if login && is_given(value) {
                    search.add(Found { start, end: start + value.len(), kind: PASSWORD });
                }
                return;
            }
            _ => return,
        }
    }
}

/// Returns the words of a text from a place on, with their places.
fn words(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let ends = |byte: u8| byte.is_ascii_whitespace() || b"\"'\\<>".contains(&byte);
    let limit = (from + LONGEST).min(bytes.len());
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..limit)?;
        let start = at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let word = bytes.get(start..limit)?.iter().take_while(|byte| !ends(**byte)).count();
        at = start + word;
        text.get(start..at).filter(|word| !word.is_empty()).map(|word| (start, word))
    })
}

/// Searches for the password in a line of `.pgpass` around the colon behind its host: the port,
/// the database, the user and the password follow, with colons between them.
pub fn pgpass(search: &mut Search<'_, '_>, colon: usize) {
    let text = search.text;
    let Some(rest) = text.get(colon + 1..) else { return };
    let digits = rest.bytes().take(6).take_while(u8::is_ascii_digit).count();
    let port = if rest.starts_with('*') { 1 } else { digits };
    if !(4..=5).contains(&digits) && port != 1 || rest.as_bytes().get(port) != Some(&b':') {
        return;
    }
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.*".contains(byte);
    let before = text.as_bytes().get(..colon).unwrap_or_default();
    let host = before.iter().rev().take(LONGEST).take_while(|byte| name(byte)).count();
    let outside = before.get(..before.len() - host).and_then(|before| before.last());
    if host == 0
        || outside.is_some_and(|byte| !byte.is_ascii_whitespace() && !b"\"'".contains(byte))
    {
        return;
    }
    let end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'\\<>:`,".contains(byte);
    let length = rest.bytes().take(LONGEST).take_while(|byte| *byte == b':' || !end(byte)).count();
    let fields: Vec<&str> = rest.get(..length).unwrap_or_default().split(':').collect();
    let [_, database, user, value] = fields.as_slice() else { return };
    let named = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| name(&b))
            && !text.starts_with(|c: char| c.is_ascii_digit())
    };
    if named(database) && named(user) && value.len() >= 6 && is_given(value) {
        let end = colon + 1 + length;
        search.add(Found { start: end - value.len(), end, kind: PASSWORD });
    }
}
