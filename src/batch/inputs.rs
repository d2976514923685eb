//! The inputs of a run.

use super::reported_path::ReportedPath;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::store::{Among, Row};
use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

/// Source of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSource {
    /// A file.
    File(Arc<Path>),
    /// Standard input.
    Stdin,
    /// Several files of a folder that all sessions of an agent share.
    Whole(Whole),
    /// A session between others of a file.
    Between(Between),
    /// Several sessions that become one, in their order.
    Joined {
        /// The agent that the sessions belong to.
        agent: String,
        /// The files of the sessions.
        files: Vec<Arc<Path>>,
    },
    /// Copies of one session, which become branches of one tree.
    Copies(Vec<Arc<Path>>),
}

/// A session that is kept in several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The format.
    pub format: &'static Format,
    /// The version of the format.
    pub version: u32,
    /// The session's place in the folder of all sessions.
    pub among: Among,
    /// The files, by the names of their parts.
    pub files: Vec<(String, Arc<Path>)>,
}

/// A session between others of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// The format of all of them.
    pub format: &'static Format,
    /// The version of the format.
    pub version: u32,
    /// The place.
    pub row: Row,
    /// The number: of the line, where each session is a line.
    pub number: u64,
}

/// The reason why a file that was found in a folder is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// The file is a link, which may lead anywhere.
    Link,
    /// The file is a pipe, a socket or a device.
    Special,
    /// A run created the file: a backup, a quarantine file, an origin, or a temporary file.
    Ours,
    /// Another program has not finished the file: a copy that a sync program or a browser is still
    /// fetching, or the lock or backup file of an editor.
    Unfinished,
    /// The file is an output of a tool, and the session that it belongs to is not there.
    Output,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The source of the input.
    pub source: JobSource,
    /// The path of the output below an output folder, under the input's own name.
    pub relative: PathBuf,
    /// Whether the user named this file. A file that was only found in a folder may not be a
    /// session.
    pub named: bool,
    /// The reason why the input is only counted, if it is not read.
    pub passed_over: Option<Passed>,
}

impl Job {
    /// Returns the name for display.
    pub fn name(&self) -> ReportedPath {
        match &self.source {
            JobSource::File(path) => path.into(),
            JobSource::Stdin => "-".to_owned().into(),
            JobSource::Whole(whole) => {
                let mut name = whole.among.home.as_os_str().to_owned();
                name.push("#");
                name.push(&whole.among.session);
                PathBuf::from(name).into()
            }
            JobSource::Between(Between { row, number, .. }) => {
                let mut name = row.path.as_os_str().to_owned();
                name.push(format!("#{number}"));
                PathBuf::from(name).into()
            }
            JobSource::Copies(files) => {
                let first = files.first().map(|file| file.display().to_string());
                let first = first.unwrap_or_default();
                format!("{first} ({} copies)", files.len()).into()
            }
            JobSource::Joined { agent, files } => format!("{agent} ({} files)", files.len()).into(),
        }
    }

    /// Returns the path, if the input is one file.
    pub fn path(&self) -> Option<&Arc<Path>> {
        match &self.source {
            JobSource::File(path) => Some(path),
            JobSource::Copies(_) | JobSource::Stdin | JobSource::Whole(_) => None,
            JobSource::Joined { .. } | JobSource::Between(_) => None,
        }
    }

    /// Returns the number of a session between others of a file.
    pub fn number(&self) -> Option<u64> {
        match &self.source {
            JobSource::Between(between) => Some(between.number),
            _ => None,
        }
    }

    /// Returns all files of the input.
    pub fn files(&self) -> impl Iterator<Item = &Arc<Path>> {
        let (parts, joined): (&[_], &[_]) = match &self.source {
            JobSource::Whole(whole) => (&whole.files, &[]),
            JobSource::Joined { files, .. } | JobSource::Copies(files) => (&[], files),
            JobSource::Between(one) => (&[], slice::from_ref(&one.row.path)),
            JobSource::File(_) | JobSource::Stdin => (&[], &[]),
        };
        self.path().into_iter().chain(parts.iter().map(|(_, path)| path)).chain(joined)
    }

    /// Returns how many bytes there are to read; `None` where only reading shows it.
    pub fn size(&self) -> Option<u64> {
        match &self.source {
            JobSource::Stdin => return None,
            JobSource::Between(Between { row, .. }) => {
                return row.span.end.checked_sub(row.span.start);
            }
            _ => {}
        }
        let files = self.files().filter(|_| self.passed_over.is_none());
        files.map(|file| size(std::fs::metadata(file).ok())).sum()
    }

    /// Creates the job of a file that was found in a folder.
    pub fn found(path: impl Into<Arc<Path>>, relative: PathBuf) -> Self {
        Self { source: JobSource::File(path.into()), relative, named: false, passed_over: None }
    }
}

/// The result of searching the folders.
#[derive(Debug, Default)]
pub struct Listed {
    /// The inputs.
    pub jobs: Vec<Job>,
    /// The paths that could not be read.
    pub errors: Vec<(PathBuf, Error)>,
    /// The paths that were left out.
    pub skipped: Vec<(PathBuf, Diagnostic)>,
}

/// Returns the size of a regular file. A missing file has 0 bytes to read.
fn size(meta: Option<Metadata>) -> Option<u64> {
    meta.map_or(Some(0), |meta| meta.is_file().then_some(meta.len()))
}

/// Returns a file name without the ending that its format uses.
pub fn stem(name: &str) -> &str {
    let endings = FORMATS.iter().flat_map(|format| format.extensions);
    let longest = endings.filter(|ending| name.ends_with(**ending)).max_by_key(|e| e.len());
    let stem = longest.and_then(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if stem.is_empty() { name } else { stem }
}

/// Puts items of one key together, at the place of the first of them. An item without a key stays
/// alone.
pub fn grouped<K: Clone + Eq + Hash, T>(
    items: impl Iterator<Item = (Option<K>, T)>,
) -> Vec<(Option<K>, Vec<T>)> {
    let (mut places, mut groups) = (HashMap::new(), Vec::<(Option<K>, Vec<T>)>::new());
    for (key, item) in items {
        let place = key.clone().map(|key| *places.entry(key).or_insert(groups.len()));
        match place.and_then(|place| groups.get_mut(place)) {
            Some((_, group)) => group.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
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
