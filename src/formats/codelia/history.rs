//! History that the model was shown, while a session is read.
//!
//! Codelia writes the whole history into every request. Here the history is the path to a message:
//! each message is a record once, and a request refers to the messages that it shows. A history
//! that continues in another way than the one before (after a compaction, or where resuming dropped
//! calls without an answer) leaves the path at that point. The path to the last message is
//! therefore always the history that would be sent next.
//!
//! Requests share their list with the running agent and are written late, so that the first one may
//! already contain its own answer and more. A message that a request shows first becomes a record
//! there, and the response that comes later refers to it.
//!
//! The history keeps 48 bytes for each message on the path, the places of the run's messages by
//! their hashes, and a hash for each other value of 256 bytes or more: never contents.

use super::items::{Items, id_json};
use super::message;
use crate::error::Result;
use crate::ids::{Id, Maker, fingerprint};
use crate::json::{Json, text};
use crate::mapping::Source;
use crate::record::{Field, Node, Record};
use std::collections::{HashMap, HashSet};

/// Minimum length in bytes of a value that is written only once.
const LONG: usize = 256;

/// Message on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Hash of its spelling.
    exact: u128,
    /// Hash of its simplest spelling.
    sense: u128,
    /// Hash of its gist.
    gist: u64,
    id: Id,
}

/// Places of messages on the path, by their hashes: the first place for each hash.
#[derive(Debug, Default)]
struct Places {
    /// Places by spelling and by simplest spelling. A message that is spelled as another one's
    /// simplest spelling has the same simplest spelling, so that the two need not be distinguished.
    by_hash: HashMap<u128, usize>,
    /// Places by gist.
    gists: HashMap<u64, usize>,
}

impl Places {
    fn add(&mut self, step: &Step, place: usize) {
        self.by_hash.entry(step.exact).or_insert(place);
        self.by_hash.entry(step.sense).or_insert(place);
        self.gists.entry(step.gist).or_insert(place);
    }

    /// Removes a message that has left the path with all that followed it.
    fn remove(&mut self, step: &Step, place: usize) {
        for hash in [step.exact, step.sense] {
            if self.by_hash.get(&hash) == Some(&place) {
                self.by_hash.remove(&hash);
            }
        }
        if self.gists.get(&step.gist) == Some(&place) {
            self.gists.remove(&step.gist);
        }
    }
}

/// History of a session.
#[derive(Debug, Default)]
pub struct History {
    maker: Maker,
    made: u64,
    path: Vec<Step>,
    /// Place on the path where the messages of this run begin, and the places of these messages.
    run: usize,
    places: Places,
    /// Place on the path from which messages that a request showed first wait for their response.
    unclaimed: usize,
    /// System prompt and tools of the run.
    prompt: Option<Json>,
    tools: Option<Json>,
    /// Labels of the values beside the messages that were already written.
    labels: HashSet<u128>,
}

/// Returns a 128-bit hash for which no two values with the same hash can be found.
pub fn digest(bytes: &[u8]) -> u128 {
    let mut first = [0; 16];
    let hash = blake3::hash(bytes);
    first.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
    u128::from_be_bytes(first)
}

/// Converts a message to a record.
pub fn record_of(text: &Json) -> Record {
    message::read(text.bytes()).unwrap_or_else(|_| Record::of_line(text.as_bytes()))
}

fn is_system(message: &Json) -> bool {
    let role = Source::new(message.bytes()).peek("role").ok().flatten();
    role.is_some_and(|role| text::is(role.as_bytes(), "system"))
}

/// Returns the hash of a message's simplest spelling, as the writer would give it. For a message
/// that the writer restores byte for byte this is the hash of its spelling, unless its texts use
/// more escapes than they need.
fn sense_of(record: &Record, text: &[u8], exact: u128) -> u128 {
    let again = written(record, text);
    if again == text && text::is_simple(text) {
        return exact;
    }
    digest(&Json::trusted(again.into()).normal())
}

/// Spells a message in its simplest spelling, as the writer would give it.
fn simplest(record: &Record, text: &[u8]) -> Json {
    Json::trusted(Json::trusted(written(record, text).into()).normal().into())
}

