//! Turns of ShareGPT: a speaker and a text, in which calls of tools are JSON. Calls and results have
//! no identifiers there.

use crate::json::{Json, text};
use crate::mapping::Extra;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Text between the results of several calls in one turn, as LLaMA-Factory joins them.
const BETWEEN: &str = "\n</tool_response>\n<tool_response>\n";
/// Layout of a result without a call, which is shown as words of the user.
const OBSERVATION: Json = Json::constant("\"observation\"");

/// Reads a turn; `None` if its speaker or text is of another kind. `open` is the number of calls
/// before it that have no result yet.
pub fn read(turn: &Json, open: usize) -> Option<Vec<Record>> {
    let (from, words) = (turn.text_of("from")?, turn.text_of("value")?);
    let mut records = match from.as_str() {
        "human" | "user" => vec![message("user", Json::string(&words))],
        "system" => vec![message("system", Json::string(&words))],
        "gpt" | "assistant" => vec![answer(&words)],
        "function_call" => vec![calls(&words)?],
        "observation" | "tool" => results(&words, open),
        _ => return None,
    };
    others(turn, &["from", "value"]).put(&mut records.first_mut()?.node);
    Some(records)
}

/// Returns the members of an object other than these.
fn others(object: &Json, known: &[&str]) -> Extra {
    let mut others = Extra::default();
    for (key, value) in object.members() {
        if !known.iter().any(|known| text::is(key, known)) {
            others.add(key, value);
        }
    }
    others
}

/// Reads calls: one, or a list of them. Thoughts may be before them.
fn calls(words: &str) -> Option<Record> {
    let (thoughts, rest) = thoughts_of(words);
    let value = Json::read(&rest.trim().to_owned().into_bytes().into()).ok()?;
    let list =
        if value.as_bytes().starts_with(b"[") { value.elements().collect() } else { vec![value] };
    let call = |call: &Json| {
        let name = call.member("name").filter(Json::is_string)?;
        let arguments = call.member("arguments").unwrap_or(Json::constant("{}"));
        let node = block::of(block::TOOL_CALL).with(Field::Name, name);
        let mut node = node.with(Field::Arguments, arguments);
        others(call, &["name", "arguments"]).put(&mut node);
        Some(node)
    };
    let calls = list.iter().map(call).collect::<Option<Vec<_>>>()?;
    let mut record = message("assistant", calls);
    thoughts.into_iter().for_each(|thoughts| think(&mut record.node, thoughts));
    Some(record)
}

/// Reads the results of calls: those of all that are open, or of one. Without a call they are words
/// of the user.
fn results(words: &str, open: usize) -> Vec<Record> {
    if open == 0 {
        return vec![message("user", Json::string(words)).with(Field::Layout, OBSERVATION)];
    }
    let pieces: Vec<&str> = words.split(BETWEEN).collect();
    let pieces = if pieces.len() == open { pieces } else { vec![words] };
    let result =
        |words: &str| block::of(block::TOOL_RESULT).with(Field::Content, Json::string(words));
    pieces.into_iter().map(|words| message("tool", vec![result(words)])).collect()
}

/// Puts thoughts before the content of an answer.
pub fn think(message: &mut Node, thoughts: Json) {
    let mut content = vec![block::of(block::THINKING).with(Field::Thinking, thoughts)];
    match message.take(Field::Content) {
        Some(Value::Nodes(nodes)) => content.extend(nodes),
        Some(Value::Json(words)) if words.as_bytes().starts_with(b"\"") => {
            content.push(block::text(words));
        }
        _ => {}
    }
    message.set(Field::Content, content);
}

fn message(role: &str, content: impl Into<Value>) -> Record {
    Record::new(Kind::Message).with(Field::Role, Json::string(role)).with(Field::Content, content)
}

fn answer(words: &str) -> Record {
    let (thoughts, rest) = thoughts_of(words);
    let mut record = message("assistant", Json::string(rest));
    thoughts.into_iter().for_each(|thoughts| think(&mut record.node, thoughts));
    record
}

/// Returns the thoughts at the beginning of a text, and the text behind them.
fn thoughts_of(words: &str) -> (Option<Json>, &str) {
    let inside = words.strip_prefix("<think>").and_then(|inside| inside.split_once("</think>"));
    let Some((thoughts, rest)) = inside else { return (None, words) };
    (Some(Json::string(thoughts.trim())), rest.trim_start_matches('\n'))
}
