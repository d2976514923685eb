//! A conversation as every style needs it: questions, answers with their calls, and one result for
//! each call.

use super::{Choices, Counts, Reasoning};
use crate::context;
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts};
use crate::json::Json;
use crate::record::turns::NO_RESULT;
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::redact::Redactor;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// A conversation.
#[derive(Debug, Default)]
pub struct Chat {
    /// The session's identifier; empty if it has none.
    pub id: String,
    /// The system messages, joined.
    pub system: Option<Json>,
    /// The other messages.
    pub messages: Vec<Message>,
}

/// One message.
#[derive(Debug)]
pub enum Message {
    /// Texts and images of the user, and of programs in the user's place.
    User(Vec<Node>),
    /// An answer of the model.
    Answer(Answer),
    /// The result of a tool.
    Result(ToolResult),
}

/// An answer of the model.
#[derive(Debug, Default)]
pub struct Answer {
    /// Thoughts, as blocks.
    pub thoughts: Vec<Node>,
    /// The text.
    pub text: Option<Json>,
    /// The calls of tools.
    pub calls: Vec<Call>,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// The identifier.
    pub id: Json,
    /// The tool's name, of letters, digits, `_` and `-`.
    pub name: Json,
    /// The arguments, a JSON object.
    pub arguments: Json,
}

/// The result of a tool.
#[derive(Debug)]
pub struct ToolResult {
    /// Identifier of the call.
    pub id: Json,
    /// The tool's name.
    pub name: Json,
    /// The text.
    pub text: Json,
    /// Images.
    pub images: Vec<Node>,
    /// Whether the tool reported an error.
    pub failed: bool,
}

/// An empty text.
pub const NOTHING: Json = Json::constant("\"\"");

/// Text between two texts that become one.
const BLANK_LINE: Json = Json::constant("\"\\n\\n\"");

/// Longest name of a tool.
const LONGEST_NAME: usize = 64;

impl Chat {
    /// Reads the conversation up to the leaf.
    ///
    /// # Errors
    /// The errors of [`context::run`].
    pub fn read(
        format: &'static Format,
        parts: &mut dyn Parts,
        leaf: Option<&Json>,
        choices: &Choices,
        cx: &Cx<'_>,
        counts: &mut Counts,
    ) -> Result<Self> {
        let log = Log::default();
        let quiet = Cx { options: cx.options, log: &log };
        let redactor = cx.options.redact.as_deref().map(Redactor::new);
        let (open, ids) = (Vec::new(), HashSet::new());
        let mut building =
            Building { choices, counts, chat: Self::default(), open, ids, numbers: HashMap::new() };
        let leaf = leaf.and_then(Json::text);
        let (id, messages) = context::conversation(format, parts, leaf.as_deref(), cx, &quiet)?;
        for message in messages {
            let mut record = Record { kind: Kind::Message, node: message? };
            redactor.iter().for_each(|redactor| redactor.record(&mut record));
            building.message(&record.node);
        }
        building.close();
        let mut messages = std::mem::take(&mut building.chat.messages);
        messages.retain_mut(|message| match message {
            Message::Answer(answer) => {
                building.thoughts(answer);
                !answer.is_empty()
            }
            _ => true,
        });
        let mut chat = Self { messages, ..building.chat };
        chat.id = id.unwrap_or_default();
        redactor.iter().for_each(|redactor| cx.log.mask(redactor.counts()));
        Ok(chat)
    }
}

struct Building<'a> {
    choices: &'a Choices,
    counts: &'a mut Counts,
    chat: Chat,
    /// Calls of the last answer, in its order.
    open: Vec<Open>,
    /// Identifiers of all calls so far.
    ids: HashSet<Json>,
    /// Last number behind an identifier that occurs several times.
    numbers: HashMap<Json, u64>,
}

/// A call whose answer is not complete.
struct Open {
    /// The identifier in the session.
    given: Json,
    /// The identifier in the row.
    id: Json,
    name: Json,
    result: Option<ToolResult>,
}

