//! One line of a rollout as a record.

use super::{items, twin, wire};
use crate::dialect::responses;
use crate::json::{Json, text};
use crate::mapping::template::{fill, take};
use crate::mapping::{Extra, Object, Row};
use crate::record::{Field, Kind, Node, Record, Value};
use crate::times;

/// Members of a line around its payload.
struct Envelope {
    time: Json,
    wire: String,
    payload: Json,
    /// Further members, such as `ordinal`.
    rest: Extra,
}

impl Envelope {
    /// Divides a line from version 2 on; `None` if Codex would not read it as one.
    fn of(line: &Json) -> Option<Self> {
        let (mut time, mut wire, mut payload, mut rest) = (None, None, None, Extra::default());
        for (key, value) in line.pairs() {
            let place = match key.text()?.as_str() {
                "timestamp" => &mut time,
                "type" => &mut wire,
                "payload" => &mut payload,
                _ => {
                    rest.add(key.as_bytes(), value.as_bytes());
                    continue;
                }
            };
            // A member that occurs twice can be read in two ways.
            if place.replace(value).is_some() {
                return None;
            }
        }
        let time = time.filter(Json::is_string)?;
        let payload = payload.filter(Json::is_object)?;
        Some(Self { time, wire: wire?.text()?, payload, rest })
    }
}

/// Reads the first line of a session: its record without source and file, and whether it is bare,
/// as in version 1. `None` if Codex would not accept it.
pub fn read_meta(line: &Json) -> Option<(Node, bool)> {
    if let Some(Envelope { time, wire, payload, rest }) = Envelope::of(line) {
        if wire != wire::META {
            return None;
        }
        let mut node = Node::with_capacity(10).with(Field::Time, time);
        let kept = take(&payload, wire::META_ROWS, &mut node);
        parent(&kept, &mut node);
        extra(rest, Some(&kept), &mut node);
        return node.json(Field::Id).is_some().then_some((node, false));
    }
    let has = |name| line.member(name).is_some();
    if has("type") || has("record_type") || has("payload") {
        return None;
    }
    let mut node = Node::with_capacity(6);
    let kept = take(line, wire::HEAD_ROWS, &mut node);
    extra(Extra::default(), Some(&kept), &mut node);
    let whole = [Field::Id, Field::Created].iter().all(|field| node.json(*field).is_some());
    whole.then_some((node, true))
}

/// Returns a line with its time, and that of the session in the first line, as text, and the old
/// time; `None` if neither is a number.
pub fn dated(line: &Json) -> Option<(Json, Json)> {
    let payload = line.member("payload").filter(|_| {
        let wire = line.text_of("type");
        wire.as_deref() == Some(wire::META)
    });
    let of_session = payload.and_then(|payload| payload.member("timestamp"));
    let places = [line.member("timestamp"), of_session].into_iter().flatten();
    let numbers = places.filter_map(|old| Some((times::of_number(&old)?, old)));
    let mut numbers: Vec<(jiff::Timestamp, Json)> = numbers.collect();
    numbers.sort_by_key(|(_, old)| std::cmp::Reverse(line.place_of(old).start));
    let (_, old) = numbers.last()?.clone();
    let mut bytes = line.as_bytes().to_vec();
    for (time, old) in numbers {
        let place = line.place_of(&old);
        let text = format!("\"{}\"", times::with_millis(time));
        bytes.splice(place.start..place.end, text.into_bytes());
    }
    Some((Json::trusted(bytes.into()), old))
}

/// Notes the session from which this one was made.
fn parent(kept: &Json, node: &mut Node) {
    let named = |name: &&'static str| {
        let id = kept.member(name).filter(Json::is_string)?;
        Some((id, *name))
    };
    let Some((id, name)) = wire::PARENTS.iter().find_map(named) else { return };
    let parent = Node::default().with(Field::Id, id).with(Field::Key, Json::string(name));
    node.set(Field::ParentSession, parent);
}

/// Sets the members for which the model has no place: those around the payload, and those of the
/// payload below its name.
fn extra(mut rest: Extra, payload: Option<&Json>, node: &mut Node) {
    if let Some(payload) = payload {
        rest.add(b"\"payload\"", payload.as_bytes());
    }
    rest.put(node);
}

