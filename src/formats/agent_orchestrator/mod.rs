//! Sessions of claude-agent-orchestrator: `{name}.jsonl`, a log of Claude's output, and
//! `{name}.meta.json` beside it.
//!
//! Shell scripts wrote version 1: the output of `claude -p --output-format stream-json`, with
//! standard error in between, and without prompts. Python scripts write version 2: prompts, and the
//! data classes of Claude's SDK without their names. The members of a line show its kind; the
//! reader reads a line of the other version in a log as what it is.
//!
//! The tables of members are in `line.rs`, `block.rs` and `meta.rs`; the order in which they are
//! written is in `wire.rs`. A log without metadata is a session as well, as `claude` itself makes
//! it; so are metadata without a log, which a run leaves that has just begun.

mod additions;
mod append;
mod health;
mod line;
mod meta;
mod prompts;
mod read;
mod repair;
mod status;
mod wire;
mod write;

use crate::dialect::anthropic::context;
use crate::error::Result;
use crate::format::{
    Agent, Confidence, Cx, Files, Format, Head, Inserted, Mends, Named, Parts, Piece, Required,
    Sniffed, Version,
};
use crate::framing::{Chain, show_lines};
use crate::json::{is_whole, without_nan};
use crate::lines::BOM;
use crate::named;
use crate::position::Position;
use crate::record::{Field, Kind, Node};
use line::{Shape, What};
use std::borrow::Cow;
use std::ops::ControlFlow;

const NAME: &str = "agent-orchestrator";

