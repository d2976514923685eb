//! Masks the texts of records, and leaves their identifiers alone.

use super::{Redactor, named};
use crate::json::text::decoded;
use crate::json::{Json, is_whole};
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::borrow::Cow;

/// Fields whose values identify, name or count something, and are not texts.
const KEPT: &[Field] = &[
    Field::Source,
    Field::Type,
    Field::Id,
    Field::Parent,
    Field::IdMade,
    Field::Time,
    Field::Turn,
    Field::Role,
    Field::Subtype,
    Field::Call,
    Field::Signature,
    Field::MediaType,
    Field::Namespace,
    Field::CustomType,
    Field::Api,
    Field::Provider,
    Field::Model,
    Field::StopReason,
    Field::MessageTime,
    Field::ResponseId,
    Field::Group,
    Field::ParentCall,
    Field::Level,
    Field::Target,
    Field::FirstKept,
    Field::Kept,
    Field::From,
    Field::Created,
    Field::Updated,
    Field::Key,
    Field::Agent,
    Field::ThinkingLevel,
    Field::Leaf,
    Field::Encoding,
    Field::Style,
    Field::Era,
    Field::Run,
    Field::Session,
    Field::Outcome,
    Field::Status,
    Field::Layout,
    Field::Eol,
];

/// Kinds of records whose name is a title or a message.
const TITLED: &[Kind] = &[Kind::Session, Kind::SessionInfo];

/// Maximum depth of JSON texts inside of strings of JSON texts.
const DEEPEST: u32 = 3;

/// Length from which on a string can be a JSON text with a member.
const SHORTEST: usize = 7;

impl Redactor<'_> {
    /// Masks the secrets of a record: in texts, arguments and results of tools, paths, titles and
    /// data of the source. Identifiers, names of models and tools, signatures, images and documents
    /// stay as they are.
    pub fn record(&self, record: &mut Record) {
        if let Some(folder) = record.node.text(Field::Cwd) {
            self.learn(&folder);
        }
        let titled = TITLED.contains(&record.kind);
        if record.kind == Kind::Opaque {
            let line = record.node.text(Field::Text);
            let masked = line.and_then(|line| self.inside(line.as_bytes(), DEEPEST));
            let masked = masked.and_then(|line| String::from_utf8(line).ok());
            if let (Some(masked), Some(Value::Json(line))) =
                (masked, record.node.get_mut(Field::Text))
            {
                *line = Json::string(&masked);
            }
        }
        self.fields(&mut record.node, titled);
    }

    fn fields(&self, node: &mut Node, titled: bool) {
        let image = [block::IMAGE, block::DOCUMENT].iter().any(|it| node.is(Field::Type, it));
        let fields: Vec<Field> = node.fields().collect();
        for field in fields {
            let name = field == Field::Name && !titled && !node.is(Field::Type, block::DOCUMENT);
            if KEPT.contains(&field) || name || field == Field::Data && image {
                continue;
            }
            match node.get_mut(field) {
                Some(Value::Node(inner)) => self.fields(inner, false),
                Some(Value::Nodes(inner)) => {
                    inner.iter_mut().for_each(|node| self.fields(node, false));
                }
                Some(Value::Json(json)) => {
                    let masked = match field {
                        Field::Base64 => self.base64(json),
                        _ => self.json(json),
                    };
                    masked.into_iter().for_each(|masked| *json = masked);
                }
                None => {}
            }
        }
    }

    /// Returns a line that is not UTF-8 with its secrets masked.
    fn base64(&self, line: &Json) -> Option<Json> {
        use crate::json::text::{from_base64, to_base64};
        let bytes = from_base64(&line.text()?)?;
        match self.text(&String::from_utf8_lossy(&bytes)) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(Json::string(&to_base64(masked.as_bytes()))),
        }
    }

    /// Returns a JSON value with the secrets in its strings masked; `None` if it has none. All
    /// other bytes stay.
    pub fn json(&self, value: &Json) -> Option<Json> {
        self.inside(value.as_bytes(), DEEPEST).map(|bytes| Json::trusted(bytes.into()))
    }

    /// Masks the strings of a JSON text, string by string. A damaged line is masked as far as it has
    /// strings; the last one may have no end.
    fn inside(&self, json: &[u8], depth: u32) -> Option<Vec<u8>> {
        let mut out: Option<Vec<u8>> = None;
        let mut copied = 0;
        let mut name: Option<Cow<'_, str>> = None;
        let mut at = 0;
        while let Some(start) = memchr::memchr(b'"', json.get(at..)?).map(|found| at + found) {
            // A name belongs to the value directly behind it.
            if !json.get(at..start)?.iter().all(|b| b.is_ascii_whitespace() || *b == b':') {
                name = None;
            }
            let closed = end_of_string(json, start).filter(|end| *end <= json.len());
            let end = closed.unwrap_or(json.len());
            let spelled = json.get(start..end)?;
            let is_name = json.get(end..)?.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
            let text = match closed {
                Some(_) => decoded(spelled),
                None => torn(spelled).map(Cow::Owned),
            };
            let Some(text) = text else {
                (name, at) = (None, end);
                continue;
            };
            let masked =
                if is_name { self.key(&text) } else { self.string(&text, name.as_deref(), depth) };
            if let Some(masked) = masked {
                let out = out.get_or_insert_with(|| Vec::with_capacity(json.len()));
                out.extend_from_slice(json.get(copied..start)?);
                crate::json::text::quote(&masked, out);
                out.truncate(out.len() - usize::from(closed.is_none()));
                copied = end;
            }
            name = is_name.then_some(text);
            at = end;
        }
        let mut out = out?;
        out.extend_from_slice(json.get(copied..)?);
        Some(out)
    }

    fn key(&self, text: &str) -> Option<String> {
        let masked = self.text(text);
        matches!(masked, Cow::Owned(_)).then(|| masked.into_owned())
    }

    /// Masks the text of a string with this name.
    fn string(&self, text: &str, name: Option<&str>, depth: u32) -> Option<String> {
        if let Some(kind) = name.and_then(|name| named::member(self.rules, name, text)) {
            return Some(self.whole(text, kind));
        }
        if let Some(inner) = nested(text).filter(|_| depth > 0) {
            let masked = self.inside(inner.as_bytes(), depth - 1)?;
            let (before, after) = around(text, inner);
            return Some([before, &String::from_utf8(masked).ok()?, after].concat());
        }
        let masked = match name {
            Some(name) if is_identifier(name) => self.identifier(text),
            _ => self.text(text),
        };
        matches!(masked, Cow::Owned(_)).then(|| masked.into_owned())
    }
}