/// Spells a message as the writer would; a message that it cannot write stays as it is.
fn written(record: &Record, text: &[u8]) -> Vec<u8> {
    let mut again = Vec::with_capacity(text.len());
    if !message::write(record, true, &mut again) {
        again = text.to_vec();
    }
    again
}

fn gist_of(record: &Record) -> u64 {
    fingerprint(&message::gist(record))
}

/// List of messages while the reader compares it with the path.
#[derive(Default)]
struct Showing {
    /// Whether a message of the same gist in another form counts as another message.
    exactly: bool,
    /// Whether a message that differs only in its spelling is referred to by its value.
    spelled: bool,
    /// Length of the path before the list.
    begin: usize,
    /// Number of messages of the path that the list has shown so far.
    at: usize,
    new: Vec<Record>,
    items: Items,
    /// Hashes of the messages that left the path.
    removed: HashSet<u128>,
    /// Place where an answer begins that no response has claimed yet.
    answer: Option<usize>,
}

impl History {
    /// Creates an empty history whose identifiers come from `maker`.
    pub fn new(maker: Maker) -> Self {
        Self { maker, ..Self::default() }
    }

    /// Begins a run with its own prompt and tools.
    pub fn begin(&mut self, header: &Node) {
        self.prompt = header.json(Field::SystemPrompt).cloned();
        self.tools = header.json(Field::Tools).cloned();
    }

    /// Appends a message to the path.
    fn push(&mut self, record: Record, text: &[u8], exact: u128) -> Record {
        let sense = sense_of(&record, text, exact);
        let known = Step { exact, sense, gist: gist_of(&record), id: Id::default() };
        self.push_known(record, known)
    }

    /// Appends a message whose hashes are known to the path, and gives it an identifier.
    fn push_known(&mut self, mut record: Record, known: Step) -> Record {
        self.made += 1;
        let id = self.maker.id(self.made);
        let parent = self.path.last().map_or(Json::constant("null"), |step| id_json(step.id));
        let place = self.path.len();
        if place >= self.run {
            self.places.add(&known, place);
        }
        self.path.push(Step { id, ..known });
        record.node.set(Field::Id, id_json(id));
        record.node.set(Field::IdMade, Json::constant("true"));
        record.node.set(Field::Parent, parent);
        record
    }

    /// Appends a message that a line of its own contains to the path.
    pub fn append(&mut self, record: Record, spelling: &[u8]) -> Record {
        self.append_hashed(record, spelling, digest(spelling))
    }

    fn append_hashed(&mut self, record: Record, spelling: &[u8], exact: u128) -> Record {
        let record = self.push(record, spelling, exact);
        self.unclaimed = self.path.len();
        record
    }

    /// Appends an answer that [`answer`](Self::answer) found to be new to the path.
    pub fn append_known(&mut self, record: Record, known: Step) -> Record {
        let record = self.push_known(record, known);
        self.unclaimed = self.path.len();
        record
    }

    /// Returns the identifier of the last message on the path.
    pub fn last(&self) -> Option<Json> {
        self.path.last().map(|step| id_json(step.id))
    }

    /// Follows the path along a list of messages. Messages of the path that differ from the list
    /// leave the path, and the rest of the list is appended to it and to `new`.
    fn follow(&mut self, list: &[Json], new: &mut Vec<Record>) {
        let mut known = 0;
        for message in list {
            match self.path.get(known) {
                Some(step) if self.matches(step, message) => known += 1,
                _ => break,
            }
        }
        self.cut(known);
        for message in list.get(known..).unwrap_or_default() {
            let text = message.as_bytes();
            let record = self.push(record_of(message), text, digest(text));
            new.push(record);
        }
    }

    /// Cuts the path at a place and returns the messages that leave it.
    fn cut(&mut self, place: usize) -> Vec<Step> {
        let gone = self.path.split_off(place);
        gone.iter().zip(place..).for_each(|(step, place)| self.places.remove(step, place));
        gone
    }

    fn matches(&self, step: &Step, message: &Json) -> bool {
        step.exact == digest(message.as_bytes()) || step.gist == gist_of(&record_of(message))
    }

