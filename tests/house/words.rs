//! The words of the code are those of its field.

use crate::common::all_files;
use std::path::Path;

/// Openings of doc comments that say nothing without their neighbours.
const OPENINGS: &[&str] = &["The same", "What", "Those", "That of", "As above", "So many"];

/// Words that names of modules, types, traits and functions do not contain, as pieces of them.
const NAMES: &[&str] =
    &["residue", "abroad", "kin", "hands", "bench", "wish", "fates", "retelling", "homeward"];

fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = all_files(&root).into_iter();
    let text = |file: &Path| std::fs::read_to_string(file).expect("UTF-8");
    files.map(|file| (file.display().to_string(), text(&file))).collect()
}

/// Whether a text begins with these words.
fn opens(text: &str, words: &str) -> bool {
    let rest = text.strip_prefix(words);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[test]
fn doc_comments_begin_with_what_they_are_about() {
    let mut bad = Vec::new();
    for (file, text) in sources() {
        let mut before = "";
        for (number, line) in (1..).zip(text.lines()) {
            let doc = line.trim_start().strip_prefix("///").or(line.strip_prefix("//!"));
            let first = doc.filter(|_| !before.trim_start().starts_with("//"));
            let opening =
                first.and_then(|doc| OPENINGS.iter().find(|words| opens(doc.trim_start(), words)));
            bad.extend(opening.map(|_| format!("{file}:{number}: {}", line.trim())));
            before = line;
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn names_contain_no_words_of_a_private_language() {
    let mut bad = Vec::new();
    for (file, text) in sources() {
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split_whitespace();
            let kind = words.find(|word| ["fn", "struct", "enum", "trait", "mod"].contains(word));
            let Some(name) = kind.and_then(|_| words.next()) else { continue };
            if line.trim_start().starts_with("//") {
                continue;
            }
            let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            let pieces = pieces(name.unwrap_or_default());
            if pieces.iter().any(|piece| NAMES.contains(&piece.as_str())) {
                bad.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// The words of a name, in lower case: `RecordHash` and `record_hash` have the same.
fn pieces(name: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            pieces.push(String::new());
        }
        if c != '_'
            && let Some(last) = pieces.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    pieces
}
