//! Writer of trajectories. All records are kept outside of memory until the end, which alone shows
//! which of them lead to the leaf: these are the steps, and the others are kept beside the steps
//! before which they come.

use super::losses::bare;
use super::omitted::Omitted;
use super::root::{self, Frame, Seen, Totals};
use super::steps::Steps;
use super::{FORMAT, PATH, STYLE, delta};
use crate::document::ListPen;
use crate::error::Result;
use crate::format::{Cx, Sink, Version, Writer, Writing, no_session};
use crate::json::Json;
use crate::mapping::{Extra, record_text, without};
use crate::parts::list::SpooledList;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::tree::{Path, Shape, Tree};
use std::collections::{BTreeMap, HashSet};

/// Opens a trajectory for writing.
pub fn open<'a>(sink: &'a mut dyn Sink, _: &'static Version, cx: &'a Cx<'a>) -> Writing<'a> {
    let list = SpooledList::new(sink.spool()?);
    let shape = Shape::within(cx.options.index_memory);
    Ok(Box::new(Document {
        sink,
        cx,
        list,
        shape,
        omitted: Omitted::default(),
        session: None,
        own: false,
    }))
}

struct Document<'a> {
    sink: &'a mut dyn Sink,
    cx: &'a Cx<'a>,
    /// All records behind the session's.
    list: SpooledList,
    shape: Shape,
    omitted: Omitted,
    session: Option<Node>,
    /// Whether the session comes from a trajectory.
    own: bool,
}

impl Writer for Document<'_> {
    fn record(&mut self, located: &Located<Record>) -> Result<()> {
        let record = &located.value;
        if record.kind == Kind::Session {
            match &mut self.session {
                Some(session) => {
                    let leaf = record.node.json(Field::Leaf).cloned();
                    session.put(Field::Leaf, leaf);
                }
                None => {
                    let source = record.node.text(Field::Source).unwrap_or_default();
                    self.own = source.split('@').next() == Some(FORMAT.name);
                    self.session = Some(record.node.clone());
                }
            }
            return Ok(());
        }
        if self.session.is_none() {
            return Err(no_session(located.at));
        }
        let is_kept =
            self.own || super::KINDS.contains(&record.kind) && record.kind != Kind::Opaque;
        if !is_kept {
            self.cx.log.lost(&record.description());
            self.omitted.note(&record.node);
            return Ok(());
        }
        let value = if self.own { record.clone() } else { bare(record, self.cx.log) };
        let mut located = Located { value, at: located.at };
        self.omitted.link(&mut located.value.node);
        if located.value.is_node() {
            self.shape.record(&located);
        }
        self.list.write(|out| record_text::object_of(&located.value, out))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { sink, cx, list, shape, mut omitted, session, own } = *self;
        let Some(mut session) = session else { return Err(no_session(Position::default())) };
        let leaf = session.json(Field::Leaf).map(|leaf| omitted.leaf(leaf));
        session.put(Field::Leaf, leaf);
        let tree = shape.finish();
        let path = tree.path(session.json(Field::Leaf)).unwrap_or_default();
        path.cycle().into_iter().for_each(|found| cx.report(found));
        let mut written = Written { list, own, plan: Plan::default() };
        written.plan(&path)?;
        written.document(sink, session, (&tree, &path))
    }
}

/// Places of the records in a document, by their numbers.
#[derive(Default)]
struct Plan {
    /// Steps that lead to the leaf.
    path: Vec<u32>,
    /// Their positions among all nodes that do.
    positions: Vec<u32>,
    /// Records without a step, each with the place on the path before which it comes.
    beside: Vec<(u32, u32)>,
    /// Records of sub-agents, by the calls that started them.
    agents: BTreeMap<Vec<u8>, Vec<u32>>,
}

struct Written {
    list: SpooledList,
    own: bool,
    plan: Plan,
}

impl Written {
    fn get(&mut self, number: u32) -> Result<Option<Record>> {
        Ok(super::record_of(&self.list.get(number as usize)?))
    }

