//! The destinations of outputs, and what the user allows for them.

use std::path::{Path, PathBuf};

/// Destination of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// Nowhere: nothing is written.
    Nowhere,
    /// One file.
    File(PathBuf),
    /// A file, and others beside it or below it.
    Files {
        /// The main part's path.
        main: PathBuf,
        /// The path to which the names of other parts are appended.
        stem: PathBuf,
    },
    /// Files below the folder of all sessions, named as the agent names them.
    Native {
        /// The folder.
        folder: PathBuf,
        /// The name that the output would have in another folder, without its ending.
        stem: String,
        /// The number of its input in the order of all inputs.
        place: usize,
    },
    /// The place of the input: the new files replace the files that were read.
    InPlace {
        /// Whether the originals are kept.
        backup: Backup,
        /// The path to which the names of parts other than the main one are appended.
        stem: PathBuf,
        /// The path to which the quarantine's name is appended.
        aside: PathBuf,
    },
}

impl Destination {
    /// Returns the main file that is written, if the input is `source`.
    pub fn target<'a>(&'a self, source: Option<&'a Path>) -> Option<&'a Path> {
        match self {
            Self::File(path) | Self::Files { main: path, .. } => Some(path),
            Self::InPlace { .. } => source,
            Self::Stdout | Self::Nowhere | Self::Native { .. } => None,
        }
    }

    /// Returns the ending of the names under which originals are kept.
    pub fn backup(&self) -> Option<&str> {
        match self {
            Self::InPlace { backup: Backup::Suffix(suffix), .. } => Some(suffix),
            _ => None,
        }
    }

    /// Returns the turn in which the output may take a place that other outputs may want, too:
    /// after all outputs whose inputs come before.
    pub fn turn(&self) -> usize {
        if let Self::Native { place, .. } = self { *place } else { 0 }
    }

    /// Returns the folder that contains the temporary files, if the input is `source`.
    pub fn folder<'a>(&'a self, source: Option<&'a Path>) -> Option<&'a Path> {
        match self {
            Self::Native { folder, .. } => Some(folder),
            _ => self.target(source).map(folder_of),
        }
    }
}

/// Whether the original of a file that is changed in place is kept, and under which name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backup {
    /// The original is kept beside the new file, with this ending.
    Suffix(String),
    /// The original is not kept.
    None,
}

/// The user's permissions for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether existing files may be overwritten.
    pub force: bool,
    /// Whether everything is checked and done, but nothing is written.
    pub dry: bool,
    /// Whether outputs get the present time and private folders, because they are in an agent's own
    /// folder, where the agent removes what is old.
    pub current: bool,
}

/// Default ending of the names under which originals are kept.
pub const BACKUP: &str = ".bak";

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        // The device file may not be replaced by a rename.
        let stdout = ["-", "/dev/stdout", "/dev/fd/1"].iter().any(|name| path == Path::new(name));
        if stdout { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}

/// Returns the folder that contains a file.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns a path below a folder, in memory of the right size.
pub fn below(folder: &Path, path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    let room = folder.as_os_str().len() + 1 + path.as_os_str().len();
    let mut below = PathBuf::with_capacity(room);
    below.push(folder);
    below.push(path);
    below
}

/// Returns the name of a file's first backup.
pub fn backup_of(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
