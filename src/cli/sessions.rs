//! Sessions that the user names: their folders, and their status.

use super::Stop;
use super::text::{aside, printable};
use crate::formats::NAMED;
use crate::named::{Named, Status, Verdict};
use crate::store::last_line;
use serde_json::{Value, json};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options for the folders of sessions.
#[derive(Debug, clap::Args)]
pub struct Where {
    /// Folder of the sessions; the default is AGENT_ORCHESTRATOR_SESSIONS_DIR, else
    /// `.agent-orchestrator/agent-sessions` in the project's folder
    #[arg(long, value_name = "DIR")]
    sessions_dir: Option<OsString>,
    /// Folder of the project; the default is AGENT_ORCHESTRATOR_PROJECT_DIR, else the current
    /// folder
    #[arg(long, value_name = "DIR")]
    project_dir: Option<OsString>,
    /// Folder of the agents' definitions; the default is AGENT_ORCHESTRATOR_AGENTS_DIR, else
    /// `.agent-orchestrator/agents` in the project's folder
    #[arg(long, value_name = "DIR")]
    agents_dir: Option<OsString>,
    /// Maximum length of a line, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, env = "COPYIST_MAX_LINE")]
    max_line: usize,
}

/// Options of a command about one session.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// Name of the session
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Print the rule that decided, and the results of the rules of older releases
    #[arg(long)]
    pub why: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    place: Where,
}

impl Question {
    /// Returns the folders, and the state of the session in them.
    pub fn look(&self) -> Result<(Folders, Seen), Stop> {
        let folders = self.place.folders()?;
        folders.checked(&self.name)?;
        let seen = folders.look(&self.name);
        Ok((folders, seen))
    }

    /// Returns the reasons for the answer, one per line, if the user wants them.
    pub fn reasons(&self, folders: &Folders, seen: &Seen) -> Vec<String> {
        if self.why { [seen.reasons(), folders.descriptions()].concat() } else { Vec::new() }
    }
}

/// A folder, and the option or variable that named it.
pub struct Folder {
    /// The path, from the root.
    pub path: PathBuf,
    /// The source of the path: an option, a variable, or the default.
    pub by: String,
}

/// The folders of one run.
pub struct Folders {
    /// The names and rules by which the agent finds sessions.
    pub named: &'static Named,
    /// The folder of the sessions.
    pub sessions: Folder,
    /// The folder of the agents' definitions.
    pub agents: Folder,
    /// The maximum length of a line, in bytes.
    pub max_line: usize,
}

impl Where {
    /// Whether an option names one of the folders.
    pub fn is_given(&self) -> bool {
        [&self.sessions_dir, &self.project_dir, &self.agents_dir].iter().any(|dir| dir.is_some())
    }

    /// Returns the folders: from options, from variables, or the defaults. An empty value counts as
    /// not given.
    pub fn folders(&self) -> Result<Folders, Stop> {
        let Some(named) = NAMED.first().copied() else {
            return Err(Stop::broken("no format has sessions by name"));
        };
        let current = env::current_dir();
        let current =
            current.map_err(|error| Stop::broken(format!("no current folder: {error}")))?;
        let usual = |path: PathBuf| Folder { path, by: "as usual".to_owned() };
        let project = chosen(&self.project_dir, "--project-dir", named.project_variable)
            .unwrap_or_else(|| usual(current.clone()));
        let project = Folder { path: current.join(&project.path), ..project };
        if let Err(error) = std::fs::read_dir(&project.path) {
            let path = printable(&project.path.display().to_string());
            return Err(Stop::usage(format!("the project's folder {path}: {error}")));
        }
        let below = |option, flag, variable, below: &str| {
            let folder = chosen(option, flag, variable);
            let folder = folder.unwrap_or_else(|| usual(project.path.join(below)));
            Folder { path: current.join(&folder.path), ..folder }
        };
        let sessions = below(
            &self.sessions_dir,
            "--sessions-dir",
            named.sessions_variable,
            named.sessions_below,
        );
        let agents =
            below(&self.agents_dir, "--agents-dir", named.agents_variable, named.agents_below);
        Ok(Folders { named, sessions, agents, max_line: self.max_line })
    }
}

/// Returns the folder that an option or else a variable names.
fn chosen(option: &Option<OsString>, flag: &str, variable: &str) -> Option<Folder> {
    let given = |path: &OsString| !path.is_empty();
    let option = option.clone().filter(given).map(|path| (path, flag));
    let variable = || env::var_os(variable).filter(given).map(|path| (path, variable));
    let (path, by) = option.or_else(variable)?;
    Some(Folder { path: path.into(), by: format!("by {by}") })
}

