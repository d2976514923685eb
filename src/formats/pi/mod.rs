//! The pi coding agent's session files, versions 1 to 3.
//!
//! Each line is one JSON object. The first is the header; the others are entries. In version 1 they
//! are a list; from version 2 on each has an `id` and a `parentId`, and they form a tree whose leaf
//! is the last line. Version 3 got new types of entries without a new number.
//!
//! | pi | canonical |
//! |---|---|
//! | header `session` | `session`; `timestamp` is `created`, `branchedFrom` or `parentSession` is `parent_session` |
//! | `message`, by `message.role` | `message`; `toolResult` is a message of role `tool` with one `tool_result` block, `bashExecution` of role `bash` with a `bash` group, `hookMessage` and `custom` of role `custom` |
//! | `custom_message` | `message` of role `custom` and subtype `custom_message` |
//! | `thinking_level_change`, `model_change`, `active_tools_change` | `thinking_change`, `model_change`, `tools_change` |
//! | `compaction`, `branch_summary`, `label`, `session_info`, `context_edit`, `usage`, `leaf` | the same names; `firstKeptEntryId` is `first_kept`, `targetId` is `target`, `fromId` is `from`, `usage.kind` is `purpose` |
//! | `custom` | `extension` |
//! | `event` (before 0.7) | `event` |
//! | a further header | `notice` of subtype `session` |
//! | any other type | `opaque` |
//! | an entry's `timestamp`, a message's `timestamp` | `time`, `message_time` |
//! | members without a row in `wire.rs` | `extra`; those of a message under `extra.message` |
//!
//! Lines that are blank, or damaged and kept, and oh-my-pi's title slot (`dialect.rs`) are `opaque`
//! records with their `text`.

mod additions;
mod context;
mod dialect;
mod foreign;
mod inserted;
mod lineage;
mod migrated;
mod needs;
mod other_lines;
mod read;
mod reader;
mod repair;
mod served;
mod steps;
mod version;
mod wire;
mod write;
mod writer;

use crate::context_rules::NO_RESULT;
use crate::format::{
    Agent, Confidence, Files, Format, Head, Interface, Mends, Named, Required, Sniffed, Variables,
    Version, folder_in,
};
use crate::json::text;
use crate::members::Scan;
use crate::record::{Field, Kind};
use repair::record;

const NAME: &str = "pi";

/// Row of the table of formats for pi.
pub static FORMAT: Format = Format {
    aliases: &["pi-mono"],
    lacks: Some(lacks),
    plane: Some(steps::BY_LINES),
    steps: steps::STEPS,
    files: Files {
        folders: &["cwd", "parentSession"],
        messages: &["message", "content", "details", "data"],
        home: Some(home),
        native: Some(native),
        ..Files::ONE
    },
    agent: Agent {
        context: Some(context::open),
        command: Some(|_, path| ["pi", "--session", path].map(str::to_owned).to_vec()),
        whole_answers: true,
        ends_at_last: true,
        mends: Mends::OpenCalls,
        interface: Interface::AnthropicMessages,
        unanswered: NO_RESULT,
        plain: Some(dialect::plain),
        additions: Some(additions::addition),
        inserted: inserted::INSERTED,
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: NAME,
        summary: "session files of the pi coding agent (JSON Lines)",
        source: "pi-mono and its successor, releases 0.7.6 to 1.5.2; oh-my-pi 18.3.4; OpenClaw 2026.9.6",
        versions: &[
            Version {
                number: 1,
                summary: "a list of entries (up to release 0.30)",
                schema: include_str!("../../../schemas/pi/v1.schema.json"),
                tree: false,
                kinds: &[
                    Kind::Session,
                    Kind::Message,
                    Kind::ThinkingChange,
                    Kind::ModelChange,
                    Kind::Compaction,
                    Kind::Event,
                    Kind::Notice,
                    Kind::Opaque,
                ],
            },
            Version {
                number: 2,
                summary: "a tree by id and parentId (0.31 to 0.34)",
                schema: include_str!("../../../schemas/pi/v2.schema.json"),
                tree: true,
                kinds: TREE_KINDS,
            },
            Version {
                number: 3,
                summary: "the tree of pi@2 with hookMessage renamed to custom (from 0.35)",
                schema: include_str!("../../../schemas/pi/v3.schema.json"),
                tree: true,
                kinds: TREE_KINDS,
            },
        ],
        extensions: &[".jsonl"],
        sniff,
        read: reader::open,
        write: writer::open,
        repair: repair::repair,
    })
};

const TREE_KINDS: &[Kind] = &[
    Kind::Session,
    Kind::Message,
    Kind::ThinkingChange,
    Kind::ModelChange,
    Kind::ToolsChange,
    Kind::Compaction,
    Kind::BranchSummary,
    Kind::Extension,
    Kind::Label,
    Kind::SessionInfo,
    Kind::ContextEdit,
    Kind::Usage,
    Kind::Leaf,
    Kind::Event,
    Kind::Notice,
    Kind::Opaque,
];

