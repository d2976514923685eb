//! Compressed sessions are read and written as others are.

use crate::common::{self, Dir, name, own, own_inputs, read};
use copyist::formats::FORMATS;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

const OLD: &str = "pi/v1/feature-work";

fn gz(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

fn zst(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("memory")
}

/// What stands in a compressed file.
fn text(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).expect("gzip");
        return text;
    }
    zstd::decode_all(bytes).expect("Zstandard")
}

fn packed(ending: &str, text: &[u8]) -> Vec<u8> {
    if ending == ".gz" { gz(text) } else { zst(text) }
}

fn migrated() -> Vec<u8> {
    common::migrated(&own(OLD), "pi@3", &copyist::format::Options::default()).0.expect("a session")
}

#[test]
fn the_name_of_the_output_decides_how_it_is_written() {
    let dir = Dir::new();
    dir.copy(OLD, "a.jsonl");
    for ending in [".gz", ".zst"] {
        dir.write(&format!("a.jsonl{ending}"), &packed(ending, &own(OLD)));
        let out = format!("b.jsonl{ending}");
        assert_eq!(dir.exit(&["migrate", "-o", &out, "a.jsonl"]).0, 0);
        assert_eq!(text(&read(&dir.path(&out))), migrated());
        // The same bytes each time.
        let first = read(&dir.path(&out));
        assert_eq!(dir.exit(&["migrate", "--force", "-o", &out, &format!("a.jsonl{ending}")]).0, 0);
        assert_eq!(read(&dir.path(&out)), first);
        let plain = format!("plain{ending}.jsonl");
        assert_eq!(dir.exit(&["migrate", "-o", &plain, &format!("a.jsonl{ending}")]).0, 0);
        assert_eq!(read(&dir.path(&plain)), migrated());
    }
}

#[test]
fn below_a_folder_and_in_place_compression_is_kept() {
    for ending in [".gz", ".zst"] {
        let dir = Dir::new();
        let file = format!("in/a.jsonl{ending}");
        let before = packed(ending, &own(OLD));
        dir.write(&file, &before);
        assert_eq!(dir.exit(&["migrate", "--out-dir", "out", "in"]).0, 0);
        assert_eq!(text(&read(&dir.path(&format!("out/a.jsonl{ending}")))), migrated());
        assert_eq!(dir.exit(&["convert", "-t", "canonical", "--out-dir", "out", "in"]).0, 0);
        let stream = format!("out/a.copyist.jsonl{ending}");
        assert!(text(&read(&dir.path(&stream))).starts_with(b"{\"kind\":\"session\""));
        // Pairs of files find each other by their names.
        let pair = ["convert", "-t", "agent-orchestrator", "--out-dir", "pair", "in"];
        assert_eq!(dir.exit(&pair).0, 0);
        // With the origin.
        assert_eq!(dir.path("pair").read_dir().expect("a folder").count(), 3);
        assert!(dir.path("pair/a.jsonl").exists() && dir.path("pair/a.meta.json").exists());
        assert_eq!(dir.exit(&["migrate", "--in-place", "--journal", "j", "in"]).0, 0);
        assert_eq!(text(&read(&dir.path(&file))), migrated());
        assert_eq!(read(&dir.path(&format!("{file}.bak"))), before);
        let (code, said) = dir.exit(&["migrate", "--in-place", "--journal", "j", "--resume", "in"]);
        assert!(code == 0 && said.contains("1 done"), "{said}");
        assert_eq!(dir.exit(&["undo", "j"]).0, 0);
        assert_eq!(read(&dir.path(&file)), before);
        // Whatever its name is.
        dir.write("in/b.jsonl", &before);
        assert_eq!(dir.exit(&["migrate", "--in-place", "in/b.jsonl"]).0, 0);
        assert_eq!(text(&read(&dir.path("in/b.jsonl"))), migrated());
    }
}

#[test]
fn everything_that_reads_reads_them() {
    let dir = Dir::new();
    let named = |session: &str, ending: &str| {
        format!("{}{ending}", session.rsplit('/').next().expect("a name"))
    };
    for path in own_inputs() {
        let file = name(&path);
        // A session in several files is found by their names.
        let several = FORMATS.iter().any(|format| {
            !format.files.beside.is_empty() && common::session(&path).starts_with(b"\0several")
                || format.files.shared.is_some() && file.starts_with("state")
        });
        if several {
            continue;
        }
        let text = read(&path);
        for command in [&["detect"][..], &["validate"], &["inspect"], &["context"]] {
            let said = |name: &str, bytes: &[u8]| {
                dir.write(name, bytes);
                let done = dir.run(&[command, &[name]].concat());
                let said = [done.stdout, done.stderr].concat();
                let said = String::from_utf8_lossy(&said).replace(name, "NAME");
                std::fs::remove_file(dir.path(name)).expect("it is there");
                (done.status.code(), said)
            };
            let plain = said(&file, &text);
            for ending in [".gz", ".zst"] {
                let packed = said(&named(&file, ending), &packed(ending, &text));
                assert_eq!(packed, plain, "{command:?} {}{ending}", path.display());
            }
        }
    }
}

