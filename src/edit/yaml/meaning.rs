//! Meaning of scalars, as PyYAML reads them.

use crate::ids::fingerprint;
use crate::yaml::Text;
use crate::yaml::read::{ScalarStyle, end_lines, restore_breaks};
use crate::yaml::write::is_yaml_1_1;

/// A hash of what a node says: no two nodes that say something else have the same.
pub type Hash = [u8; 16];

/// Meaning of a scalar.
pub struct Meaning {
    pub hash: Hash,
    pub loose: u64,
    /// Content.
    pub text: Text<'static>,
    /// Whether the scalar is text, without a tag.
    pub is_text: bool,
}

/// Returns what a scalar says.
pub fn scalar(text: Text<'static>, style: ScalarStyle, tag: Option<&str>) -> Meaning {
    let text = match style {
        ScalarStyle::SingleQuoted => restore_breaks(text),
        ScalarStyle::Literal => end_lines(text),
        _ => text,
    };
    let bytes = text.as_bytes();
    let typed = style == ScalarStyle::Plain && is_yaml_1_1(bytes);
    let null = typed && value(bytes) == value(b"null");
    let loose = fingerprint(if null { b"null" } else { bytes });
    let (hash, is_text) = match tag {
        Some("!!str" | "!") => (hash(b"s", &[bytes]), false),
        Some(tag) => (hash(b"g", &[tag.as_bytes(), b" ", bytes]), false),
        None if typed => (value(bytes), false),
        None => (text_hash(bytes), true),
    };
    Meaning { hash, loose, text, is_text }
}

/// Returns the hash of a scalar that is text.
pub fn text_hash(text: &[u8]) -> Hash {
    hash(b"s", &[text])
}

/// Returns the hash of a scalar without quotes that is not text.
fn value(text: &[u8]) -> Hash {
    let lower = text.to_ascii_lowercase();
    match lower.as_slice() {
        b"" | b"~" | b"null" => hash(b"n", &[]),
        b"true" | b"yes" | b"on" => hash(b"t", &[]),
        b"false" | b"no" | b"off" => hash(b"f", &[]),
        digits => {
            let number = std::str::from_utf8(digits).ok().filter(|text| text.contains('.'));
            match number.and_then(|text| text.parse::<f64>().ok()) {
                Some(number) => hash(b"d", &[&number.to_bits().to_be_bytes()]),
                None => hash(b"p", &[text]),
            }
        }
    }
}

/// Maximum length of what a hash contains as it is.
const SHORT: usize = 14;

/// Returns the hash of a node of this kind, which says these parts.
pub fn hash(kind: &[u8; 1], parts: &[&[u8]]) -> Hash {
    let [kind] = *kind;
    let mut hash = Hash::default();
    let length: usize = parts.iter().map(|part| part.len()).sum();
    if length <= SHORT {
        let bytes = [kind].into_iter().chain(parts.iter().flat_map(|part| part.iter().copied()));
        hash.iter_mut().zip(bytes.chain(std::iter::repeat(0))).for_each(|(to, byte)| *to = byte);
        if let Some(last) = hash.last_mut() {
            *last = length as u8;
        }
        return hash;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[kind]);
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize_xof().fill(&mut hash);
    // Kinds are ASCII: no short text has this hash.
    if let Some(first) = hash.first_mut() {
        *first |= 0x80;
    }
    hash
}

/// Returns a shorter hash, to find the same again within one run.
pub fn short(hash: &Hash) -> u64 {
    let (first, second) = hash.split_at(8);
    let number = |half: &[u8]| half.try_into().map_or(0, u64::from_le_bytes);
    number(first) ^ number(second).rotate_left(1)
}

/// Returns the hash of a key with its value.
pub fn pair_hash(key: &Hash, value: &Hash) -> Hash {
    hash(b":", &[key, value])
}
