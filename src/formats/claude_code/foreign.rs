//! Lines for the records of other formats, as every release from 2.0 on resumes them.
//!
//! Source: what releases 2.0.53, 2.1.81 and 2.1.332 send of transcripts in which one thing after
//! the other was left out or changed.
//!
//! Each message is one line, so that results of parallel calls follow each other. Times increase
//! strictly, for releases before 2.1.33 take the line with the newest time for the leaf. What has
//! no line, such as system prompts and the thinking of other providers, stays in the origin.

use super::held::Held;
use super::uuid::{is_uuid, session_id, uuid_of};
use super::wire;
use crate::context_rules;
use crate::format::Cx;
use crate::ids::hash;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, Value, block, calls, is_broken};
use crate::times;
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

/// Release that the lines name.
const RELEASE: &str = "2.1.332";

/// State of a session of another format while it is written.
#[derive(Debug, Default)]
pub struct Foreign {
    /// Identifier of the session: a UUID, except in a transcript that has another one.
    id: String,
    cwd: Option<Json>,
    branch: Option<Json>,
    model: Option<Json>,
    name: Option<Json>,
    /// Whether the session is a transcript, whose own lines keep their identifiers.
    own: bool,
    /// Times of the first and of the last line.
    first: Option<Timestamp>,
    time: Option<Timestamp>,
    /// Parents of the nodes that were left out, by the identifiers of these.
    omitted: HashMap<Json, Json>,
    /// Leaf of the session according to its source; and the last node.
    leaf: Option<Json>,
    last: Option<Json>,
    written: Option<Json>,
    /// Hashes of the identifiers of all nodes that have a line.
    lines: HashSet<u64>,
    /// Identifiers of lines that others named as their parents, and that have not come.
    awaited: Vec<Json>,
    /// Whether a line before the last one follows it.
    followed: bool,
    /// The last line and the identifier of its answer, if it calls a tool.
    answered: Option<(Json, Json)>,
    /// Last question.
    question: Option<Json>,
    held: Held,
}

/// Further fields of a message that its line has a place for.
const HELD: &[Field] = &[Field::Group, Field::MessageTime, Field::Base64];
/// Fields of an answer that its line has a place for besides.
const ANSWERED: &[Field] = &[Field::Model, Field::Usage, Field::StopReason, Field::ResponseId];

