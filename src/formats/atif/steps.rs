//! Records as the steps of a document, one by one. A step waits for the results of its calls.

use super::read_step::{self, OBSERVED};
use super::root::{Seen, Totals};
use super::wire::{FILE, IMAGES};
use super::write_step::{Draft, has_call};
use super::{delta, read_step::ELSEWHERE};
use crate::error::{Error, Result};
use crate::format::Sink;
use crate::ids::fingerprint;
use crate::json::text::from_base64;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, record_text};
use crate::record::{Field, Kind, Node, Record, Value, block, calls};
use std::collections::{HashSet, VecDeque};

/// Maximum number of steps that wait for results.
const WAITING: usize = 32;

/// Steps of a document while it is written.
#[derive(Default)]
pub struct Steps {
    /// Whether the records come from a trajectory.
    own: bool,
    /// Calls that started sub-agents.
    agents: Vec<Json>,
    /// Folder of the files of images, as the document names it; `None` without room for files.
    folder: Option<String>,
    /// Names of the files that were written.
    images: HashSet<String>,
    /// Call that started the sub-agent whose steps these are.
    pub parent_call: Option<Json>,
    waiting: VecDeque<Unit>,
    /// Records that come before the next step.
    before: Vec<Record>,
    /// Identifier of the last record.
    pub last: Option<Json>,
    number: u64,
    /// Number of each record's step.
    numbers: Vec<u64>,
    /// Steps that are complete.
    pub items: Vec<Vec<u8>>,
    pub totals: Totals,
    /// Model of the first answer.
    pub model: Option<Json>,
    pub seen: Seen,
}

/// Step that may wait for results.
#[derive(Default)]
struct Unit {
    main: Option<Record>,
    results: Vec<Record>,
    before: Vec<Record>,
    place: usize,
    /// Number of the step that this one repeats.
    copy_of: Option<u64>,
}

impl Unit {
    fn has_call(&self, call: &Json) -> bool {
        self.main.as_ref().is_some_and(|main| has_call(&main.node, call))
    }

    /// Whether each call has a result.
    fn is_answered(&self) -> bool {
        let Some(main) = self.main.as_ref().filter(|main| calls(&main.node)) else { return true };
        let calls = main.node.blocks_of(block::TOOL_CALL).count();
        calls <= self.results.len()
    }
}

impl Steps {
    /// Begins a document.
    pub fn new(own: bool, agents: Vec<Json>, sink: &dyn Sink) -> Self {
        Self {
            own,
            agents,
            folder: sink.stem().filter(|_| sink.takes_parts()).map(|stem| format!("{stem}/images")),
            ..Self::default()
        }
    }

    /// Writes the system prompt as the first step.
    pub fn prompt(&mut self, session: &Node) {
        let Some(prompt) = session.json(Field::SystemPrompt).filter(|prompt| prompt.is_string())
        else {
            return;
        };
        let rest = session.json(Field::Extra).filter(|_| self.own);
        let rest = rest.and_then(|extra| extra.member("prompt")).unwrap_or_default();
        self.number += 1;
        let mut item = Vec::new();
        let mut object = Object::open(&mut item);
        object.member("step_id", self.number.to_string().as_bytes());
        let mut extra = None;
        for (key, value) in rest.members() {
            match text::is(key, "extra") {
                true => extra = Some(value),
                false => object.spelled(key, value),
            }
        }
        object.member("source", b"\"system\"");
        object.member("message", prompt.as_bytes());
        extra.into_iter().for_each(|extra| object.member("extra", extra));
        object.close();
        self.push(item);
    }

    fn push(&mut self, item: Vec<u8>) {
        self.totals.steps += 1;
        let item = Json::trusted(item.into());
        self.seen.step(&item);
        self.items.push(item.as_bytes().to_vec());
    }

    /// Takes a record without a step.
    pub fn beside(&mut self, record: Record) {
        self.before.push(record);
    }

    /// Takes the next record that leads to the leaf.
    pub fn record(&mut self, record: Record, place: usize, sink: &mut dyn Sink) -> Result<()> {
        let role = |name| record.kind == Kind::Message && record.node.is(Field::Role, name);
        if self.is_beside_calls(&record) {
            if let Some(unit) = self.waiting.back_mut().filter(|unit| unit.main.is_some()) {
                unit.results.push(record);
                return Ok(());
            }
        } else if role("tool") {
            if let Some(unit) = self.caller(&record) {
                unit.results.push(record);
                return Ok(());
            }
            let unit = Unit { results: vec![record], place, ..Unit::default() };
            return self.unit(unit, sink);
        }
        let (answers, ends) = (role("assistant"), record.kind == Kind::Compaction);
        if answers || ends || self.own {
            self.end(sink)?;
        }
        self.unit(Unit { main: Some(record), place, ..Unit::default() }, sink)?;
        if ends { self.end(sink) } else { Ok(()) }
    }

