//! A walk over one JSON text by its tokens, which are found for 64 bytes at a time.
//!
//! The walk accepts only texts that [`Cursor`] accepts, and then returns the same places. `Cursor`
//! checks a refused text again and reports the reason; so a fault here carries only the fact that
//! there is one.

use super::cursor::{Cursor, Walk};
use super::fault::{Fault, Span, What};
use super::scan::{Levels, escaped};
use super::wide;

type Result<T> = std::result::Result<T, Fault>;

/// Maximum number of tokens found in one run; most lines have fewer.
const RUN: usize = 256;
/// Kind for the absence of a token: no token of JSON begins with this byte.
const NONE: u8 = 0;
/// Number of bytes that one step examines.
pub(super) const BLOCK: usize = 64;

/// Classes of the bytes of a block, a bit for each byte, the lowest for the first.
pub(super) struct Block {
    pub quotes: u64,
    pub backslashes: u64,
    pub controls: u64,
    /// Characters that make an escape of two characters.
    pub short: u64,
}

/// Classes of the bytes of a block that count only outside of strings.
pub(super) struct Outside {
    /// Brackets, braces, commas and colons.
    pub marks: u64,
    pub spaces: u64,
    /// Spaces that end a line.
    pub breaks: u64,
}

/// State that the blocks before carry to the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Carry {
    /// Whether the first byte of the next block is escaped.
    escaped: bool,
    /// All bits are set inside of a string.
    inside: u64,
    /// The lowest bit is set if a number or a word continues.
    scalar: u64,
    /// All bits are set if the end of a line is a token.
    breaks: u64,
}

impl Carry {
    /// Returns the tokens of the next block; the bytes behind a backslash that need a closer check;
    /// and the bytes that must not be where they are.
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

/// Notes the tokens of a block that begins at `start`. Eight are noted at a time, because most
/// blocks have fewer: the entries behind the last token are overwritten by the next block.
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

/// Whether each of these bytes begins an escape of six characters, without its backslash.
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
/// number or word, and every bracket, brace, comma and colon; in several lines, also the end of
/// each line.
#[derive(Debug)]
pub struct Tokens<'a> {
    /// The text, from the beginning of the current line.
    bytes: &'a [u8],
    /// Number of bytes before the current line.
    base: u32,
    /// Place at which the blocks begin that were not searched.
    rest: usize,
    carry: Carry,
    /// Whether a string contains a byte that it must not contain.
    invalid: bool,
    /// How tokens are found.
    find: wide::Find,
    /// Places of the tokens found, and their first bytes; the entry behind the last is [`NONE`].
    places: [u32; RUN],
    kinds: [u8; RUN],
    next: usize,
    end: usize,
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
        u32::try_from(bytes.len()).ok()?;
        let (carry, places, kinds) = (Carry::default(), [0; RUN], [NONE; RUN]);
        let (base, rest, invalid, next, end, fresh) = (0, 0, false, 0, 0, false);
        Some(Self { bytes, base, rest, carry, invalid, find, places, kinds, next, end, fresh })
    }

    /// Sets the walk to consecutive lines, each a text of its own: [`Walk::end`] is where a line
    /// ends, and [`next_line`](Self::next_line) continues. If one of them is not walked to its end,
    /// the lines behind it must not be walked either.
    pub fn in_lines(mut self) -> Self {
        self.carry.breaks = u64::MAX;
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
        self.bytes = self.bytes.get(length + 1..)?;
        // The constructor made sure that places fit.
        self.base += length as u32 + 1;
        self.rest -= length + 1;
        Some(length)
    }

    /// Returns the first byte of the next token; [`NONE`] if there is none.
    #[inline(always)]
    fn kind(&mut self) -> u8 {
        match self.kinds.get(self.next) {
            Some(&kind) if kind != NONE => kind,
            _ => self.more(),
        }
    }

    /// Takes the next token and returns its first byte; [`last`](Walk::last) is its place. The
    /// choice of the token behind it must not wait for the first byte of this one.
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

    /// Returns the place in the line of one of the tokens.
    #[inline(always)]
    fn place(&self, token: usize) -> usize {
        self.places.get(token).map_or(0, |at| at.wrapping_sub(self.base) as usize)
    }

    /// Searches for more tokens, and returns the first byte of the first one. A token that begins
    /// with [`NONE`] counts as absent, except that the end is not reached.
    #[cold]
    #[inline(never)]
    fn more(&mut self) -> u8 {
        if self.next < self.end {
            return NONE;
        }
        (self.next, self.end) = (0, 0);
        while self.end == 0 && self.rest < self.bytes.len() && !self.invalid {
            (self.find)(self);
        }
        if self.invalid {
            self.end = 0;
        }
        if let Some(end) = self.kinds.get_mut(self.end) {
            *end = NONE;
        }
        self.kinds.first().copied().unwrap_or(NONE)
    }

    /// Finds as many tokens as there is room for. `look` and `outside` classify the bytes of a
    /// block; `is_plain` is true for a block without bytes that can end or change a string.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        look: impl Fn(&[u8; BLOCK]) -> Block,
        outside: impl Fn(&[u8; BLOCK]) -> Outside,
        is_plain: impl Fn(&[u8; BLOCK]) -> bool,
        note: impl Fn(u64, u32, &[u8; BLOCK], Room<'_>),
    ) {
        let Self { bytes, base, mut rest, mut carry, mut invalid, mut end, .. } = *self;
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
            invalid |= wrong != 0 || codes != 0 && !are_codes(codes, left);
            rest += BLOCK;
            if tokens != 0 {
                // The constructor made sure that places fit.
                note(tokens, base + (rest - BLOCK) as u32, block, Room { places, kinds });
                end += tokens.count_ones() as usize;
            } else if carry.inside != 0 && found.backslashes == 0 {
                // Plain blocks come in rows, above all in images.
                while bytes.get(rest..).and_then(<[u8]>::first_chunk).is_some_and(&is_plain) {
                    rest += BLOCK;
                }
            }
        }
        (self.rest, self.carry, self.invalid, self.end) = (rest, carry, invalid, end);
    }

    /// Returns the end of the value before `next`, without the white space between.
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

    /// Checks the number or word that begins here; returns its end.
    #[inline]
    fn scalar(&self, at: usize) -> Result<usize> {
        let end = Cursor::end_of_scalar(self.bytes, at)?;
        match self.bytes.get(end) {
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
            None if !self.invalid && self.carry.inside == 0 => Ok(()),
            _ => refused(),
        }
    }
}

fn refused<T>() -> Result<T> {
    Err(Fault { at: 0, what: What::End })
}

/// Sets a bit where the number of bits up to it is odd: from an opening quote, included, to its
/// closing one.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^ (bits << 32)
}
