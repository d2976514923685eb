//! Claude Code's older transcripts: told from newer ones, migrated, with the files of sub-agents.

use crate::claude_code::{context_of, has_open_calls, judged, said};
use crate::common::{Dir, corpus, files, inputs_below, name, own, read, testdata};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

const SESSION: &str = "9a4d7e02-5b16-4c38-8f71-e3d2c1b0a495";

/// A line of a transcript; `more` are members that it has besides.
fn line(kind: &str, id: u8, parent: Option<u8>, message: Value, more: Value) -> String {
    let uuid = |id: u8| format!("{id:08x}-33cc-4d44-8e55-66f77889900a");
    let mut line = json!({
        "parentUuid": parent.map(uuid), "isSidechain": false, "cwd": "/home/ada/maps",
        "sessionId": SESSION, "version": "2.0.53", "type": kind, "message": message,
        "uuid": uuid(id), "timestamp": format!("2026-05-06T07:08:{id:02}.000Z"),
    });
    let members = line.as_object_mut().expect("an object");
    members.extend(more.as_object().cloned().unwrap_or_default());
    format!("{line}\n")
}

fn user(id: u8, parent: Option<u8>, said: &str) -> String {
    line("user", id, parent, json!({"role": "user", "content": said}), json!({}))
}

fn answer(id: u8, parent: Option<u8>, block: Value, more: Value) -> String {
    let message = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant",
        "model": "claude-x", "content": [block]});
    line("assistant", id, parent, message, more)
}

fn text(said: &str) -> Value {
    json!({"type": "text", "text": said})
}

/// A session of release 2.0 with a sub-agent in a file beside it, and that file.
fn flat() -> (String, String) {
    let call = json!({"type": "tool_use", "id": "toolu_map", "name": "Task", "input":
        {"description": "Find maps", "prompt": "Which maps?", "subagent_type": "finder"}});
    let result = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_map", "content": "Two."}]});
    let details = json!({"toolUseResult": {"agentId": "1a2b3c4d", "prompt": "Which maps?"}});
    let main = [
        user(1, None, "Look for maps."),
        answer(2, Some(1), call, json!({})),
        line("user", 5, Some(2), result, details),
        answer(6, Some(5), text("Two maps."), json!({})),
    ];
    let aside = json!({"isSidechain": true, "agentId": "1a2b3c4d"});
    let agent = [answer(3, None, text("Two."), aside)];
    (main.concat(), agent.concat())
}