/// Reads a line behind the first one. A record that belongs to the conversation is a node, but has
/// no identifier yet.
pub fn read(line: &Json, bare: bool) -> Record {
    if bare {
        return read_bare(line);
    }
    let Some(Envelope { time, wire, payload, rest }) = Envelope::of(line) else {
        return opaque(line);
    };
    let mut record = match wire.as_str() {
        wire::ITEM => read_item(&payload).unwrap_or_else(|| unread(&payload, &wire)),
        wire::COMPACTED => {
            let mut record = Record::new(Kind::Compaction);
            let kept = take(&payload, wire::COMPACTED_ROWS, &mut record.node);
            record.node.set(Field::Kept, Json::constant("[]"));
            record.node.set(Field::Extra, kept);
            record
        }
        wire::TURN_CONTEXT => {
            let mut record = Record::new(Kind::ModelChange);
            let kept = take(&payload, wire::TURN_ROWS, &mut record.node);
            record.node.set(Field::Extra, kept);
            if record.node.json(Field::Model).is_none() { repeated(record) } else { record }
        }
        wire::EVENT => Record::new(Kind::Event).with(Field::Data, payload),
        wire::AGENTS if items::of_agents(&payload).is_some() => whole(&wire, &payload),
        other => notice(other, payload),
    };
    let own = record.node.json(Field::Extra).cloned();
    record.node.take(Field::Extra);
    record.node.set(Field::Time, time);
    extra(rest, own.as_ref(), &mut record.node);
    record
}

fn read_bare(line: &Json) -> Record {
    if line.member("record_type").is_some() {
        return notice(STATE, line.clone());
    }
    let Some(mut record) = read_item(line) else { return unread(line, STATE) };
    if let Some(Value::Json(own)) = record.node.take(Field::Extra) {
        extra(Extra::default(), Some(&own), &mut record.node);
    }
    record
}

/// Subtype of lines of version 1 that are not items.
const STATE: &str = "state";

/// Returns an item that is not a message: a part of the conversation, or a notice where Codex does
/// not send it to a model.
fn unread(item: &Json, subtype: &str) -> Record {
    let wire = item.text_of("type");
    match wire.filter(|wire| responses::UNREAD.contains(&wire.as_str())) {
        Some(wire) => whole(&wire, item),
        None => notice(subtype, item.clone()),
    }
}

/// Keeps an item of the conversation whole that no message describes.
fn whole(wire: &str, item: &Json) -> Record {
    Record::new(Kind::Opaque).with(Field::Type, Json::string(wire)).with(Field::Data, item.clone())
}

fn notice(subtype: &str, data: Json) -> Record {
    Record::new(Kind::Notice).with(Field::Subtype, Json::string(subtype)).with(Field::Data, data)
}

/// Keeps an object whole that is not a line of Codex.
fn opaque(line: &Json) -> Record {
    Record::new(Kind::Opaque).with(Field::Data, line.clone())
}

/// Reads an item: a message, or a text of Codex itself for the model. `None` for any other item.
pub fn read_item(item: &Json) -> Option<Record> {
    let message = responses::read(item)?;
    if !twin::is_harness(&message) {
        return Some(Record { kind: Kind::Message, node: message });
    }
    Some(
        Record::new(Kind::Extension)
            .with(Field::CustomType, message.json(Field::Role)?.clone())
            .with(Field::Data, item.clone()),
    )
}

/// Returns the items of a list, such as a compaction's new history, that are sent to a model.
pub fn items(list: &Json) -> impl Iterator<Item = Record> {
    list.elements()
        .map(|item| read_item(&item).unwrap_or_else(|| unread(&item, STATE)))
        .filter(|record| record.kind != Kind::Notice)
}

/// Whether a record is an item of the conversation that no message describes.
pub fn is_item(record: &Record) -> bool {
    record.kind == Kind::Opaque && record.node.json(Field::Type).is_some()
}

/// Returns the type of the line of an item that no message describes.
pub fn wire_of(record: &Record) -> &'static str {
    if record.node.is(Field::Type, wire::AGENTS) { wire::AGENTS } else { wire::ITEM }
}

/// Returns the settings of a turn with the model of the turn before as a notice.
pub fn repeated(record: Record) -> Record {
    let mut node = record.node;
    let payload = |extra: &Json| extra.member("payload");
    let extra = node.json(Field::Extra).cloned();
    let inner = extra.as_ref().and_then(payload);
    let mut out = Vec::new();
    fill(inner.as_ref().or(extra.as_ref()), wire::TURN_ROWS, &node, &mut out);
    node.take(Field::Model);
    node.set(Field::Subtype, Json::string(wire::TURN_CONTEXT));
    let filled = Json::trusted(out.into());
    match inner {
        Some(_) => {
            let mut rest = Extra::default();
            for (key, value) in extra.iter().flat_map(Json::members) {
                let value = if text::is(key, "payload") { filled.as_bytes() } else { value };
                rest.add(key, value);
            }
            rest.put(&mut node);
        }
        None => node.set(Field::Extra, filled),
    }
    Record { kind: Kind::Notice, node }
}