/// Returns the text of a JSON string without an end, as far as its escapes are whole.
fn torn(spelled: &[u8]) -> Option<String> {
    const LONGEST_ESCAPE: usize = 12;
    let closed = |cut| Some([spelled.get(..spelled.len() - cut)?, b"\""].concat());
    let cuts = 0..LONGEST_ESCAPE.min(spelled.len());
    cuts.filter_map(closed).find_map(|closed| Some(decoded(&closed)?.into_owned()))
}

/// Returns the end of the JSON string that begins here, behind its quote.
fn end_of_string(json: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        match json.get(at) {
            Some(b'"') => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// Returns the object or list that a text consists of, if it is one with strings.
fn nested(text: &str) -> Option<&str> {
    let inner = text.trim();
    let is = |a, b| inner.starts_with(a) && inner.ends_with(b);
    if inner.len() < SHORTEST || !(is('{', '}') || is('[', ']')) || !inner.contains('"') {
        return None;
    }
    is_whole(inner.as_bytes()).then_some(inner)
}

/// Returns what precedes and follows a part of a text.
fn around<'t>(text: &'t str, inner: &str) -> (&'t str, &'t str) {
    let start = text.len() - text.trim_start().len();
    (text.get(..start).unwrap_or_default(), text.get(start + inner.len()..).unwrap_or_default())
}

/// Whether the value of a member of this name identifies something.
fn is_identifier(name: &str) -> bool {
    let ends = ["Id", "ID", "_id", "Uuid", "Ids", "_ids"];
    matches!(
        name,
        "id" | "uuid" | "slug" | "signature" | "encrypted_content" | "model" | "type" | "role"
    ) || ends.iter().any(|end| name.ends_with(end))
}
