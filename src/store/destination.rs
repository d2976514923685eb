//! Where outputs go, and what a person allows.

use std::path::{Path, PathBuf};

/// Where a session goes.
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
        /// What the other parts' names are put behind.
        stem: PathBuf,
    },
    /// Files below the folder of all sessions, as their software names them.
    Native {
        /// The folder.
        folder: PathBuf,
        /// What the output would be called elsewhere, without its ending.
        stem: String,
        /// The place of its input among all.
        place: usize,
    },
    /// Where the input is: what is written takes the place of what was read.
    InPlace {
        /// What becomes of the originals.
        backup: Backup,
        /// What the names of other parts than the main one are put behind.
        stem: PathBuf,
        /// What the quarantine's name is put behind.
        aside: PathBuf,
    },
}

impl Destination {
    /// The main file that is written, if the input is `source`.
    #[must_use]
    pub fn target<'a>(&'a self, source: Option<&'a Path>) -> Option<&'a Path> {
        match self {
            Self::File(path) | Self::Files { main: path, .. } => Some(path),
            Self::InPlace { .. } => source,
            Self::Stdout | Self::Nowhere | Self::Native { .. } => None,
        }
    }

    /// How the names of originals end that are kept.
    #[must_use]
    pub fn backup(&self) -> Option<&str> {
        match self {
            Self::InPlace { backup: Backup::Suffix(suffix), .. } => Some(suffix),
            _ => None,
        }
    }

    /// When it may take a place that others may want, too: after all whose inputs come before.
    #[must_use]
    pub fn turn(&self) -> usize {
        if let Self::Native { place, .. } = self { *place } else { 0 }
    }

    /// The folder in which temporary files wait, if the input is `source`.
    #[must_use]
    pub fn folder<'a>(&'a self, source: Option<&'a Path>) -> Option<&'a Path> {
        match self {
            Self::Native { folder, .. } => Some(folder),
            _ => self.target(source).map(folder_of),
        }
    }
}

/// Whether the original of a file that is changed in place is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backup {
    /// Beside it, with this ending.
    Suffix(String),
    /// It is not.
    None,
}

/// What a person allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Existing files may be written over.
    pub force: bool,
    /// Everything is checked and done, but nothing is written.
    pub dry: bool,
}

/// Names of originals that are kept end so, unless the person says otherwise.
pub const BACKUP: &str = ".bak";

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        // The device stands for a file that may not be renamed over.
        let stdout = ["-", "/dev/stdout", "/dev/fd/1"].iter().any(|name| path == Path::new(name));
        if stdout { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}

/// The folder that a file stands in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path below a folder, in memory of the right size.
#[must_use]
pub fn below(folder: &Path, path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    let room = folder.as_os_str().len() + 1 + path.as_os_str().len();
    let mut below = PathBuf::with_capacity(room);
    below.push(folder);
    below.push(path);
    below
}

/// What a file's first backup is called.
pub fn backup_of(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
