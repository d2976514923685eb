//! The spelling of a line in an older version: migration leaves every byte of a line but what it
//! adds, so the way back takes out what it added and nothing else.

use super::version::TREE;
use crate::json::edit::Edits;
use crate::json::{Span, Spelling};
use crate::members::{Member, Scan};

/// The header `raw` of a newer version as one of this version, if that says what `written` does, the
/// same as pi spells it.
pub fn header(raw: &[u8], version: u32, written: &[u8]) -> Option<Vec<u8>> {
    let scan = Scan::of(raw).ok()??;
    let mut edits = Edits::default();
    if let Some(number) = scan.version {
        let (place, new) = match version {
            TREE.. => (number.value, version.to_string()),
            _ => (apart(raw, number, 0), String::new()),
        };
        edits.replace(place, new.as_bytes());
    }
    let line = edited(raw, &scan, &mut edits)?;
    let spelled = |text: &[u8]| {
        let mut out = Vec::with_capacity(text.len());
        Spelling::SCRIPT.spell(text, &mut out);
        out
    };
    (spelled(&line) == spelled(written)).then_some(line)
}

/// The entry `raw` of a newer version without what only that has.
pub fn entry(raw: &[u8], version: u32) -> Option<Vec<u8>> {
    let scan = Scan::of(raw).ok()??;
    let mut added = if version < TREE { [scan.id, scan.parent] } else { [None; 2] };
    added.sort_by_key(|member| member.map(|member| member.key.start));
    let (mut edits, mut done) = (Edits::default(), 0);
    for member in added.into_iter().flatten() {
        let place = apart(raw, member, done);
        edits.replace(place, b"");
        done = place.end;
    }
    edited(raw, &scan, &mut edits)
}

/// A member with the comma before it, or behind it if none that stays is before; what is between that
/// and the member before is not its own. Up to `done` everything goes already.
fn apart(raw: &[u8], member: Member, done: usize) -> Span {
    let Member { key, value, before, after } = member;
    let between = raw.get(before..key.start).unwrap_or_default();
    match memchr::memchr(b',', between) {
        Some(comma) if before + comma >= done => Span { start: before + comma, end: value.end },
        _ => Span { start: key.start, end: after },
    }
}

fn edited(raw: &[u8], scan: &Scan, edits: &mut Edits) -> Option<Vec<u8>> {
    let mut line = Vec::with_capacity(raw.len());
    edits.apply(raw, scan.close, false, &mut line);
    Scan::of(&line).ok()?.map(|_| line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_added_goes() {
        for (raw, old) in [
            (r#"{"a": "b", "c": 1,"id":"a","parentId":null}"#, r#"{"a": "b", "c": 1}"#),
            (r#"{ "a":"b","id" : "a" ,"c":1 , "parentId":null }"#, r#"{ "a":"b" ,"c":1  }"#),
            (r#"{ "c":1 ,"id":"a","parentId":null}"#, r#"{ "c":1 }"#),
            (r#"{"id": "a", "parentId": null, "c": 1}"#, r#"{"c": 1}"#),
            (r#"{"parentId": null, "id": "a", "c": 1}"#, r#"{"c": 1}"#),
            (r#"{"id": "a", "c": 1, "parentId": null}"#, r#"{"c": 1}"#),
            (r#"{"id": "a", "parentId": null}"#, "{}"),
            (r#"{"id": "a", "parentId": null , "c": 1}"#, r#"{"c": 1}"#),
            (r#"{"id": "a"}"#, "{}"),
        ] {
            let line = entry(raw.as_bytes(), 1).map(|line| String::from_utf8_lossy(&line).into());
            assert_eq!(line, Some(old.to_owned()));
            assert_eq!(entry(raw.as_bytes(), 2).as_deref(), Some(raw.as_bytes()));
        }
    }

    #[test]
    fn a_header_keeps_its_spelling_where_it_says_the_same() {
        let new = br#"{"type": "session", "id": "s","version":3}"#;
        let old = header(new, 1, br#"{"type":"session","id":"s"}"#);
        assert_eq!(old.as_deref(), Some(&br#"{"type": "session", "id": "s"}"#[..]));
        let second = header(new, 2, br#"{"type":"session","id":"s","version":2}"#);
        assert_eq!(second.as_deref(), Some(&br#"{"type": "session", "id": "s","version":2}"#[..]));
        assert_eq!(header(new, 1, br#"{"type":"session","id":"t"}"#), None);
    }
}
