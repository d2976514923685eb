//! Reading pi's lines as records.

use super::lineage::{IndexMeaning, Lineage, quoted};
use super::version::{Named, TREE};
use super::wire::{self, EntryType, Inner, Role};
use crate::json::{Fault, Json, text};
use crate::mapping::{self, Extra, Finder, Row, Source, row};
use crate::members::Scan;
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// The layout in which pi's own migration leaves a line: the new members are last.
const LATE: Json = Json::constant("\"late\"");
const TRUE: Json = Json::constant("true");

/// Reads one line that is not the header. `version` is the version of the session. Without
/// `contents`, the content and the usage of messages are left out.
///
/// # Errors
/// If the line is not one JSON value. A value that is not an object is an opaque record.
pub fn entry(
    line: &Bytes,
    version: u32,
    contents: bool,
    lineage: &mut Lineage,
) -> Result<Record, Fault> {
    let mut source = Source::new(line);
    if source.cursor.peek() != Some(b'{') {
        let record = whole(line)?;
        // pi drops a line that does not parse before it counts, and counts every value.
        lineage.other();
        return Ok(record);
    }
    let wire = source.peek_text("type")?;
    if wire.as_deref() == Some("session") {
        let mut record = whole(line)?;
        lineage.header();
        record.kind = Kind::Notice;
        record.node.set(Field::Subtype, Json::constant("\"session\""));
        return Ok(record);
    }
    let mut entry = Entry::of_type(wire.as_deref(), version);
    entry.contents = contents;
    entry.members(&mut source)?;
    source.cursor.end()?;
    let (id, before) = lineage.entry();
    if source.ambiguous {
        return ambiguous(line, version, id, before);
    }
    let mut record = entry.finish(wire.as_deref());
    if version < TREE {
        made_ids(&mut record, id, before);
        take_first_kept(&mut record, lineage);
    }
    Ok(record)
}

/// Keeps a line's one value as it is.
fn whole(line: &Bytes) -> Result<Record, Fault> {
    mapping::whole(line, None)
}

/// Keeps an entry whole that could be read in two ways, in its place in the tree.
fn ambiguous(
    line: &Bytes,
    version: u32,
    id: [u8; 8],
    before: Option<[u8; 8]>,
) -> Result<Record, Fault> {
    let mut record = whole(line)?;
    if version < TREE {
        made_ids(&mut record, id, before);
    } else if let Some(scan) = Scan::of(line)? {
        for (field, member) in [(Field::Id, scan.id), (Field::Parent, scan.parent)] {
            let value = member.map(|member| line.slice(member.value.start..member.value.end));
            let value = value.filter(|v| v.first().is_some_and(|b| field.shape().admits(*b)));
            if let Some(value) = value {
                record.node.set(field, Json::trusted(value));
            }
        }
    }
    Ok(record)
}

fn made_ids(record: &mut Record, id: [u8; 8], before: Option<[u8; 8]>) {
    let json = |id| Json::trusted(Bytes::copy_from_slice(&quoted(id)));
    record.node.set(Field::Id, json(id));
    record.node.set(Field::Parent, before.map_or(Json::constant("null"), json));
    record.node.set(Field::IdMade, TRUE);
}

/// Converts version 1's index to the identifier that it means. An index that means none stays among
/// the unnamed members.
fn take_first_kept(record: &mut Record, lineage: &Lineage) {
    let Some(Value::Json(index)) = record.node.take(Field::FirstKept) else { return };
    match lineage.first_kept(index.as_bytes()) {
        IndexMeaning::Entry(id, _)
        | IndexMeaning::Header(id, _)
        | IndexMeaning::Behind(id, _)
        | IndexMeaning::Itself(id, _) => {
            let json = Json::trusted(Bytes::copy_from_slice(&quoted(id)));
            record.node.set(Field::FirstKept, json);
        }
        IndexMeaning::Nowhere | IndexMeaning::NoNumber => {
            let mut extra = Extra::default();
            let mut key = Vec::new();
            text::quote(wire::FIRST_KEPT_INDEX, &mut key);
            extra.add(&key, index.as_bytes());
            if let Some(Value::Json(rest)) = record.node.take(Field::Extra) {
                extra.add_members(&rest);
            }
            extra.put(&mut record.node);
        }
    }
}

