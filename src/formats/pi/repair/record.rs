//! Recognition of pi's records by their own members.

use super::super::needs;
use crate::json::edit::Edits;
use crate::json::{Span, member, members, salvage, text};
use crate::members::Scan;

/// Beginning of every entry that pi writes.
pub const BEGINS: &[&[u8]] = &[b"{\"type\":\""];

/// Whether an object is a header or an entry. An entry has a type and a time. It also has the
/// member that its type requires or, from version 2 on, an identifier and a parent. Content blocks,
/// messages and tool outputs do not have these.
pub fn recognise(object: &[u8]) -> bool {
    let Ok(Some(scan)) = Scan::of(object) else { return false };
    let Some(kind) = scan.kind.and_then(|kind| text::decode(kind.value.of(object))) else {
        return false;
    };
    let is_text = |span: Span| span.of(object).first() == Some(&b'"');
    let id = scan.id.is_some_and(|id| is_text(id.value));
    if kind == "session" {
        return id;
    }
    let time = scan.time.is_some_and(|time| is_text(time.value));
    let tree = id && scan.parent.is_some();
    let list = match kind.as_str() {
        "message" => is_message(&scan, object),
        "compaction" => scan.kept_index.is_some(),
        "model_change" | "thinking_level_change" => true,
        _ => false,
    };
    time && (tree || list)
}

/// Whether a line is a message of pi's: it has a `message`, an object with a role. Streams of other
/// agents have lines of the type `message` with the role beside it.
pub fn is_message(scan: &Scan, line: &[u8]) -> bool {
    let role = scan.message.and(scan.role);
    scan.is(line, "message") && role.is_some_and(|role| role.of(line).starts_with(b"\""))
}

/// Whether a text can be the rest of a record that lost its beginning, cut inside of a string or
/// not: JSON that closes more than it opens, and does so with its last byte.
pub fn is_rest(bytes: &[u8]) -> bool {
    [false, true].into_iter().any(|within| closes(bytes.trim_ascii_end(), within))
}

fn closes(bytes: &[u8], mut within: bool) -> bool {
    let (mut depth, mut lowest, mut escaped) = (0_i64, 0, false);
    let mut last = false;
    for byte in bytes {
        last = false;
        match byte {
            _ if std::mem::take(&mut escaped) => {}
            b'\\' if within => escaped = true,
            b'"' => within = !within,
            _ if within => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                last = *byte == b'}' && depth < lowest;
                lowest = depth.min(lowest);
            }
            b',' | b':' | b'+' | b'-' | b'.' | b'E' | b'0'..=b'9' => {}
            // The letters of `true`, `false` and `null`.
            b't' | b'r' | b'u' | b'e' | b'f' | b'a' | b'l' | b's' | b'n' => {}
            other if other.is_ascii_whitespace() => {}
            _ => return false,
        }
    }
    last
}

/// Builds an entry of the complete members of a torn one. A torn answer is marked as aborted: pi
/// shows it and does not send it.
pub fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(torn)?;
    let scan = Scan::of(&object).ok()??;
    // A header is rebuilt from what is left of it.
    if !recognise(&object) || scan.is(&object, "session") {
        return None;
    }
    if !scan.is(&object, "message") {
        return Some(object);
    }
    let message = scan.message?;
    let role = scan.role.map(|role| role.of(&object))?;
    let has = |key: &str| members(message.of(&object)).any(|(name, _)| text::is(name, key));
    // What was cut may have been all of the content.
    let content = member(message.of(&object), "content").unwrap_or_default();
    let empty = matches!(content, b"" | b"[]" | b"[{}]");
    if text::is(role, "bashExecution") || empty {
        return None;
    }
    if !text::is(role, "assistant") {
        return Some(object);
    }
    let mut edits = Edits::default();
    for (key, value) in [("usage", needs::USAGE), ("stopReason", "\"aborted\"")] {
        if !has(key) {
            edits.add(key, value.as_bytes());
        }
    }
    let mut out = Vec::with_capacity(object.len() + 200);
    edits.apply(&object, message.end - 1, false, &mut out);
    Some(out)
}
