//! Telling by its beginning whether a file is one of these, and of which version.

use crate::yaml::read::{Events, Limits, What};

/// The version of the file that begins so; `None` if it is no such file.
#[must_use]
pub fn version(head: &str) -> Option<u32> {
    // A file that was written anew may have its members in the order of their names.
    let listed = head.split_once("\nmessages:\n  ").is_some_and(|(_, list)| {
        let key = list.split(':').next().unwrap_or_default();
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit())
    });
    if listed {
        return Some(2);
    }
    // What stands behind the turns may look like anything.
    let prompt = head.find("\nsystem_prompt:").or(head.find("\nmessages:"));
    let head = prompt.and_then(|end| head.get(..end)).unwrap_or(head);
    let begins = |key: &str| {
        let key = format!("{key}:");
        head.lines().any(|line| line.starts_with(&key))
    };
    // The summaries of version 3 have the same turns, each with the number of a run.
    let summary = begins("runs") || head.lines().any(|line| line.starts_with("  run: "));
    if summary || !begins("name") || !begins("turns") {
        return None;
    }
    let dated = (begins("timestamp") && !begins("created")) || has_lists(head);
    Some(if dated { 1 } else { 2 })
}

/// Whether turns have messages themselves.
fn has_lists(head: &str) -> bool {
    // A line of a text can look the same, so what may be a key is looked for in the document.
    let may_be = |line: &str| {
        let inside = line.trim_start_matches([' ', '-']);
        inside.len() < line.len() && inside.starts_with("messages:")
    };
    head.lines().any(may_be) && has_key(head, "messages")
}

/// Whether a mapping in the sequence `turns` has this key.
fn has_key(head: &str, wanted: &str) -> bool {
    let mut events = Events::new(head.as_bytes(), Limits::default());
    // For each open collection, whether it is a mapping, and whether a key comes next.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut turns = false;
    while let Ok(Some(event)) = events.next() {
        if matches!(event.what, What::Comment { .. }) {
            continue;
        }
        let value = open.last_mut().is_none_or(|(mapping, key)| {
            let is_key = *mapping && *key;
            *key = !*key;
            !is_key
        });
        match event.what {
            What::Scalar(key, ..) if !value => match open.len() {
                1 => turns = key == "turns",
                3 if turns && key == wanted => return true,
                _ => {}
            },
            What::MappingStart(..) => open.push((true, true)),
            What::SequenceStart(..) => open.push((false, false)),
            What::MappingEnd | What::SequenceEnd => {
                open.pop();
            }
            _ => {}
        }
    }
    false
}
