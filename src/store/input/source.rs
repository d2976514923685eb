//! Files and pipes from which the parts of a session are read.

use super::super::packed::{Packing, Tear, Unpacked};
use super::measured::{End, Measured};
use super::not_there;
use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

/// Source of a part.
pub(super) enum Source {
    /// A regular file, its metadata before anything was read, and the open file if it was opened to
    /// get the metadata.
    File(Arc<Path>, Metadata, Option<File>),
    /// A source that can be read only once: standard input, a named pipe, a device. `None` once it
    /// was opened.
    Pipe(Option<Box<dyn Read>>),
    /// A pipe's contents, copied to a temporary file that has no name.
    Spooled(File),
}

impl Source {
    pub(super) fn file(path: Arc<Path>) -> Result<Self> {
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() => Ok(Self::File(path, meta, None)),
            _ => Ok(Self::Pipe(Some(Box::new(opened(&path)?)))),
        }
    }

    pub(super) fn found(path: Arc<Path>) -> Result<Self> {
        let failed = |error| Error::io("cannot open", error);
        let mut options = File::options();
        options.read(true);
        // If a pipe took the file's place meanwhile, opening it does not block.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
        let file = options.open(&path).map_err(failed)?;
        match file.metadata().map_err(failed)? {
            meta if meta.is_file() => Ok(Self::File(path, meta, Some(file))),
            _ => Err(failed(io::Error::other("it is no longer a regular file"))),
        }
    }

    /// Opens the text, compressed or not, from its beginning. A pipe can be opened only once.
    pub(super) fn open(&mut self, tear: Option<&Tear>, end: End) -> Result<Box<dyn Read>> {
        let unpacked = |reader| Unpacked::new(reader, tear.cloned());
        Ok(match self {
            Self::File(path, meta, file) => {
                let file = file.take().map_or_else(|| opened(path), Ok)?;
                Box::new(unpacked(Box::new(Measured::new(file, meta.len(), end))))
            }
            Self::Pipe(reader) => Box::new(unpacked(reader.take().ok_or_else(not_there)?)),
            Self::Spooled(file) => Box::new(rewound(file)?),
        })
    }

    /// Returns the size of the text in bytes, if it is known without reading it.
    pub(super) fn known_size(&self) -> Option<u64> {
        match self {
            Self::File(path, meta, _) => Packing::of_file(path).is_none().then_some(meta.len()),
            Self::Spooled(file) => file.metadata().ok().map(|meta| meta.len()),
            Self::Pipe(_) => None,
        }
    }

    /// Returns the expected number of bytes.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File(_, meta, _) => meta.len(),
            Self::Pipe(_) | Self::Spooled(_) => u64::MAX,
        }
    }
}

#[cfg(unix)]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits() as i32;

pub(super) fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| Error::io("cannot open", error))
}

pub(super) fn rewound(file: &File) -> Result<File> {
    let mut file = file.try_clone().map_err(|error| Error::io("cannot reopen", error))?;
    file.rewind().map_err(|error| Error::io("cannot rewind", error))?;
    Ok(file)
}
