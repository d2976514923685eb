//! Origins that were made to do harm: nothing is written, nowhere, in little time and memory, and
//! the reason is said.

use crate::common::{Dir, files, read};
use std::process::Command;
use std::time::{Duration, Instant};

const SOURCE: &str = "pi/v3/spellings";
const BLOCK: usize = 512;
const GIGABYTE: u64 = 1 << 30;

/// A header of a member, of any type and size.
fn header(kind: u8, name: &str, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_mode(0o600);
    header.set_size(size);
    let place = &mut header.as_gnu_mut().expect("GNU").name;
    let length = name.len().min(place.len());
    place[..length].copy_from_slice(&name.as_bytes()[..length]);
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// A member with these contents.
fn member(kind: u8, name: &str, contents: &[u8]) -> Vec<u8> {
    let mut all = header(kind, name, contents.len() as u64);
    all.extend_from_slice(contents);
    all.resize(all.len().next_multiple_of(BLOCK), 0);
    all
}

/// A Zstandard stream of these bytes, so many zeros and these bytes, without packing the zeros
/// themselves: a block of 128 KiB takes four bytes.
fn zstd(before: &[u8], zeros: u64, after: &[u8]) -> Vec<u8> {
    const LARGEST: usize = 128 << 10;
    // Magic number; no checksum, a window of 8 MiB.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 13 << 3];
    let block = |kind: u32, size: usize, last: bool| {
        ((size as u32) << 3 | kind << 1 | u32::from(last)).to_le_bytes()[..3].to_vec()
    };
    let raw = |bytes: &[u8], out: &mut Vec<u8>| {
        for piece in bytes.chunks(LARGEST) {
            out.extend(block(0, piece.len(), false));
            out.extend_from_slice(piece);
        }
    };
    raw(before, &mut out);
    for _ in 0..zeros / LARGEST as u64 {
        out.extend(block(1, LARGEST, false));
        out.push(0);
    }
    raw(after, &mut out);
    out.extend(block(0, 0, true));
    out
}

/// A session of ConnectOnion beside its origin, and the origin's members.
struct Case {
    dir: Dir,
    members: Vec<(String, Vec<u8>)>,
}

impl Case {
    fn new() -> Self {
        let dir = Dir::new();
        dir.copy(SOURCE, "in.jsonl");
        let args = ["convert", "-t", "connectonion@2", "-o", "below/there.yaml", "in.jsonl"];
        std::fs::create_dir(dir.path("below")).expect("a folder");
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{said}");
        let tar = zstd::decode_all(read(&dir.path("below/there.yaml.origin")).as_slice());
        let tar = tar.expect("zstd");
        let mut archive = tar::Archive::new(tar.as_slice());
        let members = archive.entries().expect("tar").map(|entry| {
            let mut entry = entry.expect("a member");
            let mut contents = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut contents).expect("contents");
            (entry.path().expect("a path").display().to_string(), contents)
        });
        let members = members.collect();
        Self { dir, members }
    }

    /// The members as a tar archive, each changed.
    fn tar(&self, change: impl Fn(&str, &[u8]) -> Vec<u8>) -> Vec<u8> {
        let members = self.members.iter().flat_map(|(name, contents)| change(name, contents));
        members.chain([0; 2 * BLOCK]).collect()
    }

    /// Converts the session back beside this origin, with at most 1 GB of memory; asserts that
    /// nothing is written. Returns what is said.
    fn refused(&self, what: &str, origin: &[u8]) -> String {
        self.dir.write("below/there.yaml.origin", origin);
        let before = files(self.dir.root());
        let begun = Instant::now();
        let limited = "ulimit -v 1000000; exec \"$0\" \"$@\"";
        let done = Command::new("sh")
            .args(["-c", limited, env!("CARGO_BIN_EXE_copyist"), "convert", "-t", "pi@3"])
            .args(["--force", "-o", "back.jsonl", "below/there.yaml"])
            .current_dir(self.dir.root())
            .env("XDG_CONFIG_HOME", self.dir.root())
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(3), "{what}: {said}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: {:?}", begun.elapsed());
        assert_eq!(files(self.dir.root()), before, "{what}: nothing is written");
        said
    }
}

