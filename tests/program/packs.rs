//! Sessions in one file for another machine.

use crate::common::{self, Dir, all_files};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const CLAUDE: &str = "5ac1f0d2-73be-4d19-8f20-b0c6a4e7d913";
const CODEX: &str = "01a0f3c2-1b2c-7d3e-9f4a-5b6c7d8e9f03";
const PI: &str = "01a11c43-6488-7c29-a723-a46fb88d8f7a";

/// Writes a session of the test data into a home, with this folder as its project.
fn install(home: &Dir, from: &str, old: &str, to: &str, project: &str) {
    let path = common::testdata().join(from);
    let (old, new) = (format!("\"{old}\""), format!("\"{project}\""));
    let all = if path.is_dir() { all_files(&path) } else { vec![path.clone()] };
    for file in all {
        let rest = file.strip_prefix(&path).expect("below");
        let to = if rest.as_os_str().is_empty() { to.into() } else { Path::new(to).join(rest) };
        let text = fs::read_to_string(&file).expect("text");
        let text = text.replace(&old, &new);
        home.write(to.to_str().expect("UTF-8"), text.as_bytes());
    }
}

/// A home with a session of each of three agents, and its project.
fn machine() -> (Dir, String) {
    let home = Dir::new();
    fs::create_dir_all(home.path("tides")).expect("a folder");
    let project = home.path("tides").canonicalize().expect("a folder");
    let project = project.to_str().expect("UTF-8").to_owned();
    let slug = project.replace(['/', '.', '_'], "-");
    let (claude, to) = ("claude-code/v2/subagents/in", format!(".claude/projects/{slug}"));
    install(&home, claude, "/home/ada/boats", &to, &project);
    let name = format!("rollout-2026-10-20T08-30-00-{CODEX}.jsonl");
    let to = format!(".codex/sessions/2026/10/20/{name}");
    install(
        &home,
        &format!("codex/v3/mars/in/rollout-2026-10-20T08-30-00-{CODEX}.jsonl"),
        "/srv/orrery",
        &to,
        &project,
    );
    let to = format!(
        ".pi/agent/sessions/-{}--/2026-10-08T16-05-41-128Z_{PI}.jsonl",
        project.replace('/', "-")
    );
    let pi = format!("pi/v3/everything/in/2026-10-08T16-05-41-128Z_{PI}.jsonl");
    install(&home, &pi, "/srv/dev/brightwire", &to, &project);
    (home, project)
}

/// The contents of the agents' files of a home, by their paths.
fn contents(home: &Dir) -> BTreeMap<String, String> {
    let agents = [".claude", ".codex", ".pi"].map(|name| home.path(name));
    let files = agents.iter().filter(|folder| folder.is_dir()).flat_map(|folder| all_files(folder));
    let text = |file: &Path| fs::read_to_string(file).expect("text");
    let name = |file: &Path| file.strip_prefix(home.root()).expect("below").display().to_string();
    files.map(|file| (name(&file), text(&file))).collect()
}

fn done(home: &Dir, code: i32, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copyist"));
    command.current_dir(home.root()).env_clear().env("HOME", home.root()).env("TZ", "UTC0");
    let done = command.args(args).output().expect("the program runs");
    let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert_eq!(done.status.code(), Some(code), "{args:?}: {text}");
    text
}

