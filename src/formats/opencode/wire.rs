//! Members of sessions, messages and parts, and their templates.
//!
//! Each release, and each store, writes its members in another order, so every object keeps a
//! template of its own. Times are numbers of milliseconds there, and texts in the model.
//!
//! Source: `packages/opencode/src/session` of opencode, and documents of the releases 1.0.152,
//! 1.2.27 and 1.18.33.

use crate::json::{Fault, Json, Span, text};
use crate::mapping::{Extra, Object, Row, Source, row, template, within};
use crate::record::{Field, Node};
use crate::times;
use bytes::Bytes;

/// Members of the session's `info`.
pub const INFO: &[Row] = &[
    row("id", Field::Id),
    row("directory", Field::Cwd),
    row("title", Field::Name),
    row("agent", Field::Agent),
];

/// Members of a message's `info`.
pub const MESSAGE: &[Row] = &[
    row("id", Field::Id),
    row("role", Field::Role),
    row("modelID", Field::Model),
    row("providerID", Field::Provider),
    row("finish", Field::StopReason),
];

const TOKENS: &[Row] = &[
    row("total", Field::Total),
    row("input", Field::InputTokens),
    row("output", Field::OutputTokens),
    row("reasoning", Field::Reasoning),
    within("cache", None, &[row("read", Field::CacheRead), row("write", Field::CacheWrite)]),
];

/// Template of the tokens of a usual message.
pub const USUAL_TOKENS: &str =
    r#"{"total":0,"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;

/// Times of a session, and their fields.
pub const SESSION_TIMES: &[(&str, Field)] =
    &[("created", Field::Created), ("updated", Field::Updated)];

/// Time of a message, and its field.
pub const MESSAGE_TIMES: &[(&str, Field)] = &[("created", Field::Time)];

/// Returns the time that a number of milliseconds names, in the model's notation.
pub fn time_of(number: &Json) -> Option<Json> {
    let millis = number.float()?;
    let time = jiff::Timestamp::from_millisecond(millis as i64).ok()?;
    Some(Json::string(&times::with_millis(time)))
}

/// Sets the times of an object `time` as fields.
pub fn read_times(time: &Json, names: &[(&str, Field)], node: &mut Node) {
    for (name, field) in names {
        node.put(*field, time.member(name).as_ref().and_then(time_of));
    }
}

/// Writes the object `time` again, with the times that were edited.
pub fn write_times(time: &[u8], names: &[(&str, Field)], node: &Node, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    for (key, value) in Json::trusted(Bytes::copy_from_slice(time)).members() {
        let field = names.iter().find(|(name, _)| text::is(key, name)).map(|(_, field)| *field);
        let held = field.and_then(|field| node.json(field));
        let own = time_of(&Json::trusted(Bytes::copy_from_slice(value)));
        let edited = held.filter(|held| Some(*held) != own.as_ref()).and_then(times::read);
        match edited {
            Some(time) => object.spelled(key, time.as_millisecond().to_string().as_bytes()),
            None => object.spelled(key, value),
        }
    }
    object.close();
}

/// Takes the value of this member as it is, and keeps it in the template.
pub fn kept(source: &mut Source<'_>, key: Span, extra: &mut Extra) -> Result<Json, Fault> {
    let value = source.cursor.skip_value()?;
    extra.add(source.spelling(key), source.spelling(value));
    Ok(source.json(value))
}

/// Reads the tokens that come next into `usage`, and returns their template; `None` if they are no
/// object.
pub fn read_tokens(source: &mut Source<'_>, node: &mut Node) -> Result<Option<Json>, Fault> {
    if source.cursor.peek() != Some(b'{') {
        return Ok(None);
    }
    let (mut usage, mut tokens) = (Node::with_capacity(6), Extra::default());
    template::read(source, TOKENS, &mut usage, &mut tokens, &mut |_, _, _| Ok(false))?;
    node.set(Field::Usage, usage);
    Ok(Some(tokens.finish().unwrap_or(Json::constant("{}"))))
}

/// Writes tokens by their template.
pub fn write_tokens(usage: &Node, template: &[u8], out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let own = Json::trusted(Bytes::copy_from_slice(template));
    template::write(TOKENS, usage, &own, &mut object, &mut |_, _, _| false);
    object.close();
}
