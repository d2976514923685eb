//! Transcripts of Claude Code: one JSON object a line, below `~/.claude/projects`.
//!
//! Lines of the conversation have a `uuid` and name the line before by `parentUuid`. Each block of
//! an answer is a line of its own; the lines of one answer share `message.id`. Other lines are
//! beside the conversation. There is no number of a version, and every release reads the files of
//! the older ones. In releases 1.x, the lines of sub-agents are in the session's file; in 2.0, in
//! files `agent-ID.jsonl` beside it; from 2.1 on, in the folder `subagents` of the folder with the
//! session's name. Nothing in the files shows whether the program is running.
//!
//! | line | canonical |
//! |---|---|
//! | `user`, `assistant` | `message`; each result of a tool is a message of role `tool` of its own, all of one `group`; the lines of one answer are one `group` |
//! | `system` of subtype `local_command`; `attachment` with words of the user that waited | `message` of role `user` |
//! | `user` with `isCompactSummary` | `message` of subtype `compact_summary` |
//! | `assistant` with `isApiErrorMessage` | `opaque`: it is not sent again |
//! | any other | `opaque`, with its place in the chain if it has one |
//! | messages that a compaction keeps (`preservedMessages`, `preservedSegment`) | the same messages, behind the summary |
//! | `uuid`, `parentUuid`, `timestamp`, `toolUseResult` | `id`, `parent`, `time`, `details` |
//! | `message.id`, `model`, `stop_reason`, `usage` | `response_id`, `model`, `stop_reason`, `usage` |
//! | a file below the session's name, or a sub-agent's file beside the session | `notice` of subtype `part`, with the text, or with the lines behind it up to the next such notice; one without a name leads back to the transcript |
//! | lines with `isSidechain`, and those of a sub-agent's file | messages with `parent_call`, the call of the tool `Task` with the same prompt; `excluded` where there is none |
//! | `sessionId`, `cwd`, first `timestamp`, `version` of the first lines, all `version`s | the session's `id`, `cwd`, `created`, `client` |
//! | `custom-title`, `ai-title`, `summary` about a line of the file | the session's `name` |
//! | the last `last-prompt` with a known `leafUuid` | the session's `leaf`, unless the last line descends from it |
//!
//! All members are kept in `extra`, in their order; `0` marks the place of a value that is a field,
//! for the order of members differs between releases. The parent of a result is the record before
//! it in its answer, where the line names the call itself: `extra` then contains the line's own
//! `parentUuid`.

mod about;
mod additions;
mod append;
mod chain;
mod command;
mod context;
mod files;
mod foreign;
mod gaps;
mod held;
mod inserted;
mod line;
mod lineage;
mod links;
mod members;
mod older;
mod opening;
mod preserved;
mod queued;
mod read;
mod repair;
mod runs;
mod space;
mod upgrade;
mod uuid;
mod wire;
mod write;

use crate::format::{
    Agent, Counts, Files, Format, Interface, List, Mends, Named, Required, Spare, Step, Totals,
    Variables, Version, folder_in,
};
use crate::ids;
use crate::json::Json;
use crate::record::{Field, Kind, Record};

const NAME: &str = "claude-code";

