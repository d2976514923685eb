//! Templates of usual sessions and messages, for those of other formats.

use super::{part, wire};
use crate::foreign::fitted;
use crate::format::Cx;
use crate::ids::{is_uuid, uuid_of};
use crate::json::Json;
use crate::record::{Field, Node, Value, block, session_uuid};
use crate::times;
use jiff::Timestamp;

/// State behind the messages so far.
#[derive(Debug, Default)]
pub struct Usual {
    session: String,
    count: u64,
    time: Option<Timestamp>,
}

/// Fields of a session of another format that a header holds.
const HELD: &[Field] = &[
    Field::Source,
    Field::File,
    Field::Leaf,
    Field::IdMade,
    Field::Time,
    Field::Cwd,
    Field::Name,
    Field::Created,
    Field::Updated,
];

impl Usual {
    /// Begins a session; one of another format gets a header.
    pub fn begin(&mut self, session: &Node, own: bool, cx: &Cx<'_>) -> Node {
        let mut node = session.clone();
        if !own || session.get(Field::Extra).is_none() {
            let is_id = session.text(Field::Id).is_some_and(|id| is_uuid(&id));
            cx.log.count_lost("session", session, |field| {
                HELD.contains(&field) || (field == Field::Id && is_id)
            });
            node = Node::default();
            let id = session_uuid(session, cx.options.question.as_deref());
            node.set(Field::Id, Json::string(&id));
            let stated = [Field::Created, Field::Updated]
                .map(|field| session.json(field).and_then(times::read));
            let [created, updated] = stated;
            let created = created.or(updated).unwrap_or(Timestamp::UNIX_EPOCH);
            let spelled = |time| Json::string(&times::with_millis(time));
            node.set(Field::Created, spelled(created));
            let updated = kept(updated.unwrap_or(created).max(created), cx.options.latest);
            node.set(Field::Updated, spelled(updated));
            for field in [Field::Cwd, Field::Name, Field::File] {
                node.put(field, session.get(field).cloned());
            }
            if node.get(Field::Cwd).is_none() {
                node.put(Field::Cwd, cx.options.folder.as_deref().map(Json::string));
            }
            node.set(Field::Extra, Json::constant(wire::USUAL_HEADER));
            self.time = Some(created);
        }
        self.session = node.text(Field::Id).unwrap_or_default();
        node
    }

    /// Notes a message that is written.
    pub fn note(&mut self, message: &Node) {
        self.count += 1;
        self.time = message.json(Field::Time).and_then(times::read).or(self.time);
    }

    /// Returns a message with the blocks that the format holds.
    pub fn fitted(&self, node: &Node, own: bool, cx: &Cx<'_>) -> Node {
        let mut message = node.clone();
        if !own {
            message.put(Field::Content, fitted(node.get(Field::Content), &holds, cx.log));
        }
        message
    }

    /// Returns a message with a usual template.
    pub fn message(&mut self, node: &Node, own: bool, cx: &Cx<'_>) -> Node {
        const OF_ANSWERS: &[Field] = &[Field::Model, Field::Usage];
        let is_answer = node.is(Field::Role, "assistant");
        if !own {
            cx.log.count_lost("message", node, |field| {
                Field::STRUCTURAL.contains(&field) || (is_answer && OF_ANSWERS.contains(&field))
            });
            if let Some(usage) = node.node(Field::Usage).filter(|_| is_answer) {
                const COUNTS: &[Field] = &[
                    Field::InputTokens,
                    Field::OutputTokens,
                    Field::CacheRead,
                    Field::Reasoning,
                    Field::Total,
                ];
                cx.log.count_lost("message.usage", usage, |field| COUNTS.contains(&field));
            }
        }
        let mut message = self.fitted(node, own, cx);
        if node.is(Field::Role, "user") && wire::is_ignored(&part::all_shown(&message)) {
            cx.log.lost("message that is not sent");
        }
        for field in [Field::Extra, Field::Layout, Field::IdMade, Field::Excluded] {
            message.take(field);
        }
        let time = message.json(Field::Time).and_then(times::of).or(self.time);
        let time = Json::string(&times::with_millis(time.unwrap_or(Timestamp::UNIX_EPOCH)));
        message.set(Field::Time, time);
        let id = node.text(Field::Id).filter(|id| is_uuid(id));
        let made = || {
            uuid_of(
                format!(
                    "{} {} {}",
                    self.session,
                    self.count,
                    node.text(Field::Id).unwrap_or_default()
                )
                .as_bytes(),
            )
        };
        message.set(Field::Id, Json::string(&id.unwrap_or_else(made)));
        if !is_answer {
            message.set(
                Field::Extra,
                Json::constant(r#"{"id":0,"timestamp":0,"type":0,"content":[]}"#),
            );
            return message;
        }
        // A text alone is the content; other blocks are thoughts and calls beside it.
        let texts = |blocks: &[Node]| blocks.iter().filter(|block| part::is_part(block)).count();
        let is_text = match message.get(Field::Content) {
            Some(Value::Nodes(blocks)) => texts(blocks) > 0,
            Some(Value::Json(text)) => !text.is_null(),
            _ => false,
        };
        let content = if is_text { "0" } else { "\"\"" };
        let tokens = if message.node(Field::Usage).is_some() { "0" } else { "null" };
        let model = if message.json(Field::Model).is_some() { ",\"model\":0" } else { "" };
        let extra = format!(
            r#"{{"id":0,"timestamp":0,"type":0,"content":{content},"thoughts":0,"tokens":{tokens}{model}}}"#
        );
        message.set(Field::Extra, Json::trusted(extra.into_bytes().into()));
        message
    }
}

/// Days after which the program removes a session, unless the user has another setting.
const RETENTION: i64 = 30;

/// Returns the time at which a session counts as updated: when it starts, the program removes every
/// session that is older than the retention, so such a one counts as updated on this day.
fn kept(updated: Timestamp, latest: Option<i64>) -> Timestamp {
    let today = latest.map(times::day_of);
    let old = today.filter(|today| updated.as_millisecond() < today - (RETENTION - 1) * times::DAY);
    old.and_then(|today| Timestamp::from_millisecond(today).ok()).unwrap_or(updated)
}

/// Whether a part has a place for a field of a block.
fn holds(name: &str, field: Field) -> bool {
    let fields: &[Field] = match name {
        block::TEXT => &[Field::Text],
        block::THINKING => &[Field::Thinking],
        block::IMAGE | block::DOCUMENT => &[Field::Data, Field::MediaType],
        block::TOOL_CALL => &[Field::Id, Field::Name, Field::Arguments],
        block::TOOL_RESULT => &[Field::Call, Field::Content, Field::IsError],
        _ => return false,
    };
    field == Field::Type || fields.contains(&field)
}
