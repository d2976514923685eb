//! What the documentation shows is what the program does.

use crate::common::{files, migrated, read};
use crate::manual::pages;
use copyist::diagnostic::Code;
use copyist::format::{Format, Options};
use copyist::formats::{FORMATS, canonical};
use std::path::Path;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    String::from_utf8(read(&path)).expect("UTF-8")
}

/// The contents of a page's code blocks of one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let open = format!("```{language}\n");
    let after = page.split(&open).skip(1);
    after.map(|text| text.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn migration_shows_a_real_before_and_after() {
    let blocks = blocks(&page("docs/migrate.md"), "json");
    let [before, after] = blocks.as_slice() else { panic!("not two examples") };
    let (done, _) = migrated(before.as_bytes(), "pi@3", &Options::default());
    assert_eq!(String::from_utf8(done.expect("a session")).expect("UTF-8"), *after);
}

/// A reader who is tired stops at a wall of text.
#[test]
fn the_pages_for_users_are_short() {
    assert!(page("README.md").lines().count() <= 150);
    let design = Path::new("docs/design");
    for (path, text) in pages().into_iter().filter(|(path, _)| !path.starts_with(design)) {
        for line in text.lines() {
            assert!(line.chars().count() <= 900, "{}: {line}", path.display());
        }
    }
}

#[test]
fn pages_name_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let code = ["src", "tests", "benches", "fuzz/fuzz_targets"];
    let sources: Vec<_> = code.iter().flat_map(|folder| files(&root.join(folder))).collect();
    for (path, text) in pages() {
        let name = path.display();
        let quoted = text.split('`').skip(1).step_by(2);
        for path in quoted.filter(|path| path.ends_with(".rs") && !path.contains(' ')) {
            let there = sources.iter().any(|source| source.ends_with(path));
            assert!(there || root.join(path).is_file(), "{name}: {path}");
        }
    }
}

/// The walk through the smallest format of an agent names paths that exist, and all of its files.
#[test]
fn the_walk_is_through_the_smallest_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lines = |format: &&&Format| {
        let folder = root.join("src/formats").join(format.name.replace('-', "_"));
        files(&folder).iter().map(|file| read(file).split(|b| *b == b'\n').count()).sum::<usize>()
    };
    let agents = FORMATS.iter().filter(|format| **format != &canonical::FORMAT);
    let agents = agents.filter(|format| !format.reads_only);
    let smallest = agents.min_by_key(lines).expect("a format");
    let text = page("docs/add-a-format.md");
    assert!(text.contains(&format!("the smallest format of an agent, `{}`", smallest.name)));
    let quoted = text.split('`').skip(1).step_by(2);
    for path in quoted.filter(|path| path.contains('/') && !path.contains(' ')) {
        assert!(root.join(path).exists(), "docs/add-a-format.md: {path}");
    }
}

#[test]
fn every_code_is_explained() {
    for code in Code::ALL {
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_copyist"))
            .args(["explain", &code.name().to_lowercase()])
            .output()
            .expect("the program runs");
        let text = String::from_utf8(run.stdout).expect("UTF-8");
        assert!(run.status.success() && text.starts_with(code.name()), "{text}");
        assert!(text.lines().count() >= 3, "{} has no explanation", code.name());
    }
}

/// The promise that nothing is sent.
#[test]
fn neither_the_sources_nor_their_crates_use_a_network() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in files(&root.join("src")) {
        let text = String::from_utf8_lossy(&read(&file)).into_owned();
        for word in ["std::net", "TcpStream", "UdpSocket", "UnixStream", "rustix::net"] {
            assert!(!text.contains(word), "{}: {word}", file.display());
        }
    }
    let lock = String::from_utf8(read(&root.join("Cargo.lock"))).expect("UTF-8");
    for name in
        ["curl", "hyper", "native-tls", "openssl", "reqwest", "rustls", "socket2", "tokio", "ureq"]
    {
        assert!(!lock.contains(&format!("name = \"{name}\"")), "Cargo.lock: {name}");
    }
}
