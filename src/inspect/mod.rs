//! Inspection of a session: its header, counts, tree, tokens and cost.

mod draw;
pub mod preview;
mod room;

pub use draw::{Item, Row};

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts, Reader};
use crate::ids::hash;
use crate::json::Json;
use crate::origin;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, block};
use crate::session::{Session, Visitor, is_entry};
use crate::turns::{Turn, Turns};
use crate::usage::{Tally, Usage};
use crate::user_words::UserWords;
use draw::{Drawing, Marks};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Options for the drawing of the tree.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Whether every entry gets a row of its own; otherwise runs of entries share one.
    pub full: bool,
    /// Maximum number of rows.
    pub rows: usize,
}

/// The verdict on a session that opens and can be continued.
pub const VALID: &str = "valid";

/// Results of the inspection of a session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inspection {
    /// The verdict of `validate`: `valid` if the session opens and can be continued, `refused` by
    /// the interface of the model, or `invalid`.
    pub state: &'static str,
    /// Fields of the header, by the model's names.
    #[serde(serialize_with = "as_map")]
    pub header: Vec<(&'static str, String)>,
    /// The session's name.
    pub name: Option<String>,
    /// Entries of the file.
    pub entries: u64,
    /// Records by kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Bytes of the values of records by kind; images of messages are counted apart.
    pub room: BTreeMap<&'static str, u64>,
    /// Messages by role.
    pub roles: BTreeMap<String, u64>,
    /// Calls of tools by the tool's name.
    pub calls: BTreeMap<String, u64>,
    /// Runs of the agent by their outcome, where sessions have such.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub runs: BTreeMap<String, u64>,
    /// Answers by the model that gave them.
    pub models: BTreeMap<String, u64>,
    /// Questions of the user.
    pub turns: u64,
    /// Sub-agents whose messages the session contains.
    #[serde(skip_serializing_if = "is_none")]
    pub agents: usize,
    /// The calls that started them, by their hashes.
    #[serde(skip)]
    agent_calls: BTreeSet<u64>,
    /// Counts on the path from the root to the leaf.
    pub active: Active,
    /// Tokens and cost of the whole file, all branches included.
    pub usage: Usage,
    /// The counts of [`usage`](Self::usage) while the session is read.
    #[serde(skip)]
    tally: Tally,
    /// The turns on the path from the root to the leaf.
    pub by_turn: Vec<Turn>,
    /// The first and the last time on an entry.
    pub times: Option<(String, String)>,
    /// The shape of the tree.
    pub tree: Shape,
    /// The identifier of the session's leaf.
    pub leaf: Option<String>,
    /// The origin beside the file, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The user's labels, by entry.
    pub labels: BTreeMap<String, String>,
    /// The tree as it is drawn.
    pub rows: Vec<Row>,
    /// Entries that are in no row, because there would be too many rows.
    pub not_drawn: u64,
}

/// Counts on the path from the root to the leaf.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Active {
    /// Entries.
    pub entries: u64,
    /// Messages.
    pub messages: u64,
    /// Questions of the user.
    pub turns: u64,
}

/// The shape of a tree.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Shape {
    /// Entries without a parent.
    pub roots: u64,
    /// Entries with more than one child.
    pub forks: u64,
    /// Entries without a child.
    pub ends: u64,
    /// Entries to which no root leads: those in a cycle, and their descendants.
    pub unreachable: u64,
}

/// Origin beside a file that was converted.
#[derive(Clone, Debug, Serialize)]
pub struct Origin {
    /// Format and version of the session that the file was converted from.
    pub source: String,
    /// Whether the file is as it was written; `None` where the origin cannot be used.
    pub unchanged: Option<bool>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_none(number: &usize) -> bool {
    *number == 0
}

fn as_map<S: Serializer>(pairs: &[(&str, String)], to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (*key, value)))
}

/// Inspects a session, in two walks over it. Memory is that of the index, the rows and the turns.
///
/// # Errors
/// If it cannot be read.
pub fn run(
    format: &'static Format,
    parts: &mut dyn Parts,
    request: Request,
    cx: &Cx<'_>,
) -> Result<Inspection> {
    let mut inspecting = Inspecting::new(format, parts, request)?;
    let session =
        Session::open_showing(format, parts, cx, &mut |located| inspecting.record(located))?;
    session.report_cycles(cx);
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    inspecting.again(session, &quiet)?.try_for_each(|item| item.map(drop))?;
    Ok(inspecting.finish())
}

