//! Members of the lines of a run, each once, in the order in which Codelia's runtime writes them.
//!
//! Source: codelia `packages/shared-types/src/session-store` and `packages/storage` from 3fe5dc9 to
//! 48e27ff, and files that the releases at both ends of this range wrote.

use super::slots::{self, Found, Slot};
use crate::json::{Fault, Json, Span, text};
use crate::mapping::{self, Object, Source, row};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;

use Slot::{Fixed, Group, Kept, Said, Value, Within};

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
    pub slots: &'static [Slot],
}

const fn line(wire: &'static str, kind: Kind, slots: &'static [Slot]) -> Type {
    Type { wire, kind, layout: None, slots }
}

const META: Slot = Value(row("meta", Field::Meta));
const RUN: Slot = Value(row("run_id", Field::Run));
const SESSION: Slot = Value(row("session_id", Field::Session));
const TIME: Slot = Value(row("ts", Field::Time));
const SEQ: Slot = Value(row("seq", Field::Seq));
const MODEL: &[Slot] =
    &[Value(row("provider", Field::Provider)), Value(row("name", Field::Model)), LEVEL];
const LEVEL: Slot = Value(row("reasoning", Field::ThinkingLevel));

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
        slots: &[
            Fixed("schema_version", "1"),
            RUN,
            SESSION,
            Value(row("started_at", Field::Created)),
            Value(row("client", Field::Client)),
            Value(row("server", Field::Server)),
            Within("model", MODEL, None),
            Within("prompts", &[Value(row("system", Field::SystemPrompt))], Some(Field::Prompts)),
            Within("tools", &[Value(row("definitions", Field::Tools))], None),
            Within("runtime", &[Value(row("cwd", Field::Cwd))], Some(Field::Runtime)),
            META,
        ],
    },
    Type {
        wire: "run.start",
        kind: Kind::Run,
        layout: Some(START),
        slots: &[RUN, SESSION, TIME, Said("input"), Value(row("ui_context", Field::Context)), META],
    },
    line(
        "run.context",
        Kind::RunContext,
        &[RUN, TIME, Value(row("context_left_percent", Field::ContextLeft)), META],
    ),
    line("agent.event", Kind::Event, &[RUN, TIME, SEQ, Value(row("event", Field::Data)), META]),
    line(
        "tool.output",
        Kind::ToolOutput,
        &[
            RUN,
            TIME,
            Value(row("tool", Field::Name)),
            Value(row("tool_call_id", Field::Call)),
            Value(row("result_raw", Field::Output)),
            Value(row("is_error", Field::IsError)),
            Value(row("output_ref", Field::Reference)),
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
            Within("model", MODEL, None),
            Within(
                "input",
                &[
                    Said("messages"),
                    Value(row("tools", Field::Tools)),
                    Value(row("tool_choice", Field::ToolChoice)),
                    Value(row("session_key", Field::Session)),
                ],
                None,
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
            Within(
                "output",
                &[
                    Said("messages"),
                    Group("usage", Field::Usage, USAGE),
                    Value(row("stop_reason", Field::StopReason)),
                    Value(row("provider_meta", Field::ProviderMeta)),
                ],
                None,
            ),
            META,
        ],
    ),
    line(
        "run.status",
        Kind::Status,
        &[
            RUN,
            TIME,
            Value(row("status", Field::Status)),
            Value(row("message", Field::Message)),
            META,
        ],
    ),
    line(
        "run.error",
        Kind::RunError,
        &[
            RUN,
            TIME,
            Within(
                "error",
                &[Value(row("name", Field::Name)), Value(row("message", Field::Message))],
                Some(Field::Data),
            ),
            META,
        ],
    ),
    Type {
        wire: "run.end",
        kind: Kind::Run,
        layout: Some(END),
        slots: &[
            RUN,
            TIME,
            Value(row("outcome", Field::Outcome)),
            Value(row("final", Field::Final)),
            META,
        ],
    },
];

const USAGE: &[Slot] = &[
    Kept("model"),
    Kept("provider_model"),
    Value(row("input_tokens", Field::InputTokens)),
    Value(row("input_cached_tokens", Field::CacheRead)),
    Value(row("input_cache_creation_tokens", Field::CacheWrite)),
    Kept("input_image_tokens"),
    Value(row("output_tokens", Field::OutputTokens)),
    Value(row("total_tokens", Field::Total)),
];

/// Line as a record, with its conversation member still separate.
#[derive(Debug)]
pub struct Parsed {
    /// Record of the line.
    pub record: Record,
    /// Type of the line; `None` for a line of an unknown type or shape, which is kept whole.
    pub of: Option<&'static Type>,
    /// Position of the value of the conversation member.
    pub said: Option<Span>,
}

impl Parsed {
    /// Whether the line is of the type with this wire name.
    #[must_use]
    pub fn is(&self, wire: &str) -> bool {
        self.of.is_some_and(|of| of.wire == wire)
    }
}

/// Reads a line that is UTF-8.
///
/// # Errors
/// If it is not one JSON value.
pub fn read(text: &Bytes) -> Result<Parsed, Fault> {
    let mut source = Source::new(text);
    let name = source.peek_text("type")?;
    let Some(of) = TYPES.iter().find(|of| Some(of.wire) == name.as_deref()) else {
        return whole(text, name.as_deref());
    };
    let (mut record, mut found) = (Record::new(of.kind), Found::default());
    let extra = slots::read(&mut source, of.slots, Some("type"), &mut record.node, &mut found)?;
    source.cursor.end()?;
    let listed = found.said.is_none_or(|span| span.of(text).starts_with(b"["));
    let list = matches!(of.kind, Kind::Request | Kind::Response);
    if found.twice || (list && !listed) {
        return whole(text, Some(of.wire));
    }
    if let Some(layout) = of.layout {
        record.node.set(Field::Layout, Json::string(layout));
    }
    if let Some(extra) = extra.finish() {
        record.node.set(Field::Extra, extra);
    }
    Ok(Parsed { record, of: Some(of), said: found.said })
}

/// Keeps the one value of a line as it is.
fn whole(text: &Bytes, name: Option<&str>) -> Result<Parsed, Fault> {
    Ok(Parsed { record: mapping::whole(text, name)?, of: None, said: None })
}

/// Returns the type of line that a record represents.
#[must_use]
pub fn type_of(record: &Record) -> Option<&'static Type> {
    let is = |layout| record.node.is(Field::Layout, layout);
    let fits = |of: &&Type| of.kind == record.kind && of.layout.is_none_or(is);
    TYPES.iter().find(fits)
}

/// Appends the line that a record represents, with the value of its conversation member.
pub fn write(of: &Type, node: &Node, said: Option<&[u8]>, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    text::quote(of.wire, object.key("type"));
    slots::write(of.slots, node, node.json(Field::Extra), said, &mut object);
    object.close();
}

/// Joins messages to a list as Codelia spells it.
#[must_use]
pub fn joined(list: &[Json]) -> Vec<u8> {
    let list: Vec<&[u8]> = list.iter().map(Json::as_bytes).collect();
    [b"[", list.join(&b","[..]).as_slice(), b"]"].concat()
}
