//! Records that are removed with deleted messages: turns of which nothing is left, and records
//! behind the last message that is left.

use crate::json::Json;
use crate::origin::matching::align::Tag;
use crate::origin::matching::outcomes::Match;
use crate::origin::merge::restored_texts::{self, Turn, nth};
use crate::record::{Field, Kind, Node, Record};
use std::collections::{HashMap, HashSet};

/// Messages of the source that are left or deleted.
#[derive(Default)]
pub struct Deletions {
    /// Number of items looked at, and number of items merged after that.
    seen: usize,
    taken: usize,
    /// Last item with a message that is left, and whether messages behind it were deleted.
    last: usize,
    shorter: bool,
    /// Identifiers of deleted messages, and the parents of entries from the first deleted one on.
    deleted: HashSet<Json>,
    parents: HashMap<Json, Json>,
    outputs: Outputs,
    /// Numbers of messages of each turn that are left and that are deleted; and number of turns
    /// merged.
    turns: HashMap<Turn, [u64; 2]>,
    turns_seen: u64,
    /// Whether the session's prompt was removed, and whether the current run has a prompt of its
    /// own.
    unprompted: bool,
    own_prompt: bool,
    /// Numbers of the removed turns.
    numbers: Vec<f64>,
    /// Whether the removal of records behind the last message that is left has begun.
    begun: bool,
    /// Whether any message of the current prompt is left, and whether any was deleted; and the
    /// items that record how prompts without any message left ended.
    prompt: [bool; 2],
    ended: HashSet<usize>,
    /// Remains of each run, in order; and number of runs merged.
    run_remains: Vec<RunRemains>,
    begun_runs: usize,
    /// Last run that is left, and the removed runs.
    run: Option<Json>,
    runs: HashSet<Json>,
    /// Whether the header of the current run was removed.
    headless: bool,
}

/// Remains of a run.
#[derive(Default)]
struct RunRemains {
    /// Identifier of the question, and whether the question was deleted.
    question: Option<Json>,
    question_deleted: bool,
    /// Whether any message that the file showed is left, and whether any was deleted.
    has_messages: bool,
    lost_messages: bool,
}

/// Numbers of tool outputs.
#[derive(Default)]
struct Outputs {
    /// Outputs that the source contains.
    in_source: usize,
    /// Outputs whose messages were the last ones, and were deleted.
    deleted_last: usize,
    /// Outputs that were merged.
    taken: usize,
}

impl Deletions {
    /// Looks at an item before all are merged: the source's record, the tag of the base's record,
    /// and the outcomes of the base's records.
    pub fn look(&mut self, source: &Record, tag: Option<Tag>, outcomes: &[Match]) {
        self.seen += 1;
        let kind = source.kind;
        self.outputs.in_source += usize::from(kind == Kind::ToolOutput);
        // Copies a value, so that it does not keep its line in memory.
        let own = |field| {
            let value: Option<&Json> = source.node.json(field);
            value.map(|value| Json::trusted(value.as_bytes().to_vec().into()))
        };
        let (id, parent) = (own(Field::Id), own(Field::Parent));
        let gone = !outcomes.is_empty() && outcomes.iter().all(|found| *found == Match::Deleted);
        if gone || !self.deleted.is_empty() {
            self.parents.extend(id.clone().zip(parent));
        }
        if kind == Kind::Run && source.node.is(Field::Layout, "header") {
            self.run_remains.push(RunRemains::default());
        }
        if let (Some(run), true) = (self.run_remains.last_mut(), kind == Kind::Run) {
            let question_deleted = own(Field::Messages).and_then(|list| list.elements().next());
            run.question = question_deleted.or(run.question.take());
        }
        if kind == Kind::Result && std::mem::take(&mut self.prompt) == [false, true] {
            self.ended.insert(self.seen);
        }
        self.deleted.extend(id.clone().filter(|_| gone));
        if outcomes.is_empty() || kind != Kind::Message {
            return;
        }
        self.prompt = [self.prompt[0] || !gone, self.prompt[1] || gone];
        let turn = source.node.json(Field::Turn).and_then(Json::float);
        if let Some(turn) = turn {
            let counts = self.turns.entry(turn.to_bits()).or_default();
            counts[usize::from(gone)] += 1;
        }
        if let Some(run) = self.run_remains.last_mut() {
            run.has_messages |= !gone;
            run.lost_messages |= gone;
            run.question_deleted |= gone && id.is_some() && run.question == id;
        }
        self.shorter = gone;
        let output = usize::from(tag == Some(Tag('t')));
        self.outputs.deleted_last = if gone { self.outputs.deleted_last + output } else { 0 };
        if !gone {
            self.last = self.seen;
        }
    }

