//! What was asked abroad, as the format that the session comes from tells of a question.

use crate::formats::Spec;
use crate::json::Json;
use crate::origin::merge::native_form::read_back;
use crate::origin::merge::restored_texts::Turn;
use crate::record::{Field, Kind, Node, Record, Value};
use std::collections::{BTreeMap, HashMap};

/// So many messages make one question and its answers at most; what is more is one without a
/// question.
const MOST: usize = 10_000;

/// The questions of a session that goes on.
#[derive(Default)]
pub struct NewTurns {
    /// What the session's record says.
    session: Node,
    /// The highest number of a turn, or how many there are, where the source tells of turns.
    turns: Option<u64>,
    /// Whether the last run is over, where the source tells of runs.
    over: Option<bool>,
    /// The last number of what is numbered in a run.
    numbers: HashMap<Kind, f64>,
    /// When what stands before the open question was said.
    before: Option<Json>,
    /// The open question and its answers.
    open: Vec<Said>,
    /// What turns of the file tell that are new, by their numbers, and what the open question's does.
    abroad: BTreeMap<Turn, Record>,
    turn: Option<Record>,
    /// Whether the file is of the source's own format, and says around a question what that does.
    pub native: bool,
    /// What the state of the session says of the new runs.
    state: Node,
    /// How many answers they have.
    answers: u64,
}

/// A new message.
struct Said {
    /// As the file shows it.
    shown: Record,
    /// As it is at home.
    made: Vec<Record>,
    /// What stands behind it, and is no message.
    behind: Vec<Record>,
}

/// What a turn of another format tells better than what it is made of.
const TOLD: &[Field] = &[
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

/// Whether a person says this.
pub fn is_question(record: &Record) -> bool {
    record.kind == Kind::Message && record.node.is(Field::Role, "user")
}

impl NewTurns {
    /// The source or the file tells of this.
    pub fn told(&mut self, record: &Record) {
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
            kind => {
                if let Some(number) = node.json(Field::Seq).and_then(Json::float) {
                    self.numbers.insert(kind, number);
                }
            }
        }
    }

    /// Whether what is open ends before this message.
    pub fn ends_before(&self, message: &Record) -> bool {
        is_question(message) || self.open.len() >= MOST
    }

    /// A new turn of the file, which is number `turn` there.
    pub fn keep(&mut self, turn: Turn, record: Record) {
        self.abroad.insert(turn, record);
    }

    /// When a turn of the file was, if that is new.
    pub fn time_of(&self, turn: Option<Turn>) -> Option<&Json> {
        let kept = turn.and_then(|turn| self.abroad.get(&turn)).or(self.turn.as_ref());
        kept?.node.json(Field::Time)
    }

    /// Takes a new message of this turn, and what it is at home, said after `before`.
    pub fn add(
        &mut self,
        turn: Option<Turn>,
        shown: Record,
        made: Vec<Record>,
        before: Option<Json>,
    ) {
        if self.open.is_empty() {
            self.before = before;
            self.turn = turn.and_then(|turn| self.abroad.remove(&turn));
        }
        self.open.push(Said { shown, made, behind: Vec::new() });
    }

    /// Takes what stands behind the last message and is none. Gives it back where none is open.
    pub fn behind(&mut self, record: Record) -> Option<Record> {
        match self.open.last_mut() {
            Some(said) => {
                said.behind.push(record);
                None
            }
            None => Some(record),
        }
    }

    /// New turns of the file without messages of their own.
    pub fn left(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.abroad).into_values().collect()
    }

    /// What is open, with all that `home` says of it.
    pub fn settle(&mut self, home: Option<Spec>) -> Vec<Record> {
        let open = std::mem::take(&mut self.open);
        let told = self.turn.take();
        let (mut shown, mut made, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for said in open {
            shown.push(said.shown);
            // What stands behind a message goes with its last part.
            let last = said.made.len().saturating_sub(1);
            let parts = said.made.into_iter().enumerate();
            made.extend(
                parts.map(|(n, part)| (part, if n == last { said.behind.len() } else { 0 })),
            );
            waiting.extend(said.behind);
        }
        let home = home.filter(|_| !self.native);
        let all = home.and_then(|home| self.at_home(home, shown, &made, told.as_ref()));
        let ended = waiting.iter().any(|record: &Record| record.kind == Kind::Result);
        let mut waiting = waiting.into_iter();
        // A turn that has no place at home rides on.
        let mut out: Vec<_> = told.into_iter().filter(|_| self.turns.is_none()).collect();
        for (record, behind) in all.unwrap_or(made) {
            // The file tells itself how the prompt ended.
            if record.kind != Kind::Result || !ended {
                out.push(record);
            }
            out.extend(waiting.by_ref().take(behind));
        }
        out
    }

    /// Adds to the state of the session what the new runs have.
    pub fn extend(&self, state: &mut Node) {
        for (field, value) in self.state.iter() {
            state.set(field, value.clone());
        }
        let answers = state.json(Field::Seq).and_then(whole).filter(|_| self.answers > 0);
        answers.into_iter().for_each(|n| state.set(Field::Seq, Json::number(n + self.answers)));
    }

    /// Whether the source has such records for a question.
    fn tells_of(&self, kind: Kind, home: Spec) -> bool {
        match kind {
            Kind::Turn => self.turns.is_some(),
            Kind::Session | Kind::Snapshot | Kind::Message => false,
            // Agents that say how a prompt ended say it of each one.
            _ => self.over.is_some() || home.version().kinds.contains(&Kind::Result),
        }
    }

    /// Messages with what `home` says around them. Its own writer is asked: it is given them behind
    /// another question, as a session begins in other ways than it goes on.
    fn at_home(
        &mut self,
        home: Spec,
        shown: Vec<Record>,
        made: &[(Record, usize)],
        told: Option<&Record>,
    ) -> Option<Vec<(Record, usize)>> {
        let asks = is_question(shown.first()?);
        let tells = [Kind::Turn, Kind::Run].iter().any(|kind| self.tells_of(*kind, home));
        if !tells || (!asks && self.over == Some(true)) {
            return None;
        }
        let session = self.session(&made.first()?.0);
        let first = self.before(asks);
        let alone = read_back(home, session.clone(), first.clone())?;
        let all = read_back(home, session, first.into_iter().chain(shown))?;
        let (from, to) = (state(&alone), state(&all));
        let new = behind(&alone, all);
        let ids = |records: &mut dyn Iterator<Item = &Record>| -> Vec<_> {
            records.filter_map(|record| record.node.json(Field::Id).cloned()).collect()
        };
        let old = ids(&mut new.iter().filter(|record| is_said(record)));
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
            if is_said(&record) {
                let turn = record.node.take(Field::Turn);
                (record, behind) = made.next()?.clone();
                turn.into_iter().for_each(|turn| record.node.set(Field::Turn, turn));
            } else if !self.tells_of(record.kind, home) {
                continue;
            } else {
                self.adopt(&mut record, &names);
                told.into_iter().for_each(|told| tell(&mut record, told));
            }
            number(&mut record.node, before);
            self.told(&record);
            out.push((record, behind));
        }
        self.remember(from, to, asks);
        Some(out)
    }

    /// The session as the home's writer has to know it, with a name that nothing else has.
    fn session(&self, first: &Record) -> Record {
        let mut session = Record { kind: Kind::Session, node: self.session.clone() };
        [Field::Source, Field::Layout, Field::File, Field::Leaf, Field::IdMade]
            .iter()
            .for_each(|field| drop(session.node.take(*field)));
        let text = |node: &Node| node.text(Field::Id).unwrap_or_default();
        let name = format!("{} {}", text(&self.session), text(&first.node));
        session.node.set(Field::Id, Json::string(&name));
        session
    }

    /// A question that was asked before, and answered if another one follows.
    fn before(&self, answered: bool) -> Vec<Record> {
        let said = |role| {
            let mut record = Record::new(Kind::Message);
            record.node.set(Field::Id, Json::string(role));
            record.node.set(Field::Role, Json::string(role));
            record.node.set(Field::Content, Json::constant("\"-\""));
            self.before.iter().for_each(|time| record.node.set(Field::Time, time.clone()));
            record
        };
        let roles = if answered { &["user", "assistant"][..] } else { &["user"] };
        roles.iter().map(|role| said(role)).collect()
    }

    /// Makes a record that `home` has around messages one of this session.
    fn adopt(&self, record: &mut Record, names: &HashMap<Json, Json>) {
        let node = &mut record.node;
        [Field::Raw, Field::RawBytes, Field::Eol].iter().for_each(|f| drop(node.take(*f)));
        if let Some(list) = node.json(Field::Messages) {
            let list = renamed(list, names);
            node.set(Field::Messages, list);
        }
        if node.take(Field::Session).is_some() {
            // A run that names no session is one by its own name.
            let id = self.session.json(Field::Id);
            id.into_iter().for_each(|id| node.set(Field::Session, id.clone()));
        }
        let last = self.numbers.get(&record.kind);
        if let (Some(last), Some(_)) = (last, record.node.json(Field::Seq)) {
            record.node.set(Field::Seq, Json::number(*last as u64 + 1));
        }
    }

    /// Keeps what the state says of the new run.
    fn remember(&mut self, from: Option<Node>, to: Option<Node>, asks: bool) {
        let (Some(from), Some(to)) = (from, to) else { return };
        let fields = if asks { &[Field::Updated, Field::Run][..] } else { &[Field::Updated] };
        for field in fields {
            to.json(*field).into_iter().for_each(|v| self.state.set(*field, v.clone()));
        }
        let answers = |node: &Node| node.json(Field::Seq).and_then(whole).unwrap_or_default();
        self.answers += answers(&to).saturating_sub(answers(&from));
    }
}

