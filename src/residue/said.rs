//! What messages say, and how they come to say something else.

use super::align::shown_blocks;
use super::blocks;
use super::fates::named;
use super::fill::members;
use super::note::{NOT_EDITED, is_set};
use super::print;
use crate::json::Json;
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::times;

/// What an edit does to a message that says something else than the file.
#[derive(Default)]
pub struct Agreed {
    /// Whether it did.
    pub differed: bool,
    /// How many signatures it lost, whose words are not those that they sign any more.
    pub unsigned: usize,
    /// The command that it was, if it is words now.
    pub command: Option<Value>,
}

/// Sees to it that a message says what the file's messages say.
pub fn agree(source: &mut Record, bases: &[Record]) -> Agreed {
    let mut agreed = Agreed::default();
    if source.kind != Kind::Message || bases.iter().any(|base| base.kind == Kind::Compaction) {
        return agreed;
    }
    let told = bases.iter().filter(|base| base.kind == Kind::Message);
    let file: Vec<_> = told.flat_map(|base| blocks::of(base.node.get(Field::Content))).collect();
    let own = blocks::of(source.node.get(Field::Content));
    if said(&own) == said(&file) {
        fail(source, &file);
        return agreed;
    }
    agreed.differed = true;
    let met = blocks::met(&own, &file);
    agreed.unsigned = met.unsigned;
    let content = if said(&met.blocks) == said(&file) { met.blocks } else { file.clone() };
    source.node.set(Field::Content, content);
    fail(source, &file);
    // Words that are not in the shape of a command have no way back into one.
    agreed.command = source.node.take(Field::Bash);
    if agreed.command.is_some() {
        let role = bases.iter().find_map(|base| base.node.json(Field::Role).cloned());
        role.into_iter().for_each(|role| source.node.set(Field::Role, role));
    }
    agreed
}

/// Marks results as failed, or not, as the file's are: what did not fail is not marked everywhere, so
/// there may be no mark to refer to. Where the file has none its format may have no place for it.
fn fail(source: &mut Record, file: &[Node]) {
    let Some(Value::Nodes(blocks)) = source.node.get_mut(Field::Content) else { return };
    for block in blocks {
        let Some(call) = block.json(Field::Call) else { continue };
        let now = file.iter().find(|now| now.json(Field::Call) == Some(call));
        let mark = now.and_then(|now| now.json(Field::IsError)).filter(|mark| !mark.is_null());
        let differs =
            now.is_some_and(|now| now.is_true(Field::IsError) != block.is_true(Field::IsError));
        mark.filter(|_| differs).into_iter().for_each(|m| block.set(Field::IsError, m.clone()));
    }
}

/// What blocks say in any format.
fn said(blocks: &[Node]) -> Vec<Vec<u8>> {
    let mut node = Node::default();
    node.set(Field::Content, blocks.to_vec());
    shown_blocks(&node)
}

/// Gives a message another text.
pub fn say(node: &mut Node, text: &Json) {
    let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else {
        return node.set(Field::Content, text.clone());
    };
    let is_text = |block: &Node| block.is(Field::Type, block::TEXT);
    if let Some(first) = blocks.iter().position(is_text) {
        let mut place = 0;
        blocks.retain(|block| {
            place += 1;
            place <= first + 1 || !is_text(block)
        });
        if let Some(block) = blocks.get_mut(first) {
            block.set(Field::Text, text.clone());
        }
    }
}

/// A value of the file, a time as the source spelled the one that it takes the place of.
pub fn respelled(value: &Value, old: Option<&Value>) -> Value {
    let (Value::Json(new), Some(Value::Json(old))) = (value, old) else { return value.clone() };
    let spaced = |time: &Json| time.as_bytes().get(11) == Some(&b' ');
    match (times::read(new), times::read(old)) {
        (Some(time), Some(_)) if spaced(new) && !spaced(old) => {
            Value::Json(Json::string(&times::with_millis(time)))
        }
        (Some(time), Some(_)) if !spaced(new) && spaced(old) => {
            Value::Json(Json::string(&times::in_seconds(time)))
        }
        _ => value.clone(),
    }
}

/// An answer, or what a tool gave, that was edited, where what follows may repeat what it was.
pub struct Answer {
    now: Record,
    /// By what it was known.
    was: u64,
}

impl Answer {
    /// Of an item that speaks of one answer.
    pub fn of(item: &Json, bases: &[Record]) -> Option<Self> {
        let names: Vec<_> = named(item);
        let ([Some((_, _, was))], [now]) = (names.as_slice(), bases) else { return None };
        let is_one = ["assistant", "tool"].iter().any(|role| now.node.is(Field::Role, role));
        (now.kind == Kind::Message && is_one).then(|| Self { now: now.clone(), was: *was })
    }

