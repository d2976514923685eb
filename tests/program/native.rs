//! Outputs where the target's own software looks for them, and sessions that move to another folder.

use crate::common::{self, Dir, own, read};

const SESSION: &str = concat!(
    r#"{"type":"session","version":3,"id":"0a1b2c3d-0000-4000-8000-000000000001","timestamp":"2026-01-03T08:20:55.301Z","cwd":"/home/ada/my.app"}"#,
    "\n",
    r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-03T08:21:00.000Z","message":{"role":"user","content":"What is in /home/ada/my.app?","timestamp":1767428460000}}"#,
    "\n",
);

fn native(to: &str) -> Vec<String> {
    let dir = Dir::new();
    dir.write("a session.jsonl", SESSION.as_bytes());
    let args = ["convert", "-t", to, "--layout", "native", "--out-dir", "out", "a session.jsonl"];
    let (code, said) = dir.exit(&args);
    assert_eq!(code, 0, "{said}");
    let again = [&args[..7], &["out"]].concat();
    let (code, said) = dir.exit(&again);
    assert!(code > 1, "the folder is not its own input: {said}");
    dir.names().into_iter().filter_map(|name| Some(name.strip_prefix("out/")?.to_owned())).collect()
}

#[test]
fn files_get_the_names_that_their_software_gives_them() {
    let time = "2026-01-03T08-20-55-301Z_0a1b2c3d-0000-4000-8000-000000000001.jsonl";
    assert_eq!(native("pi@2"), [format!("--home-ada-my.app--/{time}")]);
    let id = "0a1b2c3d-0000-4000-8000-000000000001";
    assert_eq!(native("connectonion@2"), [format!("sessions/{id}.yaml")]);
    assert_eq!(native("connectonion@1"), ["sessions/session_2026-01-03_08-20-55.yaml"]);
    assert_eq!(native("connectonion@3"), ["evals/what_is_in_home_ada_my_app/run_1.yaml"]);
    assert_eq!(native("agent-orchestrator"), ["a_session.jsonl", "a_session.meta.json"]);
}

#[test]
fn files_of_the_target_itself_get_such_names_too() {
    let cases = [
        ("pi/v3/everything", "pi", "--srv-dev-brightwire--/"),
        ("pi/v2/branched", "pi@2", "--"),
        ("connectonion/v2/harbour", "connectonion@2", "sessions/harbour.yaml"),
        ("connectonion/v3/tides", "connectonion@3", "evals/when_is_high_water"),
    ];
    for (case, to, name) in cases {
        let dir = Dir::new();
        dir.write("in", &own(case));
        let args = ["convert", "-t", to, "--layout", "native", "--out-dir", "out", "in"];
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{case}: {said}");
        let names = dir.names();
        let [_, out] = names.as_slice() else { panic!("{case}: {names:?}") };
        assert!(out.strip_prefix("out/").is_some_and(|out| out.starts_with(name)), "{out}");
        assert!(read(&dir.path(out)) == own(case), "{case}");
    }
    let dir = Dir::new();
    dir.write("in", &own("pi/v1/compacted"));
    assert_eq!(dir.exit(&["migrate", "-o", "new", "in"]).0, 0);
    let native = ["convert", "-t", "pi", "--layout", "native", "--out-dir", "out", "in"];
    assert_eq!(dir.exit(&native).0, 0);
    let out = dir.names().into_iter().find(|name| name.starts_with("out/")).expect("an output");
    assert!(read(&dir.path(&out)) == read(&dir.path("new")), "a migration, not a conversion");
}

