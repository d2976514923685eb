//! Digests of the bytes that an origin refers to.

use serde::{Deserialize, Serialize};

/// The length and the hash of some bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// Length in bytes.
    pub length: u64,
    /// BLAKE3, in hexadecimal digits.
    pub blake3: String,
}

/// Accumulator for the digest of bytes.
#[derive(Default)]
pub struct Measure {
    hasher: blake3::Hasher,
    length: u64,
}

impl Measure {
    /// Adds more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// The digest of all bytes so far.
    pub fn digest(&self) -> Digest {
        Digest { length: self.length, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}
