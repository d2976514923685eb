//! Events that repeat an item of the conversation for the user interface.

use super::wire;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::record::{Field, Node, block};

/// Speaker of an item that an event repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user.
    User,
    /// The model.
    Agent,
    /// The model, in its reasoning.
    Thought,
}

/// Returns the speaker and the text of an event, as a part of its payload, if the event repeats an
/// item.
pub fn of_event(payload: &Json) -> Option<(Speaker, Json)> {
    let text = |name| payload.member(name);
    let (speaker, words) = match payload.member("type")?.text()?.as_str() {
        "user_message" => (Speaker::User, text("message")?),
        "agent_message" => (Speaker::Agent, text("message")?),
        "agent_reasoning" => (Speaker::Thought, text("text")?),
        "item_completed" => of_item(&payload.member("item")?)?,
        _ => return None,
    };
    words.is_string().then_some((speaker, words))
}

/// Returns the speaker and the one text of a completed item.
fn of_item(item: &Json) -> Option<(Speaker, Json)> {
    let one = |name: &str| {
        let list = item.member(name)?;
        let mut parts = list.elements();
        parts.next().filter(|_| parts.next().is_none())
    };
    match item.member("type")?.text()?.as_str() {
        "UserMessage" => {
            let parts = item.member("content")?;
            let mut texts = parts.elements().filter_map(|part| part.member("text"));
            let text = texts.next()?;
            texts.next().is_none().then_some((Speaker::User, text))
        }
        "AgentMessage" => Some((Speaker::Agent, one("content")?.member("text")?)),
        "Reasoning" => Some((Speaker::Thought, one("summary_text")?)),
        _ => None,
    }
}

/// Images that an event of the user shows: by their URLs, and by the paths of their files.
#[derive(Debug, Default)]
pub struct Images {
    urls: Vec<Json>,
    paths: Vec<Json>,
}

impl Images {
    /// Returns the URLs.
    pub fn urls(&self) -> &[Json] {
        &self.urls
    }
}

/// Returns the images of an event.
pub fn images(payload: &Json) -> Images {
    let list = |name| payload.member(name).iter().flat_map(Json::elements).collect();
    let mut images = Images { urls: list("images"), paths: list("local_images") };
    let parts = payload.member("item").and_then(|item| item.member("content"));
    for part in parts.iter().flat_map(Json::elements) {
        images.urls.extend(part.member("image_url"));
        images.paths.extend(part.member("path"));
    }
    images
}

/// Returns the speaker and the text of a message that an event repeats.
pub fn of_message(message: &Node) -> Option<(Speaker, Json)> {
    let blocks = message.nodes(Field::Content)?;
    let speaker = if message.is(Field::Role, "user") { Speaker::User } else { Speaker::Agent };
    let thought = blocks.first().filter(|block| block.is(Field::Type, block::THINKING));
    if let Some(thought) = thought {
        return Some((Speaker::Thought, thought.json(Field::Thinking)?.clone()));
    }
    if message.is(Field::Role, "tool") {
        return None;
    }
    Some((speaker, block::all_text(blocks)?))
}

/// Returns the payload with another text.
pub fn with_text(payload: &Json, old: &Json, new: &Json) -> Json {
    let (all, place) = (payload.as_bytes(), payload.place_of(old));
    let before = all.get(..place.start).unwrap_or_default();
    let after = all.get(place.end..).unwrap_or_default();
    Json::trusted([before, new.as_bytes(), after].concat().into())
}

/// Session and turn of an event of version 3.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Identifier of the session.
    pub thread: String,
    /// Identifier of the turn.
    pub turn: String,
    /// Number of the item.
    pub item: u64,
    /// Milliseconds since 1970.
    pub millis: i64,
    /// Whether an event named the turn.
    pub named: bool,
}

impl Turn {
    /// Takes the identifier of the turn that an event begins.
    pub fn begin(&mut self, payload: &Json) {
        let wire = payload.text_of("type");
        match wire.as_deref() {
            Some("task_started") => {
                let id = payload.text_of("turn_id");
                self.named = id.is_some();
                self.turn = id.unwrap_or_default();
            }
            Some("task_complete" | "turn_aborted") => self.named = false,
            _ => {}
        }
    }
}

/// Appends the payload of the event that repeats a text, as version 2 has it, or version 3 with a
/// turn. Version 3 shows reasoning that the model did not write as nothing, so it gets no event.
pub fn write(
    speaker: Speaker,
    words: &Json,
    images: &Images,
    turn: Option<&Turn>,
    out: &mut Vec<u8>,
) {
    let mut object = Object::open(out);
    let Some(turn) = turn else {
        let (kind, name) = match speaker {
            Speaker::User => ("user_message", "message"),
            Speaker::Agent => ("agent_message", "message"),
            Speaker::Thought => ("agent_reasoning", "text"),
        };
        text::quote(kind, object.key("type"));
        object.member(name, words.as_bytes());
        if speaker == Speaker::User {
            object.member("images", Json::list(&images.urls).as_bytes());
            if !images.paths.is_empty() {
                object.member("local_images", Json::list(&images.paths).as_bytes());
            }
        }
        object.close();
        return;
    };
    object.member("type", b"\"item_completed\"");
    text::quote(&turn.thread, object.key("thread_id"));
    text::quote(&turn.turn, object.key("turn_id"));
    let mut item = Object::open(object.key("item"));
    let id = format!("item-{}", turn.item);
    let (kind, list) = match speaker {
        Speaker::User => {
            let mut parts = one("text", words, ",\"text_elements\":[]");
            parts.pop();
            for (kind, name, list) in
                [("image", "image_url", &images.urls), ("local_image", "path", &images.paths)]
            {
                for image in list {
                    parts.push(b',');
                    let mut part = Object::open(&mut parts);
                    text::quote(kind, part.key("type"));
                    part.member(name, image.as_bytes());
                    part.close();
                }
            }
            parts.push(b']');
            ("UserMessage", parts)
        }
        Speaker::Agent => ("AgentMessage", one("Text", words, "")),
        Speaker::Thought => ("Reasoning", [b"[", words.as_bytes(), b"]"].concat()),
    };
    text::quote(kind, item.key("type"));
    text::quote(&id, item.key("id"));
    if speaker == Speaker::Thought {
        item.member("summary_text", &list);
        item.member("raw_content", b"[]");
    } else {
        item.member("content", &list);
    }
    item.close();
    object.member("completed_at_ms", turn.millis.to_string().as_bytes());
    object.close();
}

fn one(kind: &str, words: &Json, rest: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(words.as_bytes());
    format!("[{{\"type\":\"{kind}\",\"text\":{text}{rest}}}]").into_bytes()
}

/// Whether a message of role user was written by Codex itself.
pub fn is_harness(message: &Node) -> bool {
    if !message.is(Field::Role, "user") {
        return !["assistant", "tool"].iter().any(|role| message.is(Field::Role, role));
    }
    let blocks = message.content();
    let first = blocks.first().and_then(|block| block.json(Field::Text));
    first.is_some_and(|text| {
        let begins = |(begin, _): &&(&str, &str)| {
            text.as_bytes().get(1..).unwrap_or_default().starts_with(begin.as_bytes())
        };
        // A question may begin as such a message.
        let found = wire::HARNESS.iter().find(begins);
        found.is_some_and(|(_, end)| text.text().is_some_and(|text| text.trim_end().ends_with(end)))
    })
}
