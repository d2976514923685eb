//! Changes of a document, or of a part of one, that leave every other byte alone.

use crate::json::edit::Edits;
use crate::json::{Json, Span};

/// Changes of the objects inside a document.
///
/// ```
/// use copyist::document::Changes;
/// use copyist::json::Json;
/// let document = Json::constant(r#"{"info":{"id":"s"},"at":7}"#);
/// let mut changes = Changes::of(&document);
/// changes.add(&document.member("info").unwrap_or_default(), &[("id", "0"), ("title", "\"x\"")]);
/// changes.set(&document.member("at").unwrap_or_default(), b"8");
/// assert!(changes.is_added());
/// assert_eq!(changes.apply().as_deref(), Some(&br#"{"info":{"id":"s","title":"x"},"at":8}"#[..]));
/// ```
#[derive(Debug)]
pub struct Changes<'d> {
    document: &'d Json,
    edits: Edits,
    is_added: bool,
}

impl<'d> Changes<'d> {
    /// Begins without a change.
    #[must_use]
    pub fn of(document: &'d Json) -> Self {
        Self { document, edits: Edits::default(), is_added: false }
    }

    /// Whether a member is added.
    #[must_use]
    pub fn is_added(&self) -> bool {
        self.is_added
    }

    /// Adds the members that an object of the document lacks: names that need no escaping, and
    /// values in JSON.
    pub fn add(&mut self, object: &Json, members: &[(&str, &str)]) {
        if !object.is_object() {
            return;
        }
        let end = self.document.place_of(object).end.saturating_sub(1);
        let mut is_empty = object.members().next().is_none();
        let mut put = String::new();
        for (name, value) in members.iter().filter(|(name, _)| object.member(name).is_none()) {
            let comma = if std::mem::take(&mut is_empty) { "" } else { "," };
            put += &format!("{comma}\"{name}\":{value}");
        }
        if !put.is_empty() {
            self.edits.replace(Span { start: end, end }, put.as_bytes());
            self.is_added = true;
        }
    }

    /// Puts another value in the place of one of the document.
    pub fn set(&mut self, value: &Json, new: &[u8]) {
        self.edits.replace(self.document.place_of(value), new);
    }

    /// Returns the text with the changes; `None` if there are none.
    #[must_use]
    pub fn apply(mut self) -> Option<Vec<u8>> {
        if self.edits.is_empty() {
            return None;
        }
        let (text, mut out) = (self.document.as_bytes(), Vec::new());
        self.edits.apply(text, text.len(), false, &mut out);
        Some(out)
    }
}
