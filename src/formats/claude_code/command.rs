//! Commands that the program itself carries out, such as `/model`, and their output: lines of the type
//! `system`, whose content the program sends to the model as words of the user.
//!
//! Source: what release 2.1.332 sends of such lines.

use super::wire;
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Source, template};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use memchr::memmem;

/// Type of such a line, and the member with its words.
pub const SYSTEM: &str = "system";
pub const WORDS: &str = "content";

/// Subtype of such a line.
const LOCAL: &str = "local_command";

/// Whether a line of the type `system` is sent.
pub fn is_command(line: &[u8]) -> bool {
    if memmem::find(line, LOCAL.as_bytes()).is_none() {
        return false;
    }
    let whole = Json::trusted(Bytes::copy_from_slice(line));
    let starts = |name, with: &[u8]| {
        whole.member(name).is_some_and(|value: Json| value.as_bytes().starts_with(with))
    };
    let is_local = whole.member("subtype").is_some_and(|kind| text::is(kind.as_bytes(), LOCAL));
    is_local && starts(WORDS, b"\"") && starts("uuid", b"\"")
}

/// Reads such a line as a message of the user.
pub fn read(line: &Bytes) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Message).with(Field::Role, Json::constant("\"user\""));
    let (mut extra, mut words) = (Extra::default(), None);
    let mut source = Source::new(line);
    let node = &mut record.node;
    template::read(&mut source, wire::CHAIN, node, &mut extra, &mut |source, key, extra| {
        let name = source.spelling(key);
        let is_words = text::is(name, WORDS) && words.is_none();
        if is_words {
            let span = source.cursor.skip_value()?;
            words = Some(source.json(span));
            extra.add(name, template::PLACE);
        }
        Ok(is_words)
    })?;
    source.cursor.end()?;
    node.put(Field::Content, words);
    extra.put(node);
    Ok(record)
}

/// Whether a message is of such a line, by its template.
pub fn is_of_command(message: &Node) -> bool {
    let of_line = |template: &Json| template.member("type").is_some_and(|it| is(&it, SYSTEM));
    message.json(Field::Extra).is_some_and(of_line)
}

fn is(json: &Json, text: &str) -> bool {
    text::is(json.as_bytes(), text)
}
