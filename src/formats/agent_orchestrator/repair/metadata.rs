//! Repair of the metadata: restores what `ao-resume` needs, from the rest of the metadata, from the
//! temporary file that a crash left before it was renamed, or from the log.

use super::super::line::Shape;
use super::super::wire::META;
use super::super::{FORMAT, is_plain_object, meta};
use super::Facts;
use crate::diagnostic::Code;
use crate::error::{Cannot, Result};
use crate::format::{Cx, RepairIo};
use crate::json::edit::Edits;
use crate::json::{Cursor, EscapeStyle, Json, Span, is_whole, member_place, salvage, text};
use crate::lines::BOM;
use crate::mapping::Extra;
use crate::position::Position;
use bytes::Bytes;
use std::collections::HashSet;

/// Available texts of the metadata.
#[derive(Debug)]
pub struct Metadata {
    /// Number of the part of the metadata, and its name.
    pub number: u32,
    pub part: String,
    /// Text of the file.
    pub own: Option<Bytes>,
    /// Text of the temporary file that was to replace it when the scripts were killed.
    pub temporary: Option<Bytes>,
}

impl Default for Metadata {
    fn default() -> Self {
        Self { number: 1, part: meta::ENDING.to_owned(), own: None, temporary: None }
    }
}

/// Result of the decision about the metadata.
#[derive(Debug)]
pub enum MetadataOutcome {
    /// Stay as they are, or stay missing.
    Stay,
    /// Are written again with a new text.
    New {
        /// New text.
        text: Vec<u8>,
        /// Codes of the repairs.
        codes: Vec<Code>,
        /// Part of the old text that is set aside, with the reason.
        aside: Option<(Bytes, Code)>,
    },
}

impl MetadataOutcome {
    /// Whether the metadata are written again.
    pub fn changes(&self) -> bool {
        matches!(self, Self::New { .. })
    }

    /// Whether anything is set aside.
    pub fn removes(&self) -> bool {
        matches!(self, Self::New { aside: Some(_), .. })
    }
}

impl Metadata {
    /// Whether the file of the metadata exists.
    pub fn is_there(&self) -> bool {
        self.own.is_some()
    }

    /// Whether the metadata contain anything of a session.
    pub fn has_content(&self, outcome: &MetadataOutcome) -> bool {
        match outcome {
            MetadataOutcome::Stay => self.own.is_some(),
            MetadataOutcome::New { codes, .. } if codes.contains(&Code::MetadataRebuilt) => {
                let complete_members = self.own.as_deref().and_then(complete_members);
                complete_members
                    .is_some_and(|complete_members| complete_members.as_bytes().len() > 2)
            }
            MetadataOutcome::New { .. } => true,
        }
    }

    /// Decides what the repair writes; `room` states whether missing metadata can be created.
    pub fn decide(
        &mut self,
        facts: &Facts,
        shape: Shape,
        name: &str,
        room: bool,
    ) -> MetadataOutcome {
        let bare =
            |text: &Bytes| text.strip_prefix(BOM).map_or(text.clone(), |t| text.slice_ref(t));
        if let Some(own) = &self.own
            && is_plain_object(&bare(own))
        {
            let mut codes = Vec::new();
            let marked = bare(own).len() < own.len();
            if marked {
                codes.push(Code::MarkRemoved);
            }
            let text = with_id(&bare(own), facts, shape, &mut codes);
            let aside = marked.then(|| (own.slice(..BOM.len()), Code::MarkRemoved));
            return if codes.is_empty() {
                MetadataOutcome::Stay
            } else {
                MetadataOutcome::New { text, codes, aside }
            };
        }
        let aside = self.own.clone().filter(|old| !old.is_empty());
        let temporary = self.temporary.take();
        if let Some(taken) = temporary.map(|text| bare(&text)).filter(|t| is_plain_object(t)) {
            let mut codes = vec![Code::MetadataTaken];
            let text = with_id(&taken, facts, shape, &mut codes);
            return match room {
                true => MetadataOutcome::New {
                    text,
                    codes,
                    aside: aside.map(|old| (old, Code::MetadataTaken)),
                },
                false => MetadataOutcome::Stay,
            };
        }
        // Only the scripts write prompts; output of `claude` alone has no metadata.
        if self.own.is_none() && !(room && facts.times.is_some()) {
            return MetadataOutcome::Stay;
        }
        let complete_members = self.own.as_deref().and_then(complete_members);
        let text = rebuilt(complete_members.as_ref(), facts, shape, name);
        let codes = vec![Code::MetadataRebuilt];
        MetadataOutcome::New { text, codes, aside: aside.map(|old| (old, Code::MetadataRebuilt)) }
    }

