//! The origin file: one line of JSON, the source's canonical stream in a Zstandard frame, and a
//! skippable frame with the length and the hash of everything.
//!
//! `tail -n +2 NAME.origin | zstd -d` prints the stream. A file without its last frame is torn, for
//! that frame is written last.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Opener, Parts, ReadSeek, Sink};
use crate::ids::Choice;
use crate::stage::Like;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::rc::Rc;
use zstd::stream::{read::Decoder, write::Encoder};

/// Value of the header's member `copyist`.
const KIND: &str = "origin";
/// The version of the layout.
const VERSION: u64 = 1;
/// Fast, and within a few per cent of the higher levels for this kind of text.
const LEVEL: i32 = 2;
/// The largest window that is unpacked: 8 MiB.
const WINDOW_LOG: u32 = 23;
/// How a skippable frame begins.
const SKIPPABLE: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
/// Maximum length of the header line and of the last frame.
const LONGEST: u64 = 64 << 20;
/// Maximum size of the unpacked stream: this many times the sizes of the packed bytes and of the
/// file together, plus this many bytes.
const EXPANSION: (u64, u64) = (200, 1 << 30);

/// Header of an origin: the settings that shaped the target beside the stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Kind of the file, `origin`.
    copyist: String,
    /// The version of the layout.
    version: u64,
    /// Release of copyist that wrote the origin.
    release: String,
    /// Format and version of the source.
    pub source: String,
    /// Format and version of the target.
    pub target: String,
    /// How new identifiers were chosen.
    pub ids: Choice,
    /// Properties of the output's place.
    #[serde(flatten)]
    pub place: Like,
    /// Paths that moved since, old and new, in the order in which they moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub map_paths: Vec<(String, String)>,
}

/// The length and the hash of some bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// Length in bytes.
    pub length: u64,
    /// BLAKE3, in hexadecimal digits.
    pub blake3: String,
}

/// Content of the last frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trailer {
    /// Digest of the stream.
    pub stream: Digest,
    /// Digests of the target's parts as they were written, unpacked, without the parts that
    /// sessions share.
    pub parts: Vec<Digest>,
    /// Whether the session also has a place in a part that sessions share.
    pub shares: bool,
}

/// Accumulator for the digest of bytes.
#[derive(Default)]
pub struct Measure {
    hasher: blake3::Hasher,
    length: u64,
}

impl Measure {
    /// Adds more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// The digest of all bytes so far.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest { length: self.length, blake3: self.hasher.finalize().to_hex().to_string() }
    }
}

/// Computes the digest of all bytes of a reader.
///
/// # Errors
/// If it cannot be read.
pub fn digest_of(mut from: impl Read) -> Result<Digest> {
    let mut measure = Measure::default();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = from.read(&mut buffer).map_err(|error| Error::io("cannot read", error))?;
        if read == 0 {
            return Ok(measure.digest());
        }
        measure.update(buffer.get(..read).unwrap_or_default());
    }
}

/// Origin file that is being written.
pub struct Writing {
    frame: Encoder<'static, Box<dyn Write>>,
    stream: Measure,
}

fn cannot_write(error: io::Error) -> Error {
    Error::io("cannot write the origin", error)
}

impl Writing {
    /// Writes the header, and begins the frame.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(mut to: Box<dyn Write>, header: &Header) -> Result<Self> {
        let mut line = header.line();
        line.push(b'\n');
        to.write_all(&line).map_err(cannot_write)?;
        let mut frame = Encoder::new(to, LEVEL).map_err(cannot_write)?;
        frame.include_checksum(true).map_err(cannot_write)?;
        Ok(Self { frame, stream: Measure::default() })
    }

    /// Appends lines of the stream.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn lines(&mut self, lines: &[u8]) -> Result<()> {
        self.stream.update(lines);
        self.frame.write_all(lines).map_err(cannot_write)
    }

    /// Ends the file, and returns the digest of the stream.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self, parts: Vec<Digest>, shares: bool) -> Result<Digest> {
        let trailer = Trailer { stream: self.stream.digest(), parts, shares };
        let mut to = self.frame.finish().map_err(cannot_write)?;
        to.write_all(&trailer.frame()).and_then(|()| to.flush()).map_err(cannot_write)?;
        Ok(trailer.stream)
    }
}