/// An inspection while the session is read.
#[derive(Debug)]
pub struct Inspecting {
    found: Inspection,
    request: Request,
    user_words: UserWords,
    marks: Marks,
    nodes: u32,
    drawing: Drawing,
    turns: Turns,
}

impl Inspecting {
    /// Begins to inspect a session.
    ///
    /// # Errors
    /// If there is an origin beside it that cannot be read.
    pub fn new(format: &'static Format, parts: &mut dyn Parts, request: Request) -> Result<Self> {
        let origin = origin::look(parts)?;
        let origin = origin.map(|(source, unchanged)| Origin { source, unchanged });
        Ok(Self {
            found: Inspection { tally: Tally::of(format), origin, ..Inspection::default() },
            request,
            user_words: UserWords::of(format),
            marks: Marks::default(),
            nodes: 0,
            drawing: Drawing::default(),
            turns: Turns::of(format),
        })
    }

    /// Returns the results, once the session was read twice.
    #[must_use]
    pub fn finish(self) -> Inspection {
        let Drawing { rows, not_drawn, .. } = self.drawing;
        Inspection { by_turn: self.turns.finish(), rows, not_drawn, ..self.found }
    }
}

impl Visitor for Inspecting {
    fn record(&mut self, located: &Located<Record>) {
        self.user_words.note(&located.value);
        self.found.record(&located.value, self.user_words);
        if located.value.is_node() {
            self.marks.note(self.nodes, &located.value, self.user_words);
            self.nodes += 1;
        }
    }

    fn again<'a, 's: 'a>(&'a mut self, session: Session<'s>, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
        self.found.session(&session);
        let path = session.history();
        let labelled = |id: &Json| session.tree().ordinal(id);
        let leaf = session.leaf().and_then(labelled);
        self.marks.points(session.labels().filter_map(|(id, _)| labelled(id)).chain(leaf));
        let (tree, labels, records) = session.into_tree_labels_records(cx)?;
        let drawing = draw::draw(&tree.into_branches(), &path, &self.marks, self.request);
        let unreachable = u64::from(self.nodes) - drawing.reached;
        self.found.tree = Shape { unreachable, ..drawing.shape };
        self.drawing = drawing;
        let mut ordinal = 0;
        Ok(Box::new(records.inspect(move |item| {
            let Ok(located) = item else { return };
            let is_node = located.value.is_node();
            let active = path.contains(ordinal);
            self.turns.record(&located.value, !is_node || active);
            if !is_node {
                return;
            }
            if active {
                self.found.active.record(&located.value, self.user_words);
            }
            if let Some(row) = self.drawing.row(ordinal) {
                describe(row, located, &labels, Some(ordinal) == leaf, active);
            }
            ordinal += 1;
        })))
    }
}

/// Fills a row with the data of its entry.
fn describe(
    row: &mut Row,
    located: &Located<Record>,
    labels: &HashMap<Json, Json>,
    leaf: bool,
    active: bool,
) {
    let Record { kind, node } = &located.value;
    let id = node.json(Field::Id);
    row.item = Item::Entry {
        id: id.and_then(Json::text).unwrap_or_default(),
        line: located.at.line,
        kind: kind.name(),
        role: node.text(Field::Role),
        time: node.text(Field::Time),
        text: preview::text(&located.value),
        label: id.and_then(|id| labels.get(id)).and_then(Json::text),
        leaf,
        active,
    };
}

/// Maximum number of names that are counted one by one; the others share [`OTHERS`].
const NAMES: usize = 100;
const OTHERS: &str = "(others)";

/// Name for the outcome of a run that has none.
const OPEN: &str = "(no end)";

fn count(names: &mut BTreeMap<String, u64>, name: String) {
    let known = names.len() < NAMES || names.contains_key(&name);
    *names.entry(if known { name } else { OTHERS.to_owned() }).or_default() += 1;
}