fn lines(text: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn sub_agents_beside_a_session_move_below_it() {
    let dir = Dir::new();
    let (main, agent) = flat();
    let (session, beside) = (format!("{SESSION}.jsonl"), "agent-1a2b3c4d.jsonl");
    dir.write(&session, main.as_bytes());
    dir.write(beside, agent.as_bytes());
    let warm = answer(9, None, text("{}"), json!({"isSidechain": true, "agentId": "99999999"}));
    dir.write("agent-99999999.jsonl", warm.as_bytes());
    assert!(dir.said(&["detect", &session]).1.contains("claude-code@1"));
    assert!(dir.said(&["inspect", &session]).1.contains("agents    1 started by calls"));
    assert_eq!(dir.exit(&["migrate", "-q", "-n", "--in-place", "."]).0, 0);
    assert_eq!(dir.names().len(), 3);

    assert_eq!(dir.exit(&["migrate", "-q", "--in-place", "."]).0, 0);
    assert_eq!(read(&dir.path(&session)), main.as_bytes(), "the conversation is as it was");
    assert_eq!(read(&dir.path(beside)), agent.as_bytes(), "the file beside it stays");
    let below = format!("{SESSION}/subagents/agent-1a2b3c4d");
    let moved = lines(&read(&dir.path(&format!("{below}.jsonl"))));
    assert_eq!(moved[0]["message"], json!({"role": "user", "content": "Which maps?"}));
    assert_eq!(moved[0]["parentUuid"], json!(null));
    assert_eq!(moved[1]["parentUuid"], moved[0]["uuid"]);
    assert_eq!(moved[1]["message"], lines(agent.as_bytes())[0]["message"]);
    let about: Value =
        serde_json::from_slice(&read(&dir.path(&format!("{below}.meta.json")))).expect("JSON");
    let wanted =
        json!({"agentType": "finder", "description": "Find maps", "toolUseId": "toolu_map"});
    assert_eq!(about, wanted);
    assert_eq!(dir.names().len(), 6, "the original is kept: {:?}", dir.names());
    let (code, said) = dir.said(&["migrate", "--in-place", "."]);
    assert!(code == 0 && !said.contains("migrated"), "{said}");
    assert_eq!(dir.exit(&["validate", "-q", &session]).0, 0);
}

#[test]
fn side_chains_get_files_and_the_conversation_keeps_its_bytes() {
    let dir = Dir::new();
    let source = own("claude-code/v1/sidechain");
    dir.write("a.jsonl", &source);
    let (code, said) = dir.exit(&["migrate", "--out-dir", "out", "a.jsonl"]);
    assert!(code == 0 && said.contains("CY0318"), "{said}");
    let out = read(&dir.path("out/a.jsonl"));
    let side = |line: &&[u8]| String::from_utf8_lossy(line).contains("\"isSidechain\":true");
    let own: Vec<&[u8]> = source.split(|b| *b == b'\n').collect();
    let (sides, main): (Vec<_>, Vec<_>) = own.into_iter().partition(side);
    assert_eq!(out.split(|b| *b == b'\n').skip(1).collect::<Vec<_>>(), main[1..]);
    let agents: Vec<_> =
        files(&dir.path("out/a")).into_iter().filter(|f| name(f).ends_with(".jsonl")).collect();
    let moved = lines(&read(&agents[0]));
    assert_eq!((agents.len(), moved.len()), (1, sides.len()));
    assert_eq!(format!("agent-{}.jsonl", moved[0]["agentId"].as_str().unwrap()), name(&agents[0]));
    let shown = dir.said(&["inspect", "out/a.jsonl"]).1;
    assert!(
        shown.contains("claude-code@2") && shown.contains("name      Lamps of the hall"),
        "{shown}"
    );
    // Without room for files, nothing is written.
    let (code, said) = dir.exit(&["migrate", "-o", "one.jsonl", "a.jsonl"]);
    assert!(code != 0 && !dir.path("one.jsonl").exists(), "{said}");
}

#[test]
fn the_newest_message_stays_the_leaf() {
    let dir = Dir::new();
    let later = json!({"timestamp": "2026-05-06T09:00:00.000Z"});
    let text = [
        user(1, None, "Which way?"),
        answer(2, Some(1), text("North."), later),
        user(3, Some(1), "No?"),
        answer(4, Some(3), text("South."), json!({})),
    ];
    dir.write("a.jsonl", text.concat().as_bytes());
    assert_eq!(dir.exit(&["migrate", "-q", "--in-place", "a.jsonl"]).0, 0);
    let out = read(&dir.path("a.jsonl"));
    assert!(out.starts_with(text.concat().as_bytes()));
    let last = lines(&out).pop().expect("a line");
    assert_eq!(
        (&last["type"], &last["leafUuid"]),
        (&json!("last-prompt"), &lines(&out)[1]["uuid"])
    );
    let sent = dir.run(&["context", "-q", "a.jsonl"]).stdout;
    let sent = String::from_utf8(sent).expect("UTF-8");
    assert!(sent.contains("North.") && !sent.contains("South."), "{sent}");
}

#[test]
fn files_below_a_session_go_with_it() {
    let dir = Dir::new();
    let case = testdata().join("claude-code/v2/subagents/in");
    let all = files(&case);
    let below = |path: &Path| path.strip_prefix(&case).expect("below").display().to_string();
    all.iter().for_each(|path| drop(dir.write(&format!("in/{}", below(path)), &read(path))));
    // A folder above the session may have the name of one below it.
    let other = |path| drop(dir.write(&format!("subagents/x/{}", below(path)), &read(path)));
    all.iter().for_each(|path| other(path));
    let args = ["convert", "-q", "-t", "claude-code", "--out-dir", "other", "subagents"];
    assert_eq!(dir.exit(&args).0, 0);
    assert_eq!(files(&dir.path("other")).len(), all.len());
    assert_eq!(dir.exit(&["convert", "-q", "-t", "canonical", "--out-dir", "stream", "in"]).0, 0);
    assert_eq!(
        dir.exit(&["convert", "-q", "-t", "claude-code", "--out-dir", "back", "stream"]).0,
        0
    );
    assert_eq!(dir.exit(&["convert", "-q", "-t", "claude-code", "--out-dir", "copy", "in"]).0, 0);
    for path in &all {
        for folder in ["back", "copy"] {
            let same = read(&dir.path(&format!("{folder}/{}", below(path)))) == read(path);
            assert!(same, "{folder}: {}", path.display());
        }
    }
    // A torn line of a sub-agent is mended in its file.
    let agent = all.iter().find(|path| name(path).starts_with("agent-")).expect("an agent");
    let torn = format!("in/{}", below(agent));
    let text = read(agent);
    dir.write(&torn, &text[..text.len() - 20]);
    let session = all.iter().find(|path| path.parent() == Some(&case)).expect("a session");
    let (code, said) = dir.exit(&["repair", "--in-place", &format!("in/{}", name(session))]);
    assert!(code == 0 && read(&dir.path(&torn)).ends_with(b"}\n"), "{said}");
    assert!(read(&dir.path(&torn)).len() < text.len());
}

#[test]
fn all_releases_of_a_session_are_shown() {
    let dir = Dir::new();
    let newer = json!({"version": "2.1.332"});
    let text = [user(1, None, "Hello."), answer(2, Some(1), text("Hello."), newer)];
    dir.write("a.jsonl", text.concat().as_bytes());
    let shown = dir.said(&["inspect", "a.jsonl"]).1;
    assert!(shown.contains("client    claude-code 2.0.53, 2.1.332"), "{shown}");
}

#[test]
fn calls_behind_the_last_one_are_no_part_of_its_answer() {
    let dir = Dir::new();
    let call = |id: &str| json!([{"type": "tool_call", "id": id, "name": "b", "arguments": {}}]);
    let records = [
        json!({"kind": "session", "source": "importer@1", "id": "s", "leaf": "b"}),
        json!({"kind": "message", "id": "a", "parent": null, "role": "user", "content": "Go."}),
        json!({"kind": "message", "id": "b", "parent": "a", "role": "assistant", "content": call("c1")}),
        json!({"kind": "message", "id": "c", "parent": "b", "role": "assistant", "content": call("c2")}),
    ];
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    dir.write("a.jsonl", text.as_bytes());
    assert_eq!(dir.exit(&["convert", "-q", "-t", "claude-code", "-o", "b.jsonl", "a.jsonl"]).0, 0);
    let sent = String::from_utf8(dir.run(&["context", "-q", "b.jsonl"]).stdout).expect("UTF-8");
    assert!(sent.contains("c1") && !sent.contains("c2"), "{sent}");
}

#[test]
fn sessions_of_real_releases_keep_their_conversation() {
    let Some(corpus) = corpus("sessions_of_real_releases_keep_their_conversation") else { return };
    let (mut migrated, mut agents, mut titles) = (0, 0, 0);
    for scenario in std::fs::read_dir(corpus.join("claude-code/generated")).expect("a folder") {
        let dir = Dir::in_memory();
        let release = scenario.expect("an entry").path();
        if !release.is_dir() {
            continue;
        }
        let release = release.to_string_lossy();
        let done =
            dir.exit(&["migrate", "-q", "--exclude", "expected", "--out-dir", "out", &release]);
        // A release leaves empty files, too.
        assert!(done.0 <= 1 && !done.1.contains("CY01"), "{}", done.1);
        for file in files(&dir.path("out")) {
            let inside = file.strip_prefix(dir.path("out")).expect("below").to_owned();
            let Ok(source) = std::fs::read(Path::new(&*release).join(&inside)) else {
                agents += usize::from(name(&file).ends_with(".jsonl"));
                continue;
            };
            let text = read(&file);
            if text == source {
                continue;
            }
            migrated += 1;
            let mut left = text.split(|b| *b == b'\n');
            for line in source.split(|b| *b == b'\n') {
                let old = String::from_utf8_lossy(line);
                if old.contains("\"isSidechain\":true") {
                    continue;
                }
                let new = left.next().expect("a line");
                if new != line {
                    assert!(old.starts_with("{\"type\":\"summary\""), "{old}");
                    titles += 1;
                }
            }
            assert_eq!(left.next(), None, "{}", file.display());
        }
    }
    println!("{migrated} sessions changed, {agents} files of sub-agents, {titles} titles");
    assert!(agents >= 5, "{agents}");
}

#[test]
#[ignore = "takes minutes, and installs the real program"]
fn the_real_program_resumes_migrated_sessions() {
    let Some(corpus) = corpus("the_real_program_resumes_migrated_sessions") else { return };
    let script = corpus.join("../oracle/claude-code/resume_probe.py");
    let dir = Dir::new();
    let mut sources = files(&corpus.join("claude-code/edge/writer"));
    sources.extend(inputs_below(&testdata().join("claude-code/v1")));
    let generated = ["1.0.0/subagents", "1.0.128/branched", "2.0.53/subagents", "2.0.53/parallel"];
    for scenario in generated {
        let below = files(&corpus.join("claude-code/generated").join(scenario).join("projects"));
        sources.extend(below.into_iter().filter(|file| !name(file).starts_with("agent-")));
    }
    let mut written = Vec::new();
    for (n, source) in sources.iter().enumerate() {
        let (told, out) = (source.display().to_string(), format!("{n}"));
        if !dir.said(&["detect", &told]).1.contains("claude-code@1") {
            continue;
        }
        assert_eq!(dir.exit(&["migrate", "-q", "--out-dir", &out, &told]).0, 0, "{told}");
        written.push(dir.path(&format!("{n}/{}", name(source))));
    }
    println!("| session | release | messages | sent |\n|---|---|---|---|");
    for release in ["2.0.53", "2.1.332"] {
        for (verdict, file) in judged(&script, release, &written).iter().zip(&written) {
            let stem = name(file);
            let wanted = said(&context_of(&read(file)).expect("a context"));
            let sent = said(&verdict["messages"]);
            println!("| {stem} | {release} | {} | {} |", wanted.len(), sent.len());
            assert!(verdict["ok"] == true && verdict["kept"] == true, "{stem}: {verdict}");
            assert_eq!(verdict["refused"], json!([]), "{stem} in {release}");
            assert!(sent == wanted || has_open_calls(&wanted), "{stem}: {wanted:#?}\n{sent:#?}");
        }
    }
}

#[test]
fn side_files_go_with_their_session() {
    let dir = Dir::new();
    let (main, agent) = flat();
    let warm = answer(9, None, text("{}"), json!({"isSidechain": true, "agentId": "99999999"}));
    let session = format!("{SESSION}.jsonl");
    let all =
        [(session.as_str(), main), ("agent-1a2b3c4d.jsonl", agent), ("agent-99999999.jsonl", warm)];
    for (name, bytes) in &all {
        dir.write(&format!("in/{name}"), bytes.as_bytes());
    }
    let out = |to: &str, native: bool, out: &str, from: &[&str]| {
        let layout = ["--layout", if native { "native" } else { "mirror" }];
        let args = [&["convert", "-t", to, "--out-dir", out], &layout[..], from].concat();
        let (code, said) = dir.exit(&args);
        assert_eq!(code, 0, "{to} {said}");
        let names = dir.names().into_iter().filter_map(|n| n.strip_prefix(out).map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    let named: Vec<_> = all.iter().map(|(name, _)| format!("in/{name}")).collect();
    let named: Vec<_> = named.iter().map(String::as_str).collect();
    for (place, from) in [&["in"][..], &named].into_iter().enumerate() {
        for to in ["codex", "pi"] {
            let files = out(to, true, &format!("{to}{place}"), from);
            assert!(files.len() == 1 && files[0].contains(SESSION), "{files:?}");
        }
        let same = |out: &str, folder: &str| {
            for (name, bytes) in &all {
                assert!(
                    read(&dir.path(&format!("{out}{folder}/{name}"))) == bytes.as_bytes(),
                    "{name}"
                );
            }
        };
        for (to, version) in [("claude-code", 2), ("claude-code@1", 1)] {
            let folder = format!("own{place}{version}");
            let files = out(to, true, &folder, from);
            assert_eq!(files.len(), 3, "{files:?}");
            same(&folder, "/-home-ada-maps");
        }
        let back = format!("back{place}");
        out("claude-code@1", false, &back, &[&format!("codex{place}")]);
        let file = dir
            .names()
            .into_iter()
            .find(|name| name.starts_with(&back) && !name.contains("agent-"));
        let folder = file.expect("a session");
        let folder = Path::new(&folder).parent().expect("a folder").to_str().expect("UTF-8");
        for (name, bytes) in &all[1..] {
            assert!(read(&dir.path(&format!("{folder}/{name}"))) == bytes.as_bytes(), "{name}");
        }
    }
    // Without their session, they are sessions of their own.
    std::fs::remove_file(dir.path(named[0])).expect("removed");
    let files = out("codex", true, "alone", &["in"]);
    let ids: HashSet<_> = files.iter().map(|name| name[name.len() - 42..].to_owned()).collect();
    assert!(files.len() == 2 && ids.len() == 2, "{files:?}");
}

/// Sub-agents of the real release 2.0.53 go with their sessions, and no two outputs have one name.
#[test]
fn side_files_of_a_real_home_go_with_their_sessions() {
    let Some(home) = corpus("side files") else { return };
    let home = home.join("claude-code/generated/2.0.53");
    for to in ["codex", "pi", "claude-code"] {
        let dir = Dir::new();
        let args = ["convert", "-q", "-t", to, "--layout", "native", "--out-dir", "out"];
        let (code, said) = dir.exit(&[&args[..], &[home.to_str().expect("UTF-8")]].concat());
        assert_eq!(code, 0, "{said}");
        let outputs = files(&dir.path("out"));
        let outputs = outputs.iter().filter(|path| name(path).ends_with(".jsonl"));
        let outputs = outputs.map(|path| name(path)).filter(|name| !name.starts_with("agent-"));
        let outputs: Vec<_> = outputs.collect();
        let id = |name: &String| {
            name[name.len() - "9a4d7e02-5b16-4c38-8f71-e3d2c1b0a495.jsonl".len()..].to_owned()
        };
        let ids: HashSet<_> = outputs.iter().map(id).collect();
        assert_eq!(ids.len(), outputs.len(), "{to}: {outputs:?}");
        assert!(outputs.len() > 30, "{to}: {outputs:?}");
    }
}

#[test]
fn the_release_decides_whether_times_make_an_older_session() {
    let dir = Dir::new();
    let text = [user(1, None, "caveat"), user(2, Some(1), "command"), user(3, Some(2), "output")];
    let same = text.concat().replace(":02.000Z", ":01.000Z").replace(":03.000Z", ":01.000Z");
    for (release, version) in [("2.1.71", "claude-code@2"), ("2.0.53", "claude-code@1")] {
        dir.write("s.jsonl", same.replace("2.0.53", release).as_bytes());
        let found = dir.said(&["detect", "s.jsonl"]).1;
        assert!(found.contains(version), "{release}: {found}");
    }
}

#[test]
fn the_model_is_the_one_that_a_rollout_names() {
    let dir = Dir::new();
    let rollout = files(&testdata().join("codex")).into_iter().find(|file| {
        let text = read(file);
        let has = |mark: &[u8]| text.windows(mark.len()).any(|found| found == mark);
        has(b"\"turn_context\"") && has(b"\"assistant\"") && has(b"\"model\":\"")
    });
    dir.write("in.jsonl", &read(&rollout.expect("a rollout that names its model")));
    let args = ["convert", "-q", "-t", "claude-code", "-o", "c.jsonl", "in.jsonl"];
    assert_eq!(dir.exit(&args).0, 0);
    let text = String::from_utf8(read(&dir.path("c.jsonl"))).expect("UTF-8");
    assert!(text.contains("\"model\":\"") && !text.contains("\"model\":\"unknown\""), "{text}");
}
