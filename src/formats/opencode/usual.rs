//! Templates of usual sessions and messages, for those of other formats.

use super::ids::Ids;
use super::part::{Around, list_of};
use super::wire::USUAL_TOKENS;
use crate::diagnostic::Log;
use crate::foreign::fitted;
use crate::format::Cx;
use crate::json::Json;
use crate::record::{Field, Node, Value, block, calls};

/// Release whose documents are written.
const RELEASE: &str = "1.18.33";

/// Agent that answers by default.
const AGENT: &str = "build";

/// Facts that a message takes from its session and from the messages before it.
#[derive(Debug, Default)]
pub struct Turn {
    /// Identifier of the last message of the user.
    pub question: Option<String>,
    folder: String,
    provider: Option<String>,
    model: Option<String>,
    title: Option<String>,
}

impl Turn {
    /// Begins with what the record of the session names.
    pub fn of(session: &Node, cx: &Cx<'_>) -> Self {
        let folder = session.text(Field::Cwd).or_else(|| cx.options.folder.clone());
        Self {
            question: None,
            folder: folder.unwrap_or_else(|| "/".to_owned()),
            provider: session.text(Field::Provider),
            model: session.text(Field::Model),
            title: session.text(Field::Name),
        }
    }

    /// Notes the model of an answer.
    pub fn note(&mut self, answer: &Node) {
        if let Some(model) = answer.text(Field::Model) {
            self.provider = answer.text(Field::Provider);
            self.model = Some(model);
        }
    }

    fn model(&self) -> [String; 2] {
        let model = self.model.clone().unwrap_or_else(|| "unknown".to_owned());
        let provider = self.provider.clone().unwrap_or_else(|| provider_of(&model).to_owned());
        [provider, model]
    }
}

/// Returns the provider of a model by the beginning of its name, as the program names it.
fn provider_of(model: &str) -> &'static str {
    const KNOWN: &[(&str, &str)] = &[
        ("claude", "anthropic"),
        ("gpt", "openai"),
        ("o1", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
        ("gemini", "google"),
    ];
    KNOWN.iter().find(|(begin, _)| model.starts_with(begin)).map_or("unknown", |(_, name)| name)
}

/// Whether a part has a place for a field of a block.
fn holds(name: &str, field: Field) -> bool {
    let fields: &[Field] = match name {
        block::TEXT => &[Field::Text],
        block::THINKING => &[Field::Thinking, Field::Signature],
        block::IMAGE => &[Field::Data, Field::MediaType],
        block::DOCUMENT => &[Field::Data, Field::MediaType, Field::Name],
        block::TOOL_CALL => &[Field::Id, Field::Name, Field::Arguments],
        block::TOOL_RESULT => &[Field::Call, Field::Content, Field::IsError],
        _ => return false,
    };
    field == Field::Type || fields.contains(&field)
}

/// Tokens that every answer has.
const TOKENS: &[Field] = &[
    Field::InputTokens,
    Field::OutputTokens,
    Field::Reasoning,
    Field::CacheRead,
    Field::CacheWrite,
];

/// Converts a message to blocks that have parts. One of another format loses the rest, which is
/// counted.
pub fn message(node: &Node, own: bool, log: &Log) -> Node {
    let mut message = node.clone();
    if !own {
        losses(node, log);
        for field in [Field::Extra, Field::Layout, Field::IdMade] {
            message.take(field);
        }
        message.put(Field::Content, fitted(node.get(Field::Content), &holds, log));
        if let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) {
            blocks.iter_mut().for_each(complete_block);
        }
    }
    if let Some(Value::Json(text)) = message.get(Field::Content) {
        let text = block::text(text.clone());
        let blocks =
            if text.json(Field::Text).is_some_and(Json::is_null) { vec![] } else { vec![text] };
        message.set(Field::Content, blocks);
    }
    message
}

/// Gives a block the texts without which an import is refused.
fn complete_block(node: &mut Node) {
    let needed: &[Field] = match node.text(Field::Type).unwrap_or_default().as_str() {
        block::TEXT => &[Field::Text],
        block::THINKING => &[Field::Thinking],
        block::TOOL_CALL => &[Field::Id, Field::Name],
        block::IMAGE | block::DOCUMENT => &[Field::MediaType],
        _ => &[],
    };
    for field in needed {
        if node.json(*field).is_none() {
            node.set(*field, Json::constant("\"\""));
        }
    }
}

fn losses(node: &Node, log: &Log) {
    const OF_ANSWERS: &[Field] = &[Field::Provider, Field::Model, Field::Usage, Field::StopReason];
    let is_answer = node.is(Field::Role, "assistant");
    let finish = node.text(Field::StopReason).filter(|_| is_answer);
    log.count_lost("message", node, |field| match field {
        Field::StopReason => finish.as_deref() == Some(finish_of(node)),
        _ => Field::STRUCTURAL.contains(&field) || (is_answer && OF_ANSWERS.contains(&field)),
    });
    if let Some(usage) = node.node(Field::Usage).filter(|_| is_answer) {
        let held = |field| TOKENS.contains(&field) || [Field::Total, Field::Cost].contains(&field);
        log.count_lost("message.usage", usage, held);
        if let Some(cost) = usage.node(Field::Cost) {
            log.count_lost("message.usage.cost", cost, |field| field == Field::Total);
        }
    }
}

