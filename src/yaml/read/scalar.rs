//! Scalars in the plain layout.

use crate::position::Position;
use memchr::{memchr, memchr2, memchr2_iter, memchr3};

/// Reason why an entry could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The text ends within the entry.
    More,
    /// The entry contains syntax that is left to the parser.
    Unsure,
}

type Read<T> = Result<T, Stop>;

/// A walk over text.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'t> {
    pub text: &'t [u8],
    pub at: usize,
    pub line: u64,
    /// Offset in the stream of the text's beginning.
    pub base: usize,
    /// Whether the stream ends with the text.
    pub last: bool,
}

impl<'t> Scan<'t> {
    pub fn position(&self) -> Position {
        self.place(self.at, self.line)
    }

    /// Returns where the line before this one ends.
    pub fn line_before(&self) -> Position {
        self.place(self.at - 1, self.line - 1)
    }

    fn place(&self, at: usize, line: u64) -> Position {
        Position { line, byte: (self.base + at) as u64, ..Position::default() }
    }

    fn rest(&self) -> &'t [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the reason to stop where the text ends.
    fn short(&self) -> Stop {
        if self.last { Stop::Unsure } else { Stop::More }
    }

    #[inline]
    pub fn peek(&self) -> Read<u8> {
        self.text.get(self.at).copied().ok_or(self.short())
    }

    #[inline]
    pub fn peek_second(&self) -> Read<u8> {
        self.text.get(self.at + 1).copied().ok_or(self.short())
    }

    /// Whether the stream ends here.
    pub fn is_end(&self) -> Read<bool> {
        match (self.at < self.text.len(), self.last) {
            (false, false) => Err(Stop::More),
            (more, _) => Ok(!more),
        }
    }

    /// Steps over spaces; returns how many.
    #[inline]
    pub fn spaces(&mut self) -> Read<usize> {
        let found = self.rest().iter().position(|b| *b != b' ').ok_or(self.short())?;
        self.at += found;
        Ok(found)
    }

    /// Steps over the end of a line.
    pub fn end_line(&mut self) -> Read<()> {
        if self.peek()? != b'\n' {
            return Err(Stop::Unsure);
        }
        self.at += 1;
        self.line += 1;
        Ok(())
    }

