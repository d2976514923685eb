//! Detection of these files and their kind by their beginning.

use super::top::{AUTHORED, DATED, INDEX, KEYED, Shape};
use crate::yaml::read::{Events, Limits, What};
use std::collections::HashSet;

/// Members of which every release wrote at least one before the turns, besides the name and the
/// time of the beginning, which files of other programs have, too.
const MARKS: [&str; 7] =
    ["timestamp", "updated", "session_id", "total_cost", "total_tokens", "runs", "model"];

/// Whether a member is one that such files begin with, also with their members sorted by name.
pub fn is_known(name: &str) -> bool {
    MARKS.contains(&name)
        || ["name", "created", "turns", "expected", "messages", "system_prompt"].contains(&name)
}

/// Whether a line contains the question of a turn, in any layout.
fn has_question(line: &str) -> bool {
    line.trim_start_matches([' ', '-', '[', '{', '"', '\'']).starts_with("input")
}

/// Returns the shape of the file that begins with `head`; `None` if the file is not one of this
/// format.
pub fn shape(head: &str) -> Option<&'static Shape> {
    // A file that was written again may have its members in alphabetical order.
    let first = head.strip_prefix("messages:\n  ");
    let behind = || head.split_once("\nmessages:\n  ").map(|(_, list)| list);
    let listed = first.or_else(behind).is_some_and(|list| {
        let key = list.split(':').next().unwrap_or_default();
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit())
    });
    if listed {
        return Some(&KEYED);
    }
    // Text behind the turns may look like anything.
    let prompt = head.find("\nsystem_prompt:").or(head.find("\nmessages:"));
    let head = prompt.and_then(|end| head.get(..end)).unwrap_or(head);
    let begins = |key: &str| {
        let key = format!("{key}:");
        // A space before the first of them is damage.
        let first = head.strip_prefix(' ').is_some_and(|head| head.starts_with(&key));
        first || head.lines().any(|line| line.starts_with(&key))
    };
    let dated = begins("created") || begins("timestamp");
    if begins("turns") && !dated && (begins("agent") || begins("expected")) {
        return Some(&AUTHORED);
    }
    if !begins("name") {
        return None;
    }
    // Files of other programs have names and runs, too.
    let counted = begins("runs") && (begins("turns") || begins("created"));
    let numbered = || prompt.is_none() && head.lines().any(|line| line.starts_with("  run: "));
    if counted || (begins("turns") && numbered()) {
        return Some(&INDEX);
    }
    if !begins("turns") {
        return None;
    }
    if prompt.is_none() && !MARKS.iter().any(|key| begins(key)) && !head.lines().any(has_question) {
        return None;
    }
    let dated = (begins("timestamp") && !begins("created")) || has_lists(head);
    Some(if dated { &DATED } else { &KEYED })
}

/// Members that software writes into each turn.
const SISTERS: [&str; 8] =
    ["model", "duration_ms", "tokens", "cost", "evaluation", "turn", "meta", "history"];

/// Returns the shape of a file whose beginning is damaged, recognized by the members of its turns.
/// Files of other programs do not have these members together.
pub fn shape_of_turns(head: &str) -> Option<&'static Shape> {
    let (mut names, mut own) = (HashSet::new(), None);
    for line in head.lines() {
        let bare = line.trim_start_matches(' ');
        let inner = bare.strip_prefix("- ").unwrap_or(bare);
        let indent = line.len() - inner.len();
        let Some((name, _)) = inner.split_once(':') else { continue };
        // Sorted by their names, members of a turn begin with its cost.
        if inner.len() < bare.len() && ["input", "cost"].contains(&name) {
            own = Some(indent);
        }
        names.extend((own == Some(indent)).then_some(name));
    }
    let has = |name: &&str| names.contains(*name);
    let answered = has(&"result") || has(&"output");
    let known = has(&"input") && answered && has(&"tools_called");
    let shape = match () {
        () if has(&"messages") => &DATED,
        () if ["run", "meta", "history"].iter().any(has) => &INDEX,
        () => &KEYED,
    };
    (known && SISTERS.iter().filter(|name| has(name)).count() > 1).then_some(shape)
}

/// Whether turns contain messages themselves.
fn has_lists(head: &str) -> bool {
    // A line of a text can look the same, so possible keys are looked up in the document.
    let may_be = |line: &str| {
        let inside = line.trim_start_matches([' ', '-']);
        inside.len() < line.len() && inside.starts_with("messages:")
    };
    // In a file that is damaged before it, a list is recognized by its spelling.
    let is_list = |line: &str| {
        let inside = line.trim_start_matches([' ', '-']);
        ["'[{\"role\":", "\"[{\\\"role\\\":"].iter().any(|begins| {
            inside.strip_prefix("messages: ").is_some_and(|list| list.starts_with(begins))
        })
    };
    let damaged =
        || head.lines().any(is_list) && !head.lines().any(|line| line.starts_with("created:"));
    head.lines().any(may_be) && has_key(head, "messages").unwrap_or_else(damaged)
}

/// Whether a mapping in the sequence `turns` has this key; `None` if that is unknown, because the
/// head so far is not YAML.
fn has_key(head: &str, wanted: &str) -> Option<bool> {
    let mut events = Events::new(head.as_bytes(), Limits::default());
    // For each open collection, whether it is a mapping, and whether a key comes next.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut turns = false;
    while let Some(event) = events.next().ok()? {
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
                3 if turns && key == wanted => return Some(true),
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
    Some(false)
}
