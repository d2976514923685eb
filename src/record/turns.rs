//! Calls and results as every model's interface requires them.
//!
//! Programs store the messages of a turn in the order in which they come: a user writes while a
//! tool runs, an answer goes on after the first of its results, and models behind other interfaces
//! number their calls from the beginning in each turn. An interface requires each result directly
//! behind the answer that calls for it, and identifiers that occur once.

mod member;

pub use member::{Member, Numbered, Part, message_part};

use super::{Field, Node, Value, block};
use crate::ids::hash;
use crate::json::Json;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Requirements of the interface, or the software, that gets the messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Whether parents link the messages. In a list the next message follows.
    pub tree: bool,
    /// Whether each result is placed behind its call, and the parts of an answer are together.
    pub moves: bool,
    /// Whether results without a call are left out.
    pub drops: bool,
    /// Text of the results that calls without one get.
    pub unanswered: Option<&'static str>,
}

/// Text of the result of a call without one, where the software is not known that adds it.
pub const NO_RESULT: &str = "No result: the session was interrupted before the tool returned one.";

/// Maximum number of messages among which the results of an open call are looked for.
const LONGEST: usize = 100;
/// Maximum number of messages that wait.
const MOST: usize = 4 * LONGEST;

/// Messages while calls among them have no results yet.
#[derive(Debug)]
pub struct Turns<T> {
    rules: Rules,
    /// Identifiers that other entries follow or refer to alone, by their hashes.
    forks: Rc<HashSet<u64>>,
    held: Vec<T>,
    /// Identifier of the last entry.
    last: Option<Json>,
    /// Number of messages among these.
    messages: usize,
    /// Calls without a result, and the number of messages that waited before each.
    open: Vec<(Json, usize)>,
    /// Hashes of the identifiers of all calls.
    known: HashSet<u64>,
    /// Present identifiers of calls that were renamed, by the hashes of their old ones.
    renamed: HashMap<u64, Json>,
    /// Present parents, by the hashes of the old ones.
    parents: HashMap<u64, Json>,
    /// Number of results that were left out.
    dropped: u64,
}

/// A turn, or a message that belongs to none, by the places of its members in the list.
#[derive(Debug, Default)]
struct Slot {
    answers: Vec<usize>,
    results: Vec<usize>,
    others: Vec<usize>,
    calls: Vec<Call>,
}

/// A call, by the place of its answer and of its block there.
#[derive(Debug)]
struct Call {
    answer: usize,
    block: usize,
    id: Json,
    result: Option<usize>,
}

impl Slot {
    fn is_open(&self) -> bool {
        self.calls.iter().any(|call| call.result.is_none())
    }
}

impl<T: Member> Turns<T> {
    /// Begins a list of messages.
    #[must_use]
    pub fn new(rules: Rules, forks: Rc<HashSet<u64>>) -> Self {
        Self {
            rules,
            forks,
            held: Vec::new(),
            last: None,
            messages: 0,
            open: Vec::new(),
            known: HashSet::new(),
            renamed: HashMap::new(),
            parents: HashMap::new(),
            dropped: 0,
        }
    }

    /// Takes the next item, and adds those that are complete to `ready`.
    pub fn take(&mut self, mut item: T, ready: &mut Vec<T>) {
        self.follow(item.node_mut());
        let part = item.part();
        if part == Part::Aside {
            return if self.held.is_empty() { ready.push(item) } else { self.held.push(item) };
        }
        let own = item.node().json(Field::Id).cloned();
        let before = self.last.clone();
        self.last = own.or(self.last.take());
        if part == Part::Wall || !self.goes_on(&item) {
            self.finish(ready);
        }
        if self.held.is_empty() && !(part == Part::Answer && has_calls(item.node())) {
            // The call of a result may be in a later line; its parent shows that.
            let parent = item.node().json(Field::Parent);
            let follows = !self.rules.tree || parent.is_none() || parent == before.as_ref();
            if part == Part::Result && !self.is_late(&mut item) && follows && self.rules.drops {
                return self.leave_out(&item);
            }
            return ready.push(item);
        }
        match part {
            Part::Answer => {
                let calls = calls_of(item.node()).map(|(_, id)| (id.detached(), self.messages));
                self.open.extend(calls);
            }
            Part::Result => {
                let id = result_of(item.node()).and_then(|result| result.json(Field::Call));
                let place = self.open.iter().rposition(|(open, _)| Some(open) == id);
                place.map(|place| self.open.remove(place));
            }
            _ => {}
        }
        self.messages += usize::from(part != Part::Beside);
        self.held.push(item);
        // A call that is given up takes no later call along, whose result may be next.
        self.open.retain(|(_, before)| self.messages - before <= LONGEST);
        if self.open.is_empty() || self.messages > MOST {
            self.finish(ready);
        }
    }

