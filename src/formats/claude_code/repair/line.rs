//! Lines as repair sees them: how they begin, and what is left of torn ones.

use crate::formats::claude_code::members::Members;
use crate::json::{Json, salvage};

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
    let object = salvage(String::from_utf8_lossy(torn).as_bytes()).filter(|o| recognise(o))?;
    let line = Json::checked(object.clone().into());
    let kind = line.member("type").and_then(|kind| kind.text());
    let spoken = kind.is_some_and(|kind| ["user", "assistant"].contains(&kind.as_str()));
    let content = || line.member("message")?.member("content");
    let empty = |content: Json| matches!(content.as_bytes(), b"" | b"\"\"" | b"[]" | b"null");
    (!spoken || content().is_some_and(|content| !empty(content))).then_some(object)
}
