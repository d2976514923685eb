//! Migration from version 1 to version 2, line by line. Lines that need no change keep every byte.
//!
//! The lines of sub-agents go to files of their own, with facts about them; the title that older
//! releases gave a session becomes one that newer ones read; messages get what releases before
//! 2.1.33 need to resume them: times that increase, identifiers of answers, lists of blocks. A last
//! line names the leaf if releases continue at different ones.

use super::members::Members;
use super::older::{Chain, Newest};
use super::read::{TITLE, UNDATED};
use super::repair::line;
use super::uuid::uuid_of;
use super::wire;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::{BESIDE, Cx, Sink};
use crate::ids::hash;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object};
use crate::parts::no_room_for_parts;
use crate::parts::room::{Part, Room};
use crate::position::Position;
use crate::record::{Field, Node, Record, block};
use crate::repair::Fixes;
use crate::times;
use bytes::Bytes;
use jiff::Timestamp;
use std::collections::HashMap;
use std::io::{self, Write};

/// State of a session while it is migrated.
#[derive(Default)]
pub struct Upgrade {
    id: Option<Json>,
    /// Whether messages get other times where these do not increase.
    undated: bool,
    chain: Chain,
    /// Newest message, and its time.
    newest: Option<(Timestamp, Json)>,
    prompted: bool,
    question: Option<Json>,
    /// Arguments of the calls that start sub-agents, by the call.
    calls: HashMap<Json, Json>,
    agents: Vec<Agent>,
    /// Sub-agents by the hashes of their lines.
    by_line: HashMap<u64, usize>,
    room: Option<Room>,
}

/// Sub-agent whose lines get a file of their own.
struct Agent {
    id: String,
    call: Option<Json>,
    lines: Part,
}

impl Upgrade {
    /// Begins with the session's record.
    #[must_use]
    pub fn of(session: &Node) -> Self {
        let style = session.node(Field::File).and_then(|file| file.json(Field::Style));
        Self {
            id: session.json(Field::Id).cloned(),
            undated: style.is_some_and(|style| style.as_bytes() == UNDATED.as_bytes()),
            ..Self::default()
        }
    }

    /// Notes the calls in a record that start sub-agents.
    pub fn note(&mut self, record: &Record) {
        for call in record.node.content() {
            let starts = wire::AGENT_TOOLS.iter().any(|name| call.is(Field::Name, name));
            let id =
                call.json(Field::Id).filter(|_| starts && call.is(Field::Type, block::TOOL_CALL));
            let arguments = call.json(Field::Arguments).filter(|given| given.is_object());
            self.calls
                .extend(id.zip(arguments).map(|(id, given)| (id.detached(), given.detached())));
        }
    }

    /// Begins the lines of a sub-agent from a file of its own beside the session. Older
    /// releases do not write the prompt there.
    ///
    /// # Errors
    /// If there is no room.
    pub fn begin(&mut self, part: &str, sink: &mut dyn Sink) -> Result<()> {
        let id = part.trim_start_matches(BESIDE).trim_start_matches("agent-");
        let id = id.trim_end_matches(".jsonl");
        self.agent(id.to_owned(), None, sink).map(drop)
    }

    fn agent(&mut self, id: String, call: Option<Json>, sink: &mut dyn Sink) -> Result<usize> {
        if !sink.takes_parts() {
            return Err(no_room_for_parts());
        }
        let lines = Room::within(&mut self.room, sink)?.part();
        self.agents.push(Agent { id, call, lines });
        Ok(self.agents.len() - 1)
    }