    /// Finds the place of each record.
    fn plan(&mut self, path: &Path) -> Result<()> {
        let (mut nodes, mut waiting, mut placed) = (0, Vec::new(), Vec::new());
        for number in 0..self.list.len() as u32 {
            let Some(record) = self.get(number)? else { continue };
            let mut position = None;
            if record.is_node() {
                position = path.position(nodes);
                nodes += 1;
            }
            let call = record.node.json(Field::ParentCall).filter(|call| !call.is_null());
            match (position, call) {
                (None, Some(call)) if record.kind == Kind::Message => {
                    self.plan.agents.entry(call.as_bytes().to_vec()).or_default().push(number);
                }
                (Some(position), _) if is_step(&record) => {
                    placed.push((position, number));
                    self.plan.beside.extend(waiting.drain(..).map(|other| (position, other)));
                }
                _ => waiting.push(number),
            }
        }
        placed.sort_unstable();
        let place = |position: u32| placed.partition_point(|(other, _)| *other < position) as u32;
        self.plan.beside.iter_mut().for_each(|(position, _)| *position = place(*position));
        let end = placed.len() as u32;
        self.plan.beside.extend(waiting.into_iter().map(|number| (end, number)));
        self.plan.beside.sort_by_key(|(place, number)| (*place, *number));
        (self.plan.positions, self.plan.path) = placed.into_iter().unzip();
        Ok(())
    }

    /// Writes the document.
    fn document(
        mut self,
        sink: &mut dyn Sink,
        session: Node,
        (tree, path): (&Tree, &Path),
    ) -> Result<()> {
        let mut pen = ListPen::new(sink.spool()?, PATH, STYLE);
        let agents = self.plan.agents.keys().map(|key| Json::trusted(key.clone().into()));
        let mut steps = Steps::new(self.own, agents.collect(), sink);
        steps.prompt(&session);
        let numbers = std::mem::take(&mut self.plan.path);
        let mut beside = std::mem::take(&mut self.plan.beside).into_iter().peekable();
        for (place, number) in numbers.iter().enumerate() {
            while let Some((_, other)) = beside.next_if(|(at, _)| *at as usize == place) {
                self.get(other)?.into_iter().for_each(|record| steps.beside(record));
            }
            let Some(record) = self.get(*number)? else { continue };
            let kept = match record.kind {
                Kind::Compaction => self.kept(&record.node, place, tree, path),
                _ => Vec::new(),
            };
            steps.record(record, place, sink)?;
            for place in kept {
                let number = numbers.get(place).copied().unwrap_or_default();
                let copied = self.get(number)?;
                copied.into_iter().try_for_each(|record| steps.copy(record, place, sink))?;
                steps.items.drain(..).try_for_each(|item| pen.item(&item))?;
            }
            steps.items.drain(..).try_for_each(|item| pen.item(&item))?;
        }
        steps.end(sink)?;
        for (_, other) in beside {
            self.get(other)?.into_iter().for_each(|record| steps.beside(record));
        }
        steps.at_least_one(sink)?;
        let after = steps.after();
        steps.items.drain(..).try_for_each(|item| pen.item(&item))?;
        let Steps { totals, model, mut seen, last, .. } = steps;
        let name = session.text(Field::Source).unwrap_or_default();
        let name = name.split('@').next().filter(|name| !name.is_empty()).map(Json::string);
        let mut frame = Frame {
            session: &session,
            // A session that begins here has no document yet.
            own: self.own && session.json(Field::Extra).is_some(),
            totals,
            agent: [name, model],
            agents: Vec::new(),
            ours: None,
        };
        let (agents, sums) = self.agents(&frame, sink)?;
        frame.totals.merge(sums);
        frame.agents = agents;
        frame.ours = self.ours(&frame, after, (&mut seen, last.as_ref()));
        let mut text = Vec::new();
        frame.write(&mut text);
        pen.finish(sink.create("")?, &text, &session)
    }

