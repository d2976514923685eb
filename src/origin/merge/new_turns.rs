//! New questions of the file, in the form in which the source format records a question.

use crate::formats::Spec;
use crate::json::Json;
use crate::origin::file_records::renamed;
use crate::origin::merge::native_form::read_back;
use crate::origin::merge::restored_texts::Turn;
use crate::record::{Field, Kind, Node, Record, Value};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of messages of one question and its answers. Further messages count as answers
/// without a question.
const MOST: usize = 10_000;

/// Questions that are added to a session.
#[derive(Default)]
pub struct NewTurns {
    /// Fields of the session's record.
    session: Node,
    /// Highest number of a turn, or number of turns; `None` if the source contains no turns.
    turns: Option<u64>,
    /// Whether the last run is over; `None` if the source contains no runs.
    over: Option<bool>,
    /// Whether the source has events that repeat messages for a user interface.
    events: bool,
    /// Last sequence number of each kind of record.
    numbers: HashMap<Kind, f64>,
    /// Time of the record before the open question.
    before: Option<Json>,
    /// The open question and its answers.
    open: Vec<NewMessage>,
    /// New turns of the file by their numbers, and the new turn of the open question.
    file_turns: BTreeMap<Turn, Record>,
    turn: Option<Record>,
    /// Whether the file has the source format, and its own records around a question.
    pub native: bool,
    /// Fields of the session's state that the new runs change.
    state: Node,
    /// Number of answers of the new runs.
    answers: u64,
}

/// New message of the file.
struct NewMessage {
    /// Message in the form of the file.
    shown: Record,
    /// Messages in the form of the source format.
    made: Vec<Record>,
    /// Records behind the message that are not messages.
    behind: Vec<Record>,
}

/// Fields that a turn of another format knows better than a turn that is made of its messages.
const TURN_FIELDS: &[Field] = &[
    Field::Time,
    Field::Model,
    Field::Duration,
    Field::Tokens,
    Field::TotalCost,
    Field::Eval,
    Field::Attempt,
];

fn whole(json: &Json) -> Option<u64> {
    json.float().filter(|number| *number >= 0.0).map(|number| number as u64)
}

/// Whether a record is a message of the user.
pub fn is_question(record: &Record) -> bool {
    record.kind == Kind::Message && record.node.is(Field::Role, "user")
}

impl NewTurns {
    /// Returns the fields of the session's record.
    pub fn session(&self) -> &Node {
        &self.session
    }

    /// Notes a record that the source contains or gets.
    pub fn note(&mut self, record: &Record) {
        let node = &record.node;
        match record.kind {
            Kind::Session if self.session.is_empty() => self.session = node.clone(),
            Kind::Turn => {
                let number = node.json(Field::Number).and_then(whole);
                let last = self.turns.unwrap_or_default();
                self.turns = Some(number.unwrap_or(last + 1).max(last));
            }
            Kind::Run if node.is(Field::Layout, "header") => {
                self.over = Some(false);
                // Answers are counted through all runs.
                self.numbers.retain(|kind, _| *kind == Kind::Response);
            }
            Kind::Run if node.is(Field::Layout, "end") => self.over = Some(true),
            Kind::Event if record.is_repetition() => self.events = true,
            kind => {
                if let Some(number) = node.json(Field::Seq).and_then(Json::float) {
                    self.numbers.insert(kind, number);
                }
            }
        }
    }

    /// Whether the open question ends before this message.
    pub fn ends_before(&self, message: &Record) -> bool {
        is_question(message) || self.open.len() >= MOST
    }

    /// Keeps a new turn of the file, which has number `turn` there.
    pub fn keep(&mut self, turn: Turn, record: Record) {
        self.file_turns.insert(turn, record);
    }

    /// Returns the time of a turn of the file if it is new, or else of the open question's turn.
    pub fn time_of(&self, turn: Option<Turn>) -> Option<&Json> {
        let kept = turn.and_then(|turn| self.file_turns.get(&turn)).or(self.turn.as_ref());
        kept?.node.json(Field::Time)
    }

    /// Adds a new message of this turn with its form in the source format. `before` is the time of
    /// the record before it.
    pub fn add(
        &mut self,
        turn: Option<Turn>,
        shown: Record,
        made: Vec<Record>,
        before: Option<Json>,
    ) {
        if self.open.is_empty() {
            self.before = before;
            self.turn = turn.and_then(|turn| self.file_turns.remove(&turn));
        }
        self.open.push(NewMessage { shown, made, behind: Vec::new() });
    }

    /// Adds a record behind the last open message that is not a message. Returns it where no
    /// message is open.
    pub fn behind(&mut self, record: Record) -> Option<Record> {
        match self.open.last_mut() {
            Some(message) => {
                message.behind.push(record);
                None
            }
            None => Some(record),
        }
    }

