//! Events for messages that the program did not write: those of other formats, and new ones.
//!
//! They have only members and types of release 0.0.384, which every release opens.

use super::{line, starts, wire};
use crate::diagnostic::Log;
use crate::foreign::fitted;
use crate::format::Cx;
use crate::ids::{uuid_of, uuid_of_pieces};
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, Value, began, block, session_uuid};
use crate::times;
use jiff::Timestamp;

/// Program that a session names which copyist began.
pub const PRODUCER: &str = "copyist";

/// The end of a session, behind which events are written.
#[derive(Debug, Default)]
pub struct Events {
    session: String,
    /// Number of events so far, and the identifier of the last one.
    count: u64,
    last: Option<Json>,
    time: Option<Timestamp>,
}

/// Whether copyist began the session.
pub fn is_ours(session: &Node) -> bool {
    let data = line::data_of(session);
    data.and_then(|data| data.member("producer")?.text()).is_some_and(|name| name == PRODUCER)
}

impl Events {
    /// Returns the first line.
    pub fn begin(&mut self, session: &Node, own: bool, cx: &Cx<'_>) -> Vec<u8> {
        let mut record = Record { kind: Kind::Session, node: session.clone() };
        if !own {
            record = self.start(session, cx);
        }
        self.note(&record);
        let mut out = Vec::new();
        line::write(&record, &mut out);
        out
    }

    /// Returns the first event of a session from elsewhere.
    fn start(&mut self, session: &Node, cx: &Cx<'_>) -> Record {
        const ELSEWHERE: &[Field] =
            &[Field::Source, Field::File, Field::Leaf, Field::IdMade, Field::Updated, Field::Time];
        const HELD: &[Field] = &[Field::Id, Field::Created, Field::Cwd];
        // The program refuses a context without a folder.
        let branch = session.json(Field::Branch).filter(|_| session.get(Field::Cwd).is_some());
        cx.log.count_lost("session", session, |f| {
            HELD.contains(&f) || ELSEWHERE.contains(&f) || (f == Field::Branch && branch.is_some())
        });
        self.session = session_uuid(session, cx.options.question.as_deref());
        let time = began(session).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = Json::string(&times::with_millis(time));
        let mut record = Record::new(Kind::Session)
            .with(Field::Id, Json::string(&self.session))
            .with(Field::Created, time.clone())
            .with(Field::Time, time)
            .with_some(Field::Cwd, session.json(Field::Cwd).cloned())
            .with_some(Field::Branch, branch.cloned());
        let data = r#"{"sessionId":0,"version":1,"producer":"copyist","copilotVersion":"0.0.0","startTime":0}"#;
        self.name(Json::constant(data), &mut record.node);
        record
    }

    /// Notes an event that the session has.
    pub fn note(&mut self, record: &Record) {
        if record.kind == Kind::Session {
            self.session = record.node.text(Field::Id).unwrap_or_default();
        }
        self.count += 1;
        let id = record.node.json(Field::Extra).and_then(|extra| wire::member_of(extra, "id"));
        self.last = id.map(|id| id.detached()).or(self.last.take());
        self.time = record.node.json(Field::Time).and_then(times::read).or(self.time);
    }

    /// Gives an event with these data an identifier, and the one before it as its parent.
    fn name(&mut self, data: Json, node: &mut Node) {
        let last = self.last.take().unwrap_or(Json::constant("null"));
        let key = [self.session.as_bytes(), &self.count.to_le_bytes(), last.as_bytes()].concat();
        // A merge makes events of new messages one by one, each behind the first line.
        let own = [Field::Time, Field::Content].map(|field| match node.get(field) {
            Some(Value::Json(value)) => vec![value],
            Some(Value::Nodes(blocks)) => {
                let named = [Field::Id, Field::Call, Field::Text];
                let all = blocks.iter().flat_map(|block| named.map(|field| block.json(field)));
                all.flatten().collect()
            }
            _ => Vec::new(),
        });
        let own = own.iter().flatten().map(|value| value.as_bytes());
        let id = Json::string(&uuid_of_pieces(std::iter::once(key.as_slice()).chain(own)));
        node.set(
            Field::Extra,
            Object::json(|object| {
                object.member("data", data.as_bytes());
                object.member("id", id.as_bytes());
                object.member("parentId", last.as_bytes());
            }),
        );
        self.last = Some(id);
        self.count += 1;
    }

