//! Messages that the program sends when it resumes a session.
//!
//! Source: requests of releases 0.0.384 to 1.0.102 to a provider of Chat Completions.

use super::images::image_type;
use super::line;
use crate::context_rules::Paired;
use crate::dialect::chat_completions;
use crate::error::Result;
use crate::format::{Context, Corrections};
use crate::json::Json;
use crate::mapping::Spacing;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Text that is sent as the result of a call without one, before another message.
pub const INTERRUPTED: &str = "The execution of this tool, or a previous tool was interrupted.";

/// Text that is sent as such a result at the end of a session.
pub const BROKEN_OFF: &str = "Tool execution was interrupted before a result was recorded. Its \
    effects may be absent, partial, or already complete, and other tools may have completed \
    successfully. Check the current state before retrying; do not assume success or replay this \
    operation blindly.";

/// Begins a context.
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::new(History::default())
}

#[derive(Default)]
struct History {
    /// Questions of the user so far, and their positions.
    questions: Vec<(u32, Json)>,
    /// The last compaction, and its position.
    compaction: Option<(u32, Node)>,
    /// Position of the first message that is sent as it is.
    from: u32,
}

impl Context for History {
    fn look(&mut self, position: u32, record: &Located<Record>) -> Result<()> {
        let record = &record.value;
        if record.kind == Kind::Compaction {
            self.compaction = Some((position, record.node.clone()));
        } else if record.is_of_user() {
            self.questions.push((position, line::text_of(&record.node)));
        }
        Ok(())
    }

    fn begin(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let Some((position, node)) = &self.compaction else { return Vec::new() };
        let first = node.json(Field::Kept).and_then(|kept| place(&kept.elements().next()?));
        self.from = first.unwrap_or(position + 1);
        let replaced = self.questions.iter().filter(|(position, _)| *position < self.from);
        let mut text = BEFORE.to_owned();
        for (_, question) in replaced {
            let question = question.text().unwrap_or_default();
            text += &format!("<user_message>\n{question}\n</user_message>\n");
        }
        let summary = node.text(Field::Summary).unwrap_or_default();
        text += &format!("{BEHIND}{summary}\n</summary>\n");
        let mut message = Record::new(Kind::Message);
        for field in [Field::Id, Field::IdMade, Field::Parent, Field::Time] {
            message.node.put(field, node.json(field).cloned());
        }
        message.node.set(Field::Role, Json::constant("\"user\""));
        message.node.set(Field::Subtype, Json::constant(SUMMARY));
        message.node.set(Field::Content, Json::string(&text));
        vec![message]
    }

    fn message(&mut self, position: u32, record: &Record) -> Option<Record> {
        let sent = record.kind == Kind::Message && !record.is_aside() && position >= self.from;
        sent.then(|| record.clone())
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        let mut message = message.clone();
        let node = &mut message.node;
        let shown = captioned(node);
        if let Some(text) = line::transformed(node).filter(|_| shown.is_none()) {
            node.set(Field::Content, text);
        }
        node.put(Field::Content, shown);
        node.set(Field::Layout, Json::constant("\"null\""));
        if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
            blocks.retain(|block| !block.is(Field::Type, block::THINKING));
            // Members of an event that the interface does not know.
            blocks.iter_mut().for_each(|block| drop(block.take(Field::Extra)));
            for block in blocks.iter_mut() {
                if block.is(Field::Type, block::TOOL_RESULT) {
                    let text = line::text_of(block);
                    block.set(Field::Content, text);
                } else if chat_completions::is_call(block) && block.get(Field::Arguments).is_none()
                {
                    block.set(Field::Arguments, Json::constant("{}"));
                }
            }
        }
        let is_call = |node: &Node| {
            node.nodes(Field::Content).is_some_and(|all| all.iter().any(chat_completions::is_call))
        };
        if node.is(Field::Role, "assistant") && !is_call(node) {
            let text = Some(line::text_of(node)).filter(|text| text.as_bytes() != b"\"\"");
            node.set(Field::Content, text.unwrap_or(Json::constant("null")));
        }
        node.take(Field::Extra);
        chat_completions::write(&message, Spacing::None, true, out);
    }

    fn summary(&self, message: &Record) -> Option<Json> {
        let (_, compaction) = self.compaction.as_ref()?;
        let is_summary = message.node.json(Field::Subtype)?.as_bytes() == SUMMARY.as_bytes();
        compaction.json(Field::Summary).filter(|_| is_summary).cloned()
    }

    fn corrections(&self) -> Option<Box<dyn Corrections>> {
        Some(Box::new(Paired::new([INTERRUPTED, BROKEN_OFF])))
    }
}

/// Returns the parts of a question with images: its text, and each image behind its name.
fn captioned(node: &Node) -> Option<Vec<Node>> {
    let blocks = node.nodes(Field::Content).filter(|_| node.is(Field::Role, "user"))?;
    let data = line::data_of(node)?;
    let attachments: Vec<Json> = data.member("attachments")?.elements().collect();
    let mut names = attachments.iter().filter(|it| image_type(it).is_some()).map(|it| {
        let path = it.text_of("path");
        let path = path.map(|path| Json::string(&format!("Image file at path {path}")));
        path.or_else(|| it.member("displayName"))
    });
    let mut parts =
        vec![block::text(line::transformed(node).unwrap_or_else(|| line::text_of(node)))];
    for image in blocks.iter().filter(|block| block.is(Field::Type, block::IMAGE)) {
        parts.extend(names.next().flatten().map(block::text));
        parts.push(image.clone());
    }
    Some(parts)
}

/// Marks the message with a summary.
const SUMMARY: &str = "\"summary\"";

const BEFORE: &str = "Some of the conversation history has been summarized to free up context.\n\n\
    You were originally given instructions from a user over one or more turns. \
    Here were the user messages:\n";
const BEHIND: &str = "\nHere is a summary of the prior context:\n<summary>\n";
