//! Reader for files of turns, event by event.

mod early;
mod end;
mod listed;
mod misplaced;
mod pieces;
mod restore;

use super::super::chain_of;
use super::super::{EXPANSION, message};
use super::list::List;
use super::tee::{Seen, Tee};
use super::top::{Lists, Shape, Top};
use super::turn;
use super::turns::{TurnTexts, Turns};
use super::{KEY, NULL_KEY, NULL_TEXT_KEY, TEXT_KEY};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::framing::Chain;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Record};
use crate::yaml::json::{Nodes, Scalars};
use crate::yaml::read::{Budget, Event, Events, Limits, What};
use bytes::Bytes;
use early::Early;
use misplaced::not_a_session;
pub use pieces::pieces;
use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

/// Opens a file for reading.
pub fn open<'a>(
    parts: &'a mut dyn Parts,
    shape: &'static Shape,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    parts.keep()?;
    let (tee, seen) = Tee::new(parts.main()?, cx.options.encoding);
    let limits = Limits { scalar: cx.options.max_line, ..Limits::default() };
    Ok(Box::new(Records {
        events: Events::new(tee, limits),
        nodes: Nodes::new(Budget::of(EXPANSION)),
        seen,
        parts,
        cx,
        limits,
        shape,
        stage: Stage::Start,
        top: Top::new(shape),
        list: List::default(),
        lacks: Vec::new(),
        names: HashSet::new(),
        turns: None,
        ready: VecDeque::new(),
        early_records: Vec::new(),
        begun: false,
        guessed: false,
        chain: Chain::default(),
        records: 0,
        turns_seen: 0,
        listed: None,
        turn_lists: 0,
        before_turn: None,
        nulled: false,
        early: Early::default(),
    }))
}

/// Where in the document the reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Top,
    Turns,
    Messages,
    /// The messages of this turn.
    Turn(Turn),
    Done,
}

/// State of a turn whose messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    /// The turn's number; 0 if the key is not a number.
    number: u64,
    /// Whether a message was read.
    begun: bool,
    /// Whether the last message was an answer without calls.
    answered: bool,
}

struct Records<'a> {
    events: Events<Tee>,
    nodes: Nodes,
    seen: Rc<Cell<Seen>>,
    parts: &'a mut dyn Parts,
    cx: &'a Cx<'a>,
    limits: Limits,
    /// The kind and version of the file.
    shape: &'static Shape,
    stage: Stage,
    top: Top,
    /// The messages of the turn read last, for version 1.
    list: List,
    /// Members that the turn read last lacks although every turn of this kind of file has them.
    lacks: Vec<&'static str>,
    /// The names of the top's members.
    names: HashSet<String>,
    /// The turns, read a second time beside the messages.
    turns: Option<Turns>,
    ready: VecDeque<Located<Record>>,
    /// Kept records before the session record.
    early_records: Vec<(Record, Position)>,
    /// Whether the session record was given.
    begun: bool,
    /// Whether it was reported that the encoding is a guess.
    guessed: bool,
    chain: Chain,
    records: u64,
    /// Number of turns, and the last turn whose messages were read by their number; `None` in a
    /// file that has no place for messages.
    turns_seen: u64,
    listed: Option<u64>,
    /// Number of lists of turns, of which the last one counts.
    turn_lists: usize,
    /// The message before those of the turn whose messages were read last.
    before_turn: Option<Json>,
    /// Whether `messages` is present and `null`.
    nulled: bool,
    /// Turns and messages that were passed over and are read last.
    early: Early,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            if self.stage == Stage::Done {
                return None;
            }
            if let Err(error) = self.step() {
                let stage = std::mem::replace(&mut self.stage, Stage::Done);
                if self.is_reported() {
                    self.go_back(stage);
                    continue;
                }
                self.report_guess();
                self.flush_top(false);
                let error = self.damage(error);
                // Records before the broken place are returned first.
                match self.cx.tolerate(error) {
                    Ok(_) if self.begun => self.go_back(stage),
                    Ok(_) => return Some(Err(not_a_session(Position::default()))),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
    }
}

