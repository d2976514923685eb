//! Files, and standard input, as the parts of a session.

use crate::error::{Error, Result};
use crate::format::{Head, Parts};
use crate::lines::BOM;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A session that is read: one file, or standard input.
#[derive(Debug)]
pub struct Input {
    source: Source,
}

#[derive(Debug)]
enum Source {
    File(PathBuf),
    /// Standard input: what was read ahead of it, and whether it was handed out.
    Pipe {
        ahead: Vec<u8>,
        taken: bool,
    },
    /// Standard input, copied to a temporary file that has no name.
    Spooled(File),
}

impl Input {
    /// A file.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { source: Source::File(path.into()) }
    }

    /// Standard input.
    #[must_use]
    pub fn stdin() -> Self {
        Self { source: Source::Pipe { ahead: Vec::new(), taken: false } }
    }

    /// The first bytes, a byte order mark left out, and whether they are all there are.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub fn head(&mut self) -> Result<(Vec<u8>, bool)> {
        let bytes = match &mut self.source {
            Source::File(path) => {
                let file = File::open(&*path).map_err(|error| Error::io("cannot open", error))?;
                head(file)?
            }
            Source::Pipe { ahead, taken: false } => {
                if ahead.is_empty() {
                    *ahead = head(io::stdin().lock())?;
                }
                ahead.clone()
            }
            Source::Pipe { .. } => Vec::new(),
            Source::Spooled(file) => head(rewound(file)?)?,
        };
        let whole = bytes.len() < Head::SIZE;
        let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
        Ok((text.to_vec(), whole))
    }
}

/// Reads up to [`Head::SIZE`] bytes.
///
/// # Errors
/// If the source cannot be read.
pub fn head(source: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(Head::SIZE);
    let read = source.take(Head::SIZE as u64).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", error))?;
    Ok(bytes)
}

fn rewound(file: &File) -> Result<File> {
    let mut file = file.try_clone().map_err(|error| Error::io("cannot reopen", error))?;
    file.rewind().map_err(|error| Error::io("cannot rewind", error))?;
    Ok(file)
}

impl Parts for Input {
    fn names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        let unknown = || Error::io("cannot open", io::Error::from(io::ErrorKind::NotFound));
        if !name.is_empty() {
            return Err(unknown());
        }
        match &mut self.source {
            Source::File(path) => {
                let file = File::open(&*path).map_err(|error| Error::io("cannot open", error))?;
                Ok(Box::new(file))
            }
            Source::Pipe { ahead, taken } if !*taken => {
                *taken = true;
                Ok(Box::new(io::Cursor::new(std::mem::take(ahead)).chain(io::stdin())))
            }
            Source::Pipe { .. } => Err(unknown()),
            Source::Spooled(file) => Ok(Box::new(rewound(file)?)),
        }
    }

    fn keep(&mut self) -> Result<()> {
        if matches!(self.source, Source::Pipe { .. }) {
            let failed = |error| Error::io("cannot copy standard input to a temporary file", error);
            let mut from = self.open("")?;
            let mut spool = tempfile::tempfile().map_err(failed)?;
            io::copy(&mut from, &mut spool).map_err(failed)?;
            spool.flush().map_err(failed)?;
            self.source = Source::Spooled(spool);
        }
        Ok(())
    }
}

/// What tells whether a file was written to: its size, its time and the file itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Fingerprint {
    /// Of the file at `path`, links followed.
    ///
    /// # Errors
    /// If it is not there.
    pub fn of(path: &Path) -> Result<Self> {
        let meta = std::fs::metadata(path).map_err(|error| Error::io("cannot open", error))?;
        Ok(Self { size: meta.len(), modified: meta.modified().ok(), inode: inode(&meta) })
    }
}

#[cfg(unix)]
fn inode(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(meta)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}
