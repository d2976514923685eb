//! What the model was shown, while a session is read.
//!
//! Codelia writes the whole history into every request. Here it is the path to a message: each
//! message is a record once, and a request refers to those that it shows. A history that goes on
//! otherwise than the one before (after a compaction, or where resuming dropped calls without an
//! answer) leaves the path at that point; the path to the last message is therefore always what
//! would be sent next.
//!
//! Requests share their list with the running agent and are written late, so that the first may
//! already show its own answer and more. What a request shows first is a record there, and the
//! response that comes later refers to it.
//!
//! Of each message on the path 48 bytes are kept, of those of the run the places by their hashes,
//! too, and a hash for each other value of 256 bytes or more: never contents.

use super::items::{Items, id_json};
use super::message;
use crate::error::Result;
use crate::ids::{Id, Maker, fingerprint};
use crate::json::{Json, text};
use crate::mapping::Source;
use crate::record::{Field, Node, Record};
use std::collections::{HashMap, HashSet};

/// Values that are at least as long are written once.
const LONG: usize = 256;

/// A message on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Of its spelling.
    exact: u128,
    /// Of its simplest spelling.
    sense: u128,
    /// Of what it says.
    gist: u64,
    id: Id,
}

/// Where messages stand on the path, by what they are: the first of each.
#[derive(Debug, Default)]
struct Places {
    /// By their spellings, and their simplest spellings. What is spelled as another one's simplest
    /// spelling has the same one, so that the two need not be told from each other.
    said: HashMap<u128, usize>,
    /// By what they say.
    gists: HashMap<u64, usize>,
}

impl Places {
    fn add(&mut self, step: &Step, place: usize) {
        self.said.entry(step.exact).or_insert(place);
        self.said.entry(step.sense).or_insert(place);
        self.gists.entry(step.gist).or_insert(place);
    }

    /// Takes out what has left the path with all that stood behind it.
    fn remove(&mut self, step: &Step, place: usize) {
        for hash in [step.exact, step.sense] {
            if self.said.get(&hash) == Some(&place) {
                self.said.remove(&hash);
            }
        }
        if self.gists.get(&step.gist) == Some(&place) {
            self.gists.remove(&step.gist);
        }
    }
}

/// The history of a session.
#[derive(Debug)]
pub struct History {
    maker: Maker,
    made: u64,
    path: Vec<Step>,
    /// Where the messages of this run begin on the path, and where each of them stands.
    run: usize,
    places: Places,
    /// From where on messages that a request showed first wait for their response.
    unclaimed: usize,
    /// The prompt and the tools of the run.
    prompt: Option<Json>,
    tools: Option<Json>,
    /// What was written already beside the messages.
    labels: HashSet<u128>,
}

/// A 128-bit hash that nobody can find two values for.
#[must_use]
pub fn digest(bytes: &[u8]) -> u128 {
    let mut first = [0; 16];
    let hash = blake3::hash(bytes);
    first.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
    u128::from_be_bytes(first)
}

/// A message with its spelling as Codelia's writer would give it, or else with that of its source.
#[must_use]
pub fn spelled(text: &Json) -> Record {
    let read = message::read(text.bytes());
    let mut record = read.unwrap_or_else(|_| Record::of_line(text.as_bytes()));
    let mut again = Vec::with_capacity(text.as_bytes().len());
    if !message::write(&record, true, &mut again) || again != text.as_bytes() {
        let spelling = String::from_utf8_lossy(text.as_bytes());
        record.node.set(Field::Raw, Json::string(&spelling));
    }
    record
}

fn is_system(message: &Json) -> bool {
    let role = Source::new(message.bytes()).peek("role").ok().flatten();
    role.is_some_and(|role| text::is(role.as_bytes(), "system"))
}

/// The hash of a message's simplest spelling, as the writer would give it. One that the writer gives
/// back has that, unless its texts are spelled in another way than they need be.
fn sense_of(record: &Record, text: &[u8], exact: u128) -> u128 {
    if record.node.get(Field::Raw).is_none() && text::is_simple(text) {
        return exact;
    }
    digest(simplest(record, text).as_bytes())
}

