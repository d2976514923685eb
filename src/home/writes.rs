//! Files that are written together, with a journal by which they can be undone.

use crate::error::{Error, Result};
use crate::store::{
    Destination, Entry, Fingerprint, Header, Journal, Name, Output, Policy, State, TEMPORARY,
    create_folder, folder_of, grow, hash,
};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Ending of the name under which a file is kept that is written again.
const KEPT: &str = ".bak";

/// Number of folders above a file that are removed if they become empty: those of a session and of
/// its project.
const DEEPEST: usize = 3;

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
    /// A file that moves. If its contents change, the old ones are kept beside it.
    Move {
        /// Its place so far.
        old: PathBuf,
        /// Its new contents, if they change.
        from: Option<PathBuf>,
        /// Its new place.
        to: PathBuf,
    },
}

impl Write {
    /// The path of the file.
    pub fn to(&self) -> &Path {
        let (Self::New { to, .. }
        | Self::Grow { to, .. }
        | Self::Replace { to, .. }
        | Self::Move { to, .. }) = self;
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
    pub fn of(all: Vec<Write>) -> Self {
        Self { all, work: None }
    }

    /// Keeps the folder with the contents until the files are written.
    pub fn keep(&mut self, work: TempDir) {
        self.work = Some(work);
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Writes the files, and before that an entry in a new journal, by which `undo` takes them away.
    pub fn carry_out(&self, (command, outcome): (&str, &str), journal: &Path) -> Result<()> {
        let targets: Vec<_> = self.all.iter().map(|write| place_of(write.to())).collect();
        let olds = self.all.iter().filter_map(Write::old).map(place_of);
        let root = common(targets.iter().cloned().chain(olds));
        let named = |path: &Path| Name::from(path.strip_prefix(&root).unwrap_or(path));
        let mut entries = Vec::with_capacity(self.all.len());
        for (write, target) in self.all.iter().zip(&targets) {
            let before = match write {
                Write::New { .. } => None,
                Write::Grow { .. } | Write::Replace { .. } => Some(target.clone()),
                Write::Move { old, .. } => Some(place_of(old)),
            };
            let files = before.iter().map(|path| before_of(path, named(path)));
            entries.push(Entry {
                path: named(before.as_deref().unwrap_or(target)),
                session: None,
                outcome: outcome.to_owned(),
                exit: 0,
                files: files.collect::<Result<_>>()?,
                outputs: vec![after(write, target, &named)?],
            });
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
        log.append(&entries)?;
        self.all.iter().zip(&targets).try_for_each(|(write, target)| write.carry_out(target))
    }
}

impl Write {
    /// The place so far of a file that moves.
    fn old(&self) -> Option<&Path> {
        match self {
            Self::Move { old, .. } => Some(old),
            _ => None,
        }
    }

    fn carry_out(&self, target: &Path) -> Result<()> {
        match self {
            Self::Move { old, from, .. } => {
                let failed = |error| Error::io(format!("cannot move {}", old.display()), error);
                create_folder(folder_of(target))?;
                let time = old.metadata().and_then(|meta| meta.modified()).map_err(failed)?;
                let place_now = if from.is_some() { kept(target) } else { target.to_owned() };
                if place_now.symlink_metadata().is_ok() {
                    return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
                }
                std::fs::rename(old, &place_now).map_err(failed)?;
                if let Some(from) = from {
                    place(from, target)?;
                    let file = File::options().write(true).open(target).map_err(failed)?;
                    let mode = place_now.metadata().map_err(failed)?.permissions();
                    file.set_permissions(mode).map_err(failed)?;
                    file.set_modified(time).map_err(failed)?;
                }
                // Fails where the folder has other files, which stay.
                old.ancestors()
                    .skip(1)
                    .take(DEEPEST)
                    .all(|folder| std::fs::remove_dir(folder).is_ok());
                Ok(())
            }
            Self::New { from, .. } => place(from, target),
            Self::Grow { from, skip, size, .. } => {
                let failed = |error| Error::io("cannot read", error);
                let mut bytes = File::open(from).map_err(failed)?;
                bytes.seek(SeekFrom::Start(*skip)).map_err(failed)?;
                grow(target, *size, &mut bytes)
            }
            Self::Replace { from, .. } => {
                let failed = |error| Error::io(format!("cannot keep {}", target.display()), error);
                std::fs::copy(target, kept(target)).map_err(failed)?;
                let meta = target.metadata().and_then(|meta| meta.modified()).map_err(failed)?;
                let copy = File::options().write(true).open(kept(target)).map_err(failed)?;
                copy.set_modified(meta).map_err(failed)?;
                replace(from, target).map_err(failed)
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

/// Writes a new file, which appears as a whole or not at all.
fn place(from: &Path, to: &Path) -> Result<()> {
    let failed = |error| Error::io("cannot write", error);
    let policy = Policy::default();
    let mut output = Output::prepare(Destination::from(to), Vec::new(), policy, Arc::default())?;
    let mut from = File::open(from).map_err(failed)?;
    io::copy(&mut from, &mut crate::format::Sink::create(&mut output, "")?).map_err(failed)?;
    output.commit()
}

/// Puts new contents in the place of a file. An origin beside it stays, which `Output` removes.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let mode = to.metadata()?.permissions();
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder_of(to))?;
    io::copy(&mut File::open(from)?, file.as_file_mut())?;
    file.as_file().set_permissions(mode)?;
    file.as_file().sync_all()?;
    file.persist(to).map(drop).map_err(|error| error.error)
}

/// Returns the state of a file before it changes.
fn before_of(path: &Path, name: Name) -> Result<State> {
    let now = Fingerprint::of(path)?;
    let hash = Some(hash(File::open(path))?);
    let (size, modified) = (now.size(), now.modified());
    Ok(State { path: name, size, modified, hash, ..State::default() })
}

/// Returns the state of a file after it was written.
fn after(write: &Write, target: &Path, named: &dyn Fn(&Path) -> Name) -> Result<State> {
    let failed = |error| Error::io("cannot read", error);
    let new = State { path: named(target), ..State::default() };
    let sized = |path: &Path| path.metadata().map(|meta| meta.len()).map_err(failed);
    Ok(match write {
        Write::New { from, .. } => {
            State { size: sized(from)?, hash: Some(hash(File::open(from))?), ..new }
        }
        Write::Replace { from, .. } => {
            let backup = Some(named(&kept(target)));
            State { size: sized(from)?, hash: Some(hash(File::open(from))?), backup, ..new }
        }
        Write::Move { old, from, .. } => {
            let contents = from.as_ref().unwrap_or(old);
            let moved_from = Some(named(&place_of(old)));
            let backup = from.as_ref().map(|_| named(&kept(target)));
            let hash = Some(hash(File::open(contents))?);
            State { size: sized(contents)?, hash, backup, moved_from, ..new }
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
        None => path.to_owned(),
    }
}

/// Returns the folder that contains all of these files.
fn common(paths: impl Iterator<Item = PathBuf>) -> PathBuf {
    let mut all = paths.map(|path| existing(folder_of(&path)));
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