/// Row of the table of formats for Claude Code.
pub static FORMAT: Format = Format {
    aliases: &["claude", "cc"],
    usual: Some(about::SECOND),
    settle: Some(opening::settle),
    steps: &[Step {
        from: about::FIRST,
        to: about::SECOND,
        summary: "sub-agents get files of their own, messages what every release needs",
    }],
    migrates_in_place: true,
    append: Some(append::open),
    files: Files {
        below: wire::FOLDERS,
        outputs: wire::OUTPUTS,
        side: Some(files::side),
        folders: &["cwd", "workingDirectory", "realParentDir"],
        messages: &["message", "toolUseResult", "content", "rendered"],
        lists: &[
            List { path: "../history.jsonl", members: &["project"], keyed: &[] },
            List { path: "../.claude.json", members: &[], keyed: &["projects"] },
            List { path: "../../.claude.json", members: &[], keyed: &["projects"] },
        ],
        home: Some(home),
        native: Some(native),
        ..Files::ONE
    },
    agent: Agent {
        // By the rules of release 2.1.332: the path to the leaf, which begins at the last compaction.
        // What the program renders again (attachments) is not contained.
        context: Some(context::open),
        reorders: true,
        mends: Mends::Calls,
        interface: Interface::AnthropicMessages,
        totals: Some(totals),
        command: Some(|id, _| ["claude", "--resume", id].map(str::to_owned).to_vec()),
        additions: Some(additions::addition),
        rename: Some(additions::title),
        fills: additions::FILLS,
        inserted: inserted::INSERTED,
        spare: Spare { records: &["file-history-snapshot", "progress"], ..Agent::UNKNOWN.spare },
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: NAME,
        summary: "transcripts of Claude Code (JSON Lines)",
        source: "Claude Code, releases 1.0.0 to 2.1.332",
        versions: &[
            Version {
                number: about::FIRST,
                summary: "sub-agents in the transcript or in files beside it (1.0 to 2.0)",
                schema: include_str!("../../../schemas/claude-code/v1.schema.json"),
                tree: true,
                kinds: KINDS,
            },
            Version {
                number: about::SECOND,
                summary: "sub-agents in files below the session's name (from 2.1)",
                schema: include_str!("../../../schemas/claude-code/v2.schema.json"),
                tree: true,
                kinds: KINDS,
            },
        ],
        extensions: &[".jsonl"],
        sniff: about::sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

const KINDS: &[Kind] = &[Kind::Session, Kind::Message, Kind::Notice, Kind::Opaque];

/// Returns the path `<slug>/<session>`, by which Claude Code finds the sessions of a folder.
///
/// Source: all releases from 1.0.0 on count UTF-16 units, and cut a name after 200 of them. The
/// checksum that follows a cut name is that of the SDK.
fn native(named: &Named<'_>) -> String {
    let cwd = named.session.text(Field::Cwd).filter(|cwd| !cwd.is_empty());
    let cwd = cwd.unwrap_or_else(|| "/".to_owned());
    let plain = |unit: u16| {
        let c = char::from_u32(u32::from(unit)).filter(char::is_ascii_alphanumeric);
        c.unwrap_or('-')
    };
    let mut slug: String = cwd.encode_utf16().map(plain).collect();
    if slug.len() > LONGEST {
        slug.truncate(LONGEST);
        slug = format!("{slug}-{}", ids::base36(djb2(&cwd)));
    }
    // A transcript whose lines name no session is of the one that its name contains.
    let id = match named.session.json(Field::Id) {
        None if ids::is_uuid(named.stem) => named.stem.to_owned(),
        _ => uuid::session_id(named.session, named.question),
    };
    format!("/{slug}/{id}")
}

/// Returns the cost of each model up to a line `cost-state`. The tokens of the answers are in their
/// own lines.
fn totals(record: &Record) -> Vec<Totals> {
    let data = record.node.json(Field::Data);
    let models = data.and_then(|data| data.member("modelUsage")).map(|models| models.pairs());
    let totals = models.into_iter().flatten().map(|(model, usage)| Totals {
        model: model.text(),
        all: usage
            .member("costUSD")
            .as_ref()
            .and_then(Json::float)
            .map(|cost| Counts { cost, ..Counts::default() }),
        ..Totals::default()
    });
    totals.collect()
}

/// Maximum number of characters of a folder's name before its checksum.
const LONGEST: usize = 200;

/// Checksum of a path, in 32 bits with a sign.
fn djb2(path: &str) -> u32 {
    let add = |sum: i32, unit: u16| sum.wrapping_mul(31).wrapping_add(i32::from(unit));
    path.encode_utf16().fold(0, add).unsigned_abs()
}

/// Returns the folder in which Claude Code keeps all sessions.
fn home(variables: Variables<'_>) -> Option<String> {
    Some(format!("{}/projects", folder_in(variables, "CLAUDE_CONFIG_DIR", ".claude")?))
}
