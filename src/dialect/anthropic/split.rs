//! Division of a user's message with several results of tools.

use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value, block};

fn is_answer(node: &Node) -> bool {
    node.is(Field::Type, block::TOOL_RESULT)
}

/// Splits a message so that each answer of a tool is a message of its own, all of one `group`.
/// Other members go with the first one.
pub fn split(mut record: Record, group: &str) -> Vec<Record> {
    let content = match record.node.take(Field::Content) {
        Some(Value::Nodes(nodes)) if nodes.iter().any(is_answer) => nodes,
        content => {
            record.node.put(Field::Content, content);
            return vec![record];
        }
    };
    let mut pieces: Vec<Vec<Node>> = Vec::new();
    for block in content {
        match pieces.last_mut() {
            Some(last) if !is_answer(&block) && !last.iter().any(is_answer) => last.push(block),
            _ => pieces.push(vec![block]),
        }
    }
    let several = pieces.len() > 1;
    let parent = record.node.json(Field::ParentCall).cloned();
    let mut first = Some(record);
    let piece = |blocks: Vec<Node>| {
        let mut record = first.take().unwrap_or_else(|| {
            Record::new(Kind::Message).with_some(Field::ParentCall, parent.clone())
        });
        let role = if blocks.iter().any(is_answer) { "\"tool\"" } else { "\"user\"" };
        record.node.set(Field::Role, Json::constant(role));
        if several {
            record.node.set(Field::Group, Json::string(group));
        }
        record.node.set(Field::Content, blocks);
        record
    };
    pieces.into_iter().map(piece).collect()
}