impl Foreign {
    /// Begins with the session's record.
    #[must_use]
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        const HELD: &[Field] = &[
            Field::Source,
            Field::Id,
            Field::Cwd,
            Field::Branch,
            Field::Model,
            Field::Created,
            Field::Updated,
            Field::Leaf,
            Field::File,
            Field::Provider,
        ];
        for field in session.fields().filter(|field| !HELD.contains(field)) {
            cx.log.lost(&format!("session.{}", field.name()));
        }
        let text = |field| session.json(field).filter(|json| json.text().is_some()).cloned();
        Self {
            id: session_id(session, cx.options.question.as_deref()),
            cwd: text(Field::Cwd),
            branch: text(Field::Branch),
            model: text(Field::Model),
            time: session.json(Field::Created).and_then(times::read),
            leaf: session.json(Field::Leaf).cloned(),
            ..Self::default()
        }
    }

    /// Begins records that were added to a transcript, whose identifier they get.
    #[must_use]
    pub fn within(session: &Node, cx: &Cx<'_>) -> Self {
        let new = Self::of(session, cx);
        let own = session.text(Field::Id).filter(|id| !id.is_empty());
        Self { own: true, id: own.unwrap_or(new.id), ..new }
    }

    /// Appends the lines that a record and those before it have, each with its line feed. The last
    /// one may wait for the next record.
    pub fn record(&mut self, record: &Record, out: &mut Vec<u8>, cx: &Cx<'_>) {
        let named = (record.kind.is_named() && !record.is_node()).then(|| self.named(record));
        let record = named.as_ref().unwrap_or(record);
        let node = &record.node;
        match record.kind {
            Kind::Session => {
                self.leaf = node.json(Field::Leaf).cloned().or(self.leaf.take());
                return;
            }
            Kind::ModelChange => {
                let model = node.json(Field::Model).filter(|model| model.text().is_some());
                self.model = model.cloned().or(self.model.take());
            }
            Kind::SessionInfo => self.name = node.json(Field::Name).cloned().or(self.name.take()),
            Kind::Leaf => {
                self.last = node.json(Field::Target).cloned();
                self.leave_out(node);
                return;
            }
            _ => {}
        }
        if record.is_node() {
            self.last = node.json(Field::Id).cloned();
        }
        let lost = |path: &str| {
            let path = format!("{}.{path}", record.kind.name());
            cx.log.lost(&path);
        };
        let Some(mut message) = self.message(record, &lost) else {
            if record.kind != Kind::SessionInfo {
                cx.log.lost(&record.path());
            }
            self.leave_out(node);
            return;
        };
        self.complete(&mut message.node);
        self.question = question(&message).or(self.question.take());
        self.written = node.json(Field::Id).cloned();
        self.lines.extend(self.written.as_ref().map(|id| hash(id.as_bytes())));
        self.held.put(message.node, out);
    }

    /// Appends the line that waited for a further record.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.held.finish(out);
    }

    /// Returns a record that has no identifier with one, behind the last line.
    fn named(&self, record: &Record) -> Record {
        let mut record = record.clone();
        let last = self.written.clone();
        let after = last.as_ref().map(Json::as_bytes).unwrap_or_default();
        let id = uuid_of(&[self.id.as_bytes(), after, b" next"].concat());
        record.node.set(Field::Id, Json::string(&id));
        record.node.set(Field::Parent, last.unwrap_or(Json::constant("null")));
        record
    }

    /// Notes that a node has no line: its children follow its parent.
    fn leave_out(&mut self, node: &Node) {
        let Some(id) = node.json(Field::Id) else { return };
        let parent = node.json(Field::Parent).cloned().unwrap_or(Json::constant("null"));
        self.omitted.insert(id.detached(), parent.detached());
    }

    /// Returns the nearest node above, or this node, that has a line.
    fn above<'s>(&'s self, mut id: &'s Json) -> &'s Json {
        // A longer path would lead in a circle.
        for _ in 0..self.omitted.len() {
            let Some(parent) = self.omitted.get(id) else { break };
            id = parent;
        }
        id
    }

    /// Returns the message that is sent of a record, with the blocks that a line can hold; `None`
    /// if nothing is sent.
    fn message(&self, record: &Record, lost: &dyn Fn(&str)) -> Option<Record> {
        let node = &record.node;
        let spoken = [Kind::Message, Kind::BranchSummary, Kind::Compaction].contains(&record.kind);
        // An agent sends a summary only if it has text.
        let silent = record.kind == Kind::BranchSummary
            && node.text(Field::Summary).is_none_or(|summary| summary.is_empty());
        let sent = spoken && !silent && !record.is_aside() && !is_broken(node);
        if !sent || node.is(Field::Role, "system") {
            return None;
        }
        let plain = ["user", "assistant", "tool"].iter().any(|role| node.is(Field::Role, role));
        let sent = if plain { node.clone() } else { context_rules::message(record, false)? };
        let answer = node.is(Field::Role, "assistant");
        for field in node.fields() {
            let held = [Field::STRUCTURAL, HELD].iter().any(|held| held.contains(&field))
                || (answer && ANSWERED.contains(&field));
            if !held && (record.kind == Kind::Message && plain) {
                lost(field.name());
            }
        }
        let mut out = Node::with_capacity(12);
        for field in [Field::Id, Field::Parent, Field::Time] {
            out.put(field, node.get(field).cloned());
        }
        for field in [Field::Role, Field::Content].iter().chain(ANSWERED).chain(&[Field::Group]) {
            let counts = answer || [Field::Role, Field::Content].contains(field);
            let value = sent.get(*field).filter(|_| counts);
            out.put(*field, value.cloned());
        }
        block::complete(&mut out);
        let content = self.content(&out, is_claude(node), lost)?;
        out.set(Field::Content, content);
        Some(Record { kind: Kind::Message, node: out })
    }

    /// Returns the content as a line can hold it; `None` if nothing is left.
    fn content(&self, node: &Node, claude: bool, lost: &dyn Fn(&str)) -> Option<Value> {
        let listed = node.is(Field::Role, "assistant") || node.is(Field::Role, "tool");
        let blocks = match node.get(Field::Content)? {
            Value::Json(text) if text.is_null() || text.as_bytes() == b"\"\"" => return None,
            Value::Json(text) if listed => vec![block::text(text.clone())],
            Value::Json(text) => return Some(text.clone().into()),
            Value::Nodes(blocks) => blocks.clone(),
            Value::Node(_) => return None,
        };
        let kept = blocks.into_iter().filter_map(|mut block| {
            let thought = block.is(Field::Type, block::THINKING);
            // The interface cannot verify the signature of another provider.
            if thought && !(claude && block.json(Field::Signature).is_some()) {
                lost("content.*.thinking");
                return None;
            }
            let empty = block.json(Field::Text).is_some_and(|text| text.as_bytes() == b"\"\"");
            adapt(&mut block, "content.*.", lost);
            Some(block).filter(|_| !empty)
        });
        let kept: Vec<Node> = kept.collect();
        (!kept.is_empty()).then(|| kept.into())
    }

    /// Gives a message the members of a line.
    fn complete(&mut self, node: &mut Node) {
        let stated = node.json(Field::Time).and_then(times::read);
        let after = self.time.map(times::after);
        let first = stated.or(after).unwrap_or(Timestamp::UNIX_EPOCH);
        // The chain must be strictly newer from line to line.
        let time = match self.written.is_some() {
            true => after.map_or(first, |after| first.max(after)),
            false => first,
        };
        self.first = self.first.or(Some(time));
        self.time = Some(time);
        node.set(Field::Time, Json::string(&times::with_millis(time)));
        let parent = node.json(Field::Parent).map(|parent| self.above(parent).clone());
        let parent = parent.filter(|parent| !parent.is_null());
        let known = |id: &Json| self.lines.contains(&hash(id.as_bytes()));
        let awaited = parent.as_ref().filter(|parent| !known(parent)).map(|id| self.uuid(id));
        let parent = parent.as_ref().map(|parent| match self.own {
            true => self.line_of(parent),
            false => self.uuid(parent),
        });
        self.awaited.extend(awaited);
        node.set(Field::Parent, parent.unwrap_or(Json::constant("null")));
        let id = node.json(Field::Id).cloned().unwrap_or(Json::constant("null"));
        let uuid = self.uuid(&id);
        self.followed = self.awaited.contains(&uuid);
        self.awaited.retain(|id| *id != uuid);
        let answer = node.is(Field::Role, "assistant");
        // A whole answer has a reason for its end; a piece of one has none.
        let goes_on = calls(node) && node.get(Field::StopReason).is_none();
        let name = answer.then(|| self.answer(node, &uuid));
        self.answered = name.filter(|_| goes_on).map(|name| (uuid.clone(), name));
        node.set(Field::Id, uuid);
        node.take(Field::Group);
        node.set(Field::Extra, self.template(answer));
    }

    /// Completes an answer; returns its identifier. Calls right behind calls share one: release
    /// 2.1.332 puts the results of calls behind each answer by itself. A call behind the session's
    /// leaf has one of its own, for releases send all lines of an answer.
    fn answer(&self, node: &mut Node, uuid: &Json) -> Json {
        let own = node.json(Field::ResponseId);
        let own = own.filter(|id| id.text().is_some_and(|id| id.starts_with("msg_"))).cloned();
        let leaf = self.leaf.as_ref().map(|leaf| self.uuid(leaf));
        let follows = |line: &Json| {
            node.json(Field::Parent) == Some(line) && calls(node) && leaf.as_ref() != Some(line)
        };
        let before = self.answered.as_ref().filter(|(line, _)| follows(line));
        let name = own.or_else(|| before.map(|(_, name)| name.clone())).unwrap_or_else(|| {
            let of = node.json(Field::Group).unwrap_or(uuid);
            let hash = hash(&[self.id.as_bytes(), of.as_bytes()].concat());
            Json::string(&format!("msg_{hash:016x}"))
        });
        node.set(Field::ResponseId, name.clone());
        if node.json(Field::Model).is_none() {
            node.set(Field::Model, self.model.clone().unwrap_or(Json::constant("\"unknown\"")));
        }
        let stop = match node.text(Field::StopReason).as_deref() {
            Some("length" | "max_tokens") => "\"max_tokens\"",
            _ if calls(node) => "\"tool_use\"",
            _ => "\"end_turn\"",
        };
        node.set(Field::StopReason, Json::constant(stop));
        let mut usage = Node::default();
        for field in [Field::InputTokens, Field::CacheWrite, Field::CacheRead, Field::OutputTokens]
        {
            let count = node.node(Field::Usage).and_then(|usage| usage.json(field)).cloned();
            usage.set(field, count.unwrap_or(Json::constant("0")));
        }
        node.set(Field::Usage, usage);
        name
    }

    /// Returns the identifier of a line for a node.
    fn uuid(&self, id: &Json) -> Json {
        match id.text().filter(|id| is_uuid(id)) {
            Some(own) => Json::string(&own),
            None => Json::string(&uuid_of(&[self.id.as_bytes(), id.as_bytes()].concat())),
        }
    }

    /// Returns the template of a line.
    fn template(&self, answer: bool) -> Json {
        Object::json(|line| {
            line.member("parentUuid", b"0");
            line.member("isSidechain", b"false");
            line.member("userType", b"\"external\"");
            self.cwd.iter().for_each(|cwd| line.member("cwd", cwd.as_bytes()));
            text::quote(&self.id, line.key("sessionId"));
            text::quote(RELEASE, line.key("version"));
            self.branch.iter().for_each(|branch| line.member("gitBranch", branch.as_bytes()));
            line.member("type", b"0");
            line.member("message", if answer { ANSWER } else { b"{\"role\":0,\"content\":0}" });
            line.member("uuid", b"0");
            line.member("timestamp", b"0");
        })
    }

    /// Returns the lines behind the last record: the leaf, where it is not the last line, and the
    /// title.
    #[must_use]
    pub fn finish(&self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let leaf = self.leaf.as_ref().or(self.last.as_ref()).map(|leaf| self.above(leaf));
        // Release 2.1.332 takes the line before for a parent that does not exist.
        let time = self.first.unwrap_or(Timestamp::UNIX_EPOCH);
        let root = |uuid| self.informational(&Json::constant("null"), uuid, time);
        lines.extend(self.awaited.iter().map(root));
        if let (Some(leaf), Some(written)) = (leaf, &self.written)
            && (leaf != written || self.followed || !self.awaited.is_empty())
            && (leaf.is_null() || self.lines.contains(&hash(leaf.as_bytes())))
        {
            lines.extend(self.leaf_lines(leaf));
        }
        if self.written.is_none() && self.name.is_none() {
            let usual = Json::constant("\"default\"");
            lines.push(self.beside("permission-mode", &[("permissionMode", &usual)]));
        }
        if let Some(name) = self.name.as_ref().filter(|name| name.text().is_some()) {
            lines.push(self.beside(wire::CUSTOM_TITLE, &[("customTitle", name)]));
        }
        lines
    }

    /// Returns the lines that make a node the leaf: one behind it, because the program continues at
    /// the last line of the chain if that descends from the leaf; and one that names this as the
    /// leaf.
    #[must_use]
    pub fn leaf_lines(&self, leaf: &Json) -> [Vec<u8>; 2] {
        let parent = self.line_of(leaf);
        let uuid = uuid_of(&[self.id.as_bytes(), leaf.as_bytes(), b" leaf"].concat());
        let uuid = Json::string(&uuid);
        let question = self.question.clone().unwrap_or(Json::constant("\"\""));
        let named = self.beside("last-prompt", &[("lastPrompt", &question), ("leafUuid", &uuid)]);
        let time = times::after(self.time.unwrap_or(Timestamp::UNIX_EPOCH));
        [self.informational(&parent, &uuid, time), named]
    }

    /// Returns the line that names the last line of the chain as the leaf.
    #[must_use]
    pub fn ends_at(&self, leaf: &Json) -> Vec<u8> {
        let question = self.question.clone().unwrap_or(Json::constant("\"\""));
        self.beside("last-prompt", &[("lastPrompt", &question), ("leafUuid", &self.line_of(leaf))])
    }

    /// Returns the identifier of the line of a node, which may have come with a line of its own.
    fn line_of(&self, node: &Json) -> Json {
        let made = self.lines.contains(&hash(node.as_bytes()));
        if made { self.uuid(node) } else { node.clone() }
    }

    /// Returns a line of the chain without content. Release 2.0.53 continues at the newest line,
    /// also at such a one.
    fn informational(&self, parent: &Json, uuid: &Json, time: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        let mut line = Object::open(&mut out);
        line.member(wire::PARENT, parent.as_bytes());
        line.member(wire::SIDE, b"false");
        line.member("type", b"\"system\"");
        line.member("subtype", b"\"informational\"");
        line.member("content", b"\"\"");
        line.member("level", b"\"info\"");
        line.member("uuid", uuid.as_bytes());
        text::quote(&times::with_millis(time), line.key("timestamp"));
        text::quote(&self.id, line.key("sessionId"));
        line.close();
        out
    }

    /// Returns a line beside the chain.
    fn beside(&self, wire: &str, members: &[(&str, &Json)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut line = Object::open(&mut out);
        text::quote(wire, line.key("type"));
        members.iter().for_each(|(key, value)| line.member(key, value.as_bytes()));
        text::quote(&self.id, line.key("sessionId"));
        line.close();
        out
    }
}

