//! Conversion from and to encodings other than UTF-8.
//!
//! Programs that open files without naming an encoding write the one that the system prefers: on
//! Windows GBK or cp1252, and editors there add UTF-16 with a byte order mark. A [`Decoder`]
//! converts all of them to UTF-8 as it reads and reports the encoding that it found; [`encode`]
//! makes the same bytes again.
//!
//! Without a mark, and unless the caller names the encoding, text that is UTF-8 is UTF-8. The
//! decision is made at the first byte beyond ASCII, by the 64 KiB from there on: texts of that
//! length in other encodings are never UTF-8 by chance, and short ones hardly ever.

use encoding_rs::{DecoderResult, EncoderResult, GBK, WINDOWS_1252};
pub use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;
use std::io::{self, ErrorKind, Read, Write};

/// Number of bytes by which the encoding is determined.
const SAMPLE: usize = 64 << 10;

/// Names that Windows and Python have for encodings beyond those of the
/// [Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels).
const CODE_PAGES: &[(&str, &str)] =
    &[("cp932", "shift_jis"), ("cp936", "gbk"), ("cp949", "euc-kr"), ("cp950", "big5")];

/// Returns the encoding of a name, in any case: `utf-16le`, `gbk`, `cp1252` …
pub fn named(name: &str) -> Option<&'static Encoding> {
    let page = CODE_PAGES.iter().find(|(page, _)| name.eq_ignore_ascii_case(page));
    let label = page.map_or(name, |(_, label)| label);
    Encoding::for_label_no_replacement(label.as_bytes())
}

/// Returns the beginning of a file as text, for detection; bytes that are not text become U+FFFD.
/// Only an encoding that is `named` or marked is decoded; other encodings contain ASCII as it is.
pub fn head<'a>(bytes: &'a [u8], named: Option<&'static Encoding>) -> Cow<'a, str> {
    let found = Found::declared(bytes, named);
    found.encoding.decode_with_bom_removal(bytes).0
}

/// Encoding of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The encoding.
    pub encoding: &'static Encoding,
    /// Whether the input begins with a byte order mark.
    pub mark: bool,
    /// Certainty of the encoding, in percent, where it is a guess.
    pub confidence: Option<u8>,
}

impl Found {
    fn sure(encoding: &'static Encoding) -> Self {
        Self { encoding, mark: false, confidence: None }
    }

    /// Returns the encoding that the caller `named`, or else the one of a byte order mark; UTF-8
    /// where there is neither. A mark of another encoding than the named one is text.
    pub fn declared(bytes: &[u8], named: Option<&'static Encoding>) -> Self {
        let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
        let marked = marked.filter(|marked| named.is_none_or(|named| named == *marked));
        let encoding = marked.or(named).unwrap_or(UTF_8);
        Self { mark: marked.is_some(), ..Self::sure(encoding) }
    }

    /// Whether the encoding is UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.encoding == UTF_8
    }
}

/// Reads any encoding as UTF-8, without the byte order mark.
///
/// Bytes that are not valid in the encoding are an error of kind `InvalidData`; in UTF-8 they pass,
/// because the code that reads on can name their place.
///
/// ```
/// use copyist::yaml::encoding::Decoder;
/// use std::io::Read;
/// let mut decoder = Decoder::new(&b"name: caf\xe9\r\n"[..], None);
/// let mut text = String::new();
/// decoder.read_to_string(&mut text)?;
/// assert_eq!(text, "name: café\r\n");
/// assert_eq!(decoder.found().encoding.name(), "windows-1252");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder<R> {
    reader: R,
    state: State,
    found: Found,
    /// Bytes that are not decoded yet.
    raw: Vec<u8>,
    /// Text that is not given out yet, from `at` on.
    text: Vec<u8>,
    at: usize,
}

enum State {
    /// Nothing was read; the caller may have named the encoding.
    Fresh(Option<&'static Encoding>),
    /// All was ASCII so far.
    Ascii,
    Utf8,
    Other(encoding_rs::Decoder),
    /// The input is at its end, by a fault if there is a message.
    Ended(Option<String>),
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fresh(_) => "Fresh",
            Self::Ascii => "Ascii",
            Self::Utf8 => "Utf8",
            Self::Other(_) => "Other",
            Self::Ended(_) => "Ended",
        })
    }
}

