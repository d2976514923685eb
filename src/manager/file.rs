//! The files that a session is kept in: locked while they are written, and read again where another
//! program wrote to them.

use super::entries::Entries;
use super::open::Kept;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Format, Sink};
use crate::memory::Buffer;
use crate::store::{Backup, Claims, Destination, Fingerprint, Output, Policy, folder_of};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a session, the main one first.
#[derive(Debug)]
pub struct Files {
    /// Names of the parts, and their paths.
    parts: Vec<(String, PathBuf)>,
    /// The files as they were read or written last; empty before the first entry of a new session.
    known: Vec<Fingerprint>,
}

/// The right to write to a session: no other process of copyist has it as long as this value exists.
#[derive(Debug)]
pub struct Writing {
    lock: File,
    /// The file that was begun for a new session; it goes again if nothing is written to it.
    new: Option<PathBuf>,
}

impl Drop for Writing {
    fn drop(&mut self) {
        let empty = || self.lock.metadata().is_ok_and(|meta| meta.len() == 0);
        if let Some(path) = self.new.take().filter(|_| empty()) {
            // An empty file does no harm, if it stays.
            let _ = fs::remove_file(path);
        }
    }
}

impl Files {
    /// Files that were read.
    ///
    /// # Errors
    /// If one is there no more.
    pub fn read(parts: Vec<(String, PathBuf)>) -> Result<Self> {
        let mut files = Self { parts, known: Vec::new() };
        files.note()?;
        Ok(files)
    }

    /// The file that the first entry of a new session will begin.
    pub fn new(path: PathBuf) -> Self {
        Self { parts: vec![(String::new(), path)], known: Vec::new() }
    }

    /// The path of the main file.
    pub fn main(&self) -> &Path {
        self.parts.first().map_or(Path::new(""), |(_, path)| path)
    }

    /// Whether the files are still to be written.
    pub fn is_new(&self) -> bool {
        self.known.is_empty()
    }

    /// Notes what the files are like now.
    fn note(&mut self) -> Result<()> {
        self.known = self.parts.iter().map(|(_, path)| Fingerprint::of(path)).collect::<Result<_>>()?;
        Ok(())
    }

    /// Waits until no other process of copyist writes to the session.
    ///
    /// # Errors
    /// If the main file cannot be opened, or is there although the session is new.
    pub fn begin(&self) -> Result<Writing> {
        let (main, new) = (self.main(), self.is_new());
        if new {
            let made = fs::create_dir_all(folder_of(main));
            made.map_err(|error| failed("create the folder of", main, error))?;
        }
        loop {
            let opened = OpenOptions::new().read(true).append(true).create_new(new).open(main);
            let lock = opened.map_err(|error| failed("open", main, error))?;
            lock.lock().map_err(|error| failed("lock", main, error))?;
            // Whoever had the lock before may have put another file in the place of this one.
            let ours = Fingerprint::of_open(&lock)?;
            if Fingerprint::of(main).is_ok_and(|now| now.is_same_file(&ours)) {
                return Ok(Writing { lock, new: new.then(|| main.to_owned()) });
            }
        }
    }

    /// Reads the session again if another program wrote to it since.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn refresh(&mut self, format: &'static Format, entries: &mut Entries) -> Result<()> {
        let still = |(known, (_, path)): (&Fingerprint, &(String, PathBuf))| known.holds(path).is_ok();
        if self.known.iter().zip(&self.parts).all(still) {
            return Ok(());
        }
        let chosen = entries.is_chosen().then(|| entries.leaf().cloned());
        let kept = Kept::read(self.main())?;
        if kept.format.name != format.name {
            let message = format!("{} is now a session of {}", self.main().display(), kept.format.name);
            return Err(Error::request(Code::WrongFormat, message));
        }
        *entries = kept.entries;
        *self = Self::read(kept.parts)?;
        match chosen {
            Some(Some(leaf)) if entries.has(&leaf) => entries.stand_at(Some(leaf)),
            Some(None) => entries.stand_at(None),
            _ => Ok(()),
        }
    }

    /// Appends whole lines to the main file in one write, behind a line ending if the file lacks it.
    ///
    /// # Errors
    /// If the system refuses. What was written then is taken away again.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        append(self.main(), lines)?;
        self.note()
    }

    /// Gives the files the contents of this output. A file whose new contents begin with what is
    /// there is appended to, another one is replaced.
    ///
    /// # Errors
    /// If more than one file would change, as that cannot be done in one step; if the system
    /// refuses, or the file changes meanwhile.
    pub fn set(&mut self, output: &Buffer) -> Result<()> {
        let mut changed = Vec::new();
        for name in output.names() {
            let path = self.parts.iter().find(|(part, _)| part == name).map(|(_, path)| path.clone());
            let path = path.ok_or_else(|| too_many(self.main()))?;
            let old = fs::read(&path).map_err(|error| failed("read", &path, error))?;
            let new = output.part(name).unwrap_or_default();
            if old != new {
                changed.push((path, old, new));
            }
        }
        if changed.len() > 1 {
            return Err(too_many(self.main()));
        }
        for (path, old, new) in changed {
            let whole = old.is_empty() || old.ends_with(b"\n");
            match new.strip_prefix(old.as_slice()).filter(|_| whole) {
                Some(added) => append(&path, added)?,
                None => replace(&path, &new)?,
            }
        }
        self.note()
    }
}

fn append(path: &Path, lines: &[u8]) -> Result<()> {
    let opened = OpenOptions::new().read(true).append(true).open(path);
    let mut file = opened.map_err(|error| failed("open", path, error))?;
    let (end, torn) = end_of(&mut file).map_err(|error| failed("read", path, error))?;
    let bytes = if torn { [b"\n", lines].concat() } else { lines.to_vec() };
    let written = file.write_all(&bytes).and_then(|()| file.sync_data());
    written.map_err(|error| {
        // Half a line would make the next one unreadable.
        let _ = file.set_len(end);
        failed("write to", path, error)
    })
}

/// Returns the length of a file, and whether its last line lacks its ending.
fn end_of(file: &mut File) -> io::Result<(u64, bool)> {
    let end = file.seek(SeekFrom::End(0))?;
    if end == 0 {
        return Ok((0, false));
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok((end, last != *b"\n"))
}

/// Puts a new file in the place of the old one.
fn replace(path: &Path, contents: &[u8]) -> Result<()> {
    let file: Arc<Path> = path.into();
    let meta = fs::metadata(path).map_err(|error| failed("read", path, error))?;
    let destination = Destination::InPlace {
        backup: Backup::None,
        stem: path.with_extension(""),
        aside: path.to_owned(),
    };
    let claims = Arc::new(Claims::of(vec![Arc::clone(&file)], None));
    let mut output = Output::prepare(destination, vec![(file, meta)], Policy::default(), claims)?;
    let mut main = output.create("")?;
    let written = main.write_all(contents).and_then(|()| main.flush());
    drop(main);
    written.map_err(|error| failed("write to", path, error))?;
    output.commit()
}

fn too_many(main: &Path) -> Error {
    let message = format!(
        "{}: an entry would change several files of the session, which cannot be done in one step; \
         convert the session to a format of one file",
        main.display()
    );
    Error::request(Code::NoSuchEntry, message)
}

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot {doing} {}", path.display()), error)
}