    /// Whether a record is a result of a trajectory that names no call of its step.
    fn is_beside_calls(&self, record: &Record) -> bool {
        let layout = |name| record.node.is(Field::Layout, name);
        self.own && (layout(OBSERVED) || layout(ELSEWHERE))
    }

    /// Returns the last step that waits and has the call of a result.
    fn caller(&mut self, result: &Record) -> Option<&mut Unit> {
        let call = result.node.nodes(Field::Content)?.first()?.json(Field::Call)?;
        self.waiting.iter_mut().rev().find(|unit| unit.has_call(call))
    }

    fn unit(&mut self, mut unit: Unit, sink: &mut dyn Sink) -> Result<()> {
        unit.before = std::mem::take(&mut self.before);
        self.waiting.push_back(unit);
        while let Some(unit) = self.waiting.pop_front() {
            if self.waiting.is_empty() || !unit.is_answered() && self.waiting.len() < WAITING {
                self.waiting.push_front(unit);
                break;
            }
            self.write(unit, sink)?;
        }
        Ok(())
    }

    /// Repeats an earlier record behind a compaction that keeps it.
    pub fn copy(&mut self, record: Record, place: usize, sink: &mut dyn Sink) -> Result<()> {
        let step = self.numbers.get(place).copied().filter(|number| *number > 0);
        let is_system = record.node.is(Field::Role, "system");
        if self.is_beside_calls(&record) {
            self.waiting.back_mut().into_iter().for_each(|unit| unit.results.push(record.clone()));
        } else if record.kind == Kind::Message && record.node.is(Field::Role, "tool") {
            self.caller(&record).into_iter().for_each(|unit| unit.results.push(record.clone()));
        } else if step.is_some() && !is_system && record.kind != Kind::Compaction {
            self.end(sink)?;
            let unit = Unit { main: Some(record), place, copy_of: step, ..Unit::default() };
            self.waiting.push_back(unit);
        }
        Ok(())
    }

    /// Writes the steps that wait.
    pub fn end(&mut self, sink: &mut dyn Sink) -> Result<()> {
        while let Some(unit) = self.waiting.pop_front() {
            self.write(unit, sink)?;
        }
        Ok(())
    }

    /// Writes a step without a message where there would be none: a document has at least one.
    pub fn at_least_one(&mut self, sink: &mut dyn Sink) -> Result<()> {
        match self.number {
            0 => self.unit(Unit::default(), sink).and_then(|()| self.end(sink)),
            _ => Ok(()),
        }
    }

    /// Returns the records behind the last step.
    pub fn after(&mut self) -> Vec<Json> {
        let after = std::mem::take(&mut self.before);
        self.settle(&after)
    }

    /// Writes steps of an unknown source as they are; returns the other records as they are kept.
    fn settle(&mut self, records: &[Record]) -> Vec<Json> {
        let mut kept = Vec::new();
        for record in records {
            let raw = record.node.json(Field::Data).filter(|_| {
                self.own && record.kind == Kind::Opaque && record.node.is(Field::Type, "step")
            });
            match raw {
                Some(raw) => {
                    self.number += 1;
                    self.push(raw.as_bytes().to_vec());
                }
                None => kept.push(self.kept(record)),
            }
        }
        kept
    }

    /// Returns a record without a step as it is kept.
    fn kept(&mut self, record: &Record) -> Json {
        if record.is_node() {
            self.last = record.node.json(Field::Id).cloned();
        }
        let mut out = Vec::new();
        record_text::object_of(record, &mut out);
        Json::trusted(out.into())
    }

