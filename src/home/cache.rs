//! Summaries of sessions, kept between runs.
//!
//! The file is a line for each session: a hash, and the summary with the size and time of each file
//! that it was read from. A line whose hash is wrong is left out, so a damaged file costs time only.

use super::summary::Summary;
use crate::ids::hash;
use crate::times;
use jiff::Timestamp;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the first line of the file. Another release may count differently, and another zone has
/// other days.
fn head() -> String {
    format!("copyist sessions 6, {}, {}", env!("CARGO_PKG_VERSION"), times::zone())
}

/// Size of a file in bytes that is not read as a cache.
const LARGEST: u64 = 1 << 30;

/// Age from which a change of a file cannot be followed by another one at the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// Size and time of a file when its session was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    path: PathBuf,
    size: u64,
    /// Nanoseconds since 1970; `None` for a file without a time, which is not trusted.
    time: Option<u64>,
}

impl Stamp {
    /// Returns the stamp of the file at `path`, with links followed.
    pub fn of(path: &Path) -> Self {
        let meta = std::fs::metadata(path).ok();
        let time = meta.as_ref().and_then(|meta| meta.modified().ok());
        let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let time = time.and_then(|age| u64::try_from(age.as_nanos()).ok());
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { path, size: meta.map_or(0, |meta| meta.len()), time }
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the time of the last change.
    pub fn modified(&self) -> Option<Timestamp> {
        Timestamp::from_nanosecond(self.time?.into()).ok()
    }

    /// Whether a later change would show.
    fn is_settled(&self, now: SystemTime) -> bool {
        let time = self.time.map(Duration::from_nanos).map(|age| UNIX_EPOCH + age + SETTLED);
        time.is_some_and(|time| time <= now)
    }
}

/// An entry of the cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    key: String,
    files: Vec<Stamp>,
    summary: Option<Summary>,
    /// Whether the session was looked at in this run.
    #[serde(skip)]
    is_seen: bool,
}

/// Summaries of sessions from earlier runs.
#[derive(Debug, Default)]
pub struct Cache {
    path: Option<PathBuf>,
    entries: HashMap<String, Entry>,
    changed: bool,
}

impl Cache {
    /// Reads the cache in this file. One that is not there, or cannot be read, is empty.
    pub fn open(path: Option<PathBuf>) -> Self {
        let text = path.as_deref().and_then(text).unwrap_or_default();
        let mut lines = text.split(|byte| *byte == b'\n');
        let lines: Vec<_> = match lines.next() {
            Some(first) if first == head().as_bytes() => lines.collect(),
            _ => Vec::new(),
        };
        let entries: Vec<_> = lines.into_par_iter().filter_map(entry).collect();
        let entries = entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
        Self { path, entries, changed: false }
    }

    /// Returns the summary of a session, or `None` for a file that is no session, with the stamps of
    /// all its files, if all of them are as they were. `files` need not name all of them.
    pub fn get(&self, key: &str, files: &[Stamp]) -> Option<(Option<Summary>, Vec<Stamp>)> {
        let entry = self.entries.get(key)?;
        let (own, others) = entry.files.split_at_checked(files.len())?;
        let same = own == files && others.iter().all(|stamp| Stamp::of(&stamp.path) == *stamp);
        same.then(|| (entry.summary.clone(), entry.files.clone()))
    }

    /// Adds a summary that was read from these files.
    pub fn add(&mut self, key: &str, files: Vec<Stamp>, summary: Option<Summary>) {
        let now = SystemTime::now();
        if key.is_empty() || !files.iter().all(|stamp| stamp.is_settled(now)) {
            self.changed |= self.entries.remove(key).is_some();
            return;
        }
        let entry = Entry { key: key.to_owned(), files, summary, is_seen: true };
        self.entries.insert(key.to_owned(), entry);
        self.changed = true;
    }

    /// Notes that a session is still there.
    pub fn keep(&mut self, key: &str) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.is_seen = true;
        }
    }

    /// Writes the cache, if it has changed. Sessions that are no longer there are left out.
    pub fn save(&self) -> io::Result<()> {
        let Some(path) = self.path.as_ref().filter(|_| self.changed) else { return Ok(()) };
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let mut out = io::BufWriter::new(file.as_file_mut());
        writeln!(out, "{}", head())?;
        let there = |entry: &&Entry| {
            entry.is_seen || entry.files.first().is_some_and(|stamp| stamp.path.exists())
        };
        for entry in self.entries.values().filter(there) {
            // A path that is not UTF-8 cannot be written.
            let Ok(text) = serde_json::to_string(entry) else { continue };
            writeln!(out, "{:016x} {text}", hash(text.as_bytes()))?;
        }
        out.flush()?;
        drop(out);
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

/// Reads the file, if it is a regular file of a reasonable size.
fn text(path: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(path).ok()?;
    (meta.is_file() && meta.len() <= LARGEST).then(|| std::fs::read(path).ok())?
}

/// Reads a line.
fn entry(line: &[u8]) -> Option<Entry> {
    let (sum, text) = line.split_at_checked(16)?;
    let text = text.strip_prefix(b" ")?;
    let sum = u64::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    (sum == hash(text)).then(|| serde_json::from_slice(text).ok())?
}
