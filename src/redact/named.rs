//! Values whose names show that they are secret: `KEY=value`, `"api_key": "value"`, headers.

use super::shapes::API_KEY;
use super::values::{PASSWORD, Way, is_credential, is_secret};
use super::{Found, Search};

/// Words of names whose values are secret, in small letters, with the kind of the value.
pub const WORDS: &[(&str, &str)] = &[
    ("passw", PASSWORD),
    ("passphrase", PASSWORD),
    ("pwd", PASSWORD),
    ("secret", SECRET),
    ("token", TOKEN),
    ("credential", SECRET),
    ("api_key", API_KEY),
    ("apikey", API_KEY),
    ("api-key", API_KEY),
    ("access_key", API_KEY),
    ("accesskey", API_KEY),
    ("access-key", API_KEY),
    ("account_key", API_KEY),
    ("accountkey", API_KEY),
    ("private_key", SECRET),
    ("privatekey", SECRET),
    ("private-key", SECRET),
    ("auth_key", API_KEY),
    ("authkey", API_KEY),
    ("encryption_key", SECRET),
    ("encryptionkey", SECRET),
    ("signing_key", SECRET),
    ("signingkey", SECRET),
    ("master_key", SECRET),
    ("_key", API_KEY),
];

/// Words before values of the header `Authorization`.
pub const BEARER: &str = "bearer ";
/// The name of that header.
pub const AUTHORIZATION: &str = "authorization";

const SECRET: &str = "secret";
const TOKEN: &str = "token";
const AWS: &str = "AWS secret key";

/// Maximum length of a name, and of a value in quotes.
const LONGEST_NAME: usize = 64;
const LONGEST: usize = 4096;

/// Last words of names whose values describe a secret and are none.
const DESCRIBES: &[&str] = &[
    "file",
    "path",
    "dir",
    "url",
    "uri",
    "endpoint",
    "name",
    "names",
    "id",
    "ids",
    "type",
    "count",
    "counts",
    "limit",
    "limits",
    "size",
    "length",
    "len",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "timeout",
    "header",
    "headers",
    "prefix",
    "suffix",
    "usage",
    "budget",
    "provider",
    "field",
    "env",
    "var",
    "param",
    "index",
    "hint",
    "label",
    "title",
    "text",
    "error",
    "errors",
    "message",
    "policy",
    "rule",
    "rules",
    "required",
    "enabled",
    "manager",
    "store",
    "source",
    "kind",
    "format",
    "regex",
    "pattern",
    "version",
    "ring",
    "rotation",
    "reset",
    "input",
    "placeholder",
    "arn",
    "map",
    "list",
    "class",
    "style",
    "color",
    "ratio",
    "price",
    "cost",
    "rate",
    "max",
    "min",
    "total",
    "used",
];

/// Names that contain such a word and are no secrets.
const HARMLESS: &[&str] = &[
    "pwd",
    "oldpwd",
    "primary_key",
    "foreign_key",
    "public_key",
    "sort_key",
    "cache_key",
    "partition_key",
    "csrf_token_name",
    "session_key",
    "registry_key",
    "unique_key",
    "group_key",
    "row_key",
    "object_key",
    "route_key",
    "s3_key",
    "dedupe_key",
    "idempotency_key",
    "storage_key",
    "hot_key",
    "shortcut_key",
    "modifier_key",
    "arrow_key",
    "no_key",
    "translation_key",
    "query_key",
];