impl Records<'_> {
    /// Converts an error of the document to damage, so that the records read so far are kept.
    fn damage(&self, error: Error) -> Error {
        if error.code() == Code::Io { error } else { Error::damaged(error.into_diagnostic()) }
    }

    fn step(&mut self) -> Result<()> {
        let event = self.nodes.next(&mut self.events)?;
        self.report_comments();
        match (self.stage, &event.what) {
            (Stage::Start, What::DocumentStart) => Ok(()),
            (Stage::Start, What::MappingStart(..)) => {
                self.stage = Stage::Top;
                Ok(())
            }
            (Stage::Start, _) => Err(not_a_session(event.at)),
            (Stage::Top, What::MappingEnd) => self.end(),
            (Stage::Top, _) => self.member(event),
            (Stage::Turns, What::SequenceEnd) if self.early.aside.is_some() => {
                self.read_messages().map(drop)
            }
            (Stage::Messages, What::MappingEnd) if self.early.aside.is_some() => {
                self.return_to_end()
            }
            (Stage::Turns, What::SequenceEnd) | (Stage::Messages, What::MappingEnd) => {
                self.stage = Stage::Top;
                Ok(())
            }
            (Stage::Turns, _) if self.shape.lists == Lists::Within => self.listed_turn(event),
            (Stage::Turns, _) => self.turn(event),
            (Stage::Messages, _) => self.turn_messages(event),
            (Stage::Turn(turn), What::SequenceEnd) => {
                self.stage = Stage::Messages;
                self.restore_turn(turn)
            }
            (Stage::Turn(turn), _) => self.message(event, turn),
            (Stage::Done, _) => Ok(()),
        }
    }

    fn json(&mut self, first: Event, scalars: Scalars) -> Result<Bytes> {
        let mut out = Vec::with_capacity(1024);
        self.nodes.value(&mut self.events, first, scalars, &mut out)?;
        Ok(out.into())
    }

    /// One member of the top.
    fn member(&mut self, key: Event) -> Result<()> {
        let What::Scalar(name, ..) = &key.what else { return Err(not_a_session(key.at)) };
        let name = name.as_str().unwrap_or_default().to_owned();
        self.note_member(&name, key.at);
        let value = self.nodes.next(&mut self.events)?;
        match (name.as_str(), &value.what) {
            ("messages", What::MappingStart(..)) | ("turns", What::SequenceStart(..))
                if self.is_early() =>
            {
                self.pass(value)?;
            }
            ("turns", What::SequenceStart(..)) => {
                self.flush_top(true);
                self.begin_turns();
                self.stage = Stage::Turns;
                if self.shape.lists != Lists::Behind {
                    self.listed = Some(0);
                }
            }
            ("messages", _) if self.shape.lists != Lists::Behind => {
                self.top_member(&name, value, key.at)?
            }
            ("messages", What::MappingStart(..)) => {
                self.flush_top(true);
                self.open_turns()?;
                self.begin_messages();
                self.stage = Stage::Messages;
            }
            ("turns" | "messages", _) => {
                let (at, spelled) = (value.at, value.end.byte > value.at.byte);
                let message = format!("`{name}` is not a list of turns");
                let json = self.json(value, Scalars::Typed)?;
                if json.as_ref() != b"null" {
                    self.misplaced(&name, json, message, at)?;
                } else if name == "messages" {
                    // A key without a value is where a file was cut; a spelled `null` was written
                    // by a program.
                    self.nulled |= spelled;
                }
            }
            _ => self.top_member(&name, value, key.at)?,
        }
        Ok(())
    }

    fn top_member(&mut self, name: &str, value: Event, at: Position) -> Result<()> {
        self.top.at.get_or_insert(at);
        let json = self.json(value, self.shape.scalars_of(name))?;
        self.top.add(name, Json::trusted(json));
        Ok(())
    }

    /// Makes a session record of the members that were read. `whole` is whether all of them come
    /// before the following element.
    fn flush_top(&mut self, whole: bool) {
        let first = !self.begun;
        let top = std::mem::replace(&mut self.top, Top::new(self.shape));
        let at = top.at;
        if first && at.is_none() && !whole {
            return;
        }
        let mut record = top.record();
        if record.node.is_empty() && !first {
            return;
        }
        self.keep_prompt(&mut record.node);
        if first {
            self.begin(&mut record);
        }
        self.push(record, at.unwrap_or_default());
        let odd = std::mem::take(&mut self.early_records);
        odd.into_iter().for_each(|(record, at)| self.push(record, at));
    }

    fn begin(&mut self, record: &mut Record) {
        self.begun = true;
        let node = &mut record.node;
        node.set(Field::Source, Json::string(&self.shape.source()));
        if let Some(layout) = self.shape.layout {
            node.set(Field::Layout, Json::constant(layout));
        }
        if let Some(code) = self.shape.finding {
            self.cx.report(Diagnostic::of(code));
        }
        self.chain = chain_of(node, Field::Created, self.cx);
        let seen = self.seen.get();
        let mark = seen.found.is_some_and(|found| found.mark);
        node.put(Field::File, self.cx.file(mark, seen.crlf(), None));
    }

    fn push(&mut self, value: Record, mut at: Position) {
        self.report_guess();
        at.record = self.records;
        self.records += 1;
        self.ready.push_back(Located { value, at });
    }

    fn turn(&mut self, event: Event) -> Result<()> {
        let at = event.at;
        let table = self.shape.turns;
        let json = self.json(event, Scalars::TextOf(table.texts))?;
        let (record, _) = table.read(&json).map_err(|fault| Error::json(fault, &json, at))?;
        self.report_beyond_json();
        self.turns_seen += 1;
        let texts = (self.shape.lists == Lists::Elsewhere).then(|| TurnTexts::of(&record));
        self.push(record, at);
        if let Some(texts) = texts {
            self.look_whole(&json);
            self.restore_texts(texts, at);
        }
        Ok(())
    }

    /// Begins the messages of one turn.
    fn turn_messages(&mut self, key: Event) -> Result<()> {
        let What::Scalar(name, spelling, _) = &key.what else {
            return Err(not_a_session(key.at));
        };
        let name = name.as_str().unwrap_or_default().to_owned();
        let number = name.parse::<u32>().map_or(0, u64::from);
        let plain = *spelling == crate::yaml::read::ScalarStyle::Plain;
        let twice = plain && number > 0 && self.listed == Some(number);
        self.begin_key(twice);
        let what = match self.listed {
            _ if number == 0 => Some("is not a turn number"),
            _ if !plain => Some("is text, not a turn number"),
            _ if twice => Some("occurs twice: the agent has the messages of the last one"),
            Some(last) if number < last => Some("comes after a later turn, or twice"),
            _ => None,
        };
        if let Some(what) = what {
            let message = format!("key {name:?} of `messages` {what}");
            self.cx.report(Diagnostic::new(Code::TurnKey, message).at(key.at));
        }
        let next = number == self.listed.unwrap_or(0) + 1 && number <= self.turns_seen;
        let odd = what.is_some() || !next || name != number.to_string();
        self.listed = self.listed.max(Some(number));
        let value = self.nodes.next(&mut self.events)?;
        let turn = Turn { number, begun: false, answered: false };
        if let What::SequenceStart(..) = value.what {
            if odd {
                self.unmatched_key(&name, if plain { KEY } else { TEXT_KEY }, number, key.at);
            }
            self.stage = Stage::Turn(turn);
            return Ok(());
        }
        let at = value.at;
        let json = self.json(value, Scalars::Typed)?;
        if json.as_ref() == b"null" {
            let layout = if plain { NULL_KEY } else { NULL_TEXT_KEY };
            self.unmatched_key(&name, layout, number, key.at);
        } else {
            let message = format!("turn {name} has no list of messages");
            self.misplaced("messages", json.clone(), message, at)?;
        }
        self.stage = Stage::Messages;
        self.restore_turn(turn)
    }

    fn message(&mut self, event: Event, turn: Turn) -> Result<()> {
        let at = event.at;
        let json = self.json(event, Scalars::TextOf(message::TEXTS))?;
        let mut record = message::read(&json).map_err(|fault| Error::json(fault, &json, at))?;
        message::report_opaque(&record, at, self.cx);
        if !turn.begun && !record.node.is(Field::Role, "user") {
            self.restore_question(turn, at)?;
        }
        self.report_beyond_json();
        let answered = turn::is_answer(&record.node);
        self.node(&mut record, turn);
        self.push(record, at);
        self.stage = Stage::Turn(Turn { begun: true, answered, ..turn });
        Ok(())
    }
}
