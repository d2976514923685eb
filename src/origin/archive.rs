//! The archive that an origin is, and a pack: a tar archive in one Zstandard stream.
//!
//! `tar --zstd -tf NAME.origin` lists its members, and `-xf` gives the source's own files. An
//! archive may come from anyone, so its members are regular files with plain relative names, and
//! it never unpacks to more than a limit.

use crate::error::{Cannot, Error, Result};
use crate::origin::digest::{Digest, Measure};
use crate::origin::frame::Frame;
use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{self, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use tar::{Builder, EntryType, Header};
use zstd::stream::read::Decoder;

/// The largest window that is unpacked: 8 MiB.
const WINDOW_LOG: u32 = 23;
/// Maximum length of a member that is read into memory.
const LONGEST: u64 = 64 << 20;
/// Maximum length of a member's name.
const LONGEST_NAME: u64 = 64 << 10;
/// Maximum number of members.
const MOST_MEMBERS: usize = 1 << 16;
/// Maximum size of the unpacked archive: this many times the sizes of the packed bytes and of the
/// file together, plus this many bytes.
const EXPANSION: (u64, u64) = (200, 1 << 30);

/// Archive that is being written.
pub struct Writing {
    tar: Builder<Frame>,
    names: HashSet<String>,
    /// Beginning of the messages of errors.
    failure: &'static str,
}

impl Writing {
    /// Begins an archive; `failure` is the beginning of its errors, such as `cannot write the pack`.
    pub fn new(to: Box<dyn Write>, failure: &'static str) -> Result<Self> {
        Ok(Self { tar: Builder::new(Frame::begin(to)), names: HashSet::new(), failure })
    }

    /// Adds a member of exactly this size.
    pub fn member(&mut self, name: &str, size: u64, from: impl Read) -> Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(0);
        header.set_size(size);
        let read = Rc::new(RefCell::new(0));
        let from = Counted { from: from.take(size), count: Rc::clone(&read) };
        let added = self.tar.append_data(&mut header, name, from);
        added.map_err(|error| Error::io(self.failure, error))?;
        if *read.borrow() < size {
            let short = io::Error::other("a part became shorter while it was read");
            return Err(Error::io(self.failure, short));
        }
        Ok(())
    }

    /// Returns a name for a member of this folder that no other member has: a plain relative path
    /// made of this one.
    pub fn free_name(&mut self, folder: &str, wanted: &str) -> String {
        let plain: Vec<_> =
            wanted.split('/').filter(|piece| !piece.is_empty()).map(plain).collect();
        let plain = if plain.is_empty() { "part".to_owned() } else { plain.join("/") };
        let first = format!("{folder}/{plain}");
        let names = std::iter::once(first.clone()).chain((2..).map(|n| format!("{first}-{n}")));
        let mut free = names.skip_while(|name| self.names.contains(&name.to_lowercase()));
        let name = free.next().unwrap_or(first);
        self.names.insert(name.to_lowercase());
        name
    }

    /// Ends the archive.
    pub fn finish(self) -> Result<()> {
        let failed = |error| Error::io(self.failure, error);
        self.tar.into_inner().and_then(Frame::finish).map_err(failed)
    }
}

/// Returns a piece of a path without characters that other systems refuse or terminals obey.
fn plain(piece: &str) -> String {
    match piece {
        "." | ".." => "_".to_owned(),
        _ => piece
            .chars()
            .map(|c| if c.is_control() || "\\:*?\"<>|".contains(c) { '_' } else { c })
            .collect(),
    }
}

/// Reader that counts its bytes for its owner.
struct Counted<R> {
    from: R,
    count: Rc<RefCell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        *self.count.borrow_mut() += read as u64;
        Ok(read)
    }
}

/// Reason why an archive cannot be used.
pub type Unreadable = &'static str;

const TORN: Unreadable = "it is torn or damaged";
const OUTSIDE: Unreadable = "it contains paths that lead outside";

/// Function that gets each member: its name, and its contents.
pub type MemberFn<'a> = &'a mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>;

/// Reads an archive from `file`, whose length is `packed`, to its end. `size` is the size in bytes
/// of the file beside it.
pub fn read(
    file: impl Read,
    (packed, size): (u64, u64),
    take: MemberFn<'_>,
) -> std::result::Result<(), Unreadable> {
    let (times, more) = EXPANSION;
    let most = packed.saturating_add(size).saturating_mul(times).saturating_add(more);
    let file = BufReader::with_capacity(128 << 10, file);
    let mut frame = Decoder::with_buffer(file).map_err(|_| TORN)?.single_frame();
    frame.window_log_max(WINDOW_LOG).map_err(|_| TORN)?;
    let mut bytes = frame.take(most);
    let done = members(&mut bytes, take);
    if bytes.limit() == 0 {
        return Err("it would unpack to more than a file of its size can contain");
    }
    done?;
    // The checksum is behind the last byte.
    io::copy(&mut bytes, &mut io::sink()).map_err(|_| TORN)?;
    let rest = bytes.into_inner().finish().read(&mut [0]);
    if rest.is_ok_and(|read| read == 0) { Ok(()) } else { Err("bytes follow its end") }
}

fn members(bytes: &mut impl Read, take: MemberFn<'_>) -> std::result::Result<(), Unreadable> {
    let mut archive = tar::Archive::new(bytes);
    let (mut names, mut long) = (HashSet::new(), None);
    // The crate would read descriptions of members into memory, however long they are.
    for entry in archive.entries().map_err(|_| TORN)?.raw(true) {
        let mut entry = entry.map_err(|_| TORN)?;
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::GNULongName if long.is_none() && entry.size() <= LONGEST_NAME => {
                let mut name = contents(&mut entry).map_err(|_| TORN)?;
                name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                long = Some(String::from_utf8(name).map_err(|_| OUTSIDE)?);
                continue;
            }
            _ => return Err("it contains anything but files"),
        }
        let path = match long.take() {
            Some(name) => PathBuf::from(name),
            None => entry.path().map_err(|_| TORN)?.into_owned(),
        };
        let Some(name) = relative(&path) else { return Err(OUTSIDE) };
        if names.len() == MOST_MEMBERS {
            return Err("it contains too many members");
        }
        if !names.insert(name.to_lowercase()) {
            return Err("it contains two members of one name");
        }
        take(name, &mut entry).map_err(|_| TORN)?;
    }
    Ok(())
}

/// Returns a path as text, if each of its pieces is a plain name.
fn relative(path: &Path) -> Option<&str> {
    let plain = path.components().all(|piece| matches!(piece, Component::Normal(_)));
    path.to_str().filter(|name| plain && !name.is_empty())
}

/// Reads a member into memory.
pub fn contents(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 > LONGEST {
        return Err(io::Error::other("too long"));
    }
    Ok(contents)
}

/// Reader that measures its bytes.
pub struct Measuring<'m, R> {
    /// The reader.
    pub from: R,
    /// Digest of the bytes so far.
    pub measure: &'m mut Measure,
}

impl<R: Read> Read for Measuring<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.measure.update(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Computes the digest of all bytes of a reader.
pub fn digest_of(from: impl Read) -> Result<Digest> {
    let mut measure = Measure::default();
    let mut from = Measuring { from, measure: &mut measure };
    let mut buffer = vec![0; 256 << 10];
    while from.read(&mut buffer).cannot("read")? > 0 {}
    Ok(measure.digest())
}
