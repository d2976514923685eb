//! Folders of real life: what merely shows a session, or holds one among other things, is left
//! alone.

use crate::common::{Dir, own, read};
use copyist::diagnostic::Code;

/// A session with a header, as lines.
fn session() -> Vec<u8> {
    own("pi/v1/feature-work")
}

/// Files that show a session, or hold it among other things, by their names.
fn foreign() -> Vec<(&'static str, Vec<u8>)> {
    let session = session();
    let with = |front: &[u8], end: &[u8]| [front, &session, end].concat();
    let yaml = own("connectonion/v2/harbour");
    vec![
        ("README.md", with(b"# pi\n\nA session is a file of lines:\n\n```json\n", b"```\n")),
        ("notes.txt", with(b"copied from the session:\n\n", b"\nTODO: ask Ines\n")),
        ("fix.sh", with(b"cat > x.jsonl <<EOF\n", b"EOF\npi --resume x.jsonl\n")),
        ("app.log", with(b"2026 INFO start\n", b"2026 INFO end\n")),
        (".s.jsonl.swp", with(b"b0VIM 9.0\0\0\0root\0host\0s.jsonl\0\0tp\0", b"\0\0")),
        ("core.1234", with(b"\x7fELF\x02\x01\x01\0\0\0\0\0", b"\0\0")),
        ("b.tar", tar(&session)),
        ("b.jsonl", tar(&session)),
        ("stored.zip", with(b"PK\x03\x04\x0a\0\0\0\0\0a.jsonl", b"PK\x01\x02")),
        ("connectonion.md", [b"# Sessions\n\nThey are YAML:\n\n", &*yaml].concat()),
        ("matter.md", [b"---\ntitle: x\n---\n\n", &*yaml].concat()),
    ]
}

/// An archive with one file, as tar makes it.
fn tar(file: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..7].copy_from_slice(b"a.jsonl");
    header[257..263].copy_from_slice(b"ustar\0");
    let padding = vec![0; 1024 + 512 - file.len() % 512];
    [header, file.to_vec(), padding].concat()
}

/// The same, compressed.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(bytes).expect("memory");
    gzip.finish().expect("memory")
}

#[test]
fn what_is_found_in_a_folder_and_no_session_stays_as_it_is() {
    let mut files = foreign();
    files.push(("b.tar.gz", gzip(&tar(&session()))));
    for args in [
        &["repair", "-q", "--in-place", "--no-backup", "in"][..],
        &["migrate", "-q", "--repair", "--in-place", "--no-backup", "in"],
        &["migrate", "-q", "--in-place", "--no-backup", "in"],
        &["repair", "-q", "--in-place", "--no-backup", "-f", "pi", "in"],
    ] {
        let dir = Dir::new();
        for (name, bytes) in &files {
            dir.write(&format!("in/{name}"), bytes);
        }
        let names = dir.names();
        let (code, said) = dir.said(args);
        assert!(code <= 1, "{args:?}: {said}");
        for (name, bytes) in &files {
            assert!(read(&dir.path(&format!("in/{name}"))) == *bytes, "{args:?}: {name}: {said}");
        }
        assert_eq!(dir.names(), names, "{args:?}: {said}");
    }
}

#[test]
fn what_is_named_and_no_session_is_refused() {
    let dir = Dir::new();
    for (name, bytes) in foreign() {
        dir.write(name, &bytes);
        let (code, said) = dir.said(&["convert", "-t", "canonical", "-o", "out", name]);
        assert!(code == 3 && said.contains(Code::UnknownFormat.name()), "{name}: {said}");
        assert!(!dir.path("out").exists(), "{name}");
    }
    let (_, said) = dir.said(&["detect", "notes.txt"]);
    assert!(said.contains("`-f pi` reads it as one"), "{said}");
    let (code, said) = dir.said(&["repair", "-f", "pi", "-o", "saved.jsonl", "notes.txt"]);
    assert!(code <= 1, "{said}");
    let saved = read(&dir.path("saved.jsonl"));
    assert!(
        session().split(|b| *b == b'\n').all(|line| memchr::memmem::find(&saved, line).is_some())
    );
    let (code, said) = dir.said(&["repair", "-f", "pi", "-o", "out", "b.tar"]);
    assert!(code == 3 && said.contains("tar archive"), "{said}");
}

#[test]
fn what_a_crash_wrote_before_the_header_is_found_and_repaired() {
    let session = session();
    for (name, front) in [
        ("nul.jsonl", &[0; 700][..]),
        ("nul.txt", &[0; 700]),
        ("blank.txt", b"\n\n  \n"),
        ("begun.txt", b"{\"type\":\"message\",\"timesta\n"),
        ("ended.jsonl", b"nd then?\"}]}}\n"),
        ("word.jsonl", b"garbage\n"),
    ] {
        let dir = Dir::new();
        dir.write(&format!("in/{name}"), &[front, &session].concat());
        let (code, said) = dir.said(&["repair", "--in-place", "in"]);
        assert_eq!(code, 0, "{name}: {said}");
        // Blank lines are nothing that needs a repair.
        let now = read(&dir.path(&format!("in/{name}")));
        assert!(
            now.ends_with(&session) && now.trim_ascii().len() < session.len(),
            "{name}: {said}"
        );
    }
}

#[test]
fn a_file_that_is_called_as_a_session_and_begins_otherwise_is_reported() {
    let dir = Dir::new();
    dir.write("in/s.jsonl", &[b"copied from the session:\n", &*session()].concat());
    let (_, said) = dir.said(&["repair", "--in-place", "in"]);
    assert!(said.contains("CY0209") && said.contains("does not begin as a session"), "{said}");
}

