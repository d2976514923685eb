//! A walk over one JSON text by its tokens, which are found for 64 bytes at a time.
//!
//! It says yes only to what [`Cursor`] accepts, and then gives the same places. What it does not
//! take, `Cursor` looks at again and says why; so here a fault tells no more than that there is one.

use super::cursor::{Cursor, Walk};
use super::fault::{Fault, Span, What};
use super::scan::{Levels, escaped};
use super::wide;

type Result<T> = std::result::Result<T, Fault>;

/// Tokens are found in runs of at most so many: mostly all of a line's.
const RUN: usize = 256;
/// Bytes that are looked at in one step.
pub(super) const BLOCK: usize = 64;

/// Which bytes of a block are what, a bit for each, the lowest for the first.
pub(super) struct Block {
    pub quotes: u64,
    pub backslashes: u64,
    pub controls: u64,
    /// What makes an escape of two characters.
    pub short: u64,
}

/// The same of what counts only outside of strings.
pub(super) struct Outside {
    /// Brackets, braces, commas and colons.
    pub marks: u64,
    pub spaces: u64,
    /// Those of the spaces that end a line.
    pub breaks: u64,
}

/// What the blocks before tell of the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Carry {
    /// Whether its first byte is escaped.
    escaped: bool,
    /// All bits set inside of a string.
    inside: u64,
    /// Whether a number or a word goes on.
    scalar: u64,
    /// All bits set if the end of a line is a token.
    breaks: u64,
}

impl Carry {
    /// The tokens of the next block; which bytes behind a backslash need a closer look; and which
    /// bytes must not stand where they do.
    #[inline(always)]
    fn tokens(&mut self, block: &Block, outside: impl FnOnce() -> Outside) -> (u64, u64, u64) {
        let escaped = escaped(block.backslashes, &mut self.escaped);
        let quotes = block.quotes & !escaped;
        if quotes == 0 && self.inside != 0 {
            return (0, escaped & !block.short, block.controls);
        }
        let inside = parity(quotes) ^ self.inside;
        self.inside = (inside.cast_signed() >> 63).cast_unsigned();
        let Outside { marks, spaces, breaks } = outside();
        let scalars = !(inside | quotes | marks | spaces);
        let starts = scalars & !(scalars << 1 | self.scalar);
        self.scalar = scalars >> 63;
        let tokens = (marks | breaks & self.breaks) & !inside | quotes & inside | starts;
        (tokens, escaped & inside & !block.short, block.controls & inside)
    }
}

/// Notes the places of a block's tokens. Eight at a time, for most blocks have fewer: what stands
/// behind the last is written over by the next block.
#[inline(always)]
pub(super) fn note(mut tokens: u64, start: u32, room: &mut [u32; BLOCK]) {
    for eight in room.chunks_exact_mut(8) {
        for place in eight {
            *place = start.wrapping_add(tokens.trailing_zeros());
            tokens &= tokens.wrapping_sub(1);
        }
        if tokens == 0 {
            break;
        }
    }
}

/// Whether each of these bytes begins an escape of six characters, its backslash apart.
#[cold]
#[inline(never)]
fn are_codes(mut places: u64, text: &[u8]) -> bool {
    while places != 0 {
        let rest = text.get(places.trailing_zeros() as usize..).unwrap_or_default();
        let digits = rest.get(1..5);
        let all = digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        if rest.first() != Some(&b'u') || !all {
            return false;
        }
        places &= places - 1;
    }
    true
}

/// Finds the tokens of a text, in order: the opening quote of each string, the first byte of each
/// number or word, and every bracket, brace, comma and colon; of several lines, also where each ends.
#[derive(Debug)]
pub struct Tokens<'a> {
    /// From the line on that is walked.
    bytes: &'a [u8],
    /// How many bytes stood before that.
    base: u32,
    /// Where the blocks begin that were not looked at.
    rest: usize,
    carry: Carry,
    /// Whether a string holds what it must not.
    odd: bool,
    /// How tokens are found.
    find: wide::Find,
    found: [u32; RUN],
    next: usize,
    end: usize,
    /// Whether the object just entered has not given its first key yet.
    fresh: bool,
}

