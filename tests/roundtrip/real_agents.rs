//! Sessions that go to another agent, are continued there by its real program, and come back: the
//! source's bytes with the new turn behind them, which the source's own program resumes.

use crate::common::{Dir, corpus, files, name, read, recognise};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A real program that continues sessions of its format.
struct Program {
    format: &'static str,
    release: &'static str,
    /// Script of the oracle, and its arguments before the file.
    script: &'static str,
    args: &'static [&'static str],
    prompt: &'static str,
    answer: &'static str,
}

const PROGRAMS: [Program; 6] = [
    Program {
        format: "claude-code",
        release: "2.1.332",
        script: "claude-code/resume_probe.py",
        args: &["--no-listed", "--release", "2.1.332"],
        prompt: "NEXT-PROMPT of the probe",
        answer: "ok",
    },
    Program {
        format: "claude-code",
        release: "2.0.53",
        script: "claude-code/resume_probe.py",
        args: &["--no-listed", "--release", "2.0.53"],
        prompt: "NEXT-PROMPT of the probe",
        answer: "ok",
    },
    Program {
        format: "codex",
        release: "0.169.0",
        script: "codex/resume_probe.py",
        args: &["--version", "0.169.0", "--timeout", "60"],
        prompt: "probe: go on",
        answer: "ok",
    },
    Program {
        format: "codex",
        release: "0.77.0",
        script: "codex/resume_probe.py",
        args: &["--version", "0.77.0", "--timeout", "60"],
        prompt: "probe: go on",
        answer: "ok",
    },
    Program {
        format: "pi",
        release: "0.73.1",
        script: "pi/resume_probe.py",
        args: &["--tool"],
        prompt: "probe: go on",
        answer: "The mock has gone on.",
    },
    Program {
        format: COPILOT,
        release: "1.0.102",
        script: "copilot-cli/resume_probe.py",
        args: &["--full", "--version", "1.0.102"],
        prompt: "probe: go on",
        answer: "ok",
    },
];

/// Format whose program finds a session by the name of its folder.
const COPILOT: &str = "copilot-cli";

/// Folders of the corpus with the sessions of one format each.
const SETS: [(&str, &str); 7] = [
    ("pi", "pi/generated"),
    ("claude-code", "claude-code/generated"),
    ("codex", "codex"),
    ("connectonion", "connectonion"),
    ("agent-orchestrator", "agent-orchestrator"),
    ("codelia", "codelia"),
    (COPILOT, COPILOT),
];

/// Folder of the corpus in which Codelia keeps runs, states and messages.
const HOME: &str = "codelia/v0.1.80/home/sessions";

/// Parts of paths of files that are damaged, or no sessions of their own.
const OTHER: &[&str] = &[
    "/mut/",
    "/edge",
    "/truth/",
    ".meta.json",
    "/messages/",
    "/state",
    "/expected/",
    "subagents",
    "/migrated/",
    "/agent-a",
    "/probes/",
    "/damage/",
];

/// Session as arguments name it: a file, or a folder and an identifier in it.
#[derive(Clone)]
struct Session {
    path: PathBuf,
    id: Option<String>,
}

impl Session {
    fn file(path: &Path) -> Self {
        Self { path: path.to_owned(), id: None }
    }

    /// Returns the session below a folder that Codelia or copyist wrote.
    fn below(folder: &Path, file: &Path) -> Option<Self> {
        let text = read(file);
        let header = text.split(|byte| *byte == b'\n').next()?;
        let header: Value = serde_json::from_slice(header).ok()?;
        let id = header["session_id"].as_str()?.to_owned();
        Some(Self { path: folder.to_owned(), id: Some(id) })
    }

    fn args(&self) -> Vec<&str> {
        let path = self.path.to_str().expect("UTF-8");
        self.id.iter().flat_map(|id| ["--session", id]).chain([path]).collect()
    }

