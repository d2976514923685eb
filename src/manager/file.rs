//! The files that a session is kept in: locked while they are written, and read again where another
//! program wrote to them.

use super::rewritten::Rewritten;
use crate::batch::stem;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::Sink;
use crate::memory::Buffer;
use crate::store::{
    Fingerprint, Packing, alone, append, create_folder, exchange, folder_of, new_like,
};
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files of a session, the main one first.
#[derive(Debug)]
pub struct Files {
    /// Names of the parts, and their paths.
    parts: Vec<(String, PathBuf)>,
    /// The folder to which the names of parts are paths, if it is one that sessions share.
    home: Option<PathBuf>,
    /// The file whose permissions new ones get; any new file's without it.
    like: Option<Metadata>,
    /// The files as they were read or written last; empty before the first entry of a new session.
    known: Vec<Known>,
}

/// A file as it was read or written last.
#[derive(Clone, Copy, Debug)]
struct Known {
    file: Fingerprint,
    /// Whether this process wrote it.
    ours: bool,
}

/// How long a file that another program wrote must have been left alone before it is replaced: a
/// program that replaces the contents of a file empties it first, and writes the rest later.
pub const QUIET: Duration = Duration::from_millis(200);

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
    pub fn read(
        parts: Vec<(String, PathBuf)>,
        home: Option<PathBuf>,
        opened: (&Path, Fingerprint),
    ) -> Result<Self> {
        let like = fs::metadata(opened.0).ok();
        let mut files = Self { parts, home, like, known: Vec::new() };
        files.note(false)?;
        let place = files.parts.iter().position(|(_, path)| path == opened.0);
        let known = place.and_then(|place| files.known.get_mut(place));
        known.into_iter().for_each(|known| known.file = opened.1);
        Ok(files)
    }

    /// Returns the file that the first entry of a new session will begin. It gets the permissions
    /// of the session that it is to be `like`.
    pub fn new(path: PathBuf, like: Option<&Path>) -> Self {
        let like = like.and_then(|like| fs::metadata(like).ok());
        Self { parts: vec![(String::new(), path)], home: None, like, known: Vec::new() }
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
    fn note(&mut self, ours: bool) -> Result<()> {
        let known =
            |(_, path): &(String, PathBuf)| Fingerprint::of(path).map(|file| Known { file, ours });
        self.known = self.parts.iter().map(known).collect::<Result<_>>()?;
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
            create_folder(folder_of(main), false)?;
        }
        let lock = alone(main, new_like(self.like.as_ref()), new)?;
        Ok(Writing { lock, new: new.then(|| main.to_owned()) })
    }

    /// Whether no other program wrote to the files since.
    pub fn are_current(&self) -> bool {
        self.known.iter().zip(&self.parts).all(|(known, (_, path))| known.file.holds(path).is_ok())
    }

    /// Appends whole lines to the main file in one write, behind a line ending if the file lacks
    /// it.
    ///
    /// # Errors
    /// If the system refuses. Bytes that were written before the error are removed.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        self.append_to(0, lines)
    }

    /// Gives the empty files of a new session their contents.
    ///
    /// # Errors
    /// If the session shares files with others, or the system refuses.
    pub fn fill(&mut self, output: &Buffer) -> Result<()> {
        for name in output.names().filter(|name| !name.is_empty()) {
            self.new_part(name)?;
        }
        for (name, path) in &self.parts {
            append(path, &output.part(name).unwrap_or_default())?;
        }
        self.note(true)
    }

    /// Changes the files from what they contain, `before`, to what they are to contain. To a file of
    /// lines, new ones are appended; another file that changes is replaced. Shared files change
    /// last.
    ///
    /// # Errors
    /// If the system refuses. If another program wrote to a file that is to be replaced since it was
    /// read ([`Code::Changed`]); nothing is lost then.
    pub fn change(&mut self, before: &Buffer, after: Rewritten) -> Result<()> {
        let Rewritten { parts, changes } = after;
        // Other programs may have shared files open.
        let (mut begun, mut new) = (Vec::new(), Vec::new());
        for (name, change) in &changes {
            let path = self.place_of(name)?;
            match path.exists() {
                true => begun.push(change.begin(&path, true)?),
                false => new.push((name, change.make(None, true)?)),
            }
        }
        let mut added = Vec::new();
        for name in parts.names() {
            let (old, new) = (before.part(name), parts.part(name).unwrap_or_default());
            let place = self.parts.iter().position(|(part, _)| part == name);
            match place {
                Some(_) if old.as_ref() == Some(&new) => {}
                Some(place) => {
                    let (_, path) = &self.parts[place];
                    let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
                    let behind = old.as_ref().and_then(|old| new.strip_prefix(old.as_slice()));
                    match behind.filter(|_| is_lines) {
                        Some(behind) => added.push((place, whole_lines(behind))),
                        None => self.replace(place, &new)?,
                    }
                }
                None => self.begin_part(name, &new)?,
            }
        }
        // A replaced file may have changed meanwhile; then no line has been written.
        added.into_iter().try_for_each(|(place, lines)| self.append_to(place, &lines))?;
        new.into_iter().try_for_each(|(name, contents)| self.begin_part(name, &contents))?;
        if begun.is_empty() {
            return Ok(());
        }
        begun.into_iter().try_for_each(|commit| commit())?;
        self.note(true)
    }

    /// Returns the place of a part that the session may not have yet.
    fn place_of(&self, name: &str) -> Result<PathBuf> {
        if let Some((_, path)) = self.parts.iter().find(|(part, _)| part == name) {
            return Ok(path.clone());
        }
        let home = self.home.as_ref().zip(name.strip_prefix('/'));
        let plain = !name.split('/').any(|piece| piece == "..") && !name.contains('\\');
        match home.filter(|_| plain) {
            Some((home, below)) => Ok(home.join(below)),
            None => Err(self.shared()),
        }
    }

    /// Writes a further part.
    fn begin_part(&mut self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.place_of(name)?;
        let (folder, failed) = (folder_of(&path), |error| failed("write", &path, error));
        create_folder(folder, false)?;
        let mut options = new_like(self.like.as_ref());
        let mut new = options.write(true).create_new(true).open(&path).map_err(failed)?;
        new.write_all(contents).and_then(|()| new.sync_all()).map_err(failed)?;
        self.known.push(Known { file: Fingerprint::of_open(&new)?, ours: true });
        self.parts.push((name.to_owned(), path));
        Ok(())
    }

    /// Reads the files.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn contents(&self) -> Result<Buffer> {
        let mut contents = Buffer::default();
        for (name, path) in &self.parts {
            let bytes = fs::read(path).map_err(|error| failed("read", path, error))?;
            let written = contents.create(name)?.write_all(&bytes);
            written.map_err(|error| failed("read", path, error))?;
        }
        Ok(contents)
    }

    /// Replaces a file, unless it has changed since it was read.
    fn replace(&mut self, place: usize, contents: &[u8]) -> Result<()> {
        let (Some((_, path)), Some(known)) = (self.parts.get(place), self.known.get_mut(place))
        else {
            return Ok(());
        };
        let age = known.file.age().filter(|_| !known.ours);
        std::thread::sleep(QUIET.saturating_sub(age.unwrap_or(QUIET)));
        *known = Known { file: exchange(path, contents, &known.file)?, ours: true };
        Ok(())
    }

    /// Appends whole lines to a file.
    fn append_to(&mut self, place: usize, lines: &[u8]) -> Result<()> {
        let (Some((_, path)), Some(known)) = (self.parts.get(place), self.known.get_mut(place))
        else {
            return Ok(());
        };
        let (start, end) = append(path, lines)?;
        // What another program wrote before or behind these lines was not read yet.
        if start == known.file.size() && end.size() == start + lines.len() as u64 {
            *known = Known { file: end, ours: true };
        }
        Ok(())
    }

    /// Adds a part of a new session beside its main file.
    fn new_part(&mut self, name: &str) -> Result<()> {
        let main = self.main();
        let plain = name.starts_with('.') && !name.contains(['/', '\\']);
        let stem = main.file_name().and_then(|file| file.to_str()).map(stem);
        let Some(stem) = stem.filter(|_| plain && self.is_new()) else {
            return Err(self.shared());
        };
        let path = main.with_file_name(format!("{stem}{name}"));
        self.parts.push((name.to_owned(), path));
        Ok(())
    }

    /// Returns the error for a session whose files are not its own.
    fn shared(&self) -> Error {
        let message = format!(
            "{}: the session shares files with others; convert it to a format of one file",
            self.main().display()
        );
        Error::request(Code::NoSuchEntry, message)
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

/// Returns text behind other lines as whole lines: it may begin with the ending of the last one,
/// and lack its own.
fn whole_lines(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"\r").unwrap_or(text);
    let text = text.strip_prefix(b"\n").unwrap_or(text);
    let end: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"" } else { b"\n" };
    [text, end].concat()
}

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot {doing} {}", path.display()), error)
}