/// An entry while its members are read.
struct Entry {
    kind: Option<&'static EntryType>,
    /// Whether entries of this version have identifiers.
    tree: bool,
    node: Node,
    extra: Extra,
    message_extra: Extra,
    /// Whether the entry has a `message` with a role that a record can hold.
    message: bool,
    /// Whether the entry has a `message` of any kind.
    message_seen: bool,
    /// Whether the content of messages is read.
    contents: bool,
    /// Place of `id` among the members, and number of members so far.
    id_at: Option<usize>,
    count: usize,
}

impl Entry {
    fn of_type(wire: Option<&str>, version: u32) -> Self {
        Self {
            kind: wire::ENTRIES.iter().find(|entry| Some(entry.wire) == wire),
            tree: version >= TREE,
            node: Node::with_capacity(16),
            extra: Extra::default(),
            message_extra: Extra::default(),
            message: false,
            message_seen: false,
            contents: true,
            id_at: None,
            count: 0,
        }
    }

    fn members(&mut self, source: &mut Source<'_>) -> Result<(), Fault> {
        let mut finder = Finder::new(self.kind.map_or(&[], |kind| kind.rows));
        let mut typed = false;
        source.cursor.begin_object()?;
        while let Some(key) = source.cursor.next_key()? {
            let name = source.spelling(key);
            self.count += 1;
            if text::is(name, "type") {
                source.ambiguous |= std::mem::replace(&mut typed, true);
                let value = source.cursor.skip_value()?;
                if !source.spelling(value).starts_with(b"\"") {
                    self.extra.add(name, source.spelling(value));
                }
            } else if text::is(name, "timestamp") {
                source.value(
                    key,
                    &const { row("timestamp", Field::Time) },
                    &mut self.node,
                    &mut self.extra,
                )?;
            } else if self.tree && text::is(name, "id") {
                self.id_at.get_or_insert(self.count);
                source.value(
                    key,
                    &const { row("id", Field::Id) },
                    &mut self.node,
                    &mut self.extra,
                )?;
            } else if self.tree && text::is(name, "parentId") {
                source.value(
                    key,
                    &const { row("parentId", Field::Parent) },
                    &mut self.node,
                    &mut self.extra,
                )?;
            } else if let Some(row) = finder.find(name).filter(|row| self.has(row)) {
                source.value(key, row, &mut self.node, &mut self.extra)?;
            } else if !self.other_member(name, source)? {
                source.unknown(key, &mut self.extra)?;
            }
        }
        Ok(())
    }

    /// Whether the version has a member: version 1 has no identifiers, so the identifier of a first
    /// kept entry is not understood there.
    fn has(&self, row: &Row) -> bool {
        self.tree || row.field != Field::FirstKept
    }

