//! ConnectOnion's session files.
//!
//! Three generations of YAML. Which members become what is said where they are read: messages in
//! `message.rs`, turns and the top of a file in `file/`, the header of a run in `run/`.

mod chain;
mod context;
mod file;
mod message;
mod run;

use crate::error::{Error, Result};
use crate::format::{
    Confidence, Cx, Format, Head, Parts, Piece, Reader, Sink, Sniffed, Version, Writer, skip_to,
};
use crate::json::Json;
use crate::record::{Field, Kind, Node};
use crate::yaml::encoding::Decoder;
use std::io::{ErrorKind, Read};

const NAME: &str = "connectonion";
/// The version whose files are runs.
const RUN: u32 = 3;

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
            kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Opaque],
        },
        Version {
            number: 2,
            summary: "one file an agent, turns first (0.5.0 to 0.6.0)",
            schema: include_str!("../../../schemas/connectonion/v2.schema.json"),
            tree: false,
            kinds: &[Kind::Session, Kind::Turn, Kind::Message, Kind::Opaque],
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
};

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let version = version(&String::from_utf8_lossy(head.bytes), head.whole)?;
    Some(Sniffed { confidence: Confidence::Certain, version })
}

/// The version of a file that begins so.
fn version(head: &str, whole: bool) -> Option<u32> {
    if run::is_run(head, whole) { Some(RUN) } else { file::version(head) }
}

/// The name of the agent: that of a session from elsewhere, which has no agent's.
fn agent(session: &Node) -> Json {
    let name = session.json(Field::Agent).or(session.json(Field::Name)).cloned();
    name.unwrap_or(Json::constant("\"session\""))
}

/// The version of the main part, by its beginning.
fn version_of(parts: &mut dyn Parts) -> Result<u32> {
    parts.keep()?;
    let mut head = Vec::new();
    // What cannot be decoded, or was cut in the middle of a character, is told by the reader.
    let read = Decoder::new(parts.main()?.take(Head::SIZE as u64), None).read_to_end(&mut head);
    if let Err(error) = read
        && error.kind() != ErrorKind::InvalidData
    {
        return Err(Error::io("cannot read", error));
    }
    let version = version(&String::from_utf8_lossy(&head), head.len() < Head::SIZE);
    Ok(version.unwrap_or(file::KEYED.version))
}

/// What the top of a file is made of.
fn shape(version: u32) -> &'static file::Shape {
    if version == file::DATED.version { &file::DATED } else { &file::KEYED }
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    match version_of(parts)? {
        RUN => run::open(parts, cx),
        version => file::open(parts, shape(version), cx),
    }
}

fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    match version_of(parts)? {
        RUN => run::pieces(parts, cx, show),
        version => file::pieces(parts, shape(version), cx, show),
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