#[test]
fn standard_input_too() {
    let dir = Dir::new();
    for bytes in [own(OLD), gz(&own(OLD)), zst(&own(OLD))] {
        for (command, answer) in
            [(&["migrate", "-o", "-", "-"][..], true), (&["inspect", "-"], false)]
        {
            let mut child = Command::new(env!("CARGO_BIN_EXE_copyist"))
                .args(command)
                .current_dir(dir.root())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the program runs");
            child.stdin.take().expect("a pipe").write_all(&bytes).expect("room");
            let done = child.wait_with_output().expect("it ends");
            assert!(done.status.success(), "{command:?}");
            assert!(!answer || done.stdout == migrated());
        }
    }
}

#[test]
fn a_damaged_one_gives_no_output() {
    let dir = Dir::new();
    for ending in [".gz", ".zst"] {
        let whole = packed(ending, &own(OLD));
        let mut wrong = whole.clone();
        let last = wrong.len() - 6;
        wrong[last] ^= 0x55;
        for (what, bytes) in [("cut", &whole[..whole.len() / 2]), ("wrong", &wrong)] {
            let file = format!("{what}.jsonl{ending}");
            dir.write(&file, bytes);
            let (code, said) = dir.exit(&["migrate", "--in-place", &file]);
            assert!(code == 3 && said.contains("CY0718"), "{file}: {code} {said}");
            assert!(said.contains("beyond byte") && said.contains("copyist repair"), "{said}");
            assert_eq!(read(&dir.path(&file)), bytes);
            assert_eq!(dir.exit(&["convert", "-t", "canonical", "-o", "x", &file]).0, 3);
            assert!(!dir.path("x").exists());
        }
    }
}

/// Text that does not shrink, so that some of it stands before any tear.
fn long() -> Vec<u8> {
    let mut text = own("pi/v3/everything");
    let mut number = 7u64;
    for n in 0..3000 {
        number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let line = format!(
            "{{\"type\":\"custom\",\"id\":\"{n:08x}\",\"parentId\":null,\"timestamp\":\"t\",\"customType\":\"x\",\"data\":\"{:x}{:x}\"}}\n",
            number,
            number.rotate_left(17) ^ 0x5555
        );
        text.extend_from_slice(line.as_bytes());
    }
    text
}

#[test]
fn repair_takes_what_is_before_a_tear() {
    let whole = long();
    for ending in [".gz", ".zst"] {
        let dir = Dir::new();
        let torn = packed(ending, &whole);
        let torn = &torn[..torn.len() * 2 / 3];
        let file = format!("a.jsonl{ending}");
        dir.write(&file, torn);
        let kept = dir.exit(&["repair", "--in-place", "--no-backup", &file]);
        assert!(kept.0 == 3 && kept.1.contains("CY0718"), "{kept:?}");
        let (code, said) = dir.exit(&["repair", "--in-place", &file]);
        assert!(code == 0 && said.contains("CY0863"), "{said}");
        let now = text(&read(&dir.path(&file)));
        let lines: Vec<_> = now.split(|b| *b == b'\n').collect();
        let same = lines.iter().zip(whole.split(|b| *b == b'\n')).filter(|(a, b)| *a == b).count();
        assert!(same > 800 && same + 2 >= lines.len(), "{same} of {}", lines.len());
        assert_eq!(read(&dir.path(&format!("{file}.bak"))), torn);
        assert_eq!(dir.exit(&["repair", "-n", &file]).0, 0);
        dir.write("b.jsonl.gz", torn);
        let args = ["migrate", "--repair", "-o", "c.jsonl", "b.jsonl.gz"];
        let (code, said) = dir.exit(&args);
        assert!(code == 0 && said.contains("CY0863"), "{said}");
        assert_eq!(read(&dir.path("c.jsonl")), now);
        let (_, said) = dir.exit(&["repair", "-n", "b.jsonl.gz"]);
        assert!(said.contains("CY0863"), "{said}");
    }
}

#[test]
fn an_archive_may_begin_with_a_frame_that_is_no_text() {
    let dir = Dir::new();
    let frame = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    dir.write("a.jsonl.zst", &[&frame[..], &zst(&own(OLD))].concat());
    assert_eq!(dir.exit(&["migrate", "a.jsonl.zst", "-o", "b.jsonl"]).0, 0);
    assert_eq!(read(&dir.path("b.jsonl")), migrated());
}