impl Header {
    /// Creates the header for a session of `source` that was written as `target`.
    #[must_use]
    pub fn new(source: String, target: String, ids: Choice, place: Like) -> Self {
        let release = env!("CARGO_PKG_VERSION").to_owned();
        let map_paths = Vec::new();
        Self {
            copyist: KIND.to_owned(),
            version: VERSION,
            release,
            source,
            target,
            ids,
            place,
            map_paths,
        }
    }

    fn line(&self) -> Vec<u8> {
        // Texts and numbers always have a spelling.
        serde_json::to_vec(self).unwrap_or_default()
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let header: Self = serde_json::from_slice(line).ok()?;
        (header.copyist == KIND && header.version == VERSION).then_some(header)
    }
}

impl Trailer {
    /// Spells the trailer as a skippable frame: magic number, length, and JSON with that length
    /// once more behind it, so that the frame can be found from the file's end.
    fn frame(&self) -> Vec<u8> {
        let out = serde_json::to_vec(self).unwrap_or_default();
        let length = (out.len() as u32 + 4).to_le_bytes();
        [SKIPPABLE.as_slice(), &length, &out, &length].concat()
    }

    /// Reads the last frame of a file, and where it begins.
    fn read(from: &mut dyn ReadSeek) -> io::Result<Option<(Self, u64)>> {
        let end = from.seek(SeekFrom::End(0))?;
        let mut word = [0; 4];
        if end < 12 {
            return Ok(None);
        }
        from.seek(SeekFrom::Start(end - 4))?;
        from.read_exact(&mut word)?;
        let length = u64::from(u32::from_le_bytes(word));
        let Some(start) = end.checked_sub(length + 8).filter(|_| (4..LONGEST).contains(&length))
        else {
            return Ok(None);
        };
        from.seek(SeekFrom::Start(start))?;
        let mut frame = vec![0; length as usize + 8];
        from.read_exact(&mut frame)?;
        let whole = frame.starts_with(&[SKIPPABLE, word].concat());
        let json = frame.get(8..frame.len() - 4).filter(|_| whole);
        let trailer = json.and_then(|json| serde_json::from_slice(json).ok());
        Ok(trailer.map(|trailer| (trailer, start)))
    }
}

/// The digest of the stream that an origin file holds, if the file is whole.
#[must_use]
pub fn stream_of(mut file: &mut dyn ReadSeek) -> Option<Digest> {
    let file: &mut dyn ReadSeek = &mut file;
    Trailer::read(file).ok().flatten().map(|(trailer, _)| trailer.stream)
}

/// Origin file that is being read: the stream is its only part.
pub struct Origin {
    /// Settings that shaped the target.
    pub header: Header,
    /// Lengths and hashes.
    pub trailer: Trailer,
    opener: Opener,
    /// Beginning and end of the frame in the file.
    frame: (u64, u64),
}

/// Reason why an origin cannot be used.
pub type Unreadable = &'static str;

impl Origin {
    /// Opens an origin file, and unpacks it once to check that it is whole. `size` is the size in
    /// bytes of the file beside it.
    ///
    /// # Errors
    /// If the system refuses to read it; `Err` inside is the reason why it cannot be used.
    pub fn open(opener: Opener, size: u64) -> Result<std::result::Result<Self, Unreadable>> {
        let failed = |error| Error::io("cannot read the origin", error);
        let mut file = opener()?;
        let Some((trailer, end)) = Trailer::read(&mut *file).map_err(failed)? else {
            return Ok(Err("it is torn: its end is missing or damaged"));
        };
        file.rewind().map_err(failed)?;
        let mut line = Vec::new();
        let mut reader = BufReader::new(file).take(LONGEST);
        reader.read_until(b'\n', &mut line).map_err(failed)?;
        let Some(header) = Header::parse(line.trim_ascii_end()) else {
            return Ok(Err("its first line is not one of an origin that this release can read"));
        };
        let (times, more) = EXPANSION;
        let most = end.saturating_add(size).saturating_mul(times).saturating_add(more);
        if trailer.stream.length > most {
            return Ok(Err("its stream would be larger than an origin of this size can contain"));
        }
        let origin = Self { header, trailer, opener, frame: (line.len() as u64, end) };
        let whole = match origin.stream() {
            Ok(stream) => digest_of(stream).is_ok_and(|digest| digest == origin.trailer.stream),
            Err(_) => false,
        };
        Ok(if whole { Ok(origin) } else { Err("it is damaged: its stream does not have its hash") })
    }

