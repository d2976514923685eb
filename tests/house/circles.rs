//! Modules of one room do not import each other in a circle.

use crate::common::{files, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Path of a module, from the root of the crate.
type Module = Vec<String>;

/// Returns the code of each module of the crate, without comments and tests.
fn modules() -> BTreeMap<Module, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let module = |path: &Path| {
        let text = String::from_utf8(read(path)).expect("UTF-8");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let name = path.strip_prefix(&source).expect("below src").with_extension("");
        let name = name.iter().map(|part| part.to_string_lossy().into_owned());
        (name.filter(|part| part != "mod").collect(), lines.collect::<Vec<_>>().join("\n"))
    };
    files(&source).iter().map(|path| module(path)).collect()
}

/// Returns the paths that a piece of code names, with the groups of imports written out.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for root in ["crate", "super", "self"] {
        for (at, _) in code.match_indices(&format!("{root}::")) {
            let inside = code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
            if !inside {
                write_out(&[], &code[at..], &mut found);
            }
        }
    }
    found
}

/// Adds the paths that begin a text, behind the names `before`; returns the number of bytes read.
fn write_out(before: &[String], text: &str, found: &mut Vec<Vec<String>>) -> usize {
    let (mut path, mut at) = (before.to_vec(), 0);
    loop {
        let rest = &text[at..];
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if word > 0 {
            path.push(rest[..word].to_owned());
            at += word;
        } else if let Some(group) = rest.strip_prefix('{') {
            at += 1;
            let mut inside = group;
            while !inside.is_empty() && !inside.starts_with('}') {
                let skip = inside.find(|c: char| !(c == ',' || c.is_whitespace()));
                inside = &inside[skip.unwrap_or(inside.len())..];
                if inside.starts_with('}') {
                    break;
                }
                let read = write_out(&path, inside, found);
                let end = inside[read..].find([',', '}']).unwrap_or(inside.len() - read);
                inside = &inside[read + end..];
            }
            return at + (group.len() - inside.len()) + 1;
        }
        match text[at..].strip_prefix("::") {
            Some(_) => at += 2,
            None => break,
        }
    }
    found.push(path);
    at
}

/// Returns the module that a path in `own` leads to.
fn target(own: &Module, path: &[String], all: &BTreeMap<Module, String>) -> Option<Module> {
    let mut base = own.clone();
    let mut names = path.iter().peekable();
    match names.next()?.as_str() {
        "crate" => base.clear(),
        "super" => drop(base.pop()),
        _ => {}
    }
    while names.next_if(|name| *name == "super").is_some() {
        base.pop();
    }
    base.extend(names.cloned());
    while !base.is_empty() && !all.contains_key(&base) {
        base.pop();
    }
    (!base.is_empty() && base != *own).then_some(base)
}

/// Returns the modules that each module imports, except those that it is inside of or that are
/// inside of it.
fn imports() -> BTreeMap<Module, BTreeSet<Module>> {
    let all = modules();
    let of = |(own, code): (&Module, &String)| {
        let targets = paths(code).into_iter().filter_map(|path| target(own, &path, &all));
        let beside = targets.filter(|other| !other.starts_with(own) && !own.starts_with(other));
        (own.clone(), beside.collect())
    };
    all.iter().map(of).collect()
}

/// Returns the modules that can be reached from a module.
fn reached(from: &Module, imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
    while let Some(module) = open.pop() {
        for next in imports.get(&module).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

#[test]
fn modules_import_each_other_in_no_circle() {
    let imports = imports();
    let reach: BTreeMap<_, _> =
        imports.keys().map(|module| (module.clone(), reached(module, &imports))).collect();
    let on_one = reach.iter().filter(|(module, seen)| seen.contains(*module));
    let circles: BTreeSet<BTreeSet<String>> = on_one
        .map(|(module, seen)| {
            let back = seen.iter().filter(|other| reach[*other].contains(module));
            back.map(|other| other.join("/")).collect()
        })
        .collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn paths_of_imports_are_written_out() {
    let found = paths("use super::{a, b::{self, C as D}};\nlet x = crate::e::F;");
    let found: BTreeSet<_> = found.iter().map(|path| path.join("::")).collect();
    let expected = ["crate::e::F", "super::a", "super::b::C", "super::b::self"];
    assert_eq!(found, expected.map(str::to_owned).into());
}
