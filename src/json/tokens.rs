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
}

impl Carry {
    /// Whether the next byte is an ordinary one of a string.
    #[inline(always)]
    fn is_inside(&self) -> bool {
        self.inside != 0 && !self.escaped
    }

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
        let Outside { marks, spaces } = outside();
        let scalars = !(inside | quotes | marks | spaces);
        let starts = scalars & !(scalars << 1 | self.scalar);
        self.scalar = scalars >> 63;
        let tokens = marks & !inside | quotes & inside | starts;
        (tokens, escaped & inside & !block.short, block.controls & inside)
    }
}

/// Notes the places of a block's tokens. Eight at a time, for most blocks have fewer: what stands
/// behind the last is written over by the next block.
#[inline(always)]
fn note(mut tokens: u64, start: u32, room: &mut [u32; BLOCK]) {
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
/// number or word, and every bracket, brace, comma and colon.
#[derive(Debug)]
pub struct Tokens<'a> {
    bytes: &'a [u8],
    /// Where the blocks begin that were not looked at.
    rest: usize,
    carry: Carry,
    /// Whether a string holds what it must not.
    odd: bool,
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
        if !wide::is_there() || u32::try_from(bytes.len()).is_err() {
            return None;
        }
        let (carry, found) = (Carry::default(), [0; RUN]);
        Some(Self { bytes, rest: 0, carry, odd: false, found, next: 0, end: 0, fresh: false })
    }

    /// The place and the byte of the next token.
    #[inline]
    fn token(&mut self) -> Option<(usize, u8)> {
        if self.next == self.end && !self.more() {
            return None;
        }
        let at = *self.found.get(self.next)? as usize;
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
            wide::find(self);
        }
        self.end > 0 && !self.odd
    }

    /// Finds what there is room for. `look` and `outside` say what stands in a block, `is_plain`
    /// whether that is nothing by which a string ends or goes on otherwise.
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        look: impl Fn(&[u8; BLOCK]) -> Block,
        outside: impl Fn(&[u8; BLOCK]) -> Outside,
        is_plain: impl Fn(&[u8; BLOCK]) -> bool,
    ) {
        let Self { bytes, mut rest, mut carry, mut odd, mut end, .. } = *self;
        while let Some(left) = bytes.get(rest..).filter(|left| !left.is_empty())
            && let Some(room) = self.found.get_mut(end..).and_then(<[u32]>::first_chunk_mut)
        {
            let mut last = [b' '; BLOCK];
            let block = match left.first_chunk() {
                // Most bytes are inside of long texts, and change nothing.
                Some(block) if carry.is_inside() && is_plain(block) => {
                    rest += BLOCK;
                    continue;
                }
                Some(block) => block,
                None => {
                    last.iter_mut().zip(left).for_each(|(to, from)| *to = *from);
                    &last
                }
            };
            let (tokens, codes, wrong) = carry.tokens(&look(block), || outside(block));
            odd |= wrong != 0 || codes != 0 && !are_codes(codes, left);
            if tokens != 0 {
                // `of` saw to it that places fit.
                note(tokens, rest as u32, room);
                end += tokens.count_ones() as usize;
            }
            rest += BLOCK;
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

    /// Past the rest of an object or list whose first byte was taken.
    fn container(&mut self, first: u8) -> Result<usize> {
        let mut open = Levels::default();
        let mut state = if first == b'{' { OBJECT } else { LIST };
        open.push(first == b'{');
        loop {
            let (at, byte) = self.take()?;
            let step = step(state, byte);
            state = step & STATE;
            match step & !STATE {
                0 => {}
                SCALAR => drop(self.scalar(at)?),
                OPEN => open.push(state == OBJECT),
                CLOSE => {
                    open.pop();
                    match open.top() {
                        None => return Ok(at + 1),
                        Some(object) => state = if object { OBJECT_END } else { LIST_END },
                    }
                }
                _ => return refused(),
            }
        }
    }
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
            b'{' | b'[' => self.container(byte)?,
            _ => self.scalar(start)?,
        };
        Ok(Span { start, end })
    }

    #[inline]
    fn last(&self) -> usize {
        let last = self.next.checked_sub(1).and_then(|last| self.found.get(last));
        last.map_or(0, |at| *at as usize)
    }

    fn end(&mut self) -> Result<()> {
        let more = self.token().is_some();
        if more || self.odd || self.carry.inside != 0 { refused() } else { Ok(()) }
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

// What may come next: inside of an object or a list that has just begun, behind a comma, a key, a
// colon, a value.
const OBJECT: u8 = 0;
const OBJECT_KEY: u8 = 1;
const OBJECT_COLON: u8 = 2;
const OBJECT_VALUE: u8 = 3;
const OBJECT_END: u8 = 4;
const LIST: u8 = 5;
const LIST_VALUE: u8 = 6;
const LIST_END: u8 = 7;
/// The part of a step that says what may come after it. The rest says what is to be done.
const STATE: u8 = 7;
const SCALAR: u8 = 0x08;
const OPEN: u8 = 0x10;
const CLOSE: u8 = 0x20;
const REFUSED: u8 = 0x40;

/// The steps from each state, by kinds of tokens.
static STEPS: [[u8; 8]; 8] = {
    let mut steps = [[REFUSED; 8]; 8];
    let from = [(OBJECT_VALUE, OBJECT_END), (LIST, LIST_END), (LIST_VALUE, LIST_END)];
    let mut i = 0;
    while i < from.len() {
        let (state, then) = from[i];
        let row = &mut steps[state as usize];
        row[kind(b'"') as usize] = then;
        row[kind(b'0') as usize] = then | SCALAR;
        row[kind(b'{') as usize] = OBJECT | OPEN;
        row[kind(b'[') as usize] = LIST | OPEN;
        i += 1;
    }
    steps[OBJECT as usize][kind(b'"') as usize] = OBJECT_COLON;
    steps[OBJECT as usize][kind(b'}') as usize] = CLOSE;
    steps[OBJECT_KEY as usize][kind(b'"') as usize] = OBJECT_COLON;
    steps[OBJECT_COLON as usize][kind(b':') as usize] = OBJECT_VALUE;
    steps[OBJECT_END as usize][kind(b',') as usize] = OBJECT_KEY;
    steps[OBJECT_END as usize][kind(b'}') as usize] = CLOSE;
    steps[LIST as usize][kind(b']') as usize] = CLOSE;
    steps[LIST_END as usize][kind(b',') as usize] = LIST_VALUE;
    steps[LIST_END as usize][kind(b']') as usize] = CLOSE;
    steps
};

const fn kind(byte: u8) -> u8 {
    match byte {
        b'"' => 0,
        b':' => 1,
        b',' => 2,
        b'{' => 3,
        b'}' => 4,
        b'[' => 5,
        b']' => 6,
        _ => 7,
    }
}

static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = kind(byte as u8);
        byte += 1;
    }
    kinds
};

#[inline(always)]
fn step(state: u8, byte: u8) -> u8 {
    STEPS[usize::from(state & STATE)][usize::from(KINDS[usize::from(byte)] & 7)]
}
