//! Repair of a session: the members without which the program refuses the whole file.
//!
//! Calls without results stay, because the program completes them itself, unless the session is to
//! be accepted by any interface (`--resumable`).
//!
//! Source: damaged copies of a session that releases 0.0.384 to 1.0.102 resumed.

use super::events::{PRODUCER, envelope};
use super::{context, line, wire};
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{Cx, Records, RepairIo, RepairOptions, Repaired};
use crate::ids::{is_uuid, uuid_of};
use crate::json::{Json, Span, member, salvage, text};
use crate::mapping::Object;
use crate::repair::{Fixes, Role, Talk, repair_talk};

static RECORDS: Records = Records { begins: &[b"{\"type\":\""], recognise, restore };

/// Whether an object is an event: of a known type, or with what every event has around its data.
fn recognise(object: &[u8]) -> bool {
    let is =
        |name: &str, first: u8| member(object, name).is_some_and(|it| it.first() == Some(&first));
    let envelope = ["id", "timestamp"].iter().all(|name| is(name, b'"'));
    super::is_event(object) || (is("type", b'"') && is("data", b'{') && envelope)
}

/// Returns the complete members of a torn event, if its data are among them.
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(torn).filter(|object| super::is_event(object))?;
    let data = member(&object, "data")?;
    (data != b"{}").then_some(object)
}

/// Repairs a session.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let folder = Some(wanted.folder.clone()).filter(|folder| is_uuid(folder));
    let named = wanted.name.split('.').next().filter(|name| is_uuid(name)).map(str::to_owned);
    let session = folder.or(named).unwrap_or_else(|| uuid_of(wanted.name.as_bytes()));
    let epoch = Json::constant("\"1970-01-01T00:00:00.000Z\"");
    let facts = Facts { session, last: Json::constant("null"), time: epoch, count: 0 };
    repair_talk(facts, io, wanted, cx)
}

/// State behind a line.
#[derive(Clone)]
struct Facts {
    session: String,
    /// The identifier and the time of the last line.
    last: Json,
    time: Json,
    count: u64,
}

