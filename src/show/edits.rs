//! Changes of files that calls of tools describe, as lines that were removed and added.

use super::item::Call;
use crate::alignment::hunks;
use crate::ids::hash;
use crate::json::Json;

/// Number of unchanged lines that are shown before and after a change.
const AROUND: usize = 3;

/// Change of one file.
#[derive(Debug, Default, PartialEq)]
pub struct Edit {
    /// Path of the file.
    pub path: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// Line of a change.
#[derive(Debug, PartialEq)]
pub enum Line {
    /// Unchanged.
    Same(String),
    /// Removed.
    Removed(String),
    /// Added.
    Added(String),
    /// Unchanged lines that are not shown, or a heading inside of a patch.
    Gap(String),
}

impl Line {
    /// Returns the sign of the line in a patch, and its text; the text of a gap is the whole line.
    pub fn parts(&self) -> (char, &str) {
        match self {
            Self::Same(text) => (' ', text),
            Self::Removed(text) => ('-', text),
            Self::Added(text) => ('+', text),
            Self::Gap(text) => ('@', text),
        }
    }

    /// Returns the line as a patch has it.
    pub fn shown(&self) -> String {
        match self.parts() {
            ('@', text) => text.to_owned(),
            (sign, text) => format!("{sign}{text}"),
        }
    }
}

/// Names of the old and the new text in the arguments of editing tools.
const PAIRS: &[(&str, &str)] = &[
    ("old_string", "new_string"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("old_str", "new_str"),
    ("oldString", "newString"),
];

/// Names of the path in the arguments.
const PATHS: &[&str] = &["file_path", "filePath", "path", "notebook_path", "file", "filename"];

/// Names of the whole text of a file in the arguments.
const CONTENTS: &[&str] = &["content", "contents", "file_text", "text", "new_source"];

/// Beginning of a patch in the form that Codex has for it.
const PATCH: &str = "*** Begin Patch";

/// Returns the changes that a call makes to files; none for other calls.
pub fn edits(call: &Call) -> Vec<Edit> {
    let arguments = &call.arguments;
    let text =
        |holder: &Json, names: &[&str]| names.iter().find_map(|name| holder.member(name)?.text());
    if let Some(patch) = patch(arguments) {
        return of_patch(&patch);
    }
    let path = text(arguments, PATHS);
    let pair = |holder: &Json| {
        let names = PAIRS
            .iter()
            .find(|(old, new)| holder.member(old).is_some() && holder.member(new).is_some())?;
        Some((text(holder, &[names.0])?, text(holder, &[names.1])?))
    };
    let mut found = Vec::new();
    let edit = |old: &str, new: &str, path: Option<String>| Edit {
        path: path.unwrap_or_default(),
        lines: compared(old, new),
    };
    if let Some((old, new)) = pair(arguments) {
        found.push(edit(&old, &new, path.clone()));
    }
    for each in arguments.member("edits").iter().flat_map(Json::elements) {
        if let Some((old, new)) = pair(&each) {
            found.push(edit(&old, &new, text(&each, PATHS).or(path.clone())));
        }
    }
    let name = call.name.to_lowercase();
    let writes = ["write", "create"].iter().any(|word| name.contains(word));
    let content = text(arguments, CONTENTS).filter(|_| writes && found.is_empty());
    if let (Some(content), Some(path)) = (content, path) {
        let lines = content.lines().map(|line| Line::Added(line.to_owned())).collect();
        found.push(Edit { path, lines });
    }
    found
}

/// Returns a patch among the arguments: a text, a member, or a word of a command.
fn patch(arguments: &Json) -> Option<String> {
    let holds = |text: &String| text.contains(PATCH) || text.starts_with("diff --git ");
    if let Some(text) = arguments.text() {
        return Some(text).filter(holds);
    }
    arguments.pairs().iter().find_map(|(_, value)| {
        let words = || value.elements().filter_map(|word| word.text()).find(holds);
        value.text().filter(holds).or_else(words)
    })
}

/// Divides a patch into the changes of its files.
fn of_patch(patch: &str) -> Vec<Edit> {
    let mut found: Vec<Edit> = Vec::new();
    let own = patch.find(PATCH).and_then(|at| patch.get(at..)).unwrap_or(patch);
    let git = !own.starts_with(PATCH);
    for line in own.lines() {
        let file = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "diff --git "];
        if let Some(path) = file.iter().find_map(|mark| line.strip_prefix(mark)) {
            let path = path.split_once(" b/").filter(|_| git).map_or(path, |(_, path)| path);
            found.push(Edit { path: path.to_owned(), lines: Vec::new() });
            continue;
        }
        if line == "*** End Patch" {
            break;
        }
        let Some(edit) = found.last_mut() else { continue };
        if git && ["--- ", "+++ ", "index "].iter().any(|mark| line.starts_with(mark)) {
            continue;
        }
        let rest = || line.get(1..).unwrap_or_default().to_owned();
        edit.lines.push(match line.as_bytes().first() {
            Some(b'+') => Line::Added(rest()),
            Some(b'-') => Line::Removed(rest()),
            Some(b'@' | b'*') => Line::Gap(line.to_owned()),
            _ => Line::Same(rest()),
        });
    }
    found
}

/// Compares two texts line by line.
fn compared(old: &str, new: &str) -> Vec<Line> {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let hashes =
        |lines: &[&str]| lines.iter().map(|line| hash(line.as_bytes())).collect::<Vec<_>>();
    let mut lines = Vec::new();
    let mut at = 0;
    let same = |range: std::ops::Range<usize>| old.get(range).unwrap_or_default();
    for hunk in hunks(&hashes(&old), &hashes(&new)) {
        let range = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
        let (a, b) = (range(hunk.a), range(hunk.b));
        around(same(at..a.start), at > 0, true, &mut lines);
        at = a.end;
        lines.extend(same(a).iter().map(|line| Line::Removed((*line).to_owned())));
        let added = new.get(b).unwrap_or_default();
        lines.extend(added.iter().map(|line| Line::Added((*line).to_owned())));
    }
    around(same(at..old.len()), at > 0, false, &mut lines);
    lines
}

/// Adds the unchanged lines next to a change `before` or `after` them, and a gap for the others.
fn around(same: &[&str], after: bool, before: bool, lines: &mut Vec<Line>) {
    let first = if after { AROUND.min(same.len()) } else { 0 };
    let last = if before { AROUND.min(same.len() - first) } else { 0 };
    let own = |line: &&str| Line::Same((*line).to_owned());
    lines.extend(same.iter().take(first).map(own));
    let hidden = same.len() - first - last;
    if hidden > 0 {
        let word = if hidden == 1 { "line" } else { "lines" };
        lines.push(Line::Gap(format!("@@ {hidden} unchanged {word} @@")));
    }
    lines.extend(same.iter().skip(same.len() - last).map(own));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, arguments: &str) -> Vec<String> {
        let arguments = arguments.parse().expect("JSON");
        let call = Call { id: None, name: name.into(), arguments, result: None };
        let shown = |edit: Edit| {
            let lines = edit.lines.iter().map(|line| line.shown());
            std::iter::once(edit.path.clone()).chain(lines).collect::<Vec<_>>()
        };
        edits(&call).into_iter().flat_map(shown).collect()
    }

