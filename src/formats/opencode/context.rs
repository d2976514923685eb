//! Messages that OpenCode sends to a model.
//!
//! A compaction is a question and its answer, the summary. The program completes a call without a
//! result, sends images in results behind all results, and shows thoughts to the model whose they
//! are.
//!
//! Source: `message-v2.ts` of opencode 1.18.33, and its requests.

use super::item::CLEARED;
use crate::context_rules::{self, Chosen};
use crate::dialect::chat_completions;
use crate::error::Result;
use crate::format::{Context, Corrections};
use crate::json::{Json, text};
use crate::mapping::{Extra, Spacing};
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Result of a call that did not end.
pub const UNANSWERED: &str = "[Tool execution was interrupted]";

/// Text in the place of a result that the program no longer sends.
const CLEARED_TEXT: &str = "[Old tool result content cleared]";

/// Question before a summary.
pub const SUMMED_UP: &str = "What did we do so far?";

/// Text before the images in results.
const ATTACHED: &str = "Attached media from tool result:";

/// Begins a context.
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::<Messages>::default()
}

#[derive(Default)]
struct Messages {
    chosen: Chosen,
}

impl Context for Messages {
    fn look(&mut self, position: u32, located: &Located<Record>) -> Result<()> {
        self.chosen.look(position, &located.value);
        Ok(())
    }

    fn begin(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let compaction = self.chosen.compaction(place);
        compaction.map(|node| Record { kind: Kind::Compaction, node }).into_iter().collect()
    }

    fn message(&mut self, position: u32, record: &Record) -> Option<Record> {
        self.chosen.message(position, record).map(cleared)
    }

    fn taken(&mut self, position: u32, record: Record) -> Option<Record> {
        self.chosen.taken(position, record).map(cleared)
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        if message.kind == Kind::Compaction {
            let mut sent = context_rules::message(message, false)?;
            // The corrections make a question and an answer of it.
            sent.put(Field::Summary, message.node.json(Field::Summary).cloned());
            return Some(sent);
        }
        // An answer without words is sent.
        let is_answer = message.node.is(Field::Role, "assistant");
        let is_full = |node: &Node| is_answer || !node.is(Field::Text, "");
        match message.node.nodes(Field::Content) {
            Some(blocks) if !blocks.iter().any(is_full) => None,
            _ => Some(with_whole_characters(message.node.clone())),
        }
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        chat_completions::write(message, Spacing::None, true, out);
    }

    fn corrections(&self) -> Option<Box<dyn Corrections>> {
        let last = self.chosen.model().cloned().unwrap_or_default();
        Some(Box::new(Sending { last, calls: Vec::new(), images: Vec::new() }))
    }
}

/// Replaces halves of characters, as the program does when it sends a text.
fn with_whole_characters(mut node: Node) -> Node {
    for field in [Field::Text, Field::Thinking, Field::Content] {
        let whole = node.json(field).and_then(whole_characters);
        node.put(field, whole);
    }
    if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
        let blocks = std::mem::take(blocks).into_iter().map(with_whole_characters);
        node.set(Field::Content, blocks.collect::<Vec<_>>());
    }
    node
}

/// Returns a value without halves of characters; `None` if it has none.
fn whole_characters(value: &Json) -> Option<Json> {
    let (bytes, mut whole, mut from) = (value.as_bytes(), Vec::new(), 0);
    for half in text::lone_halves(bytes) {
        whole.extend_from_slice(bytes.get(from..half.start).unwrap_or_default());
        whole.extend_from_slice(b"\\ufffd");
        from = half.end;
    }
    (from > 0).then(|| {
        whole.extend_from_slice(bytes.get(from..).unwrap_or_default());
        Json::trusted(whole.into())
    })
}

/// Replaces a result that the program no longer sends.
fn cleared(mut record: Record) -> Record {
    if record.node.is(Field::Layout, CLEARED)
        && let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content)
    {
        for block in blocks {
            block.set(Field::Content, Json::string(CLEARED_TEXT));
        }
    }
    record
}

/// Messages while they are brought into the form of requests.
struct Sending {
    /// Provider and model that get the messages.
    last: (Option<Json>, Option<Json>),
    /// Calls that wait for their results.
    calls: Vec<Json>,
    /// Images in results.
    images: Vec<Node>,
}

