//! Members of an item that the interface of a model refuses: a name that no tool can have, and
//! identifiers that are too long.

use super::super::{items, wire};
use super::{is_of, payload_of};
use crate::diagnostic::Code;
use crate::dialect::refusal::{LONGEST_ID, is_tool_name, tool_name};
use crate::ids::hash;
use crate::json::Json;

/// A member that is refused: its name, its value, and the value that it becomes.
pub struct Member {
    pub name: &'static str,
    pub old: Json,
    pub new: Json,
    pub code: Code,
}

fn item_of(line: &Json) -> Option<(Json, String)> {
    if line.member("payload").is_some() && !is_of(line, wire::ITEM) {
        return None;
    }
    let item = payload_of(line);
    let kind = item.member("type")?.text()?;
    Some((item, kind))
}

/// Returns the members of a line that are refused.
pub fn members(line: &Json) -> Vec<Member> {
    let Some((item, kind)) = item_of(line) else { return Vec::new() };
    let is_call = ["function_call", "custom_tool_call"].contains(&kind.as_str());
    let name = item.member("name").filter(|_| is_call).and_then(|old| {
        let given = old.text().filter(|given| !is_tool_name(given))?;
        let new = Json::string(&tool_name(&given));
        Some(Member { name: "name", old, new, code: Code::ToolRenamed })
    });
    let long = |name: &'static str, new: fn(&str) -> Json| {
        let old = item.member(name)?;
        let given = old.text().filter(|given| given.chars().count() > LONGEST_ID)?;
        Some(Member { name, new: new(&given), old, code: Code::CallRenamed })
    };
    let call = long("call_id", |given| items::name_of_call(Some(&Json::string(given))));
    let own = long("id", |given| {
        let kind = given.split('_').next().filter(|kind| kind.len() < 16).unwrap_or("item");
        Json::string(&format!("{kind}_{:016x}", hash(given.as_bytes())))
    });
    [name, call, own].into_iter().flatten().collect()
}

/// Whether a line is a thought without the content by which its provider recognises it.
pub fn is_empty_thought(line: &Json) -> bool {
    let Some((item, kind)) = item_of(line) else { return false };
    let has = |name| {
        let value = item.member(name);
        value.is_some_and(|value| !matches!(value.as_bytes(), b"\"\"" | b"null" | b"[]"))
    };
    kind == "reasoning" && !has("encrypted_content") && !has("content")
}
