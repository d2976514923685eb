//! 64 bytes in one register of AVX-512. Places and kinds of tokens are gathered by
//! one instruction each.

use super::{MARK, MARKS, SHORT_ESCAPES, SPACE, Table};
use crate::json::search::{BLOCK, Block, Outside, Room, Search};
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm512_add_epi32, _mm512_and_si512, _mm512_broadcast_i32x4,
    _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_set1_epi32,
    _mm512_shuffle_epi8, _mm512_shuffle_i32x4, _mm512_srli_epi16, _mm512_storeu_si512,
    _mm512_test_epi8_mask,
};

/// Finds tokens, as [`Find`](super::Find).
#[target_feature(enable = "avx2,bmi1,popcnt,avx512bw,avx512vbmi2")]
pub fn find(search: &mut Search<'_>) {
    search.find(
        |block| look(block),
        |block| outside(block),
        |block| is_plain(block),
        |tokens, start, block, room| note(tokens, start, block, room),
    );
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn is_plain(block: &[u8; BLOCK]) -> bool {
    let block = load(block);
    is(block, b'"') | is(block, b'\\') | controls(block) == 0
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn look(block: &[u8; BLOCK]) -> Block {
    let block = load(block);
    let short = by_table(block, SHORT_ESCAPES);
    Block {
        quotes: is(block, b'"'),
        backslashes: is(block, b'\\'),
        controls: controls(block),
        short: _mm512_test_epi8_mask(short, short),
    }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn outside(block: &[u8; BLOCK]) -> Outside {
    let block = load(block);
    let kinds = by_table(block, MARKS);
    Outside {
        marks: _mm512_test_epi8_mask(kinds, all(MARK)),
        spaces: _mm512_test_epi8_mask(kinds, all(SPACE)),
        breaks: is(block, b'\n'),
    }
}

#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2")]
fn note(tokens: u64, start: u32, block: &[u8; BLOCK], room: Room<'_>) {
    store(room.kinds, _mm512_maskz_compress_epi8(tokens, load(block)));
    let mut places = _mm512_maskz_compress_epi8(tokens, load(&PLACES));
    let start = _mm512_set1_epi32(start.cast_signed());
    let (sixteens, _) = room.places.as_chunks_mut::<16>();
    let count = tokens.count_ones();
    for (n, sixteen) in (0..).zip(sixteens) {
        if n * 16 >= count {
            break;
        }
        let wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
        store(sixteen, _mm512_add_epi32(wide, start));
        // The next quarter comes to the front.
        places = _mm512_shuffle_i32x4::<0b00_11_10_01>(places, places);
    }
}

/// The place of each byte in a block.
static PLACES: [u8; BLOCK] = {
    let mut places = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        places[at] = at as u8;
        at += 1;
    }
    places
};

#[inline]
#[target_feature(enable = "avx512bw")]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the array has 64 bytes, and the instruction needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn store<T: Into<u32>, const N: usize>(to: &mut [T; N], block: __m512i) {
    const { assert!(size_of::<[T; N]>() == BLOCK) };
    // SAFETY: the array has 64 bytes, of numbers that may be any, and the instruction needs no
    // alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), block) }
}

/// A byte at every place.
#[inline]
#[target_feature(enable = "avx512bw")]
fn all(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn is(block: __m512i, byte: u8) -> u64 {
    _mm512_cmpeq_epi8_mask(block, all(byte))
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn controls(block: __m512i) -> u64 {
    _mm512_cmplt_epu8_mask(block, all(0x20))
}

/// The bits of a table that each byte has.
#[inline]
#[target_feature(enable = "avx512bw")]
fn by_table(block: __m512i, Table { lower, upper }: Table) -> __m512i {
    let low = _mm512_shuffle_epi8(four(lower), _mm512_and_si512(block, all(0x0f)));
    let high = _mm512_and_si512(_mm512_srli_epi16::<4>(block), all(0x0f));
    _mm512_and_si512(low, _mm512_shuffle_epi8(four(upper), high))
}

/// A row four times.
#[inline]
#[target_feature(enable = "avx512bw")]
fn four(row: [i8; 16]) -> __m512i {
    // SAFETY: the array has 16 bytes, and the instruction needs no alignment.
    let row: __m128i = unsafe { _mm_loadu_si128(row.as_ptr().cast()) };
    _mm512_broadcast_i32x4(row)
}
