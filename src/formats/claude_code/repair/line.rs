//! Lines as repair sees them: how they begin, what is left of torn ones, and members that they
//! need.

use crate::diagnostic::Code;
use crate::formats::claude_code::members::Members;
use crate::ids::hash;
use crate::json::{Json, Span, member_place, salvage};
use crate::repair::Fixes;
use crate::times;
use jiff::Timestamp;

/// Beginnings of lines.
pub const BEGINS: &[&[u8]] = &[b"{\"parentUuid\":", b"{\"type\":", b"{\"logicalParentUuid\":"];

/// Whether an object is a line, not an object from inside a line.
pub fn recognise(object: &[u8]) -> bool {
    let Some(members) = Members::of(object) else { return false };
    let typed = members.kind.is_some_and(|kind| kind.of(object).starts_with(b"\""));
    let links = [members.uuid, members.parent, members.session, members.leaf, members.snapshot];
    typed && links.iter().any(Option::is_some)
}

/// Returns the complete members of a torn line, if they make a line. A line without content is not
/// restored: older releases end with an error on it.
pub fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(torn).filter(|o| recognise(o))?;
    let line = Json::trusted(object.clone().into());
    let kind = line.text_of("type");
    let spoken = kind.is_some_and(|kind| ["user", "assistant"].contains(&kind.as_str()));
    let content = || line.member("message")?.member("content");
    let empty = |content: Json| matches!(content.as_bytes(), b"" | b"\"\"" | b"[]" | b"null");
    (!spoken || content().is_some_and(|content| !empty(content))).then_some(object)
}

/// Returns the place of a member of the message at a place of a line.
pub fn member_of(line: &[u8], message: Span, member: &str) -> Option<Span> {
    let Span { start, end } = member_place(message.of(line), member)?;
    Some(Span { start: message.start + start, end: message.start + end })
}

/// Gives a line a time, and notes the reason.
pub fn set_time(line: &[u8], members: &Members, time: Timestamp, code: Code, fixes: &mut Fixes) {
    let time = Json::string(&times::with_millis(time));
    fixes.edits.set(members.time, "timestamp", time.as_bytes());
    let old = members.time.map_or(&b"null"[..], |time| time.of(line));
    fixes.note(code, Some(("timestamp", old)));
}

/// Gives an answer an identifier if it has none. Returns whether it got one.
pub fn name_answer(line: &[u8], members: &Members, fixes: &mut Fixes) -> bool {
    let message = members.message.filter(|_| members.kind(line) == "assistant");
    let lacks =
        |message: &Span| message.of(line).len() > 2 && member_of(line, *message, "id").is_none();
    let Some(Span { start, .. }) = message.filter(lacks) else { return false };
    let id = format!("\"id\":\"msg_{:016x}\",", hash(&[line, b" answer"].concat()));
    fixes.edits.replace(Span { start: start + 1, end: start + 1 }, id.as_bytes());
    fixes.note(Code::MemberRestored, Some(("member", b"\"id\"")));
    true
}

/// Makes the content of an answer a list if it is a text. Returns whether it was one.
pub fn list_content(line: &[u8], members: &Members, fixes: &mut Fixes) -> bool {
    let message = members.message.filter(|_| members.kind(line) == "assistant");
    let content = message.and_then(|message| member_of(line, message, "content"));
    let text = content.filter(|place| place.of(line).starts_with(b"\""));
    let Some(place) = text else { return false };
    let list = [b"[{\"type\":\"text\",\"text\":", place.of(line), b"}]"].concat();
    fixes.set(line, (Some(place), "content"), &list, Code::ContentListed);
    true
}
