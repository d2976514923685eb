//! Interfaces for the parts from which a session is read, and to which it is written.

pub mod list;
pub mod memo;
pub mod room;
pub mod shown;
pub mod watched;

use crate::diagnostic::Code;
use crate::error::{Cannot, Error, Result};
use memo::Memo;
use std::io::{self, BufRead, Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;

/// Beginning of the names of parts whose files are beside the main part, with names of their own.
pub const BESIDE: &str = "/../";

/// Name of the copy of a part whose file has no name.
pub const UNNAMED: &str = "main";

/// The named parts of a session that is read. Most formats have one, the main part, whose name is
/// empty. The name of another part is the remainder of its path behind the main part's path without
/// its ending; for a file beside the main part with a name of its own, it begins with [`BESIDE`].
pub trait Parts {
    /// Returns the names of the parts, the main part's first. The place of a name in this list is
    /// the part number of a [position](crate::position::Position::part).
    fn names(&self) -> Vec<String>;

    /// Returns the name of the first part's file, without its folder; `None` where it has no name.
    fn file_name(&self) -> Option<String> {
        None
    }

    /// Returns the session's identifier, where the parts contain several sessions.
    fn session(&self) -> Option<String> {
        None
    }

    /// Returns the place for results of earlier readings; `None` where there is none.
    fn memo(&self) -> Option<&Memo> {
        None
    }

    /// Returns the size of all parts together in bytes, where they can be opened again, have a
    /// [memo](Self::memo), and their size is known without reading.
    fn known_size(&self) -> Option<u64> {
        None
    }

    /// Opens a part from its beginning. The part may be opened again only after
    /// [`keep`](Self::keep), because the main part may be a pipe.
    ///
    /// # Errors
    /// If there is no such part, or it cannot be read.
    fn open(&mut self, name: &str) -> Result<Box<dyn Read>>;

    /// Returns the size of a part in bytes, as [`open`](Self::open) gives it; to be used after
    /// [`keep`](Self::keep).
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    fn size(&mut self, name: &str) -> Result<u64> {
        io::copy(&mut self.open(name)?, &mut io::sink()).cannot("read")
    }

    /// Makes sure that parts can be opened again; a pipe is copied to a temporary file.
    ///
    /// # Errors
    /// If that fails.
    fn keep(&mut self) -> Result<()>;

    /// Opens a part at a byte; to be used after [`keep`](Self::keep).
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        let mut part = self.open(name)?;
        io::copy(&mut Read::take(&mut part, byte), &mut io::sink()).cannot("read")?;
        Ok(part)
    }

    /// Lends copies of parts under the names of their files, or [`UNNAMED`], for code that reads
    /// files by their paths. The folder is removed when the returned value is dropped.
    ///
    /// # Errors
    /// If there is no such part or no file of it, another program is writing to one, or there is
    /// no room.
    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        let message = format!("no files to be copied: {}", names.join(", "));
        Err(Error::request(Code::Io, message))
    }

    /// Opens a file to which a part refers, by a name like the name of a part. `None` if no regular
    /// file is there below the folder of all parts, or the path leads through a link.
    ///
    /// # Errors
    /// If it cannot be read.
    fn follow(&mut self, _name: &str) -> Result<Option<Box<dyn Read>>> {
        Ok(None)
    }

    /// Opens another session of the same software, by the end of its file's name: `folders` are the
    /// folders in which the software keeps sessions, and the main part is below one of them.
    /// `None` if no such file is there.
    ///
    /// # Errors
    /// If it cannot be read.
    fn find(&mut self, _folders: &[&str], _ending: &str) -> Result<Option<Box<dyn Read>>> {
        Ok(None)
    }

    /// Looks for another session of the same software whose first line is `wanted`, in `folders` as
    /// in [`find`](Self::find).
    fn search(&mut self, _folders: &[&str], _wanted: &dyn Fn(&[u8]) -> bool) -> Searched {
        Searched::Unknown
    }

    /// Opens the file with further data of the session, where its format has such files and one
    /// exists. The returned name is the name of the main part's file without its ending, by which
    /// the file refers to the session.
    ///
    /// # Errors
    /// If it cannot be read.
    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        Ok(None)
    }

    /// Returns a function that opens the origin beside the session, as often as it is needed;
    /// `None` if there is no origin.
    ///
    /// # Errors
    /// If there is one and it cannot be opened.
    fn origin(&mut self) -> Result<Option<Opener>> {
        Ok(None)
    }

    /// Opens the first part.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    fn main(&mut self) -> Result<Box<dyn Read>> {
        let name = self.names().into_iter().next().unwrap_or_default();
        self.open(&name)
    }
}

/// Result of a search among the sessions beside a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Searched {
    /// The file of this name is such a session.
    Found(String),
    /// None is.
    Nothing,
    /// The sessions cannot be looked at, or there are too many.
    Unknown,
}

/// Copies parts unchanged, in this order. Returns how many bytes they have.
///
/// # Errors
/// If a part cannot be read or written.
pub fn copy(parts: &mut dyn Parts, sink: &mut dyn Sink, names: &[String]) -> Result<u64> {
    let mut bytes = 0;
    for name in names {
        let (mut from, mut to) = (parts.open(name)?, sink.create(name)?);
        bytes += io::copy(&mut from, &mut to).cannot("copy")?;
        to.flush().cannot("copy")?;
    }
    Ok(bytes)
}

