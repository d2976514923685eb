//! What a run works on.

use super::told::Told;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::store::Among;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSource {
    /// A file.
    File(Arc<Path>),
    /// Standard input.
    Stdin,
    /// Several files of a folder that all sessions of a software share.
    Whole(Whole),
    /// Sessions that are to be one, in their order.
    Joined {
        /// The agent that they are of.
        agent: String,
        /// Their files.
        files: Vec<Arc<Path>>,
    },
}

/// A session that is kept in several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The format.
    pub format: &'static Format,
    /// Its version.
    pub version: u32,
    /// Its place in the folder of all sessions.
    pub among: Among,
    /// The files, by the names of their parts.
    pub files: Vec<(String, Arc<Path>)>,
}

/// Why a file that was found in a folder is not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It is a link, which may lead anywhere.
    Link,
    /// It is a pipe, a socket or a device.
    Special,
    /// A run made it: an original that was kept, what was set aside, an origin, or a temporary file.
    Ours,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Where it comes from.
    pub source: JobSource,
    /// Its place below an output folder, under its own name.
    pub relative: PathBuf,
    /// Whether the person named this very file; what is merely found may be no session at all.
    pub named: bool,
    /// Why it is only counted, if it is.
    pub passed_over: Option<Passed>,
}

impl Job {
    /// The name that people see.
    #[must_use]
    pub fn name(&self) -> Told {
        match &self.source {
            JobSource::File(path) => path.into(),
            JobSource::Stdin => "-".to_owned().into(),
            JobSource::Whole(whole) => {
                let mut name = whole.among.home.as_os_str().to_owned();
                name.push("#");
                name.push(&whole.among.session);
                PathBuf::from(name).into()
            }
            JobSource::Joined { agent, files } => format!("{agent} ({} files)", files.len()).into(),
        }
    }

    /// The file's path, if it is one file.
    #[must_use]
    pub fn path(&self) -> Option<&Arc<Path>> {
        match &self.source {
            JobSource::File(path) => Some(path),
            JobSource::Stdin | JobSource::Whole(_) | JobSource::Joined { .. } => None,
        }
    }

    /// All its files.
    pub fn files(&self) -> impl Iterator<Item = &Arc<Path>> {
        let (parts, joined): (&[_], &[_]) = match &self.source {
            JobSource::Whole(whole) => (&whole.files, &[]),
            JobSource::Joined { files, .. } => (&[], files),
            JobSource::File(_) | JobSource::Stdin => (&[], &[]),
        };
        self.path().into_iter().chain(parts.iter().map(|(_, path)| path)).chain(joined)
    }

    /// How many bytes there are to read; `None` where only reading tells.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        if self.source == JobSource::Stdin {
            return None;
        }
        let files = self.files().filter(|_| self.passed_over.is_none());
        files.map(|file| size(std::fs::metadata(file).ok())).sum()
    }

    /// A file that was found in a folder.
    #[must_use]
    pub fn found(path: impl Into<Arc<Path>>, relative: PathBuf) -> Self {
        Self { source: JobSource::File(path.into()), relative, named: false, passed_over: None }
    }
}

/// What was found in folders, and what was not looked at.
#[derive(Debug, Default)]
pub struct Listed {
    /// The inputs.
    pub jobs: Vec<Job>,
    /// What could not be looked at.
    pub errors: Vec<(PathBuf, Error)>,
    /// What was left out.
    pub left: Vec<(PathBuf, Diagnostic)>,
}

/// A regular file's size; what is not there has nothing to read.
fn size(meta: Option<Metadata>) -> Option<u64> {
    meta.map_or(Some(0), |meta| meta.is_file().then_some(meta.len()))
}

/// A file name without the ending that its format gives it.
#[must_use]
pub fn stem(name: &str) -> &str {
    let endings = FORMATS.iter().flat_map(|format| format.extensions);
    let longest = endings.filter(|ending| name.ends_with(**ending)).max_by_key(|e| e.len());
    let stem = longest.and_then(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if stem.is_empty() { name } else { stem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_ending_goes() {
        assert_eq!(stem("a.v1.jsonl"), "a.v1");
        assert_eq!(stem("a.copyist.jsonl"), "a");
        assert_eq!(stem("notes.txt"), "notes.txt");
        assert_eq!(stem(".jsonl"), ".jsonl");
    }
}
