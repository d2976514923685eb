//! Files, and standard input, as the parts of a session.

mod begun;
mod measured;
mod source;

use self::begun::Begun;
use self::measured::End;
pub use self::source::Row;
use self::source::{Source, opened, rewound};
use super::copies::Copies;
use super::family;
use super::fingerprint::Fingerprint;
use super::meter::{Reach, Tally};
use super::origin_name::origin_of_moved;
use super::packed::{Packing, Tear, plain_name};
use crate::error::{Error, Result, Torn};
use crate::format::{Format, Head, Opener, Parts};
use crate::lines::BOM;
use crate::parts::Searched;
use crate::parts::memo::Memo;
use bytes::Bytes;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A session that is read, from files or from standard input.
pub struct Input {
    /// The main part first.
    parts: Vec<Part>,
    /// The index of each part in `parts`, by name. A session may have thousands of parts.
    places: HashMap<String, usize>,
    /// The index file that contains more about the session: the session's name in it, and its path.
    index: Option<(String, PathBuf)>,
    /// The session's place in the folder of all sessions.
    among: Option<Among>,
    /// The path of the session's origin file, and whether the user named it. The file may not
    /// exist.
    origin: Option<(PathBuf, bool)>,
    tally: Tally,
    /// The extent to which each followed file was read, by name.
    followed: HashMap<String, Reach>,
    memo: Memo,
}

/// A session's place in the folder of all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Among {
    /// The folder that the parts' names are relative to.
    pub home: PathBuf,
    /// The session's identifier.
    pub session: String,
    /// Copies of the files that the sessions share.
    pub copies: Copies,
}

/// Maximum number of sessions that are searched, and of bytes of their first lines.
const MOST_SEARCHED: usize = 2000;
const LONGEST_SEARCHED: u64 = 1 << 20;

/// Maximum size of a file, in bytes, that is kept once it was read.
const SMALL: u64 = 2 << 20;

struct Part {
    name: String,
    source: Source,
    /// The reader that was opened to look at the first bytes. Reading the part continues with it.
    begun: Option<Begun>,
    /// The size of the text in bytes, once it was wanted; `None` in it where it is not known.
    size: OnceCell<Option<u64>>,
    /// The contents of a small file, once it was read.
    whole: Option<Bytes>,
    /// Place to record how far a damaged compressed file can be unpacked, if that is not an error.
    tear: Option<Tear>,
    /// The fingerprint of the file when it was last read to its end.
    end: End,
    /// The extent to which the part was read.
    reach: Reach,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.parts.iter().map(|part| &part.name).collect();
        f.debug_struct("Input").field("parts", &names).finish_non_exhaustive()
    }
}

impl Input {
    /// Opens a file. A file that is not a regular file is read once, like standard input.
    pub fn file(path: impl Into<Arc<Path>>) -> Result<Self> {
        Self::files([(String::new(), path.into())])
    }

    /// Opens a regular file that was found in a folder. The file is opened at once, which saves
    /// requests to the system.
    pub fn found(path: impl Into<Arc<Path>>) -> Result<Self> {
        Ok(Self::of(vec![Part::new(String::new(), Source::found(path.into())?)]))
    }

    /// Opens a session that is between others in a file.
    pub fn row(row: Row) -> Result<Self> {
        Ok(Self::of(vec![Part::new(String::new(), Source::row(row)?)]))
    }

