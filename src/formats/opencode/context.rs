//! Messages that OpenCode sends to a model.
//!
//! A compaction is a question and its answer, the summary. The program completes a call without a
//! result, sends images in results behind all results, and shows thoughts to the model whose they
//! are.
//!
//! Source: `message-v2.ts` of opencode 1.18.33, and its requests.

use super::item::{CLEARED, SECOND};
use crate::context_rules::{self, Chosen, Paired};
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
            if message.node.is(Field::Layout, SECOND) {
                let summary = message.node.json(Field::Summary).cloned().unwrap_or_default();
                return Some(self::message("user", Value::Json(summary)));
            }
            // The corrections make a question and an answer of it.
            sent.put(Field::Summary, message.node.json(Field::Summary).cloned());
            return Some(sent);
        }
        // An answer without words is sent.
        let is_answer = message.node.is(Field::Role, "assistant");
        let is_full = |node: &Node| is_answer || !node.is(Field::Text, "");
        match message.node.nodes(Field::Content) {
            Some(blocks) if !blocks.iter().any(is_full) => None,
            _ => Some(message.node.clone()),
        }
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        chat_completions::write(message, Spacing::None, true, out);
    }

    fn corrections(&self) -> Option<Box<dyn Corrections>> {
        let last = self.chosen.model().cloned().unwrap_or_default();
        let paired = Paired::new([UNANSWERED, UNANSWERED]);
        Some(Box::new(Sending { last, paired, images: Vec::new() }))
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
    paired: Paired,
    /// Images in results.
    images: Vec<Node>,
}

impl Sending {
    /// Adds the images in the results behind them.
    fn show_images(&mut self, out: &mut Vec<Node>) {
        if !self.images.is_empty() {
            let mut blocks = vec![block::text(Json::string(ATTACHED))];
            blocks.append(&mut self.images);
            out.push(message("user", Value::Nodes(blocks)));
        }
    }

    /// Adds a message as it is sent.
    fn shape(&mut self, node: Node, out: &mut Vec<Node>) {
        if node.is(Field::Role, "tool") {
            return out.push(self.result(&node));
        }
        self.show_images(out);
        if let Some(summary) = node.json(Field::Summary) {
            if node.is(Field::Layout, SECOND) {
                return out.push(message("user", Value::Json(summary.clone())));
            }
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

    fn answer(&self, node: &Node) -> Node {
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
        let text = text.unwrap_or(Json::constant("\"\""));
        if !rest.is_empty() {
            rest.insert(0, block::text(text.clone()));
        }
        let content = if rest.is_empty() { Value::Json(text) } else { Value::Nodes(rest) };
        let mut sent = message("assistant", content);
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
        let mut paired = Vec::new();
        self.paired.message(with_whole_characters(node), &mut paired);
        paired.into_iter().for_each(|node| self.shape(node, out));
    }

    fn finish(&mut self, out: &mut Vec<Node>) {
        let mut paired = Vec::new();
        self.paired.finish(&mut paired);
        paired.into_iter().for_each(|node| self.shape(node, out));
        self.show_images(out);
    }
}

/// Returns a block without the data of its part.
fn plain(node: &Node) -> Node {
    let mut node = node.clone();
    node.take(Field::Extra);
    node
}