#[test]
fn the_content_of_a_file_leads_out_of_no_folder() {
    for hostile in ["../../up", "/../x", "..", "a\\u0000b", "a\\nb"] {
        let dir = Dir::new();
        let text = SESSION.replace("0a1b2c3d-0000-4000-8000-000000000001", hostile);
        let text = text.replace("/home/ada/my.app\"}", &format!("{hostile}\"}}"));
        let text = text.replace("2026-01-03T08:20:55.301Z", hostile);
        dir.write("in/s.jsonl", text.as_bytes());
        for to in ["pi@2", "connectonion@1", "connectonion@2", "connectonion@3"] {
            let args =
                ["convert", "-t", to, "--layout", "native", "--out-dir", "out", "in/s.jsonl"];
            let (_, said) = dir.exit(&args);
            assert!(!said.contains("panicked"), "{said}");
        }
        let outside: Vec<_> = dir.names().into_iter().filter(|n| !n.starts_with("out/")).collect();
        assert_eq!(outside, ["in/s.jsonl"], "{hostile}");
    }
}

#[test]
fn a_transcript_moves_with_all_its_files() {
    const ID: &str = "7d0c4a11-52be-4d19-8f20-b0c6a4e7d900";
    let line = |n: u8, parent: &str, cwd: &str, said: &str, more: &str| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":{},{more}"cwd":"{cwd}","sessionId":"{ID}","version":"2.0.53","type":"user","message":{{"role":"user","content":"{said}"}},"uuid":"0000000{n}-11aa-4c22-9d33-44e55f667788","timestamp":"2026-01-03T08:21:0{n}.000Z"}}"#,
            !more.is_empty(),
        ) + "\n"
    };
    let agent = |id: &str| format!(r#""agentId":"{id}","#);
    let first = r#""00000001-11aa-4c22-9d33-44e55f667788""#;
    let dir = Dir::new();
    let main = line(1, "null", "/home/mira/loom", "In /home/mira/loom?", "")
        + &line(2, first, "/home/mira/loom/src", "Next.", "")
        + &line(3, first, "/srv", "Elsewhere.", "");
    dir.write(&format!("in/{ID}.jsonl"), main.as_bytes());
    let side = line(4, "null", "/home/mira/loom", "Warm.", &agent("1a2b3c4d"));
    dir.write("in/agent-1a2b3c4d.jsonl", side.as_bytes());
    let below = line(5, "null", "/home/mira/loom", "Count.", &agent("a1"));
    dir.write(&format!("in/{ID}/subagents/agent-a1.jsonl"), below.as_bytes());
    let map = ["--map-path", "/home/mira/loom=/data/loom", "in"];
    for to in ["claude-code", "claude-code@1", "claude-code@2"] {
        let args = ["convert", "-t", to, "--layout", "native", "--out-dir", to];
        let (code, said) = dir.exit(&[&args[..], &map].concat());
        assert!(code == 0 && !said.contains("--map-path"), "{said}");
        let moved = |line: &str| line.replace("\"cwd\":\"/home/mira/loom", "\"cwd\":\"/data/loom");
        for (name, text) in [
            (format!("{ID}.jsonl"), &main),
            ("agent-1a2b3c4d.jsonl".to_owned(), &side),
            (format!("{ID}/subagents/agent-a1.jsonl"), &below),
        ] {
            let out = read(&dir.path(&format!("{to}/-data-loom/{name}")));
            assert_eq!(String::from_utf8_lossy(&out), moved(text), "{to} {name}");
        }
    }
}

/// Release 2.0.53 leaves an empty transcript beside the files of its sub-agents, which name it.
#[test]
fn an_empty_transcript_is_of_the_session_of_its_sub_agents() {
    const ID: &str = "7d0c4a11-52be-4d19-8f20-b0c6a4e7d900";
    let dir = Dir::new();
    let side = format!(
        r#"{{"parentUuid":null,"isSidechain":true,"agentId":"1a2b3c4d","cwd":"/home/mira/loom","sessionId":"{ID}","version":"2.0.53","type":"user","message":{{"role":"user","content":"Warm."}},"uuid":"00000004-11aa-4c22-9d33-44e55f667788","timestamp":"2026-01-03T08:21:04.000Z"}}"#
    ) + "\n";
    dir.write(&format!("in/{ID}.jsonl"), b"");
    dir.write("in/agent-1a2b3c4d.jsonl", side.as_bytes());
    let native = ["convert", "-t", "claude-code@1", "--layout", "native", "--out-dir", "out"];
    let map = ["--map-path", "/home/mira=/data/mira", "in"];
    let (code, said) = dir.exit(&[&native[..], &map].concat());
    assert_eq!(code, 0, "{said}");
    let mut names = dir.names();
    names.retain(|name| name.starts_with("out/"));
    let folder = "out/-data-mira-loom";
    assert_eq!(names, [format!("{folder}/{ID}.jsonl"), format!("{folder}/agent-1a2b3c4d.jsonl")]);
}