    /// Returns the new turns of the file that have no messages of their own.
    pub fn without_messages(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.file_turns).into_values().collect()
    }

    /// Ends the open question. Returns its messages with all records that `source_format` has of
    /// it.
    pub fn settle(&mut self, source_format: Option<Spec>) -> Vec<Record> {
        let open = std::mem::take(&mut self.open);
        let file_turn = self.turn.take();
        let (mut shown, mut made, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for message in open {
            shown.push(message.shown);
            // Records behind a message follow its last part.
            let last = message.made.len().saturating_sub(1);
            let parts = message.made.into_iter().enumerate();
            made.extend(
                parts.map(|(n, part)| (part, if n == last { message.behind.len() } else { 0 })),
            );
            waiting.extend(message.behind);
        }
        let source_format = source_format.filter(|_| !self.native);
        let all = source_format.and_then(|source_format| {
            self.with_source_records(source_format, shown, &made, file_turn.as_ref())
        });
        let ended = waiting.iter().any(|record: &Record| record.kind == Kind::Result);
        let mut waiting = waiting.into_iter();
        // A turn without a place in the source format stays in the stream.
        let mut out: Vec<_> = file_turn.into_iter().filter(|_| self.turns.is_none()).collect();
        for (record, behind) in all.unwrap_or(made) {
            // The file has its own record of how the prompt ended.
            if record.kind != Kind::Result || !ended {
                out.push(record);
            }
            out.extend(waiting.by_ref().take(behind));
        }
        out
    }

    /// Updates the state of the session with the new runs.
    pub fn extend(&self, state: &mut Node) {
        for (field, value) in self.state.iter() {
            state.set(field, value.clone());
        }
        let answers = state.json(Field::Seq).and_then(whole).filter(|_| self.answers > 0);
        answers.into_iter().for_each(|n| state.set(Field::Seq, Json::number(n + self.answers)));
    }

    /// Whether the source has records of this kind for a question.
    fn has_records_of(&self, kind: Kind, source_format: Spec) -> bool {
        match kind {
            Kind::Turn => self.turns.is_some(),
            Kind::Session | Kind::Snapshot | Kind::Message => false,
            Kind::Event if self.over.is_none() => self.events,
            // Agents that record how a prompt ended do so for each one.
            _ => self.over.is_some() || source_format.version().kinds.contains(&Kind::Result),
        }
    }

    /// Returns messages with the records that `source_format` has around them. The writer of
    /// `source_format` makes these. It gets the messages behind another question, as a session
    /// begins in other ways than it continues.
    fn with_source_records(
        &mut self,
        source_format: Spec,
        shown: Vec<Record>,
        made: &[(Record, usize)],
        file_turn: Option<&Record>,
    ) -> Option<Vec<(Record, usize)>> {
        let asks = is_question(shown.first()?);
        let around = [Kind::Turn, Kind::Run, Kind::Event];
        if !around.iter().any(|kind| self.has_records_of(*kind, source_format)) {
            return None;
        }
        let session = self.further_session(&made.first()?.0);
        let is_behind_run = !asks && self.over == Some(true);
        let first = self.before(asks || is_behind_run);
        let alone = read_back(source_format, session.clone(), first.clone())?;
        // Messages behind the end of a run, without a question, are in a run with an empty input.
        let input = is_behind_run.then(run_without_question);
        let all = read_back(source_format, session, first.into_iter().chain(input).chain(shown))?;
        let (from, to) = (state(&alone), state(&all));
        let written_id = all.first().and_then(|session| session.node.text(Field::Id));
        let new = behind(&alone, all);
        let ids = |records: &mut dyn Iterator<Item = &Record>| -> Vec<_> {
            records.filter_map(|record| record.node.json(Field::Id).cloned()).collect()
        };
        let old = ids(&mut new.iter().filter(|record| is_message(record)));
        let own = ids(&mut made.iter().map(|(record, _)| record));
        if old.len() != made.len() || own.len() != made.len() {
            return None;
        }
        let names: HashMap<_, _> = old.into_iter().zip(own).collect();
        let turns = alone.iter().filter(|record| record.kind == Kind::Turn).count() as u64;
        let before = self.turns.map(|last| (last, turns));
        let mut made = made.iter();
        let mut out = Vec::new();
        for mut record in new {
            let mut behind = 0;
            if is_message(&record) {
                let turn = record.node.take(Field::Turn);
                (record, behind) = made.next()?.clone();
                record.node.put(Field::Turn, turn);
            } else if !self.has_records_of(record.kind, source_format) {
                continue;
            } else {
                self.adopt(&mut record, &names);
                self.name_session(&mut record, written_id.as_deref());
                file_turn.into_iter().for_each(|file_turn| complete_turn(&mut record, file_turn));
            }
            number(&mut record.node, before);
            self.note(&record);
            out.push((record, behind));
        }
        self.remember(from, to, asks || is_behind_run);
        Some(out)
    }

    /// Returns the session record for the writer of `source_format`, with an identifier that
    /// nothing else has.
    fn further_session(&self, first: &Record) -> Record {
        let mut session = Record { kind: Kind::Session, node: self.session.clone() };
        [Field::Source, Field::Layout, Field::File, Field::Leaf, Field::IdMade]
            .iter()
            .for_each(|field| drop(session.node.take(*field)));
        let text = |node: &Node| node.text(Field::Id).unwrap_or_default();
        let name = format!("{} {}", text(&self.session), text(&first.node));
        session.node.set(Field::Id, Json::string(&name));
        session
    }

    /// Returns a question before the new messages, with an answer if another question follows.
    fn before(&self, answered: bool) -> Vec<Record> {
        let message = |role| {
            Record::new(Kind::Message)
                .with(Field::Id, Json::string(role))
                .with(Field::Role, Json::string(role))
                .with(Field::Content, Json::constant("\"-\""))
                .with_some(Field::Time, self.before.clone())
        };
        let roles = if answered { &["user", "assistant"][..] } else { &["user"] };
        roles.iter().map(|role| message(role)).collect()
    }

    /// Adapts a record that `source_format` has around messages to this session.
    fn adopt(&self, record: &mut Record, names: &HashMap<Json, Json>) {
        let node = &mut record.node;
        if let Some(list) = node.json(Field::Messages) {
            let list = renamed(list, names);
            node.set(Field::Messages, list);
        }
        if node.take(Field::Session).is_some() {
            // A run that names no session is one by its own name.
            node.put(Field::Session, self.session.json(Field::Id).cloned());
        }
        let last = self.numbers.get(&record.kind);
        if let (Some(last), Some(_)) = (last, record.node.json(Field::Seq)) {
            record.node.set(Field::Seq, Json::number(*last as u64 + 1));
        }
    }

    /// Replaces the identifier of the session for which an event was written.
    fn name_session(&self, event: &mut Record, written: Option<&str>) {
        let data = event.node.json(Field::Data).filter(|_| event.kind == Kind::Event);
        let data = data.and_then(|data| std::str::from_utf8(data.as_bytes()).ok());
        if let (Some(data), Some(written), Some(own)) =
            (data, written, self.session.text(Field::Id))
        {
            let [written, own] = [written, own.as_str()].map(Json::string);
            let [from, to] = [&written, &own].map(|id| String::from_utf8_lossy(id.as_bytes()));
            let named = data.replace(from.as_ref(), &to);
            event.node.set(Field::Data, Json::trusted(named.into_bytes().into()));
        }
    }

    /// Keeps the fields of the state that the new run changes.
    fn remember(&mut self, from: Option<Node>, to: Option<Node>, has_run: bool) {
        let (Some(from), Some(to)) = (from, to) else { return };
        let fields = if has_run { &[Field::Updated, Field::Run][..] } else { &[Field::Updated] };
        for field in fields {
            self.state.put(*field, to.json(*field).cloned());
        }
        let answers = |node: &Node| node.json(Field::Seq).and_then(whole).unwrap_or_default();
        self.answers += answers(&to).saturating_sub(answers(&from));
    }
}