impl Sending {
    /// Ends the results: adds those that are missing, and the images behind them.
    fn end(&mut self, out: &mut Vec<Node>) {
        for call in std::mem::take(&mut self.calls) {
            let mut result = Node::default();
            result.set(Field::Type, block::type_of(block::TOOL_RESULT));
            result.set(Field::Call, call);
            result.set(Field::Content, Json::string(UNANSWERED));
            out.push(message("tool", Value::Nodes(vec![result])));
        }
        if !self.images.is_empty() {
            let mut blocks = vec![block::text(Json::string(ATTACHED))];
            blocks.append(&mut self.images);
            out.push(message("user", Value::Nodes(blocks)));
        }
    }

    fn answer(&mut self, node: &Node) -> Node {
        let of = |field| node.json(field).cloned();
        let is_same = (of(Field::Provider), of(Field::Model)) == self.last;
        let (mut thoughts, mut text, mut rest) = (None, of(Field::Content), Vec::new());
        let joined = |before: Option<Json>, behind: &Json| {
            Some(before.map_or_else(|| behind.clone(), |before| before.joined(behind)))
        };
        for node in node.nodes(Field::Content).unwrap_or_default() {
            match (node.json(Field::Thinking), node.json(Field::Text)) {
                (Some(thought), _) if is_same => thoughts = joined(thoughts, thought),
                (Some(own), _) | (_, Some(own)) => text = joined(text, own),
                _ => rest.push(plain(node)),
            }
        }
        self.calls.extend(rest.iter().filter_map(|call| call.json(Field::Id).cloned()));
        rest.insert(0, block::text(text.unwrap_or(Json::constant("\"\""))));
        let is_text = rest.len() == 1;
        let mut sent = message("assistant", Value::Nodes(rest));
        if let Some(Value::Nodes(blocks)) = sent.get(Field::Content)
            && is_text
        {
            let text = blocks.first().and_then(|block| block.json(Field::Text)).cloned();
            sent.put(Field::Content, text);
        }
        if let Some(thoughts) = thoughts.filter(|thoughts| !text::is(thoughts.as_bytes(), "")) {
            let mut extra = Extra::default();
            extra.add(b"\"reasoning_content\"", thoughts.as_bytes());
            extra.put(&mut sent);
        }
        sent
    }

    /// Takes the images out of a result.
    fn result(&mut self, node: &Node) -> Node {
        let blocks = node.nodes(Field::Content).unwrap_or_default();
        let results = blocks.iter().map(|result| {
            self.calls.retain(|call| result.json(Field::Call) != Some(call));
            let mut result = result.clone();
            let content = result.json(Field::Content).cloned();
            if let Some(Value::Nodes(inner)) = result.take(Field::Content) {
                let (texts, images) = inner
                    .into_iter()
                    .partition::<Vec<_>, _>(|node| node.is(Field::Type, block::TEXT));
                self.images.extend(images.iter().map(plain));
                result.put(Field::Content, block::all_text(&texts));
            } else {
                result.put(Field::Content, content);
            }
            result
        });
        message("tool", Value::Nodes(results.collect()))
    }
}

/// Returns a message of this role.
fn message(role: &str, content: Value) -> Node {
    let mut node = Node::with_capacity(3);
    node.set(Field::Role, Json::string(role));
    node.set(Field::Content, content);
    node
}

impl Corrections for Sending {
    fn message(&mut self, node: Node, out: &mut Vec<Node>) {
        let node = with_whole_characters(node);
        if node.is(Field::Role, "tool") {
            return out.push(self.result(&node));
        }
        self.end(out);
        if let Some(summary) = node.json(Field::Summary) {
            out.push(message("user", Value::Json(Json::string(SUMMED_UP))));
            return out.push(message("assistant", Value::Json(summary.clone())));
        }
        let blocks = node.nodes(Field::Content).unwrap_or_default();
        let has_text = node.json(Field::Content).is_some();
        if node.is(Field::Role, "assistant") && (has_text || !blocks.is_empty()) {
            return out.push(self.answer(&node));
        }
        let full: Vec<Node> =
            blocks.iter().filter(|node| !node.is(Field::Text, "")).map(plain).collect();
        if full.is_empty() && !has_text {
            return;
        }
        let text = match full.as_slice() {
            [only] => only.json(Field::Text).cloned(),
            _ => node.json(Field::Content).cloned(),
        };
        let content = text.map_or(Value::Nodes(full), Value::Json);
        out.push(message("user", content));
    }

    fn finish(&mut self, out: &mut Vec<Node>) {
        self.end(out);
    }
}

/// Returns a block without the data of its part.
fn plain(node: &Node) -> Node {
    let mut node = node.clone();
    node.take(Field::Extra);
    node
}
