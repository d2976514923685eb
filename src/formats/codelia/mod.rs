//! Codelia's runs and session state.
//!
//! A run is the record of one input: a file of lines that begins with a header. The state of a
//! session is the file that the agent loads when it resumes the session.
//!
//! | Codelia | canonical |
//! |---|---|
//! | `header` | `session`, and a `run` of layout `header` with what only the run contains |
//! | `run.start` | a `run` of layout `start`; its input is the `message` behind it |
//! | `llm.request` | `request`; its `messages` refer to records, and hold by value what is none |
//! | `llm.response` | `response`, its messages behind it |
//! | `tool.output` | `tool_output`, and behind it the tool's `message` if the model was shown the whole output, even if in parts that only the state contains |
//! | `agent.event`, `run.context`, `run.status`, `run.error` | `event`, `run_context`, `status`, `run_error` |
//! | `run.end` | a `run` of layout `end` |
//! | any other type | `opaque` |
//!
//! References are identifiers of messages, pairs of them for a piece of the path from the first to
//! the second, `{"prompt":true}` for the system message with the run's own prompt, `{"message":…}`
//! for a message by value, and `{"same":…}` for a message that another reference contains with this
//! `label`.

mod additions;
mod answers;
mod context;
mod foreign;
mod history;
mod input;
mod items;
mod log;
mod made;
mod message;
mod message_store;
mod names;
mod prompt;
mod read;
mod repair;
mod resolve;
mod rows;
mod sniff;
mod state;
mod survey;
mod wire;
mod write;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{
    Agent, Cx, Files, Format, Inserted, Mends, Parts, Piece, Reader, Required, Shared, Sink,
    Version, Writer, Writing, no_session,
};
use crate::framing::show_lines;
use crate::json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};
use sniff::{Shape, shape, sniff};
use std::borrow::Cow;

const NAME: &str = "codelia";

/// Members of headers, inputs and states that contain folders of a session, or files in them.
const FOLDERS: &[&str] = &[
    "cwd",
    "root",
    "workspace_root",
    "codelia_workspace_root",
    "working_dir",
    "sandbox_root",
    "active_file",
    "path",
];

/// Entry of the format in the table of formats.
pub static FORMAT: Format = Format {
    // Every release reads both stores; the older one needs no database.
    usual: Some(1),
    pieces: Some(pieces),
    files: Files {
        shared: Some(Shared {
            member: names::member,
            roster: rows::sessions,
            main: names::main,
            one_run: "run",
            is_only_read: |_| false,
            successor: None,
        }),
        folders: FOLDERS,
        messages: &["messages", "message", "content", "arguments", "output", "event", "input"],
        home: Some(names::home),
        ..Files::ONE
    },
    agent: Agent {
        unresumable: "its runtime gets the identifier of a session with each run, and no command is known \
                      that names one",
        context: Some(context::open),
        mends: Mends::Calls,
        prompt: Some(prompt::open),
        additions: Some(additions::addition),
        // Messages of role user that hold the summary of a compaction, and what it keeps.
        inserted: Inserted { passages: &[("[codelia.compaction.", "")], ..Inserted::NOTHING },
        ..Agent::UNKNOWN
    },
    ..Format::new(Required {
        name: NAME,
        summary: "runs and session state of Codelia (JSON Lines)",
        source: "codelia, 3fe5dc9 to release 0.1.80",
        versions: &[
            Version {
                number: 1,
                summary: "runs, and states in files of their own (February 2026)",
                schema: include_str!("../../../schemas/codelia/v1.schema.json"),
                tree: false,
                kinds: KINDS,
            },
            Version {
                number: 2,
                summary: "runs, and states in a database, each with a message log",
                schema: include_str!("../../../schemas/codelia/v2.schema.json"),
                tree: false,
                kinds: KINDS,
            },
        ],
        extensions: &[".jsonl", ".json"],
        sniff,
        read,
        write,
        repair: repair::repair,
    })
};

const KINDS: &[Kind] = &[
    Kind::Session,
    Kind::Message,
    Kind::Run,
    Kind::Status,
    Kind::RunError,
    Kind::RunContext,
    Kind::Request,
    Kind::Response,
    Kind::Snapshot,
    Kind::Event,
    Kind::ToolOutput,
    Kind::Opaque,
];

fn read<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    if parts.names().iter().any(|name| !name.is_empty()) {
        return read::open_whole(parts, cx);
    }
    match shape(parts)? {
        Shape::Run => read::open(parts, cx),
        Shape::State => state::open(parts, cx),
        Shape::Log => log::open(parts, cx),
    }
}

fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    let single = shape(parts)?;
    let lines_or_state = |name: &str| !name.starts_with(rows::DATABASE);
    for (part, name) in (0..).zip(parts.names()).filter(|(_, name)| lines_or_state(name)) {
        let read = parts.open(&name)?;
        let show = &mut |at, piece: &[u8]| show(Position { part, ..at }, piece);
        let state = if name.is_empty() { single == Shape::State } else { name.ends_with(".json") };
        let shown = match state {
            true => state::shown(read, cx, show)?,
            false => show_lines(read, part, cx, whole, show)?,
        };
        if shown.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns a line that is a whole JSON value.
fn whole(line: &[u8]) -> Option<Cow<'_, [u8]>> {
    json::is_whole(line).then_some(Cow::Borrowed(line))
}

fn write<'a>(sink: &'a mut dyn Sink, version: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    Ok(Box::new(Choosing { sink: Some(sink), version, cx, chosen: None }))
}

/// Writer that waits for the session record, which decides what kind of file is written.
struct Choosing<'a> {
    sink: Option<&'a mut dyn Sink>,
    version: &'static Version,
    cx: &'a Cx<'a>,
    chosen: Option<Box<dyn Writer + 'a>>,
}

impl Writer for Choosing<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        if let Some(sink) = self.sink.take() {
            let node = &located.value.node;
            if located.value.kind != Kind::Session {
                return Err(no_session(located.at));
            }
            let own = node.text(Field::Source).is_some_and(|source| source.starts_with(NAME));
            let layout = node.text(Field::Layout).filter(|_| own);
            // A run or a state alone in a file gets the name of Codelia's own file if that is
            // requested.
            let placed = sink.is_native() || (sink.takes_parts() && self.version.number == 2);
            let mut writer = match layout.as_deref() {
                Some("run") if sink.is_native() => {
                    write::open_whole(sink, self.version.number, self.cx)?
                }
                Some("state") if placed => write::open_whole(sink, self.version.number, self.cx)?,
                Some("run") => write::open(sink, self.cx)?,
                Some("state" | "log") if self.version.number == 1 => {
                    state::open_writer(sink, self.cx)?
                }
                Some("state" | "log") => log::open_writer(sink, self.cx)?,
                None if own => write::open_whole(sink, self.version.number, self.cx)?,
                _ => foreign::open(sink, node, self.version.number, self.cx)?,
            };
            if own {
                writer.record(located)?;
            }
            self.chosen = Some(writer);
            return Ok(());
        }
        self.chosen.as_mut().map_or(Ok(()), |writer| writer.record(located))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        match self.chosen {
            Some(writer) => writer.finish(),
            None => Err(Error::unfit(Diagnostic::new(Code::Empty, "no session record"))),
        }
    }
}
