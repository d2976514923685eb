//! Facts about a session from its first lines, and detection of transcripts by them.

use super::members::Members;
use super::older::Older;
use super::uuid::uuid_of;
use super::{FORMAT, wire};
use crate::format::{Confidence, Head, Sniffed};
use crate::ids::is_uuid;
use crate::json::{Json, Span};
use crate::lines::BOM;
use crate::mapping::Object;
use crate::record::{Field, Node};
use bytes::Bytes;

/// Facts in the beginning of a transcript.
#[derive(Debug, Default)]
pub struct About {
    /// Whether the lines are those of one sub-agent, in a file of their own.
    pub agent: bool,
    /// Whether a line of the chain came.
    spoken: bool,
    agent_id: Option<Json>,
    facts: Node,
    release: Option<Json>,
}

impl Members {
    /// Whether the line shows that the file is a transcript: no other program writes such lines.
    fn shows_chain(&self, line: &[u8]) -> bool {
        let kind = self.kind(line);
        let spoken = ["user", "assistant"].contains(&&*kind) && self.message(line).is_some();
        let other = ["system", "attachment", "progress"].contains(&&*kind);
        let links = self.parent.or(self.uuid).or(self.session).is_some();
        let parent = self.parent.is_some();
        (spoken && links || other && parent) && (parent || self.printed.is_none())
    }

    /// Whether the line is of a type that transcripts have beside the chain.
    fn is_beside(&self, line: &[u8]) -> bool {
        let kind = self.kind(line);
        wire::BESIDE.iter().any(|(wire, name)| kind == *wire && self.has(name))
    }

    /// Returns the facts about the session that the line contains.
    fn facts(&self, line: &[u8]) -> impl Iterator<Item = (Field, Json)> {
        // Releases write these two where a folder is on no branch.
        let branch = |value: &Span| ![&b"\"\""[..], b"\"HEAD\""].contains(&value.of(line));
        let all = [
            (Field::Id, self.session),
            (Field::Cwd, self.cwd),
            (Field::Branch, self.branch.filter(branch)),
            (Field::Created, self.time),
        ];
        all.into_iter().filter_map(|(field, value)| Some((field, text_at(value, line)?)))
    }
}

/// Returns a member whose value is a text.
fn text_at(member: Option<Span>, line: &[u8]) -> Option<Json> {
    let value = member.map(|value| value.of(line)).filter(|value| value.starts_with(b"\""))?;
    Some(Json::trusted(Bytes::copy_from_slice(value)))
}

impl About {
    /// Number of bytes of a file that are looked at.
    pub const HEAD: u64 = Head::SIZE as u64;

