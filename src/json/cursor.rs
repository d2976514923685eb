//! A pull parser over one JSON text that reports spans and builds nothing.
//!
//! The caller decides which objects to enter; everything else is skipped, and skipping checks the
//! grammar as strictly as entering does. Nesting costs one bit a level, so ten thousand levels are
//! no more than a kilobyte. Input must be UTF-8, which the line reader checks.

use super::fault::{Fault, Span, What};
use super::scan::{Levels, first, next_special, no_digits, word};
use super::strings;
use super::text::decode_here;

type Result<T> = std::result::Result<T, Fault>;

/// A walk through an object and the objects in it, independent of how its tokens are found. The
/// methods are those of [`Cursor`].
pub trait Walk {
    /// The first byte of the next value or token.
    fn peek(&mut self) -> Option<u8>;
    /// Enters an object.
    ///
    /// # Errors
    /// If the next token is not `{`.
    fn begin_object(&mut self) -> Result<()>;
    /// The next key of the object entered, or `None` once past its `}`.
    fn next_key(&mut self) -> Result<Option<Span>>;
    /// Checks one value of any kind and steps over it.
    fn skip_value(&mut self) -> Result<Span>;
    /// Returns the place of the brace that was passed; valid only right behind it.
    fn last(&self) -> usize;
    /// Checks that only white space follows.
    fn end(&mut self) -> Result<()>;
}

impl Walk for Cursor<'_> {
    fn peek(&mut self) -> Option<u8> {
        self.peek()
    }

    fn begin_object(&mut self) -> Result<()> {
        self.begin_object()
    }

    fn next_key(&mut self) -> Result<Option<Span>> {
        self.next_key()
    }

    fn skip_value(&mut self) -> Result<Span> {
        self.skip_value()
    }

    fn last(&self) -> usize {
        self.at.saturating_sub(1)
    }

    fn end(&mut self) -> Result<()> {
        self.end()
    }
}

