//! A walk over one JSON text by its tokens, which are found for 64 bytes at a time.
//!
//! The walk accepts only texts that [`Cursor`] accepts, and then returns the same places. `Cursor`
//! checks a refused text again and reports the reason; so a fault here carries only the fact that
//! there is one.

use super::cursor::{Cursor, Walk};
use super::fault::{Fault, Span, What};
use super::scan::Levels;
use super::search::{NONE, Search};
use super::wide;

type Result<T> = std::result::Result<T, Fault>;

/// Finds the tokens of a text, in order: the opening quote of each string, the first byte of each
/// number or word, and every bracket, brace, comma and colon; in several lines, also the end of
/// each line.
#[derive(Debug)]
pub struct Tokens<'a> {
    search: Search<'a>,
    /// How tokens are found.
    find: wide::Find,
    /// Number of the next token of the run.
    next: usize,
    /// Whether the object just entered has not given its first key yet.
    fresh: bool,
}

impl<'a> Tokens<'a> {
    /// Begins a walk. `None` where the processor lacks the instructions, or places do not fit in 32
    /// bits.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        Self::found_by(wide::best()?, bytes)
    }

    /// Returns a walk by every way that the processor has; all find the same tokens.
    pub fn by_each_way(bytes: &'a [u8]) -> impl Iterator<Item = Self> {
        wide::ways().filter_map(|find| Self::found_by(find, bytes))
    }

    fn found_by(find: wide::Find, bytes: &'a [u8]) -> Option<Self> {
        Some(Self { search: Search::of(bytes)?, find, next: 0, fresh: false })
    }

    /// Sets the walk to consecutive lines, each a text of its own: [`Walk::end`] is where a line
    /// ends, and [`next_line`](Self::next_line) continues. If one of them is not walked to its end,
    /// the lines behind it must not be walked either.
    pub fn in_lines(mut self) -> Self {
        self.search.carry.breaks = u64::MAX;
        self
    }

    /// Goes to the next line and returns the length of the one before it, whose end must have been
    /// reached; `None` if that was the last, and has no end.
    #[inline]
    pub fn next_line(&mut self) -> Option<usize> {
        if self.kind() != b'\n' {
            return None;
        }
        let length = self.place(self.next);
        self.next += 1;
        self.search.begin_behind(length)?;
        Some(length)
    }

    /// Returns the first byte of the next token; [`NONE`] if there is none.
    #[inline(always)]
    fn kind(&mut self) -> u8 {
        match self.search.kinds.get(self.next) {
            Some(&kind) if kind != NONE => kind,
            _ => self.more(),
        }
    }

    /// Takes the next token and returns its first byte; [`last`](Walk::last) is its place. The
    /// choice of the token behind it must not wait for the first byte of this one.
    #[inline(always)]
    fn take(&mut self) -> u8 {
        match self.search.kinds.get(self.next) {
            Some(&kind) if kind != NONE => {
                self.next += 1;
                kind
            }
            _ => self.take_more(),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_more(&mut self) -> u8 {
        let kind = self.more();
        self.next += usize::from(kind != NONE);
        kind
    }

    /// Returns the place in the line of one of the tokens.
    #[inline(always)]
    fn place(&self, token: usize) -> usize {
        self.search.places.get(token).map_or(0, |at| at.wrapping_sub(self.search.base) as usize)
    }

    /// Searches for more tokens, and returns the first byte of the first one. A token that begins
    /// with [`NONE`] counts as absent, except that the end is not reached.
    #[cold]
    #[inline(never)]
    fn more(&mut self) -> u8 {
        if self.next < self.search.end {
            return NONE;
        }
        self.next = 0;
        self.search.run(self.find)
    }

    /// Returns the end of the value before `next`, without the white space between.
    #[inline]
    fn end_before(&self, next: usize) -> usize {
        let mut end = next;
        while let Some(b' ' | b'\t' | b'\r' | b'\n') =
            end.checked_sub(1).and_then(|at| self.search.bytes.get(at))
        {
            end -= 1;
        }
        end
    }

    /// Checks the number or word that begins here; returns its end.
    #[inline]
    fn scalar(&self, at: usize) -> Result<usize> {
        let end = Cursor::end_of_scalar(self.search.bytes, at)?;
        match self.search.bytes.get(end) {
            None | Some(b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\r' | b'\n') => Ok(end),
            Some(_) => refused(),
        }
    }

    /// Steps over the object or list that was just taken, which begins with `kind`. The state is
    /// the place in this code, not an entry of a table, because the processor predicts well what
    /// follows each place.
    fn container(&mut self, mut kind: u8) -> Result<usize> {
        let mut open = Levels::default();
        loop {
            // A value begins with the token that was just taken.
            match kind {
                b'"' => {}
                b'{' | b'[' => {
                    let object = kind == b'{';
                    kind = self.take();
                    if kind != closing(object) {
                        open.push(object);
                        kind = self.value(object, kind)?;
                        continue;
                    }
                }
                _ => drop(self.scalar(self.last())?),
            }
            // Past a value: close what closes here, then find the next one.
            loop {
                let Some(object) = open.top() else {
                    return Ok(self.last() + 1);
                };
                let next = self.take();
                if next == b',' {
                    let next = self.take();
                    kind = self.value(object, next)?;
                    break;
                }
                if next != closing(object) {
                    return refused();
                }
                open.pop();
            }
        }
    }

    /// Returns the first byte of the value whose member or item was just taken, which begins with
    /// `kind`.
    #[inline(always)]
    fn value(&mut self, object: bool, kind: u8) -> Result<u8> {
        if !object {
            return Ok(kind);
        }
        if kind != b'"' || self.take() != b':' {
            return refused();
        }
        Ok(self.take())
    }
}

/// Returns the byte that ends an object or a list.
#[inline(always)]
fn closing(object: bool) -> u8 {
    if object { b'}' } else { b']' }
}

impl Walk for Tokens<'_> {
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        Some(self.kind()).filter(|_| self.next < self.search.end)
    }

    #[inline]
    fn begin_object(&mut self) -> Result<()> {
        self.fresh = true;
        if self.take() == b'{' { Ok(()) } else { refused() }
    }

    #[inline]
    fn next_key(&mut self) -> Result<Option<Span>> {
        let fresh = std::mem::take(&mut self.fresh);
        let mut kind = self.take();
        match kind {
            b'}' => return Ok(None),
            b',' if !fresh => kind = self.take(),
            _ if fresh => {}
            _ => return refused(),
        }
        let start = self.last();
        if kind != b'"' || self.take() != b':' {
            return refused();
        }
        Ok(Some(Span { start, end: self.end_before(self.last()) }))
    }

    #[inline]
    fn skip_value(&mut self) -> Result<Span> {
        let kind = self.take();
        let start = self.last();
        let end = match kind {
            b'"' => {
                let next = self.peek().map_or(self.search.bytes.len(), |_| self.place(self.next));
                self.end_before(next)
            }
            b'{' | b'[' => self.container(kind)?,
            _ => self.scalar(start)?,
        };
        Ok(Span { start, end })
    }

    #[inline]
    fn last(&self) -> usize {
        self.place(self.next.wrapping_sub(1))
    }

    fn end(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'\n') => Ok(()),
            None if !self.search.invalid && self.search.carry.inside == 0 => Ok(()),
            _ => refused(),
        }
    }
}

fn refused<T>() -> Result<T> {
    Err(Fault { at: 0, what: What::End })
}
