//! New contents of a file that exists, and the state in which it was read.

use crate::error::{Error, Result};
use crate::store::fingerprint::Fingerprint;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Function that copies a text with its changes; it returns their number.
type Work = dyn Fn(&mut dyn BufRead, &mut dyn Write) -> io::Result<u64>;

/// Work that makes new contents of a file from its old ones.
#[derive(Clone)]
pub struct Redo {
    work: Rc<Work>,
    by_lines: bool,
}

impl fmt::Debug for Redo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redo").field("by_lines", &self.by_lines).finish_non_exhaustive()
    }
}

/// New contents of a file.
#[derive(Clone, Debug)]
pub struct Edit {
    contents: PathBuf,
    read: Fingerprint,
    /// The hash of the bytes that were read, and the work by which it can be done again.
    redo: Option<(blake3::Hash, Redo)>,
}

impl Redo {
    /// Creates work on a text. If it is done `by_lines`, each line is changed for itself.
    pub fn new(
        work: impl Fn(&mut dyn BufRead, &mut dyn Write) -> io::Result<u64> + 'static,
        by_lines: bool,
    ) -> Self {
        Self { work: Rc::new(work), by_lines }
    }

    /// Makes the new contents of the file at `path`, in a file at `to`. Returns the number of changes
    /// as well.
    pub fn edit(&self, path: &Path, to: PathBuf) -> Result<(Edit, u64)> {
        let failed = |error| Error::io(format!("cannot read {}", path.display()), error);
        let read = Fingerprint::of(path)?;
        // Bytes that a program appends from now on are not part of it.
        let file = File::open(path).map_err(failed)?.take(read.size());
        let mut from =
            BufReader::with_capacity(1 << 20, Hashed { file, hasher: Default::default() });
        let mut new = BufWriter::with_capacity(1 << 20, File::create(&to).map_err(failed)?);
        let count = (self.work)(&mut from, &mut new).and_then(|count| {
            new.flush()?;
            Ok(count)
        });
        let count = count.map_err(failed)?;
        let hash = from.into_inner().hasher.finalize();
        Ok((Edit { contents: to, read, redo: Some((hash, self.clone())) }, count))
    }

    /// Makes the new form of lines.
    pub fn lines(&self, mut lines: &[u8]) -> io::Result<Vec<u8>> {
        let mut new = Vec::new();
        (self.work)(&mut lines, &mut new).map(|_| new)
    }
}

/// A file whose bytes are hashed as they are read.
struct Hashed {
    file: io::Take<File>,
    hasher: blake3::Hasher,
}

impl Read for Hashed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(into)?;
        self.hasher.update(into.get(..length).unwrap_or_default());
        Ok(length)
    }
}

impl Edit {
    /// Returns contents that cannot be made again here, for a file that was read in this state.
    pub fn once(contents: PathBuf, read: Fingerprint) -> Self {
        Self { contents, read, redo: None }
    }

    /// Returns the file with the new contents.
    pub fn contents(&self) -> &Path {
        &self.contents
    }

    /// Returns the state in which the file was read.
    pub fn read(&self) -> &Fingerprint {
        &self.read
    }

    /// Returns the work by which further lines of the file are changed, if it is done by lines.
    pub fn by_lines(&self) -> Option<&Redo> {
        self.redo.as_ref().map(|(_, redo)| redo).filter(|redo| redo.by_lines)
    }

    /// Checks that the file at `path` is still the one that was read. Further lines behind the others
    /// do no harm where the work is done by lines.
    pub fn holds(&self, path: &Path) -> Result<()> {
        let held = self.read.holds(path);
        match (&held, &self.redo) {
            (Err(_), Some((hash, redo))) if redo.by_lines => {
                let now = Fingerprint::of(path)?;
                let is_longer = now.is_same_file(&self.read) && now.size() >= self.read.size();
                let same = || hash_of(path, self.read.size()).is_ok_and(|now| now == *hash);
                if is_longer && same() { Ok(()) } else { held }
            }
            _ => held,
        }
    }

    /// Makes the contents again of the file as it is now.
    ///
    /// # Errors
    /// If that is not possible here.
    pub fn again(&self, path: &Path) -> Result<Self> {
        match &self.redo {
            Some((_, redo)) => redo.edit(path, self.contents.clone()).map(|(edit, _)| edit),
            None => self.read.holds(path).map(|()| self.clone()),
        }
    }
}

fn hash_of(path: &Path, length: u64) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut File::open(path)?.take(length), &mut hasher)?;
    Ok(hasher.finalize())
}
