//! Content of messages of other formats.

use crate::diagnostic::Log;
use crate::mapping::BlockType;
use crate::record::{Field, Node, Value, block};

/// Whether a block of this type has a place for a field.
pub type Holds<'h> = &'h dyn Fn(&str, Field) -> bool;

/// Whether one of these types of blocks has a row for the field. Members without a field have none.
#[must_use]
pub fn has_row(types: &[BlockType], name: &str, field: Field) -> bool {
    let mut rows = types.iter().filter(|known| known.name == name).flat_map(|known| known.rows);
    field == Field::Type || (field != Field::Extra && rows.any(|row| row.field == field))
}

/// Converts the content of a message from another format: a block that only that format knows
/// becomes a text that names it, arguments of calls become an object, and thoughts and fields
/// without a place are removed. Counts what is lost.
#[must_use]
pub fn fitted(content: Option<&Value>, holds: Holds<'_>, log: &Log) -> Option<Value> {
    let Some(Value::Nodes(nodes)) = content else { return content.cloned() };
    Some(nodes.iter().filter_map(|node| fitted_block(node, holds, log)).collect::<Vec<_>>().into())
}

fn fitted_block(node: &Node, holds: Holds<'_>, log: &Log) -> Option<Node> {
    let name = node.text(Field::Type).unwrap_or_default();
    if name == block::OPAQUE || !holds(&name, Field::Type) {
        let path = format!("message.content.*.{}", block::kind_of(node));
        log.lost(&path);
        return (name != block::THINKING).then(|| block::placeholder(node));
    }
    let mut fitted = Node::with_capacity(6);
    for (field, value) in node.iter() {
        let is_output = field == Field::Output && node.get(Field::Content).is_none();
        if is_output && name == block::TOOL_RESULT {
            // The first generation of pi's answers.
            fitted.set(Field::Content, value.clone());
        } else if field == Field::Extra || !holds(&name, field) {
            log.lost(&format!("message.content.*.{name}.{}", field.name()));
        } else if field == Field::Content {
            fitted.put(field, self::fitted(Some(value), holds, log));
        } else {
            fitted.set(field, value.clone());
        }
    }
    if name == block::TOOL_CALL {
        let (arguments, wrapped) = block::arguments(node);
        if wrapped {
            log.lost(&format!("message.content.*.{name}.arguments"));
        }
        fitted.set(Field::Arguments, arguments);
    }
    Some(fitted)
}
