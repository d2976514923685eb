//! Writing records as pi's lines.

use super::read::role_of;
use super::version::TREE;
use super::wire::{self, EntryType, Inner, Role};
use crate::json::{Cursor, Fault, Json, text};
use crate::mapping::{Extra, Object, Row, row};
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
        // What version 2 moved from the header into entries stands behind its own members.
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

/// Appends the entry that a record stands for; false if pi has none of its kind. `index` is the
/// position of a compaction's first kept entry, which version 1 names instead of its identifier.
pub fn entry(record: &Record, version: u32, index: Option<u64>, out: &mut Vec<u8>) -> bool {
    let node = &record.node;
    match (record.kind, node.json(Field::Data)) {
        (Kind::Opaque, _) => {
            opaque(node, version, out);
            return true;
        }
        // A further header, which pi reads past.
        (Kind::Notice, Some(data)) if node.is(Field::Subtype, "session") => {
            out.extend_from_slice(data.as_bytes());
            return true;
        }
        _ => {}
    }
    let custom_message = node.is(Field::Subtype, "custom_message");
    let known = wire::ENTRIES
        .iter()
        .find(|e| e.kind == record.kind && (e.wire == "custom_message") == custom_message);
    let Some(entry) = known else { return false };
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
            object.rows(KEPT, node);
        }
    }
    object.close();
    true
}

const IDS: &[Row] = &[row("id", Field::Id), row("parentId", Field::Parent)];
const KEPT: &[Row] = &[row(wire::FIRST_KEPT_ID, Field::FirstKept)];

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
    index: Option<u64>,
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
                            object.member(wire::FIRST_KEPT_INDEX, index.to_string().as_bytes());
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
            // What a fork adds stands before the time, where pi's own roles have their members.
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

/// The one block of a tool's message.
fn tool_result(node: &Node) -> Option<&Node> {
    let blocks = node.nodes(Field::Content)?;
    blocks.first().filter(|block| block.is(Field::Type, block::TOOL_RESULT))
}

fn opaque(node: &Node, version: u32, out: &mut Vec<u8>) {
    if let Some(data) = node.json(Field::Data) {
        out.extend_from_slice(data.as_bytes());
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

/// The unnamed members of a record's message.
#[must_use]
pub fn message_extra(record: &Record) -> Option<Json> {
    let entry = wire::ENTRIES.iter().find(|e| e.kind == record.kind && e.rows.is_empty())?;
    split_extra(record, entry).1
}

/// Takes the message's own unnamed members out of a record's.
fn split_extra(record: &Record, entry: &EntryType) -> (Option<Json>, Option<Json>) {
    let extra = record.node.json(Field::Extra);
    let Some(extra) = extra.filter(|_| entry.kind == Kind::Message && entry.rows.is_empty()) else {
        return (extra.cloned(), None);
    };
    let (mut own, mut inner) = (Extra::default(), None);
    let mut cursor = Cursor::new(extra.as_bytes());
    let mut walk = || -> Result<(), Fault> {
        cursor.begin_object()?;
        while let Some(key) = cursor.next_key()? {
            let value = cursor.skip_value()?;
            let (key, bytes) = (key.of(extra.as_bytes()), extra.bytes());
            if text::is(key, "message") && inner.is_none() {
                inner = Some(Json::checked(bytes.slice(value.start..value.end)));
            } else {
                own.add(key, value.of(bytes));
            }
        }
        Ok(())
    };
    // A field of the model holds checked JSON, so the walk cannot fail.
    let walked = walk();
    debug_assert!(walked.is_ok(), "{walked:?}");
    (own.finish(), inner)
}
