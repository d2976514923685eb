//! Rollouts of the Codex CLI, versions 1 to 3.
//!
//! Version 1 is a list of bare items of the Responses interface behind a line about the session.
//! From version 2 on each line has a time, a type and a payload; the first has type `session_meta`.
//! Version 3, which Codex calls paginated, numbers its lines and has other events.
//!
//! Only items are sent to a model. Events repeat them for the user interface, so that every text of
//! the conversation occurs twice.
//!
//! | Codex | canonical |
//! |---|---|
//! | the first line | `session`; a later `session_meta` is a `notice` |
//! | `response_item` with words of the user or the model, a call or a result | `message`, as `dialect/responses.rs` describes |
//! | `response_item` with words of Codex itself: role `developer`, `<environment_context>` and the like | `extension`, whose type is the role |
//! | other items | `opaque`; a `notice` where Codex does not send them |
//! | `compacted` | `compaction`; the new history stays in `extra` |
//! | `turn_context` | `model_change`, or a `notice` if the model stays |
//! | `event_msg` | `event`, `derived` if it repeats the item before it |
//! | other lines with a payload, `state` of version 1 | `notice` |
//! | objects without a payload | `opaque` |
//! | `thread_rolled_back` | also a branch: what follows is behind the turns that are left |
//! | lines of the rollout to which `history_base` refers | their records, `synthesized` |
//! | members without a field | `extra`; those of a payload below `extra.payload` |
//!
//! A member of the first line that has a field leaves a `0` in `extra.payload`, which shows its
//! place.

mod additions;
mod append;
mod base;
mod chain;
mod context;
mod foreign;
mod inserted;
mod items;
mod line;
mod marks;
mod read;
mod repair;
mod rewind;
mod turns;
mod twin;
mod usage;
mod wire;
mod write;

use crate::format::{
    Agent, Files, Format, Head, Interface, Mends, Named, Required, Rewind, Sniffed, Spare, Step,
    Variables, Version, folder_in,
};
use crate::json::{Json, text};
use crate::record::{Field, Kind, session_uuid};
use crate::times;
use bytes::Bytes;

const NAME: &str = "codex";

