//! The files that a session is kept in: locked while they are written, and read again where another
//! program wrote to them.

use super::entries::Entries;
use super::open::StoredSession;
use crate::batch::stem;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::memory::Buffer;
use crate::store::{Fingerprint, Packing, exchange, folder_of};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The files of a session, the main one first.
#[derive(Debug)]
pub struct Files {
    /// Names of the parts, and their paths.
    parts: Vec<(String, PathBuf)>,
    /// The files as they were read or written last; empty before the first entry of a new session.
    known: Vec<Fingerprint>,
}

/// Permission to write to a session, which one process of copyist has at a time.
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
    /// Returns files that are about to be read, one of which is open already and had a fingerprint
    /// before it was opened.
    ///
    /// # Errors
    /// If one is not there.
    pub fn read(parts: Vec<(String, PathBuf)>, opened: (&Path, Fingerprint)) -> Result<Self> {
        let mut files = Self { parts, known: Vec::new() };
        files.note()?;
        let place = files.parts.iter().position(|(_, path)| path == opened.0);
        let known = place.and_then(|place| files.known.get_mut(place));
        known.into_iter().for_each(|known| *known = opened.1);
        Ok(files)
    }

    /// Returns the file that the first entry of a new session will begin.
    pub fn new(path: PathBuf) -> Self {
        Self { parts: vec![(String::new(), path)], known: Vec::new() }
    }

    /// Returns the path of the main file.
    pub fn main(&self) -> &Path {
        self.parts.first().map_or(Path::new(""), |(_, path)| path)
    }

    /// Whether nothing was written yet.
    pub fn is_new(&self) -> bool {
        self.known.is_empty()
    }

    /// Notes what the files are like now.
    fn note(&mut self) -> Result<()> {
        self.known =
            self.parts.iter().map(|(_, path)| Fingerprint::of(path)).collect::<Result<_>>()?;
        Ok(())
    }

    /// Waits until no other process of copyist writes to the session.
    ///
    /// # Errors
    /// If the main file cannot be opened, or is there although the session is new; if a file is
    /// compressed, or its name says so.
    pub fn begin(&self) -> Result<Writing> {
        let (main, new) = (self.main(), self.is_new());
        self.parts.iter().try_for_each(|(_, path)| check_plain(path))?;
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
        let still =
            |(known, (_, path)): (&Fingerprint, &(String, PathBuf))| known.holds(path).is_ok();
        if self.known.iter().zip(&self.parts).all(still) {
            return Ok(());
        }
        let chosen = entries.is_chosen().then(|| entries.leaf().cloned());
        let kept = StoredSession::read(self.main())?;
        if kept.format.name != format.name {
            let message =
                format!("{} is now a session of {}", self.main().display(), kept.format.name);
            return Err(Error::request(Code::WrongFormat, message));
        }
        *entries = kept.entries;
        *self = kept.files;
        match chosen {
            Some(Some(leaf)) if entries.has(&leaf) => entries.set_leaf(Some(leaf)),
            Some(None) => entries.set_leaf(None),
            _ => Ok(()),
        }
    }

    /// Appends whole lines to the main file in one write, behind a line ending if the file lacks
    /// it.
    ///
    /// # Errors
    /// If the system refuses. What was written then is taken away again.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        append(self.main(), lines)?;
        self.note()
    }

    /// Gives the files the contents of this output, the main one first. A file whose new contents
    /// begin with what is there is appended to, another one is replaced.
    ///
    /// # Errors
    /// If a file belongs to other sessions, too; if the system refuses, or a file changes
    /// meanwhile.
    pub fn set(&mut self, output: &Buffer) -> Result<()> {
        for name in output.names() {
            let path = match self.parts.iter().find(|(part, _)| part == name) {
                Some((_, path)) => path.clone(),
                None => self.new_part(name)?,
            };
            let new = output.part(name).unwrap_or_default();
            let old = match fs::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                read => read.map_err(|error| failed("read", &path, error))?,
            };
            let whole = old.is_empty() || old.ends_with(b"\n");
            match new.strip_prefix(old.as_slice()).filter(|_| whole) {
                Some([]) => {}
                Some(added) => append(&path, added)?,
                None => exchange(&path, &new, &Fingerprint::of(&path)?)?,
            }
        }
        self.note()
    }

    /// Adds a part of a new session beside its main file.
    fn new_part(&mut self, name: &str) -> Result<PathBuf> {
        let main = self.main();
        let plain = name.starts_with('.') && !name.contains(['/', '\\']);
        let stem = main.file_name().and_then(|file| file.to_str()).map(stem);
        let Some(stem) = stem.filter(|_| plain && self.is_new()) else {
            let message = format!(
                "{}: the session shares files with others; convert it to a format of one file",
                main.display()
            );
            return Err(Error::request(Code::NoSuchEntry, message));
        };
        let path = main.with_file_name(format!("{stem}{name}"));
        self.parts.push((name.to_owned(), path.clone()));
        Ok(path)
    }
}

/// Refuses a compressed file: text behind a compressed stream would make it unreadable.
fn check_plain(path: &Path) -> Result<()> {
    let named = Packing::of_name(path);
    let Some(packing) = Packing::of_file(path).or(named) else { return Ok(()) };
    let shown = path.display();
    let message = match (path.exists(), packing) {
        (false, _) => format!(
            "{shown}: no session is written under the name of a compressed file; leave out `{}`",
            packing.ending()
        ),
        (true, packing) => {
            let tool = if packing == Packing::Gzip { "gzip" } else { "zstd" };
            format!("{shown} is compressed, and nothing was written; unpack it first (`{tool} -d`)")
        }
    };
    Err(Error::request(Code::Io, message))
}

fn append(path: &Path, lines: &[u8]) -> Result<()> {
    let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
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

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot {doing} {}", path.display()), error)
}
