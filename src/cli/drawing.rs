//! Text output of `inspect`: facts about a session, and its tree.

use super::text::{cropped, number, printable, size};
use super::turn_table;
use crate::batch::FileReport;
use crate::diagnostic::{Severity, plural};
use crate::inspect::{Inspection, Item, Row};
use std::collections::BTreeMap;
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

/// Number of columns of the names in the lines above the tree.
const NAMES: usize = 10;

/// Returns the drawing, at most `width` columns wide. It lists every turn, or the first and the last
/// ones.
pub fn draw(report: &FileReport, inspection: &Inspection, width: usize, all_turns: bool) -> String {
    let width = width.max(40);
    let mut lines = vec![format!("{}: {}", printable(&report.path), report.format_name())];
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            let name = format!("{name:<NAMES$}");
            let rest = " ".repeat(NAMES);
            let options = Options::new(width)
                .initial_indent(&name)
                .subsequent_indent(&rest)
                .word_splitter(WordSplitter::NoHyphenation);
            lines.extend(textwrap::wrap(&printable(&value), options).into_iter().map(Into::into));
        }
    };
    facts(report, inspection, &mut put);
    let turns = turn_table::lines(&inspection.by_turn, width, all_turns);
    if !turns.is_empty() {
        lines.push(String::new());
    }
    lines.extend(turns);
    if !inspection.rows.is_empty() {
        lines.push(String::new());
    }
    let what = inspection.rows.iter().map(|row| display_width(speaker(row))).max().unwrap_or(0);
    lines.extend(inspection.rows.iter().map(|row| tree_row(row, what, width)));
    if inspection.not_drawn > 0 {
        let more = number(inspection.not_drawn as f64);
        lines.push(format!("… and {more} more entries; --rows N draws more"));
    }
    lines.join("\n")
}

fn facts(report: &FileReport, found: &Inspection, put: &mut dyn FnMut(&str, String)) {
    if let Some(name) = &found.name {
        put("name", name.clone());
    }
    for (name, value) in &found.header {
        let name = match *name {
            "source" => continue,
            "parent_session" => "parent",
            "thinking_level" => "thinking",
            other => other,
        };
        put(name, value.clone());
    }
    if let Some((first, last)) = &found.times {
        put("times", format!("{first} to {last}"));
    }
    let kinds = counts(&found.kinds);
    let kinds = if kinds.is_empty() { kinds } else { format!(": {kinds}") };
    put("entries", format!("{}{kinds}", number(found.entries as f64)));
    put("room", room(&found.room));
    put("messages", counts(&found.roles));
    put("calls", counts(&found.calls));
    put("runs", counts(&found.runs));
    put("models", counts(&found.models));
    let active = found.active;
    put("turns", format!("{}, {} on the active branch", found.turns, active.turns));
    if found.agents > 0 {
        put("agents", format!("{} started by calls", number(found.agents as f64)));
    }
    put("tokens", tokens(found));
    if found.usage.cost > 0.0 {
        put("cost", format!("{:.4}", found.usage.cost));
    }
    put("tree", tree(found));
    let labels = found.labels.iter().map(|(id, label)| format!("{label} on {id}"));
    put("labels", labels.collect::<Vec<_>>().join(", "));
    if let Some(origin) = &found.origin {
        let state = match origin.unchanged {
            Some(true) => "unchanged since",
            Some(false) => "changed since",
            None => "the origin cannot be used",
        };
        put("origin", format!("converted from {}; {state}", origin.source));
    }
    put("state", found.state.to_owned());
    put("damage", damage(report));
}

/// Smallest size, in bytes, of a session of which users want to know what takes the room.
const LARGE: u64 = 1 << 20;

/// Returns what takes the room in a large session, the largest first.
fn room(room: &BTreeMap<&'static str, u64>) -> String {
    let all: u64 = room.values().sum();
    if all < LARGE {
        return String::new();
    }
    let mut parts: Vec<_> = room.iter().filter(|(_, bytes)| **bytes * 100 >= all).collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let part = |(name, bytes): (&&str, &u64)| format!("{name} {}", size(*bytes as f64));
    parts.into_iter().map(part).collect::<Vec<_>>().join(", ")
}

fn tokens(found: &Inspection) -> String {
    let usage = &found.usage;
    let parts = [
        ("input", usage.input),
        ("output", usage.output),
        ("cache read", usage.cache_read),
        ("cache write", usage.cache_write),
        ("in all", usage.tokens),
    ];
    let used = parts.iter().filter(|(_, tokens)| *tokens > 0.0);
    used.map(|(name, tokens)| format!("{name} {}", number(*tokens))).collect::<Vec<_>>().join(", ")
}

fn tree(found: &Inspection) -> String {
    let shape = found.tree;
    let mut parts = vec![
        plural(shape.roots, "root"),
        plural(shape.forks, "fork"),
        plural(shape.ends, "end"),
        format!("{} active", plural(found.active.entries, "entry")),
    ];
    if shape.unreachable > 0 {
        parts.push(format!("{} unreachable", shape.unreachable));
    }
    if let Some(leaf) = &found.leaf {
        parts.push(format!("leaf {leaf}"));
    }
    parts.join(", ")
}

fn damage(report: &FileReport) -> String {
    let bad = report.findings.counts.iter().filter(|(code, _)| code.severity() > Severity::Note);
    let findings: Vec<_> =
        bad.map(|(code, n)| format!("{n} × {} {}", code.name(), code.title())).collect();
    if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }
}

fn counts<K: AsRef<str>>(counts: &BTreeMap<K, u64>) -> String {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let parts = sorted.iter().map(|(name, n)| format!("{} {n}", name.as_ref()));
    parts.collect::<Vec<_>>().join(", ")
}

/// Maximum number of parallel branches that are drawn as lines.
const DEEPEST: u32 = 12;

/// Returns the role of an entry, or its kind if it has no role.
fn speaker(row: &Row) -> &str {
    match &row.item {
        Item::Run { .. } => "",
        Item::Entry { role, kind, .. } => role.as_deref().unwrap_or(kind),
    }
}

/// Formats one row, in which the speaker has `what` columns.
fn tree_row(row: &Row, what: usize, width: usize) -> String {
    let shown = row.depth.min(DEEPEST) as usize;
    let bars = |n: usize| "│ ".repeat(n);
    let mut start = match (&row.item, shown) {
        (Item::Entry { .. }, 1..) if row.begins => bars(shown - 1) + "├─",
        _ => bars(shown),
    };
    if row.depth > DEEPEST {
        start.push_str(&format!("({}) ", row.depth));
    }
    match &row.item {
        Item::Run { run } => {
            format!("{start}┊ {}", plural(*run, "entry"))
        }
        Item::Entry { id, text, label, leaf, active, .. } => {
            let mark = if *active { '●' } else { '○' };
            let speaker = speaker(row);
            let pad = " ".repeat(what.saturating_sub(display_width(speaker)));
            let start = printable(&format!("{start}{mark} {id} {speaker}{pad} "));
            let mut end = String::new();
            if let Some(label) = label {
                end.push_str(&printable(&format!(" [{label}]")));
            }
            if *leaf {
                end.push_str(" ◀ leaf");
            }
            let room = width.saturating_sub(display_width(&start) + display_width(&end));
            format!("{start}{}{end}", cropped(&printable(text), room)).trim_end().to_owned()
        }
    }
}
