//! The origin file: an [archive] with the source's parts between a header and a
//! trailer.
//!
//! | member | content |
//! |---|---|
//! | `origin.json` | the [`Header`]: what shaped the reading and the target |
//! | `source/…` | each part as it was read, byte for byte |
//! | `whole.origin` | the origin that a session had beside it before it was trimmed |
//! | `shared/…` | files that the session only refers to, and that are never written back |
//! | `target.json` | the [`Trailer`]: digests of the target as it was written |
//!
//! A file without its last member is torn.

use super::archive::{self, Unreadable};
use super::digest::Digest;
use crate::diagnostic::Code;
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Format, OnError, Opener, Options, Parts, ReadSeek, Sink};
use crate::formats::{Spec, canonical};
use crate::ids::Choice;
use crate::parts::room::{Part, Room};
use crate::parts::watched::Further;
use crate::stage::{Like, Staged};
use crate::yaml::encoding;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, SeekFrom, Write};
use std::rc::Rc;

/// Value of the header's member `copyist`.
const KIND: &str = "origin";
/// The version of the layout.
const VERSION: u64 = 2;
/// Names of the first and the last member.
pub const HEADER: &str = "origin.json";
/// Name of the last member.
pub const TRAILER: &str = "target.json";
/// Name of the member with the origin of a whole session that was trimmed.
pub const CHAIN: &str = "whole.origin";

/// Header of an origin: the settings that shaped the reading of the source, and the target.
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
    /// Format and version of the parts in the archive: those of the source, or of a canonical
    /// stream of it.
    pub read: String,
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
    /// Encoding that the user named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// Treatment of damaged lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<String>,
    /// Folder that the user named for a session that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The present when the target was written, if its writer asks for it: see [`Options::latest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<i64>,
    /// Whether the agents of both files went on with the session by turns: then the target is not
    /// what a writer makes of the source, and its later bytes are what is new in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_turns: bool,
    /// States that the target is the source itself, cut to a smaller size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<Trimmed>,
    /// Name of the source's main file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// Identifier of the session, where its parts contain several sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Names of the parts, the main part's first, and their members.
    pub parts: Vec<(String, String)>,
}

/// Description of a session that was cut to a smaller size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trimmed {
    /// Header of the origin that the whole session had beside it, which is in the archive, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Box<Header>>,
}

impl Header {
    /// Creates the header for a session of `source` that was written as `target`, and that was
    /// read from parts in the format and version `read`.
    pub fn new(source: String, read: String, target: String, place: Like, cx: &Cx<'_>) -> Self {
        let pair = |map: &crate::format::Map| (map.old.clone(), map.new.clone());
        Self {
            copyist: KIND.to_owned(),
            version: VERSION,
            release: env!("CARGO_PKG_VERSION").to_owned(),
            source,
            read,
            target,
            ids: cx.options.ids,
            place,
            map_paths: cx.options.map_paths.iter().map(pair).collect(),
            encoding: cx.options.encoding.map(|encoding| encoding.name().to_owned()),
            on_error: named(cx.options.on_error).map(str::to_owned),
            folder: cx.options.folder.clone(),
            latest: None,
            by_turns: false,
            trimmed: None,
            file_name: None,
            session: None,
            parts: Vec::new(),
        }
    }

    /// Returns options for reading the archived parts as the source was read.
    pub fn reading(&self, options: &Options) -> Options {
        let on_error = self.on_error.as_deref();
        let on_error = [OnError::Skip, OnError::Keep].into_iter().find(|e| named(*e) == on_error);
        Options {
            encoding: self.encoding.as_deref().and_then(encoding::named),
            on_error: on_error.unwrap_or(options.on_error),
            folder: self.folder.clone(),
            ..options.clone()
        }
    }

    /// Returns options for writing the target as it was written.
    pub fn writing(&self, options: &Options) -> Options {
        Options { latest: self.latest, ..options.clone() }
    }

    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        let header: Self = serde_json::from_slice(json).ok()?;
        (header.copyist == KIND && header.version == VERSION).then_some(header)
    }
}

/// Returns the name of a treatment of damage that keeps on reading.
fn named(on_error: OnError) -> Option<&'static str> {
    match on_error {
        OnError::Stop => None,
        OnError::Skip => Some("skip"),
        OnError::Keep => Some("keep"),
    }
}

/// Content of the last member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trailer {
    /// Digest of the archived parts, one behind the other.
    pub source: Digest,
    /// Digests of the target's parts as they were written, unpacked, without the parts that
    /// sessions share.
    pub parts: Vec<Digest>,
    /// Whether the session also has a place in a part that sessions share.
    pub shares: bool,
    /// Files that the session refers to, and their members.
    pub further: Vec<(Further, String)>,
}

/// Returns the size of an origin file in bytes, and goes to its beginning.
///
/// # Errors
/// If the file cannot be read.
pub fn size_of(file: &mut dyn ReadSeek) -> Result<u64> {
    let size = file.seek(SeekFrom::End(0)).and_then(|end| file.rewind().map(|()| end));
    size.cannot("read the origin")
}

/// Returns the digest of the source that an origin file contains, if the file is whole.
pub fn source_of(file: &mut dyn ReadSeek) -> Option<Digest> {
    let length = size_of(file).ok()?;
    let mut trailer = None;
    let read = archive::read(file, (length, 0), &mut |name, from| {
        if name == TRAILER {
            trailer = serde_json::from_slice::<Trailer>(&archive::contents(from)?).ok();
        }
        Ok(())
    });
    read.ok().and(trailer).map(|trailer| trailer.source)
}

