//! Frame of Zstandard that is being written.

use std::cell::RefCell;
use std::io::{self, Write};
use zstd::bulk::Compressor;
use zstd::stream::write::Encoder;
use zstd::zstd_safe::CParameter;

/// Level of compression: fast, and within a few per cent of the higher levels for this kind of text.
const LEVEL: i32 = 2;

/// Size in bytes up to which contents wait for their end. Most sessions are smaller, and making a
/// stream for each of them takes a third of the time.
const SMALL: usize = 512 << 10;

thread_local! {
    /// Compressor for small contents, which keeps its tables.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Frame that is being written.
pub enum Frame {
    /// Contents that wait, and the place of the frame.
    Waiting(Vec<u8>, Option<Box<dyn Write>>),
    /// Stream.
    Stream(Box<Encoder<'static, Box<dyn Write>>>),
}

impl Frame {
    /// Begins a frame.
    pub fn begin(to: Box<dyn Write>) -> Self {
        Self::Waiting(Vec::new(), Some(to))
    }

    /// Ends the frame.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.finish().and_then(|mut to| to.flush()),
            Self::Waiting(contents, to) => {
                let Some(mut to) = to else { return Ok(()) };
                to.write_all(&compressed(&contents)?)?;
                to.flush()
            }
        }
    }
}

impl Write for Frame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Self::Waiting(contents, to) = self {
            if contents.len() + bytes.len() <= SMALL {
                contents.extend_from_slice(bytes);
                return Ok(bytes.len());
            }
            let to = to.take().ok_or(io::ErrorKind::BrokenPipe)?;
            let mut stream = Encoder::new(to, LEVEL)?;
            stream.include_checksum(true)?;
            stream.write_all(contents)?;
            *self = Self::Stream(Box::new(stream));
        }
        match self {
            Self::Stream(stream) => stream.write(bytes),
            Self::Waiting(..) => Ok(0),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stream(stream) => stream.flush(),
            Self::Waiting(..) => Ok(()),
        }
    }
}

/// Returns the frame of small contents.
fn compressed(contents: &[u8]) -> io::Result<Vec<u8>> {
    COMPRESSOR.with(|kept| {
        let mut kept = kept.borrow_mut();
        let compressor = match kept.as_mut() {
            Some(compressor) => compressor,
            None => {
                let mut new = Compressor::new(LEVEL)?;
                new.set_parameter(CParameter::ChecksumFlag(true))?;
                kept.insert(new)
            }
        };
        compressor.compress(contents)
    })
}