/// A transcript whose lines name no session is of the one that its file's name contains.
#[test]
fn transcripts_without_an_identifier_are_of_the_sessions_that_their_files_name() {
    const IDS: [&str; 2] =
        ["7d0c4a11-52be-4d19-8f20-b0c6a4e7d902", "7d0c4a11-52be-4d19-8f20-b0c6a4e7d903"];
    let summary =
        r#"{"type":"summary","summary":"Warm","leafUuid":"00000004-11aa-4c22-9d33-44e55f667788"}"#;
    for to in ["codex", "pi", "claude-code@2"] {
        let dir = Dir::new();
        for id in IDS {
            dir.write(&format!("in/{id}.jsonl"), format!("{summary}\n").as_bytes());
        }
        let args = ["convert", "-t", to, "-f", "claude-code", "--layout", "native", "--no-origin"];
        let (_, said) = dir.exit(&[&args[..], &["--out-dir", "out", "in"]].concat());
        let mut names = dir.names();
        names.retain(|name| name.starts_with("out/"));
        assert_eq!(names.len(), IDS.len(), "{to}: {names:?} {said}");
        for id in IDS {
            let own = |name: &&String| name.ends_with(&format!("{id}.jsonl"));
            assert_eq!(names.iter().filter(own).count(), 1, "{to}: {names:?} {said}");
        }
    }
}