#[test]
fn logs_and_settings_of_other_programs_are_no_sessions() {
    let dir = Dir::new();
    let log = b"{\"type\":\"session\",\"id\":\"x\",\"user\":\"bob\"}\n{\"type\":\"view\",\"url\":\"/\"}\n";
    dir.write("in/weblog.jsonl", log);
    dir.write("in/pods.yaml", b"name: my agent\ncreated: 2025-01-01\nturns:\n  - a\n");
    let (code, said) = dir.said(&["migrate", "--in-place", "in"]);
    assert!(code == 0 && said.contains("2 skipped"), "{said}");
    assert_eq!(read(&dir.path("in/weblog.jsonl")), log);
    let (code, said) = dir.said(&["detect", "in/pods.yaml"]);
    assert!(code == 3, "{said}");
}

#[cfg(unix)]
#[test]
fn links_in_folders_are_reported_and_counted() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new();
    dir.write("far/s.jsonl", &session());
    dir.write("far/notes.txt", b"Milk, bread.\n");
    dir.write("in/a.jsonl", &session());
    symlink("../far/s.jsonl", dir.path("in/one.jsonl")).expect("a link");
    symlink("../far/notes.txt", dir.path("in/notes.txt")).expect("a link");
    symlink("../far", dir.path("in/more")).expect("a link");
    symlink("nowhere", dir.path("in/gone")).expect("a link");
    let (code, said) = dir.said(&["validate", "in"]);
    assert_eq!(code, 0, "{said}");
    let lines = |name: &str| said.lines().filter(|line| line.starts_with(name)).count();
    assert!(lines("in/one.jsonl: note[CY0722]: it is a link to a session") == 1, "{said}");
    assert!(lines("in/more: note[CY0722]: it is a link to a folder") == 1, "{said}");
    assert!(lines("in/notes.txt") + lines("in/gone") == 0, "{said}");
    assert!(said.contains("1 valid, 4 skipped"), "{said}");
    let (_, said) = dir.said(&["validate", "-v", "in"]);
    assert!(said.contains("in/notes.txt: skipped, a link\n"), "{said}");
    let (_, said) = dir.said(&["validate", "--json", "in"]);
    let told = said.lines().filter(|line| line.contains("CY0722")).count();
    assert_eq!(told, 2, "{said}");
    let (_, said) = dir.said(&["validate", "--exclude", "more", "in"]);
    assert!(!said.contains("in/more") && said.contains("3 skipped"), "{said}");
    // Who names a link means what it leads to.
    let (code, said) = dir.said(&["validate", "in/more"]);
    assert!(code == 0 && said.contains("1 valid, 1 skipped"), "{said}");
}

#[test]
fn words_for_what_is_skipped_are_true() {
    let dir = Dir::new();
    dir.write("in/a.jsonl", &session());
    dir.write("in/a.jsonl.bak", &session());
    dir.write("in/notes.txt", b"Milk, bread.\n");
    let (_, said) = dir.said(&["validate", "-v", "in"]);
    assert!(said.contains("in/a.jsonl.bak: skipped, an original that was kept"), "{said}");
    assert!(said.contains("in/notes.txt: skipped, not a session by itself"), "{said}");
}

#[test]
fn a_damaged_archive_counts_only_where_a_session_may_be_in_it() {
    let packed = gzip(&session());
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 12].to_vec();
    for (name, bytes, exit) in [
        ("y.bin", vec![0x1f, 0x8b], 0),
        ("photos.tar.gz", cut(&gzip(&tar(&session()))), 0),
        ("notes.gz", cut(&gzip(&b"Milk, bread.\n".repeat(100_000))), 0),
        ("zero.bin", vec![0x28, 0xb5, 0x2f, 0xfd, 0, 1], 0),
        ("y.jsonl.gz", vec![0x1f, 0x8b], 3),
        ("s.jsonl.gz", cut(&packed), 3),
        ("backup.gz", cut(&packed), 3),
    ] {
        let dir = Dir::new();
        dir.copy("pi/v1/compacted", "in/whole.jsonl");
        dir.write(&format!("in/{name}"), &bytes);
        let (code, said) = dir.said(&["validate", "in"]);
        assert_eq!(code, exit, "{name}: {said}");
        assert_eq!(said.contains("CY0718"), exit == 3, "{name}: {said}");
    }
}

#[test]
fn a_stream_with_roles_beside_the_type_is_no_session_of_pi() {
    let begin = r#"{"id":"u","timestamp":"2025-08-01T10:00:00.000Z","instructions":null}"#;
    let said = r#"{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"a"}]}"#;
    let other = r#"{"type":"message","timestamp":"2025-08-01T10:00:00.000Z","message":{"content":"a"},"role":"user"}"#;
    for lines in [&[begin, said, said][..], &[said], &[other, said], &[other]] {
        let dir = Dir::new();
        let text = lines.join("\n") + "\n";
        dir.write("in/a.jsonl", text.as_bytes());
        let (_, said) = dir.said(&["detect", "in/a.jsonl"]);
        assert!(!said.contains("pi@"), "{said}");
        // Also where the user insists.
        let (code, said) = dir.said(&["repair", "-f", "pi", "--out-dir", "out", "in/a.jsonl"]);
        assert!(code != 0 && !dir.path("out/a.jsonl").exists(), "{text}: {said}");
        assert_eq!(read(&dir.path("in/a.jsonl")), text.as_bytes());
        // A rollout of Codex without its first line gets one.
        let (code, said) = dir.said(&["repair", "--in-place", "in"]);
        assert!(code <= 1 && !said.contains(Code::Unreadable.name()), "{said}");
        assert!(!said.contains("pi@"), "{said}");
    }
}