/// A position in a JSON text; it reports spans and builds nothing.
///
/// ```
/// use copyist::json::Cursor;
/// let text = br#"{"type":"session","cwd":"/w"}"#;
/// let mut cursor = Cursor::new(text);
/// cursor.begin_object().unwrap();
/// let mut keys = Vec::new();
/// while let Some(key) = cursor.next_key().unwrap() {
///     keys.push(key.of(text));
///     cursor.skip_value().unwrap();
/// }
/// cursor.end().unwrap();
/// assert_eq!(keys, [b"\"type\"".as_slice(), b"\"cwd\""]);
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the container just entered has not given its first item yet.
    fresh: bool,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, fresh: false }
    }

    /// The offset of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    fn fault<T>(&self, what: What) -> Result<T> {
        Err(Fault { at: self.at, what })
    }

    fn unexpected<T>(&self) -> Result<T> {
        match self.bytes.get(self.at) {
            Some(&b) => self.fault(What::Unexpected(b)),
            None => self.fault(What::End),
        }
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The first byte of the next value or token, white space skipped.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            self.unexpected()
        }
    }

    /// Enters an object.
    ///
    /// # Errors
    /// If the next token is not `{`.
    pub fn begin_object(&mut self) -> Result<()> {
        self.fresh = true;
        self.expect(b'{')
    }

    /// Enters an array.
    ///
    /// # Errors
    /// If the next token is not `[`.
    pub fn begin_array(&mut self) -> Result<()> {
        self.fresh = true;
        self.expect(b'[')
    }

    /// The next key of the object entered, quotes included, or `None` once past its `}`.
    /// The cursor is then at the first byte of the value, which must be read or skipped.
    #[inline]
    pub fn next_key(&mut self) -> Result<Option<Span>> {
        let fresh = std::mem::take(&mut self.fresh);
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !fresh => {
                self.at += 1;
                self.skip_space();
            }
            Some(_) if fresh => {}
            _ => return self.unexpected(),
        }
        if self.bytes.get(self.at) == Some(&b'"') {
            self.key().map(Some)
        } else {
            self.unexpected()
        }
    }

    /// Whether the array entered has another element; past its `]` once it has not.
    #[inline]
    pub fn next_element(&mut self) -> Result<bool> {
        let fresh = std::mem::take(&mut self.fresh);
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !fresh => {
                self.at += 1;
                self.skip_space();
                Ok(true)
            }
            Some(_) if fresh => Ok(true),
            _ => self.unexpected(),
        }
    }

    /// Reads a key and its colon; the cursor ends at the value.
    #[inline]
    fn key(&mut self) -> Result<Span> {
        let start = self.at;
        self.string()?;
        let span = Span { start, end: self.at };
        if self.bytes.get(self.at) == Some(&b':') {
            self.at += 1;
        } else {
            self.expect(b':')?;
        }
        self.skip_space();
        Ok(span)
    }

    /// Checks one value of any kind and steps over it.
    #[inline]
    pub fn skip_value(&mut self) -> Result<Span> {
        self.skip_space();
        let start = self.at;
        match self.bytes.get(self.at) {
            Some(b'"') => self.string()?,
            Some(b'{' | b'[') => self.container()?,
            _ => self.scalar()?,
        }
        Ok(Span { start, end: self.at })
    }

    /// Steps over the string that begins here and returns its content, as
    /// [`decode_wtf8`](super::text::decode_wtf8) does. The text must have been checked before, so
    /// that its escapes need no second check. Only a string with escapes is decoded, into `buffer`.
    pub fn text<'t>(&mut self, buffer: &'t mut Vec<u8>) -> Result<&'t [u8]>
    where
        'a: 't,
    {
        self.skip_space();
        let (start, bytes) = (self.at + 1, self.bytes);
        if bytes.get(self.at) != Some(&b'"') {
            return self.unexpected();
        }
        let end = next_special(bytes, start);
        if bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(bytes.get(start..end).unwrap_or_default());
        }
        buffer.clear();
        // The content of a string is never longer than its spelling.
        buffer.reserve(bytes.len() - start);
        match decode_here(bytes.get(start..).unwrap_or_default(), buffer) {
            Some(after) => {
                self.at = bytes.len() - after.len();
                Ok(buffer)
            }
            None => self.string().map(|()| &[][..]),
        }
    }

    /// Checks that only white space follows.
    ///
    /// # Errors
    /// [`What::Trailing`] otherwise.
    pub fn end(&mut self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { self.fault(What::Trailing) }
    }

    fn container(&mut self) -> Result<()> {
        let mut open = Levels::default();
        loop {
            // At the first byte of a value.
            match self.peek() {
                Some(b'"') => self.string()?,
                Some(b'{') => {
                    self.at += 1;
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                    } else {
                        open.push(true);
                        self.key_here()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    if self.peek() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(false);
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // Past a value: close what closes here, then find the next one.
            loop {
                let Some(object) = open.top() else {
                    return Ok(());
                };
                match (self.peek(), object) {
                    (Some(b','), true) => {
                        self.at += 1;
                        self.skip_space();
                        self.key_here()?;
                        break;
                    }
                    (Some(b','), false) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return self.unexpected(),
                }
            }
        }
    }

    #[inline]
    fn key_here(&mut self) -> Result<()> {
        if self.bytes.get(self.at) == Some(&b'"') {
            self.key().map(drop)
        } else {
            self.unexpected()
        }
    }

    /// Returns where the number or word ends that begins here.
    #[inline]
    pub(super) fn end_of_scalar(bytes: &'a [u8], at: usize) -> Result<usize> {
        let mut cursor = Self { bytes, at, fresh: false };
        cursor.scalar().map(|()| cursor.at)
    }

    fn scalar(&mut self) -> Result<()> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.first() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(rest, b"true"),
            Some(b'f') => self.word(rest, b"false"),
            Some(b'n') => self.word(rest, b"null"),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.fault(What::Literal),
            _ => self.unexpected(),
        }
    }

    fn word(&mut self, rest: &[u8], word: &[u8]) -> Result<()> {
        if rest.starts_with(word) {
            self.at += word.len();
            Ok(())
        } else if word.starts_with(rest) {
            self.at = self.bytes.len();
            self.fault(What::End)
        } else {
            self.fault(What::Literal)
        }
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(word) = word(self.bytes, self.at) {
            let count = first(no_digits(word));
            self.at += count;
            if count < 8 {
                break;
            }
        }
        if self.at > start {
            Ok(())
        } else if self.at == self.bytes.len() {
            self.fault(What::End)
        } else {
            self.fault(What::Number)
        }
    }

    fn number(&mut self) -> Result<()> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
            if let Some(b'0'..=b'9') = self.bytes.get(self.at) {
                return self.fault(What::Number);
            }
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// Steps over a string, whose opening quote is the next byte.
    #[inline]
    fn string(&mut self) -> Result<()> {
        let bytes = self.bytes;
        let mut at = self.at + 1;
        loop {
            at = strings::stop(bytes, at);
            self.at = at;
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                Some(b'\\') => self.unicode_escape()?,
                Some(&b) => return self.fault(What::Control(b)),
                None => return self.fault(What::EndInString),
            }
            at = self.at;
        }
    }

    fn unicode_escape(&mut self) -> Result<()> {
        match self.bytes.get(self.at + 1) {
            Some(b'u') => {
                for i in 2..6 {
                    match self.bytes.get(self.at + i) {
                        Some(b) if b.is_ascii_hexdigit() => {}
                        Some(_) => return self.fault(What::Escape),
                        None => return self.cut(),
                    }
                }
                self.at += 6;
                Ok(())
            }
            Some(_) => self.fault(What::Escape),
            None => self.cut(),
        }
    }

    fn cut<T>(&mut self) -> Result<T> {
        self.at = self.bytes.len();
        self.fault(What::EndInString)
    }
}