    /// Returns the contents of the session's files that agents only append to.
    fn lines(&self) -> Vec<Vec<u8>> {
        if self.id.is_none() {
            let is_lines = self.path.extension().is_some_and(|ending| ending == "jsonl");
            return is_lines.then(|| read(&self.path)).into_iter().collect();
        }
        let runs = files(&self.path).into_iter().filter(|file| {
            let run = Self::below(&self.path, file);
            run.is_some_and(|run| run.id == self.id)
        });
        runs.map(|run| read(&run)).collect()
    }
}

impl Program {
    /// Asks the program to continue a session with one prompt.
    fn ask(&self, corpus: &Path, file: &Path) -> Result<Value, String> {
        let script = corpus.join("../oracle").join(self.script);
        let mut command = Command::new("python3");
        let session = if self.format == COPILOT { file.parent().expect("a folder") } else { file };
        let done = command.arg(script).args(self.args).arg(session).output().expect("python3");
        serde_json::from_slice(&done.stdout)
            .map_err(|_| String::from_utf8_lossy(&done.stderr).into_owned())
    }

    /// Returns a session with the lines that the program added.
    fn resume(&self, corpus: &Path, file: &Path) -> Result<Vec<u8>, String> {
        let value = self.ask(corpus, file)?;
        let added = value["appended"].as_array().filter(|added| !added.is_empty());
        let (Some(added), true) = (added, value["kept"] == true) else {
            return Err(format!("{} {} {}", value["rc"], value["error"], value["result"]));
        };
        let mut session = read(file);
        for line in added {
            session.extend_from_slice(line.to_string().as_bytes());
            session.push(b'\n');
        }
        Ok(session)
    }

    /// Returns the request of the program for a session, as text.
    fn sends(&self, corpus: &Path, file: &Path) -> Result<String, String> {
        let value = self.ask(corpus, file)?;
        Ok([&value["messages"], &value["input"]].map(ToString::to_string).concat())
    }
}

/// Beginning of the result that stands for one that is missing. A program that goes on writes a
/// result of its own there.
const NO_RESULT: &str = "No result: the session was interrupted";

/// Messages of a context, as text.
fn context(dir: &Dir, session: &Session) -> Vec<String> {
    let args = ["context", "-q", "--as", "canonical"];
    let printed = dir.run(&[&args[..], &session.args()].concat()).stdout;
    let printed: Value = serde_json::from_slice(&printed).unwrap_or_default();
    let messages = printed["messages"].as_array().into_iter().flatten();
    let messages = messages.filter(|message| message["role"] != "system");
    messages.map(ToString::to_string).filter(|message| !message.contains(NO_RESULT)).collect()
}

/// Whether a context goes on. Its last answer may go on, too: agents join answers in a row.
fn is_continued(was: &[String], is: &[String]) -> bool {
    let Some((last, before)) = was.split_last() else { return true };
    let open = last.trim_end_matches(['"', '}', ']']);
    is.starts_with(before) && is.get(before.len()).is_some_and(|next| next.starts_with(open))
}

/// Converts a session into a folder; returns the session there.
fn convert(dir: &Dir, to: &str, session: &Session, folder: &str) -> Result<Session, String> {
    let args = ["convert", "-q", "-t", to, "--out-dir", folder];
    let layout: &[&str] = if to == COPILOT { &["--layout", "native"] } else { &[] };
    let (code, said) = dir.said(&[&args[..], layout, &session.args()].concat());
    if code != 0 || !dir.path(folder).is_dir() {
        return Err(format!("exit {code}: {said}"));
    }
    let written = files(&dir.path(folder)).into_iter();
    let main = written
        .filter(|file| !name(file).ends_with(".meta.json") && !name(file).starts_with("agent-"))
        .find(|file| recognise(&read(file)).is_some_and(|(format, _)| format.name == to));
    let main = main.ok_or(said)?;
    // A session of Codelia is a file for each of its runs.
    let whole = (to == "codelia").then(|| Session::below(&dir.path(folder), &main)).flatten();
    Ok(whole.unwrap_or_else(|| Session::file(&main)))
}

