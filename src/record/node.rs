//! A group of named values: the common structure of records, blocks and usage.

use super::Field;
use crate::json::{Json, text};

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A JSON value in its source text.
    Json(Json),
    /// A group of named values.
    Node(Node),
    /// A list of groups, such as content blocks.
    Nodes(Vec<Node>),
}

/// Named values in the order of [`Field`]. Absent, `null` and empty are three different things:
/// absent fields are not in the group.
///
/// ```
/// use copyist::json::Json;
/// use copyist::record::{Field, Node};
/// let mut usage = Node::default();
/// usage.set(Field::OutputTokens, Json::number(191));
/// usage.set(Field::Input, Json::number(3));
/// assert_eq!(usage.json(Field::Input), Some(&Json::number(3)));
/// assert_eq!(usage.fields().next(), Some(Field::Input));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    members: Vec<(Field, Value)>,
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        Self::Json(json)
    }
}

impl From<Node> for Value {
    fn from(node: Node) -> Self {
        Self::Node(node)
    }
}

impl From<Vec<Node>> for Value {
    fn from(nodes: Vec<Node>) -> Self {
        Self::Nodes(nodes)
    }
}

impl Node {
    /// Returns a group with room for this number of fields, so that filling it allocates once.
    #[must_use]
    pub fn with_capacity(fields: usize) -> Self {
        Self { members: Vec::with_capacity(fields) }
    }

    /// Returns the content blocks of a message or a result; none if its content is no list.
    #[must_use]
    pub fn content(&self) -> &[Self] {
        self.nodes(Field::Content).unwrap_or_default()
    }

    /// Returns the content blocks of one type.
    pub fn blocks_of(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.content().iter().filter(move |block| block.is(Field::Type, name))
    }

    /// Returns the group with another value of a field.
    #[must_use]
    pub fn with(mut self, field: Field, value: impl Into<Value>) -> Self {
        self.set(field, value);
        self
    }

    /// Returns the group with a value of a field, if there is one.
    #[must_use]
    pub fn with_some(mut self, field: Field, value: Option<impl Into<Value>>) -> Self {
        self.put(field, value);
        self
    }

    /// Returns the value of a field.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<&Value> {
        self.members.iter().find(|(f, _)| *f == field).map(|(_, value)| value)
    }

    /// Returns the value of a field, to change it.
    pub fn get_mut(&mut self, field: Field) -> Option<&mut Value> {
        self.members.iter_mut().find(|(f, _)| *f == field).map(|(_, value)| value)
    }

    /// Returns the value of a field that is plain JSON.
    #[must_use]
    pub fn json(&self, field: Field) -> Option<&Json> {
        match self.get(field)? {
            Value::Json(json) => Some(json),
            _ => None,
        }
    }

    /// Returns the value of a field that is a group.
    #[must_use]
    pub fn node(&self, field: Field) -> Option<&Node> {
        match self.get(field)? {
            Value::Node(node) => Some(node),
            _ => None,
        }
    }

    /// Returns the value of a field that is a list of groups.
    #[must_use]
    pub fn nodes(&self, field: Field) -> Option<&[Node]> {
        match self.get(field)? {
            Value::Nodes(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// Returns the decoded text of a field that is a string.
    #[must_use]
    pub fn text(&self, field: Field) -> Option<String> {
        self.json(field)?.text()
    }

    /// Returns the bytes of a line that is kept unchanged, if the record is such a line: the bytes
    /// that [`Record::of_line`](super::Record::of_line) keeps.
    #[must_use]
    pub fn line(&self) -> Option<Vec<u8>> {
        let bytes = || text::from_base64(&self.text(Field::Base64)?);
        self.text(Field::Text).map(String::into_bytes).or_else(bytes)
    }

    /// Whether a field is a string that decodes to `text`.
    #[must_use]
    pub fn is(&self, field: Field, text: &str) -> bool {
        self.json(field).is_some_and(|json| json.is_string() && text::is(json.as_bytes(), text))
    }

    /// Whether a field is `true`.
    #[must_use]
    pub fn is_true(&self, field: Field) -> bool {
        self.json(field).is_some_and(|json| json.as_bytes() == b"true")
    }

    /// Gives a field a value, in place of any that it had.
    pub fn set(&mut self, field: Field, value: impl Into<Value>) {
        let value = value.into();
        // Sources mostly come in the model's order, so the place is mostly the end.
        if self.members.last().is_none_or(|(last, _)| *last < field) {
            self.members.push((field, value));
            return;
        }
        let place = self.members.partition_point(|(f, _)| *f < field);
        match self.members.get_mut(place) {
            Some((f, old)) if *f == field => *old = value,
            _ => self.members.insert(place, (field, value)),
        }
    }

    /// Sets a field if there is a value for it.
    pub fn put(&mut self, field: Field, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(field, value);
        }
    }

    /// Takes a field out.
    pub fn take(&mut self, field: Field) -> Option<Value> {
        let place = self.members.iter().position(|(f, _)| *f == field)?;
        Some(self.members.remove(place).1)
    }

    /// Returns the fields that have a value.
    pub fn fields(&self) -> impl Iterator<Item = Field> + '_ {
        self.members.iter().map(|(field, _)| *field)
    }

    /// Returns fields and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &Value)> {
        self.members.iter().map(|(field, value)| (*field, value))
    }

    /// Whether both groups have the same values, except for `apart`.
    #[must_use]
    pub fn is_same(&self, other: &Self, apart: &[Field]) -> bool {
        let counts = |(field, _): &(Field, &Value)| !apart.contains(field);
        self.iter().filter(counts).eq(other.iter().filter(counts))
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
