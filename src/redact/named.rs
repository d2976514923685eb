//! Values whose names show that they are secret: `KEY=value`, `"api_key": "value"`, headers.

use super::assigned::{begins_line, behind, below, ends_line, value_at};
use super::names::{self, Word, is_environment};
use super::values::{Way, is_secret};
use super::{Found, Rules, Search, headers};

/// Searches for the value of a name that contains a word at this place.
pub fn find(search: &mut Search<'_, '_>, at: usize, word: Word) {
    let bytes = search.text.as_bytes();
    let next = bytes.get(at + word.text.len());
    if search.is_done(at) || word.weak && next.is_some_and(u8::is_ascii_alphabetic) {
        return;
    }
    let (start, end) = name_around(search, at, at + word.text.len());
    let Some(begins) = behind(bytes, end, is_option(bytes, start), is_tag(bytes, start)) else {
        return;
    };
    let name = search.text.get(start..end).unwrap_or_default();
    let Some(sense) = names::sense(name, at - start, word) else { return };
    if let Some((from, to)) = below(search.text, start, &begins) {
        let value: String = search.text.get(from..to).unwrap_or_default().split('\n').collect();
        let value = value.split_whitespace().collect::<String>();
        if is_secret(&value, word, sense, Way::Assignment) {
            search.add(Found { start: from, end: to, kind: sense.kind });
        }
        return;
    }
    let line = begins_line(search.text, start);
    let open = begins.tight && (line || is_environment(name));
    let (from, to, quoted) = value_at(bytes, begins.value, open);
    let mut value = search.text.get(from..to).unwrap_or_default();
    if begins.sentence {
        value = value.trim_end_matches(['.', ',', ':', ';', '!', '?']);
    }
    let to = from + value.len();
    let line = line && ends_line(bytes, to);
    let way = match quoted {
        _ if begins.sentence => Way::Sentence,
        true => Way::Quoted,
        false if is_environment(name) && begins.tight && (line || !begins.colon) => {
            Way::Environment
        }
        false if line && begins.tight => Way::Line,
        false if line => Way::Assignment,
        false => Way::Plain,
    };
    if is_secret(value, word, sense, way) {
        search.add(Found { start: from, end: to, kind: sense.kind });
    } else {
        search.fail(at, to);
    }
}

/// Returns the kind of the value of a member, if its name and the value itself show that it is
/// secret.
pub fn member(rules: &Rules, name: &str, value: &str) -> Option<&'static str> {
    if name.len() > names::LONGEST {
        return None;
    }
    if let Some(kind) = headers::member(name, value) {
        return Some(kind);
    }
    rules.words_of(name).into_iter().find_map(|(word, at)| {
        let sense = names::sense(name, at, word)?;
        let way = if is_environment(name) { Way::Environment } else { Way::Quoted };
        is_secret(value, word, sense, way).then_some(sense.kind)
    })
}

/// Returns the ends of the name around a word of it.
fn name_around(search: &Search<'_, '_>, start: usize, end: usize) -> (usize, usize) {
    let bytes = search.text.as_bytes();
    let part = |b: &&u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let before = bytes.get(..start).unwrap_or_default().iter().rev().take(names::LONGEST);
    let mut from = start - before.take_while(part).count();
    if search.is_escape(from) && from < start {
        from += 1;
    }
    while from < start && matches!(bytes.get(from), Some(b'-' | b'.')) {
        from += 1;
    }
    let after = bytes.get(end..).unwrap_or_default().iter().take(names::LONGEST);
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
