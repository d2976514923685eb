//! Locks of other programs.

use std::fs::File;

/// Where SQLite locks a byte while it waits to write, and where the bytes begin of which it locks
/// all while it writes; no contents stand there. <https://sqlite.org/lockingv3.html>
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
        // Where the file system knows no locks there is nothing to ask.
        matches!(fcntl_getlk(file, &asked), Ok(Some(_)))
    })
}

/// Whether a database is locked for writing; on other systems it could not be read then.
#[cfg(not(unix))]
pub fn is_locked(_: &File) -> bool {
    false
}
