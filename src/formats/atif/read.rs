//! Reader of trajectories. The document is read twice: first for what surrounds its steps, then step
//! by step.

use super::delta;
use super::read_step::{self, Step};
use super::root;
use super::wire::FILE;
use super::{FORMAT, PATH};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{self, Items, on_one_line};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Parts, Piece, Reader};
use crate::framing::{Chain, ReadLines, Reading};
use crate::ids::hash;
use crate::json::Json;
use crate::json::text::to_base64;
use crate::mapping::whole;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, Value, block};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::Read;

type Queue = VecDeque<Located<Record>>;

/// Opens a trajectory.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    parts.keep()?;
    let limit = cx.options.max_line;
    let mut items = Items::over(parts.main()?, PATH, limit)?;
    let mut seen = root::Seen::default();
    for item in items.by_ref() {
        seen.step(&item?.value);
    }
    let frame = items.frame().clone();
    let at = Position { line: 1, ..Position::default() };
    let value = Json::trusted(frame.text.clone());
    let root::Session { mut main, prompt, after, agents } = root::read(&value, &seen);
    main.node.set(Field::Source, Json::string(FORMAT.name));
    main.node.put(Field::File, frame.file(super::STYLE, cx));
    let agent = value.member("agent").unwrap_or_default();
    let key = [(&value, "session_id"), (&value, "trajectory_id"), (&agent, "name")];
    let key = key.into_iter().find_map(|(object, name)| object.text_of(name));
    let steps = Steps {
        cx,
        names: parts.names(),
        parts,
        chain: Chain::of(key.unwrap_or_default().as_bytes(), cx),
        last: None,
        number: 0,
        prompt,
        hashes: Vec::new(),
        parent_call: None,
        is_numbered: true,
    };
    let leaf = main.node.json(Field::Leaf).cloned();
    let first = VecDeque::from([Located { value: main, at }]);
    let items = Items::over(steps.parts.main()?, PATH, limit)?;
    let trajectory = Trajectory { steps, items, after, agents, leaf, over: false };
    Ok(Box::new(Reading::behind(first, trajectory, cx)))
}

/// Records of a document.
struct Trajectory<'a> {
    steps: Steps<'a>,
    items: Items,
    /// Records behind the last step.
    after: Vec<Json>,
    /// Trajectories of sub-agents.
    agents: Vec<(Json, Json)>,
    /// Leaf of the session, if it is not the last record before the sub-agents.
    leaf: Option<Json>,
    over: bool,
}

impl ReadLines for Trajectory<'_> {
    fn line(&mut self, ready: &mut Queue) -> Result<bool> {
        if self.over {
            return Ok(false);
        }
        if let Some(Located { value, at }) = self.items.next().transpose()? {
            self.steps.take(&on_one_line(value.bytes()), at, ready)?;
            return Ok(true);
        }
        self.over = true;
        let at = Position { line: 1, ..Position::default() };
        let (after, agents) = (std::mem::take(&mut self.after), std::mem::take(&mut self.agents));
        after.iter().for_each(|record| self.steps.kept(record, at, ready));
        let last = self.steps.last.clone().unwrap_or(Json::constant("null"));
        let leaf = self.leaf.take().unwrap_or(last);
        let has_agents = !agents.is_empty();
        for (key, trajectory) in agents {
            self.steps.agent(key, &trajectory, at, ready)?;
        }
        if has_agents {
            let end = Record::new(Kind::Session).with(Field::Leaf, leaf);
            ready.push_back(Located { value: end, at });
        }
        Ok(true)
    }

    fn tail(&mut self, _: &mut Queue) -> Result<()> {
        Ok(())
    }
}

/// Reader of the steps of a document.
struct Steps<'a> {
    cx: &'a Cx<'a>,
    parts: &'a mut dyn Parts,
    names: Vec<String>,
    chain: Chain,
    /// Identifier of the last record of the trajectory.
    last: Option<Json>,
    number: u64,
    /// Whether the first step is the system prompt.
    prompt: bool,
    /// Hash of what each step says, for copies of it.
    hashes: Vec<u64>,
    /// Call that started the sub-agent whose steps these are.
    parent_call: Option<Json>,
    /// Whether no step has another number than its place.
    is_numbered: bool,
}

