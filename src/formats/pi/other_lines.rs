//! Lines that are kept although they are not records.

use crate::json::is_whole;
use crate::record::{Field, Kind, Node, Record};

/// Whether a record represents a blank or damaged line of the source.
pub fn is_line(record: &Record) -> bool {
    let has = |field| record.node.json(field).is_some();
    record.kind == Kind::Opaque && (has(Field::Text) || has(Field::Base64))
}

/// Returns the line; `None` if it contains a line feed, or is JSON behind the header, which a
/// reader would take for a record.
pub fn line_of(node: &Node, behind_header: bool) -> Option<Vec<u8>> {
    let line = node.line().unwrap_or_default();
    let is_taken = line.contains(&b'\n') || (behind_header && is_json(&line));
    (!is_taken).then_some(line)
}

fn is_json(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok() && is_whole(line)
}