/// State of a session in its folder.
pub struct Seen {
    /// The status.
    pub status: Status,
    /// The reason for the status.
    pub why: String,
    /// The content of the last line, if the line was read.
    pub verdict: Option<Verdict>,
}

impl Folders {
    /// Describes the folders and the sources of their paths, one per line.
    pub fn descriptions(&self) -> Vec<String> {
        let folders = [("sessions", &self.sessions), ("agents", &self.agents)];
        let descriptions = folders
            .map(|(what, folder)| format!("{what}: {}, {}", folder.path.display(), folder.by));
        descriptions.map(|line| printable(&line)).into()
    }

    /// Returns the file of a session with this ending.
    pub fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.sessions.path.join(format!("{name}{ending}"))
    }

    /// Checks that a session may have this name.
    pub fn checked(&self, name: &str) -> Result<(), Stop> {
        if (self.named.is_name)(name) {
            return Ok(());
        }
        let name = printable(name);
        Err(Stop::usage(format!("{name:?} is not a session's name: {}", self.named.rule)))
    }

    /// Determines the status of a session as its agent does: whether there are metadata, whether
    /// there is a log, and what the last line of the log contains.
    pub fn look(&self, name: &str) -> Seen {
        let seen = |status, why: String| Seen { status, why, verdict: None };
        let (metadata, log) =
            (self.file(name, self.named.metadata), self.file(name, self.named.log));
        if std::fs::metadata(&metadata).is_err() {
            let folder = printable(&self.sessions.path.display().to_string());
            let beside = if log.exists() {
                format!(", though there is {name}{}", self.named.log)
            } else {
                String::new()
            };
            let why = format!("there is no {name}{} in {folder}{beside}", self.named.metadata);
            return seen(Status::NotExistent, why);
        }
        match std::fs::metadata(&log) {
            Err(_) => return seen(Status::Running, "there is no log yet".to_owned()),
            Ok(meta) if meta.is_dir() => {
                return seen(Status::Running, "a folder has the name of the log".to_owned());
            }
            Ok(meta) if meta.len() == 0 => {
                return seen(Status::Running, "the log is empty".to_owned());
            }
            Ok(meta) if !meta.is_file() => {
                return seen(Status::Running, "the log is not a regular file".to_owned());
            }
            Ok(_) => {}
        }
        match last_line(&log, self.max_line) {
            Err(error) => seen(Status::Running, format!("the log: {error}")),
            Ok(line) => {
                let verdict = (self.named.judge)(&line);
                let status = if verdict.finished { Status::Finished } else { Status::Running };
                Seen { status, why: verdict.why.clone(), verdict: Some(verdict) }
            }
        }
    }
}

impl Seen {
    /// Returns the error that would end the agent's program.
    pub fn fatal(&self) -> Option<&str> {
        self.verdict.as_ref()?.fatal.as_deref()
    }

    /// Returns the rule that decided, and the results of older rules, one per line.
    pub fn reasons(&self) -> Vec<String> {
        let others = self.verdict.iter().flat_map(|verdict| &verdict.others);
        let others = others.map(|(rule, finished, why)| {
            let word = if *finished { Status::Finished } else { Status::Running }.name();
            format!("by {rule}: {word}, {why}")
        });
        let reasons = std::iter::once(format!("because {}", self.why)).chain(others);
        reasons.map(|reason| printable(&reason)).collect()
    }

    /// Returns the status and its reasons as JSON.
    pub fn json(&self, name: &str, folders: &Folders) -> Value {
        let others = self.verdict.iter().flat_map(|verdict| &verdict.others);
        let others = others.map(|(rule, finished, why)| {
            let word = if *finished { Status::Finished } else { Status::Running }.name();
            json!({ "rule": rule, "status": word, "why": why })
        });
        json!({
            "name": name,
            "status": self.status.name(),
            "why": self.why,
            "older": others.collect::<Vec<_>>(),
            "fatal": self.fatal(),
            "sessions_dir": folders.sessions.path.display().to_string(),
        })
    }
}

/// Returns the names of the files in a folder, sorted. Names that are not valid UTF-8 are reported
/// and left out.
pub fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        match entry?.file_name().into_string() {
            Ok(name) => names.push(name),
            Err(name) => {
                let name = name.to_string_lossy();
                aside(&format!("{name} is left out: no session has a name that is not UTF-8"));
            }
        }
    }
    names.sort();
    Ok(names)
}