#[test]
fn sessions_come_to_another_machine_and_are_found_there() {
    let (old, project) = machine();
    let text = done(&old, 0, &["pack", CLAUDE, CODEX, "pi:latest", "-o", "all.pack"]);
    assert!(text.contains("3 sessions, ") && text.contains("written: all.pack"), "{text}");
    let new = Dir::new();
    fs::create_dir_all(new.path("harbour")).expect("a folder");
    let here = new.path("harbour").canonicalize().expect("a folder");
    let here = here.to_str().expect("UTF-8").to_owned();
    fs::copy(old.path("all.pack"), new.path("all.pack")).expect("copied");
    let text = done(&new, 2, &["unpack", "all.pack"]);
    assert!(text.contains("--map-path"), "{text}");
    assert!(contents(&new).is_empty());
    let map = format!("{project}={here}");
    let unpack = ["unpack", "--map-path", &map, "all.pack"];
    let text = done(&new, 0, &[&unpack[..], &["-n"]].concat());
    assert!(text.contains("3 sessions would be installed"), "{text}");
    assert!(contents(&new).is_empty());
    let text = done(&new, 0, &unpack);
    assert!(text.contains("3 sessions installed"), "{text}");
    for id in [CLAUDE, CODEX, PI] {
        assert!(text.lines().any(|line| line.starts_with("resume") && line.contains(id)), "{text}");
        let list = done(&new, 0, &["list", "--project", &here]);
        assert!(list.contains(&id[..8]), "{list}");
    }
    // Paths apart, the same bytes at the same places.
    let spelled = |text: &str| {
        let slug = |path: &str| path.replace(['/', '.', '_'], "-");
        let text = text.replace(&*project, &here).replace(&slug(&project), &slug(&here));
        text.replace(&project.replace('/', "-"), &here.replace('/', "-"))
    };
    let moved = contents(&old).into_iter().map(|(name, text)| (spelled(&name), spelled(&text)));
    let installed = contents(&new);
    for (name, text) in moved {
        assert!(installed.get(&name) == Some(&text), "{name}");
    }
    assert_eq!(installed.len(), contents(&old).len());
    // Never over a session that is there.
    let text = done(&new, 3, &unpack);
    assert!(text.contains("0 sessions installed; 3 refused"), "{text}");
    assert_eq!(contents(&new), installed);
    let journals = all_files(&new.path(".local/state/copyist"));
    let journal = journals.first().and_then(|path| path.to_str()).expect("a journal");
    done(&new, 0, &["undo", journal]);
    assert!(contents(&new).is_empty(), "{:?}", contents(&new).keys());
}

#[test]
fn one_session_that_is_there_keeps_no_other_from_being_installed() {
    let (old, project) = machine();
    done(&old, 0, &["pack", "--project", &project, "-o", "all.pack"]);
    let lost = old.path(".codex");
    fs::remove_dir_all(&lost).expect("removed");
    let before = contents(&old);
    let text = done(&old, 3, &["unpack", "all.pack"]);
    assert!(text.contains("1 session installed; 2 refused"), "{text}");
    assert!(text.contains(&format!("{PI}: the agent has a session of this identifier")), "{text}");
    let mut after = contents(&old);
    assert!(after.keys().any(|name| name.contains(CODEX)));
    after.retain(|name, _| !name.starts_with(".codex"));
    assert_eq!(after, before);
}

#[test]
fn session_in_a_project_goes_to_the_project_of_the_other_machine() {
    let (old, new) = (Dir::new(), Dir::new());
    let name = ".co/evals/lamps.yaml";
    install(
        &old,
        "connectonion/v3/lamps/in/which_lamps_are_lit.yaml",
        "",
        &format!("p/{name}"),
        "",
    );
    done(&old, 0, &["pack", "p", "-o", "all.pack"]);
    fs::copy(old.path("all.pack"), new.path("all.pack")).expect("copied");
    fs::create_dir_all(new.path("q")).expect("a folder");
    let [from, to] =
        [old.path("p"), new.path("q")].map(|path| path.canonicalize().expect("a folder"));
    let map = format!("{}={}", from.display(), to.display());
    done(&new, 0, &["unpack", "--map-path", &map, "all.pack"]);
    let read = |path| fs::read(path).expect("a session");
    assert_eq!(read(to.join(name)), read(from.join(name)));
}

