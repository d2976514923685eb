//! Writing records as pi's lines.

use super::read::role_of;
use super::version::{Named, TREE};
use super::wire::{self, EntryType, Inner, Role};
use crate::json::edit::Edits;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, Row, Source, row};
use crate::members::Scan;
use crate::record::{Field, Kind, Node, Record, block};

/// Appends the session's header.
pub fn header(node: &Node, version: u32, out: &mut Vec<u8>) {
    let late = node.is(Field::Layout, "late");
    let mut object = Object::open(out);
    object.member("type", b"\"session\"");
    let number = version.to_string();
    if version >= TREE && !late {
        object.member("version", number.as_bytes());
    }
    object.rows(const { &[row("id", Field::Id)] }, node);
    let joined = node.json(Field::Provider).is_none() && node.json(Field::Model).is_some();
    let parent = node.node(Field::ParentSession);
    if version < TREE || late {
        let rows = if joined { wire::HEADER_JOINED } else { wire::HEADER };
        object.rows(rows, node);
        parent_session(parent, version, &mut object);
    } else {
        object.rows(const { &[row("timestamp", Field::Created), row("cwd", Field::Cwd)] }, node);
        parent_session(parent, version, &mut object);
        // The members that version 2 moved from the header into entries come behind the header's
        // own.
        let rows = if joined { wire::HEADER_JOINED } else { wire::HEADER };
        let rest = rows.get(2..).unwrap_or_default();
        object.rows(rest, node);
    }
    object.extra(node);
    if version >= TREE && late {
        object.member("version", number.as_bytes());
    }
    object.close();
}

fn parent_session(parent: Option<&Node>, version: u32, object: &mut Object<'_>) {
    let Some(parent) = parent else { return };
    let Some(value) = parent.json(Field::Path).or(parent.json(Field::Data)) else {
        return;
    };
    let named = parent.text(Field::Key);
    let known = wire::PARENT_KEYS.into_iter().find(|key| Some(*key) == named.as_deref());
    object.member(known.unwrap_or(wire::parent_key(version)), value.as_bytes());
}

/// Appends the entry that a record represents; false if pi has no entry of its kind. `index` is the
/// position of a compaction's first kept entry, which version 1 names instead of its identifier.
pub fn entry(record: &Record, version: u32, index: Option<&Json>, out: &mut Vec<u8>) -> bool {
    let node = &record.node;
    match (record.kind, node.json(Field::Data)) {
        (Kind::Opaque, _) => {
            opaque(node, version, out);
            return true;
        }
        (Kind::Notice, Some(data)) if node.is(Field::Subtype, "session") => {
            further_header(data.as_bytes(), version, out);
            return true;
        }
        _ => {}
    }
    let Some(entry) = entry_type(record) else {
        return false;
    };
    let late = node.is(Field::Layout, "late");
    let (extra, message_extra) = split_extra(record, entry);
    let mut object = Object::open(out);
    text::quote(entry.wire, object.key("type"));
    if !entry.payload_first {
        base(node, version, !late, &mut object);
    }
    payload(record, entry, version, index, late, message_extra.as_ref(), &mut object);
    if entry.payload_first {
        base(node, version, true, &mut object);
    }
    object.extra_members(extra.as_ref());
    if late && version >= TREE {
        object.rows(IDS, node);
        if record.kind == Kind::Compaction {
            object.rows(FIRST_KEPT, node);
        }
    }
    object.close();
    true
}

/// The type of entry that a record is written as.
fn entry_type(record: &Record) -> Option<&'static EntryType> {
    let custom = record.node.is(Field::Subtype, "custom_message");
    let fits = |e: &&EntryType| e.kind == record.kind && (e.wire == "custom_message") == custom;
    wire::ENTRIES.iter().find(fits)
}

const IDS: &[Row] = &[row("id", Field::Id), row("parentId", Field::Parent)];
const FIRST_KEPT: &[Row] = &[row(wire::FIRST_KEPT_ID, Field::FirstKept)];