    /// Returns the lines of a record; none if the format has no place for it.
    pub fn of(&mut self, record: &Record, log: &Log) -> Vec<Vec<u8>> {
        let Some((mut record, data)) = self.adapted(record, log) else { return Vec::new() };
        // Lines are in the order of time.
        let time = record.node.json(Field::Time).and_then(times::read).max(self.time);
        self.time = time;
        let time = Json::string(&times::with_millis(time.unwrap_or(Timestamp::UNIX_EPOCH)));
        record.node.set(Field::Time, time.clone());
        self.name(data, &mut record.node);
        let mut events = vec![record];
        let calls = events[0].node.content().to_vec();
        for call in calls.iter().filter(|block| block.is(Field::Type, block::TOOL_CALL)) {
            events.push(self.tool_start(call, time.clone()));
        }
        let written = |event: &Record| {
            let mut out = Vec::new();
            line::write(event, &mut out).then(|| escaped(&out))
        };
        events.iter().filter_map(written).collect()
    }

    /// Returns the event with which the tool of a call begins.
    fn tool_start(&mut self, call: &Node, time: Json) -> Record {
        let mut record = Record::new(Kind::Event)
            .with(Field::Data, starts::of_call(call))
            .with(Field::Time, time);
        self.name(Json::constant("{}"), &mut record.node);
        record
    }

