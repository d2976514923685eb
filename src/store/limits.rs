//! What the system allows this process.

/// How many files may be open at a time, after asking for as many as the system gives without
/// further rights.
#[cfg(unix)]
pub fn open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// More are of no use here, and some systems call "without limit" what they then refuse.
    const ENOUGH: u64 = 8192;
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current.unwrap_or(ENOUGH);
    let wanted = limit.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if now >= wanted {
        return now;
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    if raised.is_ok() { wanted } else { now }
}

/// How many files may be open at a time.
#[cfg(not(unix))]
pub fn open_files() -> u64 {
    512
}