    /// Appends what a line of the transcript becomes; nothing for a line of a sub-agent.
    ///
    /// # Errors
    /// If there is no room for the lines of sub-agents.
    pub fn line(
        &mut self,
        (node, at): (&Node, Position),
        line: &[u8],
        out: &mut Vec<u8>,
        sink: &mut dyn Sink,
        cx: &Cx<'_>,
    ) -> Result<()> {
        let members = Members::of(line).filter(|members| members.is_chained(line));
        let Some(members) = members else {
            self.prompted |= node.is(Field::Type, "last-prompt");
            match node
                .json(Field::Layout)
                .is_some_and(|layout| layout.as_bytes() == TITLE.as_bytes())
            {
                true => self.title(line, out),
                false => out.extend_from_slice(line),
            }
            return Ok(());
        };
        if members.side.is_some_and(|side| side.of(line) == b"true") {
            let parent = members.parent.map(|parent| hash(parent.of(line)));
            let known = parent.and_then(|parent| self.by_line.get(&parent).copied());
            let agent = match known {
                Some(agent) => agent,
                None => {
                    let first = members.uuid(line).unwrap_or(line);
                    let call = node.json(Field::ParentCall).cloned();
                    let at = Diagnostic::of(Code::AgentMoved).at(at);
                    cx.report(at);
                    self.agent(format!("a{:016x}", hash(first)), call, sink)?
                }
            };
            return self.side(agent, line, &members, known.is_none().then(|| b"null".to_vec()));
        }
        let mut fixes = Fixes::default();
        let kind = members.kind(line);
        if ["user", "assistant"].contains(&&*kind) {
            self.message(line, &members, &mut fixes, &|code: Code| {
                cx.report_at(code, at);
            });
        }
        match fixes.is_empty() {
            true => out.extend_from_slice(line),
            false => fixes.apply(line, out),
        }
        if kind == "user" && node.is(Field::Role, "user") {
            self.question = block::message_text(node).or(self.question.take());
        }
        Ok(())
    }

    /// Takes a line of the sub-agent that began last, in a file of its own.
    ///
    /// # Errors
    /// If there is no room.
    pub fn flat(&mut self, node: &Node, line: &[u8]) -> Result<()> {
        let Some(agent) = self.agents.len().checked_sub(1) else { return Ok(()) };
        let Some(members) = Members::of(line) else { return self.put(agent, line) };
        let mut parent = None;
        if let Some(own) = self.agents.get_mut(agent).filter(|own| own.lines.length() == 0) {
            own.call = node.json(Field::ParentCall).cloned();
            let call = own.call.as_ref();
            let prompt = call.and_then(|call| self.calls.get(call)?.member("prompt"));
            let question = members.kind(line) == "user";
            if let Some(prompt) = prompt.filter(|prompt| !question && prompt.text().is_some()) {
                let uuid = Json::string(&uuid_of(&[line, b" prompt"].concat()));
                let prompt = prompt_of(line, &prompt, &uuid);
                self.put(agent, &prompt)?;
                parent = Some(uuid.as_bytes().to_vec());
            }
        }
        self.side(agent, line, &members, parent)
    }

    /// Writes a line of a sub-agent; `parent` is its new parent.
    fn side(
        &mut self,
        agent: usize,
        line: &[u8],
        members: &Members,
        parent: Option<Vec<u8>>,
    ) -> Result<()> {
        self.by_line.extend(members.uuid(line).map(|uuid| (hash(uuid), agent)));
        let mut fixes = Fixes::default();
        if let Some(own) = self.agents.get(agent).filter(|_| members.agent.is_none()) {
            fixes.edits.add("agentId", Json::string(&own.id).as_bytes());
        }
        let old = members.parent.map(|parent| parent.of(line));
        if let Some(parent) = parent.filter(|parent| old != Some(parent.as_slice())) {
            fixes.edits.set(members.parent, wire::PARENT, &parent);
        }
        let mut out = Vec::with_capacity(line.len() + 32);
        fixes.apply(line, &mut out);
        self.put(agent, &out)
    }

    fn put(&mut self, agent: usize, line: &[u8]) -> Result<()> {
        let Some(agent) = self.agents.get_mut(agent) else { return Ok(()) };
        agent.lines.write_all(line).and_then(|()| agent.lines.write_all(b"\n")).cannot("write")
    }

    /// Gives a message of the conversation what every release needs.
    fn message(
        &mut self,
        line: &[u8],
        members: &Members,
        fixes: &mut Fixes,
        report: &dyn Fn(Code),
    ) {
        let stated = members.time.map(|time| time.of(line));
        let own = stated.and_then(|time| times::read(&Json::trusted(Bytes::copy_from_slice(time))));
        let last = self.newest.as_ref().map(|(time, _)| *time);
        let late = last.is_none_or(|last| own.is_some_and(|own| own > last));
        let time = match own {
            Some(own) if late || !self.undated => own,
            _ => last.map_or(Timestamp::UNIX_EPOCH, times::after),
        };
        if own != Some(time) {
            let code = if own.is_some() { Code::TimeSpread } else { Code::MemberRestored };
            line::set_time(line, members, time, code, fixes);
            report(code);
        }
        let uuid = members.uuid(line).unwrap_or(b"null");
        if last.is_none_or(|last| time >= last) {
            self.newest = Some((time, Json::trusted(Bytes::copy_from_slice(uuid))));
        }
        let parent = members.parent.map_or(0, |parent| hash(parent.of(line)));
        self.chain.add(hash(uuid), parent, Some(time.as_millisecond()));
        if let Some(id) = self.id.as_ref().filter(|_| !has(line, "sessionId")) {
            fixes.edits.add("sessionId", id.as_bytes());
        }
        if line::name_answer(line, members, fixes) {
            report(Code::MemberRestored);
        }
        if line::list_content(line, members, fixes) {
            report(Code::ContentListed);
        }
    }