impl Building<'_> {
    fn message(&mut self, node: &Node) {
        let blocks = &*blocks_of(node);
        if node.is(Field::Role, "system") || node.is(Field::Role, "developer") {
            self.system(block::all_text(blocks));
        } else if node.is(Field::Role, "assistant") {
            self.close();
            self.answer(blocks);
        } else {
            for result in blocks.iter().filter(|part| part.is(Field::Type, block::TOOL_RESULT)) {
                self.result(result);
            }
            let rest = blocks.iter().filter(|part| !part.is(Field::Type, block::TOOL_RESULT));
            let rest: Vec<Node> = rest.filter_map(|part| self.part(part)).collect();
            if !rest.is_empty() {
                self.close();
                self.chat.messages.push(Message::User(rest));
            }
        }
    }

    /// Ends an answer: its results follow in the order of the calls. A call without a result gets one
    /// that says so.
    fn close(&mut self) {
        for Open { id, name, result, .. } in std::mem::take(&mut self.open) {
            let result = result.unwrap_or_else(|| {
                self.counts.add("calls without a result", 1);
                let text = Json::string(NO_RESULT);
                ToolResult { id, name, text, images: Vec::new(), failed: true }
            });
            self.chat.messages.push(Message::Result(result));
        }
    }

    fn system(&mut self, text: Option<Json>) {
        let Some(text) = text else { return };
        if self.choices.system {
            let before = self.chat.system.take();
            self.chat.system = Some(joined(before, text));
        } else {
            self.counts.add("system messages", 1);
        }
    }

    /// Returns what stays of a text, image or other block.
    fn part(&mut self, part: &Node) -> Option<Node> {
        let is = |name| part.is(Field::Type, name);
        if is(block::TEXT) {
            let blank = part.text(Field::Text).is_none_or(|text| text.trim().is_empty());
            return (!blank).then(|| part.clone());
        }
        if is(block::THINKING) {
            return None;
        }
        if is(block::IMAGE) && self.choices.images && is_shown(part) {
            return Some(part.clone());
        }
        let kind = match (is(block::IMAGE), is(block::DOCUMENT)) {
            (true, _) => "images",
            (_, true) => "documents",
            _ => "other content",
        };
        self.counts.add(kind, 1);
        Some(block::placeholder(part))
    }

    fn answer(&mut self, blocks: &[Node]) {
        let mut answer = Answer::default();
        for part in blocks {
            if part.is(Field::Type, block::THINKING) {
                answer.thoughts.push(part.clone());
            } else if part.is(Field::Type, block::TOOL_CALL) {
                let call = self.call(part);
                answer.calls.push(call);
            } else if part.is(Field::Type, block::IMAGE) {
                // No interface takes an image in an answer.
                self.counts.add("images", 1);
                answer.add_text(block::placeholder(part).json(Field::Text));
            } else {
                answer.add_text(self.part(part).as_ref().and_then(|part| part.json(Field::Text)));
            }
        }
        // Some programs write the thoughts before an answer as an answer of their own.
        if let Some(Message::Answer(last)) = self.chat.messages.last_mut()
            && last.text.is_none()
            && last.calls.is_empty()
        {
            answer.thoughts.splice(0..0, std::mem::take(&mut last.thoughts));
            self.chat.messages.pop();
        }
        self.chat.messages.push(Message::Answer(answer));
    }

    fn thoughts(&mut self, answer: &mut Answer) {
        match self.choices.reasoning {
            Reasoning::Keep => {}
            Reasoning::Drop => {
                self.counts.add("thoughts", answer.thoughts.len() as u64);
                answer.thoughts.clear();
            }
            Reasoning::Move => {
                let texts = thinking(&answer.thoughts);
                let hidden = answer.thoughts.len() as u64 - texts.len() as u64;
                self.counts.add("thoughts that are encrypted", hidden);
                answer.thoughts.clear();
                if let Some(thinking) =
                    texts.into_iter().fold(None, |all, text| Some(joined(all, text)))
                {
                    let text = in_think(&thinking);
                    let rest = answer.text.take();
                    answer.text = Some(rest.map_or(text.clone(), |rest| text.joined(&rest)));
                }
            }
        }
    }

    fn call(&mut self, call: &Node) -> Call {
        let given = call.text(Field::Name).unwrap_or_default();
        let name = accepted(&given);
        if name != given {
            self.counts.add("names of tools changed", 1);
        }
        let given = call.json(Field::Id).cloned().unwrap_or(NOTHING);
        let id = self.new_id(&given);
        let name = Json::string(&name);
        self.open.push(Open { given, id: id.clone(), name: name.clone(), result: None });
        Call { id, name, arguments: block::arguments(call).0 }
    }

    /// Returns an identifier that no call before has: interfaces refuse one that occurs twice.
    fn new_id(&mut self, given: &Json) -> Json {
        let mut id = given.clone();
        while !self.ids.insert(id.clone()) {
            let number = self.numbers.entry(given.clone()).or_insert(1);
            *number += 1;
            id = Json::string(&format!("{}_{number}", given.text().unwrap_or_default()));
        }
        if id != *given {
            self.counts.add("identifiers of calls changed", 1);
        }
        id
    }

    fn result(&mut self, result: &Node) {
        let given = result.json(Field::Call).cloned().unwrap_or(NOTHING);
        let waits = |open: &Open| open.given == given && open.result.is_none();
        let Some(place) = self.open.iter().position(waits) else {
            return self.counts.add("results without a call", 1);
        };
        let parts = blocks_of(result);
        let kept: Vec<Node> = parts.iter().filter_map(|part| self.part(part)).collect();
        let text = self.cut(block::all_text(&kept).unwrap_or(NOTHING));
        let images = kept.into_iter().filter(|part| part.is(Field::Type, block::IMAGE)).collect();
        let failed = result.is_true(Field::IsError);
        if let Some(open) = self.open.get_mut(place) {
            let (id, name) = (open.id.clone(), open.name.clone());
            open.result = Some(ToolResult { id, name, text, images, failed });
        }
    }

    /// Cuts the text of a result that is longer than the user wants, and says so in its place.
    fn cut(&mut self, text: Json) -> Json {
        let Some(most) = self.choices.tool_results else { return text };
        // A character has at least one byte.
        let long = Some(&text).filter(|text| text.as_bytes().len() > most);
        let Some(whole) = long.and_then(|text| text.text()) else { return text };
        let Some((end, _)) = whole.char_indices().nth(most) else { return text };
        self.counts.add("tool results cut", 1);
        let (begin, rest) = whole.split_at(end);
        Json::string(&format!("{begin}\n[{} characters were cut]", rest.chars().count()))
    }
}