    fn write(&mut self, unit: Unit, sink: &mut dyn Sink) -> Result<()> {
        let Unit { main, results, before, place, copy_of } = unit;
        let mut ours = Extra::default();
        let kept = self.settle(&before);
        self.number += 1;
        if !kept.is_empty() {
            ours.add(b"\"before\"", Json::list(&kept).as_bytes());
        }
        if let Some(number) = copy_of {
            ours.add(b"\"copy_of\"", number.to_string().as_bytes());
        }
        if main.is_none() {
            ours.add(b"\"alone\"", b"true");
        }
        if copy_of.is_none() {
            self.numbers.resize(self.numbers.len().max(place + 1), 0);
            if let (Some(number), Some(_)) = (self.numbers.get_mut(place), &main) {
                *number = self.number;
            }
            self.count(main.as_ref());
        }
        let agents = std::mem::take(&mut self.agents);
        let mut draft = Draft {
            number: self.number,
            main: main.as_ref(),
            results: &results,
            own: self.own,
            copied: copy_of.is_some(),
            ours: None,
            of_results: Vec::new(),
            agents: &agents,
        };
        draft.ours = ours.finish();
        let (mut files, mut item) = (Files::of(self, sink), Vec::new());
        draft.write(&mut |media, data| files.path(media, data), &mut item);
        let (failed, named) = (files.failed.take(), std::mem::take(&mut files.named));
        failed.map_or(Ok(()), Err)?;
        if copy_of.is_none() {
            let step = read_step::read(&item.clone().into()).unwrap_or_default();
            let mut ours = Extra::default();
            draft.ours.iter().for_each(|own| ours.add_members(own));
            let plain = step.main.filter(|_| main.is_some());
            let of_main = main.as_ref().and_then(|main| self.difference(plain, main, &named));
            of_main.iter().for_each(|own| ours.add(b"\"record\"", own.as_bytes()));
            draft.ours = ours.finish();
            let mut plain = step.results.into_iter().map(|(record, _)| record);
            let of_results =
                results.iter().map(|record| self.difference(plain.next(), record, &named));
            draft.of_results = of_results.collect();
            item.clear();
            let mut again = |_: &str, data: &Json| {
                let known = named.iter().find(|(_, own)| own == data);
                known.map(|(path, _)| path.clone())
            };
            draft.write(&mut again, &mut item);
        }
        self.agents = agents;
        self.push(item);
        Ok(())
    }

    /// Counts the tokens of an answer.
    fn count(&mut self, main: Option<&Record>) {
        let Some(main) = main.filter(|main| main.node.is(Field::Role, "assistant")) else { return };
        main.node.node(Field::Usage).iter().for_each(|usage| self.totals.add(usage));
        if self.model.is_none() {
            self.model = main.node.json(Field::Model).cloned();
        }
    }

    /// Returns what a record has beside its step.
    fn difference(
        &mut self,
        plain: Option<Record>,
        record: &Record,
        named: &[(String, Json)],
    ) -> Option<Json> {
        let mut whole = record.clone();
        if self.own && record.node.is_true(Field::IdMade) {
            whole.node.take(Field::Id);
            whole.node.take(Field::IdMade);
        }
        let parent = record.node.json(Field::Parent).filter(|parent| !parent.is_null());
        if parent == self.last.as_ref() {
            whole.node.take(Field::Parent);
        }
        self.last = record.node.json(Field::Id).cloned();
        let whole = delta::object_of(&whole);
        let Some(mut plain) = plain else { return Some(whole) };
        plain.node.put(Field::ParentCall, self.parent_call.clone());
        restore(&mut plain.node, named);
        delta::between(&delta::object_of(&plain), &whole)
    }
}

/// Sets the data of images that were put into files.
fn restore(node: &mut Node, named: &[(String, Json)]) {
    let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return };
    for block in blocks {
        restore(block, named);
        let data = block.text(Field::Data).unwrap_or_default();
        let path = data.strip_prefix(FILE);
        let known = named.iter().find(|(own, _)| Some(own.as_str()) == path);
        block.put(Field::Data, known.map(|(_, data)| data.clone()));
    }
}

/// Files of images, which are named by their contents.
struct Files<'s> {
    sink: &'s mut dyn Sink,
    folder: Option<String>,
    images: &'s mut HashSet<String>,
    /// Paths and data of the step's images.
    named: Vec<(String, Json)>,
    failed: Option<Error>,
}

impl<'s> Files<'s> {
    fn of(steps: &'s mut Steps, sink: &'s mut dyn Sink) -> Self {
        let folder = steps.folder.clone();
        Self { sink, folder, images: &mut steps.images, named: Vec::new(), failed: None }
    }

    /// Returns the path of an image, which is written unless it was before.
    fn path(&mut self, media: &str, data: &Json) -> Option<String> {
        let folder = self.folder.clone()?;
        let bytes = from_base64(&data.text()?)?;
        let (_, ending) = IMAGES.iter().find(|(known, _)| *known == media)?;
        let name = format!("{:016x}.{ending}", fingerprint(&bytes));
        if !self.images.contains(&name) {
            match self.sink.add(&format!("/images/{name}"), &bytes) {
                Ok(true) => self.images.insert(name.clone()),
                Ok(false) => return None,
                Err(error) => {
                    self.failed = Some(error);
                    return None;
                }
            };
        }
        let path = format!("{folder}/{name}");
        self.named.push((path.clone(), data.clone()));
        Some(path)
    }
}