/// Returns the reason for the end of an answer as the program names it.
fn finish_of(node: &Node) -> &'static str {
    match node.text(Field::StopReason).as_deref() {
        Some("length" | "max_tokens") => "length",
        _ if calls(node) => "tool-calls",
        _ => "stop",
    }
}

/// Completes a message of another format with its template.
pub fn complete(node: &mut Node, ids: &Ids, turn: &mut Turn) {
    let text = |text: &str| String::from_utf8_lossy(Json::string(text).as_bytes()).into_owned();
    let id = node.text(Field::Id).unwrap_or_default();
    let (time, session) = (ids.time, text(&ids.session));
    let around = Around { session: &ids.session, message: &id, time };
    let start = id.trim_start_matches("msg_");
    let [provider, model] = turn.model();
    let blocks = node.nodes(Field::Content).unwrap_or_default().len();
    let mut places = vec![list_of(&[]); blocks];
    let info = if node.is(Field::Role, "user") {
        if turn.title.is_none() {
            turn.title =
                node.nodes(Field::Content).and_then(block::all_text).and_then(|t| t.text());
        }
        for field in [Field::Provider, Field::Model, Field::StopReason] {
            node.take(field);
        }
        format!(
            r#"{{"role":0,"time":{{"created":{time}}},"agent":"{AGENT}","model":{{"providerID":{},"modelID":{}}},"id":0,"sessionID":{session}}}"#,
            text(&provider),
            text(&model),
        )
    } else {
        node.set(Field::StopReason, Json::string(finish_of(node)));
        node.set(Field::Provider, Json::string(&provider));
        node.set(Field::Model, Json::string(&model));
        let mut usage = node.node(Field::Usage).cloned().unwrap_or_default();
        usage.take(Field::Extra);
        for field in TOKENS {
            if usage.json(*field).is_none() {
                usage.set(*field, Json::constant("0"));
            }
        }
        let cost = usage.node(Field::Cost).and_then(|cost| cost.json(Field::Total)).cloned();
        let cost = cost.unwrap_or(Json::constant("0"));
        node.set(Field::Usage, usage);
        places.insert(0, around.part(&format!("prt_{start}"), "step-start", ""));
        let folder = text(&turn.folder);
        let question = turn.question.clone().unwrap_or_else(|| format!("msg_{start}"));
        format!(
            r#"{{"role":0,"time":{{"created":{time},"completed":{time}}},"parentID":{},"modelID":0,"providerID":0,"mode":"{AGENT}","agent":"{AGENT}","path":{{"cwd":{folder},"root":{folder}}},"cost":{},"tokens":{USUAL_TOKENS},"finish":0,"id":0,"sessionID":{session}}}"#,
            text(&question),
            String::from_utf8_lossy(cost.as_bytes()),
        )
    };
    let parts = list_of(&places);
    let parts = String::from_utf8_lossy(parts.as_bytes());
    let extra = format!(r#"{{"info":{info},"parts":{parts}}}"#);
    node.set(Field::Extra, Json::trusted(extra.into_bytes().into()));
}

/// Fields that a document holds of a session of another format.
const HELD: &[Field] = &[
    Field::Source,
    Field::File,
    Field::Leaf,
    Field::IdMade,
    Field::Layout,
    Field::Cwd,
    Field::Name,
    Field::Created,
    Field::Updated,
];

/// Counts the fields of a session that a document does not hold.
pub fn session_losses(session: &Node, cx: &Cx<'_>) {
    let id = session.text(Field::Id).is_some_and(|id| id.starts_with("ses_"));
    cx.log.count_lost("session", session, |field| {
        HELD.contains(&field) || (field == Field::Id && id)
    });
}

/// Completes the record of a session of another format with its template.
pub fn session(node: &mut Node, ids: &Ids, turn: &Turn) {
    for field in [Field::Agent, Field::ParentSession, Field::Provider, Field::Model] {
        node.take(field);
    }
    let [provider, model] = turn.model();
    let title = turn.title.as_deref().and_then(|title| title.lines().next()).unwrap_or_default();
    let title: String = title.chars().take(80).collect();
    let title = if title.trim().is_empty() { "Untitled".to_owned() } else { title };
    node.set(Field::Id, Json::string(&ids.session));
    if node.json(Field::Name).is_none() {
        node.set(Field::Name, Json::string(&title));
    }
    node.set(Field::Cwd, Json::string(&turn.folder));
    let [provider, model] = [provider, model]
        .map(|name| String::from_utf8_lossy(Json::string(&name).as_bytes()).into_owned());
    let (began, last) = (ids.began, ids.time.max(ids.began));
    let info = format!(
        r#"{{"id":0,"slug":"copied-session","projectID":"global","directory":0,"title":0,"agent":"{AGENT}","model":{{"id":{model},"providerID":{provider},"variant":"default"}},"version":"{RELEASE}","time":{{"created":{began},"updated":{last}}}}}"#
    );
    for field in [Field::Created, Field::Updated] {
        node.take(field);
    }
    let extra = format!(r#"{{"info":{info},"messages":0}}"#);
    node.set(Field::Extra, Json::trusted(extra.into_bytes().into()));
}
