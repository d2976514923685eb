//! The inside of strings, 32 bytes at a time.
//!
//! This is the only module with `unsafe` code. It needs it for two things: to load 32 bytes of a
//! slice that was checked to have them, and to call what is compiled for AVX2 on a processor that
//! was asked whether it has it.
#![allow(unsafe_code, reason = "instructions of one kind of processor; see above")]

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16,
};

const WIDTH: usize = 32;
/// Every second bit, from the lowest on.
const EVEN: u32 = 0x5555_5555;

/// Where [`super::strings::stop`] stops, or as far as it comes before fewer than 32 bytes are left,
/// never into the middle of an escape.
pub fn stop(bytes: &[u8], at: usize) -> Result<usize, usize> {
    if !is_x86_feature_detected!("avx2") {
        return Err(at);
    }
    // SAFETY: the processor has what the function is compiled for.
    unsafe { avx2(bytes, at) }
}

#[target_feature(enable = "avx2")]
fn avx2(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    // Whether the byte before this block is a backslash that escapes its first byte.
    let mut carried = false;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<WIDTH>) {
        let found = Found::of(block);
        let escaped = found.escaped(&mut carried);
        let odd = escaped & !found.short;
        let stops = (found.quotes & !escaped) | found.controls | odd;
        if stops != 0 {
            let place = stops.trailing_zeros();
            let back = usize::from(odd >> place & 1 == 1);
            return Ok(at + place as usize - back);
        }
        at += WIDTH;
    }
    Err(at - usize::from(carried))
}

/// What stands in a block, a bit for each byte, the lowest for the first.
struct Found {
    quotes: u32,
    backslashes: u32,
    controls: u32,
    /// What makes an escape of two characters.
    short: u32,
}

impl Found {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(block: &[u8; WIDTH]) -> Self {
        // SAFETY: the array has 32 bytes, and the instruction asks for no alignment.
        let block: __m256i = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        let bits = |hits: __m256i| _mm256_movemask_epi8(hits).cast_unsigned();
        let is = |byte: u8| bits(_mm256_cmpeq_epi8(block, _mm256_set1_epi8(byte.cast_signed())));
        let low = _mm256_min_epu8(block, _mm256_set1_epi8(0x1f));
        Self {
            quotes: is(b'"'),
            backslashes: is(b'\\'),
            controls: bits(_mm256_cmpeq_epi8(block, low)),
            short: !bits(_mm256_cmpeq_epi8(short_escapes(block), _mm256_setzero_si256())),
        }
    }

    /// The bytes that are escaped. In a row of backslashes every second one is; adding the rows that
    /// begin at odd places to themselves carries a bit to where each ends, and so tells which.
    #[inline]
    fn escaped(&self, carried: &mut bool) -> u32 {
        let before = u32::from(*carried);
        let openers = self.backslashes & !before;
        let follows = openers << 1 | before;
        let odd_rows = openers & !EVEN & !follows;
        let (ends, over) = odd_rows.overflowing_add(openers);
        *carried = over;
        (EVEN ^ (ends << 1)) & follows
    }
}

/// Not zero where one of `"\/bfnrt` stands. Each has two halves, and a bit for its upper half in
/// the row of its lower one.
#[inline]
#[target_feature(enable = "avx2")]
fn short_escapes(block: __m256i) -> __m256i {
    // `"` 22, `/` 2f: 1. `\` 5c: 2. `b` 62, `f` 66, `n` 6e: 4. `r` 72, `t` 74: 8.
    let lower = _mm256_setr_epi8(
        0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1, //
        0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1,
    );
    let upper = _mm256_setr_epi8(
        0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, //
        0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0,
    );
    let half = _mm256_set1_epi8(0x0f);
    let low = _mm256_shuffle_epi8(lower, _mm256_and_si256(block, half));
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(block), half);
    _mm256_and_si256(low, _mm256_shuffle_epi8(upper, high))
}