    /// Returns the places of the steps that a compaction keeps.
    fn kept(&self, node: &Node, place: usize, tree: &Tree, path: &Path) -> Vec<usize> {
        let position = |id: &Json| path.position(tree.ordinal(id)?);
        let positions = self.plan.positions.get(..place).unwrap_or_default();
        let listed: Vec<Json> = node.json(Field::Kept).iter().flat_map(|k| k.elements()).collect();
        let listed: HashSet<u32> = listed.iter().filter_map(position).collect();
        let first = node.json(Field::FirstKept).and_then(position);
        let is_kept = |own: &u32| first.is_some_and(|first| first <= *own) || listed.contains(own);
        (0..place).zip(positions).filter(|(_, own)| is_kept(own)).map(|(place, _)| place).collect()
    }

    /// Returns the trajectories of sub-agents, and the sums of their tokens.
    fn agents(&mut self, frame: &Frame<'_>, sink: &mut dyn Sink) -> Result<(Vec<Json>, Totals)> {
        let own = frame.session.json(Field::Extra).filter(|_| self.own);
        let own = own.and_then(|extra| extra.member("subagent_trajectories")).unwrap_or_default();
        let mut groups = std::mem::take(&mut self.plan.agents);
        let mut agent = Vec::new();
        frame.write(&mut agent);
        let agent = Json::trusted(agent.into()).member("agent").unwrap_or(Json::constant("{}"));
        let agent = without(&agent, "tool_definitions").unwrap_or(agent);
        let named = own.elements().map(|one| (one.member("steps").unwrap_or_default(), Some(one)));
        let keys = groups.keys().map(|key| (Json::trusted(key.clone().into()), None));
        let all: Vec<(Json, Option<Json>)> = named.chain(keys).collect();
        let (mut written, mut sums) = (Vec::new(), Totals::default());
        for (key, own) in all {
            let Some(numbers) = groups.remove(key.as_bytes()) else {
                // A trajectory without steps is in the frame as it is.
                written.extend(own.filter(|_| !key.is_string()));
                continue;
            };
            let mut steps = Steps::new(self.own, Vec::new(), sink);
            steps.parent_call = Some(key.clone());
            for (place, number) in numbers.into_iter().enumerate() {
                let record = self.get(number)?;
                record.into_iter().try_for_each(|record| steps.record(record, place, sink))?;
            }
            steps.end(sink)?;
            sums.merge(steps.totals);
            let items: Vec<Json> =
                steps.items.into_iter().map(|item| Json::trusted(item.into())).collect();
            written.push(root::trajectory(own.as_ref(), &key, &agent, &items));
        }
        Ok((written, sums))
    }

    /// Returns what copyist keeps of a session.
    fn ours(
        &self,
        frame: &Frame<'_>,
        after: Vec<Json>,
        (seen, last): (&mut Seen, Option<&Json>),
    ) -> Option<Json> {
        let mut text = Vec::new();
        frame.write(&mut text);
        let mut plain = root::read(&Json::trusted(text.into()), seen).main;
        let mut whole = Record { kind: Kind::Session, node: frame.session.clone() };
        for field in [Field::Source, Field::File] {
            whole.node.take(field);
        }
        if whole.node.json(Field::Leaf) == last {
            whole.node.take(Field::Leaf);
        }
        // The time of the first step is read as that of a session without one.
        if self.own && whole.node.get(Field::Created).is_none() {
            plain.node.take(Field::Created);
        }
        let mut ours = Extra::default();
        let between = delta::between(&delta::object_of(&plain), &delta::object_of(&whole));
        between.iter().for_each(|between| ours.add(b"\"session\"", between.as_bytes()));
        if !after.is_empty() {
            ours.add(b"\"after\"", Json::list(&after).as_bytes());
        }
        ours.finish()
    }
}

/// Whether a record that leads to the leaf is a step or belongs to one.
fn is_step(record: &Record) -> bool {
    let role = |name| record.node.is(Field::Role, name);
    match record.kind {
        Kind::Compaction => true,
        Kind::BranchSummary => super::write_step::words(record).is_some(),
        Kind::Message if record.is_aside() => false,
        Kind::Message => {
            ["user", "assistant", "system", "tool"].into_iter().any(role)
                || super::write_step::words(record).is_some()
        }
        _ => false,
    }
}
