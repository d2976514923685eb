//! What was edited or added abroad, in the forms of the format that the session comes from.

use super::align::shown;
use crate::diagnostic::Log;
use crate::format::{Cx, Options};
use crate::formats::Spec;
use crate::memory::Buffer;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};

/// What says where a record stands, not what it says.
const PLACE: &[Field] = &[
    Field::Id,
    Field::IdMade,
    Field::Parent,
    Field::Turn,
    Field::Group,
    Field::Time,
    Field::Eol,
    Field::Raw,
    Field::RawBytes,
    Field::Synthesized,
    Field::Derived,
];

/// A message as `home` has one that comes from another format, behind those `before` it, which tell
/// what its results are of: its writer knows what its own software wants of one. `None` where it
/// becomes something else than one message.
pub fn at_home(home: Spec, before: &[Record], message: &Record) -> Option<Record> {
    let (options, log) = (Options { residue: false, ..Options::default() }, Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut buffer = Buffer::default();
    {
        let mut writer = (home.format.write)(&mut buffer, home.version(), &cx).ok()?;
        let mut put =
            |value| writer.record(&Located { value, at: Position::default() }).map_err(drop);
        let mut session = Record::new(Kind::Session);
        session.node.set(Field::Id, crate::json::Json::constant("\"s\""));
        put(session).ok()?;
        before.iter().chain([message]).try_for_each(|message| put(message.clone())).ok()?;
        writer.finish().ok()?;
    }
    let mut parts = buffer.into_parts();
    let records = (home.format.read)(&mut parts, &cx).ok()?.map_while(Result::ok);
    let messages = records.map(|at| at.value);
    let messages = messages.filter(|r| r.kind == Kind::Message && !r.is_restored());
    let mut messages: Vec<_> = messages.collect();
    let mut made = messages.pop()?;
    let alike = shown(&made.node) == shown(&message.node)
        && made.node.json(Field::Role) == message.node.json(Field::Role);
    if !alike || messages.len() != before.len() {
        return None;
    }
    PLACE.iter().for_each(|field| drop(made.node.take(*field)));
    for field in PLACE {
        let own = message.node.get(*field).cloned();
        own.into_iter().for_each(|value| made.node.set(*field, value));
    }
    Some(made)
}

/// What of an edited message is not the source's any more, as `home` has it: what it says, if that
/// came from the file, and how many tokens that took, which nobody knows.
pub fn mend(message: &mut Node, made: &Record, says: bool, usage: bool) {
    for field in [(Field::Content, says), (Field::Usage, usage)] {
        if let (Some(value), true) = (made.node.get(field.0), field.1) {
            message.set(field.0, value.clone());
        }
    }
}
