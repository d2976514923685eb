//! Compactions that the file's agent writes as messages in the place of all others: a summary, and
//! behind it copies of the messages that it keeps. In the source format, that is a compaction
//! behind the earlier messages, and the kept messages are already in place.

use crate::error::Result;
use crate::format::Context;
use crate::formats::Spec;
use crate::ids::hash;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::origin::matching::align::shown;
use crate::origin::matching::outcomes::Match;
use crate::record::{Field, Kind, Node, Record, Value, block};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Returns a node for the place of a record that shows nothing to a model.
pub fn passed(record: &Record) -> Record {
    let mut passed = Record::new(Kind::Extension);
    for field in [Field::Id, Field::Parent, Field::Time] {
        passed.node.put(field, record.node.json(field).cloned());
    }
    passed
}

/// Compactions that were added to the file.
#[derive(Default)]
pub struct Summed {
    /// Records that a model would read in the place of the file's records without the compactions.
    pub replacements: BTreeMap<u32, Record>,
    /// Identifiers in the source of the first messages that compactions keep, by their identifiers
    /// in the file.
    first_kept: HashMap<Json, Option<Json>>,
    /// Identifiers of the new compactions in the source.
    new: HashSet<Json>,
    /// Numbers of messages of the file with calls that nothing answers, and that the file's agent
    /// left behind; and the identifiers of these messages in the source.
    pub open_calls: HashSet<u32>,
    dangling: HashSet<Json>,
}

impl Summed {
    /// Takes the new compactions that are entries of the file. One that keeps no message before it
    /// names none.
    fn entries(&mut self, now: &mut FileRecords, added: &[u32]) -> Result<()> {
        let mut firsts: HashMap<Json, u32> = HashMap::new();
        for number in added.iter().copied() {
            let mut record = now.record(number)?;
            if record.kind != Kind::Compaction {
                continue;
            }
            self.replacements.insert(number, passed(&record));
            if let Some(Value::Json(first)) = record.node.take(Field::FirstKept) {
                firsts.insert(first, number);
            }
            now.replacements.insert(number, record);
        }
        let last = firsts.values().max().copied().unwrap_or_default();
        for number in 0..last {
            let record = now.record(number)?;
            let Some(id) = record.node.json(Field::Id) else { continue };
            let Some((first, compaction)) = firsts.remove_entry(id) else { continue };
            let compaction = now.replacements.get_mut(&compaction).filter(|_| number < compaction);
            if let Some(compaction) = compaction {
                compaction.node.set(Field::FirstKept, first.clone());
                self.first_kept.insert(first, None);
            }
        }
        Ok(())
    }

    /// Whether the merge must find the message of the source for each message of the file.
    pub fn needs_origins(&self) -> bool {
        !self.first_kept.is_empty()
    }

    /// Notes that these messages of the file are this message of the source.
    pub fn place(&mut self, shown: &[Json], id: &Json) {
        for name in shown {
            self.first_kept.get_mut(name).into_iter().for_each(|known| *known = Some(id.clone()));
        }
    }

    /// Sets the source's identifier of the first message that a new compaction keeps.
    pub fn take(&mut self, compaction: &mut Record) {
        let id = compaction.node.json(Field::Id).cloned();
        let first = compaction.node.json(Field::FirstKept);
        let first_kept = first.and_then(|first| self.first_kept.get(first)?.clone());
        // A compaction that keeps no earlier message names itself, as some files have to name
        // something.
        compaction.node.put(Field::FirstKept, first_kept.or(id.clone()));
        self.new.extend(id);
    }

    /// Notes the identifier in the source of a message that the file's agent left behind.
    pub fn leave_behind(&mut self, number: u32, record: &Record) {
        if self.open_calls.contains(&number) {
            self.dangling.extend(record.node.json(Field::Id).cloned());
        }
    }

    /// Whether the file's agent left this message of the source behind.
    pub fn is_dangling(&self, id: Option<&Json>) -> bool {
        id.is_some_and(|id| self.dangling.contains(id))
    }

    /// Notes a message of the source that its agent added by itself, and that the file does not
    /// have.
    pub fn omit(&mut self, message: &Record) {
        self.dangling.extend(message.node.json(Field::Id).cloned());
    }

    /// Whether the source got a new compaction, or has messages that were left behind.
    pub fn has_new(&self) -> bool {
        !(self.new.is_empty() && self.dangling.is_empty())
    }

    /// Returns a node without content, if a record of the source is a new compaction, or was left
    /// behind.
    pub fn passed(&self, record: &Record) -> Option<Record> {
        let id = record.node.json(Field::Id)?;
        let summed = record.kind == Kind::Compaction && self.new.contains(id);
        (summed || self.dangling.contains(id)).then(|| passed(record))
    }
}

