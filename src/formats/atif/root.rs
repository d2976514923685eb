//! The document without its steps, as the record of a session, and back.

use super::delta;
use super::read_step::object;
use super::wire;
use crate::document::on_one_line;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, without};
use crate::record::{Field, Kind, Node, Record};
use std::collections::HashMap;

/// Facts of the steps that the record of the session needs.
#[derive(Debug, Default)]
pub struct Seen {
    /// First step, if it is nothing but the system prompt.
    prompt: Option<Json>,
    any: bool,
    /// Time of the first step.
    pub first: Option<String>,
    /// Calls that started sub-agents, by the identifiers of their trajectories.
    refs: HashMap<Json, Json>,
}

impl Seen {
    /// Looks at a step.
    pub fn step(&mut self, step: &Json) {
        if !std::mem::replace(&mut self.any, true) {
            self.first = step.text_of("timestamp");
            self.prompt = is_prompt(step).then(|| Json::trusted(on_one_line(step.bytes())));
        }
        let observation = step.member("observation").unwrap_or_default();
        for result in observation.member("results").unwrap_or_default().elements() {
            let call = result.member("source_call_id").filter(Json::is_string);
            for one in result.member("subagent_trajectory_ref").unwrap_or_default().elements() {
                let id = one.member("trajectory_id").filter(Json::is_string);
                self.refs.extend(id.zip(call.clone()));
            }
        }
    }
}

/// Whether a step has only the words of the system, and they are a text.
fn is_prompt(step: &Json) -> bool {
    const KNOWN: [&str; 5] = ["step_id", "timestamp", "source", "message", "extra"];
    let is_known = |key: &[u8]| KNOWN.iter().any(|name| text::is(key, name));
    let ours = step.member("extra").and_then(|extra| extra.member(wire::OURS));
    step.member("source").is_some_and(|source| text::is(source.as_bytes(), "system"))
        && step.member("message").as_ref().is_some_and(Json::is_string)
        && step.members().all(|(key, _)| is_known(key))
        && ours.is_none_or(|ours| {
            ["record", "before", "alone"].iter().all(|name| ours.member(name).is_none())
        })
}

/// The record of a session, and what follows from its document.
#[derive(Debug)]
pub struct Session {
    pub main: Record,
    /// Whether the first step is the system prompt.
    pub prompt: bool,
    /// Records behind the last step.
    pub after: Vec<Json>,
    /// Trajectories of sub-agents, each with the call that started it, or else its identifier.
    pub agents: Vec<(Json, Json)>,
}

/// Reads the document without its steps.
pub fn read(document: &Json, seen: &Seen) -> Session {
    let mut node = Node::with_capacity(10);
    let (mut extra, mut ours, mut agents) = (Extra::default(), None, Vec::new());
    let kept = document.member("extra").and_then(|extra| extra.member(wire::OURS));
    let kept = kept.and_then(|ours| ours.member("session")).unwrap_or_default();
    let lacks: Vec<Json> = kept.member(delta::LACKS).unwrap_or_default().elements().collect();
    for (key, value) in document.pairs() {
        let name = text::decode(key.as_bytes()).unwrap_or_default();
        match name.as_str() {
            "steps" => {}
            "session_id" if value.is_string() => node.set(Field::Id, value),
            "agent" if value.is_object() => {
                let mut agent = Node::default();
                object(&value, wire::AGENT, &mut agent, &mut |name, value, _, rest| {
                    let is_only_there = is_only_in_document(name, &lacks);
                    if is_only_there {
                        rest.add(Json::string(name).as_bytes(), value.as_bytes());
                    }
                    is_only_there
                });
                let rest = agent.json(Field::Extra).cloned();
                extra.add(key.as_bytes(), rest.as_ref().map_or(&b"{}"[..], Json::as_bytes));
                agent.take(Field::Extra);
                agent.iter().for_each(|(field, value)| node.set(field, value.clone()));
            }
            "extra" if value.is_object() => {
                let (rest, own) = wire::divided(&value);
                // Notes of repairs stay there.
                let notes = own.as_ref().and_then(|own| without(own, "session"));
                let notes = notes.and_then(|own| without(&own, "after"));
                let rest = wire::with_ours(rest.as_ref(), notes.as_ref());
                ours = own;
                rest.iter().for_each(|rest| extra.add(key.as_bytes(), rest.as_bytes()));
            }
            "subagent_trajectories"
                if value.is_list() && value.elements().all(|one| one.is_object()) =>
            {
                agents = keyed(&value, &seen.refs);
                let frames: Vec<Json> = agents.iter().map(|(key, one)| frame(key, one)).collect();
                extra.add(key.as_bytes(), Json::list(&frames).as_bytes());
            }
            _ => extra.add(key.as_bytes(), value.as_bytes()),
        }
    }
    node.put(Field::Created, seen.first.as_deref().map(Json::string));
    if let Some(prompt) = &seen.prompt {
        let mut rest = Extra::default();
        for (key, value) in prompt.pairs() {
            match key.as_bytes() {
                b"\"message\"" => node.set(Field::SystemPrompt, value),
                b"\"step_id\"" | b"\"source\"" => {}
                key => rest.add(key, value.as_bytes()),
            }
        }
        rest.finish().iter().for_each(|rest| extra.add(PROMPT, rest.as_bytes()));
    }
    let ours = ours.unwrap_or_default();
    let mut main = Record { kind: Kind::Session, node };
    let of = |name: &str| ours.member(name).unwrap_or_default();
    let whole = ours.member("session").and_then(|own| {
        let plain = delta::object_of(&main);
        super::record_of(delta::applied(&plain, &own).bytes())
    });
    main = whole.filter(|whole| whole.kind == Kind::Session).unwrap_or(main);
    extra.put(&mut main.node);
    Session { main, prompt: seen.prompt.is_some(), after: of("after").elements().collect(), agents }
}

