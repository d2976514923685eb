//! Files of a session beside its transcript: the lines of sub-agents, facts about them, and long
//! output of tools. Each begins with a `notice` of subtype `part`, which names it and contains its
//! text, unless its lines follow.

use super::about::About;
use super::older::Older;
use super::wire;
use crate::error::{Cannot, Result};
use crate::format::{BESIDE, Head, Parts};
use crate::json::Json;
use crate::json::text::{from_base64, quote, to_base64};
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record};
use std::collections::VecDeque;
use std::io::Read;

/// Member of the notice that begins a sub-agent's file beside the session: the call that started it.
const FLAT_CALL: &str = "call";

/// Subtype of the notice that begins a part.
const PART: &str = "part";

/// A part to be read.
#[derive(Debug)]
pub struct Part {
    /// Number of the part in the session.
    pub number: u32,
    pub name: String,
    /// Call of the sub-agent whose lines the part contains, if it is known.
    pub call: Option<Json>,
}

impl Part {
    /// Returns the record with which the part ends, if lines of the main part follow.
    #[must_use]
    pub fn end(&self) -> Record {
        self.notice("", false, None)
    }

    /// Returns the record with which the part begins. `text` is the text of a part without lines.
    #[must_use]
    pub fn begin(&self, bom: bool, text: Option<&[u8]>) -> Record {
        self.notice(&self.name, bom, text)
    }

    fn notice(&self, name: &str, bom: bool, text: Option<&[u8]>) -> Record {
        Record::new(Kind::Notice).with(Field::Subtype, Json::string(PART)).with(
            Field::Data,
            Object::json(|object| {
                quote(name, object.key("part"));
                if bom {
                    object.member("bom", b"true");
                }
                match text.map(|text| std::str::from_utf8(text).map_err(|_| text)) {
                    Some(Ok(text)) => quote(text, object.key("text")),
                    Some(Err(bytes)) => quote(&to_base64(bytes), object.key("base64")),
                    None => {}
                }
                if let Some(call) = self.call.as_ref().filter(|_| is_flat(name)) {
                    object.member(FLAT_CALL, call.as_bytes());
                }
            }),
        )
    }
}

/// Whether the part of this name consists of lines.
#[must_use]
pub fn is_lines(name: &str) -> bool {
    (name.starts_with(wire::AGENTS) && name.ends_with(".jsonl")) || is_flat(name)
}

/// Whether the part of this name is a sub-agent's file beside the session, as in version 1.
#[must_use]
pub fn is_flat(name: &str) -> bool {
    name.starts_with(BESIDE)
}

/// Returns the name of the transcript to which a sub-agent's file beside it belongs.
pub fn side(name: &str, head: &mut dyn FnMut() -> Vec<u8>) -> Option<String> {
    let agent = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
    let plain =
        |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !plain(agent) {
        return None;
    }
    let about = About::of(&head());
    let session = about.session_id().filter(|id| about.agent && plain(id));
    session.map(|id| format!("{id}.jsonl"))
}

/// A part to be written.
pub struct Begun {
    /// Name of the part; empty for the main one, which continues.
    pub name: String,
    pub bom: bool,
    /// The whole contents, of a part without lines.
    pub text: Option<Vec<u8>>,
    /// Whether the lines move into the folder with the session's name when it gets version 2.
    pub moves: bool,
}

/// Reads the record with which a part begins.
#[must_use]
pub fn begun(record: &Record) -> Option<Begun> {
    let own = record.kind == Kind::Notice && record.node.is(Field::Subtype, PART);
    let data = record.node.json(Field::Data).filter(|_| own)?;
    let text = |name| data.text_of(name);
    let bytes = || text("base64").and_then(|text| from_base64(&text));
    let bom = data.member("bom").is_some();
    let moves = data.member(FLAT_CALL).is_some();
    let text = text("text").map(Vec::from).or_else(bytes);
    Some(Begun { name: data.member("part")?.text()?, bom, text, moves })
}

/// Returns the parts of a session behind its main part.
///
/// # Errors
/// If one cannot be read.
pub fn parts(parts: &mut dyn Parts, older: Option<&Older>) -> Result<VecDeque<Part>> {
    let (names, mut found) = (parts.names(), VecDeque::new());
    let flats = older.map(|older| older.flat(&names)).unwrap_or_default();
    for (number, name) in (0..).zip(&names).skip(1) {
        let about = name.strip_suffix(".jsonl").map(|stem| format!("{stem}{}", wire::ABOUT_AGENT));
        let call = match about.filter(|about| names.contains(about)) {
            Some(about) => call(&read(&mut *parts.open(&about)?)?),
            None => flats.iter().find(|flat| flat.file() == *name).map(|flat| flat.call.clone()),
        };
        found.push_back(Part { number, name: name.clone(), call });
    }
    Ok(found)
}

/// Returns the call that facts about a sub-agent name.
fn call(about: &[u8]) -> Option<Json> {
    let object = super::preserved::object(about.trim_ascii())?;
    object.member("toolUseId").filter(|call| call.text().is_some())
}

/// Reads the beginning of a part.
///
/// # Errors
/// If it cannot be read.
pub fn head(part: &mut dyn Read) -> Result<Vec<u8>> {
    read(&mut part.take(About::HEAD))
}

/// Reads a part whole.
///
/// # Errors
/// If it cannot be read.
pub fn read(part: &mut dyn Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(Head::SIZE);
    part.read_to_end(&mut bytes).cannot("read")?;
    Ok(bytes)
}

/// Whether a record is a message of the conversation or the title of the session, which are in the
/// transcript wherever they come in a stream: messages of other parts are marked.
#[must_use]
pub fn is_of_transcript(record: &Record) -> bool {
    let is_marked = |field| record.node.get(field).is_some();
    match record.kind {
        Kind::Message => !is_marked(Field::ParentCall) && !is_marked(Field::Excluded),
        Kind::Opaque => record.node.is(Field::Type, wire::CUSTOM_TITLE) && is_marked(Field::Layout),
        _ => false,
    }
}

/// Marks the record of a sub-agent's line.
pub fn mark(node: &mut Node, kind: Kind, part: &Part) {
    match &part.call {
        _ if kind != Kind::Message => {}
        Some(call) => node.set(Field::ParentCall, call.clone()),
        None => node.set(Field::Excluded, Json::constant("true")),
    }
}
