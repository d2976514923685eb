//! Results of the scripts for a session: its status, its result, its row in the list.
//!
//! Source: `session.py` (`get_session_status`, `extract_result`, `list_all_sessions`) from
//! November 12, 2025 on, and `agent-orchestrator.sh` before that.

use crate::json::{Cursor, Json, text, without_nan};
use crate::named::{About, Counts, Verdict};
use bytes::Bytes;
use std::borrow::Cow;

/// Judges a session by the last line: the bytes between the last line feed that is not the last
/// byte, and the next line feed.
pub fn judge(line: &[u8]) -> Verdict {
    let mut verdict = Verdict {
        finished: false,
        why: String::new(),
        others: Vec::new(),
        fatal: None,
        result: None,
    };
    let value = match value(line) {
        Ok(value) => value,
        Err(why) => {
            verdict.others.push((SHELL, false, why.clone()));
            verdict.others.push((EARLY, false, why.clone()));
            verdict.why = why;
            return verdict;
        }
    };
    if let Some((article, python)) = not_an_object(&value) {
        verdict.why = format!("the last line is {article}, not an object");
        let fatal = format!(
            "{}; ao-status itself fails on it: '{python}' object has no attribute 'get'",
            verdict.why
        );
        verdict.fatal = Some(fatal);
        verdict.others.push((SHELL, false, verdict.why.clone()));
        verdict.others.push((EARLY, false, verdict.why.clone()));
        return verdict;
    }
    let success = last(&value, "subtype").is_some_and(|word| is_word(&word, "success"));
    let result = last(&value, "result");
    let kind = last(&value, "type").is_some_and(|word| is_word(&word, "result"));
    verdict.finished = success && result.is_some();
    verdict.why = match (success, &result) {
        (true, Some(_)) => "the last line has subtype `success` and a `result`".to_owned(),
        (true, None) => "the last line has subtype `success`, but no `result`".to_owned(),
        (false, _) => match last(&value, "subtype").and_then(|word| word.text()) {
            Some(other) => format!("the subtype of the last line is {other:?}, not `success`"),
            None => "the last line has no subtype `success`".to_owned(),
        },
    };
    let of_type = if kind { "its type is `result`" } else { "its type is not `result`" };
    verdict.others.push((SHELL, kind, of_type.to_owned()));
    verdict.others.push((EARLY, kind, of_type.to_owned()));
    verdict.result = result.filter(|_| verdict.finished).filter(|result| !is_false(result));
    verdict
}

const SHELL: &str = "the shell scripts (to 2025-11-13)";
const EARLY: &str = "the first Python scripts (2025-11-11 and 12)";

/// Parses the one value of a line, as Python's `json.loads` does.
fn value(line: &[u8]) -> Result<Json, String> {
    let Ok(utf8) = std::str::from_utf8(line) else {
        return Err("the last line is not UTF-8".to_owned());
    };
    if utf8.trim().is_empty() {
        return Err("the last line is blank".to_owned());
    }
    let text = without_nan(line).map_or(Cow::Borrowed(line), Cow::Owned);
    let mut cursor = Cursor::new(&text);
    match cursor.skip_value().and_then(|span| cursor.end().map(|()| span)) {
        Ok(span) => Ok(Json::trusted(Bytes::copy_from_slice(span.of(&text)))),
        Err(fault) if fault.what.is_truncation() => {
            Err("the last line is cut off in the middle of a record".to_owned())
        }
        Err(fault) => Err(format!("the last line is not JSON: {}", fault.what)),
    }
}

/// Names the type of a value that is not an object, in English and in Python.
fn not_an_object(value: &Json) -> Option<(&'static str, &'static str)> {
    match value.as_bytes().first()? {
        b'{' => None,
        b'[' => Some(("an array", "list")),
        b'"' => Some(("a string", "str")),
        b't' | b'f' => Some(("a truth value", "bool")),
        b'n' => Some(("null", "NoneType")),
        _ if value.as_bytes().iter().any(|b| matches!(b, b'.' | b'e' | b'E')) => {
            Some(("a number", "float"))
        }
        _ => Some(("a number", "int")),
    }
}

/// Returns the last member of a name: Python takes the last of two.
fn last(object: &Json, name: &str) -> Option<Json> {
    let found = object.members().filter(|(key, _)| text::is(key, name)).last();
    found.map(|(_, value)| Json::trusted(object.bytes().slice_ref(value)))
}

fn is_word(value: &Json, word: &str) -> bool {
    value.is_string() && text::is(value.as_bytes(), word)
}

/// Whether Python treats a value as false.
fn is_false(value: &Json) -> bool {
    let inner = |open: u8, close: u8| {
        let bytes = value.as_bytes();
        bytes.first() == Some(&open)
            && bytes.get(1..).is_some_and(|rest| rest.trim_ascii_start().first() == Some(&close))
    };
    value.as_bytes() == b"\"\""
        || value.is_null()
        || value.as_bytes() == b"false"
        || value.float() == Some(0.0)
        || inner(b'{', b'}')
        || inner(b'[', b']')
}

/// Reads the metadata.
///
/// # Errors
/// Returns a description of the fault if the metadata cannot be read at all.
pub fn about(text: &[u8]) -> Result<About, String> {
    let value = value(text).map_err(|why| why.replace("last line", "file"))?;
    if not_an_object(&value).is_some() {
        return Err("the file is no JSON object".to_owned());
    }
    let mut about = About::default();
    let mut faults = Vec::new();
    let mut member = |name: &str, needed: bool| {
        let text = last(&value, name).and_then(|value| value.text());
        if text.is_none() && needed {
            faults.push(format!("no `{name}`"));
        }
        text
    };
    about.name = member("session_name", true);
    about.id = member("session_id", false);
    about.agent = member("agent", false);
    about.project = member("project_dir", false);
    about.created = member("created_at", true);
    about.resumed = member("last_resumed_at", true);
    for (name, time) in [("created_at", &about.created), ("last_resumed_at", &about.resumed)] {
        if let Some(time) = time.as_ref().filter(|time| !is_time(time)) {
            let died = "ao-list-sessions itself ends here, without a list";
            faults.push(format!("`{name}` is not a time: {time:?}; {died}"));
        }
    }
    about.faults = faults;
    Ok(about)
}

/// Whether Python's `datetime.fromisoformat` accepts a time, without its final `Z`.
fn is_time(time: &str) -> bool {
    let bare = time.trim_end_matches('Z');
    bare.parse::<jiff::civil::DateTime>().is_ok()
        || bare.parse::<jiff::civil::Date>().is_ok()
        || bare.parse::<jiff::Timestamp>().is_ok()
}

/// Adds the prompts, results and cost of a line to the counts.
pub fn count(line: &[u8], counts: &mut Counts) {
    let has = |word: &[u8]| memchr::memmem::find(line, word).is_some();
    if !has(b"\"user_message\"") && !has(b"\"duration_ms\"") {
        return;
    }
    let Ok(value) = value(line) else { return };
    let is = |name: &str, word: &str| last(&value, name).is_some_and(|value| is_word(&value, word));
    if is("type", super::wire::PROMPT) {
        counts.prompts += 1;
    } else if last(&value, "duration_ms").is_some() && last(&value, "subtype").is_some() {
        counts.results += 1;
        let cost = last(&value, "total_cost_usd").and_then(|cost| cost.float());
        counts.cost = cost.map(|cost| cost + counts.cost.unwrap_or(0.0)).or(counts.cost);
    }
}