/// Turns new summaries in a file of the format `file_format`, with the messages that they keep,
/// into compactions.
pub fn find_new(
    now: &mut FileRecords,
    (outcomes, added): (&mut [Match], &mut Vec<u32>),
    file_format: Option<Spec>,
    source_format: Option<Spec>,
) -> Result<Summed> {
    let mut summed = Summed::default();
    let native =
        source_format.map(|spec| spec.format.name) == file_format.map(|spec| spec.format.name);
    let Some(open) = file_format.and_then(|spec| spec.format.agent.context).filter(|_| !native)
    else {
        return Ok(summed);
    };
    summed.entries(now, added)?;
    let rules = open(&now.record(0)?);
    let mut found = false;
    for number in added.iter() {
        found = found || rules.summary(&now.record(*number)?).is_some();
    }
    if !found {
        return Ok(summed);
    }
    let mut walk = Walk { new: added.iter().copied().collect(), ..Walk::default() };
    for number in 0..now.names.len() as u32 {
        walk.answers(&now.record(number)?);
    }
    for number in 0..now.names.len() as u32 {
        let record = now.record(number)?;
        walk.record(number, &record, rules.as_ref());
    }
    walk.close();
    for (copy, original) in &walk.copies {
        let new = added.iter().position(|number| number == original);
        let taken = outcomes
            .iter_mut()
            .find(|f| matches!(f, Match::Same(n) | Match::Edited(n) if n == copy));
        if let (Some(place), Some(found)) = (new, taken) {
            *found = Match::Same(*original);
            added.remove(place);
        }
    }
    added.retain(|number| walk.made.contains_key(number) || !walk.passed.contains_key(number));
    for (number, (mut compaction, first_kept)) in walk.made {
        if let Some(first_kept) = first_kept {
            let first_kept = now.record(first_kept)?.node.json(Field::Id).cloned();
            summed.first_kept.extend(first_kept.clone().map(|first_kept| (first_kept, None)));
            compaction.node.put(Field::FirstKept, first_kept);
        }
        now.replacements.insert(number, compaction);
    }
    summed.replacements.extend(walk.passed);
    Ok(summed)
}

/// Links the entries around new summaries in their order, where a summary begins a tree of its own:
/// behind an entry without a parent, and with messages before it that now follow it. Returns the
/// entries with their new parents.
pub fn relink(
    now: &mut FileRecords,
    added: &[u32],
    source_format: Option<Spec>,
) -> Result<BTreeMap<u32, Record>> {
    let mut linked = BTreeMap::new();
    if added.is_empty() {
        return Ok(linked);
    }
    let session = now.record(0)?;
    let foreign = |spec: &Spec| source_format.is_none_or(|own| own.format.name != spec.format.name);
    let open = now.format()?.filter(foreign).and_then(|spec| spec.format.agent.context);
    let Some(rules) = open.map(|open| open(&session)) else { return Ok(linked) };
    for summary in added {
        let record = now.record(*summary)?;
        let root = summary.checked_sub(1);
        let Some(root) = root.filter(|_| rules.summary(&record).is_some()) else { continue };
        let begins = now.record(root)?;
        let id = record.node.json(Field::Id).cloned();
        let is_root = begins.node.json(Field::Parent).is_none_or(Json::is_null);
        if !is_root || begins.node.json(Field::Id) != record.node.json(Field::Parent) {
            continue;
        }
        let (mut before, mut behind) = (None, None);
        for number in 0..now.names.len() as u32 {
            let mut record = now.record(number)?;
            if !record.is_node() || record.is_aside() {
                continue;
            }
            let kept = number < root && record.node.json(Field::Parent) == id.as_ref();
            let follows = number > *summary && behind.is_none();
            if kept || number == root {
                record.node.put(Field::Parent, before.clone());
                linked.insert(number, record.clone());
            } else if follows {
                behind = Some(number);
                record.node.put(Field::Parent, id.clone());
                linked.insert(number, record.clone());
            }
            before = record.node.json(Field::Id).cloned();
        }
    }
    now.replacements.extend(linked.iter().map(|(number, record)| (*number, record.clone())));
    Ok(linked)
}

/// Walk through the records of a file.
#[derive(Default)]
struct Walk {
    /// Numbers of the records that are new.
    new: HashSet<u32>,
    /// Hashes of the identifiers of messages that a response names, and that are not copies.
    answers: HashSet<u64>,
    /// Messages on the path, without summaries and copies.
    path: Vec<Step>,
    /// Messages by the copies of them, both as hashes of their identifiers.
    alias: HashMap<u64, u64>,
    /// Identifier of the last node.
    tip: Option<Json>,
    /// Total number of tokens of the last answer, with all messages before it.
    tokens: Option<Json>,
    open: Option<Summary>,
    /// Compactions, and the number of the first message that each keeps.
    made: BTreeMap<u32, (Record, Option<u32>)>,
    /// Nodes without content, in the place of summaries and copies.
    passed: BTreeMap<u32, Record>,
    /// The numbers of copies and of their originals.
    copies: Vec<(u32, u32)>,
}

/// Message on the path, with the hashes of its identifier and of its words.
struct Step {
    number: u32,
    id: u64,
    words: u64,
    is_question: bool,
}

/// Summary that further messages may continue.
struct Summary {
    /// The number of its last message.
    number: u32,
    record: Record,
    /// Place in the path of the message that is kept next, once the first one is known.
    next: Option<usize>,
    first: Option<u32>,
}