const ANSWER: &[u8] = b"{\"id\":0,\"type\":0,\"role\":0,\"model\":0,\"content\":0,\"stop_reason\":0,\"stop_sequence\":null,\"usage\":0}";

/// Whether an answer is one of Claude, whose thinking the interface accepts again.
fn is_claude(node: &Node) -> bool {
    node.text(Field::Model).is_some_and(|model| model.starts_with("claude"))
        && node.text(Field::Api).is_none_or(|api| api.starts_with("anthropic"))
}

/// Returns the question in a message of the user.
fn question(message: &Record) -> Option<Json> {
    block::message_text(&message.node).filter(|_| message.node.is(Field::Role, "user"))
}

/// Converts a block to one that the interface accepts, and reports what is lost.
fn adapt(node: &mut Node, path: &str, lost: &dyn Fn(&str)) {
    for field in [Field::Extra, Field::Namespace] {
        if node.take(field).is_some() {
            lost(&format!("{path}{}", field.name()));
        }
    }
    if node.is(Field::Type, block::OPAQUE) {
        lost(&format!("{path}{}", block::kind_of(node)));
        *node = block::placeholder(node);
    }
    if node.is(Field::Type, block::TEXT) && node.take(Field::Signature).is_some() {
        lost(&format!("{path}signature"));
    }
    if node.is(Field::Type, block::TOOL_CALL) {
        let (arguments, unusual) = block::arguments(node);
        if unusual {
            lost(&format!("{path}arguments"));
        }
        node.set(Field::Arguments, arguments);
        if node.take(Field::Signature).is_some() {
            lost(&format!("{path}signature"));
        }
        plain_id(node, Field::Id);
    }
    if node.is(Field::Type, block::TOOL_RESULT) {
        plain_id(node, Field::Call);
        node.take(Field::Name);
        if let Some(output) = node.take(Field::Output)
            && node.get(Field::Content).is_none()
        {
            node.set(Field::Content, output);
        }
    }
    if let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) {
        blocks.iter_mut().for_each(|block| adapt(block, &format!("{path}content.*."), lost));
    }
}

/// Spells the identifier of a call with the characters that the interface accepts.
fn plain_id(node: &mut Node, field: Field) {
    let Some(id) = node.text(field) else { return };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.is_empty() || !id.chars().all(fits) {
        let plain: String = id.chars().map(|c| if fits(c) { c } else { '_' }).collect();
        node.set(field, Json::string(&format!("{plain}_{:08x}", hash(id.as_bytes()) >> 32)));
    }
}
