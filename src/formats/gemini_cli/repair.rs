//! Repair of sessions: of the damage for which the program does not list a session or loses its
//! records, and with `--resumable` of calls without a result.
//!
//! Source: damaged files that release 0.61.0 resumed.

use super::{PATH, is_document, log, message, result, wire};
use crate::diagnostic::Code;
use crate::document::{self, Rules};
use crate::error::{Error, Result};
use crate::format::{Cx, Head, Records, RepairIo, RepairOptions, Repaired};
use crate::ids::{is_uuid, uuid_of};
use crate::json::{Json, Span, elements, member, salvage};
use crate::lines::Lines;
use crate::mapping::Object;
use crate::record::{Field, Node};
use crate::repair::{Fixes, OUTCOME_UNKNOWN, Role, Talk, repair_talk};
use bytes::Bytes;
use std::collections::HashSet;
use std::io::Read;
use std::rc::Rc;

static RECORDS: Records = Records {
    begins: &[b"{\"id\":\"", b"{\"$set\":{", b"{\"sessionId\":\"", b"{\"$rewindTo\":\""],
    recognise,
    restore,
};

static RULES: Rules = Rules {
    path: PATH,
    recognise: wire::is_message,
    lacks,
    complete: Some(complete),
    notes_in: None,
};

/// Whether an object is a record: a header, a message, perhaps without an identifier or of another
/// type, another record of the log, or a mark of copyist.
fn recognise(object: &[u8]) -> bool {
    let is = |name| member(object, name).is_some_and(|value| value.starts_with(b"\""));
    let is_typed = is("id") && is("type") && !is("uuid");
    let is_mark = member(object, "copyist").is_some();
    wire::is_header(object) || wire::is_of_log(object) || is_unnamed(object) || is_typed || is_mark
}

/// Whether an object is a message that lacks its identifier.
fn is_unnamed(object: &[u8]) -> bool {
    let is = |name: &str, value: &[u8]| member(object, name) == Some(value);
    let has = |name: &str| member(object, name).is_some();
    (is("type", b"\"user\"") || is("type", b"\"gemini\""))
        && has("content")
        && has("timestamp")
        && !["id", "uuid", "sessionId", "message"].iter().any(|name| has(name))
}

/// Returns the complete members of a torn record. A list of messages that is not whole would
/// replace all of them.
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(torn)?;
    let is_whole = wire::is_message(&object) || is_unnamed(&object) || log_header(&object);
    is_whole.then_some(object)
}

/// Whether an object has what the program demands of a header.
fn log_header(object: &[u8]) -> bool {
    wire::is_header(object) && member(object, "projectHash").is_some()
}

/// Returns the identifier of a session whose header is missing: its first digits are in the name
/// of the file.
fn session_id(wanted: &RepairOptions) -> String {
    let stem = wanted.name.split('.').next().unwrap_or_default();
    let made = uuid_of(stem.as_bytes());
    let digits = stem.rsplit('-').next().filter(|digits| digits.len() == 8);
    let named = digits.map(|digits| format!("{digits}{}", made.get(8..).unwrap_or_default()));
    named.filter(|id| is_uuid(id)).unwrap_or(made)
}

const NO_PROJECT: &str = "\"0000000000000000000000000000000000000000000000000000000000000000\"";

/// Returns the members that a document lacks.
fn lacks(document: &Json, wanted: &RepairOptions) -> Option<Json> {
    let mut out = crate::mapping::Extra::default();
    let id = Json::string(&session_id(wanted));
    for (name, value) in [
        ("sessionId", id.as_bytes()),
        ("projectHash", NO_PROJECT.as_bytes()),
        ("startTime", EPOCH.as_bytes()),
        ("lastUpdated", EPOCH.as_bytes()),
        ("messages", b"[]"),
    ] {
        if document.member(name).is_none() {
            out.add(Json::string(name).as_bytes(), value);
        }
    }
    Some(out.finish().unwrap_or(Json::constant("{}")))
}

const EPOCH: &str = "\"1970-01-01T00:00:00.000Z\"";

/// Repairs a session.
///
/// # Errors
/// If nothing of it can be recovered, or reading or writing fails.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let mut beginning = Vec::new();
    let read = io.parts().main()?.take(Head::SIZE as u64).read_to_end(&mut beginning);
    read.map_err(|error| Error::io("cannot read", error))?;
    if is_document(&beginning) && wire::is_header(beginning.trim_ascii()) {
        return document::repair(&RULES, io, wanted, cx);
    }
    let mut answered = HashSet::new();
    let mut lines = Lines::new(io.parts().main()?, cx.options.max_line);
    while let Ok(Some(line)) = lines.next() {
        note_answers(line.bytes, &mut answered);
    }
    let answered = wanted.resumable.then(|| Rc::new(answered));
    repair_talk(Facts { session: session_id(wanted), answered, count: 0 }, io, wanted, cx)
}

