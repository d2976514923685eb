//! Facts about a session from its first lines, and detection of transcripts by them.

use super::foreign::uuid_of;
use super::older::Older;
use super::{FORMAT, wire};
use crate::format::{Confidence, Head, Sniffed};
use crate::ids::is_uuid;
use crate::json::{Cursor, Json, text};
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

/// Members that show the kind of a line.
#[derive(Debug, Default)]
struct Marks {
    wire: Option<String>,
    message: bool,
    links: bool,
    printed: bool,
    parent: bool,
    side: bool,
    agent: Option<Json>,
    facts: Vec<(Field, Json)>,
    release: Option<Json>,
    /// Names of the members that lines beside the chain have.
    beside: Vec<&'static str>,
}

impl Marks {
    fn of(line: &[u8]) -> Option<Self> {
        // A damaged line is kept as it is, and shows nothing.
        std::str::from_utf8(line).ok()?;
        let mut cursor = Cursor::new(line);
        let mut marks = Self::default();
        cursor.begin_object().ok()?;
        while let Some(key) = cursor.next_key().ok()? {
            let first = cursor.peek();
            let value = cursor.skip_value().ok()?;
            let (name, value) = (text::decoded(key.of(line))?, value.of(line));
            let text = || first == Some(b'"');
            let json = || Json::checked(Bytes::copy_from_slice(value));
            match name.as_ref() {
                "type" => marks.wire = text::decode(value),
                "message" => marks.message = first == Some(b'{'),
                "parent_tool_use_id" | "session_id" => marks.printed = true,
                wire::SIDE => marks.side = value == b"true",
                "agentId" if text() => marks.agent = Some(json()),
                "sessionId" if text() => marks.facts.push((Field::Id, json())),
                "cwd" if text() => marks.facts.push((Field::Cwd, json())),
                // Releases write these two where a folder is on no branch.
                "gitBranch" if text() && ![&b"\"\""[..], b"\"HEAD\""].contains(&value) => {
                    marks.facts.push((Field::Branch, json()));
                }
                "timestamp" if text() => marks.facts.push((Field::Created, json())),
                "version" if text() => marks.release = Some(json()),
                _ => {}
            }
            marks.parent |= name == wire::PARENT;
            marks.links |= ["uuid", wire::PARENT, "sessionId"].contains(&name.as_ref());
            let beside = wire::BESIDE.iter().map(|(_, beside)| *beside);
            marks.beside.extend(beside.filter(|beside| name == *beside));
        }
        cursor.end().ok()?;
        Some(marks)
    }

    fn is(&self, wire: &str) -> bool {
        self.wire.as_deref() == Some(wire)
    }

    /// Whether the line is in the chain of a transcript.
    fn is_chained(&self) -> bool {
        let spoken = (self.is("user") || self.is("assistant")) && self.message;
        let other = ["system", "attachment", "progress"].iter().any(|wire| self.is(wire));
        (spoken && self.links || other && self.parent) && (self.parent || !self.printed)
    }

    /// Whether the line is beside the chain of a transcript.
    fn is_beside(&self) -> bool {
        wire::BESIDE.iter().any(|(wire, name)| self.is(wire) && self.beside.contains(name))
    }
}

impl About {
    /// Number of bytes of a file that are looked at.
    pub const HEAD: u64 = Head::SIZE as u64;

    /// Returns the facts in the beginning of a file.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let mut about = Self::default();
        let head = head.strip_prefix(BOM).unwrap_or(head);
        head.split(|b| *b == b'\n').for_each(|line| about.line(line));
        about
    }

    /// Takes the facts of the next line.
    pub fn line(&mut self, line: &[u8]) {
        if self.is_complete() {
            return;
        }
        let Some(marks) = Marks::of(line) else { return };
        if marks.is_chained() {
            self.agent |= !self.spoken && marks.side && marks.agent.is_some();
            self.agent_id = self.agent_id.take().or(marks.agent);
            self.spoken = true;
        }
        for (field, value) in marks.facts {
            if self.facts.get(field).is_none() {
                self.facts.set(field, value);
            }
        }
        self.release = self.release.take().or(marks.release);
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
        let mut client = Vec::new();
        let mut object = Object::open(&mut client);
        object.member("name", b"\"claude-code\"");
        let first = self.release.as_ref().or(releases.first());
        first.into_iter().for_each(|release| object.member("version", release.as_bytes()));
        if !releases.is_empty() {
            let all: Vec<_> = releases.iter().map(Json::as_bytes).collect();
            object.member("releases", &[b"[", all.join(&b","[..]).as_slice(), b"]"].concat());
        }
        object.close();
        Json::checked(client.into())
    }
}

/// Detects a transcript by its beginning.
pub fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let confidence = confidence(head)?;
    let mut older = Older::default();
    head.lines().for_each(|line| older.line(line));
    let version = if older.is_first(head.whole) { FIRST } else { SECOND };
    Some(Sniffed { confidence, version })
}

fn confidence(head: &Head<'_>) -> Option<Confidence> {
    let called = Head::is_called(head.name, FORMAT.extensions);
    let (mut beside, mut clean, mut stray) = (0, true, head.whole);
    for (i, line) in head.lines().take(LOOKED_AT).enumerate() {
        match Marks::of(line) {
            Some(marks) if marks.is_chained() => {
                return Some(match () {
                    () if !clean => Confidence::Buried,
                    () if i == beside => Confidence::Certain,
                    () => Confidence::Strong,
                });
            }
            Some(marks) if marks.is_beside() => {
                stray &= STRAY.iter().any(|wire| marks.is(wire));
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
