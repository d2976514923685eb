//! Lines about the result of a run: where it is, and what the user can do next.

use crate::common::{Dir, own};

#[test]
fn conversion_of_one_session_prints_its_place_and_how_to_resume_it() {
    let dir = Dir::new();
    let text = String::from_utf8(own("pi/v3/everything")).expect("UTF-8");
    let (header, rest) = text.split_once('\n').expect("lines");
    let mut header: serde_json::Value = serde_json::from_str(header).expect("JSON");
    header["cwd"] = serde_json::json!(dir.root());
    dir.write("in.jsonl", format!("{header}\n{rest}").as_bytes());
    let (code, said) = dir.exit(&["convert", "-t", "pi", "-o", "out.jsonl", "in.jsonl"]);
    assert_eq!(code, 0, "{said}");
    let resume = format!("resume: cd {} && pi --session ", dir.root().display());
    assert!(said.contains("written: out.jsonl\n") && said.contains(&resume), "{said}");
    let (_, said) = dir.exit(&["convert", "-t", "connectonion@2", "-o", "out.yaml", "in.jsonl"]);
    assert!(said.contains("written: out.yaml\n") && !said.contains("resume:"), "{said}");
    let (_, said) = dir.exit(&["convert", "-t", "pi", "-o", "back.jsonl", "out.yaml"]);
    assert!(said.contains(&resume) && said.contains("back.jsonl\n"), "{said}");
    let (_, said) = dir.exit(&["convert", "-t", "codex", "-o", "rollout.jsonl", "in.jsonl"]);
    assert!(said.contains("written: rollout.jsonl\n"), "{said}");
    assert!(!said.contains("resume:"), "Codex finds a session only in its own folder: {said}");
    for quiet in [&["-q"][..], &["--json"], &["-n"]] {
        let args = ["convert", "-t", "codex", "-o", "other.jsonl", "--force", "in.jsonl"];
        let (_, said) = dir.exit(&[&args[..], quiet].concat());
        assert!(!said.contains("written:"), "{quiet:?}: {said}");
    }
}

#[test]
fn session_without_a_folder_gets_the_one_of_the_user() {
    let dir = Dir::new();
    let text = String::from_utf8(own("pi/v3/everything")).expect("UTF-8");
    let (header, rest) = text.split_once('\n').expect("lines");
    let mut header: serde_json::Value = serde_json::from_str(header).expect("JSON");
    header.as_object_mut().expect("an object").remove("cwd");
    dir.write("in.jsonl", format!("{header}\n{rest}").as_bytes());
    let native = ["convert", "-t", "claude-code", "--layout", "native", "--out-dir"];
    let (_, said) = dir.exit(&[&native[..], &["a", "in.jsonl"]].concat());
    assert!(said.contains("CY0723") && said.contains("--cwd DIR"), "{said}");
    let (_, said) = dir.exit(&[&native[..], &["b", "--cwd", "/w/tides", "in.jsonl"]].concat());
    assert!(!said.contains("CY0723"), "{said}");
    assert!(dir.path("b/-w-tides").is_dir(), "{said}");
}

#[test]
fn migration_of_a_damaged_session_names_its_own_repair() {
    let dir = Dir::new();
    let session = own("pi/v1/feature-work");
    dir.write("torn.jsonl", &session[..6000]);
    let (code, said) = dir.exit(&["migrate", "-o", "new.jsonl", "torn.jsonl"]);
    assert!(code == 3 && said.contains("`copyist migrate --repair`"), "{said}");
    let (code, said) = dir.exit(&["migrate", "--repair", "-o", "new.jsonl", "torn.jsonl"]);
    assert!(code < 3 && dir.path("new.jsonl").is_file(), "{said}");
}
