//! Reader for files of turns, event by event.

mod early;
mod end;
mod listed;
mod misplaced;
mod pieces;
mod remark;
mod restore;

use super::super::chain::Chain;
use super::super::{EXPANSION, message};
use super::comparison::{Comparison, Tee};
use super::list::List;
use super::top::{Lists, Shape, Top, put};
use super::turn;
use super::turns::{TurnTexts, Turns};
use super::{INDENTED, KEY, NULL_KEY, NULL_TEXT_KEY, OPENERS, READABLE, TEXT_KEY};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::json::Json;
use crate::mapping::Spacing;
use crate::position::{Located, Position};
use crate::record::{Field, Node, Record};
use crate::yaml::json::{Nodes, Scalars};
use crate::yaml::read::{Budget, Event, Events, Limits, What};
use crate::yaml::write::Style;
use bytes::Bytes;
use early::Early;
use misplaced::not_a_session;
pub use pieces::pieces;
use remark::Before;
use std::collections::{HashSet, VecDeque};

/// Opens a file for reading.
///
/// # Errors
/// If the part cannot be opened.
pub fn open<'a>(
    parts: &'a mut dyn Parts,
    shape: &'static Shape,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    parts.keep()?;
    let (tee, kept) = Tee::new(parts.main()?, cx.options.encoding);
    let limits = Limits { scalar: cx.options.max_line, ..Limits::default() };
    Ok(Box::new(Records {
        events: Events::new(tee, limits),
        nodes: Nodes::new(Budget::of(EXPANSION)),
        comparison: Comparison::new(kept),
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
        style: Style::PyYaml,
        indented: false,
        relaid: false,
        first: false,
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
        written: Vec::new(),
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
    comparison: Comparison,
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
    /// How the file is spelled.
    style: Style,
    /// Whether the lists of the file are deeper than their keys.
    indented: bool,
    /// Whether it was reported that the layout of the file is not kept.
    relaid: bool,
    /// Whether the next item is the first of its list.
    first: bool,
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
    /// A record as JSON, as it is written.
    written: Vec<u8>,
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
                self.comparison.yaml.begin_mapping();
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
                self.comparison.yaml.end();
                self.stage = Stage::Top;
                Ok(())
            }
            (Stage::Turns, _) if self.shape.lists == Lists::Within => self.listed_turn(event),
            (Stage::Turns, _) => self.turn(event),
            (Stage::Messages, _) => self.turn_messages(event),
            (Stage::Turn(turn), What::SequenceEnd) => {
                self.comparison.yaml.end();
                self.comparison.compare(self.nodes.end.byte, "");
                self.stage = Stage::Messages;
                self.restore_turn(turn)
            }
            (Stage::Turn(turn), _) => self.message(event, turn),
            (Stage::Done, _) => Ok(()),
        }
    }

    fn json(&mut self, first: Event, scalars: Scalars) -> Result<Bytes> {
        let mut out = Vec::with_capacity(self.written.len().clamp(256, 64 << 10));
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
                if self.comparison.is_indented(value.at.byte) {
                    self.comparison.yaml.indent_sequences();
                    self.indented = true;
                }
                self.flush_top(true);
                self.remark(key.at, "", Before::Top("turns"));
                self.comparison.yaml.string("turns");
                self.name_ends(key.end);
                self.comparison.yaml.begin_sequence();
                self.first = true;
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
                self.remark(key.at, "", Before::Top("messages"));
                self.begin_messages();
                self.comparison.yaml.string("messages");
                self.name_ends(key.end);
                self.comparison.yaml.begin_mapping();
                self.first = true;
                self.stage = Stage::Messages;
            }
            ("turns" | "messages", _) => {
                let (at, spelled) = (value.at, value.end.byte > value.at.byte);
                let message = format!("`{name}` is not a list of turns");
                let json = self.json(value, Scalars::Typed)?;
                self.comparison.compare(self.nodes.end.byte, "");
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
        if self.top.at.is_none() && self.begun {
            let place = self.place();
            self.remark(at, "", place);
        }
        self.top.at.get_or_insert(at);
        let json = self.json(value, self.shape.scalars_of(name))?;
        self.comparison.yaml.string(name);
        put(&json, &mut self.comparison.yaml);
        self.top.add(name, Json::checked(json));
        self.top.end = self.nodes.end;
        Ok(())
    }

    /// Makes a session record of the members that were read. `whole` is whether all of them come
    /// before the following element.
    fn flush_top(&mut self, whole: bool) {
        let first = !self.begun;
        let top = std::mem::replace(&mut self.top, Top::new(self.shape));
        let (at, end, moves) = (top.at, top.end, top.moves);
        if first && at.is_none() && !whole {
            return;
        }
        let mut record = top.record();
        if record.node.is_empty() && !first {
            return;
        }
        let gap = if first { "" } else { "\n" };
        let own = self.top_spelling(end, gap, moves);
        let own = own.filter(|own| !first || !self.is_readable(own, &record.node));
        // Members that were passed over are a gap in the text.
        let own = own.filter(|_| !self.early.passed);
        self.keep_prompt(&mut record.node);
        own.into_iter().for_each(|own| record.node.set(Field::Raw, Json::string(&own)));
        if first {
            self.begin(&mut record);
        }
        self.push(record, at.unwrap_or_default());
        let odd = std::mem::take(&mut self.early_records);
        odd.into_iter().for_each(|(record, at)| self.push(record, at));
    }

    /// Whether the top is spelled for human readers; the rest is then compared with that style.
    fn is_readable(&mut self, own: &str, top: &Node) -> bool {
        let found =
            self.shape.text(top, Style::Readable).strip_suffix(b"\n") == Some(own.as_bytes());
        if found {
            self.comparison.yaml.set_style(Style::Readable);
            self.style = Style::Readable;
        }
        found
    }

    fn begin(&mut self, record: &mut Record) {
        self.begun = true;
        let node = &mut record.node;
        node.set(Field::Source, Json::string(&self.shape.source()));
        if let Some(layout) = self.shape.layout {
            node.set(Field::Layout, Json::constant(layout));
        }
        if let Some(code) = self.shape.finding {
            self.cx.report(Diagnostic::new(code, code.title()));
        }
        self.chain = Chain::of(node, Field::Created, self.cx);
        let mark = self.comparison.found().is_some_and(|found| found.mark);
        let mut file = self.cx.file(mark, self.comparison.crlf(), None).unwrap_or_default();
        let readable = self.style == Style::Readable;
        let words = [(READABLE, readable), (INDENTED, self.indented)];
        let words: Vec<_> = words.iter().filter(|(_, has)| *has).map(|(word, _)| *word).collect();
        if !words.is_empty() {
            file.set(Field::Style, Json::string(&words.join(" ")));
        }
        if !file.is_empty() {
            node.set(Field::File, file);
        }
    }

    fn push(&mut self, value: Record, mut at: Position) {
        self.report_guess();
        at.record = self.records;
        self.records += 1;
        self.ready.push_back(Located { value, at });
    }

    fn turn(&mut self, event: Event) -> Result<()> {
        let at = event.at;
        let gap = self.gap(at, Before::Turn, 0);
        let table = self.shape.turns;
        let json = self.json(event, Scalars::TextOf(table.texts))?;
        let (mut record, _) = table.read(&json).map_err(|fault| Error::json(fault, &json, at))?;
        if self.cx.options.spelling {
            self.written.clear();
            table.write(&record, None, &mut self.written);
            put(&self.written, &mut self.comparison.yaml);
        }
        self.own_spelling(&mut record, gap);
        self.turns_seen += 1;
        let told = (self.shape.lists == Lists::Elsewhere).then(|| TurnTexts::of(&record));
        self.push(record, at);
        if let Some(told) = told {
            self.look_whole(&json);
            self.restore_texts(told, at);
        }
        Ok(())
    }

    /// Takes the remark before an item of a list, `depth` levels below that of the turns. Returns
    /// the text that is left between the item and the last one.
    fn gap(&mut self, at: Position, before: Before, depth: usize) -> &'static str {
        let opener = OPENERS.get(depth + usize::from(self.indented)).copied().unwrap_or_default();
        if self.opens(at, before) { opener } else { opener.trim_start_matches(':') }
    }

    /// Takes comments in front of an item. Returns whether the text that opens the collection is
    /// still there.
    fn opens(&mut self, at: Position, before: Before) -> bool {
        let is_first = std::mem::take(&mut self.first);
        !self.remark(at, if is_first { ":" } else { "" }, before) && is_first
    }

    /// Begins the messages of one turn.
    fn turn_messages(&mut self, key: Event) -> Result<()> {
        let What::Scalar(name, spelling, _) = &key.what else {
            return Err(not_a_session(key.at));
        };
        let name = name.as_str().unwrap_or_default().to_owned();
        let number = name.parse::<u32>().map_or(0, u64::from);
        self.opens(key.at, Before::Key(self.listed.unwrap_or(0)));
        let plain = *spelling == crate::yaml::read::ScalarStyle::Plain;
        if plain && number > 0 {
            self.comparison.yaml.plain(&name);
        } else {
            self.comparison.yaml.string(name.as_str());
        }
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
        self.name_ends(key.end);
        self.first = true;
        let value = self.nodes.next(&mut self.events)?;
        let turn = Turn { number, begun: false, answered: false };
        if let What::SequenceStart(..) = value.what {
            if odd {
                self.unmatched_key(&name, if plain { KEY } else { TEXT_KEY }, number, key.at);
            }
            self.comparison.yaml.begin_sequence();
            self.stage = Stage::Turn(turn);
            return Ok(());
        }
        let at = value.at;
        let json = self.json(value, Scalars::Typed)?;
        put(&json, &mut self.comparison.yaml);
        if json.as_ref() == b"null" {
            let spelled = self.comparison.own(self.nodes.end.byte, ":").unwrap_or_default();
            let layout = format!("{}{spelled}", if plain { NULL_KEY } else { NULL_TEXT_KEY });
            self.unmatched_key(&name, &layout, number, key.at);
        } else {
            let message = format!("turn {name} has no list of messages");
            self.misplaced("messages", json.clone(), message, at)?;
        }
        self.name_ends(self.nodes.end);
        self.stage = Stage::Messages;
        self.restore_turn(turn)
    }

    fn message(&mut self, event: Event, turn: Turn) -> Result<()> {
        let at = event.at;
        let gap = self.gap(at, Before::Message(turn.number), 1);
        let json = self.json(event, Scalars::TextOf(message::TEXTS))?;
        let mut record = message::read(&json).map_err(|fault| Error::json(fault, &json, at))?;
        message::report_opaque(&record, at, self.cx);
        if !turn.begun && !record.node.is(Field::Role, "user") {
            self.restore_question(turn, at)?;
        }
        if self.cx.options.spelling {
            self.written.clear();
            message::write(&record, Spacing::None, true, &mut self.written);
            put(&self.written, &mut self.comparison.yaml);
        }
        self.own_spelling(&mut record, gap);
        let answered = turn::is_answer(&record.node);
        self.node(&mut record, turn);
        self.push(record, at);
        self.stage = Stage::Turn(Turn { begun: true, answered, ..turn });
        Ok(())
    }
}
