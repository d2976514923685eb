//! Edited and new records in the forms of the source format.

use super::block_edits;
use crate::diagnostic::Log;
use crate::format::{Cx, Options};
use crate::formats::Spec;
use crate::json::Json;
use crate::memory::Buffer;
use crate::origin::matching::align::shown_blocks;
use crate::position::{Located, Position};
use crate::record::{Called, Field, Kind, Node, Record, Value, block};

/// Fields that contain a record's place, not its content.
const PLACE: &[Field] = &[
    Field::Id,
    Field::IdMade,
    Field::Parent,
    Field::Turn,
    Field::Group,
    Field::Time,
    Field::Synthesized,
    Field::Derived,
];

/// Facts about a session that a writer puts into lines of messages.
const FACTS: &[Field] = &[Field::Id, Field::Cwd];

/// Fields with a format's own members, which mean nothing in another format.
const OWN: &[Field] = &[Field::Extra, Field::Layout, Field::Subtype];

/// Returns a record without its place.
pub fn words_of(mut record: Record) -> Record {
    PLACE.iter().for_each(|field| drop(record.node.take(*field)));
    record
}

/// Returns the content of a record in the place of another one.
pub fn placed(record: Record, place: &Record) -> Record {
    let mut placed = words_of(record);
    for (field, value) in place.node.iter().filter(|(field, _)| PLACE.contains(field)) {
        placed.node.set(field, value.clone());
    }
    placed
}

/// Converts a message of another format to the message or messages that `source_format` makes of
/// it. The writer of `source_format` does this, as it knows what its agent requires, with the facts
/// about the session. The message comes behind `call`, which has the call that it answers. Empty if
/// the writer makes anything else of the message. Messages that the format identifies have an
/// identifier of the format's kind.
pub fn in_source_format(
    source_format: Spec,
    facts: &Node,
    call: Option<Record>,
    message: &Record,
) -> Vec<Record> {
    let before = usize::from(call.is_some());
    let mut session = Record::new(Kind::Session).with(Field::Id, Json::constant("\"s\""));
    for field in FACTS {
        facts.json(*field).into_iter().for_each(|fact| session.node.set(*field, fact.clone()));
    }
    let messages = call.into_iter().chain([message.clone()]);
    let read = read_back(source_format, session, messages).unwrap_or_default();
    let messages = read.into_iter().filter(|r| r.kind == Kind::Message && !r.is_restored());
    let mut made: Vec<_> = messages.skip(before).collect();
    let role = message.node.json(Field::Role);
    let alike = made.iter().all(|made| made.node.json(Field::Role) == role);
    if !alike || texts(made.iter()) != texts([message].into_iter()) {
        return Vec::new();
    }
    let single = made.len() == 1;
    for (number, made) in made.iter_mut().enumerate() {
        let id = made.node.json(Field::Id).filter(|_| made.node.get(Field::IdMade).is_none());
        let id = id.filter(|_| source_format.format.links()).cloned();
        PLACE.iter().for_each(|field| drop(made.node.take(*field)));
        made.node.put(Field::Id, id);
        // Of several messages, only the first one has the fields of the whole message.
        let counts = |field| number == 0 || PLACE.contains(&field);
        let own = message.node.iter().filter(|(field, _)| !OWN.contains(field) && counts(*field));
        for (field, value) in own {
            // The format's writer writes a field without a place in another way, or reports it.
            let poorer = field == Field::Content && single && is_poorer(made, message);
            if poorer && let (Value::Nodes(own), Some(there)) = (value, made.node.nodes(field)) {
                let formed = formed(own, there, Some(&[]));
                made.node.set(field, formed);
            } else if poorer || made.node.get(field).is_none() {
                made.node.set(field, value.clone());
            }
        }
    }
    made
}

/// Writes messages into a session of `source_format`, and reads back its records.
pub fn read_back(
    source_format: Spec,
    session: Record,
    messages: impl IntoIterator<Item = Record>,
) -> Option<Vec<Record>> {
    let (options, log) = (Options { origin: false, ..Options::default() }, Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut buffer = Buffer::default();
    {
        let mut writer =
            (source_format.format.write)(&mut buffer, source_format.version(), &cx).ok()?;
        let mut put =
            |value| writer.record(&Located { value, at: Position::default() }).map_err(drop);
        put(session).ok()?;
        messages.into_iter().try_for_each(put).ok()?;
        writer.finish().ok()?;
    }
    let mut parts = buffer.into_parts();
    let records = source_format.format.records(&mut parts, &cx).ok()?.map_while(Result::ok);
    Some(records.map(|at| at.value).collect())
}

/// Content of messages, as if they were one message.
fn texts<'r>(messages: impl Iterator<Item = &'r Record>) -> Vec<Vec<u8>> {
    messages.flat_map(|message| shown_blocks(&message.node)).collect()
}

