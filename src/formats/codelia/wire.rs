//! Members of the lines of a run, each once, in the order in which Codelia's runtime writes them.
//!
//! Source: codelia `packages/shared-types/src/session-store` and `packages/storage` from 3fe5dc9 to
//! 48e27ff, and files that the releases at both ends of this range wrote.

use crate::json::{Fault, Json, Span, text};
use crate::mapping::{self, How, Object, Row, Source, apart, fixed, kept, object, row, within};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;

/// Type of line.
#[derive(Debug)]
pub struct Type {
    /// Name of the type in Codelia.
    pub wire: &'static str,
    /// Kind of record in the model.
    pub kind: Kind,
    /// Layout that distinguishes the lines of this kind, if there are several types.
    pub layout: Option<&'static str>,
    /// Members beyond `type`.
    pub rows: &'static [Row],
}

const fn line(wire: &'static str, kind: Kind, rows: &'static [Row]) -> Type {
    Type { wire, kind, layout: None, rows }
}

const META: Row = row("meta", Field::Meta);
const RUN: Row = row("run_id", Field::Run);
const SESSION: Row = row("session_id", Field::Session);
const TIME: Row = row("ts", Field::Time);
const SEQ: Row = row("seq", Field::Seq);
const MODEL: &[Row] = &[row("provider", Field::Provider), row("name", Field::Model), LEVEL];
const LEVEL: Row = row("reasoning", Field::ThinkingLevel);

/// Layout of a record of the kind `run` that represents a run's header.
pub const HEADER: &str = "header";
/// Layout of a record of the kind `run` that represents a run's first line after its header.
pub const START: &str = "start";
/// Layout of a record of the kind `run` that represents a run's last line.
pub const END: &str = "end";

/// Every type of line.
pub static TYPES: &[Type] = &[
    Type {
        wire: "header",
        kind: Kind::Run,
        layout: Some(HEADER),
        rows: &[
            fixed("schema_version", "1"),
            RUN,
            SESSION,
            row("started_at", Field::Created),
            row("client", Field::Client),
            row("server", Field::Server),
            within("model", None, MODEL),
            within("prompts", Some(Field::Prompts), &[row("system", Field::SystemPrompt)]),
            within("tools", None, &[row("definitions", Field::Tools)]),
            within("runtime", Some(Field::Runtime), &[row("cwd", Field::Cwd)]),
            META,
        ],
    },
    Type {
        wire: "run.start",
        kind: Kind::Run,
        layout: Some(START),
        rows: &[RUN, SESSION, TIME, apart("input"), row("ui_context", Field::Context), META],
    },
    line(
        "run.context",
        Kind::RunContext,
        &[RUN, TIME, row("context_left_percent", Field::ContextLeft), META],
    ),
    line("agent.event", Kind::Event, &[RUN, TIME, SEQ, row("event", Field::Data), META]),
    line(
        "tool.output",
        Kind::ToolOutput,
        &[
            RUN,
            TIME,
            row("tool", Field::Name),
            row("tool_call_id", Field::Call),
            row("result_raw", Field::Output),
            row("is_error", Field::IsError),
            row("output_ref", Field::Reference),
            META,
        ],
    ),
    line(
        "llm.request",
        Kind::Request,
        &[
            RUN,
            TIME,
            SEQ,
            within("model", None, MODEL),
            within(
                "input",
                None,
                &[
                    apart("messages"),
                    row("tools", Field::Tools),
                    row("tool_choice", Field::ToolChoice),
                    row("session_key", Field::Session),
                ],
            ),
            META,
        ],
    ),
    line(
        "llm.response",
        Kind::Response,
        &[
            RUN,
            TIME,
            SEQ,
            within(
                "output",
                None,
                &[
                    apart("messages"),
                    object("usage", Field::Usage, USAGE),
                    row("stop_reason", Field::StopReason),
                    row("provider_meta", Field::ProviderMeta),
                ],
            ),
            META,
        ],
    ),
    line(
        "run.status",
        Kind::Status,
        &[RUN, TIME, row("status", Field::Status), row("message", Field::Message), META],
    ),
    line(
        "run.error",
        Kind::RunError,
        &[
            RUN,
            TIME,
            within(
                "error",
                Some(Field::Data),
                &[row("name", Field::Name), row("message", Field::Message)],
            ),
            META,
        ],
    ),
    Type {
        wire: "run.end",
        kind: Kind::Run,
        layout: Some(END),
        rows: &[RUN, TIME, row("outcome", Field::Outcome), row("final", Field::Final), META],
    },
];