impl<R: Read> Decoder<R> {
    /// Reads from `reader`, which is in the encoding `named` if there is one. A byte order mark of
    /// another encoding is then text.
    pub fn new(reader: R, named: Option<&'static Encoding>) -> Self {
        Self {
            reader,
            state: State::Fresh(named),
            found: Found::sure(UTF_8),
            raw: Vec::new(),
            text: Vec::new(),
            at: 0,
        }
    }

    /// Returns the encoding found so far; it is final once a character beyond ASCII or the end was
    /// read.
    pub fn found(&self) -> Found {
        self.found
    }

    /// Fills the sample; returns whether the input ended.
    fn fill(&mut self) -> io::Result<bool> {
        let held = self.raw.len();
        let missing = SAMPLE.saturating_sub(held) as u64;
        self.reader.by_ref().take(missing).read_to_end(&mut self.raw)?;
        Ok(self.raw.len() < SAMPLE)
    }

    /// Reads the beginning: applies a mark, and the encoding that the caller named.
    fn start(&mut self, named: Option<&'static Encoding>) -> io::Result<()> {
        self.fill()?;
        self.found = Found::declared(&self.raw, named);
        if let Some((_, length)) = Encoding::for_bom(&self.raw).filter(|_| self.found.mark) {
            self.raw.drain(..length);
        }
        let known = named.is_some() || self.found.mark;
        self.state = if known { State::of(self.found.encoding) } else { State::Ascii };
        Ok(())
    }

    /// Returns ASCII, and decides at the first byte beyond it.
    fn ascii(&mut self) -> io::Result<()> {
        let last = self.fill()?;
        match self.raw.iter().position(|b| !b.is_ascii()) {
            None => {
                std::mem::swap(&mut self.text, &mut self.raw);
                if last {
                    self.state = State::Ended(None);
                }
            }
            Some(0) => {
                self.found = look(&self.raw);
                self.state = State::of(self.found.encoding);
            }
            Some(at) => {
                let rest = self.raw.split_off(at);
                self.text = std::mem::replace(&mut self.raw, rest);
            }
        }
        Ok(())
    }

    /// Decodes the next piece.
    fn other(&mut self, mut decoder: encoding_rs::Decoder) -> io::Result<State> {
        let last = self.fill()?;
        let room = decoder.max_utf8_buffer_length_without_replacement(self.raw.len());
        let mut text = String::with_capacity(room.unwrap_or(4 * self.raw.len()));
        let (result, _) = decoder.decode_to_string_without_replacement(&self.raw, &mut text, last);
        self.raw.clear();
        self.text = text.into_bytes();
        Ok(match result {
            DecoderResult::Malformed(..) => {
                let name = decoder.encoding().name();
                State::Ended(Some(format!("bytes that are not {name}")))
            }
            _ if last => State::Ended(None),
            _ => State::Other(decoder),
        })
    }
}

impl State {
    fn of(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 {
            Self::Utf8
        } else {
            Self::Other(encoding.new_decoder_without_bom_handling())
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut waiting = self.text.get(self.at..).unwrap_or_default();
            if !waiting.is_empty() {
                let n = waiting.read(into)?;
                self.at += n;
                return Ok(n);
            }
            self.text.clear();
            self.at = 0;
            match std::mem::replace(&mut self.state, State::Ended(None)) {
                State::Fresh(named) => self.start(named)?,
                State::Ascii => {
                    self.state = State::Ascii;
                    self.ascii()?;
                }
                State::Utf8 => {
                    self.state = State::Utf8;
                    if self.raw.is_empty() {
                        return self.reader.read(into);
                    }
                    std::mem::swap(&mut self.text, &mut self.raw);
                }
                State::Other(decoder) => self.state = self.other(decoder)?,
                State::Ended(None) => return Ok(0),
                State::Ended(Some(message)) => {
                    return Err(io::Error::new(ErrorKind::InvalidData, message));
                }
            }
        }
    }
}

/// Determines the encoding of a sample that begins beyond ASCII. A sample that ends in the middle
/// of a character is UTF-8 that continues, or that was cut: other files end with a line.
fn look(sample: &[u8]) -> Found {
    match simdutf8::compat::from_utf8(sample) {
        Ok(_) => Found::sure(UTF_8),
        Err(fault) if fault.error_len().is_none() => Found::sure(UTF_8),
        Err(_) if is_damaged_utf8(sample) => Found::sure(UTF_8),
        Err(_) => guess(sample),
    }
}