    /// Opens the files that make up one session, by the names of its parts.
    pub fn files(files: impl IntoIterator<Item = (String, Arc<Path>)>) -> Result<Self> {
        let open = |(name, path)| Source::file(path).map(|source| Part::new(name, source));
        let parts = files.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Self::of(parts))
    }

    /// Returns an input with the contents of a file that has no name.
    pub(super) fn spooled(file: File) -> Self {
        Self::of(vec![Part::new(String::new(), Source::Spooled(file))])
    }

    /// Returns standard input as an input.
    pub fn stdin() -> Self {
        let source = Source::Pipe(Some(Box::new(io::stdin())));
        Self::of(vec![Part::new(String::new(), source)])
    }

    fn of(parts: Vec<Part>) -> Self {
        let (tally, followed) = (Tally::default(), HashMap::new());
        // If two parts have the same name, the first one counts.
        let places =
            parts.iter().enumerate().rev().map(|(at, part)| (part.name.clone(), at)).collect();
        let memo = Memo::default();
        Self { parts, places, index: None, among: None, origin: None, tally, followed, memo }
    }

    /// Makes the reader unpack damaged compressed files as far as possible, instead of failing.
    pub fn up_to_tears(mut self) -> Self {
        self.parts.iter_mut().for_each(|part| part.tear = Some(Tear::default()));
        self
    }

    /// Returns where a damaged compressed part stopped, if one did.
    pub fn torn(&self) -> Option<Torn> {
        self.parts.iter().find_map(|part| part.tear.as_ref()?.found())
    }

    /// Returns where text that is not compressed follows a compressed part, if it does.
    pub fn plain_tail(&self) -> Option<u64> {
        self.parts.iter().find_map(|part| part.tear.as_ref()?.plain())
    }

    /// Adds an index file that contains more about the session, which the index calls `name`.
    pub fn with_index(self, name: String, path: PathBuf) -> Self {
        Self { index: Some((name, path)), ..self }
    }

    /// Sets the session's place in the folder of all sessions.
    pub fn among(self, among: Among) -> Self {
        Self { among: Some(among), ..self }
    }

    /// Sets the origin file: the one that the user `named`, else the one beside the main part.
    pub fn with_origin(mut self, format: &Format, named: Option<PathBuf>) -> Self {
        let names = self.names();
        let main = format.main_of(&names);
        let part = self.places.get(main).and_then(|place| self.parts.get(*place));
        let beside = part.and_then(|part| match &part.source {
            Source::File(path, ..) => Some((origin_of_moved(path, format), false)),
            // A session between others has no file of its own, beside which an origin could be.
            Source::Row(..) | Source::Pipe(_) | Source::Spooled(_) => None,
        });
        self.origin = named.map(|path| (path, true)).or(beside);
        self
    }

    /// Returns the folder of all sessions, if this session is in such a folder.
    pub fn home(&self) -> Option<&Path> {
        self.among.as_ref().map(|among| among.home.as_path())
    }

    /// Returns the regular files that are read, and their metadata before reading.
    pub fn sources(&self) -> Vec<(Arc<Path>, Metadata)> {
        let regular = self.parts.iter().filter_map(|part| part.source.regular());
        regular.map(|(path, meta)| (path.clone(), meta.clone())).collect()
    }

    /// Whether the whole input was read from files to their ends, and no file had changed by then.
    pub fn stood_still(&self) -> bool {
        let still = |part: &Part| {
            let regular = part.source.regular();
            regular.is_some_and(|(_, meta)| part.end.get() == Some(Fingerprint::from(meta)))
        };
        self.parts.iter().all(still)
    }

    /// Closes the files and frees the bytes that were read ahead, for an input that waits to be
    /// read.
    pub fn closed(mut self) -> Self {
        for part in &mut self.parts {
            if let Source::File(_, _, file) = &mut part.source {
                *file = None;
                (part.begun, part.whole) = (None, None);
            }
        }
        self
    }

    /// Sets the `tally` that counts the bytes that are read.
    pub fn counted(self, tally: Tally) -> Self {
        Self { tally, ..self }
    }

    /// Returns the first bytes of the first part without a byte order mark, and whether they are
    /// the whole part.
    pub fn head(&mut self) -> Result<(&[u8], bool)> {
        let Some(part) = self.parts.first_mut() else { return Ok((&[], true)) };
        let Begun { ahead, rest } = part.begin()?;
        let ahead = ahead.unread();
        Ok((ahead.strip_prefix(BOM).unwrap_or(ahead), rest.is_none()))
    }

    /// Makes a part be read from this unnamed file from now on.
    pub fn put(&mut self, name: &str, file: File) {
        self.set(Part::new(name.to_owned(), Source::Spooled(file)));
    }

    /// Makes a part be read from the file of this path from now on.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn replace(&mut self, name: &str, path: &Path) -> Result<()> {
        self.set(Part::new(name.to_owned(), Source::file(path.into())?));
        Ok(())
    }

    fn set(&mut self, part: Part) {
        self.memo = Memo::default();
        match self.part(&part.name.clone()) {
            // The position at which a compressed part was torn is kept.
            Ok(old) => *old = Part { tear: old.tear.take(), reach: old.reach.clone(), ..part },
            Err(_) => {
                self.places.insert(part.name.clone(), self.parts.len());
                self.parts.push(part);
            }
        }
    }

    fn part(&mut self, name: &str) -> Result<&mut Part> {
        let place = self.places.get(name).copied();
        place.and_then(|place| self.parts.get_mut(place)).ok_or_else(not_there)
    }
}

fn not_there() -> Error {
    Error::io("cannot open", io::Error::from(io::ErrorKind::NotFound))
}

