//! Counts of differences by name.

use super::{Change, FieldChange};
use crate::diagnostic::Differences;
use crate::record::Record;

/// Counts a difference.
pub fn count(change: &Change, all: &mut Differences) {
    match change {
        Change::OnlyA(record) => *all.removed.entry(kind(&record.value)).or_default() += 1,
        Change::OnlyB(record) => *all.added.entry(kind(&record.value)).or_default() += 1,
        Change::Changed(a, _, fields) => {
            for FieldChange { field, a: old, b: new } in fields {
                let names = match (old, new) {
                    (Some(_), None) => &mut all.removed,
                    (None, Some(_)) => &mut all.added,
                    _ => &mut all.changed,
                };
                let name = format!("{}.{}", a.value.kind.name(), anywhere(field));
                *names.entry(name).or_default() += 1;
            }
        }
    }
}

fn kind(record: &Record) -> String {
    record.kind.name().to_owned()
}

/// Returns a path without the places of lists.
fn anywhere(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for step in path.split_inclusive(['[', ']']) {
        match step.strip_suffix(']') {
            Some(place) if place.bytes().all(|b| b.is_ascii_digit()) => out.push_str("*]"),
            _ => out.push_str(step),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::anywhere;

    #[test]
    fn places_of_lists_share_a_name() {
        assert_eq!(anywhere("content[12].blocks[0].text"), "content[*].blocks[*].text");
        assert_eq!(anywhere("usage.cost.total"), "usage.cost.total");
    }
}