/// Whether a sample is UTF-8 with faults. Text in another encoding has more faults than characters
/// that look like UTF-8 by chance: one in five looks like a character of two bytes, and almost none
/// like a longer one.
fn is_damaged_utf8(sample: &[u8]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for chunk in sample.utf8_chunks() {
        good += chunk.valid().chars().map(|c| c.len_utf8() - 1).sum::<usize>();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > 3 * bad
}

/// Guesses between GBK and cp1252.
///
/// In cp1252 a byte beyond ASCII is a letter with an accent, mostly between two ASCII letters. In
/// GBK such bytes come in pairs, nearly all of them in the rows that hold punctuation, kana and
/// the 3,755 common characters (rows 1 to 5 and 16 to 55 of GB 2312).
fn guess(sample: &[u8]) -> Found {
    let (mut pairs, mut common, mut odd) = (0usize, 0usize, 0usize);
    let mut rest = sample;
    loop {
        rest = match rest {
            [0xa1..=0xa5 | 0xb0..=0xd7, 0xa1..=0xfe, after @ ..] => {
                common += 1;
                pairs += 1;
                after
            }
            [0x81..=0xfe, 0x40..=0x7e | 0x80..=0xfe, after @ ..] => {
                pairs += 1;
                after
            }
            [0x80..=0xff, after @ ..] => {
                odd += usize::from(!after.is_empty());
                after
            }
            [_, after @ ..] => after,
            [] => break,
        };
    }
    let share = (100 * common / (pairs + odd).max(1)).min(99) as u8;
    let (encoding, confidence) =
        if share >= 50 { (GBK, share) } else { (WINDOWS_1252, 99 - share) };
    Found { encoding, mark: false, confidence: Some(confidence) }
}

/// Appends text in an encoding, without a byte order mark.
///
/// ```
/// use copyist::yaml::encoding::{Encoding, encode};
/// let gbk = Encoding::for_label(b"gbk").unwrap();
/// let mut out = Vec::new();
/// assert_eq!(encode("中", gbk, &mut out), Ok(()));
/// assert_eq!(out, [0xd6, 0xd0]);
/// assert_eq!(encode("é 😀", Encoding::for_label(b"cp1252").unwrap(), &mut out), Err('😀'));
/// ```
///
/// # Errors
/// The first character that the encoding lacks; what comes before it is written.
pub fn encode(text: &str, encoding: &'static Encoding, out: &mut Vec<u8>) -> Result<(), char> {
    if encoding == UTF_8 {
        out.extend_from_slice(text.as_bytes());
    } else if encoding == UTF_16LE {
        out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    } else if encoding == UTF_16BE {
        out.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
    } else {
        let mut encoder = encoding.new_encoder();
        let mut rest = text;
        loop {
            out.reserve(rest.len() + 16);
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(rest, out, true);
            rest = rest.get(read..).unwrap_or_default();
            match result {
                EncoderResult::InputEmpty => break,
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(c) => return Err(c),
            }
        }
    }
    Ok(())
}

/// Takes UTF-8 and passes it on in another encoding.
///
/// A character that the encoding lacks is an error of kind `InvalidData`.
#[derive(Debug)]
pub struct Encoder<W> {
    to: W,
    encoding: &'static Encoding,
    /// The beginning of a character that continues in the next text.
    cut: Vec<u8>,
}

impl<W: Write> Encoder<W> {
    /// Writes to `to` in this encoding.
    pub fn new(to: W, encoding: &'static Encoding) -> Self {
        Self { to, encoding, cut: Vec::new() }
    }

    /// Sets the encoding of all further text.
    pub fn set_encoding(&mut self, encoding: &'static Encoding) {
        self.encoding = encoding;
    }

    fn encode(&mut self, bytes: &[u8]) -> io::Result<()> {
        let invalid = |message| io::Error::new(ErrorKind::InvalidData, message);
        self.cut.extend_from_slice(bytes);
        let length = match simdutf8::compat::from_utf8(&self.cut) {
            Ok(text) => text.len(),
            Err(fault) if fault.error_len().is_none() => fault.valid_up_to(),
            Err(_) => return Err(invalid("bytes that are not UTF-8 have no encoding".to_owned())),
        };
        let rest = self.cut.split_off(length);
        let text = String::from_utf8(std::mem::replace(&mut self.cut, rest)).unwrap_or_default();
        let mut out = Vec::with_capacity(2 * text.len());
        encode(&text, self.encoding, &mut out).map_err(|c| {
            let name = self.encoding.name();
            invalid(format!("the character U+{:04X} is not in {name}", u32::from(c)))
        })?;
        self.to.write_all(&out)
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.encoding == UTF_8 {
            return self.to.write(bytes);
        }
        self.encode(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
