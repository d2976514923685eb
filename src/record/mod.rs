//! The canonical model: the records to which every format is read, and from which it is written.
//!
//! A session is a stream of [`Record`]s in source order. Each has a [`Kind`] and named values, a
//! [`Node`]; content blocks, usage and the like are nodes too. Values keep their source text
//! ([`Json`]). Therefore values that a writer need not understand pass through it unchanged, and
//! one generic reader, writer and schema serve every kind.
//!
//! ```
//! use copyist::json::Json;
//! use copyist::record::{Field, Kind, Record};
//! let mut hello = Record::new(Kind::Message);
//! hello.node.set(Field::Role, Json::string("user"));
//! hello.node.set(Field::Content, Json::string("Hello"));
//! assert!(hello.kind.admits(Field::Role));
//! assert_eq!(hello.node.text(Field::Content).as_deref(), Some("Hello"));
//! ```

mod answers;
mod called;
mod field;
mod identity;
mod kind;
mod node;
mod placeholder;
mod spoken;
pub mod turns;

pub use answers::{Answers, calls, is_broken, is_sent};
pub use called::Called;
pub use field::{Field, Shape};
pub use identity::{began, identity, session_uuid};
pub use kind::{BLOCKS, COMMON, GROUPS, Kind};
pub use node::{Node, Value};
pub use spoken::{AnswerPart, Beginning};

use crate::json::Json;
use crate::json::text::to_base64;

/// The names of content blocks, as [`Field::Type`] gives them.
pub mod block {
    pub use super::placeholder::{kind_of, placeholder};
    use super::{Field, Node, Value};
    use crate::json::Json;

    /// Text.
    pub const TEXT: &str = "text";
    /// Thoughts of a model before its answer.
    pub const THINKING: &str = "thinking";
    /// An image, in base64.
    pub const IMAGE: &str = "image";
    /// A document, in base64.
    pub const DOCUMENT: &str = "document";
    /// A call of a tool.
    pub const TOOL_CALL: &str = "tool_call";
    /// The result of a tool.
    pub const TOOL_RESULT: &str = "tool_result";
    /// A block that the reader does not understand; its `data` is the block from the source.
    pub const OPAQUE: &str = "opaque";
    /// Returns the value of [`Field::Type`] for one of these names.
    #[must_use]
    pub fn type_of(name: &str) -> Json {
        // The most frequent types need no allocation.
        match name {
            TEXT => Json::constant("\"text\""),
            THINKING => Json::constant("\"thinking\""),
            TOOL_CALL => Json::constant("\"tool_call\""),
            TOOL_RESULT => Json::constant("\"tool_result\""),
            other => Json::string(other),
        }
    }
    /// Returns a block of one of these types, without its values.
    #[must_use]
    pub fn of(name: &str) -> Node {
        Node::with_capacity(4).with(Field::Type, type_of(name))
    }
    /// Returns a block of text.
    #[must_use]
    pub fn text(text: Json) -> Node {
        of(TEXT).with(Field::Text, text)
    }
    /// Returns the texts among blocks, joined.
    #[must_use]
    pub fn all_text(blocks: &[Node]) -> Option<Json> {
        let texts = blocks.iter().filter(|block| block.is(Field::Type, TEXT));
        let texts = texts.filter_map(|block| block.json(Field::Text).cloned());
        texts.reduce(|a, b| a.joined(&b))
    }
    /// Returns the text of a message, in either form of content.
    #[must_use]
    pub fn message_text(message: &Node) -> Option<Json> {
        match message.get(Field::Content)? {
            Value::Json(text) => Some(text.clone()),
            Value::Nodes(blocks) => all_text(blocks),
            Value::Node(_) => None,
        }
    }
    /// Completes a message, where it leaves them out, with the text, the arguments of calls and the
    /// results of tools that every format requires.
    pub fn complete(message: &mut Node) {
        let nothing = |value: Option<&Value>| match value {
            None => true,
            Some(value) => matches!(value, Value::Json(json) if json.is_null()),
        };
        let empty = Json::constant("\"\"");
        if message.is(Field::Role, "user") && nothing(message.get(Field::Content)) {
            message.set(Field::Content, empty.clone());
        }
        let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) else { return };
        for block in blocks {
            if block.is(Field::Type, TOOL_CALL) && block.get(Field::Arguments).is_none() {
                block.set(Field::Arguments, Json::constant("{}"));
            }
            let says_nothing =
                || [Field::Content, Field::Output].iter().all(|f| nothing(block.get(*f)));
            if block.is(Field::Type, TOOL_RESULT) && says_nothing() {
                block.set(Field::Content, empty.clone());
            }
        }
    }
    /// Whether the only further member of an image from another format is its level of detail,
    /// which belongs to an interface that several formats share.
    #[must_use]
    pub fn is_detail(extra: &Json) -> bool {
        let only = |object: &Json, name: &str| {
            object.member(name).filter(|_| object.members().count() == 1)
        };
        let detail = only(extra, "image_url").and_then(|holder| only(&holder, "detail"));
        detail.is_some_and(|detail| detail.text().is_some())
    }

    /// Returns the arguments of a call as the object that interfaces and other formats require, and
    /// whether they had to be put into an object because they are another value.
    #[must_use]
    pub fn arguments(call: &Node) -> (Json, bool) {
        let Some(given) = call.json(Field::Arguments) else { return (Json::constant("{}"), false) };
        let parsed = given.parsed();
        match parsed.as_ref().unwrap_or(given).as_bytes() {
            b"null" | b"\"\"" => (Json::constant("{}"), false),
            object if object.starts_with(b"{") => (parsed.unwrap_or_else(|| given.clone()), false),
            _ => {
                // A list that another format writes as a text is the same list.
                let given = parsed.as_ref().unwrap_or(given);
                let object = [b"{\"arguments\":", given.as_bytes(), b"}"].concat();
                (Json::trusted(object.into()), true)
            }
        }
    }

    /// Replaces the content of a message.
    pub fn replace(message: &mut Node, replacement: &Node) {
        let Some(content) = replacement.get(Field::Content) else { return };
        let is = |role| message.is(Field::Role, role);
        let (answer, listed) = (is("tool"), is("assistant") || is("tool"));
        let content = match content {
            Value::Json(plain) if listed => Value::Nodes(vec![text(plain.clone())]),
            other => other.clone(),
        };
        match message.get_mut(Field::Content) {
            Some(Value::Nodes(blocks)) if answer => {
                if let Some(result) = blocks.first_mut() {
                    result.set(Field::Content, content);
                }
            }
            _ => message.set(Field::Content, content),
        }
    }

    /// Every name of a block.
    pub const ALL: &[&str] = &[TEXT, THINKING, IMAGE, DOCUMENT, TOOL_CALL, TOOL_RESULT, OPAQUE];
}