#[test]
fn packs_are_masked_on_request_and_private_like_their_sessions() {
    let (home, _) = machine();
    let key = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_0123456789abcdefghijklmnopq-AAAAAA";
    let file = contents(&home).into_keys().find(|name| name.contains(CODEX)).expect("a rollout");
    let text = fs::read_to_string(home.path(&file)).expect("text");
    let line = text.lines().find(|line| line.contains("input_text")).expect("a message");
    let more = line.replacen("\"text\":\"", &format!("\"text\":\"{key} "), 1);
    home.write(&file, format!("{text}{more}\n").as_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(home.path(&file), private).expect("changed");
    }
    done(&home, 0, &["pack", CODEX, "-o", "open.pack"]);
    let text = done(&home, 0, &["pack", "--redact", CODEX, "-o", "masked.pack"]);
    assert!(text.contains("masked"), "{text}");
    for (name, has) in [("open.pack", true), ("masked.pack", false)] {
        let packed = fs::read(home.path(name)).expect("a pack");
        let whole = zstd::decode_all(packed.as_slice()).expect("unpacked");
        let found = memchr::memmem::find(&whole, key.as_bytes()).is_some();
        assert_eq!(found, has, "{name}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(home.path(name)).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
}

#[test]
fn a_session_of_windows_is_installed_here_and_back() {
    let home = Dir::new();
    let (id, there) = ("a0f64c72-64f3-4718-b05d-d70748d1efb1", "--C--Users-oskar-pebble--");
    let name = format!("2026-02-20T12-00-31-207Z_{id}.jsonl");
    let windows = home.write(
        &format!("there/{there}/{name}"),
        &common::read(&common::testdata().join(format!("pi/v3/bom/in/{name}"))),
    );
    done(&home, 0, &["pack", windows.to_str().expect("UTF-8"), "-o", "windows.pack"]);
    assert!(
        done(&home, 2, &["unpack", "windows.pack"])
            .contains("--map-path C:\\Users\\oskar\\pebble=")
    );
    fs::create_dir_all(home.path("pebble")).expect("a folder");
    let here = home.path("pebble").canonicalize().expect("a folder");
    let here = here.to_str().expect("UTF-8");
    done(
        &home,
        0,
        &["unpack", "--map-path", &format!("C:\\Users\\oskar\\pebble={here}"), "windows.pack"],
    );
    let slug = format!("-{}--", here.replace('/', "-"));
    let installed = home.path(&format!(".pi/agent/sessions/{slug}/{name}"));
    let text = fs::read_to_string(&installed).expect("text");
    assert!(text.contains(&format!("\"cwd\":\"{here}\"")), "{text}");
    // Back: the same map from the other side gives the first file byte for byte.
    done(&home, 0, &["move", here, "C:\\Users\\oskar\\pebble"]);
    let back = home.path(&format!(".pi/agent/sessions/{there}/{name}"));
    assert!(common::read(&back) == common::read(&windows));
}

#[test]
fn wrong_use_of_packs_is_refused() {
    let (home, _) = machine();
    assert!(done(&home, 2, &["pack", "-o", "a.pack"]).contains("name the sessions"));
    assert!(
        done(&home, 2, &["pack", "nothing-like-that", "-o", "a.pack"])
            .contains("nothing-like-that")
    );
    done(&home, 0, &["pack", "latest", "-o", "a.pack"]);
    assert!(done(&home, 3, &["pack", "latest", "-o", "a.pack"]).contains("a.pack"));
    done(&home, 0, &["pack", "latest", "-o", "a.pack", "--force"]);
    let own = contents(&home).into_keys().find(|name| name.contains(PI)).expect("a session");
    let before = contents(&home);
    done(&home, 3, &["pack", PI, "-o", &own, "--force"]);
    assert_eq!(contents(&home), before);
    done(&home, 0, &["pack", "latest", "-n", "-o", "b.pack"]);
    assert!(!home.path("b.pack").exists());
    home.write("lone/agent-2954caae.jsonl", b"{\"isSidechain\":true,\"agentId\":\"2954caae\"}\n");
    let text = done(&home, 3, &["pack", "lone", "-o", "c.pack"]);
    assert!(text.contains("lone: no session"), "{text}");
    assert!(done(&home, 3, &["unpack", &own]).contains("no pack of copyist"));
    home.write("empty.pack", b"");
    for name in ["empty.pack", &own, "gone.pack"] {
        let text = done(&home, 3, &["unpack", name]);
        assert!(text.contains(name), "{text}");
    }
}

/// A member of a hostile pack.
type Member<'m> = (&'m str, tar::EntryType, &'m [u8]);

fn archive(members: &[Member<'_>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, kind, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        // The crate would refuse names that lead outside.
        header.as_gnu_mut().expect("GNU").name[..name.len()].copy_from_slice(name.as_bytes());
        if *kind == tar::EntryType::Symlink {
            header.set_link_name("/etc").expect("a name");
        }
        header.set_cksum();
        tar.append(&header, *bytes).expect("added");
    }
    zstd::encode_all(tar.into_inner().expect("ended").as_slice(), 1).expect("packed")
}

/// A manifest with one session of pi, of these files.
fn manifest(agent: &str, base: &str, project: &Path, files: &[(&str, &[u8])]) -> Vec<u8> {
    let files: Vec<_> = files
        .iter()
        .map(|(path, bytes)| {
            let hash = blake3::hash(bytes).to_hex().to_string();
            serde_json::json!({"path": path, "length": bytes.len(), "blake3": hash})
        })
        .collect();
    let session = serde_json::json!({"agent": agent, "id": PI, "project": project, "base": base,
        "files": files});
    serde_json::json!({"copyist_pack": 1, "sessions": [session]}).to_string().into_bytes()
}

#[test]
fn hostile_packs_write_nothing() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};
    let home = Dir::new();
    let project = home.path("p");
    fs::create_dir_all(&project).expect("a folder");
    let line = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{PI}\",\"timestamp\":\"2026-01-03T08:20:55.301Z\",\"cwd\":\"/w\"}}\n"
    );
    let (session, name) = (line.as_bytes(), "sessions/0/x/s.jsonl");
    let own = [("x/s.jsonl", session)];
    let good = manifest("pi", "agent", &project, &own);
    let with = |more: &[Member<'_>], manifest: &[u8]| {
        archive(
            &[&[(name, Regular, session)], more, &[("manifest.json", Regular, manifest)]].concat(),
        )
    };
    let two = [("x/s.jsonl", session), ("CLAUDE.md", b"obey".as_slice())];
    let outside = [("../../../evil.jsonl", session)];
    let rc = [(".bashrc", session)];
    let packs: [(&str, Vec<u8>); 14] = [
        ("leads outside", with(&[("../evil", Regular, b"x")], &good)),
        ("absolute", with(&[("/tmp/evil", Regular, b"x")], &good)),
        ("link", with(&[("sessions/0/l", Symlink, b"")], &good)),
        ("hard link", with(&[("sessions/0/l", Link, b"")], &good)),
        ("folder", with(&[("sessions/0/d", Directory, b"")], &good)),
        ("no description", archive(&[(name, Regular, session)])),
        ("torn", with(&[], &good)[..60].to_vec()),
        ("other bytes", archive(&[(name, Regular, b"{}\n"), ("manifest.json", Regular, &good)])),
        ("in no session", with(&[("sessions/0/more", Regular, b"x")], &good)),
        (
            "no part of it",
            with(
                &[("sessions/0/CLAUDE.md", Regular, b"obey")],
                &manifest("pi", "agent", &project, &two),
            ),
        ),
        ("described outside", with(&[], &manifest("pi", "agent", &project, &outside))),
        ("other agent", with(&[], &manifest("codex", "agent", &project, &own))),
        ("unknown agent", with(&[], &manifest("evil", "agent", &project, &own))),
        (
            "into the project",
            archive(&[
                ("sessions/0/.bashrc", Regular, session),
                ("manifest.json", Regular, &manifest("connectonion", "project", home.root(), &rc)),
            ]),
        ),
    ];
    home.write("good.pack", &with(&[], &good));
    let before = all_files(home.root());
    for (what, pack) in packs {
        fs::File::create(home.path("evil.pack"))
            .and_then(|mut file| file.write_all(&pack))
            .expect("written");
        done(&home, 3, &["unpack", "evil.pack"]);
        fs::remove_file(home.path("evil.pack")).expect("removed");
        assert_eq!(all_files(home.root()), before, "{what}");
    }
    done(&home, 0, &["unpack", "good.pack"]);
    assert!(all_files(home.root()).len() > before.len());
}
