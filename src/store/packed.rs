//! Compressed files: gzip and Zstandard.
//!
//! When reading, the first bytes of a file decide, whatever its name is. When writing, the name
//! decides.

mod frames;

use crate::error::{Swollen, Torn};
use flate2::write::GzEncoder;
use frames::{Frames, Steady};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// `.gz`, RFC 1952.
    Gzip,
    /// `.zst`, RFC 8878.
    Zstd,
}

const ALL: [Packing; 2] = [Packing::Gzip, Packing::Zstd];

/// Number of first bytes that show how a file is compressed.
const START: usize = 4;

/// Maximum ratio of a text's size to its compressed size; [`ALLOWANCE`] bytes are allowed in
/// addition. Sessions repeat themselves, but no session does so a thousand times over.
const MOST_TIMES: u64 = 200;

/// Number of bytes that may be unpacked from a file of any size.
const ALLOWANCE: u64 = 1 << 30;

impl Packing {
    /// Returns the ending of file names.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// Returns the first bytes of such a file.
    fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => &[0x1f, 0x8b],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        }
    }

    /// Returns the compression that a file's name indicates.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        ALL.into_iter().find(|packing| name.ends_with(packing.ending().as_bytes()))
    }

    /// Returns the compression that a file's first bytes indicate. `None` for a file that cannot be
    /// read.
    pub fn of_file(path: &Path) -> Option<Self> {
        let mut file = File::open(path).ok()?;
        let mut start = [0; START];
        let read = fill(&mut file, &mut start, START).ok()?;
        Self::of_start(start.get(..read)?)
    }

    fn of_start(start: &[u8]) -> Option<Self> {
        // A Zstandard file may begin with a skippable frame, which contains no text.
        if matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]) {
            return Some(Self::Zstd);
        }
        ALL.into_iter().find(|packing| start.starts_with(packing.magic()))
    }

    /// Returns a reader of the text in a compressed stream. With a `tear`, the text of a damaged
    /// stream ends where it cannot be unpacked further, and text behind the stream that is not
    /// compressed is read, too.
    fn unpack(self, packed: Box<dyn Read>, tear: Option<Tear>) -> Box<dyn Read> {
        let taken = Rc::new(Cell::new(0));
        let frames = Frames::new(self, packed, Rc::clone(&taken), tear.clone());
        let reader: Box<dyn Read> = match self {
            Self::Gzip => Box::new(frames),
            Self::Zstd => Box::new(Steady::new(frames)),
        };
        Box::new(Limited { reader, given: 0, taken, tear, ended: false })
    }
}

/// Opens the text of a file, compressed or not.
pub fn text_of(path: &Path) -> io::Result<impl Read + use<>> {
    Ok(Unpacked::new(Box::new(File::open(path)?), None))
}

/// Returns a file name without the ending of a compressed file.
pub fn plain_name(name: &str) -> &str {
    ALL.iter().find_map(|packing| name.strip_suffix(packing.ending())).unwrap_or(name)
}