    /// Ends the turns that wait, and adds their items to `ready`.
    pub fn finish(&mut self, ready: &mut Vec<T>) {
        if self.held.is_empty() {
            return;
        }
        self.open.clear();
        self.messages = 0;
        let mut held = std::mem::take(&mut self.held);
        let (mut slots, orphans) = self.slots(&held);
        self.rename(&mut slots, &mut held);
        let order = self.order(&slots, &orphans, &held);
        if order.iter().copied().eq((0..held.len()).map(ItemPlace::Held)) {
            return ready.append(&mut held);
        }
        self.reorder(&order, held, ready);
    }

    /// Returns how many results were left out since the last call.
    pub fn dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Returns the identifiers of items in one conversation.
    fn chained<'i>(&self, items: &'i [T]) -> impl DoubleEndedIterator<Item = &'i Json> {
        let own = items.iter().filter(|item| item.part() != Part::Aside);
        own.filter_map(|item| item.node().json(Field::Id))
    }

    /// Whether an item follows the last one that is held.
    fn goes_on(&self, item: &T) -> bool {
        if !self.rules.tree {
            return true;
        }
        let Some(last) = self.chained(&self.held).next_back() else { return true };
        let is_fork = |id: &Json| self.forks.contains(&hash(id.as_bytes()));
        let node = item.node();
        ![Some(last), node.json(Field::Id)].into_iter().flatten().any(is_fork)
            && node.json(Field::Parent).is_none_or(|parent| parent == last)
    }

    /// Whether a result belongs to a call that was given away. It gets that call's identifier.
    fn is_late(&self, item: &mut T) -> bool {
        let id = result_of(item.node()).and_then(|result| result.json(Field::Call));
        let Some(id) = id.map(|id| hash(id.as_bytes())) else { return false };
        if let Some(new) = self.renamed.get(&id) {
            set_call(item.node_mut(), new);
        }
        self.known.contains(&id)
    }

    fn leave_out(&mut self, item: &T) {
        self.dropped += 1;
        let (id, parent) = (item.node().json(Field::Id), item.node().json(Field::Parent));
        if let (Some(id), Some(parent)) = (id, parent) {
            self.parents.insert(hash(id.as_bytes()), parent.detached());
        }
    }

    /// Replaces the parent of an item whose old parent has moved.
    fn follow(&self, node: &mut Node) {
        if self.parents.is_empty() {
            return;
        }
        let mut parent = node.json(Field::Parent);
        for _ in 0..self.parents.len() {
            let moved = parent.and_then(|parent| self.parents.get(&hash(parent.as_bytes())));
            let Some(moved) = moved else { break };
            parent = Some(moved);
        }
        let parent = parent.cloned();
        node.put(Field::Parent, parent);
    }

    /// Divides the items that are held; the second list has the results without a call.
    fn slots(&self, held: &[T]) -> (Vec<Slot>, Vec<usize>) {
        let (mut slots, mut orphans) = (Vec::<Slot>::new(), Vec::new());
        for (place, item) in held.iter().enumerate() {
            let node = item.node();
            match item.part() {
                Part::Beside | Part::Aside | Part::Wall => {}
                Part::Answer => {
                    let found = slots.iter().rposition(|slot| {
                        let first = slot.answers.first().and_then(|first| held.get(*first));
                        let same = first.is_some_and(|first| are_of_one(first.node(), node));
                        slot.is_open() && same
                    });
                    let last = slots.len().checked_sub(1);
                    let found = found.or(last.filter(|last| slots[*last].is_open()));
                    let slot = match found.and_then(|found| slots.get_mut(found)) {
                        Some(slot) => slot,
                        None => pushed(&mut slots),
                    };
                    slot.answers.push(place);
                    slot.calls.extend(calls_of(node).map(|(block, id)| Call {
                        answer: place,
                        block,
                        id: id.clone(),
                        result: None,
                    }));
                }
                Part::Result => {
                    let id = result_of(node).and_then(|result| result.json(Field::Call));
                    let waits = |call: &Call| call.result.is_none() && Some(&call.id) == id;
                    let slot = slots.iter_mut().rev().find(|slot| slot.calls.iter().any(waits));
                    let Some(slot) = slot else {
                        orphans.push(place);
                        pushed(&mut slots).others.push(place);
                        continue;
                    };
                    slot.results.push(place);
                    let call = slot.calls.iter_mut().find(|call| waits(call));
                    call.into_iter().for_each(|call| call.result = Some(place));
                }
                Part::Other => pushed(&mut slots).others.push(place),
            }
        }
        (slots, orphans)
    }

    /// Gives calls whose identifiers occurred before new ones, and their results the same.
    fn rename(&mut self, slots: &mut [Slot], held: &mut [T]) {
        for call in slots.iter_mut().flat_map(|slot| &mut slot.calls) {
            let old = hash(call.id.as_bytes());
            if self.known.insert(old) {
                continue;
            }
            let Some(text) = call.id.text() else { continue };
            let numbered = |number: u64| Json::string(&format!("{text}_{number}"));
            let free = |name: &Json| !self.known.contains(&hash(name.as_bytes()));
            let Some(new) = (2..).map(numbered).find(free) else { continue };
            self.known.insert(hash(new.as_bytes()));
            self.renamed.insert(old, new.clone());
            let answer = held.get_mut(call.answer).map(T::node_mut);
            if let Some(Value::Nodes(blocks)) = answer.and_then(|n| n.get_mut(Field::Content))
                && let Some(block) = blocks.get_mut(call.block)
            {
                block.set(Field::Id, new.clone());
            }
            let result = call.result.and_then(|result| held.get_mut(result));
            result.into_iter().for_each(|result| set_call(result.node_mut(), &new));
            call.id = new;
        }
    }

    /// Returns the order in which the items are given away.
    fn order(&self, slots: &[Slot], orphans: &[usize], held: &[T]) -> Vec<ItemPlace> {
        // Records beside a message stay behind it.
        let is_beside = |place: usize| {
            held.get(place).is_some_and(|item| matches!(item.part(), Part::Beside | Part::Aside))
        };
        let with = |place: usize| {
            let beside = (place + 1..held.len()).take_while(|next| is_beside(*next));
            std::iter::once(place).chain(beside)
        };
        let made = |slot: &Slot| {
            let open = slot.calls.iter().filter(|call| call.result.is_none());
            let made = open.map(|call| ItemPlace::Made(call.answer, call.block));
            made.filter(|_| self.rules.unanswered.is_some()).collect::<Vec<_>>()
        };
        let mut order = Vec::with_capacity(held.len());
        if !self.rules.moves {
            let ends = |slot: &&Slot, place| slot.answers.last() == Some(&place);
            for place in (0..held.len()).filter(|place| !is_beside(*place)) {
                order.extend(with(place).map(ItemPlace::Held));
                let slot = slots.iter().find(|slot| ends(slot, place));
                order.extend(slot.into_iter().flat_map(made));
            }
            return order;
        }
        for slot in slots {
            let places = slot.answers.iter().chain(&slot.results).chain(&slot.others);
            let dropped = |place| self.rules.drops && orphans.contains(place);
            let places = places.flat_map(|place| with(*place).skip(usize::from(dropped(place))));
            order.extend(places.map(ItemPlace::Held));
            order.extend(made(slot));
        }
        order
    }

    /// Gives the items away in this order, each as the child of the one before it.
    fn reorder(&mut self, order: &[ItemPlace], held: Vec<T>, ready: &mut Vec<T>) {
        let node = |item: &T, field| item.node().json(field).cloned();
        let mut parent = held.iter().find_map(|item| node(item, Field::Parent));
        let last = self.chained(&held).next_back().cloned();
        let mut held: Vec<Option<T>> = held.into_iter().map(Some).collect();
        // Results are made beside answers that are not given away yet.
        let made: Vec<Option<T>> = order
            .iter()
            .map(|place| match place {
                ItemPlace::Held(_) => None,
                ItemPlace::Made(answer, block) => {
                    let answer = held.get(*answer)?.as_ref()?;
                    self.made(answer, *block)
                }
            })
            .collect();
        for (place, made) in order.iter().zip(made) {
            let item = match place {
                ItemPlace::Held(place) => held.get_mut(*place).and_then(Option::take),
                ItemPlace::Made(..) => made,
            };
            let Some(mut item) = item else { continue };
            let chained = item.part() != Part::Aside;
            if let Some(id) = node(&item, Field::Id).filter(|_| chained) {
                let old = node(&item, Field::Parent);
                if old.is_some() && old != parent {
                    item.node_mut().put(Field::Parent, parent);
                }
                parent = Some(id);
            }
            ready.push(item);
        }
        self.dropped += held.iter().flatten().count() as u64;
        if let (Some(old), Some(new)) = (last, parent)
            && old != new
        {
            self.parents.insert(hash(old.as_bytes()), new.detached());
        }
    }

    /// Returns the result of a call that has none.
    fn made(&self, answer: &T, block: usize) -> Option<T> {
        let text = self.rules.unanswered?;
        let call = answer.node().nodes(Field::Content)?.get(block)?.json(Field::Id)?;
        let mut node = Node::with_capacity(8);
        if let Some(parent) = answer.node().json(Field::Id) {
            let name = hash(&[parent.as_bytes(), call.as_bytes()].concat());
            node.set(Field::Id, Json::string(&format!("{name:016x}")));
            node.set(Field::IdMade, Json::constant("true"));
            node.set(Field::Parent, parent.clone());
        }
        node.put(Field::Time, answer.node().json(Field::Time).cloned());
        no_result(call, vec![block::text(Json::string(text))], &mut node);
        Some(answer.beside(node))
    }
}