impl Walk {
    /// Notes the answers that a response names, before the walk: a request may show an answer
    /// before the file contains it.
    fn answers(&mut self, record: &Record) {
        let list = record.node.json(Field::Messages).filter(|_| record.kind == Kind::Response);
        let ids = list.iter().flat_map(|list| list.elements());
        self.answers.extend(ids.map(|id| hash(id.as_bytes())));
    }

    fn record(&mut self, number: u32, record: &Record, rules: &dyn Context) {
        if record.kind == Kind::Response {
            let total = record.node.node(Field::Usage).and_then(|usage| usage.json(Field::Total));
            self.tokens = total.cloned().or(self.tokens.take());
        }
        if !record.is_node() {
            return;
        }
        let summary = rules.summary(record).filter(|_| self.new.contains(&number));
        let before = self.tip.clone();
        self.tip = record.node.json(Field::Id).cloned();
        match summary {
            Some(text) if self.open.is_some() || !self.path.is_empty() => {
                self.sum_up(number, record, &text, before);
            }
            _ if record.kind == Kind::Message && !self.keeps(number, record) => {
                self.close();
                self.step(number, record);
            }
            _ => {}
        }
    }

    /// Takes a summary, or the continuation of one.
    fn sum_up(&mut self, number: u32, record: &Record, text: &Json, before: Option<Json>) {
        let mut own = record.clone();
        let mut text = text.clone();
        match self.open.take_if(|open| open.next.is_none()) {
            Some(open) => {
                let before = open.record.node.json(Field::Summary).cloned().unwrap_or_default();
                text = before.joined(&Json::constant("\"\\n\\n\"")).joined(&text);
            }
            None => {
                self.close();
                own.node.put(Field::Parent, before);
            }
        }
        // Messages behind the summary continue from the last message before it.
        if let Some(last) = self.path.last() {
            self.alias.insert(name(&record.node, Field::Id), last.id);
        }
        let passed = passed(&own);
        let mut compaction = Record { kind: Kind::Compaction, node: passed.node.clone() };
        compaction.node.set(Field::Summary, text);
        let tokens = self.tokens.clone().unwrap_or(Json::constant("0"));
        compaction.node.set(Field::TokensBefore, tokens);
        self.passed.insert(number, passed);
        self.open = Some(Summary { number, record: compaction, next: None, first: None });
    }

    /// Whether a message is one that the open summary keeps: the words of a turn, from its question
    /// on.
    fn keeps(&mut self, number: u32, record: &Record) -> bool {
        let answers = self.answers.contains(&name(&record.node, Field::Id));
        let Some(open) = self.open.as_mut().filter(|_| !answers) else { return false };
        let words = words(&record.node);
        let is_question = record.node.is(Field::Role, "user");
        // An answer that calls tools is not kept, or without its calls.
        let place = match open.next {
            None => self
                .path
                .iter()
                .rposition(|step| step.is_question && is_question && step.words == words),
            Some(next) => {
                let mut rest = self.path.iter().enumerate().skip(next);
                rest.find(|(_, step)| step.words == words && step.is_question == is_question)
                    .map(|(n, _)| n)
            }
        };
        let Some((place, step)) = place.and_then(|place| Some((place, self.path.get(place)?)))
        else {
            return false;
        };
        open.first.get_or_insert(step.number);
        open.next = Some(place + 1);
        self.copies.push((number, step.number));
        self.alias.insert(name(&record.node, Field::Id), step.id);
        self.passed.insert(number, passed(record));
        true
    }

    /// Takes a message that no summary keeps, behind its parent on the path.
    fn step(&mut self, number: u32, record: &Record) {
        let parent = name(&record.node, Field::Parent);
        let parent = self.alias.get(&parent).copied().unwrap_or(parent);
        let above = self.path.iter().rposition(|step| step.id == parent);
        self.path.truncate(above.map_or(0, |above| above + 1));
        let words = words(&record.node);
        if words != hash(b"") && !record.node.is(Field::Role, "tool") {
            let (id, is_question) =
                (name(&record.node, Field::Id), record.node.is(Field::Role, "user"));
            self.path.push(Step { number, id, words, is_question });
        } else if let Some(last) = self.path.last() {
            // Calls and results are not kept. Messages that follow them continue from here.
            self.alias.insert(name(&record.node, Field::Id), last.id);
        }
    }

    /// Ends the open summary, as all messages that it keeps are known.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.made.insert(open.number, (open.record, open.first));
        }
    }
}

fn name(node: &Node, field: Field) -> u64 {
    node.json(field).map_or(0, |id| hash(id.as_bytes()))
}

/// Hash of a message's content without calls, thoughts and tool results.
fn words(message: &Node) -> u64 {
    const OMITTED: &[&str] = &[block::TOOL_CALL, block::TOOL_RESULT, block::THINKING];
    let mut message = message.clone();
    if let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) {
        blocks.retain(|block| !OMITTED.iter().any(|kind| block.is(Field::Type, kind)));
    }
    let own = Node::default().with_some(Field::Content, message.get(Field::Content).cloned());
    hash(&shown(&own))
}
