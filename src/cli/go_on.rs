//! The command `copyist continue`.

use super::changing::{Changing, name_journal};
use super::machine::{self, Among, resume, words};
use super::text::printable;
use super::{Stop, config, names, print};
use crate::batch::{FileReport, ReportedPath};
use crate::diagnostic::{Code, Severity, plural};
use crate::format::Format;
use crate::formats::Spec;
use crate::home::{
    Failed, Listed, Onward, Recipient, SessionPlace, Way, contains, largest_of, onward, tokens_of,
};
use crate::store::{Header, Undertaking};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Continue a session with another agent, and back
///
/// The session is written into the other agent's own folder, where the agent finds it, and the
/// command that resumes it there is printed. A session of the same agent from elsewhere, such as
/// another machine, is copied there. Back is the same command: the new messages are added to
/// the original session, behind its last byte. So a session can go out and back any number of times.
/// If both agents went on, it becomes a session of its own.
///
/// Without SESSION, you choose one at the terminal: type to filter. Without a terminal, and with
/// `--json`, the session of the current folder with the newest message is continued.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, an identifier, six or more characters of one, or `latest`
    #[arg(value_name = "SESSION")]
    session: Option<PathBuf>,
    /// Agent that continues the session, by the name of its format
    #[arg(long = "in", value_name = "AGENT", value_parser = names::format(), hide_possible_values = true)]
    to: Spec,
    /// Search only among the sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = names::format(), hide_possible_values = true)]
    agent: Option<Spec>,
    /// Folder in which a new session goes on; the default is the session's own
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Start the agent
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    run: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    changing: Changing,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let format = self.to.format;
        let only = self.agent.map(|agent| agent.format);
        let among = Among { only, target: Some(format), interactive: !self.json };
        let session = machine::one(self.session.as_deref(), among)?;
        if format.agent.command.is_none() {
            let name = format.name;
            let reason = format.agent.unresumable;
            let message =
                format!("{name} cannot resume it: {reason}; see `copyist convert --to {name}`");
            return Err(Stop::usage(message));
        }
        let places = places(format)?;
        let here = std::env::current_dir().unwrap_or_default();
        let cwd = self.cwd.as_deref().map(folder).transpose()?;
        let is_own = session.summary.agent == format.name;
        let moves = cwd.is_some() && cwd != session.summary.project;
        if is_own && !moves && contains(&places, &session.path) {
            return Err(own_already(format, &session));
        }
        let recipient = Recipient {
            to: self.to,
            places: &places,
            cwd,
            here: here.to_string_lossy().into_owned(),
        };
        let plan =
            || onward(&session, &recipient).map_err(|failed| stopped(&session.path, &failed));
        let settings = format!("{} → {}", session.path.display(), format.name);
        let what =
            Undertaking { command: Header::CONTINUE, settings: &settings, outcome: "continued" };
        let begin = |journal: &Path| name_journal("undo     ", journal, self.json);
        let (done, journal) = self.changing.carry_out(&what, plan, |done| &done.writes, begin)?;
        let tokens = tokens_of(&done.job).ok();
        let largest = largest_of(&session.job).ok().flatten();
        let largest = largest.filter(|(_, most)| tokens.is_some_and(|tokens| tokens > *most));
        let words = words(format, &done.summary.id, &done.path);
        let printed = Printed {
            session: &session,
            done: &done,
            tokens,
            largest,
            journal,
            words,
            dry: self.changing.dry_run,
        };
        let text = if self.json { printed.json(format) } else { printed.text(format) };
        let code = print(text.as_bytes())?;
        if self.run { start(&printed.words, done.summary.project.as_deref()) } else { Ok(code) }
    }
}

/// Returns the error for a session that the agent has and can resume by itself.
fn own_already(format: &'static Format, session: &Listed) -> Stop {
    let project = session.summary.project.as_deref();
    let words = words(format, &session.summary.id, &session.path);
    let way = match project.filter(|project| !Path::new(project).is_dir()) {
        Some(gone) => format!("there is no folder {gone}; `--cwd DIR` continues it in another"),
        None => format!("to resume it: {}", resume(project, &words)),
    };
    let (path, name) = (session.path.display(), format.name);
    Stop::usage(printable(&format!("{path} is a session of {name} already; {way}")))
}

/// Returns the folders of an agent's sessions, the one for new sessions first.
pub fn places(format: &'static Format) -> Result<Vec<SessionPlace>, Stop> {
    let Some(home) = config::home(format)? else {
        return Err(Stop::usage(format!("the folder of {}'s sessions is not known", format.name)));
    };
    let first = SessionPlace { path: home, format: Some(format), project: None };
    let mut all = vec![first.clone()];
    let others = machine::folders(Some(format))?.into_iter();
    all.extend(others.filter(|place| place.path != first.path && place.path.is_dir()));
    Ok(all)
}

