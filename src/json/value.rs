//! One checked JSON value in its source spelling.

use super::{Cursor, Fault, Span, is_whole, text};
use bytes::Bytes;
use std::fmt;

/// One JSON value, spelled as its source spelled it.
///
/// The value is a counted slice of the line that it came from: cloning it copies nothing. A caller
/// that makes a value of bytes guarantees that they are one JSON value in UTF-8; [`Cursor`] checks
/// it. A text is checked when it is parsed:
///
/// ```
/// use copyist::json::Json;
/// let value: Json = "[1.50, 2]".parse()?;
/// assert_eq!(value.as_bytes(), b"[1.50, 2]");
/// assert_eq!("[1.50, 2".parse::<Json>().unwrap_err().at, 8);
/// # Ok::<(), copyist::json::Fault>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Json(Bytes);

impl Json {
    /// Reads a text, which is UTF-8, as one JSON value; the value shares its bytes.
    ///
    /// # Errors
    /// If it is anything else.
    pub fn read(text: &Bytes) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text);
        let Span { start, end } = cursor.skip_value()?;
        cursor.end()?;
        Ok(Self(text.slice(start..end)))
    }

    /// Wraps bytes that the caller has checked; this function checks nothing. An unchecked text is
    /// [parsed](str::parse).
    #[must_use]
    pub fn trusted(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// A value that the program itself spells, such as `true`.
    #[must_use]
    pub const fn constant(spelling: &'static str) -> Self {
        Self(Bytes::from_static(spelling.as_bytes()))
    }

    /// A JSON string that decodes to `text`.
    ///
    /// ```
    /// use copyist::json::Json;
    /// assert_eq!(Json::string("a\"b").as_bytes(), br#""a\"b""#);
    /// ```
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + 2);
        text::quote(text, &mut out);
        Self(out.into())
    }

    /// An integer.
    #[must_use]
    pub fn number(value: u64) -> Self {
        Self(value.to_string().into_bytes().into())
    }

    /// Returns a computed number: the nearest one that JSON can express.
    ///
    /// ```
    /// # use copyist::json::Json;
    /// assert_eq!(Json::from_f64(2.5).as_bytes(), b"2.5");
    /// assert_eq!(Json::from_f64(f64::INFINITY).float(), Some(f64::MAX));
    /// ```
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        let nearest = if value.is_nan() { 0.0 } else { value.clamp(f64::MIN, f64::MAX) };
        Self(nearest.to_string().into_bytes().into())
    }

    /// The spelling.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The buffer of the spelling.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Returns the place of a value inside this one, of which it is a slice.
    ///
    /// ```
    /// use copyist::json::{Json, Span};
    /// let object: Json = r#"{"a":[7]}"#.parse()?;
    /// let inner = object.member("a").expect("a member");
    /// assert_eq!(object.place_of(&inner), Span { start: 5, end: 8 });
    /// # Ok::<(), copyist::json::Fault>(())
    /// ```
    #[must_use]
    pub fn place_of(&self, inner: &Self) -> Span {
        let start = inner.0.as_ptr().addr().wrapping_sub(self.0.as_ptr().addr());
        Span { start, end: start.saturating_add(inner.0.len()) }
    }

    /// Returns a copy that does not keep the text around this value in memory, for values that are
    /// kept long.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// The spelling as a shared buffer.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// The decoded text if this is a string. Lone surrogates read as U+FFFD.
    ///
    /// ```
    /// use copyist::json::Json;
    /// assert_eq!(Json::string("tab\t").text().as_deref(), Some("tab\t"));
    /// assert_eq!(Json::number(7).text(), None);
    /// ```
    #[must_use]
    pub fn text(&self) -> Option<String> {
        text::decode(&self.0)
    }

    /// The value if this is a number; infinite, as in JavaScript, where no double can hold it.
    #[must_use]
    pub fn float(&self) -> Option<f64> {
        match self.0.first()? {
            b'-' | b'0'..=b'9' => std::str::from_utf8(&self.0).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// Returns the members of an object in order, names and values as they are spelled; none if the
    /// value is not an object.
    ///
    /// ```
    /// use copyist::json::Json;
    /// let object = Json::trusted(br#"{"a":1,"b":[2]}"#.to_vec().into());
    /// let members: Vec<_> = object.members().collect();
    /// assert_eq!(members, [(&b"\"a\""[..], &b"1"[..]), (b"\"b\"", b"[2]")]);
    /// assert_eq!(object.member("b").unwrap().as_bytes(), b"[2]");
    /// ```
    pub fn members(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let spelling = self.as_bytes();
        let mut cursor = Cursor::new(spelling);
        let object = cursor.begin_object().is_ok();
        std::iter::from_fn(move || {
            // The bytes are known to be JSON, so the walk ends where the object does.
            let key = cursor.next_key().ok().flatten().filter(|_| object)?;
            let value = cursor.skip_value().ok()?;
            Some((key.of(spelling), value.of(spelling)))
        })
    }

    /// Returns the members of an object as values of their own, which share its bytes.
    #[must_use]
    pub fn pairs(&self) -> Vec<(Self, Self)> {
        let slice = |part| Self::trusted(self.bytes().slice_ref(part));
        self.members().map(|(key, value)| (slice(key), slice(value))).collect()
    }

    /// Returns the elements of a list in order; none if the value is not a list.
    ///
    /// ```
    /// use copyist::json::Json;
    /// let list = Json::trusted(br#"[1, {"a":2}]"#.to_vec().into());
    /// let elements: Vec<_> = list.elements().collect();
    /// assert_eq!(elements, [Json::number(1), Json::trusted(br#"{"a":2}"#.to_vec().into())]);
    /// assert_eq!(Json::number(1).elements().count(), 0);
    /// ```
    pub fn elements(&self) -> impl Iterator<Item = Self> {
        let mut cursor = Cursor::new(self.as_bytes());
        let list = cursor.begin_array().is_ok();
        std::iter::from_fn(move || {
            // The bytes are known to be JSON, so the walk ends where the list does.
            cursor.next_element().ok().filter(|more| *more && list)?;
            let span = cursor.skip_value().ok()?;
            Some(Self(self.0.slice(span.start..span.end)))
        })
    }

    /// Returns the first member of an object that has this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Self> {
        let (_, value) = self.members().find(|(key, _)| text::is(key, name))?;
        Some(Self(self.0.slice_ref(value)))
    }

    /// Returns the value that this string contains as JSON text, if it is such a string.
    ///
    /// ```
    /// use copyist::json::Json;
    /// assert_eq!(Json::string(" [1]").parsed().unwrap().as_bytes(), b"[1]");
    /// assert_eq!(Json::string("[1").parsed(), None);
    /// ```
    #[must_use]
    pub fn parsed(&self) -> Option<Self> {
        let inner = self.text()?;
        is_whole(inner.as_bytes()).then(|| Self(inner.trim().to_owned().into()))
    }

    /// Returns the text of the first member of an object that has this name, if that is a string.
    #[must_use]
    pub fn text_of(&self, name: &str) -> Option<String> {
        self.member(name)?.text()
    }

    /// Returns a list of values in their source text.
    ///
    /// ```
    /// use copyist::json::Json;
    /// assert_eq!(Json::list([Json::number(1), Json::string("a")]).as_bytes(), br#"[1,"a"]"#);
    /// ```
    #[must_use]
    pub fn list(items: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut list = vec![b'['];
        for (place, item) in items.into_iter().enumerate() {
            list.extend_from_slice(if place == 0 { b"" } else { b"," });
            list.extend_from_slice(item.as_ref());
        }
        list.push(b']');
        Self(list.into())
    }

    /// Whether this is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether this is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether this is a string.
    #[must_use]
    pub fn is_string(&self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Whether this is the literal `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.as_ref() == b"null"
    }
}

impl AsRef<[u8]> for Json {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl std::str::FromStr for Json {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.skip_value()?;
        cursor.end()?;
        Ok(Self(Bytes::copy_from_slice(text.as_bytes())))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}
