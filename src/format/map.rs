//! Folders that move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A folder by which sessions are found, and where it is to be instead.
#[derive(Clone, Debug)]
pub struct Map {
    /// The old path.
    pub old: String,
    /// The new one.
    pub new: String,
    met: Arc<AtomicBool>,
}

impl Map {
    /// From an old path to a new one.
    #[must_use]
    pub fn new(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), met: Arc::default() }
    }

    /// Notes that a session names the old path, or one below it.
    pub fn meet(&self) {
        self.met.store(true, Ordering::Relaxed);
    }

    /// Whether any session did.
    #[must_use]
    pub fn was_met(&self) -> bool {
        self.met.load(Ordering::Relaxed)
    }
}