    /// Counts an item that is merged next.
    pub fn next(&mut self) {
        self.taken += 1;
    }

    /// Notes that the session's prompt was removed: references to it refer to nothing.
    pub fn lose_prompt(&mut self) {
        self.unprompted = true;
    }

    /// Notes the record that is written next.
    pub fn pass(&mut self, record: &Record) {
        if record.kind == Kind::Run && record.node.is(Field::Layout, "header") {
            self.own_prompt = record.node.get(Field::SystemPrompt).is_some();
        }
    }

    /// Notes that a message was deleted.
    pub fn lose(&mut self) {
        self.begun |= self.is_behind();
    }

    fn is_behind(&self) -> bool {
        self.shorter && self.taken > self.last
    }

    /// Whether a record that the file does not show is removed with deleted messages. In a tree, no
    /// entry is removed, as an entry behind another one may belong to another branch.
    pub fn takes(&mut self, record: &Record, tree: bool) -> bool {
        let header = record.kind == Kind::Run && record.node.is(Field::Layout, "header");
        self.begun_runs += usize::from(header);
        let begins = header || record.kind == Kind::Response || self.begins_with_deleted(record);
        self.begun |= begins && self.is_behind() && !self.is_of_whole_run();
        let goes = match record.kind {
            Kind::Turn => {
                self.turns_seen += 1;
                let turn =
                    restored_texts::number(record, Field::Number).unwrap_or(nth(self.turns_seen));
                let counts = self.turns.get(&turn);
                let goes = counts.is_some_and(|[left, gone]| *left == 0 && *gone > 0);
                self.numbers.extend(Some(f64::from_bits(turn)).filter(|_| goes));
                return goes;
            }
            Kind::ToolOutput => {
                self.outputs.taken += 1;
                let last = self.outputs.taken + self.outputs.deleted_last > self.outputs.in_source;
                last || self.is_of_deleted_run() || self.names_only_deleted(record)
            }
            Kind::Session | Kind::Snapshot => false,
            // A label or an edit of the context means nothing if its target was deleted.
            Kind::Label | Kind::ContextEdit => {
                let target = record.node.json(Field::Target);
                target.is_some_and(|target| self.deleted.contains(target))
            }
            Kind::Result if self.ended.contains(&self.taken) => !tree,
            Kind::Opaque => self.is_of_deleted_run() && !tree,
            _ => (self.begun || self.is_of_deleted_run()) && !(tree && record.is_node()),
        };
        if let Some(id) = record.node.json(Field::Id).filter(|_| goes && record.is_node()) {
            self.deleted.insert(id.clone());
        }
        self.headless = if header { goes } else { self.headless };
        if let Some(run) = record.node.json(Field::Run).filter(|_| header) {
            match goes {
                true => drop(self.runs.insert(run.clone())),
                false => self.run = Some(run.clone()),
            }
        }
        goes
    }