/// Whether a message lacks blocks that another one has.
fn is_poorer(made: &Record, message: &Record) -> bool {
    let count = |record: &Record| match record.node.get(Field::Content) {
        Some(Value::Nodes(blocks)) => blocks.len(),
        Some(Value::Json(text)) => usize::from(!text.is_null()),
        _ => 0,
    };
    count(made) < count(message)
}

/// Joins the messages that `source_format` makes of one message, as an existing message has one
/// place.
pub fn whole(made: Vec<Record>) -> Option<Record> {
    let several = made.len() > 1;
    let blocks: Vec<_> =
        made.iter().flat_map(|made| block_edits::of(made.node.get(Field::Content))).collect();
    let mut first = made.into_iter().next()?;
    if several {
        first.node.set(Field::Content, blocks);
    }
    Some(first)
}

/// Completes an edited message with what `source_format` made of it: content that came from the
/// file, and fields that the agent expects in every message, as far as the message `needs` them.
/// Blocks in `held` stay as they are; without this list, all blocks stay.
pub fn mend(
    message: &mut Record,
    made: &Record,
    held: Option<&[Node]>,
    needs: &dyn Fn(Field) -> bool,
) {
    let poorer = is_poorer(made, message);
    for (field, value) in made.node.iter() {
        match (field, value, message.node.get(field)) {
            (Field::Content, Value::Nodes(made), Some(Value::Nodes(own)))
                if made.len() <= own.len() =>
            {
                let formed = formed(own, made, held);
                message.node.set(field, formed);
            }
            (Field::Content, ..) if held.is_some() && !poorer => {
                message.node.set(field, value.clone());
            }
            (_, _, None) if needs(field) && !OWN.contains(&field) => {
                message.node.set(field, value.clone())
            }
            _ => {}
        }
    }
}

/// Replaces the blocks of a message with those that `source_format` made of them, except for blocks
/// that are its own already and blocks that it has no place for.
fn formed(own: &[Node], made: &[Node], held: Option<&[Node]>) -> Vec<Node> {
    let form = |(place, block): (usize, &Node)| {
        let alike = |other: &&Node| other.json(Field::Type) == block.json(Field::Type);
        let all = own.iter().filter(alike).count() == made.iter().filter(alike).count();
        let nth = own.iter().take(place).filter(alike).count();
        let mut formed = block.clone();
        let Some(made) = made.iter().filter(alike).nth(nth).filter(|_| all) else { return formed };
        if held.is_some_and(|held| !held.contains(block)) {
            return made.clone();
        }
        // Arguments of another kind than in the source format came from the file.
        let kind = |block: &Node| block.json(Field::Arguments)?.as_bytes().first().copied();
        if kind(block) != kind(made) {
            let arguments = made.get(Field::Arguments).into_iter();
            arguments.for_each(|arguments| formed.set(Field::Arguments, arguments.clone()));
        }
        // A text in the place of parts came from the file, too.
        let text = block.json(Field::Content).filter(|_| made.nodes(Field::Content).is_some());
        formed.put(Field::Content, made.get(Field::Content).filter(|_| text.is_some()).cloned());
        formed
    };
    own.iter().enumerate().map(form).collect()
}

/// Notes the calls of a message, and the calls that it answers.
pub fn pass(message: &Node, called: &mut Called) {
    called.note(message);
    for block in message.content() {
        block.json(Field::Call).into_iter().for_each(|call| drop(called.answered(call)));
    }
}

/// Builds a message with the call that this message answers, if the call is open.
pub fn call_of(message: &Node, called: &Called) -> Option<Record> {
    let mut blocks = message.nodes(Field::Content)?.iter();
    let (call, name) = blocks.find_map(|block| {
        let call = block.json(Field::Call)?;
        Some((call.clone(), called.name(call)?.clone()))
    })?;
    let mut block = Node::default();
    block.set(Field::Type, Json::string(block::TOOL_CALL));
    block.set(Field::Id, call);
    block.set(Field::Name, name);
    block.set(Field::Arguments, Json::constant("{}"));
    Some(
        Record::new(Kind::Message)
            .with(Field::Id, Json::constant("\"c\""))
            .with(Field::Role, Json::constant("\"assistant\""))
            .with(Field::Content, vec![block]),
    )
}
