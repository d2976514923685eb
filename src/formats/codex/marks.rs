//! Events at the beginning and the end of a turn, by which Codex finds the turns of a rollout.
//!
//! Source: rollouts of release 0.169.0; releases up to about 0.90 write none.

use crate::format::Marks;
use crate::ids::uuid_of;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, block};
use crate::times;

/// Marks of turns.
pub static MARKS: Marks = Marks { is: is_mark, around };

/// Whether a record begins a turn.
fn is_mark(record: &Record) -> bool {
    let data = record.node.json(Field::Data).filter(|_| record.kind == Kind::Event);
    let wire = data.and_then(|data| data.member("type")?.text());
    wire.is_some_and(|wire| wire == "task_started" || wire == "turn_started")
}

/// Returns the records around the messages of a turn.
fn around(turn: &[Record]) -> Option<[Record; 2]> {
    let is_message = |record: &&Record| record.kind == Kind::Message;
    let (first, last) = (turn.iter().find(is_message)?, turn.iter().rev().find(is_message)?);
    let id = uuid_of(first.node.json(Field::Id)?.as_bytes());
    let answer = Some(&last.node).filter(|node| node.is(Field::Role, "assistant"));
    let answer = answer.and_then(block::message_text).unwrap_or(Json::constant("null"));
    let [from, to] = [first, last].map(|record| seconds(&record.node));
    let begin = format!(
        "{{\"type\":\"task_started\",\"turn_id\":\"{id}\",\"started_at\":{from},\"model_context_window\":null}}"
    );
    let head = format!("{{\"type\":\"task_complete\",\"turn_id\":\"{id}\",\"last_agent_message\":");
    let tail = format!(",\"completed_at\":{to}}}");
    let end = [head.as_bytes(), answer.as_bytes(), tail.as_bytes()].concat();
    Some([event(begin.into_bytes(), first), event(end, last)])
}

/// Returns the time of a record in seconds.
fn seconds(node: &Node) -> String {
    let time = node.json(Field::Time).and_then(times::read);
    time.map_or("null".to_owned(), |time| time.as_second().to_string())
}

fn event(data: Vec<u8>, of: &Record) -> Record {
    Record::new(Kind::Event)
        .with(Field::Data, Json::trusted(data.into()))
        .with_some(Field::Time, of.node.json(Field::Time).cloned())
}