/// Codex moves a rollout into a folder beside its sessions, and leaves the origin behind.
#[test]
fn an_archived_rollout_finds_its_origin() {
    for moved in ["", ".zst"] {
        let dir = Dir::new();
        dir.write("s.jsonl", SESSION.as_bytes());
        let native = ["convert", "-t", "codex", "--layout", "native", "--out-dir", "home/sessions"];
        assert_eq!(dir.exit(&[&native[..], &["s.jsonl"]].concat()).0, 0);
        let names = dir.names();
        let rollout =
            names.iter().find(|name| name.starts_with("home/") && name.ends_with(".jsonl"));
        let rollout = rollout.expect("a rollout");
        let (_, name) = rollout.rsplit_once('/').expect("a folder");
        let archived = format!("home/archived_sessions/{name}{moved}");
        let text = read(&dir.path(rollout));
        let packed =
            if moved.is_empty() { text } else { zstd::encode_all(&text[..], 1).expect("memory") };
        dir.write(&archived, &packed);
        std::fs::remove_file(dir.path(rollout)).expect("a file");
        let (code, said) = dir.exit(&["convert", "-t", "pi", "-o", "back.jsonl", &archived]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(read(&dir.path("back.jsonl")), SESSION.as_bytes(), "{said}");
        let away = format!("home/{name}");
        dir.write(&away, &packed);
        let (_, said) = dir.exit(&["convert", "-t", "pi", "-o", "alone.jsonl", &away]);
        assert!(said.contains("CY0632"), "{said}");
    }
}

#[test]
fn a_session_moves_and_its_messages_stay() {
    let dir = Dir::new();
    dir.write("s.jsonl", SESSION.as_bytes());
    let moved = ["--map-path", "/home/ada=/users/ada", "s.jsonl"];
    for (to, file) in [("pi@3", "p.jsonl"), ("pi@2", "q.jsonl"), ("connectonion@3", "r.yaml")] {
        let (code, said) = dir.exit(&[&["convert", "-t", to, "-o", file], &moved[..]].concat());
        assert_eq!(code, 0, "{said}");
        let text = String::from_utf8(common::read(&dir.path(file))).expect("UTF-8");
        assert!(text.contains("/users/ada/my.app\""), "{text}");
        assert!(text.contains("What is in /home/ada/my.app?"), "{text}");
        assert!(!text.contains("\"/home/ada"), "{text}");
    }
    let back = ["convert", "-t", "pi@3", "-o", "back.jsonl", "r.yaml"];
    assert_eq!(dir.exit(&back).0, 0);
    assert_eq!(common::read(&dir.path("back.jsonl")), common::read(&dir.path("p.jsonl")));
    let relative = ["convert", "-t", "pi@3", "-o", "x", "--map-path", "/home=away", "s.jsonl"];
    let (code, said) = dir.exit(&relative);
    assert!(code == 2 && said.contains("`away` is not absolute"), "{code} {said}");
    let wrong = ["convert", "-t", "pi@3", "-o", "x", "--map-path", "/home", "s.jsonl"];
    let (code, said) = dir.exit(&wrong);
    assert!(code == 2 && said.contains("OLD=NEW"), "{said}");
}

#[test]
fn sessions_that_would_have_one_name_get_numbers() {
    let dir = Dir::new();
    for n in 1..=3 {
        let session = SESSION.replace("000000000001", &format!("00000000000{n}"));
        dir.write(&format!("in/s{n}.jsonl"), session.as_bytes());
    }
    let tides = String::from_utf8(own("connectonion/v3/tides")).expect("UTF-8");
    dir.write("in/t.yaml", tides.as_bytes());
    dir.write("in/u.yaml", tides.replace("3.2", "3.3").as_bytes());
    let harbour = own("connectonion/v2/harbour");
    dir.write("in/h.yaml", &harbour);
    dir.write("in/i.yaml", &harbour);
    let names = |to: &str, more: &[&str]| {
        let args = ["convert", "-t", to, "--layout", "native", "--out-dir", to, "--jobs", "1"];
        let (code, said) = dir.exit(&[&args[..], more, &["in"]].concat());
        assert_eq!(code, 0, "{to}: {said}");
        let names = dir.names().into_iter();
        names.filter_map(|n| n.strip_prefix(&format!("{to}/")).map(str::to_owned)).collect()
    };
    let runs: Vec<String> = names("connectonion@3", &[]);
    let of = |slug: &str| runs.iter().filter(|n| n.contains(slug)).cloned().collect::<Vec<_>>();
    let asked = |n: u32| format!("evals/what_is_in_home_ada_my_app/run_{n}.yaml");
    assert_eq!(of("what_is_in"), [asked(1), asked(2), asked(3)]);
    assert_eq!(of("high_water").len(), 2, "{runs:?}");
    assert_eq!(runs.len(), 7, "{runs:?}");
    assert_eq!(names("connectonion@3", &["--force"]), runs);
    let files: Vec<String> = names("connectonion@2", &[]);
    assert_eq!(files.len(), 7, "{files:?}");
    for name in ["harbour", "harbour-2", "0a1b2c3d-0000-4000-8000-000000000002"] {
        assert!(files.contains(&format!("sessions/{name}.yaml")), "{files:?}");
    }
    // Two copies of a session have one name in its own software, too.
    dir.write("in/s4.jsonl", SESSION.as_bytes());
    let tree: Vec<String> = names("pi@3", &[]);
    assert_eq!(tree.iter().filter(|n| n.ends_with("-2.jsonl")).count(), 3, "{tree:?}");
}

#[test]
fn a_home_that_is_as_it_should_be_is_only_checked() {
    for to in ["codelia@1", "codelia@2"] {
        let dir = Dir::new();
        dir.copy("pi/v1/feature-work", "s.jsonl");
        let args = ["convert", "-t", to, "--layout", "native", "--out-dir", "home", "s.jsonl"];
        assert_eq!(dir.exit(&args).0, 0);
        let all = || -> Vec<_> {
            let files = common::files(&dir.path("home")).into_iter();
            files.map(|path| (read(&path), path)).collect()
        };
        let before = all();
        let (code, said) = dir.exit(&["migrate", "--in-place", "home"]);
        assert!(code == 0 && said.contains("1 unchanged"), "{to}: {said}");
        assert!(all() == before, "{to}");
    }
}

/// The files of a run, with their contents.
fn all(dir: &Dir, below: &str) -> Vec<(String, Vec<u8>)> {
    let files = common::files(&dir.path(below)).into_iter();
    let name = |path: &std::path::PathBuf| {
        path.strip_prefix(dir.path(below)).expect("below").display().to_string()
    };
    files.map(|path| (name(&path), read(&path))).collect()
}

#[test]
fn names_follow_the_order_of_the_inputs_however_many_work_at_a_time() {
    let dir = Dir::in_memory();
    // Sessions of one name, the first ones so long that those behind them are done sooner.
    for n in 0..60 {
        let said = format!("{n} ").repeat(if n % 20 == 0 { 400_000 } else { 2 + n });
        let text = SESSION.replace("What is in", &format!("{said}What is in"));
        dir.write(&format!("in/{n:02}.jsonl"), text.as_bytes());
    }
    for to in ["pi@2", "connectonion@2", "codelia@1"] {
        let run = |out: &str, jobs: &str, more: &[&str]| {
            let args = ["convert", "-t", to, "--layout", "native", "--out-dir", out, "-j", jobs];
            dir.exit(&[&args[..], more, &["in"]].concat())
        };
        let (code, said) = run("one", "1", &[]);
        assert_eq!(
            (code, said.contains("CY0719")),
            if to == "codelia@1" { (3, true) } else { (0, false) },
            "{said}"
        );
        let expected = all(&dir, "one");
        for turn in 0..6 {
            let journal = format!("{to}.{turn}");
            let more = ["--journal", journal.as_str()];
            let (again, _) = run("many", "8", if turn % 2 == 0 { &[] } else { &more });
            assert_eq!(again, code);
            assert!(all(&dir, "many") == expected, "{to}: turn {turn}");
            if turn % 2 == 1 {
                // Some are done anew, and have the same names again.
                for (name, _) in expected.iter().step_by(7) {
                    std::fs::remove_file(dir.path("many").join(name)).expect("it is there");
                }
                let (again, said) = run("many", "8", &["--journal", &journal, "--resume"]);
                assert_eq!(again, code, "{said}");
                assert!(all(&dir, "many") == expected, "{to}: turn {turn}, resumed");
            }
            std::fs::remove_dir_all(dir.path("many")).expect("a folder");
        }
        std::fs::remove_dir_all(dir.path("one")).expect("a folder");
    }
}

#[test]
fn a_folder_that_no_session_names_is_reported() {
    let dir = Dir::new();
    dir.write("in/s.jsonl", SESSION.as_bytes());
    let args = ["convert", "-t", "pi@2", "--force", "--out-dir", "out", "in"];
    let maps = ["--map-path", "/home/bob=/x", "--map-path", "/home/ada=/users/ada"];
    let (code, said) = dir.exit(&[&args[..], &maps].concat());
    assert!(code == 0 && said.contains("no session is found by /home/bob"), "{said}");
    assert_eq!(said.matches("--map-path").count(), 1, "{said}");
    let (code, said) = dir.exit(&[&args[..], &maps[2..]].concat());
    assert!(code == 0 && !said.contains("--map-path"), "{said}");
}

#[test]
fn copies_of_a_session_of_codelia_are_refused_with_one_code() {
    let dir = Dir::new();
    for number in 0..10 {
        dir.copy("pi/v3/everything", &format!("in/s{number}.jsonl"));
    }
    for target in ["codelia@1", "codelia@2"] {
        for jobs in ["1", "2"] {
            let out = format!("{target}-{jobs}");
            let args = ["convert", "-j", jobs, "-t", target, "--layout", "native", "--out-dir"];
            let (code, said) = dir.said(&[&args[..], &[&out, "in"]].concat());
            assert_eq!(code, 3, "{said}");
            assert_eq!(said.matches("CY0719").count(), 9, "{said}");
            assert!(said.contains("1 converted, 9 failed") && !said.contains("--force"), "{said}");
        }
    }
}

#[test]
fn whole_sessions_that_are_there_already_are_unchanged_and_name_all_their_files() {
    let dir = Dir::new();
    dir.copy("pi/v3/everything", "in/s.jsonl");
    let args = ["convert", "-t", "codelia@1", "--layout", "native", "--out-dir", "home", "in"];
    assert!(dir.said(&args).0 <= 1);
    let args = ["migrate", "--report", "r.json", "--out-dir", "out", "home"];
    let (code, said) = dir.said(&args);
    assert!(code == 0 && said.contains("1 unchanged"), "{said}");
    let report: serde_json::Value =
        serde_json::from_slice(&common::read(&dir.path("r.json"))).expect("JSON");
    let input = &report["inputs"][0];
    let outputs = input["outputs"].as_array().expect("a list");
    assert!(outputs.len() > 1 && outputs[0] == input["output"], "{input:#}");
    for output in outputs {
        assert!(dir.path(output.as_str().expect("a path")).is_file(), "{input:#}");
    }
}

/// Takes the sessions below `in` to a format and back to their own, in both as its software keeps
/// them. Gives the files at home.
fn there_and_back(dir: &Dir, abroad: &str, home: &str) -> Vec<(String, Vec<u8>)> {
    let (away, back) = (format!("{abroad}.away"), format!("{abroad}.back"));
    for (to, folder, from) in [(abroad, &away, "in"), (home, &back, &away)] {
        let args = ["convert", "-t", to, "--layout", "native", "--out-dir", folder, from];
        let (code, said) = dir.exit(&args);
        assert!(code <= 1, "{abroad}: {said}");
    }
    all(dir, &back)
}

#[test]
fn sessions_that_their_software_finds_by_name_come_home_under_it() {
    let dir = Dir::new();
    let name = "a-name_of_60_characters-is-the-longest-that-the-scripts-take";
    assert_eq!(name.len(), 60);
    for (case, name) in [("orchard", "orchard"), ("killed", name)] {
        for ending in [".jsonl", ".meta.json"] {
            let file = format!("agent-orchestrator/v2/{case}/in/{case}{ending}");
            let text = String::from_utf8(read(&common::testdata().join(file))).expect("UTF-8");
            let own = format!("\"session_name\": \"{case}\"");
            let text = text.replace(&own, &format!("\"session_name\": \"{name}\""));
            dir.write(&format!("in/{name}{ending}"), text.as_bytes());
        }
    }
    for abroad in ["pi", "connectonion", "codelia@1"] {
        let back = there_and_back(&dir, abroad, "agent-orchestrator");
        assert!(back == all(&dir, "in"), "{abroad}: {:?}", back.iter().map(|f| &f.0));
    }
    // A number behind the longest name takes the place of its end, for a longer one is none.
    dir.write("twice/x.jsonl", &read(&dir.path(&format!("in/{name}.jsonl"))));
    dir.write("twice/x.meta.json", &read(&dir.path(&format!("in/{name}.meta.json"))));
    let args = ["convert", "-t", "agent-orchestrator", "--layout", "native", "--out-dir"];
    assert!(dir.exit(&[&args[..], &["both", "in", "twice"]].concat()).0 <= 1);
    let numbered = format!("{}-2.meta.json", &name[..58]);
    assert!(all(&dir, "both").iter().any(|file| file.0 == numbered), "{numbered}");
}

/// A run of ConnectOnion in which this was asked.
fn run_of(asked: &str, second: u32) -> String {
    format!(
        "agent: \"a.py\"\nsystem_prompt: \"Be kind.\"\nmodel: \"co/m\"\ncwd: \"/w\"\ntokens: 3\ncost: 0.1\n\
         duration_ms: {second}\ntimestamp: \"2026-03-02 21:40:{second}\"\nmessages: |\n  [\n    \
         {{\"role\": \"system\", \"content\": \"Be kind.\"}},\n    \
         {{\"role\": \"user\", \"content\": \"{asked}\"}},\n    \
         {{\"role\": \"assistant\", \"content\": \"Yes.\"}}\n  ]\n"
    )
}

fn summary_of(slug: &str, asked: &str, runs: u32) -> String {
    format!(
        "name: {slug}\ncreated: '2026-03-02 21:40:11'\nupdated: '2026-03-02 21:40:5{runs}'\nruns: {runs}\n\
         model: co/m\nturns:\n- input: {asked}\n  run: {runs}\n  output: Yes.\n  tools_called: []\n  \
         expected: ''\n  evaluation: ''\n  meta: '{{\"tokens\": 3, \"cost\": 0.1, \"duration_ms\": 1, \"ts\":\n    \
         \"2026-03-02 21:40:11\"}}'\n  history: []\n"
    )
}

#[test]
fn runs_and_their_summaries_come_home_to_their_places() {
    let dir = Dir::new();
    let asked = ["first question", "写一个 Ärger", "a__b c"];
    for (at, (asked, slug)) in
        asked.iter().zip(["first_question", "写一个_ärger", "a__b_c"]).enumerate()
    {
        let runs = 3 - at as u32;
        dir.write(&format!("in/evals/{slug}.yaml"), summary_of(slug, asked, runs).as_bytes());
        for run in 1..=runs {
            let text = run_of(asked, 10 * (at as u32 + 1) + run);
            dir.write(&format!("in/evals/{slug}/run_{run}.yaml"), text.as_bytes());
        }
    }
    for abroad in ["pi", "connectonion@3"] {
        let back = there_and_back(&dir, abroad, "connectonion@3");
        let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
            files.iter().map(|file| file.0.clone()).collect()
        };
        assert_eq!(names(&back), names(&all(&dir, "in")), "{abroad}");
        assert!(back == all(&dir, "in"), "{abroad}");
    }
    // A run has its number also where the ones before it are gone.
    let args = ["convert", "-t", "connectonion", "--layout", "native", "--out-dir", "last"];
    let run = "in/evals/first_question/run_3.yaml";
    assert!(dir.exit(&[&args[..], &[run]].concat()).0 <= 1);
    assert_eq!(all(&dir, "last")[0].0, "evals/first_question/run_3.yaml");
}