    /// What holds its text: the message, or the first result in it.
    fn holder(message: &mut Node) -> Option<&mut Node> {
        if !message.is(Field::Role, "tool") {
            return Some(message);
        }
        let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) else { return None };
        blocks.iter_mut().find(|block| block.is(Field::Type, block::TOOL_RESULT))
    }

    /// What it says in the place of this text, if that is what it said: with the text in its place it
    /// is known as it was.
    fn instead(&self, old: &Json) -> Option<Json> {
        let mut before = self.now.clone();
        let holder = Self::holder(&mut before.node)?;
        let new = block::said(holder)?;
        say(holder, old);
        (new != *old && print::kept(print::of(&before)) == self.was).then_some(new)
    }

    /// Gives the outcome of a run, or what an interface was shown, what the answer says now, if it
    /// repeats what that said.
    pub fn repeat(&self, record: &mut Record) {
        let mut edits = Vec::new();
        for field in [Field::Result, Field::Final] {
            let own = record.node.json(field).filter(|_| record.kind != Kind::Event);
            edits.extend(own.and_then(|old| Some((field, self.instead(old)?))));
        }
        let data = record.node.json(Field::Data).filter(|_| record.kind == Kind::Event);
        edits.extend(data.and_then(|data| Some((Field::Data, self.shown(data)?))));
        for (field, new) in edits {
            record.node.set(field, new);
            [Field::Raw, Field::RawBytes].iter().for_each(|f| drop(record.node.take(*f)));
        }
    }

    /// An object of which one member is what it said, with what it says.
    fn shown(&self, data: &Json) -> Option<Json> {
        let members = members(data);
        let mut texts = members.iter().enumerate().filter(|(_, (_, value))| is_text(value));
        let (place, new) = texts.find_map(|(n, (_, value))| Some((n, self.instead(value)?)))?;
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        for (n, (key, value)) in members.iter().enumerate() {
            let value = if n == place { &new } else { value };
            object.spelled(key.as_bytes(), value.as_bytes());
        }
        object.close();
        Some(Json::checked(out.into()))
    }
}

fn is_text(value: &Json) -> bool {
    value.as_bytes().first() == Some(&b'"')
}

/// Whether a new record says nothing of the session: a blank line, or how the file ends.
pub fn is_nothing(record: &mut Record) -> bool {
    match record.kind {
        Kind::Session => {
            [Field::File, Field::Leaf, Field::Source]
                .iter()
                .for_each(|f| drop(record.node.take(*f)));
            record.node.is_empty()
        }
        Kind::Opaque => record.node.text(Field::Text).is_some_and(|text| text.trim().is_empty()),
        Kind::Notice => record.node.text(Field::Data).is_some_and(|text| text.trim().is_empty()),
        _ => false,
    }
}

/// Members of a record that no field is for, that are not what they were when the file was made, and
/// that its source has not either.
pub fn strangers(item: &Json, now: &Node, source: &Node) -> Vec<String> {
    let (noted, held) = (item.member(Field::Extra.name()), source.json(Field::Extra));
    let own = now.json(Field::Extra).map(members).unwrap_or_default();
    let own = own.into_iter().filter_map(|(name, value)| Some((name.text()?, value)));
    let new = own.filter(|(name, value)| {
        let was = noted.as_ref().and_then(|noted| noted.member(name)?.text());
        let same = |held: Json| held.normal() == value.normal();
        was.as_deref() != Some(&print::short(value))
            && !held.and_then(|held| held.member(name)).is_some_and(same)
    });
    new.map(|(name, _)| name).collect()
}

/// The fields that a person changed: those whose hash is another one, and of a session those that
/// are new.
pub fn edits(item: &Json, now: &Record, source: Option<&Node>) -> Vec<Field> {
    let node = &now.node;
    let was = item.member("was");
    let was: Vec<_> = was.iter().flat_map(members).collect();
    let (mut edits, mut known) = (Vec::new(), Vec::new());
    for (name, print) in was {
        // Fields of one name share their meaning in any one kind of record.
        let Some(name) = name.text() else { continue };
        let held = node.fields().find(|field| field.name() == name);
        let Some(field) = held.or_else(|| Field::named(name.as_bytes()).next()) else { continue };
        known.push(field);
        // Sums that the file had when it was made its own software computes again.
        let own = source.is_none_or(|source| field != Field::Totals || source.get(field).is_some());
        if own && print::of_field(node, field) != print.text() {
            edits.push(field);
        }
    }
    let is_new =
        |field: &Field| !known.contains(field) && source.is_some_and(|s| s.get(*field).is_none());
    edits.extend(node.fields().filter(|field| is_set(now.kind, *field) && is_new(field)));
    edits
}

/// The fields that a record of the target's own has now and had not.
pub fn unknown(item: &Json, now: &Record) -> Vec<Field> {
    let was = item.member("was");
    let was: Vec<_> = was.iter().flat_map(members).filter_map(|(name, _)| name.text()).collect();
    let is_new = |field: &Field| {
        let apart = *field == Field::Extra || NOT_EDITED.contains(field);
        !apart && !was.iter().any(|name| **name == *field.name())
    };
    now.node.fields().filter(is_new).collect()
}