fn base(node: &Node, version: u32, ids: bool, object: &mut Object<'_>) {
    if version >= TREE && ids {
        object.rows(IDS, node);
    }
    object.rows(const { &[row("timestamp", Field::Time)] }, node);
}

fn payload(
    record: &Record,
    entry: &EntryType,
    version: u32,
    index: Option<&Json>,
    late: bool,
    message_extra: Option<&Json>,
    object: &mut Object<'_>,
) {
    let node = &record.node;
    match record.kind {
        Kind::Message if entry.rows.is_empty() => {
            message(node, version, message_extra, object.key("message"));
        }
        // Spelled `provider/id` where it was read so; pi's own migration keeps that too.
        Kind::ModelChange if node.json(Field::Provider).is_none() => {
            object.rows(wire::MODEL_CHANGE_JOINED, node);
        }
        Kind::Compaction => {
            for row in entry.rows {
                match (row.field, node.get(row.field)) {
                    (Field::FirstKept, _) if version < TREE => {
                        if let Some(index) = index {
                            object.member(wire::FIRST_KEPT_INDEX, index.as_bytes());
                        }
                    }
                    (Field::FirstKept, _) if late => {}
                    (_, Some(value)) => object.row(row, value),
                    (_, None) => {}
                }
            }
        }
        _ => object.rows(entry.rows, node),
    }
}

/// Appends a message's own object.
pub fn message(node: &Node, version: u32, extra: Option<&Json>, out: &mut Vec<u8>) {
    let role = role_of(node, version);
    let mut object = Object::open(out);
    match (role, node.json(Field::Role)) {
        (Some(role), _) => text::quote(role.wire, object.key("role")),
        (None, Some(name)) => object.member("role", name.as_bytes()),
        (None, None) => {}
    }
    match role {
        None => {
            // The members that a fork adds come before the time, where pi's own roles have their
            // members.
            let (content, time) = wire::OTHER_ROLE.split_at(1);
            object.rows(content, node);
            object.extra_members(extra);
            object.rows(time, node);
        }
        Some(role) => {
            members(node, role, &mut object);
            object.extra_members(extra);
        }
    }
    object.close();
}

fn members(node: &Node, role: &Role, object: &mut Object<'_>) {
    let (inner, fields): (_, &[Field]) = match role.inner {
        Inner::None => (None, &[]),
        Inner::ToolResult => (tool_result(node), wire::TOOL_RESULT_BLOCK),
        Inner::Bash => (node.node(Field::Bash), wire::BASH_GROUP),
    };
    for row in role.rows {
        let holder = inner.filter(|_| fields.contains(&row.field)).unwrap_or(node);
        object.rows(std::slice::from_ref(row), holder);
    }
    if let Some(inner) = inner {
        object.extra(inner);
    }
}

/// Returns the one block of a tool's message.
fn tool_result(node: &Node) -> Option<&Node> {
    let blocks = node.nodes(Field::Content)?;
    blocks.first().filter(|block| block.is(Field::Type, block::TOOL_RESULT))
}

/// Writes an entry that was kept whole, with the identifiers of its record.
fn placed(data: &[u8], node: &Node, version: u32, out: &mut Vec<u8>) {
    let scan = Scan::of(data).ok().flatten().filter(|_| version >= TREE);
    let (Some(scan), Some(id)) = (scan, node.json(Field::Id)) else {
        out.extend_from_slice(data);
        return;
    };
    let mut edits = Edits::default();
    edits.set(scan.id.map(|member| member.value), "id", id.as_bytes());
    if let Some(parent) = node.json(Field::Parent) {
        edits.set(scan.parent.map(|member| member.value), "parentId", parent.as_bytes());
    }
    edits.apply(data, scan.close, scan.members == 0, out);
}