    /// Takes the input of a run. `request` is the list that the model will be shown first, as far
    /// as the reader knows it. The messages before the input in that list are the history that the
    /// run continues; the method returns those that are not on the path yet.
    pub fn resume(&mut self, input: &Record, spelling: &[u8], request: &[Json]) -> Vec<Record> {
        let exact = digest(spelling);
        let sense = sense_of(input, spelling, exact);
        let step = Step { exact, sense, gist: gist_of(input), id: Id::default() };
        let list: Vec<Json> = request.iter().filter(|m| !is_system(m)).cloned().collect();
        let place = list.iter().rposition(|message| self.matches(&step, message));
        let mut new = Vec::new();
        if let Some(before) = place.and_then(|place| list.get(..place)) {
            self.follow(before, &mut new);
        }
        self.run = self.path.len();
        self.places = Places::default();
        new
    }

    /// Takes the messages of a request. Returns new records for those that are not on the path, and
    /// references to all.
    pub fn request(&mut self, list: &[Json]) -> (Vec<Record>, Json) {
        self.show(list)
    }

    /// Takes the messages of a state, the last of which is the session's current message. Messages
    /// of the path that differ in more than their spelling leave it.
    pub fn snapshot(
        &mut self,
        mut list: impl Iterator<Item = Result<Json>>,
    ) -> Result<(Vec<Record>, Json)> {
        let mut shown = Showing { exactly: true, ..self.showing() };
        list.try_for_each(|message| message.map(|message| self.shown(&mut shown, &message)))?;
        Ok(self.end(shown))
    }

    fn show(&mut self, list: &[Json]) -> (Vec<Record>, Json) {
        let mut shown = Showing { spelled: true, ..self.showing() };
        list.iter().for_each(|message| self.shown(&mut shown, message));
        self.end(shown)
    }

    fn showing(&self) -> Showing {
        Showing { begin: self.path.len(), ..Showing::default() }
    }

    fn shown(&mut self, list: &mut Showing, message: &Json) {
        if is_system(message) {
            let item = match list.spelled {
                true => self.value(message),
                false => self.value(&simplest(&record_of(message), message.as_bytes())),
            };
            return list.items.add(&item);
        }
        let exact = digest(message.as_bytes());
        let on_path = self.path.get(list.at).copied();
        if let Some(step) = on_path.filter(|step| step.exact == exact) {
            list.items.step(step.id);
            list.at += 1;
            return;
        }
        let record = record_of(message);
        let is_same = |step: Step| match list.exactly {
            true => step.sense == sense_of(&record, message.as_bytes(), exact),
            false => step.gist == gist_of(&record),
        };
        if let Some(step) = on_path.filter(|step| is_same(*step)) {
            match list.spelled {
                true => list.items.add(&self.value(message)),
                false => list.items.step(step.id),
            }
            list.at += 1;
            return;
        }
        list.removed.extend(self.cut(list.at).iter().map(|step| step.exact));
        match &record.node {
            node if node.is(Field::Role, "user") => list.answer = None,
            node if node.is(Field::Role, "assistant") && !list.removed.contains(&exact) => {
                list.answer.get_or_insert(list.at);
            }
            _ => {}
        }
        let record = self.push(record, message.as_bytes(), exact);
        list.items.step(self.path.last().map_or(Id::default(), |step| step.id));
        list.new.push(record);
        list.at += 1;
    }

    /// Ends the comparison of a list: the messages of the path behind it leave the path. Returns
    /// the new records and references to all messages.
    fn end(&mut self, mut list: Showing) -> (Vec<Record>, Json) {
        list.removed.extend(self.cut(list.at).iter().map(|step| step.exact));
        if !list.removed.is_empty() || self.unclaimed == list.begin {
            self.unclaimed = list.answer.unwrap_or(self.path.len());
        }
        self.run = self.run.min(self.path.len());
        (list.new, list.items.finish())
    }

