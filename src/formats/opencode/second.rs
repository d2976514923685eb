//! Sessions of OpenCode 2, read as documents of release 1: a row or an item for each message, in the
//! order of a number.
//!
//! No client of release 2 was run. What is left out is what it never sends: ends of turns, changes of
//! agent, model and folder, and compactions that did not end.
//!
//! Source: the public source of opencode at 0ceb3dd5 and 008d5715, by description.

use super::needed::{complete_frame, complete_message};
use super::part::{is, list_of};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{BEGINNING, Cx, Parts};
use crate::json::{self, Json, member};
use crate::mapping::Extra;
use crate::position::Position;
use bytes::Bytes;
use std::io::Read;

/// Whether the beginning of a document is that of one of release 2.
pub fn is_own(head: &[u8]) -> bool {
    member(head, "info").is_some_and(|info| member(info, "location").is_some())
}

/// Whether a part is a document of release 2.
///
/// # Errors
/// If it cannot be read.
pub fn is_document(parts: &mut dyn Parts, name: &str) -> Result<bool> {
    let mut head = Vec::new();
    let read = parts.open(name)?.take(BEGINNING).read_to_end(&mut head);
    read.map_err(|error| Error::io("cannot read", error))?;
    Ok(is_own(head.trim_ascii_start()))
}

/// Returns the document without messages, as one of release 1.
pub fn frame(document: &Json) -> Bytes {
    let info = document.member("info").unwrap_or_default();
    let mut out = Extra::default();
    let is_own = |key: &[u8]| ["location", "subpath"].iter().any(|name| json::text::is(key, name));
    let rest = info.members().filter(|(key, _)| !is_own(key));
    rest.for_each(|(key, value)| out.add(key, value));
    let place = info.member("location");
    let places = [
        ("directory", place.and_then(|place| place.member("directory"))),
        ("path", info.member("subpath")),
    ];
    put(&mut out, &places);
    let info = out.finish().unwrap_or_default();
    complete_frame(object(&[("info", Some(info)), ("messages", Some(list_of(&[])))]).into_bytes())
}

/// Types of messages that no model gets: compactions that did not end are among them.
const NOT_SENT: &[&str] =
    &["compaction", "idle", "agent-switched", "model-switched", "location-switched"];

/// Messages of a session while they are read, one by one.
#[derive(Debug, Default)]
pub struct Second {
    session: Json,
    /// Identifier of the last message of the user.
    question: Json,
    /// Messages that come before the next one.
    waiting: Vec<Json>,
}

impl Second {
    /// Begins a session of this identifier.
    pub fn of(session: Json) -> Self {
        Self { session, question: Json::constant("\"msg_0\""), waiting: Vec::new() }
    }

    /// Returns the messages of release 1 that a message is. One of an unknown type is reported.
    pub fn read(&mut self, message: &Json, at: Position, cx: &Cx<'_>) -> Vec<Json> {
        let of = |name: &str| message.member(name);
        let kind = of("type").and_then(|kind| kind.text()).unwrap_or_default();
        match kind.as_str() {
            "user" => self.user(message, user_parts(message)),
            "assistant" => self.assistant(message),
            "synthetic" | "system" | "skill" => self.user(message, vec![text(of("text"), true)]),
            "shell" => {
                let command = of("command").and_then(|command| command.text()).unwrap_or_default();
                let output = of("output").and_then(|output| output.member("output")?.text());
                let words = format!("$ {command}\n{}", output.unwrap_or_default());
                self.user(message, vec![text(Some(Json::string(&words)), true)])
            }
            "compaction" if is(of("status").as_ref(), "completed") => self.compaction(message),
            kind if NOT_SENT.contains(&kind) => return Vec::new(),
            kind => {
                let found = format!("{}: type `{kind}`", Code::OddMessage.title());
                cx.report(Diagnostic::new(Code::OddMessage, found).at(at));
                return Vec::new();
            }
        }
        std::mem::take(&mut self.waiting)
    }

    fn user(&mut self, message: &Json, parts: Vec<Json>) {
        self.question = message.member("id").unwrap_or_default();
        self.put(message, &self.question.clone(), "user", &[], parts);
    }