    /// Returns the name under which a removed record is reported: a run has several records, and is
    /// reported as one.
    pub fn reported_name(&self, record: &Record) -> Option<&'static str> {
        let header = record.node.is(Field::Layout, "header");
        match record.kind {
            Kind::Run if header => Some("run"),
            Kind::Run if self.headless => None,
            Kind::Run => Some("part of a run"),
            kind => Some(kind.name()),
        }
    }

    /// Whether a run begins with questions that were all deleted.
    fn begins_with_deleted(&self, record: &Record) -> bool {
        record.kind == Kind::Run && self.names_only_deleted(record)
    }

    /// Whether a record names only messages that were deleted.
    fn names_only_deleted(&self, record: &Record) -> bool {
        let list = record.node.json(Field::Messages);
        list.is_some_and(|list| list.elements().all(|id| self.deleted.contains(&id)))
    }

    /// Whether the question of the current run was deleted, and no message of the run that the file
    /// showed is left: its other records belong to nothing else.
    fn is_of_deleted_run(&self) -> bool {
        self.current_run().is_some_and(|run| run.question_deleted && !run.has_messages)
    }

    /// Whether the current run lost no message: its records behind the last message that is left
    /// belong to that message or to earlier ones.
    fn is_of_whole_run(&self) -> bool {
        self.current_run().is_some_and(|run| !run.lost_messages)
    }

    fn current_run(&self) -> Option<&RunRemains> {
        self.begun_runs.checked_sub(1).and_then(|run| self.run_remains.get(run))
    }

    /// Removes references to deleted messages from a record. `above` returns the message itself, or
    /// the nearest one above it that is left.
    pub fn mend(&self, record: &mut Record, above: &dyn Fn(&Json) -> Json) {
        self.renumber(record);
        let refers = [
            Kind::Run,
            Kind::Request,
            Kind::Response,
            Kind::ToolOutput,
            Kind::Snapshot,
            Kind::Compaction,
        ];
        let whole = self.deleted.is_empty() && !self.unprompted;
        if whole || !refers.contains(&record.kind) {
            return;
        }
        let node = &mut record.node;
        if record.kind == Kind::Compaction {
            return self.keep_next(node);
        }
        let list = node.json(Field::Messages).filter(|it| it.is_list());
        if let Some(list) = list.map(|list| (list.clone(), self.remaining(list, above)))
            && list.0 != list.1
        {
            node.set(Field::Messages, list.1);
        }
        let run = node.json(Field::Run).filter(|run| self.runs.contains(run));
        if let Some(last) = self.run.as_ref().filter(|_| run.is_some()) {
            node.set(Field::Run, last.clone());
        }
    }

    /// Removes the reference to a removed prompt from the state of the session at its end: the last
    /// run may be a new one.
    pub fn unprompt(&self, record: &mut Record) {
        let list = record.node.json(Field::Messages).filter(|_| record.kind == Kind::Snapshot);
        let Some(list) = list.filter(|it| it.is_list()).cloned() else {
            return;
        };
        let mut items = list.elements().peekable();
        if items.next_if(|item| self.is_lost_prompt(item)).is_some() {
            record.node.set(Field::Messages, Json::list(items));
        }
    }

    /// Whether a reference is to the session's prompt, and the prompt was removed.
    fn is_lost_prompt(&self, item: &Json) -> bool {
        self.unprompted && !self.own_prompt && item.member("prompt").is_some()
    }

    /// Renumbers turns without the removed ones.
    fn renumber(&self, record: &mut Record) {
        let field = if record.kind == Kind::Turn { Field::Number } else { Field::Turn };
        let Some(number) = record.node.json(field).and_then(Json::float) else { return };
        let before = self.numbers.iter().filter(|gone| **gone < number).count();
        if before > 0 {
            let now = (number - before as f64).max(0.0);
            record.node.set(field, Json::number(now as u64));
        }
    }

    /// Moves the start of a compaction whose first kept message was deleted to the next message
    /// that is left, or to the compaction itself.
    fn keep_next(&self, node: &mut Node) {
        let Some(first) = node.json(Field::FirstKept).filter(|first| self.deleted.contains(*first))
        else {
            return;
        };
        let Some(own) = node.json(Field::Id) else { return };
        let next = self.parents.get(own).and_then(|last| self.first_remaining(first, last));
        let next = next.unwrap_or_else(|| own.clone());
        node.set(Field::FirstKept, next);
    }

    /// Returns the first message that is left on the path from a deleted one to this one.
    fn first_remaining(&self, first: &Json, last: &Json) -> Option<Json> {
        let (mut found, mut at) = (None, last);
        // A longer path would lead in a circle of the origin.
        for _ in 0..self.parents.len() {
            if at == first {
                break;
            }
            found = Some(at).filter(|at| !self.deleted.contains(*at)).or(found);
            at = self.parents.get(at)?;
        }
        found.cloned()
    }

    /// Returns references without deleted messages. Each reference is an identifier or the two ends
    /// of a path.
    fn remaining(&self, list: &Json, above: &dyn Fn(&Json) -> Json) -> Json {
        let mut items = Vec::new();
        for item in list.elements() {
            let ends: Vec<_> = match item.as_bytes().first() {
                Some(b'[') => item.elements().collect(),
                _ => Vec::new(),
            };
            match ends.as_slice() {
                [first, last] => {
                    let first = match self.deleted.contains(first) {
                        true => self.first_remaining(first, last),
                        false => Some(first.clone()),
                    };
                    let Some(first) = first else { continue };
                    let last = above(last);
                    items.push(match first == last {
                        true => first.as_bytes().to_vec(),
                        false => [b"[", first.as_bytes(), b",", last.as_bytes(), b"]"].concat(),
                    });
                }
                _ if self.deleted.contains(&item) => {}
                _ if self.is_lost_prompt(&item) => {}
                _ => items.push(item.as_bytes().to_vec()),
            }
        }
        Json::list(items)
    }
}
