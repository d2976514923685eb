//! Changes to one object's text that leave every other byte alone.

use super::{Cursor, Span, text};

/// A set of changes to the members of one JSON object.
///
/// Replacements refer to spans of the original text and must not overlap; additions are put before
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
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty() && self.added.is_empty()
    }

    /// Puts `text` in the place of `span`; an empty `text` deletes, an empty span inserts.
    #[inline]
    pub fn replace(&mut self, span: Span, text: &[u8]) {
        let start = self.replacements.len();
        self.replacements.extend_from_slice(text);
        self.replaced.push((span, Span { start, end: self.replacements.len() }));
    }

    /// Adds a member at the end of the object. `key` must need no escaping.
    #[inline]
    pub fn add(&mut self, key: &str, value: &[u8]) {
        self.added.extend_from_slice(b",\"");
        self.added.extend_from_slice(key.as_bytes());
        self.added.extend_from_slice(b"\":");
        self.added.extend_from_slice(value);
    }

    /// Gives a member a value: in place where it has one, else at the end.
    #[inline]
    pub fn set(&mut self, present: Option<Span>, key: &str, value: &[u8]) {
        match present {
            Some(span) => self.replace(span, value),
            None => self.add(key, value),
        }
    }

    /// Adds items to the list `name` in the object `key`, whose value is at `present`; creates the
    /// object and the list where they do not exist. No name may need escaping.
    ///
    /// ```
    /// use copyist::json::{Span, edit::Edits};
    /// let text = br#"{"a":{"b":[1]}}"#;
    /// let mut edits = Edits::default();
    /// edits.append(text, "a", Some(Span { start: 5, end: 14 }), "b", b"2,3");
    /// let mut out = Vec::new();
    /// edits.apply(text, 14, false, &mut out);
    /// assert_eq!(out, br#"{"a":{"b":[1,2,3]}}"#);
    /// ```
    pub fn append(
        &mut self,
        line: &[u8],
        key: &str,
        present: Option<Span>,
        name: &str,
        items: &[u8],
    ) {
        let list = [b"\"", name.as_bytes(), b"\":[", items, b"]"].concat();
        let Some(object) = present.filter(|span| line.get(span.start) == Some(&b'{')) else {
            return self.add(key, &[b"{", list.as_slice(), b"}"].concat());
        };
        let comma = |inner: &[u8]| !inner.iter().all(u8::is_ascii_whitespace);
        let (place, new) = match list_in(line, object, name) {
            Some(Span { start, end }) => {
                let inner = line.get(start + 1..end - 1).unwrap_or_default();
                (end - 1, if comma(inner) { [b",", items].concat() } else { items.to_vec() })
            }
            None => {
                let inner = line.get(object.start + 1..object.end - 1).unwrap_or_default();
                let end: &[u8] = if comma(inner) { b"," } else { b"" };
                (object.start + 1, [list.as_slice(), end].concat())
            }
        };
        self.replace(Span { start: place, end: place }, &new);
    }

    /// Writes the changed text. `close` is the offset of the object's `}`; `empty` is true if the
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

/// Returns the place of the list `name` of an object in a line.
fn list_in(line: &[u8], object: Span, name: &str) -> Option<Span> {
    let mut cursor = Cursor::new(object.of(line));
    cursor.begin_object().ok()?;
    let mut found = None;
    while let Some(key) = cursor.next_key().ok()? {
        let value = cursor.skip_value().ok()?;
        let place = Span { start: object.start + value.start, end: object.start + value.end };
        if text::is(key.of(object.of(line)), name) && line.get(place.start) == Some(&b'[') {
            found = Some(place);
        }
    }
    found
}