const USAGE: &[Row] = &[
    kept("model"),
    kept("provider_model"),
    row("input_tokens", Field::InputTokens),
    row("input_cached_tokens", Field::CacheRead),
    row("input_cache_creation_tokens", Field::CacheWrite),
    kept("input_image_tokens"),
    row("output_tokens", Field::OutputTokens),
    row("total_tokens", Field::Total),
];

/// Line as a record, with its conversation member still separate.
#[derive(Debug)]
pub struct Parsed {
    /// Record of the line.
    pub record: Record,
    /// Type of the line; `None` for a line of an unknown type or shape, which is kept whole.
    pub of: Option<&'static Type>,
    /// Position of the value of the conversation member.
    pub apart: Option<Span>,
}

impl Parsed {
    /// Whether the line is of the type with this wire name.
    pub fn is(&self, wire: &str) -> bool {
        self.of.is_some_and(|of| of.wire == wire)
    }
}

/// Reads a line that is UTF-8.
pub fn read(text: &Bytes) -> Result<Parsed, Fault> {
    let mut source = Source::new(text);
    let name = source.peek_text("type")?;
    let Some(of) = TYPES.iter().find(|of| Some(of.wire) == name.as_deref()) else {
        return whole(text, name.as_deref());
    };
    let mut record = Record::new(of.kind);
    source.unique = true;
    source.object(of.rows, Some("type"), &mut record.node)?;
    source.cursor.end()?;
    let listed = source.apart.is_none_or(|span| span.of(text).starts_with(b"["));
    let list = matches!(of.kind, Kind::Request | Kind::Response);
    if source.ambiguous || (list && !listed) {
        return whole(text, Some(of.wire));
    }
    if let Some(layout) = of.layout {
        record.node.set(Field::Layout, Json::string(layout));
    }
    Ok(Parsed { record, of: Some(of), apart: source.apart })
}

/// Keeps the one value of a line as it is.
fn whole(text: &Bytes, name: Option<&str>) -> Result<Parsed, Fault> {
    Ok(Parsed { record: mapping::whole(text, name)?, of: None, apart: None })
}

/// Returns the type of line that a record represents.
pub fn type_of(record: &Record) -> Option<&'static Type> {
    let is = |layout| record.node.is(Field::Layout, layout);
    let fits = |of: &&Type| of.kind == record.kind && of.layout.is_none_or(is);
    TYPES.iter().find(fits)
}

/// Appends the line that a record represents, with the value of its conversation member.
pub fn write(of: &Type, node: &Node, apart: Option<&[u8]>, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    text::quote(of.wire, object.key("type"));
    members(of.rows, node, node.json(Field::Extra), apart, &mut object);
    object.close();
}

/// Writes the members of an object; `apart` is the value of its [`How::Custom`] member, if it has
/// one.
pub fn members(
    rows: &'static [Row],
    node: &Node,
    extra: Option<&Json>,
    apart: Option<&[u8]>,
    object: &mut Object<'_>,
) {
    object.in_order(rows, node, extra, &mut |row, object| {
        let apart = apart.filter(|_| matches!(row.how, How::Custom));
        apart.into_iter().for_each(|apart| object.member(row.key, apart));
        apart.is_some()
    });
}

/// Joins messages to a list as Codelia spells it.
pub fn joined(list: &[Json]) -> Vec<u8> {
    Json::list(list).into_bytes().into()
}
