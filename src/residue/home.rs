//! What was edited or added abroad, in the forms of the format that the session comes from.

use super::align::shown;
use crate::diagnostic::Log;
use crate::format::{Cx, Options};
use crate::formats::Spec;
use crate::ids::hash;
use crate::json::Json;
use crate::memory::Buffer;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, block};
use std::collections::HashMap;

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

/// A message as `home` has one that comes from another format, behind the one with the call that it
/// answers: its writer knows what its own software wants of one. `None` where it becomes something
/// else than one message.
pub fn at_home(home: Spec, call: Option<Record>, message: &Record) -> Option<Record> {
    let before = usize::from(call.is_some());
    let (options, log) = (Options { residue: false, ..Options::default() }, Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut buffer = Buffer::default();
    {
        let mut writer = (home.format.write)(&mut buffer, home.version(), &cx).ok()?;
        let mut put =
            |value| writer.record(&Located { value, at: Position::default() }).map_err(drop);
        let mut session = Record::new(Kind::Session);
        session.node.set(Field::Id, Json::constant("\"s\""));
        put(session).ok()?;
        call.into_iter().chain([message.clone()]).try_for_each(put).ok()?;
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
    if !alike || messages.len() != before {
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

/// Notes the tools that a message calls, by the hashes of the calls, and forgets those that answered.
pub fn calls(message: &Node, open: &mut HashMap<u64, Json>) {
    for block in message.nodes(Field::Content).unwrap_or_default() {
        if let (Some(call), Some(name)) = (block.json(Field::Id), block.json(Field::Name)) {
            // A copy, for the value itself would keep its line in memory.
            let name = Json::checked(name.as_bytes().to_vec().into());
            open.insert(hash(call.as_bytes()), name);
        } else if let Some(call) = block.json(Field::Call) {
            open.remove(&hash(call.as_bytes()));
        }
    }
}

/// A message with the call that this one answers, if that is open.
pub fn call_of(message: &Node, open: &HashMap<u64, Json>) -> Option<Record> {
    let mut blocks = message.nodes(Field::Content)?.iter();
    let (call, name) = blocks.find_map(|block| {
        let call = block.json(Field::Call)?;
        Some((call.clone(), open.get(&hash(call.as_bytes()))?.clone()))
    })?;
    let mut block = Node::default();
    block.set(Field::Type, Json::string(block::TOOL_CALL));
    block.set(Field::Id, call);
    block.set(Field::Name, name);
    block.set(Field::Arguments, Json::constant("{}"));
    let mut record = Record::new(Kind::Message);
    record.node.set(Field::Id, Json::constant("\"c\""));
    record.node.set(Field::Role, Json::constant("\"assistant\""));
    record.node.set(Field::Content, vec![block]);
    Some(record)
}