/// A message in its simplest spelling, as the writer would give it.
fn simplest(record: &Record, text: &[u8]) -> Json {
    let mut again = Vec::with_capacity(text.len());
    if !message::write(record, true, &mut again) {
        again = text.to_vec();
    }
    Json::checked(Json::checked(again.into()).normal().into())
}

fn gist_of(record: &Record) -> u64 {
    fingerprint(&message::gist(record))
}

/// A list of messages while it is compared with the path.
#[derive(Default)]
struct Showing {
    /// Whether what says the same in another way is another message.
    exactly: bool,
    /// Whether what is only spelled in another way is told by its value.
    spelled: bool,
    /// How long the path was before.
    begin: usize,
    /// How many of the path's messages were shown.
    at: usize,
    new: Vec<Record>,
    items: Items,
    /// What left the path.
    left: HashSet<u128>,
    /// Where an answer begins that is not claimed yet.
    answer: Option<usize>,
}

impl History {
    /// Of the session that `key` tells from others.
    #[must_use]
    pub fn new(maker: Maker) -> Self {
        Self {
            maker,
            made: 0,
            path: Vec::new(),
            run: 0,
            places: Places::default(),
            unclaimed: 0,
            prompt: None,
            tools: None,
            labels: HashSet::new(),
        }
    }

    /// A run begins, with its own prompt and tools.
    pub fn begin(&mut self, header: &Node) {
        self.prompt = header.json(Field::SystemPrompt).cloned();
        self.tools = header.json(Field::Tools).cloned();
    }

    /// Puts a message behind the path.
    fn push(&mut self, record: Record, text: &[u8], exact: u128) -> Record {
        let sense = sense_of(&record, text, exact);
        let known = Step { exact, sense, gist: gist_of(&record), id: Id::default() };
        self.push_known(record, known)
    }

    /// The same of one of which all but the name is known.
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

    /// Puts a message behind the path that a line of its own holds.
    pub fn say(&mut self, record: Record, spelling: &[u8]) -> Record {
        self.say_hashed(record, spelling, digest(spelling))
    }

    fn say_hashed(&mut self, record: Record, spelling: &[u8], exact: u128) -> Record {
        let record = self.push(record, spelling, exact);
        self.unclaimed = self.path.len();
        record
    }

    /// The same of an answer that was found to be new.
    pub fn say_known(&mut self, record: Record, known: Step) -> Record {
        let record = self.push_known(record, known);
        self.unclaimed = self.path.len();
        record
    }

    /// The last message of the path.
    #[must_use]
    pub fn last(&self) -> Option<Json> {
        self.path.last().map(|step| id_json(step.id))
    }

    /// How many messages there are on the path from `first` on, from a list. What differs leaves
    /// the path.
    fn follow(&mut self, list: &[Json], new: &mut Vec<Record>) {
        let mut known = 0;
        for message in list {
            match self.path.get(known) {
                Some(step) if self.says(step, message) => known += 1,
                _ => break,
            }
        }
        self.cut(known);
        for message in list.get(known..).unwrap_or_default() {
            let text = message.as_bytes();
            let record = self.push(spelled(message), text, digest(text));
            new.push(record);
        }
    }

    /// What stands from a place on leaves the path.
    fn cut(&mut self, place: usize) -> Vec<Step> {
        let gone = self.path.split_off(place);
        gone.iter().zip(place..).for_each(|(step, place)| self.places.remove(step, place));
        gone
    }

    fn says(&self, step: &Step, message: &Json) -> bool {
        step.exact == digest(message.as_bytes()) || step.gist == gist_of(&spelled(message))
    }

    /// The run is given its input. `request` is the list that the model will be shown first, as
    /// far as it is known: what stands before the input there is the history that the run took
    /// up, and gives the messages that are not on the path yet.
    pub fn resume(&mut self, input: &Record, spelling: &[u8], request: &[Json]) -> Vec<Record> {
        let exact = digest(spelling);
        let sense = sense_of(input, spelling, exact);
        let step = Step { exact, sense, gist: gist_of(input), id: Id::default() };
        let list: Vec<Json> = request.iter().filter(|m| !is_system(m)).cloned().collect();
        let place = list.iter().rposition(|message| self.says(&step, message));
        let mut new = Vec::new();
        if let Some(before) = place.and_then(|place| list.get(..place)) {
            self.follow(before, &mut new);
        }
        self.run = self.path.len();
        self.places = Places::default();
        new
    }