#[test]
fn questions_become_names_as_the_newest_release_makes_them() {
    let long = "word ".repeat(20);
    let cut = format!("{}word", "word_".repeat(9));
    let without_end = "写".repeat(60);
    let cases = [
        (" ../../etc/passwd", "etc_passwd"),
        ("Was ist das?", "was_ist_das"),
        ("?!", "default"),
        ("_x_", "x"),
        (&long, &cut),
        (&without_end, &"写".repeat(50)),
    ];
    for (asked, slug) in cases {
        let dir = Dir::new();
        dir.write("in.yaml", run_of(asked, 11).as_bytes());
        let args = ["convert", "-t", "connectonion", "--layout", "native", "--out-dir", "o"];
        assert!(dir.exit(&[&args[..], &["in.yaml"]].concat()).0 <= 1);
        assert_eq!(all(&dir, "o")[0].0, format!("evals/{slug}/run_1.yaml"), "{asked}");
    }
}

/// The first lines of the files of a run, as JSON.
fn headers(dir: &Dir, below: &str) -> Vec<serde_json::Value> {
    let files = all(dir, below).into_iter();
    let first = |text: &[u8]| text.split(|b| *b == b'\n').next().map(serde_json::from_slice);
    files.map(|(_, text)| first(&text).expect("a line").expect("JSON")).collect()
}

