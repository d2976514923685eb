//! The inside of strings and the tokens of a text, 64 bytes at a time.
//!
//! No other module has `unsafe` code. The code needs it for two things: to load and store the bytes
//! of arrays of exactly that size, and to call functions that are compiled for AVX2 or AVX-512 on a
//! processor that has reported these instructions.
#![allow(unsafe_code, reason = "instructions of one kind of processor; see above")]

mod avx2;
mod avx512;

use super::search::Search;

/// Finds more tokens.
pub type Find = fn(&mut Search<'_>);

/// Returns the best way that the processor has.
#[inline]
pub fn best() -> Option<Find> {
    ways().next()
}

/// Returns every way that the processor has, the best first.
pub fn ways() -> impl Iterator<Item = Find> {
    let ways: [(fn() -> bool, Find); 2] = [(has_avx512, find_avx512), (has_avx2, find_avx2)];
    ways.into_iter().filter_map(|(is_there, find)| is_there().then_some(find))
}

fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("popcnt")
}

fn has_avx512() -> bool {
    has_avx2() && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi2")
}

fn find_avx2(search: &mut Search<'_>) {
    if has_avx2() {
        // SAFETY: the processor has the instructions for which the function is compiled.
        unsafe { avx2::find(search) }
    }
}

fn find_avx512(search: &mut Search<'_>) {
    if has_avx512() {
        // SAFETY: the processor has the instructions for which the function is compiled.
        unsafe { avx512::find(search) }
    }
}

/// Returns the place where [`super::strings::stop`] stops, or the place reached when fewer than 64
/// bytes are left, never in the middle of an escape.
pub fn stop(bytes: &[u8], at: usize) -> Result<usize, usize> {
    if !has_avx2() {
        return Err(at);
    }
    // SAFETY: the processor has the instructions for which the function is compiled.
    unsafe { avx2::stop(bytes, at) }
}

const MARK: u8 = 0x0f;
const SPACE: u8 = 0xf0;

/// Bits for the lower half of a byte, and for the upper one: a byte belongs to a class if both
/// halves have the bit of the class.
#[derive(Clone, Copy)]
struct Table {
    lower: [i8; 16],
    upper: [i8; 16],
}

/// Marks and white space: `,` 2c: 1. `:` 3a: 2. `[` 5b, `]` 5d, `{` 7b, `}` 7d: 4. Space 20: 16.
/// 09, 0a, 0d: 32.
const MARKS: Table = Table {
    lower: [16, 0, 0, 0, 0, 0, 0, 0, 0, 32, 2 | 32, 4, 1, 4 | 32, 0, 0],
    upper: [32, 0, 1 | 16, 2, 0, 4, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// Characters behind the backslash in an escape of two characters: `"` 22, `/` 2f: 1. `\` 5c: 2.
/// `b` 62, `f` 66, `n` 6e: 4. `r` 72, `t` 74: 8.
const SHORT_ESCAPES: Table = Table {
    lower: [0, 0, 13, 0, 8, 0, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1],
    upper: [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0],
};