    /// Whether text without quotes may begin here.
    fn begins_plain(&self) -> Read<bool> {
        Ok(match self.peek()? {
            b'-' => !matches!(self.peek_second()?, b' ' | b'\n'),
            b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' => false,
            b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`' | b' ' | b'\n' => false,
            _ => true,
        })
    }

    /// Steps over a key without quotes, up to its `:`; `None` if the line contains none.
    pub fn key(&mut self) -> Read<Option<&'t [u8]>> {
        if !self.begins_plain()? {
            return Ok(None);
        }
        let mut end = self.at;
        loop {
            let rest = self.text.get(end..).unwrap_or_default();
            end += memchr2(b':', b'\n', rest).ok_or(self.short())?;
            if self.text.get(end) == Some(&b'\n') {
                return Ok(None);
            }
            match self.text.get(end + 1) {
                None => return Err(self.short()),
                Some(b' ' | b'\n') => break,
                Some(_) => end += 1,
            }
        }
        let key = self.text.get(self.at..end).unwrap_or_default();
        if is_doubtful(key) {
            return Err(Stop::Unsure);
        }
        self.at = end;
        Ok(Some(key))
    }

    /// Returns text without quotes and its end; lines in which it continues are deeper than
    /// `column`.
    pub fn plain(&mut self, column: usize) -> Read<(Vec<u8>, Position)> {
        if !self.begins_plain()? {
            return Err(Stop::Unsure);
        }
        let mut out = Vec::new();
        loop {
            let end = memchr(b'\n', self.rest()).ok_or(self.short())?;
            let line = self.rest().get(..end).unwrap_or_default();
            if is_doubtful(line) {
                return Err(Stop::Unsure);
            }
            out.extend_from_slice(line);
            self.at += end;
            let end = self.position();
            self.end_line()?;
            if self.is_end()? {
                return Ok((out, end));
            }
            let start = self.at;
            let depth = self.spaces()?;
            match self.peek()? {
                b'\n' => return Err(Stop::Unsure),
                _ if depth <= column => {
                    self.at = start;
                    return Ok((out, end));
                }
                _ => out.push(b' '),
            }
        }
    }

    /// Reads text in single quotes.
    pub fn single(&mut self, column: usize) -> Read<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let end = memchr2(b'\'', b'\n', self.rest()).ok_or(self.short())?;
            let run = self.rest().get(..end).unwrap_or_default();
            self.at += end;
            if self.peek()? == b'\n' {
                self.fold(run, column, &mut out)?;
                continue;
            }
            out.extend_from_slice(run);
            if self.peek_second()? != b'\'' {
                self.at += 1;
                return Ok(out);
            }
            out.push(b'\'');
            self.at += 2;
        }
    }

    /// Reads text in double quotes.
    pub fn double(&mut self, column: usize) -> Read<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let end = memchr3(b'"', b'\\', b'\n', self.rest()).ok_or(self.short())?;
            let run = self.rest().get(..end).unwrap_or_default();
            self.at += end;
            match (self.peek()?, self.peek_second()?) {
                (b'\n', _) => self.fold(run, column, &mut out)?,
                (b'"', _) => {
                    out.extend_from_slice(run);
                    self.at += 1;
                    return Ok(out);
                }
                (_, b'\n') => {
                    out.extend_from_slice(run);
                    self.at += 1;
                    self.end_line()?;
                    if self.spaces()? <= column || self.peek()? == b'\n' {
                        return Err(Stop::Unsure);
                    }
                }
                (_, escape) => {
                    out.extend_from_slice(run);
                    self.at += 2;
                    self.escape(escape, &mut out)?;
                }
            }
        }
    }

    /// Goes to the next line within quotes, behind `run`: one line break is a space, of several one
    /// is dropped.
    fn fold(&mut self, run: &[u8], column: usize, out: &mut Vec<u8>) -> Read<()> {
        out.extend_from_slice(run.trim_ascii_end());
        self.end_line()?;
        let mut alone = true;
        while {
            let depth = self.spaces()?;
            let empty = self.peek()? == b'\n';
            if !empty && depth <= column {
                return Err(Stop::Unsure);
            }
            empty
        } {
            self.end_line()?;
            out.push(b'\n');
            alone = false;
        }
        if alone {
            out.push(b' ');
        }
        Ok(())
    }

    /// Decodes an escape in double quotes, behind its letter.
    fn escape(&mut self, letter: u8, out: &mut Vec<u8>) -> Read<()> {
        let point = match letter {
            b'n' => 0x0a,
            b'"' | b'\\' | b'/' | b' ' => letter.into(),
            b't' => 0x09,
            b'e' => 0x1b,
            b'r' => 0x0d,
            b'0' => 0x00,
            b'a' => 0x07,
            b'b' => 0x08,
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'N' => 0x85,
            b'_' => 0xa0,
            b'L' => 0x2028,
            b'P' => 0x2029,
            b'x' => self.digits(2)?,
            b'u' => self.digits(4)?,
            b'U' => self.digits(8)?,
            _ => return Err(Stop::Unsure),
        };
        // Halves of surrogate pairs are left to the parser.
        let c = char::from_u32(point).ok_or(Stop::Unsure)?;
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn digits(&mut self, count: usize) -> Read<u32> {
        let digits = self.rest().get(..count).ok_or(self.short())?;
        let digits = std::str::from_utf8(digits).ok().filter(|d| !d.starts_with('+'));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += count;
        value.ok_or(Stop::Unsure)
    }
}

/// Whether a line of text without quotes contains characters that may begin a comment or a value,
/// or ends with a space.
fn is_doubtful(line: &[u8]) -> bool {
    let mut marks = memchr2_iter(b':', b'#', line);
    line.last() == Some(&b' ')
        || marks.any(|at| match line.get(at) {
            Some(b'#') => at == 0 || line.get(at - 1) == Some(&b' '),
            _ => matches!(line.get(at + 1), None | Some(b' ')),
        })
}