#[cfg(unix)]
#[test]
fn an_archive_is_refused_that_leads_elsewhere_or_grows_without_end() {
    let case = Case::new();
    let same = |name: &str, contents: &[u8]| member(b'0', name, contents);
    let renamed = |to: &'static str| {
        case.tar(move |name, contents| match name.starts_with("source/") {
            true => member(b'0', to, contents),
            false => member(b'0', name, contents),
        })
    };
    // The name of a member in a member before it, as archives have names of more than 100 bytes.
    let long = |to: &str| {
        let tar = case.tar(same);
        [member(b'L', "././@LongLink", format!("{to}\0").as_bytes()), tar].concat()
    };
    let typed = |kind: u8| {
        case.tar(move |name, contents| match name.starts_with("source/") {
            true => [header(kind, name, 0), member(b'0', "source/other", contents)].concat(),
            false => member(b'0', name, contents),
        })
    };
    let sized = |by: i64| {
        case.tar(move |name, contents| {
            let mut all = member(b'0', name, contents);
            if name.starts_with("source/") {
                let size = contents.len() as u64;
                all[..BLOCK].copy_from_slice(&header(b'0', name, size.saturating_add_signed(by)));
            }
            all
        })
    };
    let (first, rest) = {
        let whole = case.tar(same);
        let first = member(b'0', "origin.json", &case.members[0].1).len();
        (whole[..first].to_vec(), whole[first..].to_vec())
    };
    let bomb = |kind: u8, name: &str| {
        let size = 10 * GIGABYTE;
        zstd(&[first.clone(), header(kind, name, size)].concat(), size, &rest)
    };
    let crowd: Vec<u8> = (0..200_000).flat_map(|n| header(b'0', &format!("{n}"), 0)).collect();
    let packed = |tar: Vec<u8>| zstd(&tar, 0, &[]);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("an absolute path", packed(renamed("/etc/copyist")), "paths that lead outside"),
        ("a path upwards", packed(renamed("source/../../up")), "paths that lead outside"),
        ("a long path upwards", packed(long("../up")), "paths that lead outside"),
        ("a link", packed(typed(b'2')), "anything but files"),
        ("a hard link", packed(typed(b'1')), "anything but files"),
        ("a device", packed(typed(b'3')), "anything but files"),
        ("a block device", packed(typed(b'4')), "anything but files"),
        ("a folder", packed(typed(b'5')), "anything but files"),
        ("a pipe", packed(typed(b'6')), "anything but files"),
        ("a sparse file", packed(typed(b'S')), "anything but files"),
        ("a size that is too large", packed(sized(1 << 20)), "torn or damaged"),
        ("a size that is too small", packed(sized(-600)), "torn or damaged"),
        ("a size of all bytes there are", packed(sized(i64::MAX)), "torn or damaged"),
        ("a source of 10 GB", bomb(b'0', "source/big"), "would unpack to more"),
        ("a name of 10 GB", bomb(b'L', "././@LongLink"), "anything but files"),
        ("a description of 10 GB", bomb(b'x', "pax"), "anything but files"),
        (
            "200,000 members",
            packed([first.clone(), crowd, rest.clone()].concat()),
            "too many members",
        ),
        ("a window of 2 GB", vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 1, 0, 0], "torn"),
    ];
    println!("| origin | size in bytes | message |\n|---|---|---|");
    for (what, origin, why) in cases {
        let said = case.refused(what, &origin);
        assert!(said.contains("CY0624") && said.contains(why), "{what}: {said}");
        let message = said.lines().next().unwrap_or_default();
        println!("| {what} | {} | {message} |", origin.len());
    }
}

#[test]
fn a_part_that_an_origin_names_never_leaves_its_folder() {
    let case = "claude-code/v2/subagents";
    for name in ["/../../evil.txt", "/tool-results/../../../evil.txt", "/etc/evil.txt", "\\evil"] {
        let dir = Dir::new();
        let id = "5ac1f0d2-73be-4d19-8f20-b0c6a4e7d913";
        let below = crate::common::testdata().join(case).join("in");
        for file in crate::common::all_files(&below) {
            let inside =
                file.strip_prefix(&below).expect("below it").to_string_lossy().into_owned();
            dir.write(&format!("in/{inside}"), &read(&file));
        }
        std::fs::create_dir_all(dir.path("a/b")).expect("folders");
        let source = format!("in/{id}.jsonl");
        let (code, said) = dir.exit(&["convert", "-t", "pi@3", "-o", "a/b/there.jsonl", &source]);
        assert!(code <= 1, "{said}");
        let origin = dir.path("a/b/there.jsonl.origin");
        let tar = zstd::decode_all(read(&origin).as_slice()).expect("zstd");
        let old = "\"/tool-results/b1log0001.txt\"";
        let mut archive = tar::Archive::new(tar.as_slice());
        let mut forged = tar::Builder::new(Vec::new());
        let mut changed = false;
        for entry in archive.entries().expect("tar") {
            let mut entry = entry.expect("a member");
            let mut contents = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut contents).expect("contents");
            let path = entry.path().expect("a path").into_owned();
            if path.as_os_str() == "origin.json" {
                let text = String::from_utf8(contents).expect("UTF-8");
                let new = serde_json::Value::from(name).to_string();
                changed = text.contains(old);
                contents = text.replace(old, &new).into_bytes();
            }
            let mut header = tar::Header::new_gnu();
            header.set_size(contents.len() as u64);
            header.set_mode(0o600);
            forged.append_data(&mut header, path, contents.as_slice()).expect("memory");
        }
        assert!(changed, "the part is named in the origin");
        let forged = forged.into_inner().expect("memory");
        dir.write("a/b/there.jsonl.origin", &zstd(&forged, 0, &[]));
        let before = files(dir.root());
        let (code, said) = dir.exit(&[
            "convert",
            "-t",
            "claude-code@2",
            "--out-dir",
            "a/b/out",
            "a/b/there.jsonl",
        ]);
        let new: Vec<_> =
            files(dir.root()).into_iter().filter(|file| !before.contains(file)).collect();
        let inside = new.iter().all(|file| file.starts_with(dir.path("a/b/out")));
        assert!(inside, "{name}: {code}: {new:?}");
        assert!(code == 3 && new.is_empty() || code <= 1, "{name}: {code}: {said} {new:?}");
        println!("{name}: {code}: {}", said.lines().next().unwrap_or_default());
    }
}