/// Origin file that is being read.
pub struct Origin {
    /// Settings that shaped the reading and the target.
    pub header: Header,
    /// Digests of the target.
    pub trailer: Trailer,
    opener: Opener,
    /// Sizes in bytes of the origin and of the file beside it.
    sizes: (u64, u64),
}

/// The source in an origin: its format and version, and its parts.
pub struct Source {
    /// Format of the parts.
    pub format: &'static Format,
    /// Version of the parts.
    pub version: u32,
    /// Parts of the source.
    pub parts: Staged,
}

impl Origin {
    /// Opens an origin file, and unpacks it once to check that it is whole. `size` is the size in
    /// bytes of the file beside it.
    ///
    /// # Errors
    /// If the system refuses to read it; `Err` inside is the reason why it cannot be used.
    pub fn open(opener: Opener, size: u64) -> Result<std::result::Result<Self, Unreadable>> {
        let mut file = opener()?;
        let packed = size_of(&mut *file)?;
        let (mut header, mut trailer, mut members) = (None, None, Vec::new());
        let read = archive::read(file, (packed, size), &mut |name, from| {
            match name {
                HEADER => header = Some(archive::contents(from)?),
                TRAILER => trailer = serde_json::from_slice(&archive::contents(from)?).ok(),
                _ => members.push(name.to_owned()),
            }
            Ok(())
        });
        let Some(json) = header else {
            return Ok(Err(read.err().unwrap_or("it is no origin that this release can read")));
        };
        if let Err(why) = read {
            return Ok(Err(why));
        }
        let Some(header) = Header::parse(&json) else {
            return Ok(Err("it is no origin that this release can read"));
        };
        let Some(trailer) = trailer else { return Ok(Err("its end is missing")) };
        let origin = Self { header, trailer, opener, sizes: (packed, size) };
        let mut named = origin.header.parts.iter().map(|(_, member)| member);
        if !named.all(|member| members.contains(member)) {
            return Ok(Err("a part of the source is missing in it"));
        }
        Ok(Ok(origin))
    }

    /// Unpacks the source into room that `sink` lends.
    ///
    /// # Errors
    /// If the file cannot be read any more, or there is no room; `Err` inside is the reason why
    /// the source cannot be used.
    pub fn source(&self, sink: &mut dyn Sink) -> Result<std::result::Result<Source, Unreadable>> {
        let Ok(spec) = Spec::parse(&self.header.read) else {
            return Ok(Err("its source is of no format of this release"));
        };
        let room = Room::of(sink.spool()?);
        let mut parts = HashMap::<String, Part>::new();
        let mut failed = None;
        let read = archive::read((self.opener)()?, self.sizes, &mut |name, from| {
            if ![HEADER, TRAILER].contains(&name) {
                let mut part = room.part();
                let mut to = io::BufWriter::with_capacity(256 << 10, &mut part);
                let copied = io::copy(from, &mut to).and_then(|_| to.flush());
                drop(to);
                failed = copied.err().or(failed.take());
                parts.insert(name.to_owned(), part);
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(Error::io("cannot unpack the origin", error));
        }
        if let Err(why) = read {
            return Ok(Err(why));
        }
        let own = self.header.parts.iter();
        let own = own.filter_map(|(name, member)| Some((name.clone(), parts.get(member)?.clone())));
        let mut staged = Staged::of(own.collect());
        let further = self.trailer.further.iter();
        for (file, member) in further {
            if let Some(part) = parts.get(member) {
                staged.refer(file.clone(), part.clone());
            }
        }
        staged.name(self.header.file_name.clone(), self.header.session.clone());
        if let Some(chain) = parts.get(CHAIN).filter(|_| self.header.trimmed.is_some()) {
            staged.come_from(chain.clone());
        }
        let (format, version) = (spec.format, spec.version().number);
        Ok(Ok(Source { format, version, parts: staged }))
    }
}

impl Source {
    /// Returns the source as a canonical stream, in room that `sink` lends.
    pub fn stream(&mut self, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<Self> {
        let mut part = Room::of(sink.spool()?).part();
        write_stream(self.format, &mut self.parts, &mut part, cx)?;
        Ok(Self { format: &canonical::FORMAT, version: 1, parts: Staged::one(part) })
    }
}

/// Writes the canonical stream of a session.
pub fn write_stream(
    format: &Format,
    parts: &mut dyn Parts,
    to: &mut dyn Write,
    cx: &Cx<'_>,
) -> Result<()> {
    const PIECE: usize = 128 << 10;
    let failed = |error| Error::io("cannot write a temporary file", error);
    let mut lines = Vec::with_capacity(PIECE);
    for item in format.records(parts, cx)? {
        canonical::line(&item?.value, &mut lines);
        if lines.len() >= PIECE {
            to.write_all(&lines).map_err(failed)?;
            lines.clear();
        }
    }
    to.write_all(&lines).and_then(|()| to.flush()).map_err(failed)
}

/// Copies the origin beside a session to the place of the copied session, if there is one.
pub fn copy(parts: &mut dyn Parts, sink: &mut dyn Sink, main: &str) -> Result<()> {
    let Some(opener) = parts.origin()? else { return Ok(()) };
    let Some(mut to) = sink.origin()? else { return Ok(()) };
    let mut from = opener()?;
    let digest = source_of(&mut *from);
    let copied = from.rewind().and_then(|()| io::copy(&mut from, &mut to)).and_then(|_| to.flush());
    copied.cannot("copy the origin")?;
    drop(to);
    sink.place_origin(main, Rc::new(move |other| digest.is_some() && source_of(other) == digest))
}

/// The error of an origin that is not used.
pub fn rejected(why: &str) -> Error {
    let message = format!("the origin is not used: {why}");
    Error::request(Code::OriginRejected, message)
}
