//! Folders as sync programs, browsers and renames leave them.

use crate::common::Dir;

/// A pi session with this identifier, whose messages are a chain with these identifiers.
pub fn session(id: &str, messages: &[&str]) -> String {
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\
         \"timestamp\":\"2026-03-03T09:00:00.000Z\",\"cwd\":\"/work\"}}\n"
    );
    let mut parent = "null".to_owned();
    for (second, message) in messages.iter().enumerate() {
        text += &format!(
            "{{\"type\":\"message\",\"id\":\"{message}\",\"parentId\":{parent},\
             \"timestamp\":\"2026-03-03T09:00:0{second}.000Z\",\
             \"message\":{{\"role\":\"user\",\"content\":\"{message}\"}}}}\n"
        );
        parent = format!("\"{message}\"");
    }
    text
}

const ID: &str = "019c2222-0000-7000-8000-000000000001";

#[test]
fn files_that_a_sync_program_has_not_finished_are_skipped_and_counted() {
    let dir = Dir::new();
    let text = session(ID, &["aaaaaaa1"]);
    for name in ["a.jsonl", ".syncthing.a.jsonl.tmp", "b.jsonl.part", "~c.jsonl", "d.crdownload"] {
        dir.write(&format!("in/{name}"), text.as_bytes());
    }
    let (code, said) = dir.said(&["migrate", "-n", "--out-dir", "out", "in"]);
    assert!(code == 0 && said.contains("1 unchanged, 4 skipped"), "{said}");
    let (_, said) = dir.said(&["detect", "-v", "in"]);
    assert_eq!(said.matches("has not finished").count(), 4, "{said}");
    // A file that is named is meant.
    let (code, said) = dir.said(&["validate", "in/b.jsonl.part"]);
    assert!(code == 0 && said.contains(": valid pi@3"), "{said}");
}

#[test]
fn a_session_is_found_by_its_header_and_by_its_name() {
    let dir = Dir::new();
    let name = "019c2222-0000-7000-8000-00000000ffff";
    dir.write(&format!("in/2026-03-03_{name}.jsonl"), session(ID, &["aaaaaaa1"]).as_bytes());
    dir.write("in/other.jsonl", session("another", &["aaaaaaa1"]).as_bytes());
    for id in [ID, name] {
        let (code, said) = dir.said(&["inspect", "--session", id, "in"]);
        assert!(code == 0 && said.contains(name), "{id}: {said}");
    }
    let (code, said) = dir.said(&["inspect", "--session", "none", "in"]);
    assert!(code == 2 && said.contains("no session none was found"), "{said}");
}

#[test]
fn folder_with_a_file_of_one_torn_record_is_not_a_success() {
    let dir = Dir::new();
    let text =
        "{\"parentUuid\":null,\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\"";
    for length in [3, 20, text.len()] {
        dir.write("in/a.jsonl", &text.as_bytes()[..length]);
        for command in [&["validate"][..], &["repair", "-n"], &["migrate", "-n"]] {
            let (code, output) = dir.said(&[command, &["in"]].concat());
            assert!(code == 1 && output.contains("1 unreadable"), "{length}: {output}");
            assert!(output.contains("its first record is cut off"), "{output}");
        }
    }
    // A torn line behind whole records of another program is not a session's.
    dir.write("in/a.jsonl", b"{\"other\":1}\n{\"other\":2}\n{\"oth");
    let (code, output) = dir.said(&["validate", "in"]);
    assert!(code == 0 && output.contains("1 skipped"), "{output}");
}

#[test]
fn folder_with_an_unrecognised_output_beside_its_origin_is_not_a_success() {
    let dir = Dir::new();
    dir.write("in/a.jsonl", session(ID, &["aaaaaaa1"]).as_bytes());
    let (code, output) = dir.said(&["convert", "-t", "connectonion@2", "--out-dir", "out", "in"]);
    assert!(code == 0, "{output}");
    let whole = std::fs::read(dir.path("out/a.yaml")).expect("written");
    dir.write("out/a.yaml", &whole[..12]);
    let (code, output) = dir.said(&["convert", "-t", "pi", "--out-dir", "back", "out"]);
    assert!(code == 1 && output.contains("restores it from the origin"), "{output}");
}

#[test]
fn folder_output_of_a_pair_named_by_its_metadata_has_both_files() {
    let dir = Dir::new();
    let log = concat!(
        "{\"_class\":\"SystemMessage\",\"subtype\":\"init\",\"data\":{\"session_id\":\"s\"}}\n",
        "{\"_class\":\"ResultMessage\",\"subtype\":\"success\",\"session_id\":\"s\"}\n",
    );
    dir.write("in/a.jsonl", log.as_bytes());
    dir.write("in/a.meta.json", b"{\"name\":\"a\",\"session_id\":\"s\",\"status\":\"idle\"}\n");
    let (code, output) = dir.said(&["repair", "--out-dir", "out", "in/a.meta.json"]);
    assert!(code < 3, "{output}");
    let written = std::fs::read_to_string(dir.path("out/a.jsonl")).expect("the log");
    assert!(written.contains("ResultMessage") && dir.path("out/a.meta.json").is_file());
}
