//! ConnectOnion's session files.
//!
//! Three generations of YAML. Which members become what is said where they are read: messages in
//! `message.rs`, the header of a run in `run/`.

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
use crate::lines::BOM;
use crate::record::{Field, Kind, Node};
use std::io::Read;

const NAME: &str = "connectonion";

/// The row of the table.
pub static FORMAT: Format = Format {
    name: NAME,
    aliases: &["co"],
    summary: "session files of ConnectOnion (YAML)",
    source: "connectonion, releases 0.5.0 to 1.9.2",
    versions: &[
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
    let text = String::from_utf8_lossy(head.bytes);
    let version = match () {
        () if run::is_run(&text, head.whole) => 3,
        () if file::is_file(&text) => 2,
        () => return None,
    };
    Some(Sniffed { confidence: Confidence::Certain, version })
}

/// The name of the agent: that of a session from elsewhere, which has no agent's.
fn agent(session: &Node) -> Json {
    let name = session.json(Field::Agent).or(session.json(Field::Name)).cloned();
    name.unwrap_or(Json::constant("\"session\""))
}

/// Whether the main part is a run, by its beginning.
fn is_run(parts: &mut dyn Parts) -> Result<bool> {
    parts.keep()?;
    let mut head = Vec::new();
    let read = parts.main()?.take(Head::SIZE as u64).read_to_end(&mut head);
    read.map_err(|error| Error::io("cannot read", error))?;
    let head = head.strip_prefix(BOM).unwrap_or(&head);
    Ok(run::is_run(&String::from_utf8_lossy(head), head.len() < Head::SIZE))
}

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    if is_run(parts)? { run::open(parts, cx) } else { file::open(parts, cx) }
}

fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    if is_run(parts)? { run::pieces(parts, cx, show) } else { file::pieces(parts, cx, show) }
}

fn write<'a>(
    sink: &'a mut dyn Sink,
    version: &'static Version,
    cx: &'a Cx<'a>,
) -> Result<Box<dyn Writer + 'a>> {
    if version.number == 3 {
        run::open_writer(sink, version, cx)
    } else {
        file::open_writer(sink, version, cx)
    }
}
