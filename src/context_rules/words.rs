//! Words in which messages, summaries and commands are sent to a model.
//!
//! Source: `convertToLlm` of pi's `messages.ts`, and `transformMessages` and
//! `getSystemMessageText` of its `ai` package, release 0.87.1.

use crate::json::{Json, text};
use crate::record::{Field, Kind, Node, Record, block, is_broken};

/// Returns the message as it is sent, by role and content; `first` is true where no message was
/// sent before it.
pub fn message(message: &Record, first: bool) -> Option<Node> {
    let node = &message.node;
    let text = |field| spoken_text(node, field);
    match message.kind {
        Kind::Compaction => {
            let summary = text(Field::Summary);
            Some(user(&format!("{COMPACTION}{summary}\n</summary>")))
        }
        Kind::BranchSummary => {
            let summary = text(Field::Summary);
            Some(user(&format!("{BRANCH}{summary}</summary>")))
        }
        _ if node.is(Field::Role, "bash") => {
            (!node.is_true(Field::Excluded)).then(|| user(&command(node)))
        }
        _ if node.is(Field::Role, "custom") => {
            let mut node = node.clone();
            node.set(Field::Role, Json::constant("\"user\""));
            Some(node)
        }
        _ if node.is(Field::Role, "system") => Some(system(node, first)),
        // An answer that was broken off is not sent again.
        _ if is_broken(node) => None,
        _ if ["user", "assistant", "tool"].iter().any(|role| node.is(Field::Role, role)) => {
            Some(node.clone())
        }
        _ => None,
    }
}

/// Whether the record is sent as a message.
pub fn is_sent(message: &Record) -> bool {
    let plain = ["user", "assistant", "tool"].iter().any(|role| message.node.is(Field::Role, role));
    let plain = plain && message.kind == Kind::Message;
    if plain { !is_broken(&message.node) } else { self::message(message, false).is_some() }
}

const COMPACTION: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const BRANCH: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";

fn user(text: &str) -> Node {
    role_message("user", text)
}

fn role_message(role: &str, text: &str) -> Node {
    Node::default().with(Field::Role, Json::string(role)).with(Field::Content, Json::string(text))
}

fn spoken_text(node: &Node, field: Field) -> String {
    node.json(field).and_then(|text| spoken(text).text()).unwrap_or_default()
}

/// Returns a command that the user ran, as text.
fn command(node: &Node) -> String {
    let empty = Node::default();
    let bash = node.node(Field::Bash).unwrap_or(&empty);
    let text = |field| spoken_text(bash, field);
    let mut out = format!("Ran `{}`\n", text(Field::Command));
    match text(Field::Output).as_str() {
        "" => out.push_str("(no output)"),
        output => out.push_str(&format!("```\n{output}\n```")),
    }
    let code = bash.json(Field::ExitCode).filter(|code| !code.is_null());
    let failed = code.filter(|code| code.float() != Some(0.0));
    if bash.is_true(Field::Cancelled) {
        out.push_str("\n\n(command cancelled)");
    } else if let Some(code) = failed {
        out.push_str(&format!("\n\nCommand exited with code {code:?}"));
    }
    let path = text(Field::OutputPath);
    if bash.is_true(Field::Truncated) && !path.is_empty() {
        out.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    out
}

/// Returns a system message with its sections: the first contains all of them, a later one contains
/// the changes.
fn system(node: &Node, first: bool) -> Node {
    let mut parts = vec![content_text(node)];
    for (name, section) in sections(node) {
        parts.push(match section {
            Some(text) if first => text,
            None if first => continue,
            Some(text) => format!("Updated system prompt section \"{name}\":\n\n{text}"),
            None => format!("Removed system prompt section \"{name}\"."),
        });
    }
    parts.retain(|part| !part.is_empty());
    role_message("system", &parts.join("\n\n"))
}

/// Returns the one system message that several come to: their texts one after the other, and
/// behind them the named sections as they are after all changes. `None` if there is no text.
///
/// Source: `collapseSystemMessages` of `utils/transcript.ts`, for interfaces that take a system
/// message at the beginning only.
pub fn prompt<'n>(messages: impl Iterator<Item = &'n Node>) -> Option<Node> {
    let (mut parts, mut named) = (Vec::new(), Vec::<(String, String)>::new());
    for node in messages {
        parts.push(content_text(node));
        for (name, section) in sections(node) {
            let place = named.iter().position(|(known, _)| *known == name);
            match (section, place.and_then(|place| named.get_mut(place))) {
                (Some(text), Some(known)) => known.1 = text,
                (Some(text), None) => named.push((name, text)),
                (None, _) => named.retain(|(known, _)| *known != name),
            }
        }
    }
    parts.extend(named.into_iter().map(|(_, text)| text));
    parts.retain(|part| !part.is_empty());
    (!parts.is_empty()).then(|| role_message("system", &parts.join("\n\n")))
}

fn content_text(node: &Node) -> String {
    if let Some(text) = node.text(Field::Content) {
        return text;
    }
    let texts = node.blocks_of(block::TEXT);
    texts.filter_map(|block| block.text(Field::Text)).collect::<Vec<_>>().join("\n")
}

/// Returns the named sections of a prompt; `None` for a section that was removed.
fn sections(node: &Node) -> impl Iterator<Item = (String, Option<String>)> {
    let sections = node.json(Field::Sections).into_iter().flat_map(Json::members);
    sections.map(|(name, section)| (text::decode(name).unwrap_or_default(), text::decode(section)))
}

/// Returns a text without surrogates that have no other half.
pub fn spoken(words: &Json) -> Json {
    if memchr::memmem::find(words.as_bytes(), b"\\u").is_none() {
        return words.clone();
    }
    let Some(text) = text::decode_wtf8(words.as_bytes()) else { return words.clone() };
    if std::str::from_utf8(&text).is_ok() {
        return words.clone();
    }
    let whole: String = text.utf8_chunks().map(|chunk| chunk.valid()).collect();
    Json::string(&whole)
}