    fn assistant(&mut self, message: &Json) {
        let of = |name: &str| message.member(name);
        let model = of("model").unwrap_or_default();
        // An answer of release 1 with an error is not sent; that of release 2 is.
        let others = [
            ("parentID", Some(self.question.clone())),
            ("agent", of("agent")),
            ("mode", of("agent")),
            ("modelID", model.member("id")),
            ("providerID", model.member("providerID")),
            ("variant", model.member("variant")),
            ("cost", of("cost")),
            ("tokens", of("tokens")),
            ("finish", of("finish")),
            ("failure", of("error")),
        ];
        let mut parts = vec![object(&[("type", Some(Json::constant("\"step-start\"")))])];
        parts.extend(of("content").unwrap_or_default().elements().map(|part| content(&part)));
        self.put(message, &of("id").unwrap_or_default(), "assistant", &others, parts);
    }

    /// Adds the question and the answer that a compaction is in release 1.
    fn compaction(&mut self, message: &Json) {
        let id = message.member("id").unwrap_or_default();
        let of = |name: &str| message.member(name).and_then(|value| value.text());
        let auto = of("reason").is_some_and(|reason| reason == "auto");
        let auto = Json::constant(if auto { "true" } else { "false" });
        let kind = Some(Json::constant("\"compaction\""));
        let request =
            object(&[("type", kind), ("auto", Some(auto)), ("release", Some(Json::number(2)))]);
        self.put(message, &id, "user", &[], vec![request]);
        let summary: Vec<_> = ["summary", "recent"].iter().filter_map(|name| of(name)).collect();
        let answer = text(Some(Json::string(&summary.join("\n\n"))), false);
        let finish = ("finish", Some(Json::constant("\"stop\"")));
        let model = message.member("model").unwrap_or_default();
        let others = [
            ("parentID", Some(id.clone())),
            ("summary", Some(Json::constant("true"))),
            ("modelID", model.member("id")),
            ("providerID", model.member("providerID")),
            finish,
        ];
        let id = Json::string(&format!("{}0", id.text().unwrap_or_default()));
        self.put(message, &id, "assistant", &others, vec![answer]);
    }

    /// Adds a message with these parts, which get identifiers in their order.
    fn put(
        &mut self,
        message: &Json,
        id: &Json,
        role: &str,
        others: &[(&str, Option<Json>)],
        parts: Vec<Json>,
    ) {
        let mut info = Extra::default();
        let own = [
            ("id", Some(id.clone())),
            ("sessionID", Some(self.session.clone())),
            ("role", Some(Json::string(role))),
            ("time", message.member("time")),
            ("metadata", message.member("metadata")),
        ];
        put(&mut info, &own);
        put(&mut info, others);
        let stem = id.text().unwrap_or_default();
        let stem = stem.strip_prefix("msg_").unwrap_or(&stem);
        let numbered = |(number, part): (usize, Json)| {
            let mut out = Extra::default();
            out.add_members(&part);
            let own = Json::string(&format!("prt_{stem}{number:04}"));
            let session = self.session.clone();
            put(
                &mut out,
                &[("id", Some(own)), ("sessionID", Some(session)), ("messageID", Some(id.clone()))],
            );
            out.finish().unwrap_or_default()
        };
        let parts: Vec<Json> = parts.into_iter().enumerate().map(numbered).collect();
        let item = object(&[("info", info.finish()), ("parts", Some(list_of(&parts)))]);
        self.waiting.push(Json::trusted(complete_message(item.into_bytes())));
    }
}

/// Returns the parts of a message of the user.
fn user_parts(message: &Json) -> Vec<Json> {
    let of = |name: &str| message.member(name).unwrap_or_default();
    let mut parts = vec![text(message.member("text"), false)];
    for file in of("files").elements() {
        let get = |name: &str| file.member(name).and_then(|value| value.text());
        let mime = get("mime").unwrap_or_default();
        let data = get("data").unwrap_or_default();
        parts.push(object(&[
            ("type", Some(Json::constant("\"file\""))),
            ("mime", file.member("mime")),
            ("filename", file.member("name")),
            ("url", Some(Json::string(&format!("data:{mime};base64,{data}")))),
        ]));
    }
    for agent in of("agents").elements() {
        let kind = Some(Json::constant("\"agent\""));
        parts.push(object(&[("type", kind), ("name", agent.member("name"))]));
    }
    parts.extend(
        of("skills").elements().filter_map(|s| s.member("text")).map(|t| text(Some(t), true)),
    );
    parts
}

