//! Locks of other programs.

use std::fs::File;

/// The byte ranges (start and length) that SQLite locks: a byte while it waits to write, and a
/// range while it writes. These bytes contain no data. <https://sqlite.org/lockingv3.html>
#[cfg(unix)]
const LOCKS: [(u64, u64); 2] = [(0x4000_0000, 1), (0x4000_0002, 510)];

/// Whether a database is locked for writing. No lock is taken.
#[cfg(unix)]
pub fn is_locked(file: &File) -> bool {
    use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
    LOCKS.iter().any(|&(start, length)| {
        let asked = Flock {
            start,
            length,
            pid: None,
            typ: FlockType::ReadLock,
            offset_type: FlockOffsetType::Set,
        };
        // A file system without locks has no lock to report.
        matches!(fcntl_getlk(file, &asked), Ok(Some(_)))
    })
}

/// Always false. On other systems a locked database cannot be read anyway.
#[cfg(not(unix))]
pub fn is_locked(_: &File) -> bool {
    false
}