    /// Returns a message as the format has it, and the template of its event's data.
    fn adapted(&mut self, record: &Record, log: &Log) -> Option<(Record, Json)> {
        if record.kind == Kind::ModelChange {
            record.node.json(Field::Model)?;
            return Some((record.clone(), Json::constant(r#"{"newModel":0}"#)));
        }
        let role = ["user", "assistant", "tool"];
        let role = role.into_iter().find(|role| record.node.is(Field::Role, role))?;
        if record.kind != Kind::Message || record.is_aside() {
            return None;
        }
        let mut node = Node::with_capacity(8);
        let is_answer = role == "assistant";
        let held = |field: Field| match field {
            Field::Model => is_answer,
            field => Field::STRUCTURAL.contains(&field),
        };
        log.count_lost("message", &record.node, held);
        for field in [Field::Role, Field::Time] {
            node.put(field, record.node.json(field).cloned());
        }
        let content = record.node.get(Field::Content);
        let failed = |blocks: &[Node]| blocks.iter().any(|block| block.is_true(Field::IsError));
        let failed = record.node.nodes(Field::Content).is_some_and(failed);
        let content = fitted(content, &|name, field| holds(role, failed, name, field), log);
        node.put(Field::Content, content.map(|content| whole(content, role)));
        let images = shown(&node);
        if is_answer {
            node.put(Field::Model, record.node.json(Field::Model).cloned());
        }
        let data = match role {
            "user" if images.is_empty() => Json::constant(r#"{"content":0}"#),
            "user" => list(r#"{"content":0,"attachments":["#, "blob", &images, b"]}"),
            "assistant" => {
                let key = [self.session.as_bytes(), b"message", &self.count.to_le_bytes()].concat();
                let id = uuid_of(&key);
                let data = format!(
                    r#"{{"messageId":"{id}","content":0,"toolRequests":0,"model":0,"reasoningText":0}}"#
                );
                Json::trusted(data.into_bytes().into())
            }
            _ if images.is_empty() => Json::constant(r#"{"toolCallId":0,"success":0}"#),
            _ => {
                let before =
                    r#"{"toolCallId":0,"success":0,"result":{"content":0,"binaryResultsForLlm":["#;
                list(before, "image", &images, b"]}}")
            }
        };
        Some((Record { kind: Kind::Message, node }, data))
    }
}

/// Returns the images of a message, also those in a result.
fn shown(message: &Node) -> Vec<Node> {
    let blocks = message.content();
    let inner = blocks.iter().flat_map(|block| block.content());
    let all = blocks.iter().chain(inner);
    all.filter(|block| block.is(Field::Type, block::IMAGE)).cloned().collect()
}

/// Returns data with a list of images.
fn list(before: &str, kind: &str, images: &[Node], behind: &[u8]) -> Json {
    let mut out = before.as_bytes().to_vec();
    for (number, image) in images.iter().enumerate() {
        out.extend_from_slice(if number == 0 { b"" } else { b"," });
        let mut object = Object::open(&mut out);
        text::quote(kind, object.key("type"));
        for (name, field) in [("data", Field::Data), ("mimeType", Field::MediaType)] {
            image.json(field).into_iter().for_each(|value| object.member(name, value.as_bytes()));
        }
        if kind == "blob" {
            object.member("displayName", b"\"image\"");
        }
        object.close();
    }
    out.extend_from_slice(behind);
    Json::trusted(out.into())
}

/// Whether a block of a message of this role, perhaps a failed result, has a place for a field.
fn holds(role: &str, failed: bool, name: &str, field: Field) -> bool {
    let fields: &[Field] = match name {
        block::TEXT => &[Field::Text],
        block::THINKING if role == "assistant" => &[Field::Thinking],
        block::TOOL_CALL if role == "assistant" => &[Field::Id, Field::Name, Field::Arguments],
        block::TOOL_RESULT if role == "tool" => &[Field::Call, Field::Content, Field::IsError],
        block::IMAGE if role != "assistant" && !failed => &[Field::Data, Field::MediaType],
        _ => return false,
    };
    field == Field::Type || fields.contains(&field)
}

/// Completes content: the blocks of an answer are a list, a question without images is a text, and
/// an image has its data.
fn whole(content: Value, role: &str) -> Value {
    match content {
        Value::Json(text) if role == "assistant" => {
            let text = Some(text).filter(|text| !text.is_null());
            text.map(block::text).into_iter().collect::<Vec<_>>().into()
        }
        Value::Nodes(blocks) => {
            let mut blocks: Vec<Node> = blocks.into_iter().map(inside).collect();
            for block in &mut blocks {
                if let Some(Value::Nodes(inner)) = block.get_mut(Field::Content) {
                    *inner = std::mem::take(inner).into_iter().map(inside).collect();
                }
            }
            blocks.into()
        }
        other => other,
    }
}

/// Returns a block, or a text in place of an image that has no data in the session.
fn inside(block: Node) -> Node {
    let is_image = block.is(Field::Type, block::IMAGE);
    let has = |field, begins: &[u8]| {
        block.json(field).is_some_and(|value| value.as_bytes().starts_with(begins))
    };
    let outside = has(Field::Data, b"\"blob:") || !has(Field::Data, b"\"");
    match is_image && (outside || !has(Field::MediaType, b"\"image/")) {
        true => block::placeholder(&block),
        false => block,
    }
}

/// Whether release 1.0.10 divides lines at a character.
pub fn divides(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}')
}

/// Spells these characters as escapes.
fn escaped(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if divides(c) => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.into_bytes()
}

/// Returns an event with these data, and with its identifier, time and parent.
pub fn envelope(wire: &str, data: &[u8], [id, time, parent]: [&Json; 3]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    text::quote(wire, object.key("type"));
    object.member("data", data);
    object.member("id", id.as_bytes());
    object.member("timestamp", time.as_bytes());
    object.member("parentId", parent.as_bytes());
    object.close();
    out
}
