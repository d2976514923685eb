//! Conversion between a producer's JSON objects and [`Node`]s, by table.
//!
//! A format names its members once, in the order in which the producer writes them; the same rows
//! read and write. A member that no row names, or whose value has another shape than its field, is
//! kept in [`Field::Extra`], in order and in its own spelling, and written behind the named
//! members; where the producer writes it among them, a row names its place
//! ([`Object::in_order`]).

mod extra;
mod look;
pub mod record_text;
pub mod template;
mod unmodelled;

pub use extra::{Extra, misfit, without};
pub use look::Finder;
pub use unmodelled::Putting;

use crate::json::{Cursor, Fault, Json, Span, put, text};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;

/// One member of a producer's object.
#[derive(Debug)]
pub struct Row {
    /// The producer's name of the member.
    pub key: &'static str,
    /// The model's name of the member; `Extra` for a member that has none.
    pub field: Field,
    /// Structure of the member's value.
    pub how: How,
}

/// Structure of a member's value.
#[derive(Debug)]
pub enum How {
    /// A JSON value that keeps its spelling.
    Json,
    /// An object with rows of its own.
    Object(&'static [Row]),
    /// A string, `null`, or a list of content blocks.
    Blocks(&'static [BlockType]),
    /// An object whose members are fields of the node itself. Members that no row names go to the
    /// row's field; if the row has none, to the unnamed members, under the object's name.
    Inline(&'static [Row]),
    /// A value that is always the same and therefore no field. Another value is an unnamed member.
    Constant(&'static str),
    /// A value without a field: an unnamed member that has a place among the others.
    Unmodelled,
    /// A value that the caller reads and writes.
    Custom,
}

/// A type of content block.
#[derive(Debug)]
pub struct BlockType {
    /// The producer's name, the value of the block's `type`.
    pub wire: &'static str,
    /// The model's name.
    pub name: &'static str,
    /// Its members.
    pub rows: &'static [Row],
}

/// Returns a row for a value that keeps its spelling.
pub const fn row(key: &'static str, field: Field) -> Row {
    Row { key, field, how: How::Json }
}

/// Returns a row for an object.
pub const fn object(key: &'static str, field: Field, rows: &'static [Row]) -> Row {
    Row { key, field, how: How::Object(rows) }
}

/// Returns a row for content.
pub const fn blocks(key: &'static str, field: Field, types: &'static [BlockType]) -> Row {
    Row { key, field, how: How::Blocks(types) }
}

/// Returns a row for an object whose members are fields of the node itself; `rest` is the field for
/// its unnamed members.
pub const fn within(key: &'static str, rest: Option<Field>, rows: &'static [Row]) -> Row {
    let field = match rest {
        Some(field) => field,
        None => Field::Extra,
    };
    Row { key, field, how: How::Inline(rows) }
}

/// Returns a row for a value that is always the same.
pub const fn fixed(key: &'static str, value: &'static str) -> Row {
    Row { key, field: Field::Extra, how: How::Constant(value) }
}

/// Returns a row for a value without a field.
pub const fn kept(key: &'static str) -> Row {
    Row { key, field: Field::Extra, how: How::Unmodelled }
}

/// Returns a row for a value that the caller reads and writes.
pub const fn apart(key: &'static str) -> Row {
    Row { key, field: Field::Extra, how: How::Custom }
}

/// Function that reads a member in a way of its own; returns whether it did.
pub type Taking<'t> = &'t mut dyn FnMut(&mut Source<'_>, Span, &mut Extra) -> Result<bool, Fault>;

/// Keeps a text's one value as it is, under the name of its type where that is known.
pub fn whole(text: &Bytes, name: Option<&str>) -> Result<Record, Fault> {
    let mut source = Source::new(text);
    let span = source.cursor.skip_value()?;
    source.cursor.end()?;
    let mut record = Record::new(Kind::Opaque);
    if let Some(name) = name {
        record.node.set(Field::Type, Json::string(name));
    }
    record.node.set(Field::Data, source.json(span));
    Ok(record)
}

/// Reads one line's objects. The grammar of all text that it steps over is checked.
#[derive(Debug)]
pub struct Source<'a> {
    line: &'a Bytes,
    /// The walk over the line.
    pub cursor: Cursor<'a>,
    /// Whether a member that decides how its object is read came twice. JavaScript takes the last
    /// one; the reader of such an object keeps it whole instead of guessing.
    pub ambiguous: bool,
    /// Whether any other member that came twice makes an object ambiguous, too.
    pub unique: bool,
    /// Position of the value that the caller reads.
    pub apart: Option<Span>,
    /// Whether groups and content are skipped after a check.
    pub skims: bool,
}

impl<'a> Source<'a> {
    /// Starts at the beginning of `line`, which must be UTF-8.
    pub fn new(line: &'a Bytes) -> Self {
        Self::at(line, Cursor::new(line))
    }

    /// Continues at `cursor`.
    pub fn at(line: &'a Bytes, cursor: Cursor<'a>) -> Self {
        Self { line, cursor, ambiguous: false, unique: false, apart: None, skims: false }
    }

    /// Returns the value that `span` covers, as a slice of the line.
    pub fn json(&self, span: Span) -> Json {
        Json::trusted(self.line.slice(span.start..span.end))
    }

    /// Returns the spelling that `span` covers.
    pub fn spelling(&self, span: Span) -> &'a [u8] {
        span.of(self.line)
    }

    /// Reads one value by its row; a value of another shape goes to `extra`.
    pub fn value(
        &mut self,
        key: Span,
        row: &Row,
        node: &mut Node,
        extra: &mut Extra,
    ) -> Result<(), Fault> {
        let first = self.cursor.peek().unwrap_or_default();
        let value: Value = match (&row.how, first) {
            (How::Inline(_) | How::Constant(_) | How::Unmodelled | How::Custom, _) => {
                return self.placed(key, row, node, extra);
            }
            _ if !row.field.shape().admits(first) => {
                // Of two members of one name the last counts, as in JavaScript.
                node.take(row.field);
                return self.unknown(key, extra);
            }
            (How::Object(_), b'{') | (How::Blocks(_), b'[') if self.skims => {
                node.take(row.field);
                return self.skim(&row.how);
            }
            (How::Object(rows), b'{') => {
                let mut inner = Node::with_capacity(rows.len());
                self.object(rows, None, &mut inner)?;
                inner.into()
            }
            (How::Blocks(types), b'[') => self.block_list(types)?.into(),
            _ => {
                let span = self.cursor.skip_value()?;
                self.json(span).into()
            }
        };
        node.set(row.field, value);
        Ok(())
    }

    /// Keeps a member as it is.
    pub fn unknown(&mut self, key: Span, extra: &mut Extra) -> Result<(), Fault> {
        let value = self.cursor.skip_value()?;
        extra.add(self.spelling(key), self.spelling(value));
        Ok(())
    }

    /// Reads the object that begins here. `decides` is the member that the caller has already read
    /// to choose the rows; it is skipped.
    pub fn object(
        &mut self,
        rows: &'static [Row],
        decides: Option<&str>,
        node: &mut Node,
    ) -> Result<(), Fault> {
        let mut extra = Extra::default();
        self.members(rows, decides, node, &mut extra)?;
        extra.put(node);
        Ok(())
    }

    /// Reads the object that begins here; the unnamed members are left to the caller.
    pub fn members(
        &mut self,
        rows: &'static [Row],
        decides: Option<&str>,
        node: &mut Node,
        extra: &mut Extra,
    ) -> Result<(), Fault> {
        let mut finder = Finder::new(rows);
        self.each_member(decides, |source, key| match finder.find(source.spelling(key)) {
            Some(row) => source.value(key, row, node, extra),
            None => source.unknown(key, extra),
        })
    }

    /// Reads the object that begins here; `take` is called first for each member.
    pub fn taking(
        &mut self,
        rows: &'static [Row],
        node: &mut Node,
        extra: &mut Extra,
        take: Taking<'_>,
    ) -> Result<(), Fault> {
        let mut finder = Finder::new(rows);
        self.each_member(None, |source, key| match finder.find(source.spelling(key)) {
            _ if take(source, key, extra)? => Ok(()),
            Some(row) => source.value(key, row, node, extra),
            None => source.unknown(key, extra),
        })
    }

    /// Walks through the object that begins here, and lets `take` take the value of each member
    /// except the member that decides how the object is read.
    fn each_member(
        &mut self,
        decides: Option<&str>,
        mut take: impl FnMut(&mut Self, Span) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (mut decided, mut seen) = (false, Vec::new());
        self.cursor.begin_object()?;
        while let Some(key) = self.cursor.next_key()? {
            if self.unique {
                let name = self.spelling(key);
                self.ambiguous |= seen.contains(&name);
                seen.push(name);
            }
            if decides.is_some_and(|decides| text::is(self.spelling(key), decides)) {
                self.ambiguous |= std::mem::replace(&mut decided, true);
                self.cursor.skip_value()?;
            } else {
                take(self, key)?;
            }
        }
        Ok(())
    }

    /// Reads the list of blocks that begins here.
    pub fn block_list(&mut self, types: &'static [BlockType]) -> Result<Vec<Node>, Fault> {
        let mut list = Vec::new();
        self.cursor.begin_array()?;
        while self.cursor.next_element()? {
            list.push(self.block(types)?);
        }
        Ok(list)
    }

    fn block(&mut self, types: &'static [BlockType]) -> Result<Node, Fault> {
        let wire = self.peek_text("type")?;
        let known = types.iter().find(|t| Some(t.wire) == wire.as_deref());
        let Some(known) = known else {
            let span = self.cursor.skip_value()?;
            return Ok(block::of(block::OPAQUE).with(Field::Data, self.json(span)));
        };
        let mut node = Node::with_capacity(known.rows.len() + 1);
        node.set(Field::Type, block::type_of(known.name));
        self.object(known.rows, Some("type"), &mut node)?;
        Ok(node)
    }
}

/// Spaces that a producer puts between the parts of its JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// No spaces, as in JavaScript's `JSON.stringify`.
    #[default]
    None,
    /// A space behind each comma and colon, as in Python's `json.dumps`.
    Python,
}

impl Spacing {
    fn comma(self) -> &'static [u8] {
        if self == Self::None { b"," } else { b", " }
    }

    fn colon(self) -> &'static [u8] {
        if self == Self::None { b"\":" } else { b"\": " }
    }
}

