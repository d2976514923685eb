//! Words that the user wrote while the program worked: a line of the type `attachment`, whose prompt the
//! program sends to the model as words of the user.
//!
//! Source: what releases 2.1.251 to 2.1.332 write, and what 2.1.332 sends of it.

use super::wire;
use crate::dialect::anthropic::block;
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Source, template};
use crate::record::{Field, Kind, Node, Record, Value};
use bytes::Bytes;
use memchr::memmem;

/// Member of the line with the attachment, and of the attachment with the user's words.
pub const ATTACHMENT: &str = "attachment";
pub const PROMPT: &str = "prompt";

/// Type of such an attachment.
const QUEUED: &str = "queued_command";

/// Whether a line of the type `attachment` contains words of the user, and not those of a task or of
/// another program.
pub fn is_queued(line: &[u8]) -> bool {
    if memmem::find(line, QUEUED.as_bytes()).is_none() {
        return false;
    }
    let whole = Json::trusted(Bytes::copy_from_slice(line));
    let Some(attachment) = whole.member(ATTACHMENT).filter(Json::is_object) else { return false };
    let is =
        |json: Option<Json>, usual: &str| json.is_none_or(|json| text::is(json.as_bytes(), usual));
    let origin = attachment.member("origin").filter(Json::is_object);
    let prompt = attachment.member(PROMPT);
    attachment.member("type").is_some_and(|kind| text::is(kind.as_bytes(), QUEUED))
        && is(attachment.member("commandMode"), PROMPT)
        && is(origin.and_then(|origin| origin.member("kind")), "human")
        && attachment.member(wire::META).is_none_or(|meta| meta.as_bytes() != b"true")
        && prompt.is_some_and(|prompt| matches!(prompt.as_bytes().first(), Some(b'"' | b'[')))
}

/// Reads such a line as a message of the user. One without an identifier is not sent. `None` if the
/// prompt is no content of a message.
pub fn read(line: &Bytes) -> Result<Option<Record>, Fault> {
    let mut record = Record::new(Kind::Message).with(Field::Role, Json::constant("\"user\""));
    let (mut extra, mut content) = (Extra::default(), None);
    let mut source = Source::new(line);
    let node = &mut record.node;
    template::read(&mut source, wire::CHAIN, node, &mut extra, &mut |source, key, extra| {
        let name = source.spelling(key);
        if !text::is(name, ATTACHMENT) || source.cursor.peek() != Some(b'{') {
            return Ok(false);
        }
        let attachment = attachment(source, &mut content)?;
        extra.add(name, attachment.as_bytes());
        Ok(true)
    })?;
    source.cursor.end()?;
    node.put(Field::Content, content);
    extra.put(node);
    if node.json(Field::Id).is_none() {
        node.take(Field::Parent);
        node.set(Field::Excluded, Json::constant("true"));
    }
    Ok(node.get(Field::Content).is_some().then_some(record))
}

/// Reads an attachment; returns its template.
fn attachment(source: &mut Source<'_>, content: &mut Option<Value>) -> Result<Json, Fault> {
    let (mut extra, mut inner) = (Extra::default(), Node::default());
    template::read(source, &[], &mut inner, &mut extra, &mut |source, key, extra| {
        let name = source.spelling(key);
        let is_prompt = text::is(name, PROMPT) && content.is_none() && block::is_content(source);
        if is_prompt {
            *content = Some(block::content(source)?);
            extra.add(name, template::PLACE);
        }
        Ok(is_prompt)
    })?;
    Ok(extra.finish().unwrap_or(Json::constant("{}")))
}
