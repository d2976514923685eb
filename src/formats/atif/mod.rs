//! ATIF, Harbor's Agent Trajectory Interchange Format: one JSON document with a list of steps.
//!
//! | ATIF | canonical |
//! |---|---|
//! | the document without its steps | `session` |
//! | first step, of the system, with nothing but a text | `system_prompt` of the session |
//! | any other step of the system, the user or the agent | `message` |
//! | step of the system after which a model sees only its summary | `compaction` |
//! | result in the observation of the step with its call | `message` of role `tool` |
//! | result without a call | `message` of role `user`, layout `observation` |
//! | trajectory of a sub-agent | messages with `parent_call` |
//!
//! Data without a place in a trajectory is in the member `copyist` of `extra`, by one rule: a reader
//! takes from a step what the step says, and copyist keeps the difference between that and the
//! record (`delta.rs`). Records that are no steps (other branches, labels, changes of the model) are
//! kept with the step before which they come. So the way back needs no origin, except for members
//! that only the source's format knows.
//!
//! Source: models and validator of Harbor 0.26.0, and RFC 0001 of its versions 1.5 and 1.7.

mod context;
mod delta;
mod losses;
mod omitted;
mod read;
mod read_step;
mod repair;
mod root;
mod steps;
mod wire;
mod write;
mod write_step;

use crate::context_rules::NO_RESULT;
use crate::document::{Path, Style};
use crate::format::{Agent, Confidence, Files, Format, Head, Mends, Required, Sniffed, Version};
use crate::json::member;
use crate::lines::Line;
use crate::mapping::record_text;
use crate::position::Position;
use crate::record::{Kind, Record};
use bytes::Bytes;

/// Path of the steps in a document.
const PATH: Path = &["steps"];

/// Layout of documents.
const STYLE: Style = Style { indented: true, newline: true };

/// Kinds of records that a trajectory holds, as steps or beside them.
const KINDS: &[Kind] = &[
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
    Kind::Opaque,
];

/// Entry of the format in the table of formats.
pub static FORMAT: Format = Format {
    aliases: &["harbor"],
    pieces: Some(read::pieces),
    files: Files { below: &["images"], ..Files::ONE },
    agent: Agent {
        context: Some(context::open),
        unresumable: "Harbor gives a trajectory to the agents that it runs, and continues none itself",
        whole_answers: true,
        mends: Mends::OpenCalls,
        unanswered: NO_RESULT,
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: "atif",
        summary: "trajectories of Harbor and others: ATIF 1.0 to 1.8 (JSON)",
        source: "Harbor 0.26.0, its RFC 0001, versions 1.0 to 1.8",
        versions: &[Version {
            number: 1,
            summary: "all versions of ATIF, read by their members; 1.7 is written",
            schema: include_str!("../../../schemas/atif.schema.json"),
            tree: true,
            kinds: KINDS,
        }],
        extensions: &[".json"],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

/// Detects a document by its version, or else by an agent with a version, and steps.
fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let text = head.bytes.trim_ascii_start();
    let of = |name: &str| member(text, name);
    let found = |confidence| Some(Sniffed { confidence, version: 1 });
    if of("schema_version").is_some_and(|version| version.starts_with(b"\"ATIF-v")) {
        return found(Confidence::Certain);
    }
    let agent = of("agent")?;
    let has = |name: &str| member(agent, name).is_some_and(|value| value.starts_with(b"\""));
    let begins = || {
        let steps = memchr::memmem::find(text, b"\"steps\"").map(|at| text.get(at..));
        let steps = steps.flatten().unwrap_or_default();
        memchr::memmem::find(steps, b"\"step_id\"").is_some()
    };
    if has("name") && has("version") && begins() { found(Confidence::Strong) } else { None }
}

/// Returns the record that an object represents; `None` if it is none.
fn record_of(object: &Bytes) -> Option<Record> {
    let at = Position { line: 1, ..Position::default() };
    let line = Line { bytes: object, at, terminated: true };
    record_text::parse_any(&line, object).ok()
}
