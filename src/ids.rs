//! New identifiers that cannot collide.
//!
//! A new id is a bijection of the entry's ordinal, so two entries of a session can never get the
//! same one, no table of used ids is needed, and any part of a file can be worked on alone.
//! (pi draws random ids and never fills its table of used ones; two equal ids close a cycle in
//! the tree, and pi then hangs on opening the file.)

use serde::{Deserialize, Serialize};

/// Eight lowercase hexadecimal digits.
pub type Id = [u8; 8];

/// How new identifiers are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// From the entry's ordinal and the session's id: the same input gives the same output.
    #[default]
    Derived,
    /// From the entry's ordinal and a number drawn once for the run.
    Random(u64),
    /// The ordinal itself.
    Sequential,
}

/// Makes the identifiers of one session.
///
/// ```
/// use copyist::ids::{Choice, Maker};
/// assert_eq!(&Maker::new(Choice::Sequential, b"any").id(1), b"00000001");
/// let derived = Maker::new(Choice::Derived, b"session");
/// assert_ne!(derived.id(1), derived.id(2));
/// assert_eq!(derived.id(1), Maker::new(Choice::Derived, b"session").id(1));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Maker {
    /// `None` for sequential.
    key: Option<u64>,
}

impl Maker {
    /// A maker for the session that `session` identifies.
    #[must_use]
    pub fn new(choice: Choice, session: &[u8]) -> Self {
        let key = match choice {
            Choice::Sequential => None,
            Choice::Derived => Some(hash(session)),
            Choice::Random(seed) => Some(hash(session) ^ mix(seed)),
        };
        Self { key }
    }

    /// The identifier of the `ordinal`th entry, counting from 1. It repeats after 2³² entries.
    #[must_use]
    pub fn id(&self, ordinal: u64) -> Id {
        let number = match self.key {
            None => ordinal as u32,
            Some(key) => permute(ordinal as u32, key),
        };
        let mut id = [0; 8];
        for (i, digit) in id.iter_mut().enumerate() {
            let nibble = number >> (28 - 4 * i) & 0xf;
            *digit = b"0123456789abcdef".get(nibble as usize).copied().unwrap_or(b'0');
        }
        id
    }
}

/// A Feistel network of four rounds over the halves of a 32-bit number: a bijection whatever the
/// round function is. It spreads, it does not hide.
fn permute(number: u32, key: u64) -> u32 {
    let (mut left, mut right) = (number >> 16, number & 0xffff);
    for round in 1..=4 {
        let scrambled = mix(key ^ round << 56 ^ u64::from(right)) as u32 & 0xffff;
        (left, right) = (right, left ^ scrambled);
    }
    left << 16 | right
}

/// Returns a UUID with these bits, in lower case.
///
/// ```
/// let uuid = copyist::ids::uuid(0x0123_4567_89ab_4def, 0x8123_4567_89ab_cdef);
/// assert_eq!(uuid, "01234567-89ab-4def-8123-456789abcdef");
/// assert!(copyist::ids::is_uuid(&uuid));
/// ```
#[must_use]
pub fn uuid(high: u64, low: u64) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bits = u128::from(high) << 64 | u128::from(low);
    let mut uuid = String::with_capacity(36);
    // Formats with one identifier a line make one for each line; `format!` takes ten times as long.
    for place in 0..32 {
        if matches!(place, 8 | 12 | 16 | 20) {
            uuid.push('-');
        }
        let digit = (bits >> (124 - 4 * place)) as usize & 0xf;
        uuid.push(char::from(DIGITS.get(digit).copied().unwrap_or_default()));
    }
    uuid
}

/// Returns the UUID of version 4 that follows from a text.
///
/// ```
/// use copyist::ids::{is_uuid, uuid_of};
/// assert!(is_uuid(&uuid_of(b"a")) && uuid_of(b"a") != uuid_of(b"b"));
/// ```
#[must_use]
pub fn uuid_of(text: &[u8]) -> String {
    uuid_of_pieces([text])
}

/// Returns the UUID of version 4 that follows from a text in pieces, as from the whole text.
///
/// ```
/// use copyist::ids::{uuid_of, uuid_of_pieces};
/// assert_eq!(uuid_of_pieces([&b"a"[..], b"b"]), uuid_of(b"ab"));
/// ```
#[must_use]
pub fn uuid_of_pieces<'t>(pieces: impl IntoIterator<Item = &'t [u8]>) -> String {
    let all = pieces.into_iter().flatten().fold(FNV, fnv);
    let (a, b) = (mix(all), mix(fnv(all, &b'2')));
    // Version 4 and its variant.
    uuid(a & 0xffff_ffff_ffff_0fff | 0x4000, b & 0x0fff_ffff_ffff_ffff | 0xa << 60)
}

/// Whether a text has the form of a UUID, of any version and in either case.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    let hyphen = |place: usize| matches!(place, 8 | 13 | 18 | 23);
    let fits =
        |(place, c): (usize, char)| if hyphen(place) { c == '-' } else { c.is_ascii_hexdigit() };
    text.len() == 36 && text.chars().enumerate().all(fits)
}

/// Returns a number in base 36, in lower case.
///
/// ```
/// assert_eq!(copyist::ids::base36(1295), "zz");
/// ```
#[must_use]
pub fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Returns a 64-bit hash that stays the same in every release (FNV-1a, finished by splitmix64):
/// identifiers in users' files are derived from it.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    mix(bytes.iter().fold(FNV, fnv))
}

/// Initial value of the hash.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(hash: u64, byte: &u8) -> u64 {
    (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
}

/// Returns a fast 64-bit hash of a record's bytes, to find the same record again within one run.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    rest.iter().for_each(|byte| hash = hash.rotate_left(8) ^ u64::from(*byte));
    mix(hash)
}

/// Applies the finisher of splitmix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_hundred_thousand_ids_are_all_different() {
        for choice in [Choice::Derived, Choice::Random(7), Choice::Sequential] {
            let maker = Maker::new(choice, b"d703a1a9");
            let ids: HashSet<Id> = (1..=100_000).map(|n| maker.id(n)).collect();
            assert_eq!(ids.len(), 100_000, "{choice:?}");
        }
    }

    #[test]
    fn derived_ids_never_change_between_releases() {
        let maker = Maker::new(Choice::Derived, b"d703a1a9-1b7b-4fb1-b512-c9738b1fe617");
        let ids: Vec<String> =
            (1..=3).map(|n| String::from_utf8_lossy(&maker.id(n)).into_owned()).collect();
        assert_eq!(ids, ["302ae7c1", "1584a16f", "8bb6fdab"]);
    }
}
