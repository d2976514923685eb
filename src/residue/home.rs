//! What was edited or added abroad, in the forms of the format that the session comes from.

use super::align::shown_blocks;
use crate::diagnostic::Log;
use crate::format::{Cx, Options};
use crate::formats::Spec;
use crate::json::Json;
use crate::memory::Buffer;
use crate::position::{Located, Position};
use crate::record::{Called, Field, Kind, Node, Record, Value, block};

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

/// What a format says in members of its own, which mean nothing in another one.
const OWN: &[Field] = &[Field::Extra, Field::Layout, Field::Subtype];

/// A message as `home` has one that comes from another format, or as the messages that it takes
/// there, behind the one with the call that it answers: its writer knows what its own software wants
/// of one. Empty where it becomes anything else.
pub fn at_home(home: Spec, call: Option<Record>, message: &Record) -> Vec<Record> {
    let before = usize::from(call.is_some());
    let mut session = Record::new(Kind::Session);
    session.node.set(Field::Id, Json::constant("\"s\""));
    let messages = call.into_iter().chain([message.clone()]);
    let read = read_back(home, session, messages).unwrap_or_default();
    let messages = read.into_iter().filter(|r| r.kind == Kind::Message && !r.is_restored());
    let mut made: Vec<_> = messages.skip(before).collect();
    let role = message.node.json(Field::Role);
    let alike = made.iter().all(|made| made.node.json(Field::Role) == role);
    if !alike || texts(made.iter()) != texts([message].into_iter()) {
        return Vec::new();
    }
    let single = made.len() == 1;
    for (number, made) in made.iter_mut().enumerate() {
        PLACE.iter().for_each(|field| drop(made.node.take(*field)));
        // Of a message that becomes several the first one says what it took.
        let counts = |field| number == 0 || PLACE.contains(&field);
        let own = message.node.iter().filter(|(field, _)| !OWN.contains(field) && counts(*field));
        for (field, value) in own {
            // What the format has no place for its writer carries, or says that it cannot.
            let poorer = field == Field::Content && single && is_poorer(made, message);
            if poorer || made.node.get(field).is_none() {
                made.node.set(field, value.clone());
            }
        }
    }
    made
}

/// Writes messages into this session of `home`, and reads what is in it.
pub fn read_back(
    home: Spec,
    session: Record,
    messages: impl IntoIterator<Item = Record>,
) -> Option<Vec<Record>> {
    let (options, log) = (Options { residue: false, ..Options::default() }, Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut buffer = Buffer::default();
    {
        let mut writer = (home.format.write)(&mut buffer, home.version(), &cx).ok()?;
        let mut put =
            |value| writer.record(&Located { value, at: Position::default() }).map_err(drop);
        put(session).ok()?;
        messages.into_iter().try_for_each(put).ok()?;
        writer.finish().ok()?;
    }
    let mut parts = buffer.into_parts();
    let records = (home.format.read)(&mut parts, &cx).ok()?.map_while(Result::ok);
    Some(records.map(|at| at.value).collect())
}

/// What messages say, as one.
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

/// What of an edited message is not the source's any more, as `home` has it: what it says, if that
/// came from the file, how many tokens that took, which nobody knows, and what its software looks for
/// in every message.
pub fn mend(message: &mut Record, made: &Record, says: bool) {
    let says = says && !is_poorer(made, message);
    for (field, value) in made.node.iter() {
        let wanted = (field == Field::Content && says) || message.node.get(field).is_none();
        if wanted && !OWN.contains(&field) {
            message.node.set(field, value.clone());
        }
    }
}

/// Notes what a message calls and what it answers.
pub fn pass(message: &Node, called: &mut Called) {
    called.note(message);
    for block in message.nodes(Field::Content).unwrap_or_default() {
        block.json(Field::Call).into_iter().for_each(|call| drop(called.answered(call)));
    }
}

/// A message with the call that this one answers, if that is open.
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
    let mut record = Record::new(Kind::Message);
    record.node.set(Field::Id, Json::constant("\"c\""));
    record.node.set(Field::Role, Json::constant("\"assistant\""));
    record.node.set(Field::Content, vec![block]);
    Some(record)
}