impl Steps<'_> {
    /// Queues the records of a step.
    fn take(&mut self, text: &Bytes, at: Position, ready: &mut Queue) -> Result<()> {
        self.number += 1;
        let Some(step) = read_step::read(text) else {
            self.hashes.push(0);
            self.cx.report_at(Code::OddMessage, at);
            let value = whole(text, Some("step")).map_err(|fault| Error::json(fault, text, at))?;
            ready.push_back(Located { value, at });
            return Ok(());
        };
        self.check(&step, at);
        let ours = step.ours.clone().unwrap_or_default();
        let said = hash_of(&Json::trusted(text.clone()));
        if let Some(number) = ours.member("copy_of").and_then(|number| number.float()) {
            let own = self.hashes.get((number as usize).wrapping_sub(1)).copied();
            self.hashes.push(said);
            if own != Some(said) {
                self.cx.report_at(Code::CopyChanged, at);
            }
            return Ok(());
        }
        self.hashes.push(said);
        if std::mem::take(&mut self.prompt) {
            return Ok(());
        }
        for record in ours.member("before").unwrap_or_default().elements() {
            self.kept(&record, at, ready);
        }
        let alone = ours.member("alone").is_some();
        let main = step.main.filter(|_| !alone).map(|main| (main, ours.member("record")));
        for (record, ours) in main.into_iter().chain(step.results) {
            self.record(record, ours.as_ref(), at, ready)?;
        }
        Ok(())
    }

    /// Reports what Harbor refuses.
    fn check(&mut self, step: &Step, at: Position) {
        let number = step.number.as_ref().map(Json::as_bytes).unwrap_or_default();
        let is_its = number == self.number.to_string().as_bytes();
        if !is_its && std::mem::replace(&mut self.is_numbered, false) {
            self.cx.report_at(Code::StepNumber, at);
        }
        step.elsewhere.iter().for_each(|_| self.cx.report_at(Code::StepCall, at));
    }

    /// Queues a record of a step, with what copyist keeps of it.
    fn record(
        &mut self,
        mut record: Record,
        ours: Option<&Json>,
        at: Position,
        ready: &mut Queue,
    ) -> Result<()> {
        self.load(&mut record.node)?;
        record.node.put(Field::ParentCall, self.parent_call.clone());
        if let Some(ours) = ours {
            record = with(record, ours).unwrap_or_else(|plain| {
                self.cx.report_at(Code::OddMessage, at);
                plain
            });
        }
        let node = &mut record.node;
        let id = match node.json(Field::Id) {
            Some(id) => id.clone(),
            None => self.chain.name(node),
        };
        let before = self.last.replace(id);
        if node.json(Field::Parent).is_none() {
            node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
        }
        ready.push_back(Located { value: record, at });
        Ok(())
    }

    /// Queues a record that has no step.
    fn kept(&mut self, record: &Json, at: Position, ready: &mut Queue) {
        match super::record_of(record.bytes()) {
            Some(value) if value.kind != Kind::Session => {
                if value.is_node() {
                    self.last = value.node.json(Field::Id).cloned();
                }
                ready.push_back(Located { value, at });
            }
            _ => self.cx.report_at(Code::OddMessage, at),
        }
    }

    /// Queues the records of a sub-agent.
    fn agent(
        &mut self,
        key: Json,
        trajectory: &Json,
        at: Position,
        ready: &mut Queue,
    ) -> Result<()> {
        (self.last, self.number, self.hashes) = (None, 0, Vec::new());
        self.parent_call = Some(key);
        for step in trajectory.member("steps").unwrap_or_default().elements() {
            self.take(&on_one_line(step.bytes()), at, ready)?;
        }
        Ok(())
    }

    /// Takes the images of a message from their files.
    fn load(&mut self, node: &mut Node) -> Result<()> {
        let Some(Value::Nodes(blocks)) = node.get_mut(Field::Content) else { return Ok(()) };
        for block in blocks {
            if block.is(Field::Type, block::TOOL_RESULT) {
                self.load(block)?;
            }
            let data = block.text(Field::Data).filter(|_| block.is(Field::Type, block::IMAGE));
            let path = data.as_deref().and_then(|data| data.strip_prefix(FILE));
            let is_part = |name: &&String| {
                !name.is_empty() && path.is_some_and(|path| path.ends_with(name.as_str()))
            };
            let Some(name) = self.names.iter().find(is_part) else { continue };
            let mut bytes = Vec::new();
            let limit = self.cx.options.max_line as u64;
            let read = self.parts.open(name)?.take(limit.saturating_add(1)).read_to_end(&mut bytes);
            if read.cannot("read")? as u64 > limit {
                let message = format!("{name} has more than {limit} bytes, the limit");
                self.cx.report(Diagnostic::new(Code::LineTooLong, message));
                continue;
            }
            block.set(Field::Data, Json::string(&to_base64(&bytes)));
        }
        Ok(())
    }
}

/// Returns a record with what copyist keeps of it, or the record as it is if that cannot be.
fn with(plain: Record, ours: &Json) -> std::result::Result<Record, Record> {
    let whole = delta::applied(&delta::object_of(&plain), ours);
    let Some(mut whole) = super::record_of(whole.bytes()) else { return Err(plain) };
    let role = |record: &Record| (record.kind, record.node.json(Field::Role).cloned());
    if role(&plain) != role(&whole) && plain.node.json(Field::Layout).is_none() {
        // The words of a command or a summary may have been edited in the step.
        let said = super::write_step::words(&whole).and_then(|node| block::message_text(&node));
        if said.and_then(|said| said.text())
            != block::message_text(&plain.node).and_then(|t| t.text())
        {
            let mut plain = plain;
            for field in [Field::Id, Field::Parent, Field::Time] {
                plain.node.put(field, whole.node.json(field).cloned());
            }
            return Ok(plain);
        }
    }
    for field in [Field::Extra, Field::Layout] {
        whole.node.put(field, plain.node.json(field).cloned());
    }
    Ok(whole)
}

/// Returns a hash of what a step says.
fn hash_of(step: &Json) -> u64 {
    let mut said = Vec::new();
    for name in ["source", "message", "reasoning_content", "tool_calls"] {
        step.member(name).iter().for_each(|value| value.normal_into(&mut said));
        said.push(b'\n');
    }
    let observation = step.member("observation").unwrap_or_default();
    for result in observation.member("results").unwrap_or_default().elements() {
        for name in ["source_call_id", "content"] {
            result.member(name).iter().for_each(|value| value.normal_into(&mut said));
            said.push(b'\n');
        }
    }
    hash(&said)
}

/// Shows the document without its steps, and its steps, as the pieces that the schema describes.
pub fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    document::pieces(parts.main()?, PATH, cx.options.max_line, show)
}