/// Searches for the value of a name that contains a word of [`WORDS`] at this place.
pub fn find(search: &mut Search<'_, '_>, at: usize, (word, kind): (&str, &'static str)) {
    let bytes = search.text.as_bytes();
    if search.is_done(at) {
        return;
    }
    let (start, end) = name_around(search, at, at + word.len());
    let name = search.text.get(start..end).unwrap_or_default();
    let Some(kind) = kind_of(name, at - start, word, kind) else { return };
    let Some(begins) = behind(bytes, end, is_option(bytes, start), is_tag(bytes, start)) else {
        return;
    };
    let (from, to, quoted) = value_at(bytes, begins.value);
    let value = search.text.get(from..to).unwrap_or_default();
    let line = is_line(bytes, start, to);
    let way = match quoted {
        true => Way::Quoted,
        false if is_environment(name) && begins.tight && (line || !begins.colon) => {
            Way::Environment
        }
        false if line && begins.tight => Way::Line,
        false if line => Way::Assignment,
        false => Way::Plain,
    };
    if is_secret(value, word, kind, way) {
        search.add(Found { start: from, end: to, kind });
    } else {
        search.fail(at, to);
    }
}

/// Returns the kind of the value of a member, if its name and the value itself show that it is
/// secret.
pub fn member(name: &str, value: &str) -> Option<&'static str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let small = name.to_ascii_lowercase();
    if small == AUTHORIZATION {
        let (_, secret) = value.rsplit_once(' ').unwrap_or(("", value));
        return is_credential(secret, 8).then_some(TOKEN);
    }
    WORDS.iter().find_map(|(word, kind)| {
        let at = small.rfind(word)?;
        let kind = kind_of(name, at, word, kind)?;
        let way = if is_environment(name) { Way::Environment } else { Way::Quoted };
        is_secret(value, word, kind, way).then_some(kind)
    })
}

/// Searches for the value of a header `Authorization`, or of the word `Bearer` alone.
pub fn authorization(search: &mut Search<'_, '_>, at: usize, word: &str) {
    let bytes = search.text.as_bytes();
    let mut from = at + word.len();
    if word == AUTHORIZATION {
        let Some(begins) = behind(bytes, from, false, false) else { return };
        from = begins.value;
        while bytes.get(from).is_some_and(|b| matches!(b, b'"' | b'\'' | b'\\' | b'`')) {
            from += 1;
        }
        let scheme = bytes.get(from..).unwrap_or_default().iter().take(16);
        let scheme = scheme.take_while(|b| b.is_ascii_alphabetic()).count();
        if bytes.get(from + scheme) == Some(&b' ') {
            from += scheme + 1;
        }
    }
    let length = bytes.get(from..).unwrap_or_default().iter().take(LONGEST);
    let length =
        length.take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/=:".contains(b)).count();
    let value =
        search.text.get(from..from + length).unwrap_or_default().trim_end_matches(['.', ':']);
    if is_credential(value, if word == BEARER { 16 } else { 8 }) {
        search.add(Found { start: from, end: from + value.len(), kind: TOKEN });
    }
}

/// Returns the kind of the value of a name with a secret word at this place; `None` if the name
/// means another thing.
fn kind_of(name: &str, at: usize, word: &str, kind: &'static str) -> Option<&'static str> {
    let small = name.to_ascii_lowercase();
    let (before, rest) = (name.get(..at)?, name.get(at..)?);
    let rest = rest.get(word.len()..)?;
    let rest = match word {
        "passw" => ["ord", "d", "ort"].iter().find_map(|end| strip(rest, end))?,
        _ => rest,
    };
    if HARMLESS.contains(&small.as_str()) || HARMLESS.iter().any(|name| ends(&small, name)) {
        return None;
    }
    // A key without a further word is mostly the key of a table.
    if word == "_key" && !(rest.is_empty() && is_environment(name) && !before.is_empty()) {
        return None;
    }
    let capitals = name.bytes().all(|b| !b.is_ascii_lowercase());
    let goes_on = |c: char| if capitals { c.is_ascii_uppercase() } else { c.is_ascii_lowercase() };
    if rest.starts_with(goes_on) {
        return None;
    }
    let last = last_word(rest);
    if DESCRIBES.contains(&last.as_str()) {
        return None;
    }
    let aws = small.contains("aws") && (small.contains("secret"));
    Some(if aws { AWS } else { kind })
}

fn strip<'t>(text: &'t str, beginning: &str) -> Option<&'t str> {
    let there = text.get(..beginning.len())?;
    there.eq_ignore_ascii_case(beginning).then(|| text.get(beginning.len()..)).flatten()
}

/// Whether a name ends with these whole words.
fn ends(name: &str, words: &str) -> bool {
    words.contains('_') && name.strip_suffix(words).is_some_and(|before| before.ends_with('_'))
}