/// Opens a file, each time from its beginning.
pub type Opener = Rc<dyn Fn() -> Result<Box<dyn ReadSeek>>>;

/// Whether the file in the place of an origin has the same content.
pub type Same = Rc<dyn Fn(&mut dyn ReadSeek) -> bool>;

/// A file that is read at any place.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Returns the error for a session of several parts where there is room for the main one only.
#[must_use]
pub fn no_room_for_parts() -> Error {
    let message = "the session takes several files, and there is room for one";
    Error::request(Code::OutputName, message)
}

/// A part that is written.
pub enum Out<'a> {
    /// Output of the thread that created it.
    Here(Box<dyn Write + 'a>),
    /// Output of any thread.
    Anywhere(Box<dyn Write + Send + 'a>),
}

/// Destination of a session.
pub trait Sink {
    /// Creates a part. The empty name is the main part, which goes to the output that the user
    /// named. The name of another part is the remainder of its path behind the main part's path
    /// without its ending, such as `.meta.json` or `/run_1.yaml`. Several parts can be open at a
    /// time. In the end they are put in their places in the order in which they were created.
    ///
    /// # Errors
    /// If it cannot be created, or is a second part where there is room for one only.
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>>;

    /// Creates a part that any thread may write, if the place allows that.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    fn create_for_any(&mut self, name: &str) -> Result<Out<'static>> {
        self.create(name).map(Out::Here)
    }

    /// Creates a part that sessions may share, with its contents, unless it exists already; returns
    /// false if other contents are in its place.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    fn add(&mut self, name: &str, contents: &[u8]) -> Result<bool> {
        let mut part = self.create(name)?;
        part.write_all(contents).and_then(|()| part.flush()).map(|()| true).cannot("write")
    }

    /// Creates the file that restores the source, which goes beside one of the parts; `None` where
    /// there can be no such file. The file takes its place before the parts do.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    fn origin(&mut self) -> Result<Option<Box<dyn Write>>> {
        Ok(None)
    }

    /// Names the part beside which the origin goes, once it is written. A file that is already
    /// there is overwritten only if it is `same`.
    ///
    /// # Errors
    /// If something else is there.
    fn place_origin(&mut self, part: &str, same: Same) -> Result<()> {
        let _ = (part, same);
        Ok(())
    }

    /// Changes a part that sessions share, in the end, when the session's own parts are written.
    ///
    /// # Errors
    /// The errors of [`create`](Self::create).
    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()>;

    /// Whether parts go below the folder of all sessions, as their software names them; there is no
    /// main part then.
    fn is_native(&self) -> bool {
        false
    }

    /// Takes the place of a part below the folder of all sessions. The function `nth` returns names
    /// for 1, 2 and so on, each of which follows from the first. The chosen name is the first that
    /// no other output of the same run has. Returns its number.
    ///
    /// # Errors
    /// If it leads elsewhere, or is that of an input.
    fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        let _ = nth;
        Ok(1)
    }

    /// Whether parts replace the parts that are read, so that parts which are not created stay.
    fn is_in_place(&self) -> bool {
        false
    }

    /// Whether what is written goes nowhere.
    fn discards(&self) -> bool {
        false
    }

    /// Whether there is room for more parts than the main one.
    fn takes_parts(&self) -> bool;

    /// Returns the name of the output, without folder and ending; `None` where it has no name.
    fn stem(&self) -> Option<String>;

    /// Sets a checkpoint, to which [`roll_back`](Self::roll_back) leads; returns false where bytes are
    /// final as soon as they are written.
    fn checkpoint(&mut self) -> bool {
        false
    }

    /// Removes the parts created since the checkpoint. All their writers must have finished.
    fn roll_back(&mut self) {}

    /// Whether there is a checkpoint. A writer may then rely on an order that most records have, and
    /// [give up](crate::diagnostic::Log::give_up) where they do not have it.
    fn can_roll_back(&self) -> bool {
        false
    }

    /// Lends room outside of memory, for data that come first in a part and are known last.
    ///
    /// # Errors
    /// If there is none.
    fn spool(&mut self) -> Result<Box<dyn Spool>>;
}

/// Data that are written first and read later. Nothing of it outlives its owner.
pub trait Spool: Read + Write + Seek {}

impl<T: Read + Write + Seek> Spool for T {}

/// Change of a file that sessions share.
pub trait Change: Send {
    /// Makes new contents of old ones, if there are any; called again, it makes the same contents
    /// of the same old ones. `force` is true if the user allows overwriting.
    ///
    /// # Errors
    /// If the old contents cannot be used, or are newer and not to be overwritten.
    fn make(&self, old: Option<Vec<u8>>, force: bool) -> Result<Vec<u8>>;

    /// Begins the change in an existing file, which other programs may have open. The file changes
    /// when the returned function is called, and not at all if that is dropped.
    ///
    /// # Errors
    /// The errors of [`make`](Self::make), and if another program is writing to the file.
    fn begin(&self, path: &Path, force: bool) -> Result<Commit>;
}

/// Completes a change that was begun.
pub type Commit = Box<dyn FnOnce() -> Result<()>>;

/// Whether both read the same to their ends.
///
/// # Errors
/// If one cannot be read.
pub fn read_the_same(mut a: impl BufRead, mut b: impl BufRead) -> io::Result<bool> {
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let length = left.len().min(right.len());
        if left.get(..length) != right.get(..length) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        a.consume(length);
        b.consume(length);
    }
}
