//! The rules of the source tree: which way imports go, how long files are, where formats are
//! named.

use crate::common::{files, read};
use copyist::formats::{FORMATS, canonical};
use std::path::{Path, PathBuf};

/// The layers in order: each may import only itself and what stands before it.
const LAYERS: &[&[&str]] = &[
    &["position"],
    &["json"],
    &["times"],
    &["ids"],
    &["alignment"],
    &["threads"],
    &["record"],
    &["redact"],
    &["diagnostic", "error"],
    &["lines"],
    &["members"],
    &["yaml"],
    &["mapping"],
    &["cuts"],
    &["parts"],
    &["sqlite"],
    &["format"],
    &["framing"],
    &["memory"],
    &["stage"],
    &["edit"],
    &["named"],
    &["tree"],
    &["context_rules"],
    &["dialect"],
    &["foreign"],
    &["repair"],
    &["document"],
    &["formats/*"],
    &["formats"],
    &["user_words"],
    &["usage"],
    &["detect"],
    &["session"],
    &["context"],
    &["origin"],
    &["turns"],
    &["migrate"],
    &["diff"],
    &["convert"],
    &["join"],
    &["validate"],
    &["inspect"],
    &["export"],
    &["show"],
    &["trim"],
    &["store"],
    &["batch"],
    &["home"],
    &["manager"],
    &["cli"],
    &["main"],
];

const LONGEST: usize = 500;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Source files with their text, the test modules cut off.
fn sources() -> Vec<(PathBuf, String)> {
    let inside = |path: PathBuf| {
        let text = String::from_utf8(read(&path)).expect("UTF-8");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        (path.strip_prefix(source()).expect("below src").to_owned(), code)
    };
    files(&source()).into_iter().map(inside).collect()
}

/// The module that a file or an import belongs to, as the layers name it.
fn module(parts: &[&str]) -> String {
    match parts {
        ["formats", format, ..] if FORMATS.iter().any(|f| folder(f.name) == *format) => {
            format!("formats/{format}")
        }
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    }
}

/// The folder of a format.
fn folder(format: &str) -> String {
    format.replace('-', "_")
}

fn layer(module: &str) -> usize {
    let of =
        |name: &&str| *name == module || (*name == "formats/*" && module.starts_with("formats/"));
    LAYERS.iter().position(|layer| layer.iter().any(of)).unwrap_or_else(|| {
        panic!("module {module} is in no layer; add it to tests/house/architecture.rs and lib.rs")
    })
}

fn module_of_file(path: &Path) -> String {
    let text = path.with_extension("").to_string_lossy().replace("/mod", "");
    module(&text.split('/').collect::<Vec<_>>())
}

/// What a file imports from the crate: every `crate::a::b`, and the heads of `crate::{…}`.
fn imports(code: &str) -> Vec<String> {
    let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = Vec::new();
    for after in code.split("crate::").skip(1) {
        if let Some(group) = after.strip_prefix('{') {
            let group = group.split("};").next().unwrap_or_default();
            let heads = group.split(',').map(|item| item.trim().trim_end_matches('}'));
            found.extend(heads.filter(|head| !head.is_empty()).map(import));
        } else {
            found.push(import(after));
        }
    }
    found
}

fn import(path: &str) -> String {
    let end = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
    let path = path.split(end).next().unwrap_or_default();
    module(&path.split("::").collect::<Vec<_>>())
}

#[test]
fn imports_go_one_way() {
    for (path, code) in sources() {
        if path == Path::new("lib.rs") {
            continue;
        }
        let own = module_of_file(&path);
        for import in imports(&code) {
            let sibling = own.starts_with("formats/") && import.starts_with("formats/");
            assert!(!sibling || own == import, "{}: one format imports another", path.display());
            assert!(
                layer(&import) <= layer(&own),
                "{} ({own}) imports {import}, which stands behind it",
                path.display()
            );
        }
    }
}

#[test]
fn only_the_outer_layers_touch_the_world() {
    let world = [
        "std::fs",
        "std::env",
        "std::time",
        "std::thread",
        "std::net",
        "io::stdout",
        "io::stdin",
        "io::stderr",
    ];
    for (path, code) in sources() {
        if layer(&module_of_file_or_root(&path)) >= layer("store") {
            continue;
        }
        for name in world {
            let doc = |line: &&str| !line.trim_start().starts_with("//");
            let used = code.lines().filter(doc).any(|line| line.contains(name));
            // A large input is checked by the threads that stand idle.
            let idle = path.starts_with("migrate") || path == Path::new("framing/ahead.rs");
            let lent = name == "std::thread" && idle;
            // A temporary file without a name is memory, in another place.
            let spilled = name == "std::fs" && path == Path::new("tree/spilled.rs");
            assert!(!used || lent || spilled, "{} uses {name}", path.display());
        }
    }
}

#[test]
fn unsafe_code_stays_in_two_modules() {
    for (path, code) in sources() {
        let inside = ["json/wide.rs", "tree/spilled.rs"].map(Path::new).contains(&path.as_path());
        assert_eq!(code.contains("allow(unsafe_code"), inside, "{}", path.display());
    }
}

fn module_of_file_or_root(path: &Path) -> String {
    if path == Path::new("lib.rs") { "position".into() } else { module_of_file(path) }
}

#[test]
fn no_source_file_is_longer_than_500_lines() {
    for path in files(&source()) {
        let lines = read(&path).iter().filter(|b| **b == b'\n').count();
        assert!(lines <= LONGEST, "{} has {lines} lines", path.display());
    }
}

#[test]
fn a_format_is_named_in_its_folder_and_its_row_only() {
    let examples = ["lib.rs", "cli/args.rs", "cli/migrate.rs", "cli/convert.rs", "formats/mod.rs"];
    for (path, code) in sources() {
        for format in FORMATS {
            if path.starts_with(format!("formats/{}", folder(format.name))) {
                continue;
            }
            // Documentation may give examples; code may not know a format.
            let doc = |line: &&str| !line.trim_start().starts_with("//");
            let quoted = [format!("\"{}\"", format.name), format!("\"{}@", format.name)];
            let named =
                code.lines().filter(doc).any(|line| quoted.iter().any(|q| line.contains(q)));
            assert!(!named, "{} names the format {}", path.display(), format.name);
            let imported = imports(&code).contains(&format!("formats/{}", folder(format.name)));
            // The stream is what passes between formats.
            let stream = format.name == canonical::FORMAT.name
                && (path.starts_with("convert")
                    || path.starts_with("origin")
                    || path.starts_with("manager")
                    || path == Path::new("join.rs"));
            let allowed = stream || examples.iter().any(|file| path == Path::new(file));
            assert!(!imported || allowed, "{} imports the format {}", path.display(), format.name);
        }
    }
}
