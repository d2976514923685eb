//! Messages that a program appends to a session of each format: they are read back, and every byte
//! that was there stays.

use crate::common::{Dir, all_files, own_inputs, read, testdata};
use crate::manager::{joined, said, talk};
use copyist::formats::{FORMATS, written};
use copyist::manager::Session;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// Formats whose main file is a document, which changes where a message comes into it.
const DOCUMENTS: [&str; 5] = ["connectonion", "codelia", "opencode", "gemini-cli", "atif"];

/// A copy of all files of the case of an input; returns the path of the input's copy.
fn copied(input: &Path, dir: &Dir) -> PathBuf {
    let inside = |path: &Path| path.file_name().is_some_and(|name| name == "in");
    let case = input.ancestors().find(|path| inside(path)).expect("a case");
    for file in all_files(case) {
        let below = file.strip_prefix(case).expect("below it");
        dir.write(&below.to_string_lossy(), &read(&file));
    }
    dir.path(&input.strip_prefix(case).expect("below it").to_string_lossy())
}

/// The files of a folder.
fn contents(dir: &Dir) -> BTreeMap<PathBuf, Vec<u8>> {
    all_files(dir.root()).into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// Appends to a copy of an input, and checks it. Returns the name of its format, or the reason why it
/// cannot be continued.
fn append_to(input: &Path) -> Result<String, String> {
    let dir = Dir::in_memory();
    let path = copied(input, &dir);
    let file = path.to_string_lossy().into_owned();
    let before = (contents(&dir), dir.exit(&["validate", &file]).0);
    let mut session = Session::open(&path).map_err(|error| error.to_string())?;
    let (format, version) = session.format();
    let row = FORMATS.iter().find(|row| row.name == format).expect("a format");
    let name = row.at(version);
    let mut expected = said(&session);
    let mut ids = Vec::new();
    for message in talk() {
        let id = session.append_message(message).map_err(|error| format!("{name}: {error}"));
        if id.is_err() && ids.is_empty() {
            assert_eq!(contents(&dir), before.0, "{name}: refused, and nothing is written");
        }
        ids.push(id?);
    }
    let mut fresh = Session::in_memory("pi", "/work").expect("a session");
    for message in talk() {
        fresh.append_message(message).expect("a message");
    }
    expected.append(&mut said(&fresh));
    let read = Session::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(joined(said(&read)), joined(expected), "{file}");
    assert_eq!(joined(said(&session)), joined(said(&read)), "{file}");
    assert_eq!(read.leaf().as_deref(), ids.last().map(String::as_str), "{file}");
    // The identifiers of a document follow from its times, which change.
    for id in ids.iter().filter(|_| !DOCUMENTS.contains(&format)) {
        assert!(read.entry(id).is_some(), "{file}: {id} is the identifier of a message");
    }
    let (code, why) = dir.exit(&["validate", &file]);
    // Only the last line is other than it was: it has an ending now.
    assert!(code <= before.1, "{name}: {why}");
    let after = contents(&dir);
    for (path, old) in before.0 {
        let new = after.get(&path).unwrap_or_else(|| panic!("{} is there", path.display()));
        let grows = !DOCUMENTS.contains(&format) || path.extension().is_some_and(|e| e == "jsonl");
        let stays = if grows { new.starts_with(old.trim_ascii_end()) } else { true };
        assert!(stays, "{}: every byte stays", path.display());
    }
    Ok(name)
}

#[test]
fn messages_of_each_role_are_appended_in_every_format() {
    let (mut held, mut refused) = (BTreeMap::<String, usize>::new(), Vec::new());
    let mut failed = Vec::new();
    for input in own_inputs() {
        let done = catch_unwind(|| append_to(&input));
        match done {
            Err(_) => failed.push(input),
            Ok(Ok(name)) => *held.entry(name).or_default() += 1,
            Ok(Err(why)) => {
                let case = input.strip_prefix(testdata()).expect("a case").display().to_string();
                refused.push(format!("{case}: {why}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    println!("{held:?}\n{}", refused.join("\n"));
    for format in written().filter(|format| format.name != "canonical") {
        for version in format.versions {
            let name = format.at(version.number);
            assert!(held.contains_key(&name), "{name}: {}", refused.join("\n"));
        }
    }
}
