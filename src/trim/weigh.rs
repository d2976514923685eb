//! Weighing the contents of a session.

use super::{Item, Step, Weights};
use crate::context::{self, size_of};
use crate::cuts::{SHORT, is_image};
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Agent, Cx, Format, Parts};
use crate::formats::ruling;
use crate::ids::hash;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::session::Session;
use crate::usage::{Tally, Usage};
use crate::user_words::UserWords;
use std::collections::{HashMap, HashSet};

/// Weighs the contents of a session. What may be cut is before the question of the newest turn but
/// `keep` - 1; thoughts of the last turn stay in any case, because their model needs them.
///
/// # Errors
/// If the session cannot be read, or no rules are known for what a model gets from it.
pub fn weigh(
    format: &'static Format,
    parts: &mut dyn Parts,
    keep: usize,
    cx: &Cx<'_>,
) -> Result<Weights> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    parts.keep()?;
    let context::Size { messages, bytes: text, places: sent } = context::size(format, parts, cx)?;
    let session = Session::open(format, parts, &quiet)?;
    let agent = ruling(format, &session.header().node).agent;
    let path = session.history();
    let mut scale = Scale {
        agent,
        sent,
        user_words: UserWords::of(format),
        tally: Tally::of(format),
        outputs: HashMap::new(),
        spoken: HashMap::new(),
        referred: HashSet::new(),
        dead: Vec::new(),
        alone: Vec::new(),
        parents: HashSet::new(),
        questions: Vec::new(),
        items: Vec::new(),
        tokens: None,
        has_begun: false,
    };
    let mut ordinal = 0;
    for (place, located) in (0..).zip(session.into_records(&quiet)?) {
        let located = located?;
        let is_node = located.value.is_node();
        let is_dead = is_node && !path.contains(ordinal);
        scale.record(place, &located, is_dead);
        ordinal += u32::from(is_node);
    }
    Ok(Weights { messages, text, ..scale.finish(keep) })
}

/// Weights of a session while it is read.
struct Scale {
    agent: Agent,
    /// Parts and lines of which a model gets something.
    sent: HashSet<(u32, u64)>,
    user_words: UserWords,
    tally: Tally,
    /// Items of the last results with these outputs.
    outputs: HashMap<u64, Item>,
    /// Whether the lines of an answer have more than thoughts, by the name of the answer.
    spoken: HashMap<Json, bool>,
    /// Identifiers to which other entries refer.
    referred: HashSet<Json>,
    /// Entries beside the conversation: identifier, parent, and what they weigh.
    dead: Vec<(Json, Option<Json>, Item)>,
    /// Answers that are only thoughts: the name of the answer, and what they weigh.
    alone: Vec<(Option<Json>, Item)>,
    /// Identifiers of entries that are parents of others.
    parents: HashSet<Json>,
    /// Places of the user's questions.
    questions: Vec<u64>,
    items: Vec<Item>,
    tokens: Option<u64>,
    /// Whether a record was read that a model gets.
    has_begun: bool,
}

impl Scale {
    fn record(&mut self, place: u64, located: &Located<Record>, is_dead: bool) {
        let record = &located.value;
        let node = &record.node;
        self.user_words.note(record);
        self.tally.record(record);
        for field in [Field::Target, Field::FirstKept, Field::From] {
            self.referred.extend(node.json(field).cloned());
        }
        if !is_dead {
            self.parents.extend(node.json(Field::Parent).cloned());
        }
        if record.is_aside() {
            return;
        }
        let is_sent = self.sent.contains(&(located.at.part, located.at.line));
        self.count(record, is_sent);
        self.has_begun |= is_sent;
        let item =
            |step, bytes, context, is_record| Item { place, step, bytes, context, is_record };
        if is_dead {
            let whole = item(Step::Branches, bytes_of(node), 0, true);
            if let Some(id) = node.json(Field::Id).filter(|_| !node.is_true(Field::IdMade)) {
                self.dead.push((id.clone(), node.json(Field::Parent).cloned(), whole));
            }
            return;
        }
        if is_sent && self.user_words.is_question(record) {
            self.questions.push(place);
        }
        self.spare(record, &item);
        if record.kind == Kind::Message {
            self.message(node, is_sent, &item);
        }
    }

    /// Notes the tokens of the context that a record names.
    fn count(&mut self, record: &Record, is_sent: bool) {
        let Usage { input, output, cache_read, cache_write, .. } = self.tally.last();
        let tokens = (input + output + cache_read + cache_write) as u64;
        let is_of_context = match record.kind {
            Kind::Message => is_sent,
            Kind::Turn | Kind::Session => false,
            _ => self.has_begun,
        };
        if tokens > 0 && is_of_context {
            self.tokens = Some(tokens);
        }
    }

    /// Notes a record without which the software continues as before.
    fn spare(&mut self, record: &Record, item: &dyn Fn(Step, u64, u64, bool) -> Item) {
        let node = &record.node;
        let data = node.json(Field::Data);
        let named = match record.kind {
            Kind::Opaque => node.text(Field::Type),
            _ => data.and_then(|data| data.member("type")).and_then(|kind| kind.text()),
        };
        let Some(named) = named else { return };
        let spare = self.agent.spare;
        let is_numbered =
            node.json(Field::Extra).is_some_and(|extra| extra.member("ordinal").is_some());
        if spare.records.contains(&&*named) && !is_numbered {
            let whole = item(Step::Progress, bytes_of(node), 0, true);
            match node.json(Field::Id) {
                Some(id) => self.dead.push((id.clone(), node.json(Field::Parent).cloned(), whole)),
                None => self.items.push(whole),
            }
        } else if let Some(data) = data.filter(|data| data.as_bytes().len() > SHORT)
            && record.kind == Kind::Event
            && (spare.repeats)(data)
        {
            self.items.push(item(Step::Progress, data.as_bytes().len() as u64, 0, false));
        }
    }