/// Writes a further header, which pi skips, with the version that the file gets.
fn further_header(data: &[u8], version: u32, out: &mut Vec<u8>) {
    let Some(scan) = Scan::of(data).ok().flatten() else {
        out.extend_from_slice(data);
        return;
    };
    let present = scan.version.map(|member| member.value);
    let named = Named::of(present.map(|span| span.of(data)));
    let mut edits = Edits::default();
    match scan.version {
        _ if named.read_as() == version => {}
        // Headers of version 1 name none.
        Some(member) if version < TREE => {
            edits.replace(member.with_comma(data, scan.members), b"");
        }
        _ => edits.set(present, "version", version.to_string().as_bytes()),
    }
    edits.apply(data, scan.close, scan.members == 0, out);
}

fn opaque(node: &Node, version: u32, out: &mut Vec<u8>) {
    if let Some(data) = node.json(Field::Data) {
        placed(data.as_bytes(), node, version, out);
        return;
    }
    if let Some(text) = node.text(Field::Text) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let late = node.is(Field::Layout, "late");
    let mut object = Object::open(out);
    if let Some(wire) = node.json(Field::Type) {
        object.member("type", wire.as_bytes());
    }
    base(node, version, !late, &mut object);
    object.extra(node);
    if late && version >= TREE {
        object.rows(IDS, node);
    }
    object.close();
}

/// Whether the entry of a record holds a field. [`Field::FirstKept`] of version 1 depends on the
/// other entries, too.
pub fn holds(record: &Record, version: u32, field: Field) -> bool {
    const ALWAYS: &[Field] = &[Field::IdMade, Field::Time, Field::Extra, Field::Layout];
    let node = &record.node;
    let custom = node.is(Field::Subtype, "custom_message");
    match field {
        Field::Id | Field::Parent => version >= TREE || node.is_true(Field::IdMade),
        Field::Type | Field::Text => record.kind == Kind::Opaque,
        Field::Data if matches!(record.kind, Kind::Opaque | Kind::Notice) => true,
        Field::Role => record.kind == Kind::Message,
        Field::Subtype => custom || record.kind == Kind::Notice,
        _ if ALWAYS.contains(&field) => true,
        Field::Content | Field::Bash if record.kind == Kind::Message && !custom => {
            let role = role_of(node, version);
            let inner = role.map_or(Inner::None, |role| role.inner);
            let rows = role.map_or(wire::OTHER_ROLE, |role| role.rows);
            match field {
                Field::Bash => inner == Inner::Bash,
                _ => rows.iter().any(|row| row.field == field),
            }
        }
        _ => {
            let entry = entry_type(record);
            let role = role_of(node, version).map_or(wire::OTHER_ROLE, |role| role.rows);
            let message = record.kind == Kind::Message && !custom;
            let rows = if message { role } else { entry.map_or(&[][..], |entry| entry.rows) };
            rows.iter().any(|row| row.field == field)
        }
    }
}

/// The unnamed members of a record's message.
pub fn message_extra(record: &Record) -> Option<Json> {
    let entry = entry_type(record)?;
    split_extra(record, entry).1
}

/// Whether a record's extra has a `message` that is not an object, which has no place in a message.
pub fn message_extra_is_lost(record: &Record) -> bool {
    let extra = record.node.json(Field::Extra).filter(|_| record.kind == Kind::Message);
    let inner = extra.and_then(|extra| Source::new(extra.bytes()).peek("message").ok().flatten());
    let custom = record.node.is(Field::Subtype, "custom_message");
    !custom && inner.is_some_and(|inner| !inner.is_object())
}

/// Takes the message's own unnamed members out of a record's.
fn split_extra(record: &Record, entry: &EntryType) -> (Option<Json>, Option<Json>) {
    let extra = record.node.json(Field::Extra);
    let Some(extra) = extra.filter(|_| entry.kind == Kind::Message && entry.rows.is_empty()) else {
        return (extra.cloned(), None);
    };
    let (mut own, mut inner) = (Extra::default(), None);
    for (key, value) in extra.members() {
        if text::is(key, "message") {
            // Anything but an object has no place beside a message; the writer reports it.
            let slice = Json::trusted(extra.bytes().slice_ref(value));
            inner = Some(slice).filter(Json::is_object);
        } else {
            own.add(key, value);
        }
    }
    (own.finish(), inner)
}