/// Reads until `buffer` contains at least `least` bytes or the reader ends. The buffer has room for
/// `least` bytes.
pub fn fill(reader: &mut dyn Read, buffer: &mut [u8], least: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < least {
        match reader.read(buffer.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The position where a damaged file can be unpacked no further, shared by all readers that read it
/// up to there.
#[derive(Clone, Debug, Default)]
pub struct Tear {
    torn: Rc<RefCell<Option<Torn>>>,
    plain: Rc<Cell<Option<u64>>>,
}

impl Tear {
    /// Returns the position, if there is one and a reader reached it.
    pub fn found(&self) -> Option<Torn> {
        self.torn.borrow().clone()
    }

    /// Returns where text that is not compressed follows the compressed stream, if a reader reached
    /// such text.
    pub fn plain(&self) -> Option<u64> {
        self.plain.get()
    }
}

/// Reader of a text that may be compressed. The first byte is read when it is requested.
pub struct Unpacked {
    stage: Stage,
    tear: Option<Tear>,
}

enum Stage {
    Unseen(Box<dyn Read>),
    Open(Box<dyn Read>),
    /// Temporary state while `Unseen` becomes `Open`.
    Between,
}

impl Unpacked {
    /// Creates a reader of a text that may be compressed. With a `tear`, a damaged text ends
    /// without an error where it can be unpacked no further, and the position is recorded in the
    /// `tear`.
    pub fn new(reader: Box<dyn Read>, tear: Option<Tear>) -> Self {
        Self { stage: Stage::Unseen(reader), tear }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Stage::Unseen(_) = &self.stage
            && let Stage::Unseen(mut reader) = std::mem::replace(&mut self.stage, Stage::Between)
        {
            let (mut short, roomy) = ([0; START], buffer.len() >= START);
            let room = if roomy { &mut *buffer } else { &mut short };
            let read = fill(&mut reader, room, START)?;
            let start = room.get(..read).unwrap_or_default();
            let packing = Packing::of_start(start);
            if packing.is_none() && roomy {
                self.stage = Stage::Open(reader);
                return Ok(read);
            }
            let whole = io::Cursor::new(start.to_vec()).chain(reader);
            self.stage = Stage::Open(match packing {
                Some(packing) => packing.unpack(Box::new(whole), self.tear.clone()),
                None => Box::new(whole),
            });
        }
        match &mut self.stage {
            Stage::Open(reader) => reader.read(buffer),
            // The reader failed before, so there are no more bytes.
            Stage::Unseen(_) | Stage::Between => Ok(0),
        }
    }
}

/// Reader that fails when more is unpacked than any session contains, and stops where the file is
/// damaged.
struct Limited {
    reader: Box<dyn Read>,
    given: u64,
    taken: Rc<Cell<u64>>,
    tear: Option<Tear>,
    ended: bool,
}

impl Limited {
    fn torn(&mut self, error: &io::Error) -> io::Result<usize> {
        self.ended = true;
        let torn = Torn { at: self.taken.get(), why: error.to_string() };
        match &self.tear {
            Some(tear) => {
                *tear.torn.borrow_mut() = Some(torn);
                Ok(0)
            }
            None => Err(io::Error::other(torn)),
        }
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended {
            return Ok(0);
        }
        let read = match self.reader.read(buffer) {
            // An error of the system while reading the file does not show that the contents are
            // damaged.
            Err(error)
                if error.raw_os_error().is_none() && error.kind() != io::ErrorKind::Interrupted =>
            {
                return self.torn(&error);
            }
            read => read?,
        };
        self.given += read as u64;
        if self.given > self.taken.get().saturating_mul(MOST_TIMES).saturating_add(ALLOWANCE) {
            return Err(io::Error::other(Swollen { times: MOST_TIMES }));
        }
        Ok(read)
    }
}

/// A file that is compressed while it is written. The file is complete when this value is dropped;
/// [`Closed`] reports an error if it is not.
pub struct Packed {
    encoder: Option<Encoder>,
    closed: Closed,
}

enum Encoder {
    Gzip(GzEncoder<BufWriter<Arc<File>>>),
    Zstd(zstd::Encoder<'static, BufWriter<Arc<File>>>),
}

/// The outcome of writing a compressed file; `None` while it is open.
#[derive(Clone, Default)]
pub struct Closed(Rc<RefCell<Option<io::Result<()>>>>);

impl Closed {
    /// Returns the outcome, once.
    pub fn outcome(&self) -> io::Result<()> {
        let open = || Err(io::Error::other("a compressed file was not brought to its end"));
        self.0.borrow_mut().take().unwrap_or_else(open)
    }
}

impl Packed {
    /// Creates a writer that compresses to `file`.
    pub fn new(file: Arc<File>, packing: Packing) -> io::Result<(Self, Closed)> {
        let file = BufWriter::with_capacity(64 << 10, file);
        let encoder = match packing {
            // There is no name and no time in the header, so that equal inputs give equal bytes.
            Packing::Gzip => Encoder::Gzip(GzEncoder::new(file, flate2::Compression::default())),
            Packing::Zstd => {
                let mut encoder = zstd::Encoder::new(file, 0)?;
                encoder.include_checksum(true)?;
                Encoder::Zstd(encoder)
            }
        };
        let closed = Closed::default();
        Ok((Self { encoder: Some(encoder), closed: closed.clone() }, closed))
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Some(Encoder::Gzip(encoder)) => encoder.write(bytes),
            Some(Encoder::Zstd(encoder)) => encoder.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Does nothing: a flush in the middle makes the compression worse, and the end writes all
    /// bytes.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        let file = match self.encoder.take() {
            Some(Encoder::Gzip(encoder)) => encoder.finish(),
            Some(Encoder::Zstd(encoder)) => encoder.finish(),
            None => return,
        };
        let outcome = file.and_then(|mut file| file.flush());
        *self.closed.0.borrow_mut() = Some(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::frames::{CHECKSUM, STEP};
    use super::*;
    use std::io::Seek;

    fn packed(text: &[u8], packing: Packing) -> Vec<u8> {
        let mut file = Arc::new(tempfile::tempfile().expect("a file"));
        let (mut writer, closed) = Packed::new(Arc::clone(&file), packing).expect("memory");
        writer.write_all(text).expect("room");
        drop(writer);
        closed.outcome().expect("room");
        file.rewind().expect("a file");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("a file");
        bytes
    }

    fn unpacked(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        Unpacked::new(Box::new(io::Cursor::new(bytes.clone())), None).read_to_end(&mut text)?;
        let mut slow = Unpacked::new(Box::new(io::Cursor::new(bytes)), None);
        let (mut byte, mut bit_by_bit) = ([0], Vec::new());
        while slow.read(&mut byte)? > 0 {
            bit_by_bit.extend(byte);
        }
        assert_eq!(bit_by_bit, text);
        Ok(text)
    }

    #[test]
    fn there_and_back() {
        for text in [&b""[..], b"a", b"abcdefgh\n", &[7; 300_000]] {
            assert_eq!(unpacked(text.to_vec()).expect("text"), text);
            for packing in ALL {
                let bytes = packed(text, packing);
                assert_eq!(Packing::of_start(&bytes), Some(packing));
                assert_eq!(unpacked(bytes.clone()).expect("whole"), text);
                // Files that were put behind each other are one.
                let twice = [bytes.clone(), bytes.clone()].concat();
                assert_eq!(unpacked(twice).expect("whole"), [text, text].concat());
                for cut in 4..bytes.len() {
                    let error = unpacked(bytes[..cut].to_vec()).map_err(|error| error.kind());
                    assert!(error.is_err() || cut < packing.magic().len(), "{packing:?} {cut}");
                }
            }
        }
    }

    #[test]
    fn text_behind_a_compressed_stream_is_read_where_damage_is_no_error() {
        for (packing, tail) in ALL.into_iter().flat_map(|one| [(one, "b"), (one, "bcdefgh\n")]) {
            let stream = packed(b"a\n", packing);
            let bytes = [&stream, tail.as_bytes()].concat();
            let error = unpacked(bytes.clone()).expect_err("no frame");
            assert!(error.to_string().contains("not compressed"), "{error}");
            let (tear, mut text) = (Tear::default(), String::new());
            let packed = Box::new(io::Cursor::new(bytes));
            let read = Unpacked::new(packed, Some(tear.clone())).read_to_string(&mut text);
            assert_eq!(read.expect("text"), 2 + tail.len());
            assert_eq!(text, format!("a\n{tail}"));
            assert_eq!(tear.plain(), Some(stream.len() as u64), "{packing:?}");
            assert_eq!(tear.found(), None);
        }
    }

    #[test]
    fn packed_text_before_a_wrong_checksum_is_complete_in_any_steps() {
        for text in [&b"abcdefgh\n"[..], &[7; 300_000]] {
            let mut bytes = packed(text, Packing::Zstd);
            *bytes.last_mut().expect("a checksum") ^= 1;
            for step in [1, 100, STEP - 1, STEP, 1 << 20] {
                let tear = Tear::default();
                let packed = Box::new(io::Cursor::new(bytes.clone()));
                let (mut reader, mut out) = (Unpacked::new(packed, Some(tear.clone())), Vec::new());
                let mut buffer = vec![0; step];
                while let read @ 1.. = reader.read(&mut buffer).expect("text") {
                    out.extend_from_slice(&buffer[..read]);
                }
                assert_eq!(out, text, "{step}");
                let at = bytes.len() as u64 - CHECKSUM as u64;
                assert_eq!(tear.found().map(|torn| torn.at), Some(at), "{step}");
            }
        }
    }

    #[test]
    fn no_file_grows_without_end() {
        let bomb = packed(&vec![0; 8 << 20], Packing::Zstd);
        let many = io::Cursor::new(bomb.repeat(160));
        let mut reader = Unpacked::new(Box::new(many), None);
        let error = io::copy(&mut reader, &mut io::sink()).expect_err("the limit");
        assert!(error.to_string().contains("the limit"), "{error}");
    }
}