    /// Writes the result of the decision.
    pub fn write(
        &self,
        outcome: MetadataOutcome,
        io: &mut dyn RepairIo,
        cx: &Cx<'_>,
    ) -> Result<()> {
        cx.log.turn_to(self.number);
        let at = Position { line: 1, ..Position::default() };
        let say = |code: Code| cx.report_at(code, at);
        if self.temporary.is_some() {
            say(Code::TemporaryLeft);
        }
        let MetadataOutcome::New { text, codes, aside } = outcome else {
            return if self.own.is_some() { io.keep(&self.part) } else { Ok(()) };
        };
        codes.into_iter().for_each(say);
        if let Some((bytes, code)) = aside {
            io.aside(&self.part, &bytes, at, code)?;
        }
        let mut part = io.create(&self.part)?;
        part.write_all(&text).and_then(|()| part.flush()).cannot("write")
    }
}

/// Returns the members that are complete in damaged metadata: those before the damage, and those
/// after it whose lines are whole, for the scripts give each member a line. The first of two
/// members of one name counts, as in the two sides of a merge conflict.
fn complete_members(text: &[u8]) -> Option<Json> {
    let text = String::from_utf8_lossy(text.strip_prefix(BOM).unwrap_or(text)).into_owned();
    let whole = salvage(text.trim_start().as_bytes()).map(|whole| Json::trusted(whole.into()));
    let mut members = Extra::default();
    whole.iter().for_each(|whole| members.add_members(whole));
    let known = whole.iter().flat_map(Json::members).filter_map(name_of);
    let mut known: HashSet<String> = known.collect();
    let mut indent = None;
    for line in text.lines() {
        let bare = line.trim_start();
        // A deeper line is a member of a member.
        let deep = line.len() - bare.len();
        if !bare.starts_with('"') || *indent.get_or_insert(deep) != deep {
            continue;
        }
        for member in members_of(bare).iter().flat_map(Json::members) {
            if name_of(member).is_some_and(|name| known.insert(name)) {
                members.add(member.0, member.1);
            }
        }
    }
    members.finish().or(whole)
}

fn name_of((key, _): (&[u8], &[u8])) -> Option<String> {
    text::decode(key)
}

/// Parses the members that a line consists of, as an object.
fn members_of(line: &str) -> Option<Json> {
    let inner = line.trim_end().trim_end_matches(',');
    let object = |inner: &str| {
        let text = format!("{{{inner}}}").into_bytes();
        is_whole(&text).then(|| Json::trusted(text.into()))
    };
    object(inner).or_else(|| object(inner.strip_suffix('}')?))
}

/// Returns the metadata with Claude's identifier, without which `ao-resume` of the Python era
/// fails. The shell scripts look for the identifier in the log.
fn with_id(text: &Bytes, facts: &Facts, shape: Shape, codes: &mut Vec<Code>) -> Vec<u8> {
    let object = Json::trusted(text.clone());
    let own = object.member("session_id").filter(|id| !id.is_null() && id.as_bytes() != b"\"\"");
    match &facts.id {
        Some(id) if own.is_none() && shape == Shape::Classes => {
            codes.push(Code::MetadataId);
            let text = set(text, "session_id", id.as_bytes());
            marked(text, Code::MetadataId)
        }
        _ => text.to_vec(),
    }
}