/// Place of an item: among those that are held, or that of the result of a call, by the place of
/// its answer and its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItemPlace {
    Held(usize),
    Made(usize, usize),
}

fn pushed(slots: &mut Vec<Slot>) -> &mut Slot {
    slots.push(Slot::default());
    let last = slots.len() - 1;
    &mut slots[last]
}

/// Makes a message the result of a call that has none, with this content.
pub fn no_result(call: &Json, content: impl Into<Value>, message: &mut Node) {
    let result = block::of(block::TOOL_RESULT)
        .with(Field::Call, call.clone())
        .with(Field::IsError, Json::constant("true"))
        .with(Field::Content, content);
    message.set(Field::Role, Json::constant("\"tool\""));
    message.set(Field::Content, vec![result]);
}

/// Returns the identifiers of a message's calls, with the places of their blocks.
fn calls_of(message: &Node) -> impl Iterator<Item = (usize, &Json)> {
    let blocks = message.content().iter().enumerate();
    let calls = blocks.filter(|(_, block)| block.is(Field::Type, block::TOOL_CALL));
    calls.filter_map(|(place, call)| Some((place, call.json(Field::Id)?)))
}

fn has_calls(message: &Node) -> bool {
    calls_of(message).next().is_some()
}

fn result_of(message: &Node) -> Option<&Node> {
    let first = message.nodes(Field::Content)?.first();
    first.filter(|block| block.is(Field::Type, block::TOOL_RESULT))
}

fn set_call(message: &mut Node, id: &Json) {
    if let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content)
        && let Some(result) = blocks.first_mut()
    {
        result.set(Field::Call, id.clone());
    }
}

/// Whether two messages are records of one answer.
pub(super) fn are_of_one(a: &Node, b: &Node) -> bool {
    a.get(Field::Group).is_some() && a.get(Field::Group) == b.get(Field::Group)
}
