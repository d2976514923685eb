//! The words of the code are those of its field.

use crate::common::all_files;
use std::path::Path;

/// Openings of doc comments that say nothing without their neighbours.
const OPENINGS: &[&str] = &["The same", "What", "Those", "That of", "As above", "So many"];

/// Words that names do not contain as pieces, because each was used for several different things.
const NAMES: &[&str] = &[
    "abroad",
    "anew",
    "ask",
    "asked",
    "asks",
    "bench",
    "fate",
    "fates",
    "gone",
    "hands",
    "heard",
    "homeward",
    "instead",
    "kin",
    "left",
    "melted",
    "mended",
    "mending",
    "odd",
    "rescued",
    "residue",
    "retelling",
    "retold",
    "said",
    "say",
    "says",
    "shadow",
    "shelf",
    "stand",
    "stands",
    "strange",
    "tell",
    "tells",
    "told",
    "turned",
    "wish",
];

/// Names that contain such a word all the same, each with the reason.
const ALLOWED: &[(&str, &str)] = &[("rescued", "the member of this name in reports")];

/// Words that comments do not contain.
const COMMENTS: &[&str] = &["told", "stands", "nobody", "anew", "abroad"];

fn sources() -> Vec<(String, String)> {
    sources_in("src")
}

/// Returns the source files of a folder, with their text.
fn sources_in(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = all_files(&root).into_iter().filter(|file| file.extension() == Some("rs".as_ref()));
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
        for (number, name) in names(&text).into_iter().chain(parameters(&text)) {
            let allowed = ALLOWED.iter().any(|(allowed, _)| *allowed == name);
            let pieces = pieces(name);
            if !allowed && pieces.iter().any(|piece| NAMES.contains(&piece.as_str())) {
                bad.push(format!("{file}:{number}: {name}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn names_of_tests_contain_no_words_of_a_private_language() {
    let mut bad = Vec::new();
    for (file, text) in sources_in("tests") {
        let mut of_a_test = false;
        for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
            match line.strip_prefix("fn ").filter(|_| of_a_test).map(name) {
                Some(name) => {
                    if pieces(name).iter().any(|piece| NAMES.contains(&piece.as_str())) {
                        bad.push(format!("{file}:{number}: {name}"));
                    }
                    of_a_test = false;
                }
                None => of_a_test |= line == "#[test]",
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn names_allowed_for_a_reason_exist() {
    let sources = sources();
    let unused = ALLOWED.iter().filter(|(allowed, _)| {
        !sources.iter().any(|(_, text)| names(text).iter().any(|(_, name)| name == allowed))
    });
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
}

#[test]
fn comments_contain_no_words_of_a_private_language() {
    let mut bad = Vec::new();
    for (file, text) in sources() {
        for (number, line) in (1..).zip(text.lines()) {
            let comment = line.trim_start().strip_prefix("//").unwrap_or_default();
            let mut words = comment.split(|c: char| !c.is_alphanumeric() && c != '_');
            if words.any(|word| COMMENTS.contains(&word)) {
                bad.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Returns the names that a file declares, with the numbers of their lines: items, and the fields
/// and variants of structs and enums as rustfmt lays them out.
fn names(text: &str) -> Vec<(usize, &str)> {
    const ITEMS: &[&str] = &["fn", "struct", "enum", "trait", "mod", "type", "const", "static"];
    let mut names = Vec::new();
    let mut body: Option<(usize, &str)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if code.starts_with("//") || code.is_empty() {
            continue;
        }
        if let Some((outer, kind)) = body {
            if indent <= outer {
                body = None;
            } else if indent == outer + 4 && !code.starts_with('#') {
                let code = code
                    .split_once(") ")
                    .map_or(code, |(vis, rest)| if vis.starts_with("pub(") { rest } else { code });
                let name = name(code.strip_prefix("pub ").unwrap_or(code));
                let rest = code.split_once(name).map_or("", |(_, rest)| rest);
                if kind == "enum" || rest.starts_with(':') {
                    names.push((number, name));
                }
            }
            continue;
        }
        let mut words = code.split_whitespace();
        let Some(mut kind) = words.find(|word| ITEMS.contains(word)) else { continue };
        let mut word = words.next().unwrap_or_default();
        if word == "fn" {
            (kind, word) = (word, words.next().unwrap_or_default());
        }
        names.push((number, name(word)));
        if ["struct", "enum"].contains(&kind) && code.ends_with('{') {
            body = Some((indent, kind));
        }
    }
    names
}

/// Returns the parameters of the functions that a file declares, with the numbers of the lines of
/// these functions.
fn parameters(text: &str) -> Vec<(usize, &str)> {
    let mut parameters = Vec::new();
    let declares = |line: &str| line.starts_with("fn ") || line.contains(" fn ");
    for (place, _) in text.match_indices("fn ") {
        let start = text[..place].rfind('\n').map_or(0, |end| end + 1);
        let line = text[start..].trim_start();
        if line.starts_with("//") || !declares(line) {
            continue;
        }
        let number = text[..place].matches('\n').count() + 1;
        let signature = text[place..].split(['{', ';']).next().unwrap_or_default();
        let pieces = signature.split(['(', ',']).map(|piece| piece.trim());
        let named = pieces.filter_map(|piece| piece.split_once(':'));
        let names =
            named.map(|(name, _)| name.strip_prefix("mut ").unwrap_or(name).trim_matches(')'));
        parameters.extend(names.map(|name| (number, name)));
    }
    parameters
}

#[test]
fn parameters_of_functions_are_found() {
    let text = "    pub fn f<'a>(\n        &self,\n        mut bench: &mut dyn Io,\n        (a, b): (u8, u8),\n    ) {\n\
                // fn g(told: u8)\nfn h(left: u8) -> u8;\n";
    assert_eq!(parameters(text), [(1, "bench"), (1, "b"), (7, "left")]);
}

/// The name at the beginning of a text.
fn name(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

#[test]
fn names_of_items_fields_and_variants_are_found() {
    let text = "pub enum Verdict {\n    Kept(u8),\n}\npub struct S {\n    pub(super) odd: bool,\n    \
                pub said: u8,\n}\nimpl S {\n    const fn told() {}\n}\n";
    let found: Vec<_> = names(text).into_iter().map(|(_, name)| name).collect();
    assert_eq!(found, ["Verdict", "Kept", "S", "odd", "said", "told"]);
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