/// Rebuilds metadata from the rest of the old ones, from the file name, and from the log.
fn rebuilt(complete_members: Option<&Json>, facts: &Facts, shape: Shape, name: &str) -> Vec<u8> {
    let ending = FORMAT.files.beside.iter().filter(|ending| name.ends_with(**ending));
    let stem = ending.max_by_key(|e| e.len()).and_then(|ending| name.strip_suffix(ending));
    let stem = stem.filter(|stem| !stem.is_empty()).unwrap_or("session");
    let kept =
        |key: &str| complete_members.and_then(|complete_members| complete_members.member(key));
    let folder = kept("project_dir").or_else(|| facts.cwd.clone());
    let agents = || {
        let folder = folder.as_ref()?.text()?;
        Some(Json::string(&format!("{folder}/.agent-orchestrator/agents")))
    };
    let times = facts.times.as_ref().map(|(first, last)| (zulu(first), zulu(last)));
    let epoch = || Json::constant("\"1970-01-01T00:00:00Z\"");
    let mut members: Vec<(String, Json)> = Vec::new();
    for key in META.iter().map(|row| row.key) {
        let value = kept(key).or_else(|| match key {
            "session_name" => Some(Json::string(stem)),
            "agent" => Some(Json::constant("null")),
            "project_dir" => folder.clone(),
            "agents_dir" => agents(),
            "created_at" => Some(times.clone().map_or_else(epoch, |(first, _)| first)),
            "last_resumed_at" => {
                let own = times.clone().map(|(_, last)| last).or_else(|| kept("created_at"));
                Some(own.unwrap_or_else(epoch))
            }
            "schema_version" => Some(Json::constant("\"1.0\"")),
            _ => facts.id.clone().filter(|_| shape == Shape::Classes),
        });
        members.extend(value.map(|value| (key.to_owned(), value)));
    }
    for (key, value) in complete_members.into_iter().flat_map(Json::members) {
        let key = text::decode(key).unwrap_or_default();
        if !members.iter().any(|(known, _)| *known == key) {
            members.push((key, Json::trusted(Bytes::copy_from_slice(value))));
        }
    }
    let mut compact = b"{".to_vec();
    for (key, value) in &members {
        if compact.len() > 1 {
            compact.push(b',');
        }
        text::quote(key, &mut compact);
        compact.push(b':');
        compact.extend_from_slice(value.as_bytes());
    }
    compact.push(b'}');
    let compact = marked(compact, Code::MetadataRebuilt);
    let spelling = match shape {
        Shape::Printed => EscapeStyle::SCRIPT_FILE,
        Shape::Classes => EscapeStyle::PYTHON_FILE,
    };
    let mut out = Vec::new();
    spelling.spell(&compact, &mut out);
    out.push(b'\n');
    out
}

/// Converts a time to the form in metadata, for the scripts pass it without its `Z` to
/// `datetime.fromisoformat`.
fn zulu(time: &Json) -> Json {
    let text = time.text().unwrap_or_default();
    match text.strip_suffix("+00:00") {
        Some(bare) => Json::string(&format!("{bare}Z")),
        None => time.clone(),
    }
}

/// Adds a note of the repair to the text.
fn marked(text: Vec<u8>, code: Code) -> Vec<u8> {
    let note = format!("{{\"code\":\"{}\"}}", code.name());
    match member_place(&text, "copyist") {
        Some(present) => {
            let (mut edits, mut out) = (Edits::default(), Vec::new());
            edits.append(&text, "copyist", Some(present), "repaired", note.as_bytes());
            edits.apply(&text, text.len(), false, &mut out);
            out
        }
        None => set(&text, "copyist", format!("{{\"repaired\":[{note}]}}").as_bytes()),
    }
}

/// Sets a member of an object's text to this value: in place if the member exists, else after the
/// last one, with the spacing of the first.
fn set(object: &[u8], key: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len() + value.len() + key.len() + 16);
    let mut put = |span: Span, new: &[&[u8]]| {
        out.extend_from_slice(object.get(..span.start).unwrap_or_default());
        new.iter().for_each(|piece| out.extend_from_slice(piece));
        out.extend_from_slice(object.get(span.end..).unwrap_or_default());
    };
    if let Some(span) = member_place(object, key) {
        put(span, &[value]);
        return out;
    }
    let mut cursor = Cursor::new(object);
    let opened = cursor.begin_object().map(|()| cursor.at());
    let (open, mut gap, mut last) = (opened.unwrap_or_default(), None, None);
    while let Ok(Some(name)) = cursor.next_key() {
        gap.get_or_insert(Span { start: open, end: name.start });
        last = cursor.skip_value().ok().map(|value| value.end).or(last);
    }
    let gap = gap.map(|gap| gap.of(object)).unwrap_or_default();
    let gap = if gap.is_empty() && object.contains(&b' ') { b" " } else { gap };
    let (place, comma): (usize, &[u8]) = last.map_or((open, b""), |last| (last, b","));
    let key = [b"\"", key.as_bytes(), b"\": "].concat();
    put(Span { start: place, end: place }, &[comma, gap, &key, value]);
    out
}