    /// Writes a summary as a title that newer releases read.
    fn title(&self, line: &[u8], out: &mut Vec<u8>) {
        let summary = Json::trusted(Bytes::copy_from_slice(line));
        let mut title = Extra::default();
        for (key, value) in summary.members() {
            match () {
                () if text::is(key, "type") => title.add(key, b"\"ai-title\""),
                () if text::is(key, "summary") => title.add(b"\"aiTitle\"", value),
                () => title.add(key, value),
            }
        }
        if let Some(id) = self.id.as_ref().filter(|_| summary.member("sessionId").is_none()) {
            title.add(b"\"sessionId\"", id.as_bytes());
        }
        title.finish().into_iter().for_each(|title| out.extend_from_slice(title.as_bytes()));
    }

    /// Returns the line that names the leaf, if newer releases would continue at another one.
    #[must_use]
    pub fn last(&self) -> Option<Vec<u8>> {
        let branch = !self.prompted && matches!(self.chain.newest(), Newest::Branch(_));
        let (_, leaf) = self.newest.as_ref().filter(|_| branch)?;
        let mut out = Vec::new();
        let mut line = Object::open(&mut out);
        line.member("type", b"\"last-prompt\"");
        line.member("lastPrompt", self.question.as_ref().map_or(b"\"\"", Json::as_bytes));
        line.member("leafUuid", leaf.as_bytes());
        self.id.iter().for_each(|id| line.member("sessionId", id.as_bytes()));
        line.close();
        Some(out)
    }

    /// Writes the files of the sub-agents.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn finish(self, sink: &mut dyn Sink) -> Result<()> {
        let failed = |error| Error::io("cannot write", error);
        for agent in &self.agents {
            let name = format!("{}agent-{}", wire::AGENTS, agent.id);
            let mut to = sink.create(&format!("{name}.jsonl"))?;
            io::copy(&mut agent.lines.reading(0), &mut to)
                .and_then(|_| to.flush())
                .map_err(failed)?;
            let mut about = Vec::new();
            let mut facts = Object::open(&mut about);
            let given = agent.call.as_ref().and_then(|call| self.calls.get(call));
            let argument = |name: &str| given.and_then(|given| given.member(name));
            let kind = argument("subagent_type").unwrap_or(Json::constant("\"general-purpose\""));
            facts.member("agentType", kind.as_bytes());
            argument("description")
                .iter()
                .for_each(|text| facts.member("description", text.as_bytes()));
            agent.call.iter().for_each(|call| facts.member("toolUseId", call.as_bytes()));
            facts.close();
            let mut to = sink.create(&format!("{name}{}", wire::ABOUT_AGENT))?;
            to.write_all(&about).and_then(|()| to.flush()).map_err(failed)?;
        }
        Ok(())
    }
}

/// Whether a line has a member of this name.
fn has(line: &[u8], name: &str) -> bool {
    Json::trusted(Bytes::copy_from_slice(line)).member(name).is_some()
}

/// Returns the line with the prompt of a sub-agent whose first line is this one.
fn prompt_of(first: &[u8], prompt: &Json, uuid: &Json) -> Vec<u8> {
    let like = Json::trusted(Bytes::copy_from_slice(first));
    let mut out = Vec::new();
    let mut line = Object::open(&mut out);
    line.member(wire::PARENT, b"null");
    for key in
        [wire::SIDE, "userType", "cwd", "sessionId", "version", "gitBranch", "agentId", "timestamp"]
    {
        like.member(key).iter().for_each(|value| line.member(key, value.as_bytes()));
    }
    line.member("type", b"\"user\"");
    let message = [b"{\"role\":\"user\",\"content\":", prompt.as_bytes(), b"}"].concat();
    line.member("message", &message);
    line.member("uuid", uuid.as_bytes());
    line.close();
    out
}