/// Notes the calls of which a message has a result.
fn note_answers(item: &[u8], answered: &mut HashSet<Vec<u8>>) {
    let parts = member(item, "content").unwrap_or_default();
    for (_, part) in elements(parts) {
        let call = member(part, "functionResponse").and_then(|response| member(response, "id"));
        answered.extend(call.map(<[u8]>::to_vec));
    }
}

/// State behind a line.
#[derive(Clone)]
struct Facts {
    session: String,
    /// Calls that have a result in a message, if calls without one get one.
    answered: Option<Rc<HashSet<Vec<u8>>>>,
    count: u64,
}

impl Talk for Facts {
    const RECORDS: &'static Records = &RECORDS;

    fn is_header(&self, line: &Json) -> bool {
        wire::is_header(line.as_bytes())
    }

    fn header(&self, first: &Json) -> Vec<u8> {
        let time = first.member("timestamp").filter(|time| time.text().is_some());
        let time = time.unwrap_or(Json::constant(EPOCH));
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        object.member("sessionId", Json::string(&self.session).as_bytes());
        object.member("projectHash", NO_PROJECT.as_bytes());
        object.member("startTime", time.as_bytes());
        object.member("lastUpdated", time.as_bytes());
        object.member("kind", b"\"main\"");
        object.close();
        out
    }

    fn mend(&mut self, line: &Json, fixes: &mut Fixes) -> Vec<Code> {
        self.count += 1;
        let needed = match line.as_bytes() {
            header if wire::is_header(header) => Some(("projectHash", Json::constant(NO_PROJECT))),
            item if is_unnamed(item) => {
                let id = uuid_of(format!("{} {}", self.session, self.count).as_bytes());
                Some(("id", Json::string(&id)))
            }
            _ => None,
        };
        let needed = needed.filter(|(name, _)| line.member(name).is_none());
        if let Some((name, value)) = needed {
            fixes.edits.set(None, name, value.as_bytes());
            fixes.note(Code::MemberRestored, Some(("member", Json::string(name).as_bytes())));
            return vec![Code::MemberRestored];
        }
        let Some(answered) = &self.answered else { return Vec::new() };
        let edits = answers(line, answered);
        for (place, text) in &edits {
            fixes.edits.replace(*place, text);
            fixes.note(Code::ResultSynthesized, None);
        }
        vec![Code::ResultSynthesized; edits.len()]
    }

    fn role(&self, line: &Json) -> Role {
        let is_talk = line.member("id").is_some() && message::sort(line) == message::Sort::Talk;
        if is_talk && line.member(log::REWIND).is_none() { Role::Speech } else { Role::Other }
    }

    fn result(&mut self, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }
}

/// Returns the changes by which the calls of a message get results: a place in it, and the text.
fn answers(item: &Json, answered: &HashSet<Vec<u8>>) -> Vec<(Span, Vec<u8>)> {
    let mut edits = Vec::new();
    for call in item.member("toolCalls").unwrap_or_default().elements() {
        let Some(id) = call.member("id").filter(|id| id.text().is_some()) else { continue };
        let own = call.member("result");
        if own.as_ref().is_some_and(|own| result::read(own, &id, None).is_some())
            || answered.contains(id.as_bytes())
        {
            continue;
        }
        let mut block = Node::default();
        block.set(Field::Content, Json::string(OUTCOME_UNKNOWN));
        block.set(Field::IsError, Json::constant("true"));
        let usual = result::usual(&id, call.member("name").as_ref(), &block);
        match own {
            Some(own) => edits.push((item.place_of(&own), usual.as_bytes().to_vec())),
            None => {
                let end = item.place_of(&call).end.saturating_sub(1);
                let text = [b",\"result\":", usual.as_bytes()].concat();
                edits.push((Span { start: end, end }, text));
            }
        }
    }
    edits
}

/// Adds results to the calls of a document, if it is to be continued.
fn complete(text: &[u8], wanted: &RepairOptions, _: &Cx<'_>) -> Option<(Vec<u8>, Vec<Code>)> {
    let document = Json::trusted(Bytes::copy_from_slice(text));
    let items: Vec<Json> = document.member("messages")?.elements().collect();
    let mut answered = HashSet::new();
    items.iter().for_each(|item| note_answers(item.as_bytes(), &mut answered));
    let (mut out, mut from, mut codes) = (Vec::with_capacity(text.len()), 0, Vec::new());
    for item in items.iter().filter(|_| wanted.resumable) {
        let start = document.place_of(item).start;
        for (place, put) in answers(item, &answered) {
            out.extend_from_slice(text.get(from..start + place.start)?);
            out.extend_from_slice(&put);
            from = start + place.end;
            codes.push(Code::ResultSynthesized);
        }
    }
    out.extend_from_slice(text.get(from..)?);
    (!codes.is_empty()).then_some((out, codes))
}