/// Gives a turn what another format told of it.
fn tell(turn: &mut Record, told: &Record) {
    for field in TOLD.iter().filter(|_| turn.kind == Kind::Turn) {
        let value = told.node.get(*field).filter(|value| !says_nothing(value));
        value.into_iter().for_each(|value| turn.node.set(*field, value.clone()));
    }
}

/// Whether a value is an empty text, or holds nothing else.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Json(json) => json.as_bytes() == b"\"\"",
        Value::Node(node) => node.iter().all(|(_, value)| says_nothing(value)),
        Value::Nodes(nodes) => nodes.is_empty(),
    }
}

/// The state among a session's records.
fn state(records: &[Record]) -> Option<Node> {
    let state = records.iter().rev().find(|record| record.kind == Kind::Snapshot);
    state.map(|record| record.node.clone())
}

/// Whether a record is a message of the file's own.
fn is_said(record: &Record) -> bool {
    record.kind == Kind::Message && !record.is_restored()
}

/// What a session has behind what a shorter one has: of each kind of records the later ones.
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

/// Counts a turn from the last one on: `before` is the last one's number, and how many turns there
/// were where this one is from.
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

/// References to messages that have other identifiers now.
pub fn renamed(list: &Json, names: &HashMap<Json, Json>) -> Json {
    if list.as_bytes().first() != Some(&b'[') {
        return names.get(list).unwrap_or(list).clone();
    }
    let items: Vec<_> = list.elements().map(|item| renamed(&item, names)).collect();
    let items: Vec<_> = items.iter().map(Json::as_bytes).collect();
    Json::checked([b"[", items.join(&b","[..]).as_slice(), b"]"].concat().into())
}
