//! Files that are written when a session goes on with another agent.

use crate::error::{Error, Result};
use crate::store::{
    Destination, Entry, Fingerprint, Header, Journal, Name, Output, Policy, State, folder_of, grow,
    hash, real,
};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Ending of the name under which an origin is kept that is written again.
const KEPT: &str = ".bak";

/// A file that is written.
#[derive(Debug)]
pub enum Write {
    /// A new file.
    New {
        /// Its contents.
        from: PathBuf,
        /// Its place.
        to: PathBuf,
    },
    /// A file to which bytes are added.
    Grow {
        /// Contents whose end is added.
        from: PathBuf,
        /// The position at which the end begins.
        skip: u64,
        /// The file.
        to: PathBuf,
        /// Its size so far.
        size: u64,
    },
    /// A file that is replaced, and kept under another name.
    Replace {
        /// Its new contents.
        from: PathBuf,
        /// The file.
        to: PathBuf,
    },
}

impl Write {
    /// The path of the file.
    #[must_use]
    pub fn to(&self) -> &Path {
        let (Self::New { to, .. } | Self::Grow { to, .. } | Self::Replace { to, .. }) = self;
        to
    }
}

/// Files that are written together.
#[derive(Debug, Default)]
pub struct Writes {
    all: Vec<Write>,
    /// The folder with their contents.
    work: Option<TempDir>,
}

impl Writes {
    /// Collects files in the order in which they are written.
    #[must_use]
    pub fn of(all: Vec<Write>) -> Self {
        Self { all, work: None }
    }

    /// Keeps the folder with the contents until the files are written.
    pub fn keep(&mut self, work: TempDir) {
        self.work = Some(work);
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Number of bytes that are added to existing files.
    #[must_use]
    pub fn grown(&self) -> u64 {
        let bytes = |write: &Write| match write {
            Write::Grow { from, skip, .. } => {
                from.metadata().map_or(0, |meta| meta.len()).saturating_sub(*skip)
            }
            _ => 0,
        };
        self.all.iter().map(bytes).sum()
    }

    /// Writes the files, and before that an entry in a new journal, by which `undo` takes them away.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn carry_out(&self, command: &str, journal: &Path) -> Result<()> {
        let targets: Vec<_> = self.all.iter().map(|write| place_of(write.to())).collect();
        let root = common(&targets);
        let named = |path: &Path| Name::from(path.strip_prefix(&root).unwrap_or(path));
        let mut entry = Entry {
            path: targets.first().map_or_else(|| Name::from(Path::new("")), |path| named(path)),
            session: None,
            outcome: "continued".to_owned(),
            exit: 0,
            files: Vec::new(),
            outputs: Vec::new(),
        };
        for (write, target) in self.all.iter().zip(&targets) {
            if !matches!(write, Write::New { .. }) {
                entry.files.push(before(target, named(target))?);
            }
            entry.outputs.push(after(write, target, &named)?);
        }
        let (mut log, _) = Journal::open(journal)?;
        log.begin(&Header {
            copyist: Header::MARK.to_owned(),
            version: Header::VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            settings: String::new(),
            in_place: true,
            root: Name::from(root.as_path()),
        })?;
        log.append(&[entry])?;
        self.all.iter().zip(&targets).try_for_each(|(write, target)| write.carry_out(target))
    }
}

impl Write {
    fn carry_out(&self, target: &Path) -> Result<()> {
        match self {
            Self::New { from, .. } => place(from, target, false),
            Self::Grow { from, skip, size, .. } => {
                let failed = |error| Error::io("cannot read", error);
                let mut bytes = File::open(from).map_err(failed)?;
                bytes.seek(SeekFrom::Start(*skip)).map_err(failed)?;
                grow(target, *size, &mut bytes)
            }
            Self::Replace { from, .. } => {
                let failed = |error| Error::io("cannot keep the origin", error);
                std::fs::copy(target, kept(target)).map_err(failed)?;
                let meta = target.metadata().and_then(|meta| meta.modified()).map_err(failed)?;
                let copy = File::options().write(true).open(kept(target)).map_err(failed)?;
                copy.set_modified(meta).map_err(failed)?;
                place(from, target, true)
            }
        }
    }
}

/// Returns the name under which a file is kept that is replaced.
fn kept(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(KEPT);
    name.into()
}

/// Writes a file that appears as a whole or not at all.
fn place(from: &Path, to: &Path, force: bool) -> Result<()> {
    let failed = |error| Error::io("cannot write", error);
    let policy = Policy { force, dry: false };
    let mut output = Output::prepare(Destination::from(to), Vec::new(), policy, Arc::default())?;
    let mut from = File::open(from).map_err(failed)?;
    io::copy(&mut from, &mut crate::format::Sink::create(&mut output, "")?).map_err(failed)?;
    output.commit()
}

/// Returns the state of a file before it changes.
fn before(path: &Path, name: Name) -> Result<State> {
    let now = Fingerprint::of(path)?;
    let hash = Some(hash(File::open(path))?);
    let (size, modified) = (now.size(), now.modified());
    Ok(State { path: name, size, modified, hash, backup: None, aside: false, grown_from: None })
}

/// Returns the state of a file after it was written.
fn after(write: &Write, target: &Path, named: &dyn Fn(&Path) -> Name) -> Result<State> {
    let failed = |error| Error::io("cannot read", error);
    let new = State {
        path: named(target),
        size: 0,
        modified: None,
        hash: None,
        backup: None,
        aside: false,
        grown_from: None,
    };
    let sized = |path: &Path| path.metadata().map(|meta| meta.len()).map_err(failed);
    Ok(match write {
        Write::New { from, .. } => {
            State { size: sized(from)?, hash: Some(hash(File::open(from))?), ..new }
        }
        Write::Replace { from, .. } => {
            let backup = Some(named(&kept(target)));
            State { size: sized(from)?, hash: Some(hash(File::open(from))?), backup, ..new }
        }
        Write::Grow { from, skip, size, .. } => {
            let mut hasher = blake3::Hasher::new();
            let mut old = File::open(target).map_err(failed)?.take(*size);
            io::copy(&mut old, &mut hasher).map_err(failed)?;
            let mut end = File::open(from).map_err(failed)?;
            end.seek(SeekFrom::Start(*skip)).map_err(failed)?;
            let more = io::copy(&mut end, &mut hasher).map_err(failed)?;
            let hash = Some(hasher.finalize().to_hex().to_string());
            State { size: size + more, hash, grown_from: Some(*size), ..new }
        }
    })
}

/// Returns the real path of a file that may not exist yet, nor its folder.
fn place_of(path: &Path) -> PathBuf {
    let there = path.ancestors().skip(1).find(|folder| folder.is_dir());
    let real = there.and_then(|there| Some((there.canonicalize().ok()?, there)));
    match real {
        Some((real, there)) => {
            path.strip_prefix(there).map_or(path.to_owned(), |rest| real.join(rest))
        }
        None => real_of(path),
    }
}

fn real_of(path: &Path) -> PathBuf {
    real(path)
}

/// Returns the folder that contains all of these files.
fn common(paths: &[PathBuf]) -> PathBuf {
    let mut all = paths.iter().map(|path| existing(folder_of(path)));
    let first = all.next().unwrap_or_else(|| PathBuf::from("/"));
    all.fold(first, |root, folder| {
        root.ancestors()
            .find(|above| folder.starts_with(above))
            .unwrap_or(Path::new("/"))
            .to_owned()
    })
}

fn existing(folder: &Path) -> PathBuf {
    folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_owned()
}