/// Unnamed members of the first step, where that is the system prompt.
const PROMPT: &[u8] = b"\"prompt\"";

/// Whether a member of the agent is one that the document needs and the session lacks.
fn is_only_in_document(name: &str, lacks: &[Json]) -> bool {
    let row = wire::AGENT.iter().find(|row| row.key == name);
    row.is_some_and(|row| lacks.iter().any(|own| text::is(own.as_bytes(), row.field.name())))
}

/// Returns trajectories of sub-agents with the calls that started them, of which each has one.
fn keyed(list: &Json, refs: &HashMap<Json, Json>) -> Vec<(Json, Json)> {
    let mut keyed: Vec<(Json, Json)> = Vec::new();
    for (number, one) in list.elements().enumerate() {
        let id = one.member("trajectory_id").filter(Json::is_string);
        let call = id.as_ref().and_then(|id| refs.get(id)).cloned();
        let made = || Json::string(&format!("trajectory {number}"));
        let mut keys = [call, id].into_iter().flatten();
        let free = keys.find(|key| keyed.iter().all(|(other, _)| other != key));
        keyed.push((free.unwrap_or_else(made), one));
    }
    keyed
}

/// Returns a trajectory with a key in the place of its steps.
fn frame(key: &Json, trajectory: &Json) -> Json {
    let mut out = Extra::default();
    for (name, value) in trajectory.pairs() {
        // One without steps has no records, and stays as it is.
        let steps = name.as_bytes() == b"\"steps\"" && value.elements().next().is_some();
        out.add(name.as_bytes(), if steps { key.as_bytes() } else { value.as_bytes() });
    }
    out.finish().unwrap_or(Json::constant("{}"))
}

/// Sums over the steps of a document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub steps: u64,
    pub prompt: f64,
    pub completion: f64,
    pub cached: f64,
    pub cost: f64,
    /// Whether any step has tokens or a cost.
    pub has: [bool; 2],
}

impl Totals {
    /// Adds the tokens and the cost of an answer.
    pub fn add(&mut self, usage: &Node) {
        let count = |field| usage.json(field).and_then(Json::float).unwrap_or(0.0);
        let cached = count(Field::CacheRead);
        self.prompt += count(Field::InputTokens) + cached + count(Field::CacheWrite);
        self.completion += count(Field::OutputTokens);
        self.cached += cached;
        let cost = usage.node(Field::Cost).and_then(|cost| cost.json(Field::Total)?.float());
        self.cost += cost.filter(|cost| cost.is_finite()).unwrap_or(0.0);
        self.has = [true, self.has[1] || cost.is_some()];
    }

    /// Adds the sums of a sub-agent.
    pub fn merge(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.completion += other.completion;
        self.cached += other.cached;
        self.cost += other.cost;
        self.has = [self.has[0] || other.has[0], self.has[1] || other.has[1]];
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        let sums = [
            ("total_prompt_tokens", self.prompt),
            ("total_completion_tokens", self.completion),
            ("total_cached_tokens", self.cached),
        ];
        for (name, sum) in sums.iter().filter(|_| self.has[0]) {
            object.member(name, Json::number(*sum as u64).as_bytes());
        }
        if self.has[1] {
            object.member("total_cost_usd", Json::from_f64(self.cost).as_bytes());
        }
        object.member("total_steps", self.steps.to_string().as_bytes());
        object.close();
    }
}

/// The document around steps that are written.
#[derive(Debug)]
pub struct Frame<'f> {
    /// Record of the session.
    pub session: &'f Node,
    /// Whether it comes from a trajectory.
    pub own: bool,
    pub totals: Totals,
    /// Name and version of the agent, and its model, where the session does not name them.
    pub agent: [Option<Json>; 2],
    /// Trajectories of sub-agents, whole.
    pub agents: Vec<Json>,
    /// Data of the session that copyist keeps.
    pub ours: Option<Json>,
}