/// Writes one object, member by member.
#[derive(Debug)]
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
    spacing: Spacing,
}

impl<'o> Object<'o> {
    /// Opens the object.
    pub fn open(out: &'o mut Vec<u8>) -> Self {
        Self::spaced(out, Spacing::None)
    }

    /// Opens the object with this spacing.
    pub fn spaced(out: &'o mut Vec<u8>, spacing: Spacing) -> Self {
        out.push(b'{');
        Self { out, first: true, spacing }
    }

    /// Returns the object whose members `write` writes.
    pub fn json(write: impl FnOnce(&mut Object<'_>)) -> Json {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        write(&mut object);
        object.close();
        Json::trusted(out.into())
    }

    /// Closes the object.
    pub fn close(self) {
        self.out.push(b'}');
    }

    /// Closes the object in another buffer, behind the members of an object's spelling.
    pub fn close_behind(mut self, members: Option<&Json>, tail: &'o mut Vec<u8>) {
        self.out = tail;
        self.extra_members(members);
        self.close();
    }

    /// Writes a key that needs no escaping; the value must follow.
    pub fn key(&mut self, key: &str) -> &mut Vec<u8> {
        self.separate();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(self.spacing.colon());
        self.out
    }

    /// Writes a member in its spelling.
    pub fn member(&mut self, key: &str, value: &[u8]) {
        put(value, self.key(key));
    }

    /// Writes a member whose key is spelled with its quotes.
    pub fn spelled(&mut self, key: &[u8], value: &[u8]) {
        let key = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
        self.member(&String::from_utf8_lossy(key), value);
    }

    /// Writes the members of an object's spelling.
    pub fn members_of(&mut self, object: &Json) {
        let spelling = object.as_bytes();
        let inner = spelling.get(1..spelling.len().saturating_sub(1)).unwrap_or_default();
        if inner.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.separate();
        self.out.extend_from_slice(inner);
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.first) {
            self.out.extend_from_slice(self.spacing.comma());
        }
    }