/// Returns the absolute path of a folder that exists.
fn folder(path: &Path) -> Result<String, Stop> {
    let real = path.canonicalize().ok().filter(|path| path.is_dir());
    let real = real.ok_or_else(|| {
        Stop::usage(format!(
            "`--cwd {}`: there is no such folder",
            printable(&path.to_string_lossy())
        ))
    })?;
    Ok(real.to_string_lossy().into_owned())
}

/// Returns the reason why a session cannot be written for an agent.
pub fn stopped(path: &Path, failed: &Failed) -> Stop {
    let message = match failed {
        Failed::Error(error) => error.message().to_owned(),
        Failed::Report(report) => {
            let errors = report.findings.diagnostics.iter();
            let first = errors.max_by_key(|found| found.severity());
            first.map_or_else(|| "it gave no output".to_owned(), |found| found.message.clone())
        }
    };
    Stop { code: 3, message: printable(&format!("{}: {message}", path.display())) }
}

/// Starts the agent in the session's folder. Returns its exit code.
fn start(words: &[String], folder: Option<&str>) -> Result<u8, Stop> {
    let Some((program, args)) = words.split_first() else { return Ok(0) };
    let mut command = Command::new(program);
    command.args(args);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let done = command.status().map_err(|error| {
        let there = folder.is_none_or(|folder| Path::new(folder).is_dir());
        let what = if there { program.as_str() } else { folder.unwrap_or_default() };
        Stop::broken(format!("cannot start {program}: {}: {error}", printable(what)))
    })?;
    Ok(done.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Report on a session that another agent continues.
struct Printed<'t> {
    session: &'t Listed,
    done: &'t Onward,
    tokens: Option<u64>,
    /// The session's model and the largest context that the session records for it, if the context
    /// is larger.
    largest: Option<(String, u64)>,
    journal: Option<PathBuf>,
    words: Vec<String>,
    dry: bool,
}

/// Maximum number of lines about what was left out.
const SHOWN: usize = 5;

impl Printed<'_> {
    fn text(&self, format: &Format) -> String {
        let Self { session, done, .. } = self;
        let mut out = String::new();
        let mut line = |name: &str, value: &str| {
            out.push_str(&format!("{name:<9} {}\n", printable(value)));
        };
        let agent = &session.summary.agent;
        line("from", &format!("{}  ({agent})", session.path.display()));
        let way = match done.way {
            Way::New if self.dry => "would be new".to_owned(),
            Way::New => "new".to_owned(),
            Way::Added => {
                let would = if self.dry { "would be " } else { "" };
                format!("{} {would}added", plural(done.added, "message"))
            }
            Way::There => "has all messages already".to_owned(),
        };
        line("in", &format!("{}  ({}, {way})", done.path.display(), format.name));
        done.note.iter().for_each(|note| line("note", note));
        if let Some(tokens) = self.tokens {
            let messages = plural(done.summary.messages, "message");
            line("context", &format!("about {} of text, {messages}", plural(tokens, "token")));
        }
        if let Some((model, most)) = &self.largest {
            let most = plural(*most, "token");
            line("too big?", &format!("the largest context of {model} in the session is {most}"));
        }
        for (place, what) in self.missing().iter().enumerate() {
            line(if place == 0 { "left out" } else { "" }, what);
        }
        line("resume", &resume(done.summary.project.as_deref(), &self.words));
        out
    }

    /// Describes what the other agent does not get.
    fn missing(&self) -> Vec<String> {
        let found = self.done.report.iter().flat_map(lost);
        let all: Vec<_> = found.collect();
        let mut shown: Vec<_> = all.iter().take(SHOWN).cloned().collect();
        if all.len() > SHOWN {
            shown.push(format!(
                "and {} more; `copyist convert --report FILE` lists all",
                all.len() - SHOWN
            ));
        }
        shown
    }

    fn json(&self, format: &Format) -> String {
        let Self { session, done, .. } = self;
        let missing: Vec<_> = done.report.iter().flat_map(lost).collect();
        let object = json!({
            "agent": format.name,
            "id": done.summary.id,
            "path": ReportedPath::from(done.path.as_path()),
            "project": done.summary.project,
            "way": done.way.name(),
            "added": done.added,
            "messages": done.summary.messages,
            "tokens": self.tokens,
            "largest": self.largest.as_ref().map(|(_, most)| most),
            "note": done.note,
            "left_out": missing,
            "command": self.words,
            "journal": self.journal.as_deref().map(ReportedPath::from),
            "source": {
                "agent": session.summary.agent,
                "id": session.summary.id,
                "path": ReportedPath::from(&session.path),
            },
        });
        format!("{object}\n")
    }
}

/// Returns the findings about data that the output does not have.
fn lost(report: &FileReport) -> impl Iterator<Item = String> + '_ {
    let all = report.findings.diagnostics.iter();
    let lost = all.filter(|found| {
        found.severity() > Severity::Note || matches!(found.code, Code::Dropped | Code::NotShown)
    });
    lost.map(|found| found.message.clone())
}