#[test]
fn an_identifier_is_made_of_the_first_question_too() {
    let dir = Dir::new();
    for n in 0..5 {
        dir.write(&format!("in/{n}.yaml"), run_of(&format!("Question {n}?"), 11).as_bytes());
    }
    let native = |to: &str, out: &str, from: &str| {
        let args = ["convert", "-t", to, "--layout", "native", "--out-dir", out, from];
        let (code, said) = dir.exit(&args);
        assert!(code == 0 && !said.contains("CY0719"), "{to}: {said}");
    };
    let ids = |below: &str| -> Vec<_> {
        headers(&dir, below).into_iter().map(|header| header["id"].clone()).collect()
    };
    native("codelia@1", "runs", "in");
    native("pi", "direct", "in");
    assert_eq!(ids("direct").into_iter().collect::<std::collections::HashSet<_>>().len(), 5);
    // The way there makes no difference.
    assert_eq!(dir.exit(&["convert", "-t", "canonical", "--out-dir", "streams", "in"]).0, 0);
    native("pi", "by-stream", "streams");
    assert_eq!(ids("by-stream"), ids("direct"));
    // Nor does how far a session is that says when it began.
    for runs in 1..=2 {
        let summary = summary_of("s", "Is it?", runs);
        dir.write(&format!("summaries/{runs}/s.yaml"), summary.as_bytes());
    }
    native("pi", "once", "summaries/1");
    native("pi", "later", "summaries/2");
    assert_eq!(ids("once"), ids("later"));
}