impl Part {
    fn new(name: String, source: Source) -> Self {
        let (end, reach) = (End::default(), Reach::default());
        let size = OnceCell::new();
        Self { name, source, begun: None, size, whole: None, tear: None, end, reach }
    }

    /// Reads the first bytes, if that was not done yet.
    fn begin(&mut self) -> Result<&mut Begun> {
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None if self.is_small(Head::SIZE as u64) => {
                Begun::new(self.open()?, self.source.size())?
            }
            // Of a file that is no session, only the beginning is read.
            None => Begun::new(self.stream()?, self.source.size())?,
        };
        Ok(self.begun.insert(begun))
    }

    /// Returns a reader of the whole part. A pipe can be read only once.
    fn read(&mut self) -> Result<Box<dyn Read>> {
        let begun = self.begun.take().filter(|_| !self.is_small(SMALL));
        let Some(Begun { ahead, rest }) = begun else { return self.open() };
        Ok(match rest {
            Some(rest) => Box::new(ahead.chain(rest)),
            None => Box::new(ahead),
        })
    }

    /// Opens the text from its beginning. A pipe can be opened only once. A small file is read at
    /// once, however often it is opened.
    fn open(&mut self) -> Result<Box<dyn Read>> {
        if self.whole.is_none() && self.is_small(SMALL) {
            // One byte more than the file has makes the reader find the end.
            let mut bytes = Vec::with_capacity(self.source.size() as usize + 1);
            let read = self.stream()?.read_to_end(&mut bytes);
            read.map_err(|error| Error::io("cannot read", error))?;
            self.whole = Some(bytes.into());
        }
        match &self.whole {
            Some(whole) => Ok(Box::new(io::Cursor::new(whole.clone()))),
            None => self.stream(),
        }
    }

    fn is_small(&self, most: u64) -> bool {
        let plain = self.source.regular().is_some();
        plain && self.size().is_some_and(|size| size <= most)
    }

    /// Returns the size of the text in bytes, if it is known without reading it.
    fn size(&self) -> Option<u64> {
        *self.size.get_or_init(|| self.source.known_size())
    }

    /// Opens the text as the source has it.
    fn stream(&mut self) -> Result<Box<dyn Read>> {
        let end = self.opened();
        self.source.open(self.tear.as_ref(), end)
    }

    /// Records that the part is opened once more.
    fn opened(&mut self) -> End {
        self.end = End::default();
        End::clone(&self.end)
    }

    /// Copies the part to a temporary file, so that it can be read again from any position.
    fn spool(&mut self, tally: &Tally) -> Result<()> {
        let failed = |error| {
            let folder = std::env::temp_dir();
            let doing =
                format!("cannot copy the input to a temporary file in {}", folder.display());
            Error::io(format!("{doing}, which TMPDIR names"), error)
        };
        tally.again(1);
        let reader = self.read()?;
        let mut from = tally.reader(&self.reach, reader);
        let mut spool = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut from, &mut spool).map_err(failed)?;
        spool.flush().map_err(failed)?;
        self.source = Source::Spooled(spool);
        self.size = OnceCell::new();
        Ok(())
    }
}