/// Names the members without which pi ends with an error and which a line lacks.
fn lacks(line: &[u8]) -> Vec<&'static str> {
    let scan = Scan::of(line).ok().flatten();
    let needs = scan.map(|scan| needs::needs(line, &scan)).unwrap_or_default();
    needs.into_iter().map(|need| need.path).collect()
}

/// Returns the path `--<folder>--/<time>_<id>`, by which pi finds the sessions of a folder.
fn native(named: &Named<'_>) -> String {
    let text = |field| named.session.text(field).unwrap_or_default();
    let cwd = text(Field::Cwd);
    let folder = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd);
    let folder = plain(folder, 200, |c| if matches!(c, '/' | '\\' | ':') { '-' } else { c });
    let time = plain(&text(Field::Created), 40, |c| if matches!(c, ':' | '.') { '-' } else { c });
    let id = plain(&text(Field::Id), 100, |c| c);
    format!("/--{folder}--/{time}_{id}")
}

/// Returns the directory in which pi keeps its sessions: below its agent's folder, or the folder in
/// an environment variable.
fn home(variables: Variables<'_>) -> Option<String> {
    let own = variables("PI_CODING_AGENT_SESSION_DIR").filter(|folder| !folder.is_empty());
    let agent = || folder_in(variables, "PI_CODING_AGENT_DIR", ".pi/agent");
    own.or_else(|| Some(format!("{}/sessions", agent()?)))
}

/// Returns a piece of a path, without characters that lead out of its folder or mean something to a
/// terminal.
fn plain(text: &str, longest: usize, spelled: fn(char) -> char) -> String {
    let fits = |c: char| if c.is_control() || matches!(c, '/' | '\\') { '_' } else { c };
    text.chars().map(spelled).map(fits).take(longest).collect()
}

/// Detects a session of pi: its first object is a header, or a header or lines that could be
/// entries follow later.
fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let called = Head::is_called(head.name, FORMAT.extensions);
    // Whether nothing but entries, and what a crash leaves of records, was there so far.
    let (mut messages, mut known, mut clean) = (0, 0, true);
    let placed = |clean, confidence| if clean { confidence } else { Confidence::Buried };
    let lines = || dialect::behind_slot(head.lines()).take(SNIFFED);
    let is_scanned_entry =
        |line| Scan::of(line).is_ok_and(|scan| scan.is_some_and(|scan| is_entry(&scan, line)));
    for (i, line) in lines().enumerate() {
        match Scan::of(line) {
            Ok(Some(scan)) if scan.is(line, "session") => {
                let is_trace = scan.version.is_none() && holds(line, "\"harness\"");
                if is_trace || !is_header(&scan, line) && !lines().any(is_scanned_entry) {
                    return None;
                }
                let id = scan.id.and_then(|id| text::decoded(id.value.of(line)));
                if id.is_none() || (i > 0 && messages == i) {
                    let confidence = placed(clean, Confidence::Strong);
                    return Some(Sniffed { confidence, version: 3 });
                }
                let version = scan.version.map(|version| version.value.of(line));
                let version = version::Named::of(version).read_as();
                let sure = if i == 0 { Confidence::Certain } else { Confidence::Strong };
                return Some(Sniffed { confidence: placed(clean, sure), version });
            }
            // A header longer than the head, or torn.
            Err(_) if i == 0 && line.starts_with(b"{\"type\":\"session\"") => {
                return Some(Sniffed { confidence: Confidence::Strong, version: 1 });
            }
            Ok(Some(scan)) if is_entry(&scan, line) => {
                known += 1;
                messages += usize::from(record::is_message(&scan, line));
            }
            found => {
                let torn = found.is_err() && Head::is_torn(line, i == 0, called);
                clean &= known > 0 || torn;
            }
        }
    }
    let confidence = placed(clean, Confidence::Weak);
    (messages > 0).then_some(Sniffed { confidence, version: 3 })
}

/// Maximum number of lines that detection looks at.
const SNIFFED: usize = 16;

/// Whether a line of type `session` can be a header of pi: it has a version, a note of copyist, or
/// `cwd`, which every release of pi wrote. Logs of other programs have lines of that type, too. A
/// line with at most two members is accepted, as it may come from any program. A session trace of
/// Hugging Face begins with such a line, too, which has a `harness` and no version.
fn is_header(scan: &Scan, line: &[u8]) -> bool {
    let is_marked = scan.version.is_some() || scan.note.is_some();
    is_marked || scan.members <= 2 || holds(line, "\"cwd\"")
}

/// Whether a line is one of the entries that pi writes.
fn is_entry(scan: &Scan, line: &[u8]) -> bool {
    if scan.is(line, "message") {
        return record::is_message(scan, line);
    }
    scan.time.is_some() && wire::ENTRIES.iter().any(|entry| scan.is(line, entry.wire))
}

/// Whether a line seems to have a member of this name, which is given in quotes, somewhere.
fn holds(line: &[u8], name: &str) -> bool {
    memchr::memmem::find(line, name.as_bytes()).is_some()
}
