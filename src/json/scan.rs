//! The two loops in which walking JSON spends its time, and the constants and functions that
//! similar loops need.

/// The bytes that make an escape of two characters.
pub static SHORT_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let escapes = b"\"\\/bfnrt";
    let mut i = 0;
    while i < escapes.len() {
        table[escapes[i] as usize] = true;
        i += 1;
    }
    table
};

/// The lowest bit of each byte of a word, and the highest.
pub const ONES: u64 = 0x0101_0101_0101_0101;
pub const HIGH: u64 = 0x8080_8080_8080_8080;

/// Returns eight bytes from `at` on as a word, the lowest first, with spaces for bytes behind the
/// end. `None` at the end.
#[inline(always)]
pub fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let rest = bytes.get(at..)?;
    match rest.first_chunk::<8>() {
        Some(block) => Some(u64::from_le_bytes(*block)),
        None if rest.is_empty() => None,
        None => {
            let spaces = ONES * u64::from(b' ');
            Some(rest.iter().rev().fold(spaces, |word, byte| word << 8 | u64::from(*byte)))
        }
    }
}

/// Returns the number of the byte that contains the lowest hit; 8 if there is none.
#[inline(always)]
pub fn first(hits: u64) -> usize {
    hits.trailing_zeros() as usize / 8
}

/// Marks the quotes, backslashes and control characters of a word; above the first mark there may
/// be false ones.
///
/// A byte's high bit is set where a test holds. Flipping the bit 0x02 puts the quote (0x22) right
/// behind the control characters, so that one comparison finds both. A borrow can only spoil bits
/// above the lowest hit.
#[inline(always)]
pub fn hits(word: u64) -> u64 {
    let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let back = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (low | back) & !word & HIGH
}

/// Marks the bytes of a word that are not digits.
#[inline(always)]
pub fn no_digits(word: u64) -> u64 {
    // Digits become 0 to 9, to which 0x76 can be added without reaching the high bit.
    let digits = word ^ (ONES * u64::from(b'0'));
    ((digits & !HIGH).wrapping_add(ONES * 0x76) | digits) & HIGH
}

/// Returns the place from `at` on of the first quote, backslash or control character, or the end.
#[inline(always)]
pub fn next_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = word(bytes, at) {
        let hits = hits(word);
        if hits != 0 {
            return at + first(hits);
        }
        at += 8;
    }
    at.min(bytes.len())
}

/// Marks the bytes of 64 behind backslashes that are not escaped themselves. `carried` is true if
/// the first byte is escaped, and is set if the byte behind the block is. In a row of backslashes
/// every second one is escaped. Adding the rows that begin at odd places to themselves carries a
/// bit to the end of each row, which shows the escaped ones.
#[inline(always)]
pub fn escaped(backslashes: u64, carried: &mut bool) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    if backslashes == 0 {
        return u64::from(std::mem::take(carried));
    }
    let before = u64::from(*carried);
    let openers = backslashes & !before;
    let follows = openers << 1 | before;
    let odd_rows = openers & !EVEN & !follows;
    let (ends, over) = odd_rows.overflowing_add(openers);
    *carried = over;
    (EVEN ^ (ends << 1)) & follows
}

/// A stack of bits, one a nesting level: true for objects.
#[derive(Default)]
pub struct Levels {
    word: u64,
    depth: usize,
    full: Vec<u64>,
}

impl Levels {
    /// Enters an object or an array.
    #[inline]
    pub fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.full.push(self.word);
        }
        self.word = self.word << 1 | u64::from(object);
        self.depth += 1;
    }

    /// Whether the innermost level is an object.
    #[inline]
    pub fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.word & 1 == 1)
    }

    /// Leaves the innermost level.
    #[inline]
    pub fn pop(&mut self) {
        self.word >>= 1;
        self.depth -= 1;
        if self.depth > 0
            && self.depth.is_multiple_of(64)
            && let Some(word) = self.full.pop()
        {
            self.word = word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_plain_or_special_at_every_place() {
        for byte in 0..=255u8 {
            let special = byte < 0x20 || byte == b'"' || byte == b'\\';
            for place in 0..24 {
                let mut bytes = [b'a'; 24];
                bytes[place] = byte;
                let expected = if special { place } else { 24 };
                assert_eq!(next_special(&bytes, 0), expected, "{byte:#x} at {place}");
                bytes[23] = b'"';
                assert_eq!(next_special(&bytes, 0), expected.min(23), "{byte:#x} at {place}");
            }
        }
    }
}