/// Gives a turn the fields that a turn of another format contains.
fn complete_turn(turn: &mut Record, file_turn: &Record) {
    for field in TURN_FIELDS.iter().filter(|_| turn.kind == Kind::Turn) {
        let value = file_turn.node.get(*field).filter(|value| !is_empty_text(value));
        turn.node.put(*field, value.cloned());
    }
}

/// Whether a value is an empty text, or holds nothing else.
fn is_empty_text(value: &Value) -> bool {
    match value {
        Value::Json(json) => json.as_bytes() == b"\"\"",
        Value::Node(node) => node.iter().all(|(_, value)| is_empty_text(value)),
        Value::Nodes(nodes) => nodes.is_empty(),
    }
}

/// Returns the record with which a run begins that no question of the user began.
fn run_without_question() -> Record {
    Record::new(Kind::Run).with(Field::Layout, Json::constant("\"start\""))
}

/// The state among a session's records.
fn state(records: &[Record]) -> Option<Node> {
    let state = records.iter().rev().find(|record| record.kind == Kind::Snapshot);
    state.map(|record| record.node.clone())
}

/// Whether a record is a message that no reader restored.
fn is_message(record: &Record) -> bool {
    record.kind == Kind::Message && !record.is_restored()
}

/// Returns the records that a session has beyond a shorter one: the later ones of each kind.
fn behind(shorter: &[Record], longer: Vec<Record>) -> Vec<Record> {
    let mut counts: HashMap<_, usize> = HashMap::new();
    let key = |record: &Record| (record.kind, record.is_restored());
    shorter.iter().for_each(|record| *counts.entry(key(record)).or_default() += 1);
    let is_new = |record: &Record| match counts.get_mut(&key(record)).filter(|n| **n > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => true,
    };
    let mut is_new = is_new;
    longer.into_iter().filter(|record| is_new(record)).collect()
}

/// Renumbers a turn behind the last one. `before` is the last number, and the number of turns
/// before this one in the session that it comes from.
fn number(node: &mut Node, before: Option<(u64, u64)>) {
    for field in [Field::Turn, Field::Number] {
        let Some(turn) = node.json(field).and_then(whole) else { continue };
        match before {
            Some((last, there)) => {
                node.set(field, Json::number((last + turn).saturating_sub(there)))
            }
            None => drop(node.take(field)),
        }
    }
}