/// Returns the part that a piece of an answer is.
fn content(piece: &Json) -> Json {
    let of = |name: &str| piece.member(name);
    // Older rows have other names for the data of the provider.
    let native =
        of("native").or_else(|| of("state")).filter(|data| data.as_bytes().starts_with(b"{"));
    let time = |from: &str, to: &str| {
        let time = of("time").unwrap_or_default();
        let start = time.member(from).or_else(|| time.member("created"));
        object(&[("start", start.or(Some(Json::number(0)))), ("end", time.member(to))])
    };
    match of("type").and_then(|kind| kind.text()).as_deref() {
        Some("text") => object(&[("type", of("type")), ("text", of("text")), ("metadata", native)]),
        Some("reasoning") => object(&[
            ("type", of("type")),
            ("text", of("text")),
            ("time", Some(time("created", "completed"))),
            ("metadata", native),
        ]),
        Some("tool") => object(&[
            ("type", of("type")),
            ("callID", of("id")),
            ("tool", of("name")),
            ("state", Some(state(&of("state").unwrap_or_default(), time("ran", "completed")))),
        ]),
        _ => piece.clone(),
    }
}

/// Returns the state of a call.
fn state(state: &Json, time: Json) -> Json {
    let of = |name: &str| state.member(name);
    let empty = || Some(Json::constant("{}"));
    let input = of("input").filter(|input| input.as_bytes().starts_with(b"{")).or_else(empty);
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for piece in of("content").unwrap_or_default().elements() {
        match piece.member("text").and_then(|text| text.text()) {
            Some(text) => texts.push(text),
            None => files.push(object(&[
                ("type", Some(Json::constant("\"file\""))),
                ("mime", piece.member("mime")),
                ("filename", piece.member("name")),
                ("url", piece.member("uri")),
            ])),
        }
    }
    let status = |status: &'static str| ("status", Some(Json::string(status)));
    match of("status").and_then(|status| status.text()).as_deref() {
        Some("completed") => object(&[
            status("completed"),
            ("input", input),
            ("output", Some(Json::string(&texts.join("\n")))),
            ("title", Some(Json::constant("\"\""))),
            ("metadata", of("metadata").or_else(empty)),
            ("time", Some(time)),
            ("attachments", Some(list_of(&files)).filter(|_| !files.is_empty())),
        ]),
        Some("error") => {
            let message = of("error").and_then(|error| error.text_of("message"));
            // What came before the error has no place of its own in release 1.
            let texts: Vec<_> = message.into_iter().chain(texts).collect();
            let error = Some(Json::string(&texts.join("\n")));
            object(&[status("error"), ("input", input), ("error", error), ("time", Some(time))])
        }
        // The arguments are not complete.
        Some("streaming") => object(&[status("pending"), ("input", input), ("raw", of("input"))]),
        _ => object(&[
            status("running"),
            ("input", input),
            ("metadata", of("metadata")),
            ("time", Some(time)),
        ]),
    }
}

/// Returns a part with a text. A `synthetic` one is the program's own.
fn text(text: Option<Json>, synthetic: bool) -> Json {
    let text = text.or(Some(Json::constant("\"\"")));
    let synthetic = synthetic.then_some(Json::constant("true"));
    object(&[("type", Some(Json::constant("\"text\""))), ("text", text), ("synthetic", synthetic)])
}

/// Returns an object with those of these members that there are.
fn object(members: &[(&str, Option<Json>)]) -> Json {
    let mut out = Extra::default();
    put(&mut out, members);
    out.finish().unwrap_or(Json::constant("{}"))
}

fn put(out: &mut Extra, members: &[(&str, Option<Json>)]) {
    for (name, value) in members {
        let value = value.as_ref().filter(|value| !value.as_bytes().is_empty());
        value.iter().for_each(|value| out.add(Json::string(name).as_bytes(), value.as_bytes()));
    }
}
