//! The canonical model: what every format is read as, and written from.
//!
//! A session is a stream of [`Record`]s in source order. Each has a [`Kind`] and named values, a
//! [`Node`]; content blocks, usage and the like are nodes too. Values keep their source spelling
//! ([`Json`]), so what a writer does not have to understand passes through it
//! unchanged, and one generic reader, writer and schema serve every kind.
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

pub use answers::{Answers, calls, is_broken};
pub use called::Called;
pub use field::{Field, Shape};
pub use identity::identity;
pub use kind::{BLOCKS, COMMON, GROUPS, Kind};
pub use node::{Node, Value};

use crate::json::Json;
use crate::json::text::to_base64;

/// The names of content blocks, as [`Field::Type`] gives them.
pub mod block {
    use super::{Field, Node, Value};
    use crate::json::Json;

    /// Text.
    pub const TEXT: &str = "text";
    /// What a model thought before it spoke.
    pub const THINKING: &str = "thinking";
    /// An image, in base64.
    pub const IMAGE: &str = "image";
    /// A document, in base64.
    pub const DOCUMENT: &str = "document";
    /// A call of a tool.
    pub const TOOL_CALL: &str = "tool_call";
    /// What a tool answered.
    pub const TOOL_RESULT: &str = "tool_result";
    /// Whether a block of a message lacks what every one of its type has.
    #[must_use]
    pub fn lacks(message: &Node) -> bool {
        let blocks = message.nodes(Field::Content).unwrap_or_default();
        const NEEDED: [(&str, &[Field]); 3] = [
            (TEXT, &[Field::Text]),
            (TOOL_CALL, &[Field::Id, Field::Name]),
            (TOOL_RESULT, &[Field::Call]),
        ];
        blocks.iter().any(|block| {
            let needed = NEEDED.iter().find(|(name, _)| block.is(Field::Type, name));
            needed.is_some_and(|(_, fields)| fields.iter().any(|f| block.json(*f).is_none()))
        })
    }

    /// A block that is not understood; its `data` is the block as it stands in the source.
    pub const OPAQUE: &str = "opaque";
    /// The value of [`Field::Type`] for one of these names.
    #[must_use]
    pub fn type_of(name: &str) -> Json {
        // No allocation for what every block of every message has.
        match name {
            TEXT => Json::constant("\"text\""),
            THINKING => Json::constant("\"thinking\""),
            TOOL_CALL => Json::constant("\"tool_call\""),
            TOOL_RESULT => Json::constant("\"tool_result\""),
            other => Json::string(other),
        }
    }
    /// A block of text.
    #[must_use]
    pub fn text(text: Json) -> Node {
        let mut node = Node::with_capacity(2);
        node.set(Field::Type, type_of(TEXT));
        node.set(Field::Text, text);
        node
    }
    /// The texts among blocks as one.
    #[must_use]
    pub fn all_text(blocks: &[Node]) -> Option<Json> {
        let texts = blocks.iter().filter(|block| block.is(Field::Type, TEXT));
        let texts = texts.filter_map(|block| block.json(Field::Text).cloned());
        texts.reduce(|a, b| a.joined(&b))
    }
    /// The text of a message, however it is kept.
    #[must_use]
    pub fn said(message: &Node) -> Option<Json> {
        match message.get(Field::Content)? {
            Value::Json(text) => Some(text.clone()),
            Value::Nodes(blocks) => all_text(blocks),
            Value::Node(_) => None,
        }
    }
    /// Says of a message, where it leaves them out, the words, the arguments of calls and the answers
    /// of tools that no format goes without.
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
    /// What stands for a block where a format has no place for it: a person sees that something
    /// was there, and two different ones never look the same.
    #[must_use]
    pub fn stand_in(block: &Node) -> Node {
        let text = |field| block.text(field).unwrap_or_default();
        let data = block.json(Field::Data).map(Json::normal).unwrap_or_default();
        let print = crate::ids::hash(&data);
        let what = match block.json(Field::Data).and_then(image_at) {
            _ if block.is(Field::Type, DOCUMENT) => {
                format!("document: {}", text(Field::MediaType))
            }
            Some(url) => format!("image: {url}"),
            None => "block of another format".to_owned(),
        };
        self::text(Json::string(&format!("[{what}, {print:016x}]")))
    }
    /// Where the image is that a part in the shape of one of the big interfaces names by its place.
    fn image_at(part: &Json) -> Option<String> {
        let wire = part.member("type")?.text().filter(|wire| wire.contains("image"))?;
        let holder = part.member(&wire).or_else(|| part.member("source"))?;
        let url = holder.member("url").and_then(|url| url.text()).or_else(|| holder.text())?;
        Some(url).filter(|url| !url.starts_with("data:"))
    }
    /// Whether what an image from elsewhere says besides is how closely it is looked at, which is a
    /// matter of the interface that several formats share.
    #[must_use]
    pub fn is_detail(extra: &Json) -> bool {
        let only = |object: &Json, name: &str| {
            object.member(name).filter(|_| object.members().count() == 1)
        };
        let detail = only(extra, "image_url").and_then(|holder| only(&holder, "detail"));
        detail.is_some_and(|detail| detail.text().is_some())
    }

