//! The search for the tokens of a JSON text, 64 bytes at a time.

use super::scan::escaped;

/// Maximum number of tokens found in one run; most lines have fewer.
const RUN: usize = 256;
/// Kind for the absence of a token: no token of JSON begins with this byte.
pub const NONE: u8 = 0;
/// Number of bytes that one step examines.
pub const BLOCK: usize = 64;

/// Classes of the bytes of a block, a bit for each byte, the lowest for the first.
pub struct Block {
    pub quotes: u64,
    pub backslashes: u64,
    pub controls: u64,
    /// Characters that make an escape of two characters.
    pub short: u64,
}

/// Classes of the bytes of a block that count only outside of strings.
pub struct Outside {
    /// Brackets, braces, commas and colons.
    pub marks: u64,
    pub spaces: u64,
    /// Spaces that end a line.
    pub breaks: u64,
}

/// State that the blocks before carry to the next one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carry {
    /// Whether the first byte of the next block is escaped.
    escaped: bool,
    /// All bits are set inside of a string.
    pub inside: u64,
    /// The lowest bit is set if a number or a word continues.
    scalar: u64,
    /// All bits are set if the end of a line is a token.
    pub breaks: u64,
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
pub struct Room<'a> {
    pub places: &'a mut [u32; BLOCK],
    pub kinds: &'a mut [u8; BLOCK],
}

/// Notes the tokens of a block that begins at `start`. Eight are noted at a time, because most
/// blocks have fewer: the entries behind the last token are overwritten by the next block.
#[inline(always)]
pub fn note(mut tokens: u64, start: u32, block: &[u8; BLOCK], room: Room<'_>) {
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

/// Places of the tokens of a text, a run at a time.
#[derive(Debug)]
pub struct Search<'a> {
    /// The text, from the beginning of the current line.
    pub bytes: &'a [u8],
    /// Number of bytes before the current line.
    pub base: u32,
    /// Place at which the blocks begin that were not searched.
    rest: usize,
    pub carry: Carry,
    /// Whether a string contains a byte that it must not contain.
    pub invalid: bool,
    /// Places of the tokens found, and their first bytes; the entry behind the last is [`NONE`].
    pub places: [u32; RUN],
    pub kinds: [u8; RUN],
    /// Number of tokens found.
    pub end: usize,
}

impl<'a> Search<'a> {
    /// Begins a search; `None` if places do not fit in 32 bits.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        u32::try_from(bytes.len()).ok()?;
        let (carry, places, kinds) = (Carry::default(), [0; RUN], [NONE; RUN]);
        Some(Self { bytes, base: 0, rest: 0, carry, invalid: false, places, kinds, end: 0 })
    }

    /// Leaves out the current line, which ends at this place.
    #[inline]
    pub fn begin_behind(&mut self, length: usize) -> Option<()> {
        self.bytes = self.bytes.get(length + 1..)?;
        // The constructor made sure that places fit.
        self.base += length as u32 + 1;
        self.rest -= length + 1;
        Some(())
    }

    /// Finds the next run of tokens by `find`, and returns the first byte of the first one; [`NONE`]
    /// if there is none.
    pub fn run(&mut self, find: impl Fn(&mut Self)) -> u8 {
        self.end = 0;
        while self.end == 0 && self.rest < self.bytes.len() && !self.invalid {
            find(self);
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
    pub fn find(
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