#[test]
fn a_parent_in_the_folder_of_the_same_project_stays_beside_its_fork() {
    let parents = [
        ("/tmp/x/sessions/--tmp-x-proj--/p.jsonl", "/T/x/sessions/--T-x-proj--/p.jsonl"),
        ("/root/sessions/--tmp-x-proj--/p.jsonl", "/root/sessions/--T-x-proj--/p.jsonl"),
        ("/tmp/sessions/--srv-other--/p.jsonl", "/T/sessions/--srv-other--/p.jsonl"),
    ];
    for (old, new) in parents {
        let dir = Dir::new();
        let more = format!("/tmp/x/proj\",\"parentSession\":\"{old}\"}}");
        dir.write("s.jsonl", SESSION.replace("/home/ada/my.app\"}", &more).as_bytes());
        let moved = ["--map-path", "/tmp=/T", "s.jsonl"];
        let native = ["convert", "-t", "pi", "--layout", "native", "--out-dir", "native"];
        assert_eq!(dir.exit(&[&native[..], &moved].concat()).0, 0);
        let (file, _) = &all(&dir, "native")[0];
        assert!(file.starts_with("--T-x-proj--/"), "{file}");
        assert_eq!(headers(&dir, "native")[0]["parentSession"], new);
        // Where files keep their names, so do the folders of others.
        let plain = ["convert", "-t", "pi", "--out-dir", "plain"];
        assert_eq!(dir.exit(&[&plain[..], &moved].concat()).0, 0);
        let kept = headers(&dir, "plain")[0]["parentSession"].clone();
        assert_eq!(kept, old.replace("/tmp/", "/T/"));
    }
}

#[test]
fn a_session_that_its_software_lists_for_no_project_is_reported() {
    let dir = Dir::new();
    dir.write("in/summary.yaml", summary_of("s", "Is it?", 1).as_bytes());
    dir.write("in/run.yaml", run_of("Is it?", 11).as_bytes());
    let to = |to: &str, more: &[&str]| {
        let (code, said) = dir.exit(&[&["convert", "-t", to], more, &["in"]].concat());
        assert_eq!(code, 0, "{said}");
        said
    };
    let said = to("pi", &["--layout", "native", "--out-dir", "pi"]);
    assert_eq!(said.matches("CY0723").count(), 1, "{said}");
    assert!(said.contains("summary.yaml: warning[CY0723]") && said.contains("`----`"), "{said}");
    let quiet = [
        to("pi", &["--out-dir", "plain"]),
        to("connectonion", &["--layout", "native", "--out-dir", "co"]),
        to("codelia@1", &["--layout", "native", "--out-dir", "runs"]),
    ];
    assert!(quiet.iter().all(|said| !said.contains("CY0723")), "{quiet:#?}");
}
