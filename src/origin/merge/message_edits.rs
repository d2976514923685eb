//! Content of messages, and edits of it.

use super::block_edits;
use crate::json::Json;
use crate::mapping::Object;
use crate::origin::base::{NOT_EDITED, is_set};
use crate::origin::matching::align::shown_blocks;
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::times;

/// Result of an edit of a message whose content is not that of the file.
#[derive(Default)]
pub struct Agreed {
    /// Number of signatures that were removed, as the words that they sign changed.
    pub unsigned: usize,
    /// Command of a message that is only words now.
    pub command: Option<Value>,
    /// Blocks of the message that come from the source, edited or not, if it also has others.
    pub held: Option<Vec<Node>>,
}

/// Gives a message the content of the file's messages.
pub fn agree(source: &mut Record, bases: &[Record]) -> Agreed {
    let mut agreed = Agreed::default();
    if source.kind != Kind::Message || bases.iter().any(|base| base.kind == Kind::Compaction) {
        return agreed;
    }
    let messages = bases.iter().filter(|base| base.kind == Kind::Message);
    let file: Vec<_> =
        messages.flat_map(|base| block_edits::of(base.node.get(Field::Content))).collect();
    let own = block_edits::of(source.node.get(Field::Content));
    let thinks = file.iter().any(|block| block.is(Field::Type, block::THINKING));
    let says = |blocks: &[Node]| {
        (shown_content(blocks), if thinks { thoughts(blocks) } else { Vec::new() })
    };
    if says(&own) == says(&file) {
        fail(source, &file);
        return agreed;
    }
    let met = block_edits::met(&own, &file);
    agreed.unsigned = met.unsigned;
    let content = if says(&met.blocks) == says(&file) {
        agreed.held = Some(met.held).filter(|held| held.len() < met.blocks.len());
        let old = source.node.get(Field::Content);
        old.map_or(Value::Nodes(met.blocks.clone()), |old| block_edits::like(old, met.blocks))
    } else {
        agreed.held = Some(Vec::new());
        Value::Nodes(file.clone())
    };
    source.node.set(Field::Content, content);
    fail(source, &file);
    // Words that are not in the shape of a command have no way back into one.
    agreed.command = source.node.take(Field::Bash);
    if agreed.command.is_some() {
        let role = bases.iter().find_map(|base| base.node.json(Field::Role).cloned());
        source.node.put(Field::Role, role);
    }
    agreed
}

/// Marks results as failed or not, as in the file. Some formats do not mark a result that did not
/// fail, so a mark of the file is copied only where it differs. Where the file has no mark, its
/// format may have no place for one.
fn fail(source: &mut Record, file: &[Node]) {
    let Some(Value::Nodes(blocks)) = source.node.get_mut(Field::Content) else { return };
    for block in blocks {
        let Some(call) = block.json(Field::Call) else { continue };
        let now = file.iter().find(|now| now.json(Field::Call) == Some(call));
        let mark = now.and_then(|now| now.json(Field::IsError)).filter(|mark| !mark.is_null());
        let differs =
            now.is_some_and(|now| now.is_true(Field::IsError) != block.is_true(Field::IsError));
        block.put(Field::IsError, mark.filter(|_| differs).cloned());
    }
}

/// Returns the thoughts among blocks.
fn thoughts(blocks: &[Node]) -> Vec<Vec<u8>> {
    blocks.iter().filter_map(|block| block.json(Field::Thinking)).map(Json::normal).collect()
}

/// Returns the content of blocks as any format shows it.
fn shown_content(blocks: &[Node]) -> Vec<Vec<u8>> {
    let node = Node::default().with(Field::Content, blocks.to_vec());
    shown_blocks(&node)
}

/// Replaces the text of a message.
pub fn set_text(node: &mut Node, text: &Json) {
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

/// Returns a value of the file. A time is spelled as the source spelled the time that it replaces.
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

/// Edited answer or tool result whose old text later records may repeat.
pub struct Answer {
    now: Record,
    was: Record,
}

impl Answer {
    /// Builds the edit of an answer that is one record in the base and one in the file.
    pub fn of(was: &[Record], now: &[Record]) -> Option<Self> {
        let ([was], [now]) = (was, now) else { return None };
        let is_one = ["assistant", "tool"].iter().any(|role| now.node.is(Field::Role, role));
        let answer = || Self { now: now.clone(), was: was.clone() };
        (now.kind == Kind::Message && is_one).then(answer)
    }

    /// Returns the node that holds the text: the message, or the first result in it.
    fn holder(message: &mut Node) -> Option<&mut Node> {
        if !message.is(Field::Role, "tool") {
            return Some(message);
        }
        let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) else { return None };
        blocks.iter_mut().find(|block| block.is(Field::Type, block::TOOL_RESULT))
    }

    /// Returns the new text in the place of this text, if this was the old text.
    fn new_text(&self, old: &Json) -> Option<Json> {
        let text = |record: &Record| block::message_text(Self::holder(&mut record.node.clone())?);
        let (was, now) = (text(&self.was)?, text(&self.now)?);
        (now != *old && was.normal() == old.normal()).then_some(now)
    }

    /// Gives the outcome of a run, or an event for an interface, the new text of the answer, if it
    /// repeats the old text.
    pub fn repeat(&self, record: &mut Record) {
        let mut edits = Vec::new();
        for field in [Field::Result, Field::Final] {
            let own = record.node.json(field).filter(|_| record.kind != Kind::Event);
            edits.extend(own.and_then(|old| Some((field, self.new_text(old)?))));
        }
        let data = record.node.json(Field::Data).filter(|_| record.kind == Kind::Event);
        edits.extend(data.and_then(|data| Some((Field::Data, self.shown(data)?))));
        for (field, new) in edits {
            record.node.set(field, new);
        }
    }

    /// Returns an object with the new text in the place of the member with the old text.
    fn shown(&self, data: &Json) -> Option<Json> {
        let members = data.pairs();
        let mut texts = members.iter().enumerate().filter(|(_, (_, value))| value.is_string());
        let (place, new) = texts.find_map(|(n, (_, value))| Some((n, self.new_text(value)?)))?;
        Some(Object::json(|object| {
            for (n, (key, value)) in members.iter().enumerate() {
                let value = if n == place { &new } else { value };
                object.spelled(key.as_bytes(), value.as_bytes());
            }
        }))
    }
}

