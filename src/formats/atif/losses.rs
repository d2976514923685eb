//! Losses of other formats: members that only one format knows.

use crate::diagnostic::Log;
use crate::record::{Field, Node, Record, Value};

/// Returns a record without members of its format only, which are counted.
pub fn bare(record: &Record, log: &Log) -> Record {
    let mut record = record.clone();
    record.node.take(Field::Layout);
    strip(&mut record.node, record.kind.name(), log);
    record
}

/// Removes the unnamed members of a node and of all nodes in it.
pub fn strip(node: &mut Node, path: &str, log: &Log) {
    if node.take(Field::Extra).is_some() {
        log.lost(&format!("{path}.extra"));
    }
    let fields: Vec<Field> = node.fields().collect();
    for field in fields {
        match node.get_mut(field) {
            Some(Value::Node(inner)) => strip(inner, &format!("{path}.{}", field.name()), log),
            Some(Value::Nodes(blocks)) => {
                for block in blocks {
                    let kind = block.text(Field::Type).unwrap_or_default();
                    strip(block, &format!("{path}.{}.*.{kind}", field.name()), log);
                }
            }
            _ => {}
        }
    }
}
