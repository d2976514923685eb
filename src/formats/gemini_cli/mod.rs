//! Sessions of Gemini CLI: a document of messages (version 1), and a log of records on lines, which
//! are applied in their order (version 2).
//!
//! | Gemini CLI | canonical |
//! |---|---|
//! | the document without its messages, the first header of a log | `session` |
//! | message of type `user` or `gemini` | `message`: thoughts, content, calls |
//! | message of type `user` with results alone | `message` of role `tool` |
//! | `result` of a call | `message` of role `tool` behind the answer |
//! | message of type `user` that repeats the results of the answer before it | `event`, `derived` |
//! | message of type `info`, `error` or `warning`; words that the program writes itself, as `<session_context>` | `notice` |
//! | further header, `$set`, `$rewindTo` | `notice`; an `event` with a place in the tree if it drops the last messages |
//! | message that the program never sends again, as one that begins with `/` | `message` that is `excluded` |
//! | messages that `$rewindTo` or `$set` drops | a branch: what follows is behind those that are left |
//! | any other object, which the program ignores | `notice` of the name `other` |
//!
//! A message with a known identifier replaces the earlier one in its place. The record is the last
//! version; `$versions` in its unnamed data are the others, each with its distance in lines.
//!
//! Source: `chatRecordingService.ts` in the bundle of @google/gemini-cli 0.61.0, files of releases
//! 0.32.1 and 0.61.0, and requests of 0.61.0 for sessions that it resumed.

mod append;
mod blocks;
mod context;
mod files;
mod log;
mod media;
mod message;
mod part;
mod pen;
mod read;
mod repair;
mod result;
mod usual;
mod wire;
mod write;

use crate::document::{Path, Style};
use crate::format::{
    Agent, Confidence, Files, Format, Head, Inserted, List, Required, Sniffed, Step, Version,
};
use crate::json::{Json, elements, is_whole, member};
use crate::lines::BOM;
use crate::record::Kind;
use bytes::Bytes;

/// Number of the version whose sessions are documents, and of the one whose sessions are logs.
const DOCUMENT: u32 = 1;
const LOG: u32 = 2;

/// Path of the messages in a document.
const PATH: Path = &["messages"];

/// Layout of documents.
const STYLE: Style = Style { indented: true, newline: false };

/// Row of the table of formats for Gemini CLI.
pub static FORMAT: Format = Format {
    aliases: &["gemini"],
    append: Some(append::open),
    pieces: Some(read::pieces),
    steps: &[Step { from: 1, to: 2, summary: "one document becomes a log of records on lines" }],
    files: Files {
        home: Some(files::home),
        native: Some(files::native),
        index: Some(files::index),
        folders: &["cwd", "directories"],
        messages: &["content", "toolCalls", "thoughts", "messages", "displayContent"],
        lists: &[List { path: "../projects.json", members: &[], keyed: &["projects"] }],
        // The program gives a project another folder if one of these files names another path.
        marks: &[(".", ".project_root"), ("../history", ".project_root")],
        ..Files::ONE
    },
    agent: Agent {
        context: Some(context::open),
        command: Some(|id, _| ["gemini", "--resume", id].map(str::to_owned).to_vec()),
        whole_answers: true,
        results_in_calls: true,
        additions: Some(append::addition),
        expires: true,
        is_ours: Some(wire::is_ours),
        inserted: Inserted { elements: &["session_context", "hook_context"], ..Inserted::NOTHING },
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: "gemini-cli",
        summary: "sessions of Gemini CLI: documents (JSON) and logs (JSON Lines)",
        source: "google-gemini/gemini-cli, releases 0.32.1 and 0.61.0",
        versions: &[
            Version {
                number: DOCUMENT,
                summary: "one document (up to 0.3x)",
                schema: include_str!("../../../schemas/gemini-cli/v1.schema.json"),
                tree: false,
                kinds: KINDS,
            },
            Version {
                number: LOG,
                summary: "a log of records on lines (from 0.4x)",
                schema: include_str!("../../../schemas/gemini-cli/v2.schema.json"),
                tree: false,
                kinds: KINDS,
            },
        ],
        extensions: &[".jsonl", ".json"],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

const KINDS: &[Kind] = &[Kind::Session, Kind::Message, Kind::Event, Kind::Notice, Kind::Opaque];

/// Beginning of each session as the program writes it.
const START: &[u8] = b"{\"sessionId\":\"";

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let found = |confidence, version| Some(Sniffed { confidence, version });
    let first = head.lines().next().unwrap_or_default().trim_ascii();
    if !is_whole(first) && !first.starts_with(START) && wire::is_header(head.bytes.trim_ascii()) {
        return found(Confidence::Certain, DOCUMENT);
    }
    let sniffed = head.of_lines(FORMAT.extensions, |_, line| {
        // A header with messages may be longer than the head.
        let is_header = wire::is_header(line);
        (is_header || wire::is_of_log(line)).then_some((is_header, LOG))
    })?;
    let is_stray = sniffed.confidence == Confidence::Certain && head.whole && is_stub(head);
    if is_stray { found(Confidence::Stray, LOG) } else { Some(sniffed) }
}

/// Whether a log is what the program leaves beside a session that it resumes: a header and the
/// message in which the program names its folders.
fn is_stub(head: &Head<'_>) -> bool {
    let mut lines = head.lines().skip(1).map(|line| {
        let list = member(line, "$set").and_then(|set| member(set, "messages"))?;
        let (_, only) = elements(list).next().filter(|_| elements(list).count() == 1)?;
        let item = Json::read(&Bytes::copy_from_slice(only)).ok()?;
        (message::sort(&item) == message::Sort::Notice("session_context".to_owned())).then_some(())
    });
    head.lines().count() == 2 && lines.next().flatten().is_some()
}

/// Whether the beginning of a session is that of a document.
fn is_document(beginning: &[u8]) -> bool {
    let beginning = beginning.strip_prefix(BOM).unwrap_or(beginning);
    let first = beginning.trim_ascii_start().split(|byte| *byte == b'\n').next();
    let first = first.unwrap_or_default().trim_ascii_end();
    !is_whole(first) && member(first, "sessionId").is_none()
}
