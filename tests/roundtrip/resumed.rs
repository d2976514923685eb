//! Sessions of every other format, which the real Codex CLI lists and resumes, and rollouts of 2025,
//! which it does again.

use crate::common::codex::{Answer, Cli, RELEASES, items};
use crate::common::{Dir, corpus, files, name, read, recognise, without_stand_ins};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folders of the corpus with the sessions of one format each.
const SETS: [&str; 5] =
    ["pi/generated", "connectonion", "agent-orchestrator", "codelia", "claude-code/generated"];

/// Parts of paths of files that are damaged, or no sessions of their own.
const OTHER: &[&str] =
    &["/mut/", "/edge", "/truth/", ".meta.json", "/messages/", "/state", "/expected/", "subagents"];

/// Number of sessions of each format, or as many as `COPYIST_EACH` says.
const EACH: usize = 10;

fn each() -> usize {
    std::env::var("COPYIST_EACH").ok().and_then(|n| n.parse().ok()).unwrap_or(EACH)
}

/// Sessions of a folder, more than are wanted: Codex lists none in which nobody asked anything.
fn sessions(folder: &Path) -> Vec<PathBuf> {
    let whole = |file: &PathBuf| {
        let text = file.to_string_lossy();
        !OTHER.iter().any(|part| text.contains(part)) && recognise(&read(file)).is_some()
    };
    let all: Vec<_> = files(folder).into_iter().filter(whole).collect();
    let step = (all.len() / (3 * each())).max(1);
    all.into_iter().step_by(step).collect()
}

/// Messages of a context, without the spellings of formats: identifiers of calls, and whether
/// a text is one block or two.
fn told(dir: &Dir, file: &str) -> Vec<[String; 3]> {
    let printed = dir.run(&["context", "-q", "--as", "canonical", file]).stdout;
    let printed: Value = serde_json::from_slice(&printed).unwrap_or_default();
    let mut told: Vec<[String; 3]> = Vec::new();
    for message in printed["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        for block in message["content"].as_array().into_iter().flatten() {
            let said = |value: &Value| without_stand_ins(value.as_str().unwrap_or_default());
            let kind = block["type"].as_str().unwrap_or_default();
            let new = match kind {
                "text" => said(&block["text"]),
                "tool_call" => {
                    let name = block["name"].as_str().unwrap_or_default();
                    let plain =
                        |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
                    let name: String = name.chars().take(64).map(plain).collect();
                    format!("{name} {}", block["arguments"])
                }
                "tool_result" => match block["content"].as_array() {
                    Some(list) => list.iter().map(|part| said(&part["text"])).collect(),
                    None => said(&block["content"]),
                },
                _ => continue,
            };
            match told.last_mut() {
                Some([last, was, text]) if *last == role && was == kind && kind == "text" => {
                    *text += &new;
                }
                _ => told.push([role.to_owned(), kind.to_owned(), new]),
            }
        }
    }
    told.retain(|[role, kind, text]| {
        role != "system" && (kind != "text" || !text.trim().is_empty())
    });
    told
}

/// The items without what a release adds at another place: 0.34 sends the result `aborted` of a call
/// without one before everything else.
fn known(release: &str, mut items: Vec<Value>) -> Vec<Value> {
    items.retain(|item| release != "0.34.0" || item["output"] != "aborted");
    items
}

/// Whether an item is a long result, of which releases from 0.77 on send the beginning and the end.
fn is_cut(sent: &Value, ours: &Value) -> bool {
    let (Some(cut), Some(whole)) = (sent["output"].as_str(), ours["output"].as_str()) else {
        return false;
    };
    let ends = cut.split_once("\u{2026}").zip(cut.rsplit_once("\u{2026}"));
    sent["call_id"] == ours["call_id"]
        && cut.contains(" truncated\u{2026}")
        && ends.is_some_and(|((_, _), (_, end))| whole.ends_with(end))
}

/// Counts of one format: sessions, and how many of them each release lists, resumes, and sends as
/// `context` prints them.
#[derive(Debug, Default)]
struct Counts {
    sessions: u32,
    listed: [u32; 4],
    resumed: [u32; 4],
    same: [u32; 4],
}

