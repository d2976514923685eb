//! Preview of a record, in one line.

use crate::diagnostic::one_line;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};

/// Maximum number of characters of a preview.
const LONGEST: usize = 300;

/// Returns the beginning of a record's content, white space as single spaces.
pub fn text(record: &Record) -> String {
    let node = &record.node;
    let text = |field| node.text(field).unwrap_or_default();
    let long = match record.kind {
        Kind::Message => message(node),
        Kind::ModelChange => model(node).unwrap_or_default(),
        Kind::ThinkingChange => text(Field::Level),
        Kind::ToolsChange => list(node.json(Field::Tools)),
        Kind::Compaction | Kind::BranchSummary => text(Field::Summary),
        Kind::Label => match node.text(Field::Label) {
            Some(label) => format!("{label} on {}", text(Field::Target)),
            None => format!("none on {}", text(Field::Target)),
        },
        Kind::SessionInfo => text(Field::Name),
        Kind::ContextEdit | Kind::Leaf => text(Field::Target),
        Kind::Extension => text(Field::CustomType),
        Kind::Usage => text(Field::Purpose),
        Kind::Opaque => text(Field::Type),
        _ => String::new(),
    };
    one_line(&long, LONGEST)
}

/// Returns provider and model, as far as they are named.
pub fn model(node: &Node) -> Option<String> {
    match (node.text(Field::Provider), node.text(Field::Model)) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (provider, model) => model.or(provider),
    }
}

fn message(node: &Node) -> String {
    if let Some(bash) = node.node(Field::Bash) {
        return format!("$ {}", bash.text(Field::Command).unwrap_or_default());
    }
    let content = content(node);
    match node.text(Field::Error) {
        Some(error) if content.is_empty() => error,
        _ => content,
    }
}

/// Returns the first text; without one, the names of the blocks of the message.
fn content(node: &Node) -> String {
    if let Some(text) = node.text(Field::Content) {
        return text;
    }
    let blocks = node.content();
    let text_of = |block: &Node| {
        let text = if block.is(Field::Type, block::TOOL_RESULT) {
            node_output(block)
        } else {
            block.text(Field::Text).filter(|_| block.is(Field::Type, block::TEXT))?
        };
        (!text.trim().is_empty()).then_some(text)
    };
    let text = blocks.iter().find_map(text_of);
    text.unwrap_or_else(|| blocks.iter().map(named).collect::<Vec<_>>().join(" "))
}

fn node_output(result: &Node) -> String {
    result.text(Field::Output).unwrap_or_else(|| content(result))
}

/// Returns a block that is not text, by its name.
fn named(block: &Node) -> String {
    let is = |name| block.is(Field::Type, name);
    let text = |field| block.text(field).unwrap_or_default();
    if is(block::TOOL_CALL) {
        let arguments = block.json(Field::Arguments).map_or(&b""[..], Json::as_bytes);
        format!("→ {}({})", text(Field::Name), String::from_utf8_lossy(arguments))
    } else if is(block::TOOL_RESULT) {
        "(no output)".to_owned()
    } else {
        format!("[{}]", text(Field::Type))
    }
}

fn list(names: Option<&Json>) -> String {
    String::from_utf8_lossy(names.map_or(&b""[..], Json::as_bytes)).into_owned()
}
