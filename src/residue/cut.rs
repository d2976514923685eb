//! What goes with messages that were deleted: turns of which nothing is left, and what stands
//! behind the last message that is.

use super::align::Tag;
use super::fates::Fate;
use super::retold::{self, Turn, nth};
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record};
use std::collections::{HashMap, HashSet};

/// Which messages of the source are left.
#[derive(Default)]
pub struct Cut {
    /// How many items were looked at, and how many were taken after that.
    seen: usize,
    taken: usize,
    /// The last item of a message that is left, and whether some behind it are gone.
    last: usize,
    shorter: bool,
    /// What messages that are gone were called.
    gone: HashSet<Json>,
    outputs: Outputs,
    /// How many messages of each turn are left, and how many are gone; and how many turns were
    /// taken.
    turns: HashMap<Turn, [u64; 2]>,
    told: u64,
    /// Whether what stands behind the last message that is left has begun to go.
    begun: bool,
    /// The last run that is left, and those that are gone.
    run: Option<Json>,
    runs: HashSet<Json>,
}

/// How many outputs of tools there are.
#[derive(Default)]
struct Outputs {
    /// That the source tells of.
    told: usize,
    /// Whose messages were the last, and are gone.
    gone: usize,
    /// That were taken.
    taken: usize,
}

impl Cut {
    /// Looks at an item before all are taken: what it gives, what of the file's records speaks of
    /// it, and what became of that.
    pub fn look(&mut self, template: &Json, tag: Option<Tag>, fates: &[Fate]) {
        self.seen += 1;
        let kind = template.member("kind").unwrap_or_default();
        self.outputs.told += usize::from(kind == OUTPUT);
        if fates.is_empty() || kind != MESSAGE {
            return;
        }
        let gone = fates.iter().all(|fate| *fate == Fate::Deleted);
        let turn = template.member(Field::Turn.name()).and_then(|turn| turn.float());
        if let Some(turn) = turn {
            let counts = self.turns.entry(turn.to_bits()).or_default();
            counts[usize::from(gone)] += 1;
        }
        self.shorter = gone;
        let output = usize::from(tag == Some(Tag('t')));
        self.outputs.gone = if gone { self.outputs.gone + output } else { 0 };
        match template.member("id").filter(|_| gone) {
            Some(id) => drop(self.gone.insert(id)),
            None => self.last = self.seen,
        }
    }

    /// The next item is taken.
    pub fn next(&mut self) {
        self.taken += 1;
    }

    /// A message is gone.
    pub fn lose(&mut self) {
        self.begun |= self.is_behind();
    }

    fn is_behind(&self) -> bool {
        self.shorter && self.taken > self.last
    }

    /// Whether a record that the file does not show goes with what is gone: of a tree no entry, for
    /// what stands behind another one may be of another branch.
    pub fn takes(&mut self, record: &Record, tree: bool) -> bool {
        let header = record.kind == Kind::Run && record.node.is(Field::Layout, "header");
        let begins = header || record.kind == Kind::Response || self.asks_what_is_gone(record);
        self.begun |= begins && self.is_behind();
        let goes = match record.kind {
            Kind::Turn => {
                self.told += 1;
                let turn = retold::number(record, Field::Number).unwrap_or(nth(self.told));
                let counts = self.turns.get(&turn);
                return counts.is_some_and(|[left, gone]| *left == 0 && *gone > 0);
            }
            Kind::ToolOutput => {
                self.outputs.taken += 1;
                self.outputs.taken + self.outputs.gone > self.outputs.told
            }
            Kind::Session | Kind::Snapshot | Kind::Opaque => false,
            _ => self.begun && !(tree && record.is_node()),
        };
        if let Some(id) = record.node.json(Field::Id).filter(|_| goes && record.is_node()) {
            self.gone.insert(id.clone());
        }
        if let Some(run) = record.node.json(Field::Run).filter(|_| header) {
            match goes {
                true => drop(self.runs.insert(run.clone())),
                false => self.run = Some(run.clone()),
            }
        }
        goes
    }

    /// Whether a run begins with questions that are all gone.
    fn asks_what_is_gone(&self, record: &Record) -> bool {
        let list = record.node.json(Field::Messages).filter(|_| record.kind == Kind::Run);
        list.is_some_and(|list| list.elements().all(|id| self.gone.contains(&id)))
    }

    /// Takes out of a record what refers to what is gone. `above` gives the nearest message above
    /// one that is left.
    pub fn mend(&self, record: &mut Record, above: &dyn Fn(&Json) -> Json) {
        if self.gone.is_empty() || !matches!(record.kind, Kind::Response | Kind::Snapshot) {
            return;
        }
        let node = &mut record.node;
        let list = node.json(Field::Messages).filter(|list| list.as_bytes().starts_with(b"["));
        if let Some(list) = list.map(|list| (list.clone(), self.left(list, above)))
            && list.0 != list.1
        {
            node.set(Field::Messages, list.1);
            unspelled(node);
        }
        let run = node.json(Field::Run).filter(|run| self.runs.contains(run));
        if let Some(last) = self.run.as_ref().filter(|_| run.is_some()) {
            node.set(Field::Run, last.clone());
            unspelled(node);
        }
    }

    /// References to messages, each an identifier or the two ends of a path.
    fn left(&self, list: &Json, above: &dyn Fn(&Json) -> Json) -> Json {
        let mut items = Vec::new();
        for item in list.elements() {
            let ends: Vec<_> = match item.as_bytes().first() {
                Some(b'[') => item.elements().collect(),
                _ => Vec::new(),
            };
            match ends.as_slice() {
                [first, last] if self.gone.contains(last) && !self.gone.contains(first) => {
                    let last = above(last);
                    items.push([b"[", first.as_bytes(), b",", last.as_bytes(), b"]"].concat());
                }
                [first, last] if self.gone.contains(last) && self.gone.contains(first) => {}
                _ if self.gone.contains(&item) => {}
                _ => items.push(item.as_bytes().to_vec()),
            }
        }
        Json::checked([b"[", items.join(&b","[..]).as_slice(), b"]"].concat().into())
    }
}

/// What kinds are called in a line.
const MESSAGE: Json = Json::constant("\"message\"");
const OUTPUT: Json = Json::constant("\"tool_output\"");

fn unspelled(node: &mut Node) {
    [Field::Raw, Field::RawBytes].iter().for_each(|field| drop(node.take(*field)));
}