impl Counts {
    /// Asks all releases about a rollout; adds what is wrong.
    fn ask(&mut self, cli: &Cli, dir: &Dir, rollout: &Path, what: &str, wrong: &mut Vec<String>) {
        let printed = dir.run(&["context", "-q", rollout.to_str().expect("UTF-8")]).stdout;
        let printed: Value = serde_json::from_slice(&printed).unwrap_or_default();
        let ours = items(printed["messages"].as_array().cloned().unwrap_or_default());
        self.sessions += 1;
        for (n, answer) in cli.ask(rollout).into_iter().enumerate() {
            let Answer { resumed, listed, sent, error } = answer;
            let (sent, ours) = (known(RELEASES[n], sent), known(RELEASES[n], ours.clone()));
            let same = sent.len() == ours.len()
                && sent.iter().zip(&ours).all(|(sent, ours)| sent == ours || is_cut(sent, ours));
            self.listed[n] += u32::from(listed);
            self.resumed[n] += u32::from(resumed);
            self.same[n] += u32::from(same);
            // 0.34 drops a result that is no text, such as one with an image.
            let drops =
                RELEASES[n] == "0.34.0" && ours.iter().any(|item| item["output"].is_array());
            if !(resumed && listed && (same || drops)) {
                let place = sent.iter().zip(&ours).position(|(a, b)| a != b);
                let place = place.unwrap_or(sent.len().min(ours.len()));
                let differs = [sent.get(place), ours.get(place)];
                wrong.push(format!(
                    "{what} in {}: resumed {resumed}, listed {listed}, {} of {} items, {differs:?} {error}",
                    RELEASES[n],
                    sent.len(),
                    ours.len(),
                ));
            }
        }
    }
}

/// The one rollout below a folder.
fn rollout(folder: &Path) -> Option<PathBuf> {
    files(folder).into_iter().find(|file| name(file).starts_with("rollout-"))
}

#[test]
#[ignore = "5 minutes: asks four releases of the Codex CLI about ten sessions of each format"]
fn codex_resumes_what_was_converted() {
    let (Some(cli), Some(corpus)) = (Cli::find(), corpus("sessions for Codex")) else { return };
    let (mut wrong, mut left) = (Vec::new(), Vec::new());
    let only = std::env::var("COPYIST_ONLY").unwrap_or_default();
    for set in SETS.into_iter().filter(|set| set.contains(&only)) {
        let mut counts = Counts::default();
        for file in sessions(&corpus.join(set)) {
            if counts.sessions as usize == each() {
                break;
            }
            let (dir, input) = (Dir::in_memory(), file.to_str().expect("UTF-8"));
            let to = ["-t", "codex", "--layout", "native", "--no-origin", "--out-dir", "out"];
            let (_, said) = dir.said(&[&["convert", "-q"][..], &to, &[input]].concat());
            let old = told(&dir, input);
            // Codex lists no session in which nobody asked anything.
            if !old.iter().any(|[role, kind, _]| role == "user" && kind == "text") {
                continue;
            }
            let Some(rollout) = rollout(&dir.path("out")) else {
                wrong.push(format!("{input}: {said}"));
                continue;
            };
            let new = told(&dir, rollout.to_str().expect("UTF-8"));
            if old != new {
                let place = old.iter().zip(&new).position(|(a, b)| a != b);
                let place = place.unwrap_or(old.len().min(new.len()));
                wrong.push(format!("{input}: {:?} became {:?}", old.get(place), new.get(place)));
            }
            counts.ask(&cli, &dir, &rollout, input, &mut wrong);
        }
        println!("{set}: {counts:?}");
        if counts.sessions < 5 {
            left.push(set);
        }
    }
    assert!(left.is_empty(), "few sessions of {left:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "a minute: asks four releases of the Codex CLI"]
fn codex_resumes_rollouts_of_2025() {
    let (Some(cli), Some(corpus)) = (Cli::find(), corpus("bare rollouts")) else { return };
    let (mut counts, mut wrong) = (Counts::default(), Vec::new());
    let bare = ["0.8.0", "0.20.0"].map(|release| files(&corpus.join("codex").join(release)));
    for file in bare.into_iter().flatten().filter(|file| name(file).starts_with("rollout-")) {
        let dir = Dir::in_memory();
        let input = file.to_str().expect("UTF-8");
        let (code, said) = dir.said(&["migrate", "-q", "--out-dir", "out", input]);
        assert_eq!(code, 0, "{said}");
        let rollout = rollout(&dir.path("out")).expect("a rollout");
        assert_eq!(told(&dir, input), told(&dir, rollout.to_str().expect("UTF-8")), "{input}");
        counts.ask(&cli, &dir, &rollout, input, &mut wrong);
    }
    println!("rollouts of 2025: {counts:?}");
    assert!(counts.sessions > 5 && wrong.is_empty(), "{}", wrong.join("\n"));
}
