//! 64 bytes in two registers of AVX2.

use super::{MARK, MARKS, SHORT_ESCAPES, SPACE, Table};
use crate::json::scan::escaped;
use crate::json::search::{BLOCK, Block, Outside, Search, note};
use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setr_epi8, _mm256_shuffle_epi8,
    _mm256_srli_epi16,
};

const WIDTH: usize = 32;

/// Finds tokens, as [`Find`](super::Find).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub fn find(search: &mut Search<'_>) {
    search.find(|block| look(block), |block| outside(block), |block| is_plain(block), note);
}

/// Returns the same place as [`super::stop`].
#[target_feature(enable = "avx2")]
pub fn stop(bytes: &[u8], mut at: usize) -> Result<usize, usize> {
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

/// Whether a block contains neither a quote nor a backslash nor a control character.
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

/// Classifies the bytes of a block.
#[inline]
#[target_feature(enable = "avx2")]
fn look(block: &[u8; BLOCK]) -> Block {
    let (halves, _) = block.as_chunks::<WIDTH>();
    let (low, high) = (load(&halves[0]), load(&halves[1]));
    Block {
        quotes: both(is(low, b'"'), is(high, b'"')),
        backslashes: both(is(low, b'\\'), is(high, b'\\')),
        controls: both(controls(low), controls(high)),
        short: both(any(by_table(low, SHORT_ESCAPES)), any(by_table(high, SHORT_ESCAPES))),
    }
}

/// Classifies the bytes of a block that count only outside of strings.
#[inline]
#[target_feature(enable = "avx2")]
fn outside(block: &[u8; BLOCK]) -> Outside {
    let (halves, _) = block.as_chunks::<WIDTH>();
    let (first, second) = (load(&halves[0]), load(&halves[1]));
    let (low, high) = (by_table(first, MARKS), by_table(second, MARKS));
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
    // SAFETY: the array has 32 bytes, and the instruction needs no alignment.
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

/// The bits of a table that each byte has.
#[inline]
#[target_feature(enable = "avx2")]
fn by_table(block: __m256i, Table { lower, upper }: Table) -> __m256i {
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