/// Whether interfaces show an image: it is of a kind that they take, and its data are in the row.
fn is_shown(image: &Node) -> bool {
    let media = image.text(Field::MediaType).unwrap_or_default();
    let is_taken = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&&*media);
    is_taken && image.text(Field::Data).is_some_and(|data| !data.contains(':'))
}

impl Answer {
    /// Whether there is nothing in it.
    fn is_empty(&self) -> bool {
        self.text.is_none() && self.calls.is_empty() && self.thoughts.is_empty()
    }

    fn add_text(&mut self, text: Option<&Json>) {
        if let Some(text) = text {
            self.text = Some(joined(self.text.take(), text.clone()));
        }
    }
}

impl Message {
    /// Returns the bytes by which equal messages are found.
    pub fn mark(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut add = |json: &Json| {
            all.extend_from_slice(json.as_bytes());
            all.push(0);
        };
        match self {
            Self::User(parts) => {
                add(&Json::constant("\"user\""));
                let fields = [Field::Text, Field::Data];
                for part in parts {
                    fields.iter().filter_map(|field| part.json(*field)).for_each(&mut add);
                }
            }
            Self::Answer(answer) => {
                answer.text.iter().for_each(&mut add);
                for call in &answer.calls {
                    add(&call.name);
                    add(&call.arguments);
                }
            }
            Self::Result(result) => {
                add(&result.name);
                add(&result.text);
            }
        }
        all
    }
}

/// Returns the content as blocks.
fn blocks_of(node: &Node) -> Cow<'_, [Node]> {
    match node.get(Field::Content) {
        Some(Value::Nodes(blocks)) => Cow::Borrowed(blocks),
        Some(Value::Json(text)) if !text.is_null() => Cow::Owned(vec![block::text(text.clone())]),
        _ => Cow::Borrowed(&[]),
    }
}

/// Returns the texts of thoughts that can be read.
pub fn thinking(thoughts: &[Node]) -> Vec<Json> {
    let open = thoughts.iter().filter(|thought| !thought.is_true(Field::Redacted));
    let texts = open.filter_map(|thought| thought.json(Field::Thinking));
    texts.filter(|text| text.as_bytes() != b"\"\"" && !text.is_null()).cloned().collect()
}

/// Returns thoughts as a part of a text. The end of the thoughts occurs once.
pub fn in_think(thoughts: &Json) -> Json {
    let open = Json::constant("\"<think>\\n\"").joined(thoughts);
    open.joined(&Json::constant("\"\\n</think>\\n\\n\""))
}

/// Returns two texts with a blank line between them.
pub fn joined(before: Option<Json>, text: Json) -> Json {
    match before {
        Some(before) => before.joined(&BLANK_LINE).joined(&text),
        None => text,
    }
}

/// Returns the name of a tool as interfaces take it.
fn accepted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let plain = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
    let plain: String = plain.take(LONGEST_NAME).collect();
    if plain.is_empty() { "tool".to_owned() } else { plain }
}