    /// Writes the rows for which the node has a value.
    pub fn rows(&mut self, rows: &'static [Row], node: &Node) {
        for row in rows {
            if let Some(value) = node.get(row.field) {
                self.row(row, value);
            }
        }
    }

    /// Writes one row's member.
    pub fn row(&mut self, row: &Row, value: &Value) {
        let spacing = self.spacing;
        let out = self.key(row.key);
        match (value, &row.how) {
            (Value::Json(json), _) => put(json.as_bytes(), out),
            (Value::Node(node), How::Object(rows)) => write_object(rows, node, spacing, out),
            (Value::Nodes(nodes), How::Blocks(types)) => write_blocks(types, nodes, spacing, out),
            // Shapes are checked on reading, so the rows of a field always agree with its value.
            (Value::Node(_) | Value::Nodes(_), _) => out.extend_from_slice(b"null"),
        }
    }

    /// Writes the members that no row named.
    pub fn extra(&mut self, node: &Node) {
        self.extra_members(node.json(Field::Extra));
    }

    /// Writes the members of the object of unnamed members, given apart from its node.
    pub fn extra_members(&mut self, extra: Option<&Json>) {
        if let Some(extra) = extra {
            self.members_of(extra);
        }
    }
}

/// Whether a block has a place among these types. Writers leave out the blocks that have none, and
/// report them.
pub fn can_write(types: &'static [BlockType], node: &Node) -> bool {
    node.is(Field::Type, block::OPAQUE) || types.iter().any(|t| node.is(Field::Type, t.name))
}

fn write_object(rows: &'static [Row], node: &Node, spacing: Spacing, out: &mut Vec<u8>) {
    let mut object = Object::spaced(out, spacing);
    object.rows(rows, node);
    object.extra(node);
    object.close();
}

/// Writes a list of blocks.
pub fn write_blocks(
    types: &'static [BlockType],
    nodes: &[Node],
    spacing: Spacing,
    out: &mut Vec<u8>,
) {
    out.push(b'[');
    let mut first = true;
    for node in nodes.iter().filter(|node| can_write(types, node)) {
        if !std::mem::take(&mut first) {
            out.extend_from_slice(spacing.comma());
        }
        match types.iter().find(|t| node.is(Field::Type, t.name)) {
            Some(known) => {
                let mut object = Object::spaced(out, spacing);
                text::quote(known.wire, object.key("type"));
                object.rows(known.rows, node);
                object.extra(node);
                object.close();
            }
            None => {
                let data = node.json(Field::Data).map_or(&b"null"[..], Json::as_bytes);
                out.extend_from_slice(data);
            }
        }
    }
    out.push(b']');
}
