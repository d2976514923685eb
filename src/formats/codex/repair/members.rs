//! Members for which every release of Codex drops a line: a missing time, a value of the wrong
//! type, and half of a character. With `--resumable`, also members for which the interface of a
//! model refuses the session.

use super::super::{LINES, wire};
use super::{is_of, payload_of, refused};
use crate::diagnostic::Code;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::repair::Fixes;

/// Notes the changes that a line needs, also to be sent to a model if it is `sent`, and returns
/// their codes. `time` is that of the line before.
pub fn mend(line: &Json, time: &Json, sent: bool, fixes: &mut Fixes) -> Vec<Code> {
    let mut codes = Vec::new();
    if lacks_time(line) {
        fixes.edits.add("timestamp", time.as_bytes());
        fixes.note(Code::MemberRestored, Some(("member", b"\"timestamp\"")));
        codes.push(Code::MemberRestored);
    }
    let retyped = retyped(line);
    if let Some((name, old, new)) = &retyped {
        fixes.set(line.as_bytes(), (Some(line.place_of(old)), name), new, Code::Retyped);
        codes.push(Code::Retyped);
    }
    let members = if sent { refused::members(line) } else { Vec::new() };
    for refused::Member { name, old, new, code } in &members {
        fixes.set(line.as_bytes(), (Some(line.place_of(old)), name), new.as_bytes(), *code);
        codes.push(*code);
    }
    // The next pass checks what was spelled again.
    let again = retyped.is_some() || !members.is_empty();
    let units = if again { Vec::new() } else { text::lone_halves(line.as_bytes()) };
    if !units.is_empty() {
        fixes.replace_units(line.as_bytes(), &units);
        codes.push(Code::SurrogateReplaced);
    }
    codes
}

/// Whether a line needs changes, also to be sent to a model if it is `sent`.
pub fn needs(line: &Json, sent: bool) -> bool {
    lacks_time(line)
        || retyped(line).is_some()
        || sent && !refused::members(line).is_empty()
        || !text::lone_halves(line.as_bytes()).is_empty()
}

/// Whether a line of a known type has no time.
fn lacks_time(line: &Json) -> bool {
    let enveloped = || line.member("payload").is_some_and(|it| it.is_object());
    line.member("timestamp").is_none() && LINES.iter().any(|wire| is_of(line, wire)) && enveloped()
}

/// Returns the member of an item whose value has the wrong type, that value, and the one that it
/// becomes.
fn retyped(line: &Json) -> Option<(&'static str, Json, Vec<u8>)> {
    if line.member("payload").is_some() && !is_of(line, wire::ITEM) {
        return None;
    }
    let item = payload_of(line);
    let name = match item.member("type")?.text()?.as_str() {
        "function_call" => "arguments",
        "custom_tool_call" => "input",
        "function_call_output" | "custom_tool_call_output" => "output",
        "message" => "content",
        _ => return None,
    };
    let old = item.member(name)?;
    let first = old.as_bytes().first().copied();
    let new = match (name, first) {
        ("content", Some(b'"')) => {
            let role = item.text_of("role");
            let wire =
                if role.as_deref() == Some("assistant") { "output_text" } else { "input_text" };
            let mut list = b"[".to_vec();
            let mut part = Object::open(&mut list);
            part.member("type", Json::string(wire).as_bytes());
            part.member("text", old.as_bytes());
            part.close();
            list.push(b']');
            list
        }
        ("content", _) | (_, Some(b'"')) | ("output", Some(b'[')) => return None,
        ("output", Some(b'{')) if old.member("content").is_some_and(|c| c.text().is_some()) => {
            old.member("content")?.as_bytes().to_vec()
        }
        _ => Json::string(&String::from_utf8_lossy(old.as_bytes())).as_bytes().to_vec(),
    };
    Some((name, old, new))
}