/// Entry of the format in the table of formats.
pub static FORMAT: Format = Format {
    aliases: &["ao"],
    pieces: Some(pieces),
    append: Some(append::open),
    files: Files {
        in_projects: &[SESSIONS],
        folders: &["cwd", "project_dir", "agents_dir"],
        messages: &["content", "message", "tool_use_result", "result"],
        beside: &[".jsonl", meta::ENDING, meta::TEMPORARY],
        stem,
        native: Some(native),
        ..Files::ONE
    },
    agent: Agent {
        unresumable: "its files are logs, and the conversation is a session of Claude Code: `continue \
                      --in claude-code`",
        // A log begins with its session and is never cut, so its messages are the conversation. The
        // form to which Claude Code compacts it is in Claude Code's own transcript only.
        context: Some(context::open),
        mends: Mends::Everything,
        additions: Some(additions::addition),
        fills: additions::FILLS,
        inserted: Inserted { is_marked: Some(is_synthetic), ..Inserted::NOTHING },
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: NAME,
        summary: "session pairs of claude-agent-orchestrator, and what `claude -p` prints (JSON Lines)",
        source: "claude-agent-orchestrator, November 2025; claude-agent-sdk 0.1.0 to 0.2.187",
        versions: &[
            Version {
                number: 1,
                summary: "pairs of the shell scripts, with stream-json as `claude` prints it",
                schema: include_str!("../../../schemas/agent-orchestrator/v1.schema.json"),
                tree: false,
                kinds: KINDS,
            },
            Version {
                number: 2,
                summary: "pairs of the Python scripts, with prompts and classes of Claude's SDK",
                schema: include_str!("../../../schemas/agent-orchestrator/v2.schema.json"),
                tree: false,
                kinds: KINDS,
            },
        ],
        extensions: &[".jsonl", meta::ENDING, meta::TEMPORARY],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

/// Whether the SDK states of a message that the program wrote it.
fn is_synthetic(message: &Node) -> bool {
    let extra = message.json(Field::Extra);
    ["isSynthetic", "isMeta", "isCompactSummary"].iter().any(|name| {
        extra.and_then(|extra| extra.member(name)).is_some_and(|is| is.as_bytes() == b"true")
    })
}

const KINDS: &[Kind] = &[Kind::Session, Kind::Message, Kind::Notice, Kind::Result, Kind::Opaque];

/// Begins the tree of a log's messages, for which logs do not have all identifiers.
fn chain_of(session: &Node, cx: &Cx<'_>) -> Chain {
    let of = |field| session.text(field).unwrap_or_default();
    let key = format!("{} {} {}", of(Field::Name), of(Field::Created), of(Field::Id));
    Chain::of(key.as_bytes(), cx)
}

/// The sessions' folder, below the project's folder.
const SESSIONS: &str = ".agent-orchestrator/agent-sessions";

/// Rules by which the scripts find sessions by name.
pub static NAMED: named::Named = named::Named {
    format: NAME,
    project_variable: "AGENT_ORCHESTRATOR_PROJECT_DIR",
    sessions_variable: "AGENT_ORCHESTRATOR_SESSIONS_DIR",
    agents_variable: "AGENT_ORCHESTRATOR_AGENTS_DIR",
    sessions_below: SESSIONS,
    agents_below: ".agent-orchestrator/agents",
    log: ".jsonl",
    metadata: meta::ENDING,
    is_name,
    rule: "a name has 1 to 60 letters, digits, `_` and `-`",
    judge: status::judge,
    about: status::about,
    count: status::count,
};

/// Maximum number of characters in the name of a session.
const LONGEST: usize = 60;

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Whether a session may have this name. The scripts also accept a name with a line feed at its
/// end, for Python's `$` matches before one; this function refuses it.
fn is_name(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.chars().all(is_plain)
}

/// Converts any name to a name for a session's files.
fn stem(name: &str) -> String {
    let plain = name.chars().take(LONGEST).map(|c| if is_plain(c) { c } else { '_' });
    let name: String = plain.collect();
    if name.is_empty() { "session".to_owned() } else { name }
}

/// Returns the name by which the scripts look for a session: the one in its metadata, if it is
/// valid.
fn native(named: &Named<'_>) -> String {
    let own = named.session.text(Field::Name).filter(|name| is_name(name));
    let name = own.unwrap_or_else(|| stem(named.stem));
    if named.nth == 1 {
        return format!("/{name}");
    }
    // A longer name would not be valid.
    let number = format!("-{}", named.nth);
    let room = LONGEST - number.len();
    format!("/{}{number}", name.get(..room).unwrap_or(&name))
}

/// Whether a text is metadata, not a log.
fn is_meta(head: &[u8]) -> bool {
    meta::sniff(head.strip_prefix(BOM).unwrap_or(head)).is_some()
}

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    if let Some(version) = meta::sniff(head.bytes) {
        return Some(Sniffed { confidence: Confidence::Certain, version });
    }
    let called = Head::is_called(head.name, FORMAT.extensions);
    let (mut first, mut clean) = (true, true);
    for (i, line) in head.lines().take(64).enumerate() {
        let what = What::of(line.trim_ascii());
        let known = what.as_ref().ok().filter(|what| is_sure(**what, line));
        if let Some(shape) = known.and_then(|what| what.shape()) {
            let version = if shape == Shape::Printed { 1 } else { 2 };
            let confidence = match first {
                _ if !clean => Confidence::Buried,
                true => Confidence::Certain,
                false => Confidence::Strong,
            };
            return Some(Sniffed { confidence, version });
        }
        // Text from standard error may come first; objects of another kind may not.
        first &= what.is_err() && !line.trim_ascii().starts_with(b"{");
        // Only files of this format begin with such text: in other files it is about a session.
        clean &= called || Head::is_torn(line, i == 0, called);
    }
    None
}

/// Whether a line can be of this format only. Claude Code's transcripts contain lines of the same
/// types, with members in another spelling.
fn is_sure(what: What, line: &[u8]) -> bool {
    const PARENT: &[u8] = b"\"parent_tool_use_id\"";
    let has = |name: &[u8]| memchr::memmem::find(line, name).is_some();
    match what {
        What::Other | What::User(Shape::Classes) => false,
        What::Prompt | What::System(Shape::Classes) | What::Result(_) => true,
        What::Assistant(Shape::Classes) => has(PARENT),
        _ => (has(b"\"session_id\"") || has(PARENT)) && !has(b"\"parentUuid\""),
    }
}

/// Passes metadata and lines as JSON to `show`, with `NaN` as `null`.
fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    for file in read::files(parts)? {
        let part = file.number;
        let shown = if file.is_metadata {
            let at = Position { part, line: 1, ..Position::default() };
            let text = read::whole(file.source, cx.options.max_line, at)?;
            let text = text.strip_prefix(BOM).unwrap_or(&text);
            as_json(text).map_or(ControlFlow::Continue(()), |text| show(at, &text))
        } else {
            show_lines(file.source, part, cx, as_json, show)?
        };
        if shown.is_break() {
            break;
        }
    }
    Ok(())
}

/// Whether a text is one JSON object, as Python reads JSON.
fn is_plain_object(text: &[u8]) -> bool {
    as_json(text).is_some()
}

/// Returns a text that is one JSON object, as Python reads JSON; `NaN` becomes `null`.
fn as_json(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let whole = |text: &[u8]| {
        let object = text.trim_ascii_start().starts_with(b"{");
        object && std::str::from_utf8(text).is_ok() && is_whole(text)
    };
    if whole(text) {
        return Some(Cow::Borrowed(text));
    }
    without_nan(text).filter(|text| whole(text)).map(Cow::Owned)
}
