//! Reading of compressed streams, which consist of frames.

use super::{Packing, Tear};
use flate2::bufread::GzDecoder;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Reader of the frames of a compressed stream, one behind the other.
pub(super) struct Frames {
    packing: Packing,
    frame: Frame,
    tear: Option<Tear>,
}

/// Piece of a stream that is read now.
enum Frame {
    Between(Taken<Box<dyn Read>>),
    Gzip(Box<GzDecoder<Taken<Box<dyn Read>>>>),
    Zstd(zstd::Decoder<'static, Taken<Box<dyn Read>>>),
    /// Text that is not compressed.
    Plain(Taken<Box<dyn Read>>),
    Ended,
}

impl Frames {
    /// Creates a reader that counts in `taken` the bytes that it takes from the stream.
    pub fn new(
        packing: Packing,
        stream: Box<dyn Read>,
        taken: Rc<Cell<u64>>,
        tear: Option<Tear>,
    ) -> Self {
        Self { packing, frame: Frame::Between(Taken::new(stream, taken)), tear }
    }

    /// Begins what follows the last frame; false at the end of the stream.
    fn begin(&mut self) -> io::Result<bool> {
        let mut rest = match std::mem::replace(&mut self.frame, Frame::Ended) {
            Frame::Between(rest) | Frame::Plain(rest) => rest,
            Frame::Gzip(decoder) => decoder.into_inner(),
            Frame::Zstd(decoder) => decoder.finish(),
            Frame::Ended => return Ok(false),
        };
        let start = rest.peek()?;
        if start.is_empty() {
            return Ok(false);
        }
        self.frame = match (Packing::of_start(start), &self.tear) {
            (Some(Packing::Gzip), _) if self.packing == Packing::Gzip => {
                Frame::Gzip(Box::new(GzDecoder::new(rest)))
            }
            (Some(Packing::Zstd), _) if self.packing == Packing::Zstd => {
                Frame::Zstd(zstd::Decoder::with_buffer(rest)?.single_frame())
            }
            (_, Some(tear)) => {
                tear.plain.set(Some(rest.bytes.get()));
                Frame::Plain(rest)
            }
            (_, None) => {
                let why = "bytes that are not compressed follow";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        };
        Ok(true)
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.frame {
                Frame::Between(_) => 0,
                Frame::Gzip(decoder) => decoder.read(buffer)?,
                Frame::Zstd(decoder) => decoder.read(buffer)?,
                Frame::Plain(rest) => return rest.read(buffer),
                Frame::Ended => return Ok(0),
            };
            if read > 0 || buffer.is_empty() || !self.begin()? {
                return Ok(read);
            }
        }
    }
}

/// Number of bytes that are read and unpacked at a time.
pub(super) const STEP: usize = 64 << 10;

/// Number of bytes at the end of a file that may be a checksum.
pub(super) const CHECKSUM: usize = 4;

/// Reader that counts the bytes taken from it, and returns the last bytes separately. A decoder
/// that finds a wrong checksum in them discards everything that it unpacks in the same call.
struct Taken<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Taken<R> {
    fn new(reader: R, bytes: Rc<Cell<u64>>) -> Self {
        Self { reader, buffer: vec![0; STEP], start: 0, end: 0, ended: false, bytes }
    }

    /// Returns the next bytes without taking them: as many as show a compression, or all.
    fn peek(&mut self) -> io::Result<&[u8]> {
        self.fill_buf()?;
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }
}

impl<R: Read> BufRead for Taken<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while !self.ended && self.end - self.start <= CHECKSUM {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let read = self.reader.read(self.buffer.get_mut(self.end..).unwrap_or_default())?;
            self.end += read;
            self.ended = read == 0;
        }
        let pending = self.end - self.start;
        let given = if pending > CHECKSUM { pending - CHECKSUM } else { pending };
        Ok(self.buffer.get(self.start..self.start + given).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.bytes.set(self.bytes.get() + amount as u64);
        self.start += amount;
    }
}

impl<R: Read> Read for Taken<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// Reader that unpacks in steps of a fixed size. The bytes that a decoder returns before an error
/// depend on how many are requested at a time, and a file that is read twice must give the same
/// bytes.
pub(super) struct Steady<R> {
    reader: R,
    piece: Vec<u8>,
    at: usize,
}

impl<R: Read> Steady<R> {
    /// Creates a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, piece: Vec::new(), at: 0 }
    }
}

impl<R: Read> Read for Steady<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            let mut piece = std::mem::take(&mut self.piece);
            self.at = 0;
            piece.resize(STEP, 0);
            let read = self.reader.read(&mut piece)?;
            piece.truncate(read);
            self.piece = piece;
        }
        let read = self.piece.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += read;
        Ok(read)
    }
}