/// Row of the table of formats for the Codex CLI.
pub static FORMAT: Format = Format {
    aliases: &["codex-cli"],
    usual: Some(2),
    steps: &[
        Step { from: 1, to: 2, summary: "lines get a time, a type and a payload, and events" },
        Step { from: 2, to: 3, summary: "lines get numbers, and events the form of items" },
    ],
    migrates_in_place: true,
    append: Some(append::open),
    number: Some(line::number),
    files: Files {
        home: Some(home),
        archives: &["../archived_sessions"],
        earlier,
        folders: &["cwd", "workspace_roots", "runtime_workspace_roots", "writable_roots"],
        messages: &[
            "content",
            "arguments",
            "input",
            "output",
            "action",
            "item",
            "replacement_history",
        ],
        native: Some(native),
        ..Files::ONE
    },
    agent: Agent {
        context: Some(context::open),
        rewind: Some(Rewind { turns: rewind::turns, marks: &marks::MARKS }),
        mends: Mends::CallsAndImages,
        interface: Interface::OpenAiResponses,
        unanswered: items::ABORTED,
        command: Some(|id, _| ["codex", "resume", id].map(str::to_owned).to_vec()),
        additions: Some(additions::addition),
        is_ours: Some(foreign::is_ours),
        totals: Some(usage::totals),
        window: Some(usage::window),
        inserted: inserted::INSERTED,
        spare: Spare { repeats: repeats_output, ..Agent::UNKNOWN.spare },
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: NAME,
        summary: "rollouts of the Codex CLI (JSON Lines)",
        source: "openai/codex, releases 0.8.0 to 0.169.0",
        versions: &[
            Version {
                number: 1,
                summary: "items without a wrapper (up to release 0.2x)",
                schema: include_str!("../../../schemas/codex/v1.schema.json"),
                tree: false,
                kinds: KINDS,
            },
            Version {
                number: 2,
                summary: "lines with a type and a payload (from 0.34)",
                schema: include_str!("../../../schemas/codex/v2.schema.json"),
                tree: false,
                kinds: KINDS,
            },
            Version {
                number: 3,
                summary: "numbered lines, which Codex calls paginated (from 0.146)",
                schema: include_str!("../../../schemas/codex/v3.schema.json"),
                tree: false,
                kinds: KINDS,
            },
        ],
        extensions: &[".jsonl"],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

const KINDS: &[Kind] = &[
    Kind::Session,
    Kind::Message,
    Kind::ModelChange,
    Kind::Compaction,
    Kind::Extension,
    Kind::Event,
    Kind::Notice,
    Kind::Opaque,
];

/// Returns the directory in which Codex keeps its sessions.
fn home(variables: Variables<'_>) -> Option<String> {
    Some(format!("{}/sessions", folder_in(variables, "CODEX_HOME", ".codex")?))
}

/// Returns the paths of an archived rollout among those that are not: in the folder of its day, by
/// its name, or in none.
fn earlier(path: &str) -> Vec<String> {
    let Some((home, file)) = path.rsplit_once("archived_sessions/") else { return Vec::new() };
    if file.contains('/') {
        return Vec::new();
    }
    let day = file
        .strip_prefix("rollout-")
        .and_then(|rest| rest.get(..10))
        .map(|day| format!("{}/", day.replace('-', "/")));
    let folders = day.into_iter().chain([String::new()]);
    folders.map(|folder| format!("{home}sessions/{folder}{file}")).collect()
}

/// Returns the path `YYYY/MM/DD/rollout-<time>-<uuid>`. Codex takes the local time; here it is UTC,
/// so that an output does not depend on the machine.
fn native(named: &Named<'_>) -> String {
    let time = named.session.json(Field::Created).and_then(times::read).unwrap_or_default();
    let spelled = times::with_seconds(time);
    let (date, clock) = spelled.trim_end_matches('Z').split_once('T').unwrap_or_default();
    let id = session_uuid(named.session, named.question);
    format!("/{}/rollout-{date}T{}-{id}", date.replace('-', "/"), clock.replace(':', "-"))
}

/// Whether an event repeats the output of a tool, which is in the result as well.
fn repeats_output(event: &Json) -> bool {
    let kind = |of: &Json| of.text_of("type").unwrap_or_default();
    let item = || event.member("item").map(|item| kind(&item)).unwrap_or_default();
    match kind(event).as_str() {
        "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" => true,
        "item_completed" => matches!(&*item(), "CommandExecution" | "FileChange" | "McpToolCall"),
        _ => false,
    }
}

/// Detects a rollout: its first line is one that begins it, or one of its lines comes later.
fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    head.of_lines(FORMAT.extensions, |number, bytes| {
        let line = Json::read(&Bytes::copy_from_slice(bytes));
        let object = line.ok().filter(|_| std::str::from_utf8(bytes).is_ok());
        // The first line may be longer than the head.
        let cut = || {
            let has = |mark| memchr::memmem::find(bytes, mark).is_some();
            let paginated = || has(b"\"history_mode\":\"paginated\"") || is_numbered(bytes);
            is_cut_meta(bytes).then(|| (true, if paginated() { 3 } else { 2 }))
        };
        object.as_ref().and_then(what).or_else(|| if number == 0 { cut() } else { None })
    })
}

fn is_numbered(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"\",\"ordinal\":0,").is_some()
}

fn is_cut_meta(line: &[u8]) -> bool {
    let begin = line.get(..120).unwrap_or(line);
    line.starts_with(b"{\"timestamp\":\"")
        && memchr::memmem::find(begin, b"\"type\":\"session_meta\",\"payload\":{").is_some()
}

/// Returns whether an object is the first line of a rollout, not a later one, and of which version;
/// `None` for an object of another kind.
fn what(object: &Json) -> Option<(bool, u32)> {
    if let Some((node, bare)) = line::read_meta(object) {
        // A bare first line has no mark of its own.
        let known =
            !bare || object.members().all(|(key, _)| BARE.iter().any(|name| text::is(key, name)));
        return known.then(|| (true, read::version_of(&node, bare)));
    }
    if object.member("record_type").is_some_and(|kind| kind.text().as_deref() == Some("state")) {
        return Some((false, 1));
    }
    let wire = object.member("type")?.text()?;
    let numbered = object.member("ordinal").is_some();
    let enveloped = object.member("payload").is_some();
    if enveloped && LINES.contains(&wire.as_str()) {
        return Some((false, if numbered { 3 } else { 2 }));
    }
    let bare = object.member("timestamp").is_none() && object.member("message").is_none();
    (bare && line::read_item(object).is_some()).then_some((false, 1))
}

/// Members of a bare first line.
const BARE: &[&str] = &["id", "timestamp", "instructions", "git"];

/// Types of lines that no other program writes with a payload.
const LINES: &[&str] =
    &[wire::META, wire::ITEM, wire::EVENT, wire::COMPACTED, wire::TURN_CONTEXT, "world_state"];
