//! Context that pi sends to a model: the messages on the path to the leaf, after compactions and
//! edits.
//!
//! The module `crate::context_rules` selects these messages, by the rules of release 1.5.2. Earlier
//! releases differ in three ways only: they know no context edits and no system messages, and they
//! leave `content: null` as it is.

use super::served::Served;
use super::version::NEWEST;
use super::wire::BLOCKS;
use super::write;
use crate::context_rules::{self, Chosen};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Api, Context, Interface, Resent};
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, Row, blocks, row};
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Begins a context.
pub fn open(_session: &Record) -> Box<dyn Context> {
    Box::<Building>::default()
}

#[derive(Default)]
struct Building {
    level: Option<Json>,
    chosen: Chosen,
    served: Served,
    /// The system message that the last compaction contains.
    system: Option<Node>,
    /// Whether a message was sent.
    began: bool,
}

impl Context for Building {
    fn look(&mut self, position: u32, located: &Located<Record>) -> Result<()> {
        let Record { kind, node } = &located.value;
        self.chosen.look(position, &located.value);
        let provider = node.text(Field::Provider);
        match kind {
            Kind::Message if node.is(Field::Role, "assistant") => {
                self.served.answer(provider, node.text(Field::Api));
            }
            Kind::ModelChange => self.served.change(provider),
            Kind::ThinkingChange => self.level = node.json(Field::Level).cloned(),
            Kind::Opaque if node.is(Field::Type, "message") => {
                let found = Diagnostic::of(Code::NoMessage);
                return Err(Error::unfit(found.at(located.at)));
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, place: &dyn Fn(&Json) -> Option<u32>) -> Vec<Record> {
        let Some(node) = self.chosen.compaction(place) else { return Vec::new() };
        self.system = node.node(Field::SystemMessage).cloned();
        let system = self.system.as_ref().map(|system| {
            let mut node = system.clone();
            if let Some(Value::Json(extra)) = node.take(Field::Extra) {
                let mut own = Extra::default();
                own.add(b"\"message\"", extra.as_bytes());
                own.put(&mut node);
            }
            Record { kind: Kind::Message, node }
        });
        let summary = Record { kind: Kind::Compaction, node };
        system.into_iter().chain([summary]).collect()
    }

    fn message(&mut self, position: u32, record: &Record) -> Option<Record> {
        self.chosen.message(position, record).map(completed)
    }

    fn taken(&mut self, position: u32, record: Record) -> Option<Record> {
        self.chosen.taken(position, record).map(completed)
    }

    fn edited(&self, record: &Record) -> Option<Record> {
        self.chosen.edited(record)
    }

    fn own(&self, message: &Record, out: &mut Vec<u8>) {
        let node = &message.node;
        let (role, rows) = match message.kind {
            Kind::Compaction => ("compactionSummary", SUMMARY),
            Kind::BranchSummary => ("branchSummary", BRANCH),
            _ if is_custom_entry(node) => ("custom", CUSTOM),
            _ => {
                let extra = write::message_extra(message);
                write::message(node, NEWEST, extra.as_ref(), out);
                return;
            }
        };
        let mut object = Object::open(out);
        text::quote(role, object.key("role"));
        object.rows(rows, node);
        object.member("timestamp", &milliseconds(node));
        object.close();
    }

    fn sent(&mut self, message: &Record) -> Option<Node> {
        let first = !std::mem::replace(&mut self.began, true);
        context_rules::message(message, first)
    }

    fn is_sent(&mut self, message: &Record) -> bool {
        self.began = true;
        context_rules::is_sent(message)
    }

    fn resent(&self, api: Api) -> Option<Box<dyn Resent>> {
        Some(self.chosen.resent(api, self.system.as_ref()))
    }

    fn interface(&self) -> Option<Interface> {
        self.served.interface()
    }

    fn settings(&self) -> Vec<(&'static str, Vec<u8>)> {
        let off = Json::constant("\"off\"");
        let level = self.level.as_ref().unwrap_or(&off).as_bytes().to_vec();
        let model = match self.chosen.model() {
            None => b"null".to_vec(),
            Some((provider, model)) => {
                let mut out = Vec::new();
                let mut object = Object::open(&mut out);
                for (key, value) in [("provider", provider), ("modelId", model)] {
                    if let Some(value) = value {
                        object.member(key, value.as_bytes());
                    }
                }
                object.close();
                out
            }
        };
        vec![("thinkingLevel", level), ("model", model)]
    }
}

const SUMMARY: &[Row] = &[row("summary", Field::Summary), row("tokensBefore", Field::TokensBefore)];
const BRANCH: &[Row] = &[row("summary", Field::Summary), row("fromId", Field::From)];
const CUSTOM: &[Row] = &[
    row("customType", Field::CustomType),
    blocks("content", Field::Content, BLOCKS),
    row("display", Field::Display),
    row("details", Field::Details),
];

/// Whether a message is an entry of its own, without an object for the message.
fn is_custom_entry(node: &Node) -> bool {
    node.is(Field::Subtype, "custom_message")
}

/// Completes a message as pi reads it.
fn completed(mut message: Record) -> Record {
    if message.kind == Kind::Message && !is_custom_entry(&message.node) {
        complete(&mut message.node);
    }
    message
}

/// Reads `content: null` as pi does: as empty content.
fn complete(node: &mut Node) {
    let empty = if node.is(Field::Role, "system") {
        Value::Json(Json::constant("\"\""))
    } else {
        Value::Nodes(Vec::new())
    };
    match node.get_mut(Field::Content) {
        Some(Value::Json(json)) if json.is_null() => node.set(Field::Content, empty),
        Some(Value::Nodes(blocks)) => {
            let result = blocks.first_mut().filter(|b| b.is(Field::Type, block::TOOL_RESULT));
            if let Some(result) = result
                && result.json(Field::Content).is_some_and(Json::is_null)
            {
                result.set(Field::Content, empty);
            }
        }
        _ => {}
    }
}

/// Returns the entry's time as JavaScript's `Date.parse` does, in milliseconds; `null` if the time
/// is not an ISO time.
fn milliseconds(node: &Node) -> Vec<u8> {
    let time = node.text(Field::Time).and_then(|time| time.parse::<jiff::Timestamp>().ok());
    time.map_or(b"null".to_vec(), |time| time.as_millisecond().to_string().into_bytes())
}
