//! Notes of migration about lines that the way back would not restore exactly: the text that the
//! migration replaced. A note is in the line itself, as a migration step knows no other line.

use super::{older, wire};
use crate::ids::hash;
use crate::json::edit::Edits;
use crate::json::{Cursor, Json, Span, text};
use crate::mapping::{Extra, without};
use crate::members::{Member, Scan};
use crate::record::{Field, Node};

/// Name of the note with the earlier spelling of a line.
pub const WAS: &str = "was";

/// Adds a note to the notes that copyist has in a line, which are at `present`.
pub fn note(line: &[u8], present: Option<Member>, name: &str, value: &str, edits: &mut Edits) {
    let note = format!("\"{name}\":{value}");
    match present.map(|member| member.value) {
        Some(Span { start, end }) if line.get(start) == Some(&b'{') => {
            let inner = line.get(start + 1..end - 1).unwrap_or_default();
            let comma = if inner.iter().all(u8::is_ascii_whitespace) { "" } else { "," };
            let inserted = format!("{note}{comma}");
            edits.replace(Span { start: start + 1, end: start + 1 }, inserted.as_bytes());
        }
        _ => edits.add(wire::NOTE, format!("{{{note}}}").as_bytes()),
    }
}

/// Returns the line that a migration from this version made of `old`, with a note of the changes.
/// Each change has its place in both lines.
pub fn noted(line: &[u8], old: &[u8], changes: &[(Span, Span)], version: u32) -> Option<Vec<u8>> {
    let scan = Scan::of(line).ok()??;
    let change = |(new, was): &(Span, Span)| {
        let was = Json::string(&String::from_utf8_lossy(was.of(old)));
        let was = String::from_utf8_lossy(was.as_bytes()).into_owned();
        format!("[{},{},{was}]", new.start, new.end - new.start)
    };
    let changes: Vec<_> = changes.iter().map(change).collect();
    let (hash, changes) = (hash(line), changes.join(","));
    let value = format!(r#"{{"version":{version},"hash":"{hash:016x}","text":[{changes}]}}"#);
    let mut edits = Edits::default();
    note(line, scan.note, WAS, &value, &mut edits);
    let mut out = Vec::with_capacity(line.len() + value.len() + 32);
    edits.apply(line, scan.close, scan.members == 0, &mut out);
    Some(out)
}

/// Restores the line of this version from its note, if nothing but the note was added since.
pub fn line(raw: &[u8], version: u32) -> Option<Vec<u8>> {
    let (line, note) = taken(raw)?;
    let hash = format!("{:016x}", hash(&line));
    if note.member("version")?.float()? != f64::from(version)
        || note.member("hash")?.text()? != hash
    {
        return None;
    }
    let mut edits = Edits::default();
    for change in note.member("text")?.elements() {
        let mut change = change.elements();
        let mut number = || Some(change.next()?.float()? as usize);
        let (start, length) = (number()?, number()?);
        let place = Span { start, end: start.checked_add(length)? };
        edits.replace(place, change.next()?.text()?.as_bytes());
    }
    let mut old = Vec::with_capacity(line.len());
    edits.apply(&line, line.len(), false, &mut old);
    (!old.contains(&b'\n')).then_some(old)
}

/// Whether a record's line has a note of this name.
pub fn is_noted(node: &Node, name: &str) -> bool {
    let note = node.json(Field::Extra).and_then(|extra| extra.member(wire::NOTE));
    note.is_some_and(|note| note.member(name).is_some())
}

/// Returns a record's fields without the note of this name.
pub fn without_note(node: &Node, name: &str) -> Option<Node> {
    let extra = node.json(Field::Extra).filter(|_| is_noted(node, name))?;
    let mut rest = Extra::default();
    for (key, value) in extra.members() {
        if !text::is(key, wire::NOTE) {
            rest.add(key, value);
        } else if let Some(note) = without(&Json::checked(value.to_vec().into()), name) {
            rest.add(key, note.as_bytes());
        }
    }
    let mut plain = node.clone();
    plain.take(Field::Extra);
    rest.put(&mut plain);
    Some(plain)
}

/// Returns a line without its note, and the note, if it is as it was added.
pub fn taken(line: &[u8]) -> Option<(Vec<u8>, Json)> {
    let scan = Scan::of(line).ok()??;
    let object = scan.note?;
    let notes = object.value.of(line);
    let mut cursor = Cursor::new(notes);
    cursor.begin_object().ok()?;
    let key = cursor.next_key().ok()??;
    let value = cursor.skip_value().ok()?;
    if !text::is(key.of(notes), WAS) {
        return None;
    }
    let at = object.value.start;
    let place = match notes.get(value.end) {
        Some(b',') => Span { start: at + key.start, end: at + value.end + 1 },
        _ => older::apart(line, object, 0),
    };
    let rest = [line.get(..place.start)?, line.get(place.end..)?].concat();
    Some((rest, Json::checked(value.of(notes).to_vec().into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn was_note_restores_the_line() {
        let old = br#"{"id": 1, "a": "\u00e9"}"#;
        for (new, changes) in [
            (&br#"{"id": "x", "a": "\u00e9"}"#[..], vec![((7, 10), (7, 8))]),
            (br#"{"id": 1, "a": "\u00e9","b":2}"#, vec![((23, 29), (23, 23))]),
            (
                br#"{"a": "\u00e9","copyist":{"x":1}}"#,
                vec![((1, 1), (1, 10)), ((14, 32), (23, 23))],
            ),
        ] {
            let span = |(start, end)| Span { start, end };
            let changes: Vec<_> = changes.into_iter().map(|(a, b)| (span(a), span(b))).collect();
            let noted = noted(new, old, &changes, 1).expect("an object");
            assert_eq!(line(&noted, 1).as_deref(), Some(&old[..]));
            assert_eq!(line(&noted, 2), None);
            let edited = String::from_utf8_lossy(&noted).replace("00e9", "00e8");
            assert_eq!(line(edited.as_bytes(), 1), None);
        }
    }
}
