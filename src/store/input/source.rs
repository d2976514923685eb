//! Files and pipes from which the parts of a session are read.

use super::super::packed::{Packing, Tear, Unpacked};
use super::measured::{End, Measured};
use super::not_there;
use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempPath;

/// Source of a part.
pub(super) enum Source {
    /// A regular file, its metadata before anything was read, and the open file if it was opened to
    /// get the metadata.
    File(Arc<Path>, Metadata, Option<File>),
    /// A session between others of a regular file, and the file's metadata before anything was read.
    Row(Row, Metadata),
    /// A source that can be read only once: standard input, a named pipe, a device. `None` once it
    /// was opened.
    Pipe(Option<Box<dyn Read>>),
    /// A pipe's contents, copied to a temporary file that has no name.
    Spooled(File),
}

/// A session between others of a file, one behind the other.
#[derive(Clone, Debug)]
pub struct Row {
    /// The file.
    pub path: Arc<Path>,
    /// The bytes of the session in the file's text.
    pub span: Range<u64>,
    /// The text of a compressed file, unpacked for all its sessions.
    pub text: Option<Arc<TempPath>>,
}

impl PartialEq for Row {
    /// Compares the place: the text follows from the file.
    fn eq(&self, other: &Self) -> bool {
        (&self.path, &self.span) == (&other.path, &other.span)
    }
}

impl Eq for Row {}

impl Row {
    /// Unpacks the text of a file, if it is compressed, for its sessions.
    ///
    /// # Errors
    /// If it cannot be read, or there is no room for the text.
    pub fn unpacked(path: &Path) -> Result<Option<Arc<TempPath>>> {
        if Packing::of_file(path).is_none() {
            return Ok(None);
        }
        let mut text = Unpacked::new(Box::new(opened(path)?), None);
        let mut copied = || {
            let mut file = tempfile::NamedTempFile::new()?;
            io::copy(&mut text, &mut file)?;
            Ok(file.into_temp_path())
        };
        let copied = copied().map_err(|error| Error::io("cannot unpack the file", error));
        copied.map(|text| Some(Arc::new(text)))
    }

    /// Opens the session's text from this byte of it. At its end, the file's fingerprint is kept.
    pub(super) fn open(&self, byte: u64, end: End) -> Result<Box<dyn Read>> {
        let from = self.span.start.saturating_add(byte).min(self.span.end);
        if self.text.is_none() && Packing::of_file(&self.path).is_some() {
            // Another process has no text that was unpacked for all.
            let mut text = Unpacked::new(Box::new(opened(&self.path)?), None);
            let passed = io::copy(&mut Read::by_ref(&mut text).take(from), &mut io::sink());
            passed.map_err(|error| Error::io("cannot read", error))?;
            return Ok(Box::new(text.take(self.span.end - from)));
        }
        let mut file = opened(self.text.as_ref().map_or(&*self.path, |text| text))?;
        file.seek(SeekFrom::Start(from)).map_err(|error| Error::io("cannot seek", error))?;
        Ok(Box::new(Measured::part(file, self.span.end - from, end)))
    }
}

impl Source {
    /// Opens a session between others.
    pub(super) fn row(row: Row) -> Result<Self> {
        let meta = std::fs::metadata(&row.path).map_err(|error| Error::io("cannot open", error))?;
        Ok(Self::Row(row, meta))
    }

    /// Returns the regular file that a part is, or is in, and its metadata before reading.
    pub(super) fn regular(&self) -> Option<(&Arc<Path>, &Metadata)> {
        match self {
            Self::File(path, meta, _) | Self::Row(Row { path, .. }, meta) => Some((path, meta)),
            Self::Pipe(_) | Self::Spooled(_) => None,
        }
    }

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
            Self::Row(row, _) => row.open(0, end)?,
            Self::Pipe(reader) => Box::new(unpacked(reader.take().ok_or_else(not_there)?)),
            Self::Spooled(file) => Box::new(rewound(file)?),
        })
    }

    /// Returns the size of the text in bytes, if it is known without reading it.
    pub(super) fn known_size(&self) -> Option<u64> {
        match self {
            Self::File(path, meta, _) => Packing::of_file(path).is_none().then_some(meta.len()),
            Self::Row(row, _) => Some(row.span.end.saturating_sub(row.span.start)),
            Self::Spooled(file) => file.metadata().ok().map(|meta| meta.len()),
            Self::Pipe(_) => None,
        }
    }

    /// Returns the expected number of bytes.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File(_, meta, _) => meta.len(),
            Self::Row(row, _) => row.span.end.saturating_sub(row.span.start),
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
