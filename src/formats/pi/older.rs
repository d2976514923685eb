//! Spelling of a line in an older version. Migration leaves every byte of a line but what it adds,
//! so the way back removes what it added and nothing else.

use super::version::{NEWEST, TREE};
use super::wire;
use crate::json::edit::Edits;
use crate::json::{Cursor, Span, text};
use crate::members::{Member, Scan};

/// Converts the header `raw` of a newer version to this version.
pub fn header(raw: &[u8], version: u32) -> Option<Vec<u8>> {
    let scan = Scan::of(raw).ok()??;
    let mut edits = Edits::default();
    if let Some(number) = scan.version {
        let (place, new) = match version {
            TREE.. => (number.value, version.to_string()),
            _ => (apart(raw, number, 0), String::new()),
        };
        edits.replace(place, new.as_bytes());
    }
    edited(raw, &scan, &mut edits)
}

/// Converts the entry `raw` to an older version, without the members that only its own version has.
/// The older version names a compaction's first kept entry by its `index`.
pub fn entry(raw: &[u8], (from, to): (u32, u32), index: Option<&[u8]>) -> Option<Vec<u8>> {
    let scan = Scan::of(raw).ok()??;
    let kept = scan.kept_id.filter(|_| index.is_some());
    let mut added = if to < TREE { [scan.id, scan.parent, kept] } else { [None; 3] };
    added.sort_by_key(|member| member.map(|member| member.key.start));
    let (mut edits, mut done) = (Edits::default(), 0);
    for member in added.into_iter().flatten() {
        let place = apart(raw, member, done);
        edits.replace(place, b"");
        done = place.end;
    }
    if let Some(index) = index {
        let (place, member) = before_tokens(raw, index)?;
        edits.replace(place, &member);
    }
    if from >= NEWEST
        && to < NEWEST
        && let Some(role) = scan.role.filter(|role| text::is(role.of(raw), "custom"))
        && scan.is(raw, "message")
    {
        edits.replace(role, b"\"hookMessage\"");
    }
    edited(raw, &scan, &mut edits)
}

/// Returns a compaction's index at the place where pi writes it, spelled like the member behind it.
fn before_tokens(raw: &[u8], index: &[u8]) -> Option<(Span, Vec<u8>)> {
    let mut cursor = Cursor::new(raw);
    cursor.begin_object().ok()?;
    let mut before = None;
    while let Some(key) = cursor.next_key().ok()? {
        let value = cursor.skip_value().ok()?;
        if text::is(key.of(raw), "tokensBefore") {
            let start = before?;
            let comma = raw.get(start..key.start)?;
            let colon = raw.get(key.end..value.start)?;
            let name = format!("\"{}\"", wire::FIRST_KEPT_INDEX);
            let member = [comma, name.as_bytes(), colon, index].concat();
            return Some((Span { start, end: start }, member));
        }
        before = Some(value.end);
    }
    None
}

/// Returns the span of a member with the comma before it, or behind it if no member that stays is
/// before it. The text between that comma and the member before does not belong to the span.
/// Everything up to `done` is removed already.
pub fn apart(raw: &[u8], member: Member, done: usize) -> Span {
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
            let line = entry(raw.as_bytes(), (3, 1), None)
                .map(|line| String::from_utf8_lossy(&line).into());
            assert_eq!(line, Some(old.to_owned()));
            assert_eq!(entry(raw.as_bytes(), (3, 2), None).as_deref(), Some(raw.as_bytes()));
        }
    }

    #[test]
    fn older_index_has_its_place_and_role_its_old_name() {
        let new = br#"{"summary": "s", "tokensBefore": 1,"id":"b","firstKeptEntryId":"a"}"#;
        let old = br#"{"summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 1}"#;
        assert_eq!(entry(new, (3, 1), Some(b"2")).as_deref(), Some(&old[..]));
        let new = br#"{"type": "message", "message": {"role": "custom"}}"#;
        let old = br#"{"type": "message", "message": {"role": "hookMessage"}}"#;
        assert_eq!(entry(new, (3, 2), None).as_deref(), Some(&old[..]));
        assert_eq!(entry(new, (2, 1), None).as_deref(), Some(&new[..]));
    }

    #[test]
    fn a_header_keeps_its_spelling() {
        let new = br#"{"type": "session", "id": "s","version":3}"#;
        let old = br#"{"type": "session", "id": "s"}"#;
        assert_eq!(header(new, 1).as_deref(), Some(&old[..]));
        let second = br#"{"type": "session", "id": "s","version":2}"#;
        assert_eq!(header(new, 2).as_deref(), Some(&second[..]));
    }
}
