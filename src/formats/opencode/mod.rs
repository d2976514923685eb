//! OpenCode's sessions, as the documents that `opencode export` writes and `opencode import` reads.
//!
//! | OpenCode | canonical |
//! |---|---|
//! | `info` | `session` |
//! | message of role `user`, or an assistant's request to a model | `message` |
//! | part `text`, `reasoning`, `file` with data | content block |
//! | part `tool` | `tool_call`, and behind the message a `message` of role `tool` with the result |
//! | part `step-start` behind results | `message` of layout `step` |
//! | any other part | in the message's unnamed data, in its place among the parts |
//! | request for a compaction, and its answer | `compaction` |
//! | message that was taken back, or failed | `message` that is `excluded` |
//!
//! Source: `packages/opencode/src/session` of opencode, and what its releases 1.0.152, 1.2.27 and
//! 1.18.33 wrote, imported and sent.

mod bring;
mod columns;
mod context;
mod database;
mod files;
mod ids;
mod item;
mod needed;
mod part;
mod read;
mod repair;
mod second;
mod usual;
mod wire;
mod write;

use crate::document::{Path, Style};
use crate::format::{
    Agent, Confidence, Files, Format, Head, Inserted, Mends, Required, Shared, Sniffed, Successor,
    Version,
};
use crate::json::member;
use crate::record::Kind;

/// Path of the messages in a document.
const PATH: Path = &["messages"];

/// Layout of documents.
const STYLE: Style = Style { indented: true, newline: true };

/// Entry of the format in the table of formats.
pub static FORMAT: Format = Format {
    pieces: Some(read::pieces),
    files: Files {
        shared: Some(Shared {
            member: files::member,
            roster: database::roster,
            main: files::main,
            one_run: "",
            is_only_read: |part| !files::is_document(part),
            successor: Some(Successor {
                folder: "storage",
                database: bring::database,
                bring: bring::bring,
            }),
        }),
        native: Some(files::native),
        home: Some(files::home),
        archives: database::FOLDERS,
        ..Files::ONE
    },
    agent: Agent {
        context: Some(context::open),
        command: Some(|_, path| ["opencode", "import", path].map(str::to_owned).to_vec()),
        whole_answers: true,
        results_in_calls: true,
        mends: Mends::Calls,
        unanswered: context::UNANSWERED,
        // The program counts cost, tokens and changes of files in `info`.
        additions: Some(|record| (record.kind == Kind::Session).then_some("count")),
        inserted: Inserted {
            passages: &[
                (context::SUMMED_UP, ""),
                ("Called the Read tool with the following input: ", ""),
                ("Continue if you have next steps, or stop and ask for clarification", ""),
                ("The following tool was executed by the user", ""),
            ],
            ..Inserted::NOTHING
        },
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: "opencode",
        summary: "sessions of OpenCode: export documents (JSON)",
        source: "sst/opencode, releases 1.0.152 to 1.18.33",
        versions: &[Version {
            number: 1,
            summary: "documents of `opencode export` (from 1.0)",
            schema: include_str!("../../../schemas/opencode.schema.json"),
            tree: false,
            kinds: &[Kind::Session, Kind::Message, Kind::Compaction, Kind::Opaque],
        }],
        extensions: &[".json"],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

/// Detects a document by the `info` of a session at its beginning.
fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let info = member(head.bytes.trim_ascii_start(), "info")?;
    let is_own = member(info, "id")?.starts_with(b"\"ses_");
    let version = if member(info, "location").is_some() { 2 } else { 1 };
    is_own.then_some(Sniffed { confidence: Confidence::Certain, version })
}
