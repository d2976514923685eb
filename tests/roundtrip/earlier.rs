//! Origins that earlier releases wrote.

use crate::common::{self, Dir, read, testdata};
use std::fs;
use std::path::Path;

/// Formats whose files `append` adds to.
const LOGS: [&str; 4] = ["codex", "copilot-cli", "gemini-cli", "pi"];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for file in common::all_files(from) {
        let to = to.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(&file, to).expect("copied");
    }
}

#[test]
fn session_comes_back_from_what_an_earlier_release_wrote() {
    let source = common::own("claude-code/v2/parallel");
    for release in fs::read_dir(testdata().join("earlier")).expect("a folder").flatten() {
        for format in fs::read_dir(release.path()).into_iter().flatten().flatten() {
            let name = format.file_name().to_string_lossy().into_owned();
            let dir = Dir::new();
            copy(&format.path(), &dir.path("in"));
            let back = |to: &str| {
                let done = dir.said(&["convert", "-t", "claude-code", "--out-dir", to, "in"]);
                let files = common::files(&dir.path(to));
                (done, read(files.first().unwrap_or_else(|| panic!("{name}: no file"))))
            };
            let ((code, said), bytes) = back("back");
            assert!(code == 0 && bytes == source, "{name}: {said}");
            if LOGS.contains(&name.as_str()) {
                let file = common::files(&dir.path("in")).remove(0);
                let file = file.to_str().expect("UTF-8");
                let words = ["append", "--role", "user", "--text", "And now?", file];
                assert_eq!(dir.said(&words).0, 0, "{name}");
                let ((code, said), bytes) = back("again");
                assert!(code == 0 && bytes.starts_with(&source), "{name}: {said}");
                assert!(bytes.len() > source.len() && !said.contains("CY0622"), "{name}: {said}");
            }
        }
    }
}