impl Inspection {
    /// Whether the verdict is that the session opens and can be continued.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.state == VALID
    }

    fn record(&mut self, record: &Record, user_words: UserWords) {
        let node = &record.node;
        self.entries += u64::from(is_entry(record));
        if record.kind != Kind::Session {
            *self.kinds.entry(record.kind.name()).or_default() += 1;
        }
        if record.kind == Kind::Message {
            count(&mut self.roles, node.text(Field::Role).unwrap_or_default());
            self.turns += u64::from(user_words.is_question(record));
            let agent = node.json(Field::ParentCall).filter(|call| !call.is_null());
            self.agent_calls.extend(agent.map(|call| hash(call.as_bytes())));
            self.agents = self.agent_calls.len();
            for call in node.content() {
                if call.is(Field::Type, block::TOOL_CALL) {
                    count(&mut self.calls, call.text(Field::Name).unwrap_or_default());
                }
            }
            if node.is(Field::Role, "assistant")
                && let Some(model) = preview::model(node)
            {
                count(&mut self.models, model);
            }
        }
        if record.kind == Kind::Run {
            self.run(node);
        }
        room::note(&mut self.room, record);
        self.tally.record(record);
        if record.kind == Kind::Turn {
            preview::model(node).into_iter().for_each(|model| count(&mut self.models, model));
        }
        // The messages of sub-agents may be behind the conversation.
        let own = node.json(Field::ParentCall).is_none();
        if let Some(time) = node.text(Field::Time).filter(|_| own) {
            match &mut self.times {
                None => self.times = Some((time.clone(), time)),
                Some((_, last)) => *last = time,
            }
        }
    }

    /// Counts the begin of a run, or its end with an outcome.
    fn run(&mut self, node: &Node) {
        let open = OPEN.to_owned();
        if node.json(Field::Run).is_some() {
            *self.runs.entry(open).or_default() += 1;
        } else if let Some(outcome) = node.text(Field::Outcome) {
            if let Some(runs) = self.runs.get_mut(&open) {
                *runs = runs.saturating_sub(1);
            }
            self.runs.retain(|_, runs| *runs > 0);
            count(&mut self.runs, outcome);
        }
    }

    /// Notes the data of the session as a whole.
    fn session(&mut self, session: &Session<'_>) {
        self.usage = std::mem::take(&mut self.tally).finish();
        let node = &session.header().node;
        let fields = [
            Field::Source,
            Field::Id,
            Field::Created,
            Field::Updated,
            Field::Cwd,
            Field::Agent,
            Field::Provider,
            Field::Model,
            Field::ThinkingLevel,
        ];
        let named = |field: Field| Some((field.name(), node.text(field)?));
        self.header = fields.into_iter().filter_map(named).collect();
        if let Some(parent) = node.node(Field::ParentSession) {
            let known = [Field::Path, Field::Id, Field::Data];
            let parent = known.into_iter().find_map(|field| parent.text(field));
            self.header.extend(parent.map(|parent| (Field::ParentSession.name(), parent)));
        }
        let client = node.json(Field::Client).and_then(client);
        self.header.extend(client.map(|client| (Field::Client.name(), client)));
        self.name = session.name().and_then(Json::text);
        self.leaf = session.leaf().and_then(Json::text);
        self.labels = session.labels().filter_map(|(a, b)| Some((a.text()?, b.text()?))).collect();
    }
}

/// Describes the program that wrote a session: its name, and its releases.
fn client(client: &Json) -> Option<String> {
    let object = Some(client).filter(|it| it.is_object())?;
    let text = |name| object.text_of(name);
    let all = object.member("releases").filter(Json::is_list);
    let all: Vec<_> = all.iter().flat_map(Json::elements).filter_map(|one| one.text()).collect();
    let releases = if all.is_empty() { text("version") } else { Some(all.join(", ")) };
    let words: Vec<_> = [text("name"), releases].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl Active {
    fn record(&mut self, record: &Record, user_words: UserWords) {
        self.entries += 1;
        self.messages += u64::from(record.kind == Kind::Message);
        self.turns += u64::from(user_words.is_question(record));
    }
}
