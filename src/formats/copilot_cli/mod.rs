//! Sessions of GitHub Copilot CLI: the file `events.jsonl` in a folder of the session.
//!
//! Each line is an event with a type, data, an identifier, a time and a parent. The order of lines
//! is the conversation: parents are never followed, and older releases name events that are not in
//! the file.
//!
//! | Copilot CLI | canonical |
//! |---|---|
//! | `session.start` in the first line | `session` |
//! | `user.message` | `message` of role `user` with `content`; the text that is sent has the time and reminders around it, which stay in `extra.data.transformedContent` |
//! | `assistant.message` | `message` of role `assistant`: a thought, a text, the calls of `toolRequests` |
//! | `tool.execution_complete` | `message` of role `tool` with `result.content`, or `error.message` of a failed one |
//! | data with `parentToolCallId`, or `agentId` of the event | `parent_call`: a sub-agent, whose messages are a branch |
//! | `session.model_change` | `model_change` |
//! | `session.compaction_complete` with a summary | `compaction`, which keeps the messages behind `session.compaction_start` |
//! | `tool.execution_start` | `event`, `derived` if it repeats a call before it |
//! | every other event, and a result that the program made when it resumed a session | `notice` |
//! | messages that the program refuses, objects that are no events | `opaque` |
//!
//! Members of data that have a field leave a `0` in `extra.data`, which shows their place.

mod additions;
mod append;
mod context;
mod events;
mod images;
mod line;
mod read;
mod repair;
mod starts;
mod wire;
mod write;

use crate::format::{
    Agent, Files, Format, Head, Mends, Named, Required, Sniffed, Variables, Version, folder_in,
};
use crate::json::{Json, is_whole, member, text};
use crate::record::{Kind, session_uuid};
use bytes::Bytes;

/// Name and version in the session's record.
const SOURCE: &str = "\"copilot-cli@1\"";

/// Row of the table of formats for GitHub Copilot CLI.
pub static FORMAT: Format = Format {
    aliases: &["copilot"],
    append: Some(append::open),
    files: Files {
        home: Some(home),
        native: Some(native),
        folders: &["cwd", "gitRoot"],
        messages: &[
            "content",
            "transformedContent",
            "arguments",
            "result",
            "error",
            "toolRequests",
            "summaryContent",
            "reasoningText",
        ],
        ..Files::ONE
    },
    agent: Agent {
        context: Some(context::open),
        command: Some(|id, _| ["copilot".to_owned(), format!("--resume={id}")].to_vec()),
        whole_answers: true,
        mends: Mends::Calls,
        unanswered: context::INTERRUPTED,
        additions: Some(additions::addition),
        is_ours: Some(events::is_ours),
        totals: Some(additions::totals),
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: "copilot-cli",
        summary: "sessions of GitHub Copilot CLI (JSON Lines)",
        source: "GitHub Copilot CLI, releases 0.0.384 to 1.0.102, and the schema of session events in them",
        versions: &[Version {
            number: 1,
            summary: "events on lines (from 0.0.384)",
            schema: include_str!("../../../schemas/copilot-cli.schema.json"),
            tree: false,
            kinds: &[
                Kind::Session,
                Kind::Message,
                Kind::ModelChange,
                Kind::Compaction,
                Kind::Notice,
                Kind::Event,
                Kind::Opaque,
            ],
        }],
        extensions: &[".jsonl"],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

/// Returns the directory in which Copilot CLI keeps its sessions.
fn home(variables: Variables<'_>) -> Option<String> {
    Some(format!("{}/session-state", folder_in(variables, "COPILOT_HOME", ".copilot")?))
}

/// Returns the path `<uuid>/events`.
fn native(named: &Named<'_>) -> String {
    format!("/{}/events", session_uuid(named.session, named.question))
}

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    head.of_lines(FORMAT.extensions, |_, line| {
        // The first line may be longer than the head.
        let start = line.starts_with(START);
        (start || is_event(line)).then(|| (start || is_start(line), 1))
    })
}

/// The beginning of the first line as the program writes it.
const START: &[u8] = b"{\"type\":\"session.start\",\"data\":{\"sessionId\":\"";

fn is_start(line: &[u8]) -> bool {
    Json::read(&Bytes::copy_from_slice(line)).is_ok_and(|line| line::is_start(&line))
}

/// Whether an object is an event of a type that only the program writes.
fn is_event(object: &[u8]) -> bool {
    let named = || text::decode(member(object, "type")?);
    let is_known = |name: String| wire::FAMILIES.iter().any(|family| name.starts_with(family));
    let has_data = member(object, "data").is_some_and(|data| data.starts_with(b"{"));
    has_data
        && is_whole(object)
        && std::str::from_utf8(object).is_ok()
        && named().is_some_and(is_known)
}