impl<'a> Tokens<'a> {
    /// `None` where the processor lacks what this needs, or places do not fit in 32 bits.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        Self::found_by(wide::best()?, bytes)
    }

    /// The same by every way that the processor has: all find the same.
    pub fn by_each_way(bytes: &'a [u8]) -> impl Iterator<Item = Self> {
        wide::ways().filter_map(|find| Self::found_by(find, bytes))
    }

    fn found_by(find: wide::Find, bytes: &'a [u8]) -> Option<Self> {
        u32::try_from(bytes.len()).ok()?;
        let (carry, found) = (Carry::default(), [0; RUN]);
        let (base, rest, odd, next, end, fresh) = (0, 0, false, 0, 0, false);
        Some(Self { bytes, base, rest, carry, odd, find, found, next, end, fresh })
    }

    /// The same of lines that stand one behind another, each a text of its own: [`Walk::end`] is where
    /// a line ends, and [`next_line`](Self::next_line) goes on. If one of them is not walked to its
    /// end, the others are not to be walked either.
    #[must_use]
    pub fn in_lines(mut self) -> Self {
        self.carry.breaks = u64::MAX;
        self
    }

    /// Goes to the next line and gives the length of the one before it, whose end must have been
    /// reached; `None` if that was the last, and has no end.
    #[inline]
    pub fn next_line(&mut self) -> Option<usize> {
        let (length, _) = self.token().filter(|(_, byte)| *byte == b'\n')?;
        self.next += 1;
        self.bytes = self.bytes.get(length + 1..)?;
        // `of` saw to it that places fit.
        self.base += length as u32 + 1;
        self.rest -= length + 1;
        Some(length)
    }

    /// The place and the byte of the next token.
    #[inline]
    fn token(&mut self) -> Option<(usize, u8)> {
        if self.next == self.end && !self.more() {
            return None;
        }
        let at = (*self.found.get(self.next)? - self.base) as usize;
        Some((at, *self.bytes.get(at)?))
    }

    #[inline]
    fn take(&mut self) -> Result<(usize, u8)> {
        let Some(token) = self.token() else { return refused() };
        self.next += 1;
        Ok(token)
    }

    /// Looks for more tokens; false if there are none, or none that count.
    #[cold]
    #[inline(never)]
    fn more(&mut self) -> bool {
        (self.next, self.end) = (0, 0);
        while self.end == 0 && self.rest < self.bytes.len() && !self.odd {
            (self.find)(self);
        }
        if self.odd {
            self.end = 0;
        }
        self.end > 0
    }

    /// Finds what there is room for. `look` and `outside` say what stands in a block, `is_plain`
    /// whether that is nothing by which a string ends or goes on otherwise.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        look: impl Fn(&[u8; BLOCK]) -> Block,
        outside: impl Fn(&[u8; BLOCK]) -> Outside,
        is_plain: impl Fn(&[u8; BLOCK]) -> bool,
        note: impl Fn(u64, u32, &mut [u32; BLOCK]),
    ) {
        let Self { bytes, base, mut rest, mut carry, mut odd, mut end, .. } = *self;
        while let Some(left) = bytes.get(rest..).filter(|left| !left.is_empty())
            && let Some(room) = self.found.get_mut(end..).and_then(<[u32]>::first_chunk_mut)
        {
            let mut last = [b' '; BLOCK];
            let block = left.first_chunk().unwrap_or_else(|| {
                last.iter_mut().zip(left).for_each(|(to, from)| *to = *from);
                &last
            });
            let found = look(block);
            let (tokens, codes, wrong) = carry.tokens(&found, || outside(block));
            odd |= wrong != 0 || codes != 0 && !are_codes(codes, left);
            rest += BLOCK;
            if tokens != 0 {
                // `of` saw to it that places fit.
                note(tokens, base + (rest - BLOCK) as u32, room);
                end += tokens.count_ones() as usize;
            } else if carry.inside != 0 && found.backslashes == 0 {
                // Behind a block that changes nothing stand more of the kind, in images above all.
                while bytes.get(rest..).and_then(<[u8]>::first_chunk).is_some_and(&is_plain) {
                    rest += BLOCK;
                }
            }
        }
        (self.rest, self.carry, self.odd, self.end) = (rest, carry, odd, end);
    }

    /// Where what ends before `next` ends, the white space between cut off.
    #[inline]
    fn end_before(&self, next: usize) -> usize {
        let mut end = next;
        while let Some(b' ' | b'\t' | b'\r' | b'\n') =
            end.checked_sub(1).and_then(|at| self.bytes.get(at))
        {
            end -= 1;
        }
        end
    }

    /// Checks the number or word that begins here; gives its end.
    #[inline]
    fn scalar(&self, at: usize) -> Result<usize> {
        let end = Cursor::end_of_scalar(self.bytes, at)?;
        match self.bytes.get(end) {
            None | Some(b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\r' | b'\n') => Ok(end),
            Some(_) => refused(),
        }
    }

    /// Past the object or list that begins here. What stands where is told by the place in this
    /// code, not by a table, for the processor guesses well what follows in each place.
    fn container(&mut self, mut token: (usize, u8)) -> Result<usize> {
        let mut open = Levels::default();
        loop {
            // At the first token of a value.
            let mut closed = None;
            match token.1 {
                b'"' => {}
                b'{' | b'[' => {
                    let object = token.1 == b'{';
                    token = self.take()?;
                    if token.1 != closing(object) {
                        open.push(object);
                        token = self.value(object, token)?;
                        continue;
                    }
                    closed = Some(token.0);
                }
                _ => drop(self.scalar(token.0)?),
            }
            // Past a value: close what closes here, then find the next one.
            loop {
                let Some(object) = open.top() else {
                    return closed.map_or_else(refused, |at| Ok(at + 1));
                };
                let (at, byte) = self.take()?;
                if byte == b',' {
                    let next = self.take()?;
                    token = self.value(object, next)?;
                    break;
                }
                if byte != closing(object) {
                    return refused();
                }
                open.pop();
                closed = Some(at);
            }
        }
    }

    /// The first token of the value whose member or item begins with this one.
    #[inline]
    fn value(&mut self, object: bool, token: (usize, u8)) -> Result<(usize, u8)> {
        if !object {
            return Ok(token);
        }
        if token.1 != b'"' || self.take()?.1 != b':' {
            return refused();
        }
        self.take()
    }
}

