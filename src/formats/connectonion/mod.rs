//! ConnectOnion's session files.
//!
//! Three generations of YAML. Which members become what is said where they are read: messages in
//! `message.rs`, the header of a run in `run/`.

mod context;
mod message;
mod run;

use crate::format::{Confidence, Format, Head, Sniffed, Version, skip_to};
use crate::record::Kind;

const NAME: &str = "connectonion";

/// The row of the table.
pub static FORMAT: Format = Format {
    name: NAME,
    aliases: &["co"],
    summary: "session files of ConnectOnion (YAML)",
    source: "connectonion, releases 0.6.1 to 1.9.2",
    versions: &[Version {
        number: 3,
        summary: "run files, a conversation each (from 0.6.1)",
        schema: include_str!("../../../schemas/connectonion/v3.schema.json"),
        tree: false,
        kinds: &[Kind::Session, Kind::Message, Kind::Opaque],
    }],
    extensions: &[".yaml", ".yml"],
    sniff,
    read: run::open,
    // Identifiers of messages follow from all messages before.
    resume: |parts, from, cx| Ok(skip_to(run::open(parts, cx)?, from)),
    write: run::open_writer,
    plane: None,
    pieces: Some(run::pieces),
    steps: &[],
    context: Some(context::open),
};

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let text = String::from_utf8_lossy(head.bytes);
    run::is_run(&text).then_some(Sniffed { confidence: Confidence::Certain, version: 3 })
}