/// Appends the first line.
pub fn write_meta(node: &Node, bare: bool, out: &mut Vec<u8>) {
    let kept = payload_of(node);
    if bare {
        fill(kept.as_ref(), wire::HEAD_ROWS, node, out);
        return;
    }
    let mut payload = Vec::new();
    fill(kept.as_ref(), wire::META_ROWS, node, &mut payload);
    envelope(node, wire::META, &payload, out);
}

/// Appends a line behind the first one; false if a rollout has none for the record.
pub fn write(record: &Record, bare: bool, out: &mut Vec<u8>) -> bool {
    let node = &record.node;
    let whole = node.json(Field::Data).filter(|_| record.kind == Kind::Opaque && !is_item(record));
    if let Some(data) = whole {
        out.extend_from_slice(data.as_bytes());
        return true;
    }
    let mut payload = Vec::new();
    let Some(wire) = write_payload(record, &mut payload) else { return false };
    match bare {
        false => envelope(node, &wire, &payload, out),
        true if [wire::ITEM, STATE].contains(&wire.as_str()) => out.extend_from_slice(&payload),
        true => return false,
    }
    true
}

/// Writes the payload of a line; returns the line's type.
fn write_payload(record: &Record, out: &mut Vec<u8>) -> Option<String> {
    let node = &record.node;
    let subtype = node.text(Field::Subtype);
    let rows = |rows: &'static [Row], out: &mut Vec<u8>| {
        fill(payload_of(node).as_ref(), rows, node, out);
    };
    let wire = match record.kind {
        Kind::Message => {
            let mut message = node.clone();
            message.take(Field::Extra);
            message.put(Field::Extra, payload_of(node));
            return responses::write(&message, out).then(|| wire::ITEM.to_owned());
        }
        Kind::Compaction => {
            rows(wire::COMPACTED_ROWS, out);
            wire::COMPACTED
        }
        Kind::ModelChange => {
            rows(wire::TURN_ROWS, out);
            wire::TURN_CONTEXT
        }
        Kind::Notice if subtype.as_deref() == Some(wire::TURN_CONTEXT) => {
            rows(&[], out);
            wire::TURN_CONTEXT
        }
        Kind::Notice => {
            out.extend_from_slice(node.json(Field::Data)?.as_bytes());
            return subtype;
        }
        Kind::Extension | Kind::Event | Kind::Opaque => {
            out.extend_from_slice(node.json(Field::Data)?.as_bytes());
            if record.kind == Kind::Event { wire::EVENT } else { wire_of(record) }
        }
        _ => return None,
    };
    Some(wire.to_owned())
}

/// Returns the line with an item that is added beside another line, at that line's time.
pub fn item(beside: &Json, item: &[u8], number: Option<u64>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    if let Some(time) = beside.member("timestamp") {
        object.member("timestamp", time.as_bytes());
    }
    if let Some(number) = number {
        object.member("ordinal", number.to_string().as_bytes());
    }
    text::quote(wire::ITEM, object.key("type"));
    object.member("payload", item);
    object.close();
    out
}

/// Gives a line of version 3 the number behind the last one; without a last number, it keeps its
/// own. Returns the number.
pub fn number(record: &mut Record, last: Option<u64>) -> Option<u64> {
    let extra = record.node.json(Field::Extra);
    let own = || Some(extra?.member("ordinal")?.float()? as u64);
    let Some(last) = last else { return own() };
    let mut renumbered = Extra::default();
    renumbered.add(b"\"ordinal\"", (last + 1).to_string().as_bytes());
    for (key, value) in extra.iter().flat_map(|extra| extra.members()) {
        if !text::is(key, "ordinal") {
            renumbered.add(key, value);
        }
    }
    renumbered.put(&mut record.node);
    Some(last + 1)
}

fn payload_of(node: &Node) -> Option<Json> {
    node.json(Field::Extra)?.member("payload")
}

fn envelope(node: &Node, wire: &str, payload: &[u8], out: &mut Vec<u8>) {
    let extra = node.json(Field::Extra);
    let mut object = Object::open(out);
    if let Some(time) = node.json(Field::Time) {
        object.member("timestamp", time.as_bytes());
    }
    if let Some(ordinal) = extra.and_then(|extra| extra.member("ordinal")) {
        object.member("ordinal", ordinal.as_bytes());
    }
    text::quote(wire, object.key("type"));
    object.member("payload", payload);
    for (key, value) in extra.into_iter().flat_map(Json::members) {
        if !text::is(key, "ordinal") && !text::is(key, "payload") {
            object.spelled(key, value);
        }
    }
    object.close();
}
