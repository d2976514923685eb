//! The line about the session, without which Codex opens no rollout: found among the other lines,
//! completed, or made of the file's name and the other lines.

use super::super::foreign::NO_RELEASE;
use super::super::{base, line, wire};
use super::{is_of, own};
use crate::diagnostic::{Code, Diagnostic};
use crate::format::Cx;
use crate::ids::is_uuid;
use crate::json::{Json, Span};
use crate::mapping::Object;
use crate::record::{Field, Node, session_uuid};
use crate::repair::{Fixes, mark};

/// Members of the payload without which every release refuses a rollout.
const NEEDED: &[&str] = &["id", "timestamp", "cwd", "originator", "cli_version"];

/// Facts about the line, collected from all lines.
#[derive(Default)]
pub struct First {
    /// The file's name.
    name: String,
    /// The line, its place among the records, and the fix that was made to its bytes.
    line: Option<(u64, Json, Option<Code>)>,
    /// Time and folder that the lines name first.
    time: Option<Json>,
    cwd: Option<Json>,
    /// Whether the reference to another rollout is removed.
    pub is_detached: bool,
}

impl First {
    /// Begins for a file of this name.
    pub fn of(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Looks at a line.
    pub fn note(&mut self, object: &Json, place: u64, repaired: Option<Code>) {
        let payload = object.member("payload");
        let settings =
            is_of(object, wire::TURN_CONTEXT).then(|| payload.as_ref()?.member("cwd")).flatten();
        self.cwd = self.cwd.take().or_else(|| own(settings));
        let session = || own(payload.as_ref()?.member("timestamp"));
        self.time = self.time.take().or_else(|| own(object.member("timestamp"))).or_else(session);
        if self.line.is_none() && is_first(object) {
            self.line = Some((place, object.clone(), repaired));
        }
    }

    /// The place of the line among the records; `None` if there is none.
    pub fn place(&self) -> Option<u64> {
        self.line.as_ref().map(|(place, ..)| *place)
    }

    /// The payload of the line.
    pub fn payload(&self) -> Option<Json> {
        self.line.as_ref()?.1.member("payload")
    }

    /// Time of the first line that names one.
    pub fn time(&self) -> Json {
        self.time.clone().unwrap_or(Json::constant("\"1970-01-01T00:00:00.000Z\""))
    }

    /// Whether the lines of the rollout are numbered, by its first line.
    pub fn is_paginated(&self) -> Option<bool> {
        let mode = self.payload()?.member(wire::HISTORY_MODE);
        Some(mode.is_some_and(|mode| mode.text().as_deref() == Some(wire::PAGINATED)))
    }

    /// Returns the line that is written before everything else, if the present one does not begin a
    /// rollout; reports why.
    pub fn decide(&self, bare: bool, numbered: bool, cx: &Cx<'_>) -> Option<Vec<u8>> {
        let say = |code: Code| cx.report(Diagnostic::of(code));
        let mut out = Vec::new();
        let Some((place, line, repaired)) = &self.line else {
            say(Code::HeaderRebuilt);
            mark(&self.made(bare, numbered), Code::HeaderRebuilt, &mut out);
            return Some(out);
        };
        let mut fixes = Fixes::default();
        let lacking = self.complete(line, &mut fixes);
        if *place == 0 && lacking.is_empty() {
            return None;
        }
        if *place > 0 {
            say(Code::HeaderMoved);
        }
        for (name, code) in lacking {
            cx.report(Diagnostic::new(code, format!("{}: `{name}`", code.title())));
        }
        repaired.iter().for_each(|code| fixes.note(*code, None));
        fixes.apply(line.as_bytes(), &mut out);
        Some(out)
    }

    /// Makes the line of a file that has none.
    fn made(&self, bare: bool, numbered: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        if bare {
            object.member("id", self.value("id").as_bytes());
            object.member("timestamp", self.time().as_bytes());
            object.close();
            return out;
        }
        object.member("timestamp", self.time().as_bytes());
        if numbered {
            object.member("ordinal", b"0");
        }
        object.member("type", Json::string(wire::META).as_bytes());
        let mut payload = Object::open(object.key("payload"));
        NEEDED.iter().for_each(|name| payload.member(name, self.value(name).as_bytes()));
        payload.member("source", b"\"cli\"");
        if numbered {
            payload.member(wire::HISTORY_MODE, Json::string(wire::PAGINATED).as_bytes());
        }
        payload.close();
        object.close();
        out
    }

    /// Returns the value that a member gets.
    fn value(&self, name: &str) -> Json {
        match name {
            "id" => Json::string(&self.id()),
            "timestamp" => self.time(),
            "cwd" => self.cwd.clone().unwrap_or(Json::constant("\"/\"")),
            "originator" => Json::constant("\"copyist\""),
            _ => Json::string(NO_RELEASE),
        }
    }

    /// Adds the members that a line lacks, and returns their names, each with the code of its fix.
    fn complete(&self, line: &Json, fixes: &mut Fixes) -> Vec<(&'static str, Code)> {
        let Some(payload) = line.member("payload") else { return Vec::new() };
        let (mut lacking, mut added) = (Vec::new(), Vec::new());
        let restored = |path: &str, fixes: &mut Fixes| {
            fixes.note(Code::MemberRestored, Some(("member", Json::string(path).as_bytes())));
        };
        if line.member("timestamp").is_none() {
            fixes.edits.add("timestamp", self.time().as_bytes());
            restored("timestamp", fixes);
            lacking.push(("timestamp", Code::MemberRestored));
        }
        if let Some(base) = base::reference(&payload).filter(|_| self.is_detached) {
            let member = (Some(line.place_of(&base)), wire::HISTORY_BASE);
            fixes.set(line.as_bytes(), member, b"null", Code::HistoryDetached);
            lacking.push((wire::HISTORY_BASE, Code::HistoryDetached));
        }
        for name in NEEDED {
            let present = payload.member(name);
            let text = present.as_ref().and_then(Json::text);
            if text.is_some_and(|text| *name != "id" || is_uuid(&text)) {
                continue;
            }
            let value = self.value(name);
            if let Some(old) = present {
                let member = (Some(line.place_of(&old)), *name);
                fixes.set(line.as_bytes(), member, value.as_bytes(), Code::HeaderRebuilt);
                lacking.push((name, Code::HeaderRebuilt));
                continue;
            }
            added.extend_from_slice(format!(",\"{name}\":").as_bytes());
            added.extend_from_slice(value.as_bytes());
            restored(&format!("payload.{name}"), fixes);
            lacking.push((name, Code::MemberRestored));
        }
        let comma = usize::from(payload.members().next().is_none());
        if let Some(added) = added.get(comma..) {
            let place = line.place_of(&payload).end.saturating_sub(1);
            fixes.edits.replace(Span { start: place, end: place }, added);
        }
        lacking
    }

    /// Returns the session's identifier: that of the file's name, or one that follows from it.
    fn id(&self) -> String {
        let name = self.name.split('.').next().unwrap_or_default();
        // A later segment has an identifier of its own behind that of the session.
        let name = match name.rsplit_once('_') {
            Some((thread, segment)) if is_uuid(segment) => thread,
            _ => name,
        };
        let named = name.len().checked_sub(36).and_then(|at| name.get(at..));
        named.filter(|id| is_uuid(id)).map_or_else(
            || {
                let node = Node::default().with(Field::Name, Json::string(name));
                session_uuid(&node, None)
            },
            str::to_owned,
        )
    }
}

/// Whether a line is about the session, complete or not.
pub fn is_first(object: &Json) -> bool {
    let payload = object.member("payload");
    let enveloped = payload.is_some_and(|it| it.is_object());
    (enveloped && is_of(object, wire::META)) || line::read_meta(object).is_some()
}