impl Frame<'_> {
    /// Appends the document with an empty list of steps.
    pub fn write(&self, out: &mut Vec<u8>) {
        let extra = self.session.json(Field::Extra).filter(|_| self.own);
        let kept = |name: &str| extra.and_then(|extra| extra.member(name));
        let others = extra.and_then(|extra| without(extra, "prompt"));
        let mut object = Object::open(out);
        object.in_order(wire::ROOT, self.session, others.as_ref(), &mut |row, object| {
            match row.key {
                "schema_version" if kept(row.key).is_none() => {
                    if self.own {
                        return false;
                    }
                    text::quote(wire::VERSION, object.key(row.key));
                }
                "agent" if !self.own || kept(row.key).is_some_and(|agent| agent.is_object()) => {
                    self.agent(kept(row.key), object.key(row.key));
                }
                "steps" => object.member(row.key, b"[]"),
                "final_metrics" if !self.own => self.totals.write(object.key(row.key)),
                "extra" => {
                    let extra = wire::with_ours(kept(row.key).as_ref(), self.ours.as_ref());
                    extra.iter().for_each(|extra| object.member(row.key, extra.as_bytes()));
                }
                "subagent_trajectories" if !self.agents.is_empty() => {
                    object.member(row.key, Json::list(&self.agents).as_bytes());
                }
                // Those that are kept have keys in place of their steps.
                "subagent_trajectories" if has_items(kept(row.key)) => {}
                _ => return false,
            }
            true
        });
        object.close();
    }

    /// Appends the agent, of which `kept` is what its record has no field for.
    fn agent(&self, kept: Option<Json>, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        let [name, model] = &self.agent;
        object.in_order(wire::AGENT, self.session, kept.as_ref(), &mut |row, object| {
            let held = self.session.json(row.field).filter(|value| !value.is_null());
            match (row.key, held) {
                _ if self.own => return false,
                ("name", None) => {
                    let name = name.as_ref().map_or(&b"\"unknown\""[..], Json::as_bytes);
                    object.member(row.key, name);
                }
                ("version", _) => object.member(row.key, version(self.session).as_bytes()),
                ("model_name", None) => {
                    model.iter().for_each(|model| object.member(row.key, model.as_bytes()));
                }
                ("tool_definitions", Some(tools)) => {
                    let tools: Vec<Json> = tools.elements().map(|tool| definition(&tool)).collect();
                    object.member(row.key, Json::list(&tools).as_bytes());
                }
                _ => return false,
            }
            true
        });
        object.close();
    }
}

fn has_items(list: Option<Json>) -> bool {
    list.is_some_and(|list| list.elements().next().is_some())
}

/// Returns the version of the program that held a session.
fn version(session: &Node) -> Json {
    let client = session.json(Field::Client);
    let version = client.and_then(|client| client.member("version")).or(client.cloned());
    version.filter(Json::is_string).unwrap_or(Json::constant("\"unknown\""))
}

/// Returns the definition of a tool in the form of OpenAI's functions.
fn definition(tool: &Json) -> Json {
    if tool.member("function").is_some() {
        return tool.clone();
    }
    let mut function = Extra::default();
    if tool.is_string() {
        function.add(b"\"name\"", tool.as_bytes());
    }
    for (name, other) in [("name", ""), ("description", ""), ("parameters", "input_schema")] {
        let own = tool.member(name).or_else(|| tool.member(other));
        own.iter().for_each(|own| function.add(Json::string(name).as_bytes(), own.as_bytes()));
    }
    let mut out = Extra::default();
    out.add(b"\"type\"", b"\"function\"");
    let function = function.finish().unwrap_or(Json::constant("{}"));
    out.add(b"\"function\"", function.as_bytes());
    out.finish().unwrap_or(Json::constant("{}"))
}

/// Returns the trajectory of a sub-agent with these steps: that of the document, or a new one.
pub fn trajectory(own: Option<&Json>, key: &Json, agent: &Json, steps: &[Json]) -> Json {
    let steps = Json::list(steps);
    let mut out = Extra::default();
    match own {
        Some(own) => {
            for (name, value) in own.pairs() {
                let is_steps = name.as_bytes() == b"\"steps\"";
                out.add(
                    name.as_bytes(),
                    if is_steps { steps.as_bytes() } else { value.as_bytes() },
                );
            }
        }
        None => {
            out.add(b"\"schema_version\"", Json::string(wire::VERSION).as_bytes());
            out.add(b"\"trajectory_id\"", key.as_bytes());
            out.add(b"\"agent\"", agent.as_bytes());
            out.add(b"\"steps\"", steps.as_bytes());
        }
    }
    out.finish().unwrap_or(Json::constant("{}"))
}