    /// A request shows these messages: gives those that no record is yet, and references to all.
    pub fn request(&mut self, list: &[Json]) -> (Vec<Record>, Json) {
        self.show(list)
    }

    /// A state holds these messages, and the session stands at the last of them: what differs in
    /// more than its spelling leaves the path. Where nobody asks for `spelling`, that is nothing.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn snapshot(
        &mut self,
        mut list: impl Iterator<Item = Result<Json>>,
        spelling: bool,
    ) -> Result<(Vec<Record>, Json)> {
        let mut shown = Showing { exactly: true, spelled: spelling, ..self.showing() };
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
                false => self.value(&simplest(&spelled(message), message.as_bytes())),
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
        let record = spelled(message);
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
        list.left.extend(self.cut(list.at).iter().map(|step| step.exact));
        match &record.node {
            node if node.is(Field::Role, "user") => list.answer = None,
            node if node.is(Field::Role, "assistant") && !list.left.contains(&exact) => {
                list.answer.get_or_insert(list.at);
            }
            _ => {}
        }
        let record = self.push(record, message.as_bytes(), exact);
        list.items.step(self.path.last().map_or(Id::default(), |step| step.id));
        list.new.push(record);
        list.at += 1;
    }

    /// What a list was is gone from the path where it showed something else; gives what is new, and
    /// references to all.
    fn end(&mut self, mut list: Showing) -> (Vec<Record>, Json) {
        list.left.extend(self.cut(list.at).iter().map(|step| step.exact));
        if !list.left.is_empty() || self.unclaimed == list.begin {
            self.unclaimed = list.answer.unwrap_or(self.path.len());
        }
        self.run = self.run.min(self.path.len());
        (list.new, list.items.finish())
    }

    /// A response gives these messages: gives those that no request showed before, and references
    /// to all.
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
            let record = self.say_hashed(spelled(message), message.as_bytes(), exact);
            items.add_id(self.path.last().map_or(Id::default(), |step| step.id));
            new.push(record);
        }
        (new, items.finish())
    }

    /// The message of this run that has this spelling, or answers the same call.
    #[must_use]
    pub fn answer(&self, record: &Record, spelling: &[u8]) -> Answer {
        let (exact, gist) = (digest(spelling), gist_of(record));
        let sense = sense_of(record, spelling, exact);
        let places = [exact, sense].into_iter().filter_map(|hash| self.places.said.get(&hash));
        let same = places.min().and_then(|place| self.path.get(*place));
        match same {
            Some(step) => Answer::Said(id_json(step.id), step.exact == exact),
            None if self.places.gists.contains_key(&gist) => Answer::Otherwise,
            None => Answer::New(Step { exact, sense, gist, id: Id::default() }),
        }
    }

    /// A message by its value: once, and then by its label.
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

    /// Takes out of a later run's header what the session's first one says, too, and says so.
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
            node.set(Field::Reference, Json::checked(reference.into_bytes().into()));
        }
    }

    /// Takes the tools out of a request that are written already, and says in its reference where.
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
        node.set(Field::Reference, Json::checked(reference.into()));
    }
}

/// What stands for the system message that is the run's own prompt.
pub const PROMPT: &[u8] = b"{\"prompt\":true}";

/// The system message of a prompt.
#[must_use]
pub fn prompt_message(prompt: &Json) -> Vec<u8> {
    [b"{\"role\":\"system\",\"content\":", prompt.as_bytes(), b"}"].concat()
}

/// Whether the answer of a tool is known from a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is this message, and spelled as it is or not.
    Said(Json, bool),
    /// There is another answer to the call.
    Otherwise,
    /// It is not; what there is to know of it.
    New(Step),
}
