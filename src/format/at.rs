//! Name of a version of a format.

use super::Format;
use serde::{Serialize, Serializer};
use std::fmt;

/// A version of a format; its text is made only when it is written.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The format.
    pub format: &'static Format,
    /// The version.
    pub number: u32,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format.at(self.number))
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