/// Takes a session to a program and back, `rounds` times.
fn there_and_back(
    (corpus, dir): (&Path, &Dir),
    (format, program): (&str, &Program),
    source: &Session,
    rounds: usize,
) -> Result<(), String> {
    let mut source = source.clone();
    for round in 0..rounds {
        let target = convert(dir, program.format, &source, &format!("out-{round}"))
            .map_err(|error| format!("not converted: {error}"))?;
        let resumed =
            program.resume(corpus, &target.path).map_err(|e| format!("not resumed: {e}"))?;
        std::fs::write(&target.path, &resumed).expect("written");
        let back = convert(dir, format, &target, &format!("back-{round}"))
            .map_err(|error| format!("round {round} not back: {error}"))?;
        let (was, is) = (context(dir, &source), context(dir, &back));
        let new = is.get(was.len()..).unwrap_or_default().concat();
        let shown = new.contains(program.prompt) && new.contains(program.answer);
        if !shown || !is_continued(&was, &is) {
            return Err(format!("round {round}: {} messages became {}", was.len(), is.len()));
        }
        let lines = back.lines();
        if !source.lines().iter().all(|was| lines.iter().any(|is| is.starts_with(was))) {
            return Err(format!("round {round}: other bytes at the beginning"));
        }
        let own = PROGRAMS.iter().find(|own| own.format == format);
        if let Some(own) = own {
            let sent =
                own.sends(corpus, &back.path).map_err(|e| format!("back, not resumed: {e}"))?;
            if !sent.contains(program.prompt) || !sent.contains(program.answer) {
                return Err(format!("round {round}: {} does not send the new turn", own.format));
            }
        }
        source = back;
    }
    Ok(())
}

/// Returns sessions of a format: files, and for Codelia whole sessions of a home too.
fn sessions(corpus: &Path, (format, set): (&str, &str)) -> Vec<Session> {
    let whole = |file: &PathBuf| {
        let text = file.to_string_lossy();
        !OTHER.iter().any(|part| text.contains(part))
            && recognise(&read(file)).is_some_and(|(own, _)| own.name == format)
    };
    let all: Vec<_> = files(&corpus.join(set)).into_iter().filter(whole).collect();
    let home = corpus.join(HOME);
    let in_home = |file: &PathBuf| {
        let session = file.starts_with(&home).then(|| Session::below(&home, file)).flatten();
        session.unwrap_or_else(|| Session::file(file))
    };
    let mut all: Vec<_> = all.iter().map(in_home).collect();
    all.dedup_by(|one, other| one.id.is_some() && one.id == other.id);
    all
}

#[test]
#[ignore = "20 minutes: real releases of Claude Code, Codex and pi continue five sessions of each format"]
fn sessions_continued_by_real_programs_are_restored() {
    let Some(corpus) = corpus("sessions_continued_by_real_programs_are_restored") else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<usize>().ok());
    let only = std::env::var("COPYIST_ONLY").unwrap_or_default();
    let (each, rounds) =
        (number("COPYIST_EACH").unwrap_or(5), number("COPYIST_ROUNDS").unwrap_or(2));
    let mut wrong = Vec::new();
    for (format, set) in SETS {
        let all = sessions(&corpus, (format, set));
        for program in PROGRAMS.iter().filter(|program| program.format != format) {
            let pair = format!("{format} -> {} {}", program.format, program.release);
            if !pair.contains(&only) {
                continue;
            }
            let (mut tried, mut whole) = (0, 0);
            for source in all.iter().step_by((all.len() / (2 * each)).max(1)) {
                if tried == each {
                    break;
                }
                let dir = Dir::in_memory();
                match there_and_back((&corpus, &dir), (format, program), source, rounds) {
                    Ok(()) => whole += 1,
                    // The program itself refuses a session without a question, in any format.
                    Err(error) if error.starts_with("not ") => {
                        println!("SKIP {pair}: {}: {error}", source.args().join(" "));
                        continue;
                    }
                    Err(error) => {
                        wrong.push(format!("{pair}: {}: {error}", source.args().join(" ")));
                    }
                }
                tried += 1;
            }
            println!("{pair}: {whole} of {tried} whole");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