    /// Returns the facts in the beginning of a file.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let mut about = Self::default();
        let head = head.strip_prefix(BOM).unwrap_or(head);
        for line in head.split(|b| *b == b'\n') {
            Members::of(line).into_iter().for_each(|members| about.line(line, &members));
        }
        about
    }

    /// Takes the facts of the next line.
    pub fn line(&mut self, line: &[u8], members: &Members) {
        if self.is_complete() {
            return;
        }
        if members.shows_chain(line) {
            let agent = text_at(members.agent, line);
            self.agent |= !self.spoken && members.is_side(line) && agent.is_some();
            self.agent_id = self.agent_id.take().or(agent);
            self.spoken = true;
        }
        for (field, value) in members.facts(line) {
            if self.facts.get(field).is_none() {
                self.facts.set(field, value);
            }
        }
        self.release = self.release.take().or_else(|| text_at(members.release, line));
    }

    /// Whether no line can add anything.
    fn is_complete(&self) -> bool {
        let all = [Field::Id, Field::Cwd, Field::Branch, Field::Created];
        let known = |field: &Field| self.facts.get(*field).is_some();
        self.spoken
            && self.release.is_some()
            && (!self.agent || self.agent_id.is_some())
            && all.iter().all(known)
    }

    /// Whether the release that began the transcript writes nothing of version 1.
    #[must_use]
    pub fn is_of_a_new_release(&self) -> bool {
        let release = self.release.as_ref().and_then(|release| release.text());
        release.is_some_and(|release| !OLD.iter().any(|old| release.starts_with(old)))
    }

    /// Takes facts that are missing from another file of the session.
    pub fn complete(&mut self, other: &Self) {
        for (field, value) in other.facts.iter() {
            if self.facts.get(field).is_none() {
                self.facts.set(field, value.clone());
            }
        }
        self.release = self.release.take().or(other.release.clone());
    }

    /// Takes the identifier from the name of the transcript, if its lines have none.
    pub fn complete_name(&mut self, file: Option<&str>) {
        let stem = file.and_then(|file| file.strip_suffix(".jsonl")).filter(|stem| is_uuid(stem));
        if let Some(stem) = stem.filter(|_| self.session_id().is_none()) {
            self.facts.set(Field::Id, Json::string(stem));
        }
    }

    /// Returns the session's identifier.
    #[must_use]
    pub fn session_id(&self) -> Option<String> {
        self.facts.text(Field::Id)
    }

    /// Returns the session's record.
    #[must_use]
    pub fn session(&self, format: &str) -> Node {
        let mut node = self.facts.clone();
        if let Some(agent) = self.agent_id.as_ref().filter(|_| self.agent) {
            // The lines name the session of the agent that started it.
            let of = node.json(Field::Id).map(Json::as_bytes).unwrap_or_default();
            let id = uuid_of(&[of, agent.as_bytes()].concat());
            node.set(Field::Id, Json::string(&id));
        }
        node.set(Field::Source, Json::string(format));
        node.set(Field::Provider, Json::constant("\"anthropic\""));
        if self.release.is_some() {
            node.set(Field::Client, self.client(&[]));
        }
        node
    }

    /// Returns the program that wrote the session: the release that began it, and all of them.
    #[must_use]
    pub fn client(&self, releases: &[Json]) -> Json {
        Object::json(|object| {
            object.member("name", b"\"claude-code\"");
            let first = self.release.as_ref().or(releases.first());
            first.into_iter().for_each(|release| object.member("version", release.as_bytes()));
            if !releases.is_empty() {
                object.member("releases", Json::list(releases).as_bytes());
            }
        })
    }
}

/// Detects a transcript by its beginning.
pub fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let confidence = confidence(head)?;
    let mut older = Older::default();
    for line in head.lines() {
        Members::of(line).into_iter().for_each(|members| older.line(line, &members));
        // What a newer release wrote has one shape; `settle` looks at all of it.
        if older.is_recent() {
            break;
        }
    }
    let version = if older.is_first(head.whole) { FIRST } else { SECOND };
    Some(Sniffed { confidence, version })
}

fn confidence(head: &Head<'_>) -> Option<Confidence> {
    let called = Head::is_called(head.name, FORMAT.extensions);
    let (mut beside, mut clean, mut stray) = (0, true, head.whole);
    for (i, line) in head.lines().take(LOOKED_AT).enumerate() {
        match Members::of(line) {
            Some(members) if members.shows_chain(line) => {
                return Some(match () {
                    () if !clean => Confidence::Buried,
                    () if i == beside => Confidence::Certain,
                    () => Confidence::Strong,
                });
            }
            Some(members) if members.is_beside(line) => {
                stray &= STRAY.contains(&&*members.kind(line));
                beside += 1;
            }
            Some(_) => stray = false,
            None => {
                stray = false;
                clean &= beside > 0 || Head::is_torn(line, i == 0, called);
            }
        }
    }
    let confidence = match () {
        () if stray => Confidence::Stray,
        () if clean => Confidence::Strong,
        () => Confidence::Buried,
    };
    (beside > 0).then_some(confidence)
}

/// Beginnings of the releases that write the shapes of version 1.
const OLD: &[&str] = &["0.", "1.", "2.0."];

/// Maximum number of lines that detection looks at.
const LOOKED_AT: usize = 64;

/// Types of the only lines in the files that processes of 1.0.128 and 2.0.53 leave when they
/// continue another session.
const STRAY: &[&str] = &["summary", "queue-operation"];

/// Numbers of the versions.
pub const FIRST: u32 = 1;
pub const SECOND: u32 = 2;