    fn message(&mut self, node: &Node, is_sent: bool, item: &dyn Fn(Step, u64, u64, bool) -> Item) {
        let blocks = node.content();
        let context = |size: u64| if is_sent { size } else { 0 };
        let inner = || blocks.iter().filter(|block| block.is(Field::Type, block::TOOL_RESULT));
        let inner = inner().flat_map(|result| {
            [Field::Content, Field::Output].into_iter().filter_map(|field| result.nodes(field))
        });
        let images = blocks.iter().chain(inner.flatten()).filter(|block| is_image(block));
        let (bytes, text) = images
            .fold((0, 0), |(bytes, text), image| (bytes + bytes_of(image), text + size_of(image)));
        if bytes > SHORT as u64 {
            self.items.push(item(Step::Images, bytes, context(text), false));
        }
        let thinks = |block: &&Node| block.is(Field::Type, block::THINKING);
        let thoughts: u64 = blocks.iter().filter(thinks).map(bytes_of).sum();
        let name = node.json(Field::ResponseId).or(node.json(Field::Group)).cloned();
        let more = blocks.iter().any(|block| !thinks(&block));
        if let Some(name) = &name {
            *self.spoken.entry(name.clone()).or_default() |= more;
        }
        // The interfaces leave out the thoughts of earlier turns.
        let alone = item(Step::Thinking, thoughts, 0, !more && name.is_none());
        if thoughts > 0 && more {
            self.items.push(alone);
        } else if thoughts > 0 && (name.is_some() || can_go(node)) {
            self.alone.push((name, alone));
        }
        self.output(node, is_sent, item);
    }

    /// Notes the output of tools.
    fn output(&mut self, node: &Node, is_sent: bool, item: &dyn Fn(Step, u64, u64, bool) -> Item) {
        let mut long = Vec::new();
        let mut note = |text: &Json| {
            let text = text.as_bytes();
            if text.len() > SHORT + 2 {
                long.extend_from_slice(text);
            }
        };
        for result in node.blocks_of(block::TOOL_RESULT) {
            for field in [Field::Content, Field::Output] {
                match result.get(field) {
                    Some(Value::Json(text)) if text.is_string() => note(text),
                    Some(Value::Nodes(inner)) => {
                        inner
                            .iter()
                            .filter_map(|block| block.json(Field::Text))
                            .for_each(&mut note);
                    }
                    _ => {}
                }
            }
        }
        if long.is_empty() {
            return;
        }
        let details =
            node.json(Field::Details).map_or(0, |details| details.as_bytes().len() as u64);
        let context = if is_sent { (long.len() as u64).saturating_sub(LINE) } else { 0 };
        let bytes = long.len() as u64 + details;
        let result = item(Step::Results, bytes, context, false);
        if let Some(earlier) = self.outputs.insert(hash(&long), result) {
            self.items.push(Item { step: Step::Copies, ..earlier });
        }
        self.items.push(result);
    }

    /// Returns what may be cut, and the sums of everything.
    fn finish(mut self, keep: usize) -> Weights {
        let alone = std::mem::take(&mut self.alone).into_iter();
        let spoken = &self.spoken;
        self.items.extend(alone.filter_map(|(name, item)| {
            name.is_none_or(|name| spoken.get(&name) == Some(&true)).then_some(item)
        }));
        let dead = self.unreferred();
        self.items.extend(dead);
        let mut all = [super::Weight::default(); 6];
        self.items.iter().for_each(|item| all[item.step as usize].add(item));
        let question = |back: usize| {
            let at = self.questions.len().checked_sub(back);
            at.and_then(|at| self.questions.get(at)).copied()
        };
        let newest = if keep == 0 { u64::MAX } else { question(keep).unwrap_or(0) };
        let last = question(1).unwrap_or(0);
        self.items.retain(|item| match item.step {
            Step::Branches => true,
            Step::Thinking => item.place < newest.min(last),
            _ => item.place < newest,
        });
        self.items.sort_by_key(|item| (item.step, item.place));
        Weights { items: self.items, all, tokens: self.tokens, ..Weights::default() }
    }

    /// Returns the entries beside the conversation to which no entry that stays refers.
    fn unreferred(&mut self) -> Vec<Item> {
        let mut needed: HashSet<Json> = self.referred.union(&self.parents).cloned().collect();
        // A parent is before its children in nearly all files.
        for (id, parent, _) in self.dead.iter().rev() {
            if needed.contains(id) {
                needed.extend(parent.clone());
            }
        }
        let dead = std::mem::take(&mut self.dead).into_iter();
        dead.filter(|(id, ..)| !needed.contains(id)).map(|(.., item)| item).collect()
    }
}

/// Size in bytes of the line in place of an output.
const LINE: u64 = 45;

/// Whether a line with this message can go: no other line refers to it by an identifier or a number.
fn can_go(node: &Node) -> bool {
    let numbered = |extra: &Json| extra.member("ordinal").is_some();
    node.is_true(Field::IdMade) && !node.json(Field::Extra).is_some_and(numbered)
}

/// Returns the size of a node in the file.
fn bytes_of(node: &Node) -> u64 {
    let sizes = node.iter().map(|(_, value)| match value {
        Value::Json(json) => json.as_bytes().len() as u64,
        Value::Node(node) => bytes_of(node),
        Value::Nodes(nodes) => nodes.iter().map(bytes_of).sum(),
    });
    sizes.sum()
}