    /// Unpacks the stream.
    ///
    /// # Errors
    /// If the file cannot be read any more.
    pub fn stream(&self) -> Result<Box<dyn Read>> {
        let failed = |error| Error::io("cannot read the origin", error);
        let mut file = (self.opener)()?;
        let (start, end) = self.frame;
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let packed = BufReader::with_capacity(128 << 10, file.take(end.saturating_sub(start)));
        let mut decoder = Decoder::with_buffer(packed).map_err(failed)?.single_frame();
        decoder.window_log_max(WINDOW_LOG).map_err(failed)?;
        Ok(Box::new(decoder.take(self.trailer.stream.length)))
    }
}

impl Parts for Origin {
    fn names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn open(&mut self, _: &str) -> Result<Box<dyn Read>> {
        self.stream().map(|stream| Box::new(BufReader::with_capacity(128 << 10, stream)) as _)
    }

    fn keep(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Copies the origin beside a session to the place of the copied session, if there is one.
///
/// # Errors
/// If it cannot be read or written.
pub fn copy(parts: &mut dyn Parts, sink: &mut dyn Sink, main: &str) -> Result<()> {
    let Some(opener) = parts.origin()? else { return Ok(()) };
    let Some(mut to) = sink.origin()? else { return Ok(()) };
    let mut from = opener()?;
    let digest = stream_of(&mut *from);
    let copied = from.rewind().and_then(|()| io::copy(&mut from, &mut to)).and_then(|_| to.flush());
    copied.map_err(|error| Error::io("cannot copy the origin", error))?;
    drop(to);
    sink.place_origin(main, Rc::new(move |other| digest.is_some() && stream_of(other) == digest))
}

/// The error of an origin that is not used.
#[must_use]
pub fn rejected(why: &str) -> Error {
    let message = format!("the origin is not used: {why}");
    Error::request(Code::OriginRejected, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an origin file with this stream.
    fn file(stream: &str) -> Vec<u8> {
        let spool = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        struct Shared(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);
        impl Write for Shared {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.borrow_mut().write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let stem = Some("a \"b\"".to_owned());
        let stem = Like { stem, takes_parts: true, is_native: false };
        let header = Header::new("pi@3".into(), "codelia@1".into(), Choice::Random(7), stem);
        let mut writing = Writing::new(Box::new(Shared(spool.clone())), &header).expect("memory");
        writing.lines(stream.as_bytes()).expect("memory");
        writing.finish(vec![Measure::default().digest()], false).expect("memory");
        spool.take()
    }

    fn open(bytes: &[u8]) -> std::result::Result<Origin, Unreadable> {
        let bytes = bytes.to_vec();
        let opener: Opener = Rc::new(move || Ok(Box::new(io::Cursor::new(bytes.clone()))));
        Origin::open(opener, 0).expect("memory")
    }

    fn text_of(origin: &Origin) -> String {
        let mut text = String::new();
        origin.stream().map(|mut s| s.read_to_string(&mut text)).expect("text").ok();
        text
    }

    #[test]
    fn an_origin_gives_its_stream_and_header_back() {
        let stream = "{\"kind\":\"session\"}\n".repeat(1000);
        let origin = open(&file(&stream)).expect("a whole file");
        assert_eq!(text_of(&origin), stream);
        assert_eq!(origin.header.ids, Choice::Random(7));
        assert_eq!(origin.header.place.stem.as_deref(), Some("a \"b\""));
        assert_eq!(origin.trailer.parts.len(), 1);
    }

    /// Damaged hashes of parts make the file look edited, which is compared record by record.
    #[test]
    fn a_cut_or_damaged_origin_is_refused_or_gives_the_same() {
        let stream = "{\"kind\":\"session\"}\n".repeat(50);
        let whole = file(&stream);
        for cut in 0..whole.len() {
            assert!(open(&whole[..cut]).is_err(), "cut at {cut}");
        }
        let line = whole.iter().position(|b| *b == b'\n').expect("a line");
        for at in line + 1..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            let Ok(origin) = open(&damaged) else { continue };
            assert_eq!(text_of(&origin), stream, "damaged at {at}");
        }
    }
}