/// Value for a member, and whether a given value will do.
type Needed = (&'static str, Json, fn(&Json) -> bool);

fn is_id(value: &Json) -> bool {
    value.text().is_some_and(|id| is_uuid(&id))
}

/// Whether a text is a time with a zone, as far as the program demands it.
fn is_time(value: &Json) -> bool {
    value.text().is_some_and(|time| time.parse::<jiff::Timestamp>().is_ok())
}

impl Facts {
    fn new_id(&self, purpose: &str) -> Json {
        let key = format!("{} {} {purpose}", self.session, self.count);
        Json::string(&uuid_of(key.as_bytes()))
    }

    /// Returns the members of an event that the program demands, and those of its data.
    fn needed(&self, line: &Json) -> (Vec<Needed>, Vec<Needed>) {
        let empty = || Json::constant("\"\"");
        let own = line.member("timestamp").filter(is_time).unwrap_or_else(|| self.time.clone());
        let is_parent: fn(&Json) -> bool = |value| value.is_null() || is_id(value);
        let event: Vec<Needed> = vec![
            ("id", self.new_id("id"), is_id),
            ("timestamp", self.time.clone(), is_time),
            ("parentId", self.last.clone(), is_parent),
        ];
        let data: Vec<Needed> = match line.text_of("type").as_deref() {
            Some(wire::START) => vec![
                ("sessionId", Json::string(&self.session), Json::is_string),
                ("version", Json::constant("1"), |value| value.float().is_some()),
                ("producer", Json::string(PRODUCER), Json::is_string),
                ("copilotVersion", Json::constant("\"0.0.0\""), Json::is_string),
                ("startTime", own, is_time),
            ],
            Some(wire::USER) => vec![("content", empty(), Json::is_string)],
            Some(wire::ASSISTANT) => {
                vec![
                    ("messageId", self.new_id("message"), Json::is_string),
                    ("content", empty(), Json::is_string),
                ]
            }
            _ => Vec::new(),
        };
        (event, data)
    }
}

impl Talk for Facts {
    const RECORDS: &'static Records = &RECORDS;

    fn is_header(&self, line: &Json) -> bool {
        line::is_start(line)
    }

    fn header(&self, first: &Json) -> Vec<u8> {
        let time = first.member("timestamp").filter(is_time).unwrap_or_else(|| self.time.clone());
        envelope(wire::START, b"{}", [&self.new_id("header"), &time, &Json::constant("null")])
    }

    fn mend(&mut self, line: &Json, fixes: &mut Fixes) -> Vec<Code> {
        let (event, of_data) = self.needed(line);
        let mut codes = Vec::new();
        for (name, new, fits) in event {
            match line.member(name) {
                Some(old) if fits(&old) => {}
                Some(old) => codes.push(retype(line, (name, &old), &new, fixes)),
                None => {
                    fixes.edits.set(None, name, new.as_bytes());
                    fixes.note(
                        Code::MemberRestored,
                        Some(("member", Json::string(name).as_bytes())),
                    );
                    codes.push(Code::MemberRestored);
                }
            }
        }
        if let Some(data) = line.member("data") {
            codes.extend(complete(line, &data, of_data, fixes));
        }
        // The next pass checks what was spelled again.
        if codes.is_empty() {
            codes.extend(escape(line, fixes));
            let halves = text::lone_halves(line.as_bytes());
            fixes.replace_units(line.as_bytes(), &halves);
            codes.extend((!halves.is_empty()).then_some(Code::SurrogateReplaced));
        }
        self.last = line.member("id").filter(is_id).unwrap_or_else(|| self.new_id("id")).detached();
        self.time = line
            .member("timestamp")
            .filter(is_time)
            .map_or_else(|| self.time.clone(), |time| time.detached());
        self.count += 1;
        codes
    }

    fn role(&self, line: &Json) -> Role {
        let record = line::read(line, false, &super::images::Assets::new());
        let aside = record.is_aside();
        let Some(data) = line.member("data").filter(|_| !aside) else { return Role::Other };
        match line.text_of("type").as_deref() {
            Some(wire::TOOL_COMPLETE) => {
                data.member("toolCallId").map_or(Role::Other, Role::Result)
            }
            Some(wire::USER) => Role::Speech,
            Some(wire::ASSISTANT) => {
                let requests = data.member("toolRequests").unwrap_or_default();
                let calls =
                    requests.elements().filter_map(|call| wire::member_of(&call, "toolCallId"));
                let calls: Vec<Json> = calls.map(|call| call.detached()).collect();
                if calls.is_empty() { Role::Speech } else { Role::Calls(calls) }
            }
            _ => Role::Other,
        }
    }

    fn result(&mut self, call: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        let mut object = Object::open(&mut data);
        object.member("toolCallId", call);
        object.member("success", b"false");
        let mut error = Object::open(object.key("error"));
        text::quote(context::BROKEN_OFF, error.key("message"));
        error.close();
        object.close();
        envelope(wire::TOOL_COMPLETE, &data, [&self.new_id("result"), &self.time, &self.last])
    }
}

/// Notes another value for a member.
fn retype(line: &Json, (name, old): (&str, &Json), new: &Json, fixes: &mut Fixes) -> Code {
    let place = (Some(line.place_of(old)), name);
    fixes.set(line.as_bytes(), place, new.as_bytes(), Code::Retyped);
    Code::Retyped
}

/// Notes the changes of an event's data.
fn complete(line: &Json, data: &Json, needed: Vec<Needed>, fixes: &mut Fixes) -> Vec<Code> {
    let (mut codes, mut added) = (Vec::new(), Vec::new());
    for (name, new, fits) in needed {
        match data.member(name) {
            Some(old) if fits(&old) => {}
            Some(old) => codes.push(retype(line, (name, &old), &new, fixes)),
            None => {
                added.extend_from_slice(format!(",\"{name}\":").as_bytes());
                added.extend_from_slice(new.as_bytes());
                let path = Json::string(&format!("data.{name}"));
                fixes.note(Code::MemberRestored, Some(("member", path.as_bytes())));
                codes.push(Code::MemberRestored);
            }
        }
    }
    let comma = usize::from(data.members().next().is_none());
    if let Some(added) = added.get(comma..).filter(|added| !added.is_empty()) {
        let end = line.place_of(data).end.saturating_sub(1);
        fixes.edits.replace(Span { start: end, end }, added);
    }
    codes
}

/// Notes escapes for the characters at which release 1.0.10 divides lines.
fn escape(line: &Json, fixes: &mut Fixes) -> Option<Code> {
    let text = std::str::from_utf8(line.as_bytes()).ok()?;
    let mut any = false;
    for (start, c) in text.char_indices().filter(|(_, c)| super::events::divides(*c)) {
        let end = start + c.len_utf8();
        fixes.edits.replace(Span { start, end }, format!("\\u{:04x}", u32::from(c)).as_bytes());
        any = true;
    }
    any.then(|| {
        fixes.note(Code::SeparatorEscaped, None);
        Code::SeparatorEscaped
    })
}
