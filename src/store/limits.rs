//! Limits that the operating system sets for the process.

/// Makes the kernel allocate room for `files` open files at once. Otherwise the kernel enlarges the
/// table as more files are opened, and then all threads wait: Linux takes 20 ms for it, unless the
/// process has only one thread yet.
#[cfg(target_os = "linux")]
pub fn make_room(files: u64) {
    use rustix::io::fcntl_dupfd_cloexec;
    let (any, least) = (std::fs::File::open("/"), i32::try_from(files));
    if let (Ok(any), Ok(least)) = (any, least) {
        // If this fails, the work only takes longer.
        drop(fcntl_dupfd_cloexec(any, least));
    }
}

/// Does nothing, because other systems need no such preparation.
#[cfg(not(target_os = "linux"))]
pub fn make_room(_: u64) {}

/// Returns how many files may be open at a time, after raising the limit as far as the system
/// allows without further rights.
#[cfg(unix)]
pub fn open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// Upper limit for the request. More open files are of no use here, and some systems report
    /// "unlimited" and then refuse such a value.
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

/// Returns a number of files that may be open at a time.
#[cfg(not(unix))]
pub fn open_files() -> u64 {
    512
}

/// Returns how many sessions can be worked on at a time without running out of open files; one is
/// always possible.
pub fn most_workers() -> usize {
    usize::try_from(open_files().saturating_sub(OTHERS) / EACH).map_or(1, |most| most.max(1))
}

/// Returns how many files outputs may keep open until they are put in their places, beside those
/// that `workers` sessions need.
pub fn spare_files(workers: u64) -> u64 {
    let all = open_files();
    // Half of them are left for what is read and written meanwhile.
    all.saturating_sub(OTHERS + EACH * workers).min(all / 2)
}

/// Number of files that a run has open for itself: standard streams, journal, report.
const OTHERS: u64 = 8;

/// Number of files that the work on a session mostly has open: its input, its outputs, its spools.
const EACH: u64 = 12;
