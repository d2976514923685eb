//! What a session is read from, and what it is written to.

pub mod room;

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::io::{self, BufRead, Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;

/// The named parts of a session that is read. Most formats have one, the main part, whose name is
/// empty; another's is what its path has behind the main part's path without its ending.
pub trait Parts {
    /// The names of the parts that are there, the main part's first; its place here is what a
    /// [position](crate::position::Position::part) counts.
    fn names(&self) -> Vec<String>;

    /// What the first part's file is called, without its folder; `None` where it has no name.
    fn file_name(&self) -> Option<String> {
        None
    }

    /// The session's identifier, where that of parts which it shares with others is not enough.
    fn session(&self) -> Option<String> {
        None
    }

    /// Opens a part from its beginning. It may be asked for again only after
    /// [`keep`](Self::keep), for the main part may be a pipe.
    ///
    /// # Errors
    /// If there is no such part, or it cannot be read.
    fn open(&mut self, name: &str) -> Result<Box<dyn Read>>;

    /// Makes sure that parts can be opened again; a pipe is copied to a temporary file.
    ///
    /// # Errors
    /// If that fails.
    fn keep(&mut self) -> Result<()>;

    /// Opens a part at a byte; to be used after [`keep`](Self::keep).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        let mut part = self.open(name)?;
        let passed = io::copy(&mut Read::take(&mut part, byte), &mut io::sink());
        passed.map_err(|error| Error::io("cannot read", error))?;
        Ok(part)
    }

    /// Lends copies of parts under the names of their files, for what reads files by their paths.
    /// The folder is gone when it is dropped.
    ///
    /// # Errors
    /// If there is no such part or no file of it, another program is writing to one, or there is
    /// no room.
    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        let message = format!("no files to be copied: {}", names.join(", "));
        Err(Error::request(Code::Io, message))
    }

    /// Opens a file that a part refers to, by a name like that of a part; `None` if below the
    /// folder of all parts no regular file stands there, or a link leads there.
    ///
    /// # Errors
    /// If it cannot be read.
    fn follow(&mut self, _name: &str) -> Result<Option<Box<dyn Read>>> {
        Ok(None)
    }

    /// Opens the file that tells more of the session, where its format has such files and it is
    /// there; with the name of the main part's file, without its ending, by which it speaks of it.
    ///
    /// # Errors
    /// If it cannot be read.
    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        Ok(None)
    }

    /// What opens the origin that stands beside the session, as often as it is needed; `None` if none
    /// does.
    ///
    /// # Errors
    /// If one stands there and cannot be opened.
    fn origin(&mut self) -> Result<Option<Opener>> {
        Ok(None)
    }

    /// Opens the first part.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    fn main(&mut self) -> Result<Box<dyn Read>> {
        let name = self.names().into_iter().next().unwrap_or_default();
        self.open(&name)
    }
}

/// Opens a file, each time from its beginning.
pub type Opener = Rc<dyn Fn() -> Result<Box<dyn ReadSeek>>>;

/// Whether a file that stands where an origin goes holds the same.
pub type Same = Rc<dyn Fn(&mut dyn ReadSeek) -> bool>;

/// A file that is read at any place.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// The error for a session of several parts where there is room for the main one only.
#[must_use]
pub fn no_room_for_parts() -> Error {
    let message = "the session takes several files, and there is room for one";
    Error::request(Code::OutputName, message)
}

/// A part that is written.
pub enum Out<'a> {
    /// By the thread that created it.
    Here(Box<dyn Write + 'a>),
    /// By any.
    Anywhere(Box<dyn Write + Send + 'a>),
}

/// Where a session is written.
pub trait Sink {
    /// Creates a part. The empty name is the main part, which goes to the output that the person
    /// named; another's name is what its path has behind that of the main part without its ending,
    /// such as `.meta.json` or `/run_1.yaml`. Several can be open at a time. In the end they are
    /// put in their places in the order in which they were created.
    ///
    /// # Errors
    /// If it cannot be created, or is a second part where there is room for one only.
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>>;

    /// The same for who can have it written by any thread, if the place allows that.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn create_for_any(&mut self, name: &str) -> Result<Out<'static>> {
        self.create(name).map(Out::Here)
    }

    /// Creates a part that sessions may share, with its contents, unless it is there already; false
    /// if something else stands in its place.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn add(&mut self, name: &str, contents: &[u8]) -> Result<bool> {
        let mut part = self.create(name)?;
        let written = part.write_all(contents).and_then(|()| part.flush());
        written.map(|()| true).map_err(|error| Error::io("cannot write", error))
    }

    /// Creates the file that brings the source back, which goes beside one of the parts; `None` where
    /// no file can stand there. It takes its place before the parts do.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn origin(&mut self) -> Result<Option<Box<dyn Write>>> {
        Ok(None)
    }

    /// Says beside which part the origin goes, once it is written. A file that stands there alone is
    /// written over only if it is `same`.
    ///
    /// # Errors
    /// If something else stands there.
    fn place_origin(&mut self, part: &str, same: Same) -> Result<()> {
        let _ = (part, same);
        Ok(())
    }

    /// Changes a part that sessions share, in the end, when the session's own parts are written.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn change(&mut self, name: &str, change: Change) -> Result<()>;

    /// Whether parts go below the folder of all sessions, as their software names them; there is
    /// no main part then.
    fn is_native(&self) -> bool {
        false
    }

    /// Takes the place of a part below the folder of all sessions: of the names that `nth` gives for
    /// 1, 2 and so on, each of which follows from the first, the first that no other output of the
    /// same run has. Gives its number.
    ///
    /// # Errors
    /// If it leads elsewhere, or is that of an input.
    fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        let _ = nth;
        Ok(1)
    }

    /// Whether parts are put where those that are read stand, so that what is not created stays.
    fn is_in_place(&self) -> bool {
        false
    }

    /// Whether there is room for more parts than the main one.
    fn takes_parts(&self) -> bool;

    /// What the output is called, without folder and ending; `None` where it has no name.
    fn stem(&self) -> Option<String>;

    /// Remembers what was created so far, so that what follows can be forgotten; false where
    /// bytes are gone as soon as they are written.
    fn mark(&mut self) -> bool {
        false
    }

    /// Forgets what was created since the mark, as if it never was. Whoever writes to it is done.
    fn forget(&mut self) {}

    /// Whether there is such a mark: a writer may then trust in an order that records mostly have,
    /// and [give up](crate::diagnostic::Log::give_up) where they have not.
    fn forgets(&self) -> bool {
        false
    }

    /// Lends room outside of memory, for what stands first in a part and is known last.
    ///
    /// # Errors
    /// If there is none.
    fn spool(&mut self) -> Result<Box<dyn Spool>>;
}

/// What is written first and read later. Nothing of it outlives its owner.
pub trait Spool: Read + Write + Seek {}

impl<T: Read + Write + Seek> Spool for T {}

/// Makes new contents of old ones, if there are any; asked again, the same of the same. It is told
/// whether the person allows that anything is written over.
pub type Change = Box<dyn Fn(Option<Vec<u8>>, bool) -> Result<Vec<u8>>>;

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