/// One record of the canonical stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Kind of the record.
    pub kind: Kind,
    /// Values of the record.
    pub node: Node,
}

impl Record {
    /// Returns an empty record.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, node: Node::with_capacity(16) }
    }

    /// Returns the record with another value of a field.
    #[must_use]
    pub fn with(mut self, field: Field, value: impl Into<Value>) -> Self {
        self.node.set(field, value);
        self
    }

    /// Returns the record with a value of a field, if there is one.
    #[must_use]
    pub fn with_some(mut self, field: Field, value: Option<impl Into<Value>>) -> Self {
        self.node.put(field, value);
        self
    }

    /// Returns a record for a blank or damaged line, which is kept unchanged.
    #[must_use]
    pub fn of_line(bytes: &[u8]) -> Self {
        let mut record = Self::new(Kind::Opaque);
        // A run of NUL bytes would be six times as long in escapes.
        match std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) {
            Some(text) => record.node.set(Field::Text, Json::string(text)),
            None => record.node.set(Field::Base64, Json::string(&to_base64(bytes))),
        }
        record
    }

    /// Returns the references of images whose data are not in the session, also of those in results
    /// of tools.
    #[must_use]
    pub fn outside_images(&self) -> Vec<String> {
        if self.kind != Kind::Message {
            return Vec::new();
        }
        let outer = self.node.content();
        let inner = outer.iter().filter(|block| block.is(Field::Type, block::TOOL_RESULT));
        let inner = inner.flat_map(|block| block.content());
        let image = |block: &Node| {
            let data = block.json(Field::Data).filter(|_| block.is(Field::Type, block::IMAGE))?;
            data.as_bytes().starts_with(b"\"blob:").then(|| data.text()).flatten()
        };
        outer.iter().chain(inner).filter_map(image).collect()
    }

    /// Whether the record is a blank line.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let text = (self.kind == Kind::Opaque && self.node.json(Field::Type).is_none())
            .then(|| self.node.json(Field::Text))
            .flatten();
        text.and_then(Json::text).is_some_and(|text| text.trim().is_empty())
    }

    /// Returns the kind of the record in words for the user: `message of role user`.
    #[must_use]
    pub fn description(&self) -> String {
        let kind = self.kind.name();
        match self.node.text(Field::Role) {
            Some(role) => format!("{kind} of role {role}"),
            None => kind.to_owned(),
        }
    }

    /// Returns the path by which a loss of the whole record is counted: its kind, and for an item
    /// that no reader understands its type.
    #[must_use]
    pub fn path(&self) -> String {
        match self.node.text(Field::Type).filter(|_| self.kind == Kind::Opaque) {
            Some(own) => format!("{}.{own}", self.kind.name()),
            None => self.kind.name().to_owned(),
        }
    }

    /// Whether a reader restored the record or a writer computed it, so that its own source lacks
    /// it.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.node.is_true(Field::Synthesized) || self.node.is_true(Field::Derived)
    }

    /// Whether the record is playback that repeats another record.
    #[must_use]
    pub fn is_repetition(&self) -> bool {
        self.kind == Kind::Event && self.node.is_true(Field::Derived)
    }

    /// Whether the record is a message of role `user` in the conversation itself; that of one agent
    /// to another is none. Programs write such messages, too: see [`crate::user_words`].
    #[must_use]
    pub fn is_of_user(&self) -> bool {
        let own = self.node.get(Field::ParentCall).is_none();
        self.kind == Kind::Message && self.node.is(Field::Role, "user") && own
    }

    /// Whether the record is a message that is never sent to a model: one that is excluded from the
    /// context, or one of a sub-agent. The exclusion of a command does not count here, because the
    /// command itself states whether and where it is excluded.
    #[must_use]
    pub fn is_aside(&self) -> bool {
        let has = |field| self.node.json(field).is_some_and(|value| !value.is_null());
        let out = self.node.is_true(Field::Excluded) && !self.node.is(Field::Role, "bash");
        self.kind == Kind::Message && (out || has(Field::ParentCall))
    }

    /// Whether the record is a node of the tree: it has the kind of a node, and an identifier.
    #[must_use]
    pub fn is_node(&self) -> bool {
        self.kind.is_node() && self.node.json(Field::Id).is_some()
    }
}