/// What ends an object or a list.
#[inline(always)]
fn closing(object: bool) -> u8 {
    if object { b'}' } else { b']' }
}

impl Walk for Tokens<'_> {
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        self.token().map(|(_, byte)| byte)
    }

    #[inline]
    fn begin_object(&mut self) -> Result<()> {
        self.fresh = true;
        match self.take()? {
            (_, b'{') => Ok(()),
            _ => refused(),
        }
    }

    #[inline]
    fn next_key(&mut self) -> Result<Option<Span>> {
        let fresh = std::mem::take(&mut self.fresh);
        let mut key = self.take()?;
        match key.1 {
            b'}' => return Ok(None),
            b',' if !fresh => key = self.take()?,
            _ if fresh => {}
            _ => return refused(),
        }
        match (key, self.take()?) {
            ((start, b'"'), (colon, b':')) => Ok(Some(Span { start, end: self.end_before(colon) })),
            _ => refused(),
        }
    }

    #[inline]
    fn skip_value(&mut self) -> Result<Span> {
        let (start, byte) = self.take()?;
        let end = match byte {
            b'"' => {
                let next = self.token().map_or(self.bytes.len(), |(at, _)| at);
                self.end_before(next)
            }
            b'{' | b'[' => self.container((start, byte))?,
            _ => self.scalar(start)?,
        };
        Ok(Span { start, end })
    }

    #[inline]
    fn last(&self) -> usize {
        let last = self.next.checked_sub(1).and_then(|last| self.found.get(last));
        last.map_or(0, |at| (*at - self.base) as usize)
    }

    fn end(&mut self) -> Result<()> {
        match self.token() {
            Some((_, b'\n')) => Ok(()),
            None if !self.odd && self.carry.inside == 0 => Ok(()),
            _ => refused(),
        }
    }
}

fn refused<T>() -> Result<T> {
    Err(Fault { at: 0, what: What::End })
}

/// A bit is set where the number of bits up to it is odd: between an opening quote, that included,
/// and its closing one.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ (bits << 32)
}