    /// Takes the messages of a response. Returns new records for those that no request showed
    /// before, and references to all.
    pub fn response(&mut self, list: &[Json]) -> (Vec<Record>, Json) {
        let (mut new, mut items) = (Vec::new(), Items::default());
        for message in list {
            let exact = digest(message.as_bytes());
            let waiting = self.path.iter().enumerate().skip(self.unclaimed);
            let shown = waiting.into_iter().find(|(_, step)| step.exact == exact);
            if let Some((place, step)) = shown {
                items.add_id(step.id);
                self.unclaimed = place + 1;
                continue;
            }
            let record = self.append_hashed(record_of(message), message.as_bytes(), exact);
            items.add_id(self.path.last().map_or(Id::default(), |step| step.id));
            new.push(record);
        }
        (new, items.finish())
    }

    /// Finds the message of this run that has this spelling, or that answers the same call.
    pub fn answer(&self, record: &Record, spelling: &[u8]) -> Answer {
        let (exact, gist) = (digest(spelling), gist_of(record));
        let sense = sense_of(record, spelling, exact);
        let places = [exact, sense].into_iter().filter_map(|hash| self.places.by_hash.get(&hash));
        let same = places.min().and_then(|place| self.path.get(*place));
        match same {
            Some(step) => Answer::Known(id_json(step.id), step.exact == exact),
            None if self.places.gists.contains_key(&gist) => Answer::Otherwise,
            None => Answer::New(Step { exact, sense, gist, id: Id::default() }),
        }
    }

    /// Refers to a message by its value the first time, and by its label after that.
    fn value(&mut self, message: &Json) -> Vec<u8> {
        if self.prompt.as_ref().is_some_and(|prompt| prompt_message(prompt) == message.as_bytes()) {
            return PROMPT.to_vec();
        }
        let label = digest(message.as_bytes());
        let hex = format!("\"{label:032x}\"").into_bytes();
        let text = message.as_bytes();
        match text.len() {
            ..LONG => [b"{\"message\":", text, b"}"].concat(),
            _ if !self.labels.insert(label) => [b"{\"same\":", hex.as_slice(), b"}"].concat(),
            _ => [b"{\"message\":", text, b",\"label\":", hex.as_slice(), b"}"].concat(),
        }
    }

    /// Removes from a later run's header the long values that the session's first header contains,
    /// too, and refers to them.
    pub fn header(node: &mut Node, first: &Node) {
        let mut same = Vec::new();
        for field in [Field::SystemPrompt, Field::Tools] {
            let long = node.json(field).filter(|value| value.as_bytes().len() >= LONG);
            if long.is_some() && long == first.json(field) {
                node.take(field);
                same.push(format!("\"{}\":\"session\"", field.name()));
            }
        }
        if !same.is_empty() {
            let reference = format!("{{{}}}", same.join(","));
            node.set(Field::Reference, Json::trusted(reference.into_bytes().into()));
        }
    }

    /// Removes tools that are already written from a request, and refers to the place where they
    /// are.
    pub fn tools(&mut self, node: &mut Node) {
        let Some(tools) = node.json(Field::Tools) else { return };
        let label = digest(tools.as_bytes());
        let (known, name) = match tools.as_bytes().len() {
            _ if self.tools.as_ref() == Some(tools) => (true, "run".to_owned()),
            ..LONG => return,
            _ => (!self.labels.insert(label), format!("{label:032x}")),
        };
        if known {
            node.take(Field::Tools);
        }
        let reference = format!("{{\"tools\":\"{name}\"}}").into_bytes();
        node.set(Field::Reference, Json::trusted(reference.into()));
    }
}

/// Reference to the system message with the run's own prompt.
pub const PROMPT: &[u8] = b"{\"prompt\":true}";

/// Spells the system message of a prompt.
pub fn prompt_message(prompt: &Json) -> Vec<u8> {
    [b"{\"role\":\"system\",\"content\":", prompt.as_bytes(), b"}"].concat()
}

/// Result of the search for a tool's answer among the messages of the run.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// Known answer: its identifier, and whether it has the same spelling.
    Known(Json, bool),
    /// Another answer to the same call is known.
    Otherwise,
    /// Unknown answer, with its hashes.
    New(Step),
}
