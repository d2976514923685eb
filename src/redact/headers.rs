//! Values of headers: `Authorization`, `Cookie`, `Set-Cookie`.

use super::assigned::{LONGEST, behind};
use super::names::TOKEN;
use super::values::is_credential;
use super::{Found, Search};

/// Words before values of the header `Authorization`.
pub const BEARER: &str = "bearer ";
/// The name of that header.
pub const AUTHORIZATION: &str = "authorization";
/// The name of the header of cookies, also the last word of that which sets one.
pub const COOKIE: &str = "cookie";

/// Kind of the value of a cookie.
const KIND: &str = "cookie";

/// Names in the header of cookies that say where and how long a cookie is valid.
const ATTRIBUTES: [&str; 6] = ["path", "domain", "expires", "max-age", "samesite", "priority"];

/// Searches for the value of a header `Authorization`, or of the word `Bearer` alone.
pub fn authorization(search: &mut Search<'_, '_>, at: usize, word: &str) {
    let bytes = search.text.as_bytes();
    let mut from = at + word.len();
    if word == AUTHORIZATION {
        let Some(begins) = value_of(bytes, from) else { return };
        from = begins;
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

/// Searches for the values of a header `Cookie` or `Set-Cookie`.
pub fn cookies(search: &mut Search<'_, '_>, at: usize) {
    let bytes = search.text.as_bytes();
    let Some(from) = value_of(bytes, at + COOKIE.len()) else { return };
    let rest = bytes.get(from..).unwrap_or_default().iter().take(LONGEST);
    let line = rest.take_while(|b| !b.is_ascii_control() && !b"\"'`\\<>".contains(b)).count();
    let Some(line) = search.text.get(from..from + line) else { return };
    for (start, value) in values(line) {
        search.add(Found { start: from + start, end: from + start + value.len(), kind: KIND });
    }
}

/// Returns the values in a list of cookies, each with its place.
fn values(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    let pairs = line.split(';').map(move |pair| {
        let at = next;
        next += pair.len() + 1;
        (at, pair)
    });
    pairs.filter_map(|(at, pair)| {
        let (name, value) = pair.split_once('=')?;
        let value = value.split(' ').next().unwrap_or_default();
        let code = value.bytes().any(|b| b"(){}[]$*,".contains(&b));
        let digits = value.bytes().any(|byte| byte.is_ascii_digit());
        let random = value.len() >= if digits { 6 } else { 16 };
        (is_cookie(name.trim()) && random && !code).then_some((at + name.len() + 1, value))
    })
}

/// Whether a name is that of a cookie.
fn is_cookie(name: &str) -> bool {
    let attribute = ATTRIBUTES.iter().any(|known| known.eq_ignore_ascii_case(name));
    !attribute && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the kind of the value of a member of this name, if it is such a header with a secret.
pub fn member(name: &str, value: &str) -> Option<&'static str> {
    let is = |header: &str| name.eq_ignore_ascii_case(header);
    if is(AUTHORIZATION) {
        let (_, secret) = value.rsplit_once(' ').unwrap_or(("", value));
        return is_credential(secret, 8).then_some(TOKEN);
    }
    (is(COOKIE) || is("set-cookie")).then(|| values(value).next().map(|_| KIND)).flatten()
}

/// Returns where the value of a header begins whose name ends here.
fn value_of(bytes: &[u8], end: usize) -> Option<usize> {
    let mut from = behind(bytes, end, false, false)?.value;
    while bytes.get(from).is_some_and(|b| matches!(b, b'"' | b'\'' | b'\\' | b'`')) {
        from += 1;
    }
    Some(from)
}

/// Returns the kinds of values.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    [KIND].into_iter()
}
