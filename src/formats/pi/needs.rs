//! Members without which pi ends with a TypeError when it opens a session, and empty values for
//! them.
//!
//! Source: releases 0.73.1 and 0.87.1, run in a terminal with sessions that lack one member each.

use crate::json::{Span, elements, member, members, text};
use crate::members::Scan;

/// A member that pi needs and a record lacks.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    /// The member, as a path within the message or, without one, the entry.
    pub path: &'static str,
    /// Place in the record for [`text`](Self::text): the value that pi cannot use, or the end of
    /// the object that lacks the member.
    pub at: Span,
    /// Text that completes the record there.
    pub text: Vec<u8>,
}

const COST: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#;
/// Usage of an answer about which nothing is known.
pub const USAGE: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

/// Returns the members that pi needs and an entry lacks, in the order of their places.
pub fn needs(record: &[u8], scan: &Scan) -> Vec<Need> {
    let mut found = Found { record, needs: Vec::new() };
    if scan.is(record, "compaction") && member(record, "tokensBefore").is_none() {
        found.put(record.trim_ascii_end(), "tokensBefore", "tokensBefore", b"0");
        return found.needs;
    }
    if scan.is(record, "custom_message") && member(record, "content").is_none() {
        found.put(record.trim_ascii_end(), "content", "content", b"\"\"");
        return found.needs;
    }
    let message = scan.message.filter(|_| scan.is(record, "message")).map(|m| m.of(record));
    let Some(message) = message.filter(|message| message.starts_with(b"{")) else {
        return Vec::new();
    };
    let role = role_of(record, scan);
    if role.as_deref() == Some(RESULT)
        && !scan.role.is_some_and(|role| text::is(role.of(record), RESULT))
    {
        found.put(message, "role", "role", b"\"toolResult\"");
    }
    match role.as_deref() {
        Some("assistant") => {
            found.content(message, b"[]");
            found.usage(message);
            let content = member(message, "content").unwrap_or_default();
            for (_, block) in elements(content) {
                let kind = member(block, "type").unwrap_or_default();
                let names = [("text", "content[].text"), ("thinking", "content[].thinking")];
                for (name, path) in names.iter().filter(|(name, _)| text::is(kind, name)) {
                    found.text(block, name, path);
                }
            }
        }
        Some(RESULT) => {
            let output = member(message, "output").filter(|text| text.starts_with(b"\""));
            found.content(message, &output.map_or(b"[]".to_vec(), listed));
        }
        Some("user") if member(message, "content").is_none() => {
            found.put(message, "content", "content", b"\"\"");
        }
        Some("bashExecution") => {
            found.text(message, "command", "command");
            found.text(message, "output", "output");
        }
        _ => {}
    }
    found.needs.sort_by_key(|need| need.at.start);
    found.needs
}

/// Role of the result of a tool.
pub const RESULT: &str = "toolResult";

/// Returns the role of the message of an entry. The result of a tool that another program wrote
/// without a role, or with the role of other interfaces, has the members of a result.
pub fn role_of(record: &[u8], scan: &Scan) -> Option<String> {
    let role = scan.role.and_then(|role| text::decode(role.of(record)));
    let message = || scan.message.filter(|_| scan.is(record, "message")).map(|m| m.of(record));
    let has = |name| message().and_then(|m| member(m, name)).is_some_and(|v| v.starts_with(b"\""));
    let result = || has("toolCallId") && has("toolName");
    match role.as_deref() {
        None | Some("tool") if result() => Some(RESULT.to_owned()),
        _ => role,
    }
}

struct Found<'r> {
    record: &'r [u8],
    needs: Vec<Need>,
}

impl Found<'_> {
    /// Adds content that is not a list. A text becomes the only block of one.
    fn content(&mut self, message: &[u8], nothing: &[u8]) {
        match member(message, "content") {
            Some(list) if list.starts_with(b"[") => {}
            Some(text) if text.starts_with(b"\"") => {
                self.put(message, "content", "content", &listed(text));
            }
            _ => self.put(message, "content", "content", nothing),
        }
    }

    fn usage(&mut self, message: &[u8]) {
        match member(message, "usage") {
            Some(usage) if usage.starts_with(b"{") => {
                if !member(usage, "cost").is_some_and(|cost| cost.starts_with(b"{")) {
                    self.put(usage, "cost", "usage.cost", COST.as_bytes());
                }
            }
            _ => self.put(message, "usage", "usage", USAGE.as_bytes()),
        }
    }

    fn text(&mut self, object: &[u8], key: &str, path: &'static str) {
        if !member(object, key).is_some_and(|text| text.starts_with(b"\"")) {
            self.put(object, key, path, b"\"\"");
        }
    }

    /// Gives a member of an object, which is a slice of the record, this value.
    fn put(&mut self, object: &[u8], key: &str, path: &'static str, value: &[u8]) {
        let place = |part: &[u8]| part.as_ptr().addr() - self.record.as_ptr().addr();
        let (at, text) = match member(object, key) {
            Some(old) => {
                let start = place(old);
                (Span { start, end: start + old.len() }, value.to_vec())
            }
            None => {
                let end = (place(object) + object.len()).saturating_sub(1);
                let comma = if members(object).next().is_some() { "," } else { "" };
                let text = [comma.as_bytes(), b"\"", key.as_bytes(), b"\":", value].concat();
                (Span { start: end, end }, text)
            }
        };
        self.needs.push(Need { path, at, text });
    }
}

/// Returns a list of one block with this text.
fn listed(text: &[u8]) -> Vec<u8> {
    [b"[{\"type\":\"text\",\"text\":", text, b"}]"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(message: &str) -> String {
        let record = format!(r#"{{"type":"message","id":"a","message":{message}}}"#);
        let scan = Scan::of(record.as_bytes()).expect("JSON").expect("an object");
        let mut out = record.clone();
        for need in needs(record.as_bytes(), &scan).iter().rev() {
            let text = String::from_utf8(need.text.clone()).expect("UTF-8");
            out.replace_range(need.at.start..need.at.end, &text);
        }
        let scan = Scan::of(out.as_bytes()).expect("JSON").expect("an object");
        assert_eq!(needs(out.as_bytes(), &scan), [], "{out}");
        out
    }

    #[test]
    fn needs_missing_member_gets_an_empty_value() {
        let both = completed(r#"{"role":"assistant"}"#);
        assert!(both.contains(&format!(r#""content":[],"usage":{USAGE}"#)), "{both}");
        let cost = completed(r#"{"role":"assistant","content":[],"usage":{"input":5}}"#);
        assert!(cost.contains(&format!(r#""input":5,"cost":{COST}"#)), "{cost}");
        let text = completed(r#"{"role":"toolResult","toolCallId":"c","content":"x"}"#);
        assert!(text.contains(r#""content":[{"type":"text","text":"x"}]"#), "{text}");
        let first = completed(r#"{"role":"toolResult","toolCallId":"c","output":"y"}"#);
        assert!(first.contains(r#""content":[{"type":"text","text":"y"}]"#), "{first}");
        for role in ["", r#""role":"tool","#] {
            let tool = format!(r#"{{{role}"toolCallId":"c","toolName":"t","content":[]}}"#);
            let tool = completed(&tool);
            assert!(tool.contains(r#""role":"toolResult""#), "{tool}");
        }
        let ran = completed(r#"{"role":"bashExecution","command":"ls"}"#);
        assert!(ran.contains(r#""output":"""#), "{ran}");
    }
}
