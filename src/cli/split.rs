//! Parts of a data set.

use crate::ids::hash;
use std::collections::HashSet;

/// The names of the parts of a data set, each with its share.
#[derive(Clone, Debug)]
pub struct Split(Vec<(String, f64)>);

/// Parses a value of `--split`.
pub fn split(text: &str) -> Result<Split, String> {
    let part = |part: &str| {
        let (name, share) = part.split_once('=')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let share: f64 = share.trim().parse().ok()?;
        let name = name.trim();
        let fits = !name.is_empty() && name.chars().all(plain) && share > 0.0 && share.is_finite();
        fits.then(|| (name.to_owned(), share))
    };
    let parts: Option<Vec<_>> = text.split(',').map(part).collect();
    let parts = parts.ok_or("it is a list of NAME=SHARE, such as train=0.9,test=0.1")?;
    let names: HashSet<_> = parts.iter().map(|(name, _)| name).collect();
    if names.len() < parts.len() {
        return Err("a name occurs twice".to_owned());
    }
    Ok(Split(parts))
}

impl Split {
    /// Returns the name of the part to which a family of sessions belongs.
    pub fn of(&self, family: u64, seed: u64) -> &str {
        let key = [family.to_le_bytes(), seed.to_le_bytes()].concat();
        // The upper 53 bits are a fraction without rounding.
        let at = (hash(&key) >> 11) as f64 / (1u64 << 53) as f64;
        let all: f64 = self.0.iter().map(|(_, share)| share).sum();
        let mut passed = 0.0;
        let mut parts = self.0.iter();
        let found = parts.find(|(_, share)| {
            passed += share / all;
            at < passed
        });
        found.or(self.0.last()).map_or("train", |(name, _)| name)
    }
}
