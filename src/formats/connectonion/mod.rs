//! ConnectOnion's session files.
//!
//! Three generations of YAML. Which members become what is said where they are read: messages in
//! `message.rs`, turns and the top of a file in `file/`, the header of a run in `run/`.

mod chain;
mod context;
mod file;
mod message;
mod run;

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{
    Confidence, Cx, Format, Head, Parts, Piece, Reader, Sink, Sniffed, Version, Writer, skip_to,
};
use crate::json::Json;
use crate::record::{Field, Kind, Node};
use crate::yaml::encoding::{self, Encoding, Found};
use std::io::{self, Read};

const NAME: &str = "connectonion";
/// The version whose files are runs.
const RUN: u32 = 3;

/// How far aliases may expand, in bytes. PyYAML writes one where an agent holds the same object
/// twice, which is seldom and small.
const EXPANSION: u64 = 8 << 20;

/// The row of the table.
pub static FORMAT: Format = Format {
    name: NAME,
    aliases: &["co"],
    summary: "session files of ConnectOnion (YAML)",
    source: "connectonion, its repository from 5691bd58 on, releases 0.5.0 to 1.9.2",
    versions: &[
        Version {
            number: 1,
            summary: "one file a process, each turn with all messages so far (before 0.5.0)",
            schema: include_str!("../../../schemas/connectonion/v1.schema.json"),
            tree: false,
            kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Notice, Kind::Opaque],
        },
        Version {
            number: 2,
            summary: "one file an agent, turns first (0.5.0 to 0.6.0)",
            schema: include_str!("../../../schemas/connectonion/v2.schema.json"),
            tree: false,
            kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Notice, Kind::Opaque],
        },
        Version {
            number: 3,
            summary: "run files, a conversation each (from 0.6.1)",
            schema: include_str!("../../../schemas/connectonion/v3.schema.json"),
            tree: false,
            kinds: &[Kind::Session, Kind::Message, Kind::Opaque],
        },
    ],
    usual: None,
    extensions: &[".yaml", ".yml"],
    beside: &[],
    member: None,
    stem: str::to_owned,
    sniff,
    read,
    // Identifiers of messages follow from all messages before.
    resume: |parts, from, cx| Ok(skip_to(read(parts, cx)?, from)),
    write,
    plane: None,
    pieces: Some(pieces),
    // A run file has no place for the turns, so nothing is migrated without being asked to.
    steps: &[],
    context: Some(context::open),
    repair: None,
};

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    version(&head.text(), head.whole)
}

/// The version of a file that begins so.
fn version(head: &str, whole: bool) -> Option<Sniffed> {
    let (confidence, version) = match file::version(head) {
        _ if run::is_run(head, whole) => (Confidence::Certain, RUN),
        Some(version) => (Confidence::Certain, version),
        None if run::is_edited(head) => (Confidence::Strong, RUN),
        None => return None,
    };
    Some(Sniffed { confidence, version })
}

/// The name of the agent: that of a session from elsewhere, which has no agent's.
fn agent(session: &Node) -> Json {
    let name = session.json(Field::Agent).or(session.json(Field::Name)).cloned();
    name.unwrap_or(Json::constant("\"session\""))
}

/// The version of the main part and what it is encoded in, by its beginning.
fn beginning(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<(u32, Found)> {
    parts.keep()?;
    let mut bytes = Vec::new();
    let read = parts.main()?.take(Head::SIZE as u64).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", error))?;
    let text = encoding::head(&bytes, cx.options.encoding);
    let version = version(&text, bytes.len() < Head::SIZE).map(|found| found.version);
    let encoding = Found::declared(&bytes, cx.options.encoding);
    Ok((version.unwrap_or(file::KEYED.version), encoding))
}

/// What the top of a file is made of.
fn shape(version: u32) -> &'static file::Shape {
    if version == file::DATED.version { &file::DATED } else { &file::KEYED }
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    match beginning(parts, cx)? {
        (RUN, encoding) => run::open(parts, encoding, cx),
        (version, _) => file::open(parts, shape(version), cx),
    }
}

fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    match beginning(parts, cx)? {
        (RUN, encoding) => run::pieces(parts, encoding, cx, show),
        (version, _) => file::pieces(parts, shape(version), cx, show),
    }
}

/// The encoding that a session of this format came in, for a writer of the same.
fn encoding_of(file: &Node) -> Result<&'static Encoding> {
    let Some(name) = file.text(Field::Encoding) else { return Ok(encoding::UTF_8) };
    encoding::named(&name).ok_or_else(|| {
        let message = format!("no encoding has the name `{name}` of `session.file.encoding`");
        Error::request(Code::BadRecord, message)
    })
}

/// The error of an output that takes text in some encoding.
fn cannot_write(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::request(Code::NotInEncoding, error.to_string()),
        _ => Error::io("cannot write", error),
    }
}

fn write<'a>(
    sink: &'a mut dyn Sink,
    version: &'static Version,
    cx: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    match version.number {
        RUN => run::open_writer(sink, version, cx),
        number if number == file::DATED.version => file::open_dated_writer(sink, version, cx),
        _ => file::open_writer(sink, version, cx),
    }
}
