//! Shapes of version 1: what releases before 2.1 and other programs wrote, and what migration to
//! version 2 changes.
//!
//! Lines have no number of a version. A transcript is one of version 1 if it contains the lines of
//! sub-agents, a `summary` of its own lines, messages without a time or answers without an
//! identifier or a list of blocks; if releases before 2.1.33 continue it at another message than
//! newer ones do; or if a file `agent-ID.jsonl` beside it contains the lines of a sub-agent that it
//! names.

use super::members::Members;
use super::wire;
use crate::format::BESIDE;
use crate::ids::hash;
use crate::json::{Json, Span, text};
use crate::times;
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// Findings in the lines so far.
#[derive(Debug, Default)]
pub struct Older {
    /// Whether the lines are those of one sub-agent, whose file has the same shape in both
    /// versions.
    agent: Option<bool>,
    sides: bool,
    lacks: bool,
    /// Whether a line names the last prompt, or a release that does not continue at the newest
    /// message.
    recent: bool,
    /// Hashes of the leaves that summaries are about.
    summaries: Vec<u64>,
    /// Sub-agents that results name, each with its call.
    named: Vec<Flat>,
    lines: HashSet<u64>,
    pub chain: Chain,
}

/// Sub-agent with a file of its own beside the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flat {
    /// Identifier of the sub-agent.
    pub agent: String,
    /// Call that started it.
    pub call: Json,
}

impl Flat {
    /// Returns the part that is the sub-agent's file.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{BESIDE}agent-{}.jsonl", self.agent)
    }

    /// Returns the part of a session of version 2 that contains the lines.
    #[must_use]
    pub fn part(&self) -> String {
        format!("{}agent-{}.jsonl", wire::AGENTS, self.agent)
    }
}

impl Older {
    /// Looks at the next line.
    pub fn line(&mut self, line: &[u8], members: &Members) {
        let text = |span: Option<Span>| span.map_or(&b""[..], |span| span.of(line));
        let kind = members.kind(line);
        match &*kind {
            "summary" => self.summaries.extend(members.leaf.map(|leaf| hash(leaf.of(line)))),
            "last-prompt" => self.recent = true,
            _ => {}
        }
        if !wire::CHAINED.contains(&&*kind) {
            return;
        }
        self.recent = self.recent || is_recent(text(members.release));
        let side = members.is_side(line);
        let agent = *self.agent.get_or_insert(side && members.agent.is_some());
        self.sides |= side && !agent;
        if side {
            return;
        }
        let uuid = members.uuid.map_or(0, |uuid| hash(uuid.of(line)));
        self.lines.insert(uuid);
        let json = |span: Option<Span>| {
            let value = span.map(|span| Bytes::copy_from_slice(span.of(line)));
            value.filter(|value| value.starts_with(b"{")).map(Json::trusted)
        };
        let spoken = ["user", "assistant"].contains(&&*kind);
        let Some(message) = json(members.message).filter(|_| spoken) else { return };
        let time = members.time.map(|time| Bytes::copy_from_slice(time.of(line)));
        let time = time.and_then(|time| times::read(&Json::trusted(time)));
        let plain = || message.member("content").is_some_and(|content| content.text().is_some());
        let answer = kind == "assistant" && (message.member("id").is_none() || plain());
        self.lacks |= time.is_none() || answer;
        let parent = members.parent.map_or(0, |parent| hash(parent.of(line)));
        self.chain.add(uuid, parent, time.map(|time| time.as_millisecond()));
        let agent = json(members.result).and_then(|result| result.member("agentId")?.text());
        let call = || message.member("content")?.elements().next()?.member("tool_use_id");
        let plain = |id: &String| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
        self.named
            .extend(agent.filter(plain).and_then(|agent| Some(Flat { agent, call: call()? })));
    }

    /// Returns the sub-agents whose lines may be in files beside the session: those that its own
    /// files do not contain.
    #[must_use]
    pub fn flat(&self, parts: &[String]) -> Vec<Flat> {
        let beside = |flat: &&Flat| !parts.contains(&flat.part());
        self.named.iter().filter(beside).cloned().collect()
    }

    /// Whether a release wrote lines that continues at the last one.
    #[must_use]
    pub fn is_recent(&self) -> bool {
        self.recent
    }

    /// Whether the lines themselves show version 1. At the beginning of a file, the session may
    /// continue elsewhere.
    #[must_use]
    pub fn is_first(&self, whole: bool) -> bool {
        let about = |leaf: &u64| self.lines.contains(leaf);
        let sides = self.sides && !self.chain.0.is_empty();
        let shape = sides || self.lacks || self.summaries.iter().any(about);
        let elsewhere = || !self.recent && self.chain.newest() != Newest::Last;
        self.agent != Some(true) && (shape || whole && elsewhere())
    }

    /// Whether a summary is about a line of the session, and so is its title.
    #[must_use]
    pub fn is_title(&self, leaf: &Json) -> bool {
        self.lines.contains(&hash(leaf.as_bytes()))
    }

    /// Whether messages need other times, so that the last one is the newest.
    #[must_use]
    pub fn is_undated(&self) -> bool {
        !self.recent && self.chain.newest() == Newest::Unclear
    }
}

/// Whether a release, in its spelling, continues at the last line: releases from 2.1.33 on do.
fn is_recent(release: &[u8]) -> bool {
    let release = text::decode(release).unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    let number = [numbers.next(), numbers.next(), numbers.next()].map(Option::unwrap_or_default);
    number >= [2, 1, 33]
}

/// Messages of the conversation with their times, in the order of the file.
#[derive(Debug, Default)]
pub struct Chain(Vec<Message>);

#[derive(Clone, Copy, Debug)]
struct Message {
    id: u64,
    parent: u64,
    time: Option<i64>,
}

/// Place of the newest message, at which releases before 2.1.33 continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newest {
    /// The last message of the file.
    Last,
    /// A message on another branch, by the hash of its identifier.
    Branch(u64),
    /// Times are missing or equal, or do not increase along the conversation.
    Unclear,
}

impl Chain {
    /// Adds a message by the hashes of its identifier and of its parent's.
    pub fn add(&mut self, id: u64, parent: u64, time: Option<i64>) {
        self.0.push(Message { id, parent, time });
    }

    /// Returns the place of the newest message.
    #[must_use]
    pub fn newest(&self) -> Newest {
        let Some((last, before)) = self.0.split_last() else { return Newest::Last };
        if self.0.iter().any(|message| message.time.is_none()) {
            return Newest::Unclear;
        }
        let Some(newest) = before.iter().max_by_key(|message| message.time) else {
            return Newest::Last;
        };
        let twice = before.iter().filter(|message| message.time == newest.time).count() > 1;
        match newest.time.cmp(&last.time) {
            std::cmp::Ordering::Less => Newest::Last,
            std::cmp::Ordering::Greater if !twice && !self.leads(newest.id) => {
                Newest::Branch(newest.id)
            }
            _ => Newest::Unclear,
        }
    }

    /// Whether the last message descends from this one. There may be other lines
    /// between them, so a message without a known parent counts as the child of the one before.
    fn leads(&self, ancestor: u64) -> bool {
        let places: HashMap<u64, usize> = self.0.iter().map(|m| m.id).zip(0..).collect();
        let mut place = self.0.len().saturating_sub(1);
        for _ in 0..self.0.len() {
            let Some(message) = self.0.get(place) else { return false };
            if message.id == ancestor {
                return true;
            }
            let before = place.checked_sub(1);
            let Some(next) = places.get(&message.parent).copied().or(before) else { return false };
            place = next;
        }
        false
    }
}