/// Whether a new record is not content of the session: a blank line, or how the file ends.
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

/// Applies changed extra members of the file to those that the source has, too. Returns the names
/// of the others.
pub fn edit_extra(was: Option<&Node>, now: &Node, source: &mut Node) -> Vec<String> {
    let of = |node: &Node| node.json(Field::Extra).map(Json::pairs).unwrap_or_default();
    let known = was.map(of).unwrap_or_default();
    let held = of(source);
    let same = |list: &[(Json, Json)], name: &Json, value: &Json| {
        list.iter().any(|(other, own)| other == name && own.normal() == value.normal())
    };
    let new = of(now).into_iter().filter(|(name, value)| !same(&known, name, value));
    let (edits, unknown): (Vec<_>, Vec<_>) = new
        .filter(|(name, value)| !same(&held, name, value))
        .partition(|(name, _)| held.iter().any(|(other, _)| other == name));
    if !edits.is_empty() {
        source.set(
            Field::Extra,
            Object::json(|object| {
                for (name, value) in &held {
                    let new = edits.iter().find(|(other, _)| other == name).map(|(_, new)| new);
                    object.spelled(name.as_bytes(), new.unwrap_or(value).as_bytes());
                }
            }),
        );
    }
    unknown.into_iter().filter_map(|(name, _)| name.text()).collect()
}

/// Returns the fields that a user changed: those that differ between base and file, and new fields
/// of a session.
pub fn edits(was: &Record, now: &Record, source: Option<&Node>) -> Vec<Field> {
    let counts = |field: &Field| !NOT_EDITED.contains(field) || is_set(now.kind, *field);
    // Totals that only the file has are computed again by its agent.
    let own = |field: &Field| {
        source.is_none_or(|source| *field != Field::Totals || source.get(*field).is_some())
    };
    let known = was.node.fields().filter(counts).filter(own);
    // A time that only another part of the file contained is gone with that part, and was not
    // removed.
    let gone = |field: &Field| *field == Field::Time && now.node.get(*field).is_none();
    let differs = |field: &Field| !is_same(was.node.get(*field), now.node.get(*field));
    let mut edits: Vec<_> = known.filter(|field| differs(field) && !gone(field)).collect();
    let is_new = |field: &Field| {
        is_set(now.kind, *field)
            && was.node.get(*field).is_none()
            && source.is_some_and(|source| source.get(*field).is_none())
    };
    edits.extend(now.node.fields().filter(is_new));
    edits
}

/// Whether two values are equal, however they are spelled.
fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Json(a)), Some(Value::Json(b))) => a == b || a.normal() == b.normal(),
        (Some(Value::Node(a)), Some(Value::Node(b))) => {
            a.fields().chain(b.fields()).all(|field| is_same(a.get(field), b.get(field)))
        }
        (Some(Value::Nodes(a)), Some(Value::Nodes(b))) => {
            let same = |(a, b): (&Node, &Node)| {
                a.fields().chain(b.fields()).all(|field| is_same(a.get(field), b.get(field)))
            };
            a.len() == b.len() && a.iter().zip(b).all(same)
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Returns a value of the source with the differences between base and file. In a group, each
/// member is merged by itself.
pub fn edited(source: Option<&Value>, was: Option<&Value>, now: &Value) -> Value {
    match (source, was, now) {
        (Some(Value::Node(source)), was, Value::Node(now)) => {
            let was = match was {
                Some(Value::Node(was)) => was.clone(),
                _ => Node::default(),
            };
            let mut node = source.clone();
            for (field, value) in now.iter().filter(|(f, v)| !is_same(was.get(*f), Some(*v))) {
                node.set(field, edited(source.get(field), was.get(field), value));
            }
            let gone = was.fields().filter(|field| now.get(*field).is_none());
            gone.for_each(|field| drop(node.take(field)));
            node.into()
        }
        (source, _, now) => respelled(now, source),
    }
}

/// Returns the fields that a record of the target has now and did not have in the base.
pub fn unknown(was: &Record, now: &Record) -> Vec<Field> {
    let is_new = |field: &Field| !NOT_EDITED.contains(field) && was.node.get(*field).is_none();
    now.node.fields().filter(is_new).collect()
}