impl Parts for Input {
    fn names(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.name.clone()).collect()
    }

    fn file_name(&self) -> Option<String> {
        match self.parts.first().map(|part| &part.source) {
            Some(Source::File(path, ..)) => {
                Some(plain_name(&path.file_name()?.to_string_lossy()).to_owned())
            }
            _ => None,
        }
    }

    fn memo(&self) -> Option<&Memo> {
        Some(&self.memo)
    }

    fn known_size(&self) -> Option<u64> {
        self.parts.iter().map(Part::size).sum()
    }

    fn open(&mut self, name: &str) -> Result<Box<dyn Read>> {
        let tally = self.tally.clone();
        let part = self.part(name)?;
        let reader = part.read()?;
        Ok(Box::new(tally.reader(&part.reach, reader)))
    }

    fn size(&mut self, name: &str) -> Result<u64> {
        if let Some(size) = self.part(name)?.size() {
            return Ok(size);
        }
        let counted = io::copy(&mut self.open(name)?, &mut io::sink());
        counted.map_err(|error| Error::io("cannot read", error))
    }

    fn index(&mut self) -> Result<Option<(String, Box<dyn Read>)>> {
        let Some((name, path)) = &self.index else { return Ok(None) };
        Ok(Some((name.clone(), Box::new(opened(path)?))))
    }

    fn open_at(&mut self, name: &str, byte: u64) -> Result<Box<dyn Read>> {
        let tally = self.tally.clone();
        let part = self.part(name)?;
        if matches!(&part.source, Source::File(path, ..) if Packing::of_file(path).is_some()) {
            // A compressed file cannot be read from a position in its text.
            part.spool(&tally)?;
        }
        if let Some(whole) = &part.whole {
            let from = usize::try_from(byte).unwrap_or(usize::MAX).min(whole.len());
            return Ok(Box::new(io::Cursor::new(whole.slice(from..))));
        }
        let end = part.opened();
        let mut file = match &part.source {
            Source::Row(row, _) => return row.open(byte, end),
            Source::File(path, ..) => opened(path)?,
            Source::Spooled(file) => rewound(file)?,
            Source::Pipe(_) => return self.open(name),
        };
        file.seek(SeekFrom::Start(byte)).map_err(|error| Error::io("cannot seek", error))?;
        Ok(Box::new(file))
    }

    fn copies(&mut self, names: &[&str]) -> Result<Box<dyn AsRef<Path>>> {
        let path = |name: &&str| {
            let part = self.part(name)?;
            part.opened();
            match &part.source {
                Source::File(path, ..) => Ok(path.clone()),
                _ => Err(not_there()),
            }
        };
        let files: Vec<_> = names.iter().map(path).collect::<Result<_>>()?;
        let copies = self.among.as_ref().map_or_else(Copies::default, |a| a.copies.clone());
        Ok(Box::new(copies.of(&files, &self.tally)?))
    }

    fn origin(&mut self) -> Result<Option<Opener>> {
        let Some((path, named)) = &self.origin else { return Ok(None) };
        // Opening a pipe waits for a writer. A link is followed: an origin of another file is refused.
        if !named && !path.is_file() {
            return Ok(None);
        }
        let path = path.clone();
        let opener: Opener = Rc::new(move || {
            let failed = |error| Error::io(format!("cannot open {}", path.display()), error);
            Ok(Box::new(File::open(&path).map_err(failed)?))
        });
        opener().map(|_| Some(opener))
    }

    fn session(&self) -> Option<String> {
        self.among.as_ref().map(|among| among.session.clone())
    }

    fn follow(&mut self, name: &str) -> Result<Option<Box<dyn Read>>> {
        let Some(mut path) = self.among.as_ref().map(|among| among.home.clone()) else {
            return Ok(None);
        };
        for piece in name.split('/').skip(1) {
            let plain = !matches!(piece, "" | "." | "..") && !piece.contains(['\\', '\0']);
            path.push(piece);
            let link = || path.symlink_metadata().map_or(true, |meta| meta.is_symlink());
            if !plain || link() {
                return Ok(None);
            }
        }
        if !path.is_file() {
            return Ok(None);
        }
        let reach = self.followed.entry(name.to_owned()).or_default();
        Ok(Some(Box::new(self.tally.reader(reach, opened(&path)?))))
    }

    fn find(&mut self, folders: &[&str], ending: &str) -> Result<Option<Box<dyn Read>>> {
        let Some(Source::File(main, ..)) = self.parts.first().map(|part| &part.source) else {
            return Ok(None);
        };
        let Some(found) = family::find(main, folders, ending) else { return Ok(None) };
        let reader = Part::new(String::new(), Source::file(found.into())?).read()?;
        let reach = self.followed.entry(ending.to_owned()).or_default();
        Ok(Some(Box::new(self.tally.reader(reach, reader))))
    }

    fn search(&mut self, folders: &[&str], wanted: &dyn Fn(&[u8]) -> bool) -> Searched {
        let Some(Source::File(main, ..)) = self.parts.first().map(|part| &part.source) else {
            return Searched::Unknown;
        };
        let Some(others) = family::others(main, folders, MOST_SEARCHED) else {
            return Searched::Unknown;
        };
        let is_wanted = |path: &PathBuf| {
            let source = Source::file(path.clone().into()).ok()?;
            let part = Part::new(String::new(), source).read().ok()?;
            let mut line = Vec::new();
            BufReader::new(part.take(LONGEST_SEARCHED)).read_until(b'\n', &mut line).ok()?;
            wanted(&line).then(|| path.file_name().map(|name| name.to_owned()))?
        };
        let found = others.iter().find_map(is_wanted);
        found.map_or(Searched::Nothing, |name| Searched::Found(name.to_string_lossy().into()))
    }

    fn keep(&mut self) -> Result<()> {
        self.tally.again(1);
        for part in &mut self.parts {
            if matches!(part.source, Source::Pipe(_)) {
                part.spool(&self.tally)?;
            }
        }
        Ok(())
    }
}
