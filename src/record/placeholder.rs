//! Texts in the place of blocks that a format cannot hold: searches and other tools that run at the
//! provider, documents, images by URL.

use super::block::{DOCUMENT, IMAGE, OPAQUE, text};
use super::{Field, Node};
use crate::json::Json;

/// Maximum number of characters of an input or of a text from a block.
const LONGEST: usize = 2000;

/// Returns the name of a block's kind: for a block that no reader understands, its own `type`.
#[must_use]
pub fn kind_of(block: &Node) -> String {
    let name = block.text(Field::Type).unwrap_or_default();
    let own =
        block.json(Field::Data).filter(|_| name == OPAQUE).and_then(|data| text_in(data, "type"));
    own.map_or(name, |own| format!("{OPAQUE}.{own}"))
}

/// Returns the text for a block for which a format has no place: what it is, and what of it can be
/// read.
///
/// ```
/// use copyist::json::Json;
/// use copyist::record::{Field, Node, block};
/// let mut search = Node::default();
/// search.set(Field::Type, block::type_of(block::OPAQUE));
/// let data = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"looms"}}"#;
/// search.set(Field::Data, data.parse::<Json>()?);
/// assert_eq!(block::placeholder(&search).text(Field::Text).unwrap(), "[web search: looms]");
/// # Ok::<(), copyist::json::Fault>(())
/// ```
#[must_use]
pub fn placeholder(block: &Node) -> Node {
    let name = block.text(Field::Type).unwrap_or_default();
    let media = || block.text(Field::Name).or(block.text(Field::MediaType)).unwrap_or_default();
    let shown = match name.as_str() {
        DOCUMENT => bracketed("document", &media()),
        IMAGE => bracketed("image", &media()),
        _ => block.json(Field::Data).map(text_of).unwrap_or_default(),
    };
    text(Json::string(if shown.is_empty() { "[content of another kind]" } else { &shown }))
}

/// Returns the text for a block in the shape of one of the large interfaces.
fn text_of(data: &Json) -> String {
    let kind = text_in(data, "type").unwrap_or_default();
    let inner = data.member("content");
    match kind.as_str() {
        "server_tool_use" | "mcp_tool_use" => {
            let name = text_in(data, "name").unwrap_or(kind);
            return bracketed(&words(&name), &input(data.member("input")));
        }
        "tool_reference" => {
            return bracketed("tool", &text_in(data, "tool_name").unwrap_or_default());
        }
        "document" => return document(data),
        "search_result" => {
            let source = [text_in(data, "title"), text_in(data, "source")];
            let head = source.into_iter().flatten().collect::<Vec<_>>().join(", ");
            let texts = inner.map(|inner| texts(&inner)).unwrap_or_default();
            return bracketed("search result", &joined([head, texts]));
        }
        _ => {}
    }
    match kind.strip_suffix("_tool_result").or(kind.strip_suffix("_result")) {
        Some(tool) => result(&words(tool), inner.as_ref()),
        None if kind.contains("image") => bracketed("image", &image(data, &kind)),
        None => bracketed(&words(&kind), &input(data.member("action").or(Some(data.clone())))),
    }
}

/// Returns the result of a tool of the provider: titles and addresses, texts, or the error.
fn result(tool: &str, content: Option<&Json>) -> String {
    let Some(content) = content else { return bracketed(&format!("{tool} result"), "") };
    if let Some(error) = text_in(content, "error_code") {
        return bracketed(&format!("{tool} failed"), &error);
    }
    let one = |found: &Json| {
        let named = [text_in(found, "title"), text_in(found, "url")];
        let named = named.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if named.is_empty() { texts(found) } else { named }
    };
    let list = content.is_list();
    let found: Vec<String> = if list {
        content.elements().map(|found| one(&found)).filter(|found| !found.is_empty()).collect()
    } else {
        vec![one(content)]
    };
    bracketed(&format!("{tool} result"), &found.join("\n"))
}

/// Returns the text of a document, or what names it.
fn document(data: &Json) -> String {
    let source = data.member("source");
    let of = |name| source.as_ref().and_then(|source| text_in(source, name));
    let title = text_in(data, "title");
    let plain = of("data").filter(|_| of("type").as_deref() == Some("text"));
    let named = title.or_else(|| of("url")).or_else(|| of("file_id")).or_else(|| of("media_type"));
    bracketed("document", &joined([named.unwrap_or_default(), plain.unwrap_or_default()]))
}

/// Returns the URL of an image, or the words from which it was made.
fn image(part: &Json, kind: &str) -> String {
    let holder = part.member(kind).or_else(|| part.member("source"));
    let url = holder.and_then(|holder| text_in(&holder, "url").or_else(|| holder.text()));
    let url = url.filter(|url| !url.starts_with("data:"));
    url.or_else(|| text_in(part, "revised_prompt")).unwrap_or_default()
}

/// Returns the texts in a value: its own, or those of its members.
fn texts(value: &Json) -> String {
    let names = ["text", "stdout", "stderr", "content", "tool_name"];
    if let Some(own) = value.text() {
        return own;
    }
    let found: Vec<String> = match value.as_bytes().first() {
        Some(b'[') => value.elements().map(|part| texts(&part)).collect(),
        _ => names.iter().filter_map(|name| value.member(name)).map(|part| texts(&part)).collect(),
    };
    found.into_iter().filter(|found| !found.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns what an input asks for.
fn input(input: Option<Json>) -> String {
    let Some(input) = input else { return String::new() };
    let names = ["query", "url", "command", "code", "pattern", "file_id", "filename", "prompt"];
    names.iter().find_map(|name| text_in(&input, name)).unwrap_or_default()
}

fn text_in(holder: &Json, name: &str) -> Option<String> {
    holder.member(name)?.text().filter(|text| !text.is_empty())
}

fn words(name: &str) -> String {
    name.trim_end_matches("_call").replace('_', " ")
}

fn bracketed(what: &str, more: &str) -> String {
    let more: String = more.chars().take(LONGEST).collect();
    match (what, more.as_str()) {
        ("", _) => String::new(),
        (what, "") => format!("[{what}]"),
        (what, more) => format!("[{what}: {more}]"),
    }
}

fn joined(texts: [String; 2]) -> String {
    texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
