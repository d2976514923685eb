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
/// What no token of JSON begins with.
const NONE: u8 = 0;
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

/// Room for the tokens of a block: their places, and their first bytes.
pub(super) struct Room<'a> {
    pub places: &'a mut [u32; BLOCK],
    pub kinds: &'a mut [u8; BLOCK],
}

/// Notes the tokens of a block that begins at `start`. Eight at a time, for most blocks have fewer:
/// what stands behind the last is written over by the next block.
#[inline(always)]
pub(super) fn note(mut tokens: u64, start: u32, block: &[u8; BLOCK], room: Room<'_>) {
    let kinds = room.kinds.chunks_exact_mut(8);
    for (places, kinds) in room.places.chunks_exact_mut(8).zip(kinds) {
        for (place, kind) in places.iter_mut().zip(kinds) {
            let at = tokens.trailing_zeros();
            *place = start.wrapping_add(at);
            *kind = block[at as usize % BLOCK];
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
    /// Where the tokens stand that were found, and what each begins with; behind the last is
    /// nothing, which begins with [`NONE`].
    places: [u32; RUN],
    kinds: [u8; RUN],
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
        let (carry, places, kinds) = (Carry::default(), [0; RUN], [NONE; RUN]);
        let (base, rest, odd, next, end, fresh) = (0, 0, false, 0, 0, false);
        Some(Self { bytes, base, rest, carry, odd, find, places, kinds, next, end, fresh })
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
        if self.kind() != b'\n' {
            return None;
        }
        let length = self.place(self.next);
        self.next += 1;
        self.bytes = self.bytes.get(length + 1..)?;
        // `of` saw to it that places fit.
        self.base += length as u32 + 1;
        self.rest -= length + 1;
        Some(length)
    }

    /// What the next token begins with; [`NONE`] if there is none.
    #[inline(always)]
    fn kind(&mut self) -> u8 {
        match self.kinds.get(self.next) {
            Some(&kind) if kind != NONE => kind,
            _ => self.more(),
        }
    }

    /// The same, and the one behind it is the next; [`last`](Walk::last) is its place. Which token is
    /// the next must not wait for what this one begins with.
    #[inline(always)]
    fn take(&mut self) -> u8 {
        match self.kinds.get(self.next) {
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

    /// The place in the line of one of the tokens.
    #[inline(always)]
    fn place(&self, token: usize) -> usize {
        self.places.get(token).map_or(0, |at| at.wrapping_sub(self.base) as usize)
    }

    /// Looks for more tokens, and gives what the first begins with. One that begins with [`NONE`] is
    /// as good as none, but that the end is not reached.
    #[cold]
    #[inline(never)]
    fn more(&mut self) -> u8 {
        if self.next < self.end {
            return NONE;
        }
        (self.next, self.end) = (0, 0);
        while self.end == 0 && self.rest < self.bytes.len() && !self.odd {
            (self.find)(self);
        }
        if self.odd {
            self.end = 0;
        }
        if let Some(end) = self.kinds.get_mut(self.end) {
            *end = NONE;
        }
        self.kinds.first().copied().unwrap_or(NONE)
    }

    /// Finds what there is room for. `look` and `outside` say what stands in a block, `is_plain`
    /// whether that is nothing by which a string ends or goes on otherwise.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        look: impl Fn(&[u8; BLOCK]) -> Block,
        outside: impl Fn(&[u8; BLOCK]) -> Outside,
        is_plain: impl Fn(&[u8; BLOCK]) -> bool,
        note: impl Fn(u64, u32, &[u8; BLOCK], Room<'_>),
    ) {
        let Self { bytes, base, mut rest, mut carry, mut odd, mut end, .. } = *self;
        while let Some(left) = bytes.get(rest..).filter(|left| !left.is_empty())
            && let Some(places) = self.places.get_mut(end..).and_then(<[u32]>::first_chunk_mut)
            && let Some(kinds) = self.kinds.get_mut(end..).and_then(<[u8]>::first_chunk_mut)
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
                note(tokens, base + (rest - BLOCK) as u32, block, Room { places, kinds });
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

    /// Past the object or list that was just taken, which begins with `kind`. What stands where is
    /// told by the place in this code, not by a table, for the processor guesses well what follows
    /// in each place.
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

    /// What the value begins with whose member or item was just taken, which begins with `kind`.
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

/// What ends an object or a list.
#[inline(always)]
fn closing(object: bool) -> u8 {
    if object { b'}' } else { b']' }
}

impl Walk for Tokens<'_> {
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        Some(self.kind()).filter(|_| self.next < self.end)
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
                let next = self.peek().map_or(self.bytes.len(), |_| self.place(self.next));
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
