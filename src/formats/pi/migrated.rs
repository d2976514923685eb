//! Notes of migration about a compaction's index, for the way back to version 1.

use super::lineage::{IndexMeaning, Lineage};
use super::wire;
use crate::diagnostic::Log;
use crate::json::edit::Edits;
use crate::json::{Json, Span, text};
use crate::mapping::{Extra, Source, without};
use crate::members::Member;
use crate::record::{Field, Kind, Node, Record};

/// Name of the note with the members that a migration replaced in an entry.
pub const MIGRATED: &str = "migrated";

/// Returns the noted index, and the record without the note, if the index still means the first
/// kept entry of the record, which has record number `number`. `before` has counted the records
/// before this one.
pub fn index_of(record: &Record, number: Option<u64>, before: &Lineage) -> Option<(Json, Record)> {
    let extra = record.node.json(Field::Extra).filter(|_| record.kind == Kind::Compaction)?;
    let of = |object: &Json, key| Source::new(object.bytes()).peek(key).ok().flatten();
    let note = of(extra, wire::NOTE)?;
    let migrated = of(&note, MIGRATED)?;
    let index = of(&migrated, wire::FIRST_KEPT_INDEX)?;
    let means = match before.next_first_kept(index.as_bytes()) {
        IndexMeaning::Nowhere => None,
        kept => Some(kept.number()?),
    };
    if means != number || record.node.json(Field::FirstKept).is_some() != number.is_some() {
        return None;
    }
    let node = without_note(&record.node, MIGRATED)?;
    Some((index, Record { kind: record.kind, node }))
}

/// Returns a compaction of another version without the member by which version 1 names the first
/// kept entry, if it has this member, which means nothing there.
pub fn without_index(record: &Record, lineage: &Lineage, log: &Log) -> Option<Record> {
    let extra = record.node.json(Field::Extra).filter(|_| record.kind == Kind::Compaction)?;
    let index = wire::FIRST_KEPT_INDEX;
    // A value that is not a number means nothing in version 1 either.
    extra
        .member(index)
        .filter(|old| lineage.next_first_kept(old.as_bytes()) != IndexMeaning::NoNumber)?;
    let rest = without(extra, index);
    let mut record = record.clone();
    record.node.take(Field::Extra);
    record.node.put(Field::Extra, rest);
    log.lost(&format!("{}.extra.{index}", record.kind.name()));
    Some(record)
}

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

/// Whether a record's line has a note of this name.
fn is_noted(node: &Node, name: &str) -> bool {
    let note = node.json(Field::Extra).and_then(|extra| extra.member(wire::NOTE));
    note.is_some_and(|note| note.member(name).is_some())
}

/// Returns a record's fields without the note of this name.
fn without_note(node: &Node, name: &str) -> Option<Node> {
    let extra = node.json(Field::Extra).filter(|_| is_noted(node, name))?;
    let mut rest = Extra::default();
    for (key, value) in extra.members() {
        if !text::is(key, wire::NOTE) {
            rest.add(key, value);
        } else if let Some(note) = without(&Json::trusted(value.to_vec().into()), name) {
            rest.add(key, note.as_bytes());
        }
    }
    let mut plain = node.clone();
    plain.take(Field::Extra);
    rest.put(&mut plain);
    Some(plain)
}