    /// Reads members that some kinds have and no row names: the message, and older spellings.
    /// Returns whether it read the member.
    fn other_member(&mut self, name: &[u8], source: &mut Source<'_>) -> Result<bool, Fault> {
        let Some(kind) = self.kind else {
            return Ok(false);
        };
        let first = source.cursor.peek().unwrap_or_default();
        match kind.kind {
            Kind::Message if kind.rows.is_empty() && text::is(name, "message") => {
                source.ambiguous |= std::mem::replace(&mut self.message_seen, true);
                let role = source.peek_text("role")?.filter(|role| !is_misleading(role));
                let Some(role) = role else { return Ok(false) };
                self.message = true;
                source.skims = !self.contents;
                let read = message(&role, source, &mut self.node, &mut self.message_extra);
                source.skims = false;
                read.map(|()| true)
            }
            Kind::ModelChange if text::is(name, "model") && first == b'"' => {
                let value = source.cursor.skip_value()?;
                self.node.set(Field::Model, source.json(value));
                Ok(true)
            }
            // The index may have any JSON type. Its meaning is decided when the entry's number is
            // known.
            Kind::Compaction if !self.tree && text::is(name, wire::FIRST_KEPT_INDEX) => {
                let value = source.cursor.skip_value()?;
                self.node.set(Field::FirstKept, source.json(value));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn finish(mut self, wire: Option<&str>) -> Record {
        let whole_message = self.kind.is_some_and(|k| k.kind == Kind::Message && k.rows.is_empty());
        let kind = match self.kind {
            Some(_) if whole_message && !self.message => Kind::Opaque,
            Some(entry) => entry.kind,
            None => Kind::Opaque,
        };
        if kind == Kind::Opaque
            && let Some(wire) = wire
        {
            self.node.set(Field::Type, Json::string(wire));
        }
        if self.kind.is_some_and(|entry| entry.wire == "custom_message") {
            self.node.set(Field::Role, Json::constant("\"custom\""));
            // Told from a message of role custom, which pi keeps under `message`.
            self.node.set(Field::Subtype, Json::constant("\"custom_message\""));
        }
        let payload_first = self.kind.is_some_and(|entry| entry.payload_first);
        if !payload_first && self.id_at.is_some_and(|at| at > 2) {
            self.node.set(Field::Layout, LATE);
        }
        if let Some(inner) = self.message_extra.finish() {
            self.extra.add(b"\"message\"", inner.as_bytes());
        }
        self.extra.put(&mut self.node);
        Record { kind, node: self.node }
    }
}

/// Reads a message's object into the record's node.
fn message(
    wire: &str,
    source: &mut Source<'_>,
    node: &mut Node,
    extra: &mut Extra,
) -> Result<(), Fault> {
    let known = wire::ROLES.iter().find(|role| role.wire == wire);
    let rows = known.map_or(wire::OTHER_ROLE, |role| role.rows);
    let name = known.map_or(wire, |role| role.name);
    node.set(Field::Role, role_json(name));
    match known.map_or(Inner::None, |role| role.inner) {
        Inner::None => source.members(rows, Some("role"), node, extra),
        Inner::ToolResult => {
            source.members(rows, Some("role"), node, extra)?;
            let mut result = Node::with_capacity(wire::TOOL_RESULT_BLOCK.len() + 1);
            result.set(Field::Type, block::type_of(block::TOOL_RESULT));
            moved(wire::TOOL_RESULT_BLOCK, node, &mut result);
            node.set(Field::Content, vec![result]);
            Ok(())
        }
        Inner::Bash => {
            source.members(rows, Some("role"), node, extra)?;
            let mut bash = Node::default();
            moved(wire::BASH_GROUP, node, &mut bash);
            node.set(Field::Bash, bash);
            Ok(())
        }
    }
}

/// Whether a role is unknown to pi and has the canonical name of another role.
fn is_misleading(wire: &str) -> bool {
    wire::ROLES.iter().all(|role| role.wire != wire)
        && wire::ROLES.iter().any(|role| role.name == wire)
}

fn role_json(name: &str) -> Json {
    match name {
        "user" => Json::constant("\"user\""),
        "assistant" => Json::constant("\"assistant\""),
        "tool" => Json::constant("\"tool\""),
        other => Json::string(other),
    }
}

fn moved(fields: &[Field], from: &mut Node, to: &mut Node) {
    for &field in fields {
        to.put(field, from.take(field));
    }
}

/// Returns the role of a record, by its canonical name and the version to write.
pub fn role_of(node: &Node, version: u32) -> Option<&'static Role> {
    // Version 3 renamed `hookMessage`; the name before that is the later row.
    let mut fitting = wire::ROLES.iter().filter(|role| node.is(Field::Role, role.name));
    if version < super::version::NEWEST { fitting.next_back() } else { fitting.next() }
}

/// Header of a session, as the first line contains it.
#[derive(Debug)]
pub struct Header {
    /// The session record, `source` included.
    pub record: Record,
    /// Meaning of the header's version.
    pub named: Named,
}

/// Reads the header; `None` if pi would not accept the line as a header.
pub fn header(line: &Bytes, format: &str) -> Result<Option<Header>, Fault> {
    let mut source = Source::new(line);
    if !Scan::of(line)?.is_some_and(|scan| scan.is(line, "session")) {
        let span = source.cursor.skip_value();
        return span.and_then(|_| source.cursor.end()).map(|()| None);
    }
    let (mut node, mut extra) = (Node::with_capacity(12), Extra::default());
    let (mut version, mut version_last, mut parent) = (None, false, None);
    let mut finder = Finder::new(wire::HEADER);
    source.cursor.begin_object()?;
    while let Some(key) = source.cursor.next_key()? {
        let name = source.spelling(key);
        version_last = text::is(name, "version");
        if text::is(name, "type") {
            source.cursor.skip_value()?;
        } else if version_last {
            let span = source.cursor.skip_value()?;
            version = Some(source.spelling(span));
        } else if text::is(name, "id") {
            // The last one counts, whatever it is.
            node.take(Field::Id);
            source.value(key, &const { row("id", Field::Id) }, &mut node, &mut extra)?;
        } else if text::is(name, "model") {
            source.value(key, &const { row("model", Field::Model) }, &mut node, &mut extra)?;
        } else if parent.is_none() && wire::PARENT_KEYS.iter().any(|key| text::is(name, key)) {
            let span = source.cursor.skip_value()?;
            parent = Some((source.json(key), source.json(span)));
        } else if let Some(row) = finder.find(name) {
            source.value(key, row, &mut node, &mut extra)?;
        } else {
            source.unknown(key, &mut extra)?;
        }
    }
    source.cursor.end()?;
    if node.json(Field::Id).is_none() {
        return Ok(None);
    }
    let named = Named::of(version);
    if let Some((key, value)) = parent {
        // A version in the last place came with a migration, which does not rename the key of the
        // version before. The usual key of this version has no meaning then.
        let usual = Some(wire::parent_key(named.read_as())).filter(|_| !version_last);
        parent_session(key, value, usual, &mut node);
    }
    let spec = format!("{format}@{}", named.read_as());
    node.set(Field::Source, Json::string(&spec));
    extra.put(&mut node);
    if version_last {
        node.set(Field::Layout, LATE);
    }
    Ok(Some(Header { record: Record { kind: Kind::Session, node }, named }))
}

fn parent_session(key: Json, value: Json, usual: Option<&str>, node: &mut Node) {
    let mut parent = Node::default();
    let field = if value.text().is_some() { Field::Path } else { Field::Data };
    parent.set(field, value);
    if usual.is_none() || key.text().as_deref() != usual {
        parent.set(Field::Key, key);
    }
    node.set(Field::ParentSession, parent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Log;
    use crate::format::{Cx, Options};

    #[test]
    fn without_contents_a_line_is_the_same_entry() {
        let blocks = r#"{"type":"text","text":"a\u00e9"},{"type":"toolCall","id":"c","name":"ls"}"#;
        let odd = r#"{"type":"text","text":"a","type":"thinking"}"#;
        let usage = r#""usage":{"input":1,"cost":{"total":2}},"provider":"p""#;
        let lines = [
            format!(r#"{{"role":"assistant","content":[{blocks}],{usage}}}"#),
            format!(r#"{{"role":"assistant","content":[{blocks},{odd}],{usage}}}"#),
            format!(r#"{{"role":"toolResult","toolCallId":"c","content":[{blocks}]}}"#),
            format!(r#"{{"role":"user","content":[{blocks},{{"type":"x","a":[}}]}}"#),
            r#"{"role":"user","content":"a"}"#.to_owned(),
        ];
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        for message in lines {
            let line =
                format!(r#"{{"type":"message","id":"a1","parentId":null,"message":{message}}}"#);
            let read = |contents| {
                let mut lineage = Lineage::new(b"\"s\"", &cx);
                entry(&line.clone().into(), TREE, contents, &mut lineage).map(|read| {
                    let Record { kind, mut node } = read;
                    node.take(Field::Content);
                    node.take(Field::Usage);
                    (kind, node)
                })
            };
            assert_eq!(read(true), read(false), "{line}");
        }
    }
}
