//! The inside of strings and the tokens of a text, 64 bytes at a time.
//!
//! This is the only module with `unsafe` code. It needs it for two things: to load 32 bytes of a
//! slice that was checked to have them, and to call what is compiled for AVX2 on a processor that
//! was asked whether it has it.
#![allow(unsafe_code, reason = "instructions of one kind of processor; see above")]

use super::scan::escaped;
use super::tokens::{BLOCK, Block, Outside, Tokens};
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_shuffle_epi8,
    _mm256_srli_epi16,
};

const WIDTH: usize = 32;

/// Whether the processor has what this needs.
#[inline]
pub fn is_there() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

/// Finds more tokens; none where the processor lacks what this needs.
pub fn find(tokens: &mut Tokens<'_>) {
    if is_there() {
        // SAFETY: the processor has what the function is compiled for.
        unsafe { find_avx2(tokens) }
    }
}

#[target_feature(enable = "avx2,bmi1,popcnt")]
fn find_avx2(tokens: &mut Tokens<'_>) {
    tokens.find(|block| look(block), |block| outside(block), |block| is_plain(block));
}

/// Where [`super::strings::stop`] stops, or as far as it comes before fewer than 64 bytes are left,
/// never into the middle of an escape.
pub fn stop(bytes: &[u8], at: usize) -> Result<usize, usize> {
    if !is_there() {
        return Err(at);
    }
    // SAFETY: the processor has what the function is compiled for.
    unsafe { stop_avx2(bytes, at) }
}

#[target_feature(enable = "avx2")]
fn stop_avx2(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
    // Whether the byte before this block is a backslash that escapes its first byte.
    let mut carried = false;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let found = look(block);
        let escaped = escaped(found.backslashes, &mut carried);
        let odd = escaped & !found.short;
        let stops = (found.quotes & !escaped) | found.controls | odd;
        if stops != 0 {
            let place = stops.trailing_zeros();
            let back = usize::from(odd >> place & 1 == 1);
            return Ok(at + place as usize - back);
        }
        at += BLOCK;
    }
    Err(at - usize::from(carried))
}

/// Whether neither a quote nor a backslash nor a control character stands in a block.
#[inline]
#[target_feature(enable = "avx2")]
fn is_plain(block: &[u8; BLOCK]) -> bool {
    let (halves, _) = block.as_chunks::<WIDTH>();
    let special = |half: &[u8; WIDTH]| {
        let half = load(half);
        let low = _mm256_cmpeq_epi8(half, _mm256_min_epu8(half, all(0x1f)));
        let quotes = _mm256_cmpeq_epi8(half, all(b'"'));
        let backslashes = _mm256_cmpeq_epi8(half, all(b'\\'));
        _mm256_or_si256(low, _mm256_or_si256(quotes, backslashes))
    };
    let either = _mm256_or_si256(special(&halves[0]), special(&halves[1]));
    _mm256_movemask_epi8(either) == 0
}

/// What stands in a block.
#[inline]
#[target_feature(enable = "avx2")]
fn look(block: &[u8; BLOCK]) -> Block {
    let (halves, _) = block.as_chunks::<WIDTH>();
    let (low, high) = (load(&halves[0]), load(&halves[1]));
    Block {
        quotes: both(is(low, b'"'), is(high, b'"')),
        backslashes: both(is(low, b'\\'), is(high, b'\\')),
        controls: both(controls(low), controls(high)),
        short: both(any(short_escapes(low)), any(short_escapes(high))),
    }
}

/// The same of what counts only outside of strings.
#[inline]
#[target_feature(enable = "avx2")]
fn outside(block: &[u8; BLOCK]) -> Outside {
    let (halves, _) = block.as_chunks::<WIDTH>();
    let (first, second) = (load(&halves[0]), load(&halves[1]));
    let (low, high) = (marks(first), marks(second));
    let of = |which: u8, kinds: __m256i| any(_mm256_and_si256(kinds, all(which)));
    Outside {
        marks: both(of(MARK, low), of(MARK, high)),
        spaces: both(of(SPACE, low), of(SPACE, high)),
        breaks: both(is(first, b'\n'), is(second, b'\n')),
    }
}

/// The bits of both halves of a block.
#[inline]
fn both(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << WIDTH
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &[u8; WIDTH]) -> __m256i {
    // SAFETY: the array has 32 bytes, and the instruction asks for no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}

/// A byte at every place.
#[inline]
#[target_feature(enable = "avx2")]
fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn is(block: __m256i, byte: u8) -> u32 {
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(block, all(byte))).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn controls(block: __m256i) -> u32 {
    let low = _mm256_min_epu8(block, all(0x1f));
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(block, low)).cast_unsigned()
}

/// Where a block is not zero.
#[inline]
#[target_feature(enable = "avx2")]
fn any(block: __m256i) -> u32 {
    !is(block, 0)
}

const MARK: u8 = 0x0f;
const SPACE: u8 = 0xf0;

/// Not zero where a mark or white space stands, by halves of the byte as in [`short_escapes`].
#[inline]
#[target_feature(enable = "avx2")]
fn marks(block: __m256i) -> __m256i {
    // `,` 2c: 1. `:` 3a: 2. `[` 5b, `]` 5d, `{` 7b, `}` 7d: 4. Space 20: 16. 09, 0a, 0d: 32.
    let lower = [16, 0, 0, 0, 0, 0, 0, 0, 0, 32, 2 | 32, 4, 1, 4 | 32, 0, 0];
    let upper = [32, 0, 1 | 16, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0];
    halves(block, lower, upper)
}

/// Not zero where one of `"\/bfnrt` stands. Each has two halves, and a bit for its upper half in
/// the row of its lower one.
#[inline]
#[target_feature(enable = "avx2")]
fn short_escapes(block: __m256i) -> __m256i {
    // `"` 22, `/` 2f: 1. `\` 5c: 2. `b` 62, `f` 66, `n` 6e: 4. `r` 72, `t` 74: 8.
    let lower = [0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1];
    let upper = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    halves(block, lower, upper)
}

/// The bits that each byte's lower half has in one table and its upper half in the other.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(block: __m256i, lower: [i8; 16], upper: [i8; 16]) -> __m256i {
    let low = _mm256_shuffle_epi8(twice(lower), _mm256_and_si256(block, all(0x0f)));
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(block), all(0x0f));
    _mm256_and_si256(low, _mm256_shuffle_epi8(twice(upper), high))
}

#[inline]
#[target_feature(enable = "avx2")]
fn twice([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]: [i8; 16]) -> __m256i {
    _mm256_setr_epi8(
        a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, //
        a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p,
    )
}
