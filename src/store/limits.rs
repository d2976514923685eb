//! What the system allows this process.

/// Has the system make room for so many open files at once. It makes more when there are more, but
/// then all threads wait: Linux lets 20 ms pass, unless there is only one thread yet.
#[cfg(target_os = "linux")]
pub fn make_room(files: u64) {
    use rustix::io::fcntl_dupfd_cloexec;
    let (any, least) = (std::fs::File::open("/"), i32::try_from(files));
    if let (Ok(any), Ok(least)) = (any, least) {
        // Without it the work only takes longer.
        drop(fcntl_dupfd_cloexec(any, least));
    }
}

/// Other systems have nothing to be asked.
#[cfg(not(target_os = "linux"))]
pub fn make_room(_: u64) {}

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