#[test]
fn what_is_behind_the_end_of_an_archive_is_reported() {
    let dir = Dir::new();
    dir.write("a.jsonl.gz", &[gz(&own(OLD)), vec![0; 512]].concat());
    let (code, said) = dir.exit(&["validate", "a.jsonl.gz"]);
    assert!(code == 3 && said.contains("beyond byte") && said.contains("repair"), "{said}");
    // Nothing is wrong with the session, and still the file is not left so.
    let (code, said) = dir.exit(&["repair", "--in-place", "a.jsonl.gz"]);
    assert!(code == 0 && said.contains("1 repaired"), "{said}");
    assert_eq!(text(&read(&dir.path("a.jsonl.gz"))), own(OLD));
    assert_eq!(dir.exit(&["validate", "a.jsonl.gz"]).0, 0);
    dir.write("b.jsonl.gz", &gz(&own(OLD))[..12]);
    let (code, said) = dir.exit(&["repair", "--in-place", "b.jsonl.gz"]);
    assert!(code == 3 && said.contains("CY0718"), "{said}");
    let yaml = gz(&own("connectonion/v2/seed"));
    dir.write("c.yaml.gz", &yaml[..yaml.len() - 9]);
    let (code, said) = dir.exit(&["convert", "-t", "canonical", "-o", "-", "c.yaml.gz"]);
    assert!(code == 3 && said.contains("CY0718"), "{said}");
}

#[test]
fn a_wrong_checksum_keeps_nothing_back() {
    for text in [own(OLD), long()] {
        let dir = Dir::new();
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("memory");
        encoder.include_checksum(true).expect("a checksum");
        std::io::Write::write_all(&mut encoder, &text).expect("memory");
        let mut packed = encoder.finish().expect("memory");
        *packed.last_mut().expect("a checksum") ^= 1;
        dir.write("a.jsonl.zst", &packed);
        let (code, said) = dir.exit(&["repair", "-o", "b.jsonl", "a.jsonl.zst"]);
        let place = format!("beyond byte {} of", packed.len() - 4);
        assert!(code == 0 && said.contains("CY0863") && said.contains(&place), "{said}");
        assert!(read(&dir.path("b.jsonl")) == text);
    }
}

#[test]
fn what_is_wrong_with_a_whole_file_is_reported_before_its_lines() {
    let dir = Dir::new();
    let mut lines = long();
    let header = lines.iter().position(|b| *b == b'\n').expect("a line") + 1;
    let entries = lines.split_off(header);
    let torn =
        entries.split_inclusive(|b| *b == b'\n').flat_map(|line| [&line[..20], b"\n"].concat());
    let torn: Vec<u8> = lines.into_iter().chain(torn).collect();
    let mut packed = gz(&torn);
    let at = packed.len() - 8;
    packed[at] ^= 1;
    dir.write("a.jsonl.gz", &packed);
    let (_, said) = dir.exit(&["repair", "-n", "a.jsonl.gz"]);
    assert!(said.contains("more findings") && said.contains("CY0863"), "{said}");
}

#[test]
fn what_grows_beyond_the_limit_is_reported_as_that() {
    let dir = Dir::new();
    let mut blank = vec![b' '; 8 << 20];
    blank.push(b'\n');
    let blanks = zst(&blank).repeat(150);
    dir.write("s.jsonl.zst", &[zst(&own(OLD)), blanks].concat());
    let (code, said) = dir.exit(&["migrate", "-n", "--in-place", "s.jsonl.zst"]);
    assert!(code == 3 && said.contains("CY0720"), "{code} {said}");
    assert!(!said.contains("CY0101") && !said.contains("copyist repair"), "{said}");
}

#[test]
fn lines_that_were_appended_to_a_compressed_file_are_read_by_repair() {
    let (session, more) = (own("pi/v3/everything"), b"{\"torn\":");
    let half = session.len() / 2;
    let cut = half + session[half..].iter().position(|b| *b == b'\n').expect("a line") + 1;
    for ending in [".gz", ".zst"] {
        let dir = Dir::new();
        let file = format!("a.jsonl{ending}");
        let bytes = [&packed(ending, &session[..cut]), &session[cut..], more].concat();
        dir.write(&file, &bytes);
        let (code, said) = dir.exit(&["validate", &file]);
        assert!(code == 3 && said.contains("CY0718") && said.contains("not compressed"), "{said}");
        let (code, said) = dir.exit(&["repair", "-o", "b.jsonl", &file]);
        assert!(code == 0 && said.contains("CY0878"), "{code} {said}");
        assert_eq!(read(&dir.path("b.jsonl")), session);
        let aside = String::from_utf8(read(&dir.path("b.quarantine.jsonl"))).expect("UTF-8");
        assert!(aside.contains("torn"), "{aside}");
        let (code, said) = dir.exit(&["repair", "--in-place", &file]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(text(&read(&dir.path(&file))), session);
        assert_eq!(read(&dir.path(&format!("{file}.bak"))), bytes);
        assert_eq!(dir.exit(&["repair", "-n", &file]).0, 0);
    }
}
