//! Turns of ShareGPT: a speaker and a text, in which calls of tools are JSON. Calls and results have
//! no identifiers there, so they get some, in their order.

use crate::json::{Json, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Text between the results of several calls in one turn, as LLaMA-Factory joins them.
const BETWEEN: &str = "\n</tool_response>\n<tool_response>\n";
/// Layout of a result without a call, which is shown as words of the user.
const OBSERVATION: Json = Json::constant("\"observation\"");

/// Reader of the turns of a row.
#[derive(Debug, Default)]
pub struct Turns {
    /// Number of calls so far.
    calls: u64,
    /// Identifiers of the calls without a result, in their order.
    open: Vec<Json>,
}

impl Turns {
    /// Reads a turn; `None` if its speaker or text is of another kind.
    pub fn read(&mut self, turn: &Json) -> Option<Vec<Record>> {
        let (from, value) = (turn.member("from")?.text()?, turn.member("value")?);
        let words = value.text();
        let mut records = match from.as_str() {
            "human" | "user" => vec![words_of("user", Json::string(&words?))],
            "system" => vec![words_of("system", Json::string(&words?))],
            "gpt" | "assistant" => vec![answer(&words?)],
            "function_call" => vec![self.called(&words?)?],
            "observation" | "tool" => self.results(&words?),
            _ => return None,
        };
        let mut extra = Extra::default();
        for (key, value) in turn.members() {
            if !["from", "value"].iter().any(|known| text::is(key, known)) {
                extra.add(key, value);
            }
        }
        extra.put(&mut records.first_mut()?.node);
        Some(records)
    }

    /// Reads calls: one, or a list of them. Thoughts may be before them.
    fn called(&mut self, words: &str) -> Option<Record> {
        let (thoughts, rest) = thoughts_of(words);
        let calls = Json::read(&rest.trim().to_owned().into_bytes().into()).ok()?;
        let list: Vec<Json> = match calls.as_bytes().first() {
            Some(b'[') => calls.elements().collect(),
            _ => vec![calls],
        };
        let (mut content, mut open) = (Vec::new(), Vec::new());
        for call in &list {
            let id = Json::string(&format!("call_{}", self.calls + open.len() as u64 + 1));
            let mut node = Node::with_capacity(4);
            node.set(Field::Type, block::type_of(block::TOOL_CALL));
            node.set(Field::Id, id.clone());
            node.set(Field::Name, call.member("name").filter(|name| name.text().is_some())?);
            node.set(Field::Arguments, call.member("arguments").unwrap_or(Json::constant("{}")));
            let mut extra = Extra::default();
            for (key, value) in call.members() {
                if !["name", "arguments"].iter().any(|known| text::is(key, known)) {
                    extra.add(key, value);
                }
            }
            extra.put(&mut node);
            open.push(id);
            content.push(node);
        }
        self.calls += open.len() as u64;
        self.open = open;
        let mut record = message("assistant");
        record.node.set(Field::Content, content);
        thoughts.into_iter().for_each(|thoughts| think(&mut record.node, thoughts));
        Some(record)
    }

    /// Reads the results of the calls before them.
    fn results(&mut self, words: &str) -> Vec<Record> {
        let pieces: Vec<&str> = words.split(BETWEEN).collect();
        let pieces = if pieces.len() == self.open.len() { pieces } else { vec![words] };
        let open: Vec<Json> = self.open.drain(..pieces.len().min(self.open.len())).collect();
        if open.is_empty() {
            let mut record = words_of("user", Json::string(words));
            record.node.set(Field::Layout, OBSERVATION);
            return vec![record];
        }
        let result = |(call, words): (&Json, &str)| {
            let mut node = Node::with_capacity(3);
            node.set(Field::Type, block::type_of(block::TOOL_RESULT));
            node.set(Field::Call, call.clone());
            node.set(Field::Content, Json::string(words));
            let mut record = message("tool");
            record.node.set(Field::Content, vec![node]);
            record
        };
        open.iter().zip(pieces).map(result).collect()
    }
}

/// Puts thoughts before the content of an answer.
pub fn think(message: &mut Node, thoughts: Json) {
    let mut thought = Node::with_capacity(2);
    thought.set(Field::Type, block::type_of(block::THINKING));
    thought.set(Field::Thinking, thoughts);
    let mut content = vec![thought];
    match message.take(Field::Content) {
        Some(Value::Nodes(nodes)) => content.extend(nodes),
        Some(Value::Json(words)) if words.as_bytes().starts_with(b"\"") => {
            content.push(block::text(words));
        }
        _ => {}
    }
    message.set(Field::Content, content);
}

fn message(role: &str) -> Record {
    let mut record = Record::new(Kind::Message);
    record.node.set(Field::Role, Json::string(role));
    record
}

fn words_of(role: &str, words: Json) -> Record {
    let mut record = message(role);
    record.node.set(Field::Content, words);
    record
}

fn answer(words: &str) -> Record {
    let (thoughts, rest) = thoughts_of(words);
    let mut record = words_of("assistant", Json::string(rest));
    thoughts.into_iter().for_each(|thoughts| think(&mut record.node, thoughts));
    record
}

/// Returns the thoughts at the beginning of a text, and the text behind them.
fn thoughts_of(words: &str) -> (Option<Json>, &str) {
    let inside = words.strip_prefix("<think>").and_then(|inside| inside.split_once("</think>"));
    let Some((thoughts, rest)) = inside else { return (None, words) };
    (Some(Json::string(thoughts.trim())), rest.trim_start_matches('\n'))
}