    #[test]
    fn edits_of_several_agents_are_lines() {
        let one = r#"{"file_path":"/a.rs","old_string":"x\ny\nz","new_string":"x\nY\nz"}"#;
        assert_eq!(of("Edit", one), ["/a.rs", " x", "-y", "+Y", " z"]);
        let many = r#"{"path":"b","edits":[{"oldText":"1","newText":"2"}]}"#;
        assert_eq!(of("edit", many), ["b", "-1", "+2"]);
        assert_eq!(of("Write", r#"{"file_path":"c","content":"n\nm\n"}"#), ["c", "+n", "+m"]);
        assert!(of("Read", r#"{"file_path":"c"}"#).is_empty());
    }

    #[test]
    fn patches_are_divided_into_files() {
        let patch = "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-  1\n+  2\n*** Add File: b\n+new\n*** End Patch";
        let arguments = serde_json::json!({ "command": ["apply_patch", patch] }).to_string();
        let lines = ["a.py", "@@ def f():", "-  1", "+  2", "b", "+new"];
        assert_eq!(of("shell", &arguments), lines);
        assert_eq!(of("apply_patch", &serde_json::json!(patch).to_string()), lines);
        let git = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        let arguments = serde_json::json!({ "diff": git }).to_string();
        assert_eq!(of("patch", &arguments), ["x", "@@ -1 +1 @@", "-a", "+b"]);
    }

    #[test]
    fn long_unchanged_parts_are_a_gap() {
        let old: String = (0..20).map(|n| format!("{n}\n")).collect();
        let lines = compared(&old, &old.replace("\n10\n", "\nten\n"));
        let gaps: Vec<_> = lines.iter().filter(|line| matches!(line, Line::Gap(_))).collect();
        assert_eq!(gaps.len(), 2);
        assert_eq!(lines.len(), 2 + 2 * AROUND + 2);
    }
}
