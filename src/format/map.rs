//! Folders that move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A folder by which sessions are found, and the folder that replaces it.
#[derive(Clone, Debug)]
pub struct Map {
    /// The old path.
    pub old: String,
    /// The new one.
    pub new: String,
    met: Arc<AtomicBool>,
}

impl Map {
    /// Makes a map from an old path to a new one.
    #[must_use]
    pub fn new(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), met: Arc::default() }
    }

    /// Notes that a session names the old path, or one below it.
    pub fn meet(&self) {
        self.met.store(true, Ordering::Relaxed);
    }

    /// Whether any session names the old path.
    #[must_use]
    pub fn was_met(&self) -> bool {
        self.met.load(Ordering::Relaxed)
    }
}
