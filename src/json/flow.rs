//! Values taken out of a stream, one by one.

use super::fault::Fault;
use super::{Cursor, Json};
use bytes::Bytes;
use std::io::{self, Read};

/// JSON that may be too long for memory. At most the longest requested piece is held.
pub struct Flow<R> {
    from: R,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were taken.
    at: usize,
    over: bool,
    /// Maximum length of a piece, in bytes.
    limit: usize,
}

/// Minimum size, in bytes, of the pieces in which the stream is read.
const CHUNK: usize = 64 << 10;

impl<R: Read> Flow<R> {
    /// Begins at the start of the stream; `limit` is the maximum length of a piece, in bytes.
    pub fn new(from: R, limit: usize) -> Self {
        Self { from, buffer: Vec::new(), at: 0, over: false, limit }
    }

    /// Returns the bytes that come next, as far as they were read.
    pub fn ahead(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Reads on; returns false at the end of the stream, or if a piece grows too long.
    pub fn more(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let held = self.buffer.len();
        if self.over || held > self.limit {
            return Ok(false);
        }
        // A caller that searches a piece again each time that more is read searches each byte twice
        // on average.
        let wanted = CHUNK.max(held) as u64;
        let read = self.from.by_ref().take(wanted).read_to_end(&mut self.buffer)?;
        self.over = read == 0;
        Ok(!self.over)
    }

    /// Skips bytes that were read.
    pub fn pass(&mut self, bytes: usize) {
        self.at = self.buffer.len().min(self.at + bytes);
    }

    /// Takes the next value; `None` if the next text is not a value, or is longer than the limit.
    pub fn value(&mut self) -> io::Result<Option<Json>> {
        loop {
            let ahead = self.ahead();
            let (found, held) = (Cursor::new(ahead).skip_value(), ahead.len());
            let open = match found {
                // A number could continue.
                Ok(span) => span.end == held,
                Err(Fault { what, .. }) => what.is_truncation(),
            };
            if open && self.more()? {
                continue;
            }
            let Ok(span) = found else { return Ok(None) };
            let value = span.of(self.ahead());
            if simdutf8::basic::from_utf8(value).is_err() {
                return Ok(None);
            }
            let value = Json::trusted(Bytes::copy_from_slice(value));
            self.pass(span.end);
            return Ok(Some(value));
        }
    }

    /// Takes all remaining bytes; `None` if they are longer than the limit.
    pub fn rest(&mut self) -> io::Result<Option<Vec<u8>>> {
        while self.more()? {}
        Ok(Some(std::mem::take(&mut self.buffer)).filter(|_| self.over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time.
    struct Drops<'a>(&'a [u8]);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let one = into.len().min(1);
            self.0.read(into.get_mut(..one).unwrap_or_default())
        }
    }

    #[test]
    fn values_are_taken_whole_however_they_come() {
        let text = br#"{"a":"}\"\\"} [1,[2]]12 "x" tru"#;
        let mut flow = Flow::new(Drops(text), 100);
        let mut value = || flow.value().expect("memory").map(|v| v.as_bytes().to_vec());
        for wanted in [r#"{"a":"}\"\\"}"#, "[1,[2]]", "12", "\"x\""] {
            assert_eq!(value().as_deref(), Some(wanted.as_bytes()));
        }
        assert_eq!(value(), None);
        assert_eq!(flow.ahead().first(), Some(&b' '));
        flow.pass(1);
        assert_eq!(flow.rest().expect("memory").as_deref(), Some(&b"tru"[..]));
    }

    #[test]
    fn nothing_is_longer_than_it_may_be() {
        let long = vec![b'['; 3 * CHUNK];
        assert!(Flow::new(&long[..], 10).value().expect("memory").is_none());
        assert!(Flow::new(&long[..], 10).rest().expect("memory").is_none());
        assert!(Flow::new(&b"\"\xff\""[..], 10).value().expect("memory").is_none());
    }
}
