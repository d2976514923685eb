//! The option `--ids`.

use crate::ids::Choice;
use clap::ValueEnum;

/// Values of `--ids`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Ids {
    /// From the entry's number and the session's id; a second run gives the same identifiers
    Derived,
    /// At random, different in each run
    Random,
    /// 00000001, 00000002 …
    Sequential,
}

impl Ids {
    /// Returns the choice for the library.
    pub fn choice(self) -> Choice {
        match self {
            Self::Derived => Choice::Derived,
            Self::Sequential => Choice::Sequential,
            Self::Random => Choice::Random(seed()),
        }
    }
}

/// Returns a number that differs between runs: the standard library seeds its hash tables with
/// random numbers.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