    /// The arguments of a call as the object that interfaces and other formats want, and whether
    /// they had to be put into one because they are anything else.
    #[must_use]
    pub fn arguments(call: &Node) -> (Json, bool) {
        let Some(given) = call.json(Field::Arguments) else { return (Json::constant("{}"), false) };
        let parsed = given.parsed();
        match parsed.as_ref().unwrap_or(given).as_bytes() {
            b"null" | b"\"\"" => (Json::constant("{}"), false),
            object if object.starts_with(b"{") => (parsed.unwrap_or_else(|| given.clone()), false),
            _ => {
                // A list that is a text elsewhere is the same list.
                let given = parsed.as_ref().unwrap_or(given);
                let object = [b"{\"arguments\":", given.as_bytes(), b"}"].concat();
                (Json::checked(object.into()), true)
            }
        }
    }

    /// Puts into a message what is said in its place.
    pub fn replace(message: &mut Node, replacement: &Node) {
        let Some(content) = replacement.get(Field::Content) else { return };
        let is = |role| message.is(Field::Role, role);
        let (answer, listed) = (is("tool"), is("assistant") || is("tool"));
        let content = match content {
            Value::Json(said) if listed => Value::Nodes(vec![text(said.clone())]),
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

    /// Every name.
    pub const ALL: &[&str] = &[TEXT, THINKING, IMAGE, DOCUMENT, TOOL_CALL, TOOL_RESULT, OPAQUE];
}

/// One record of the canonical stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What it is.
    pub kind: Kind,
    /// What it carries.
    pub node: Node,
}

impl Record {
    /// An empty record.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self { kind, node: Node::with_capacity(16) }
    }

    /// A line that is kept as it is: blank, or damaged.
    #[must_use]
    pub fn of_line(bytes: &[u8]) -> Self {
        let mut record = Self::new(Kind::Opaque);
        // A run of NUL bytes would be six times as long in escapes.
        match std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) {
            Some(text) => record.node.set(Field::Text, Json::string(text)),
            None => record.node.set(Field::RawBytes, Json::string(&to_base64(bytes))),
        }
        record
    }

    /// Whether it is a line that holds nothing.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let text = (self.kind == Kind::Opaque && self.node.json(Field::Type).is_none())
            .then(|| self.node.json(Field::Text))
            .flatten();
        text.and_then(Json::text).is_some_and(|text| text.trim().is_empty())
    }

    /// What it is, in words for a person: `message of role user`.
    #[must_use]
    pub fn told(&self) -> String {
        let kind = self.kind.name();
        match self.node.text(Field::Role) {
            Some(role) => format!("{kind} of role {role}"),
            None => kind.to_owned(),
        }
    }

    /// Whether a reader restored it or a writer computed it, so that its own source lacks it.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.node.is_true(Field::Synthesized) || self.node.is_true(Field::Derived)
    }

    /// Whether a person asks something, with which a turn begins; what an agent asks another one
    /// is no turn.
    #[must_use]
    pub fn is_question(&self) -> bool {
        let own = self.node.get(Field::ParentCall).is_none();
        self.kind == Kind::Message && self.node.is(Field::Role, "user") && own
    }

    /// Whether it is a message that no model hears of, wherever it stands: one that is kept out of
    /// the context, or one of a sub-agent. A command says itself whether it was kept out, and where.
    #[must_use]
    pub fn is_aside(&self) -> bool {
        let told = |field| self.node.json(field).is_some_and(|value| !value.is_null());
        let out = self.node.is_true(Field::Excluded) && !self.node.is(Field::Role, "bash");
        self.kind == Kind::Message && (out || told(Field::ParentCall))
    }

    /// Whether the record stands in the tree: a node's kind, with an identifier.
    #[must_use]
    pub fn is_node(&self) -> bool {
        self.kind.is_node() && self.node.json(Field::Id).is_some()
    }
}
