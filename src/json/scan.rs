//! The two loops that walking JSON spends its time in.

/// How many leading bytes are neither quote, backslash nor control character.
///
/// Eight bytes at a time: a byte's high bit is set where a test holds. Flipping the bit 0x02 puts
/// the quote (0x22) right behind the control characters, so that one comparison finds both. A
/// borrow can only spoil bits above the lowest hit, and only the lowest is used.
#[inline]
pub fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*block);
        let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
        let back = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
        let hits = (low | back) & !word & HIGH;
        if hits != 0 {
            return bytes.len() - rest.len() + hits.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let plain = rest.iter().take_while(|&&b| b != b'"' && b != b'\\' && b >= 0x20).count();
    bytes.len() - rest.len() + plain
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
                assert_eq!(plain_run(&bytes), expected, "{byte:#x} at {place}");
                bytes[23] = b'"';
                assert_eq!(plain_run(&bytes), expected.min(23), "{byte:#x} at {place}");
            }
        }
    }
}
