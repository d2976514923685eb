//! Changes to one object's text that leave every other byte alone.

use super::Span;

/// A set of changes to the members of one JSON object.
///
/// Replacements refer to spans of the original text and must not overlap; additions stand before
/// the object's closing brace in the order in which they were made. The buffers are kept between
/// lines, so [`clear`](Self::clear) and reuse cost no allocation.
///
/// ```
/// use copyist::json::{Span, edit::Edits};
/// let text = br#"{"role":"old"}"#;
/// let mut edits = Edits::default();
/// edits.replace(Span { start: 8, end: 13 }, br#""new""#);
/// edits.add("id", b"7");
/// let mut out = Vec::new();
/// edits.apply(text, 13, false, &mut out);
/// assert_eq!(out, br#"{"role":"new","id":7}"#);
/// ```
#[derive(Debug, Default)]
pub struct Edits {
    replaced: Vec<(Span, Span)>,
    replacements: Vec<u8>,
    added: Vec<u8>,
}

impl Edits {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.replaced.clear();
        self.replacements.clear();
        self.added.clear();
    }

    /// Whether nothing is to be changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.added.is_empty()
    }

    /// Puts `text` where `span` stands; an empty `text` deletes, an empty span inserts.
    pub fn replace(&mut self, span: Span, text: &[u8]) {
        let start = self.replacements.len();
        self.replacements.extend_from_slice(text);
        self.replaced.push((span, Span { start, end: self.replacements.len() }));
    }

    /// Adds a member at the end of the object. `key` must need no escaping.
    pub fn add(&mut self, key: &str, value: &[u8]) {
        self.added.extend_from_slice(b",\"");
        self.added.extend_from_slice(key.as_bytes());
        self.added.extend_from_slice(b"\":");
        self.added.extend_from_slice(value);
    }

    /// Gives a member a value: in place where it has one, else at the end.
    pub fn set(&mut self, present: Option<Span>, key: &str, value: &[u8]) {
        match present {
            Some(span) => self.replace(span, value),
            None => self.add(key, value),
        }
    }

    /// Writes the changed text. `close` is the offset of the object's `}`; `empty` says that the
    /// object has no members left, so that the first addition needs no comma.
    pub fn apply(&mut self, text: &[u8], close: usize, empty: bool, out: &mut Vec<u8>) {
        self.replaced.sort_by_key(|(span, _)| span.start);
        let mut done = 0;
        for (span, new) in &self.replaced {
            out.extend_from_slice(text.get(done..span.start).unwrap_or_default());
            out.extend_from_slice(new.of(&self.replacements));
            done = span.end;
        }
        out.extend_from_slice(text.get(done..close).unwrap_or_default());
        let added = if empty { self.added.get(1..) } else { self.added.get(..) };
        out.extend_from_slice(added.unwrap_or_default());
        out.extend_from_slice(text.get(close..).unwrap_or_default());
    }
}