/// Returns the last word of a part of a name, in small letters.
fn last_word(part: &str) -> String {
    let part = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_' || c == '-');
    let capital = part.rfind(|c: char| c.is_ascii_uppercase()).filter(|at| {
        // In a name of capitals, each is one.
        part.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let at = part.rfind(['_', '-', '.']).map(|at| at + 1).max(capital).unwrap_or(0);
    part.get(at..).unwrap_or_default().to_ascii_lowercase()
}

/// Returns the ends of the name around a word of it.
fn name_around(search: &Search<'_, '_>, start: usize, end: usize) -> (usize, usize) {
    let bytes = search.text.as_bytes();
    let part = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let before = bytes.get(..start).unwrap_or_default().iter().rev().take(LONGEST_NAME);
    let mut from = start - before.take_while(part).count();
    if search.is_escape(from) && from < start {
        from += 1;
    }
    while from < start && matches!(bytes.get(from), Some(b'-' | b'.')) {
        from += 1;
    }
    let after = bytes.get(end..).unwrap_or_default().iter().take(LONGEST_NAME);
    (from, end + after.take_while(part).count())
}

/// Whether a name is that of an option of a command.
fn is_option(bytes: &[u8], start: usize) -> bool {
    bytes.get(..start).is_some_and(|before| before.ends_with(b"--"))
}

/// Whether a name is that of an element of XML.
fn is_tag(bytes: &[u8], start: usize) -> bool {
    bytes.get(..start).is_some_and(|before| before.ends_with(b"<"))
}

/// Whether a name has only capital letters, as in the environment.
fn is_environment(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Place of a value behind its name.
struct Begins {
    value: usize,
    /// Whether only an equals sign, or a colon with a space, is between the two.
    tight: bool,
    /// Whether a colon is between the two.
    colon: bool,
}

/// Returns where the value of a name begins that ends here.
fn behind(bytes: &[u8], end: usize, option: bool, tag: bool) -> Option<Begins> {
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
        return Some(Begins { value: at + 1, tight: true, colon: false });
    }
    let named = at;
    at += blanks(bytes, at);
    if option && byte(named) == b' ' && !matches!(byte(at), b'-' | b'=' | b':') {
        return Some(Begins { value: at, tight: false, colon: false });
    }
    let spaced = at > named;
    let colon = byte(at) == b':';
    match (byte(at), byte(at + 1)) {
        (b':', b'=') | (b'=', b'>') => at += 2,
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => return None,
        (b'=' | b':', _) => at += 1,
        _ => return None,
    }
    let gap = blanks(bytes, at);
    let tight = !spaced && (colon || gap == 0);
    Some(Begins { value: at + gap, tight, colon })
}

fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take(16).take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// Returns the ends of the value that begins here, without its quotes, and whether it has some.
fn value_at(bytes: &[u8], at: usize) -> (usize, usize, bool) {
    let rest = |from: usize| bytes.get(from..).unwrap_or_default().iter().take(LONGEST);
    match bytes.get(at) {
        Some(b'\\') if matches!(bytes.get(at + 1), Some(b'"' | b'\'')) => {
            let from = at + 2;
            let length = rest(from).take_while(|b| !matches!(b, b'\\' | b'\n' | b'"')).count();
            (from, from + length, true)
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
            let part = |b: &&u8| !b.is_ascii_whitespace() && !b"\"'`,;)}]<>|&\\".contains(b);
            (at, at + rest(at).take_while(part).count(), false)
        }
    }
}

/// Whether a name and its value are a line of their own, as in a file of settings.
fn is_line(bytes: &[u8], start: usize, end: usize) -> bool {
    let before = bytes.get(..start).unwrap_or_default();
    let line =
        memchr::memrchr(b'\n', before.get(before.len().saturating_sub(64)..).unwrap_or_default());
    let blank = match line {
        Some(at) => before.get(before.len().saturating_sub(64) + at..).unwrap_or_default(),
        None if before.len() < 64 => before,
        None => return false,
    };
    let blank = blank.iter().all(|b| b.is_ascii_whitespace() || *b == b'-');
    let after = bytes.get(end..).unwrap_or_default();
    let after = after.iter().take(16).find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    blank && matches!(after, None | Some(b'\n'))
}

/// Returns the kinds of values that names show.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(_, kind)| *kind).chain([AWS])
}
