//! The commands `copyist append`, `copyist fork` and `copyist label`.

use super::text::{aside, printable};
use super::{Stop, machine, print};
use crate::error::Error;
use crate::manager::Session;
use serde_json::{Value, json};
use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};

/// Append messages to a session, as its agent would
///
/// Messages are read from standard input, one JSON object on each line, with `role` and `content`
/// as in the canonical stream (`copyist schema canonical`). Members that the agent requires and the
/// object lacks are added. The identifier of each message is printed after the message is on the
/// disk. Several processes of copyist can append to one session; each waits until the others are
/// done. What other programs have appended is read first.
#[derive(Debug, clap::Args)]
pub struct Append {
    /// A file, an identifier, six or more characters of one, or `latest`
    #[arg(value_name = "SESSION")]
    path: PathBuf,
    /// Append one message with this text instead of reading standard input
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Role of the text's author: `user`, `assistant` or `system`
    #[arg(long, value_name = "ROLE", default_value = "user", requires = "text")]
    role: String,
    /// Entry that the messages follow, as a new branch; the default is the last entry
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Create a session in this format if the file does not exist
    #[arg(long, value_name = "FORMAT")]
    new: Option<String>,
    /// Working folder of a new session; the default is the current folder
    #[arg(long, value_name = "FOLDER", requires = "new")]
    cwd: Option<PathBuf>,
}

/// Write one branch of a session as a new session
///
/// The new file is written beside the old one, with a name such as the agent gives. It names the
/// old session as its parent, and contains its labels. The path of the new file is printed.
#[derive(Debug, clap::Args)]
pub struct Fork {
    /// A file, an identifier, six or more characters of one, or `latest`
    #[arg(value_name = "SESSION")]
    path: PathBuf,
    /// Last entry of the new session; the default is the leaf of the session
    #[arg(long, value_name = "ID")]
    at: Option<String>,
}

/// Add a label to an entry of a session, or remove it
///
/// A label is stored as an entry of its own, whose identifier is printed.
#[derive(Debug, clap::Args)]
pub struct Label {
    /// A file, an identifier, six or more characters of one, or `latest`
    #[arg(value_name = "SESSION")]
    path: PathBuf,
    /// Entry to be labelled
    #[arg(value_name = "ID")]
    entry: String,
    /// The label; without it, the entry's label is removed
    #[arg(value_name = "LABEL")]
    label: Option<String>,
}

impl Append {
    pub fn run(self) -> Result<u8, Stop> {
        let path = match self.new {
            Some(_) => self.path.clone(),
            None => file_of(&self.path)?,
        };
        let failed = failed(&path);
        let mut session = match &self.new {
            Some(format) if !path.exists() => {
                let cwd = self.cwd.clone().map_or_else(std::env::current_dir, Ok);
                let cwd = cwd.and_then(std::path::absolute);
                let cwd = cwd.map_err(|error| Stop::broken(format!("no folder: {error}")))?;
                Session::create_at(format, &cwd.to_string_lossy(), &path).map_err(&failed)?
            }
            _ => Session::open(&path).map_err(&failed)?,
        };
        if let Some(after) = &self.after {
            session.branch(after).map_err(&failed)?;
        }
        if let Some(text) = self.text {
            let content = match self.role.as_str() {
                "assistant" => json!([{"type": "text", "text": text}]),
                _ => json!(text),
            };
            let message = json!({"role": self.role, "content": content});
            let id = session.append_message(message).map_err(&failed)?;
            return print(format!("{id}\n").as_bytes());
        }
        for (n, line) in stdin().lock().lines().enumerate() {
            let number = n + 1;
            let here = |why: &str| Stop { code: 3, message: format!("<stdin>:{number}: {why}") };
            let line = line.map_err(|error| here(&error.to_string()))?;
            if line.trim().is_empty() {
                continue;
            }
            let message: Value =
                serde_json::from_str(&line).map_err(|error| here(&error.to_string()))?;
            let id = session.append_message(message).map_err(|error| here(&error.to_string()))?;
            print(format!("{id}\n").as_bytes())?;
        }
        Ok(0)
    }
}

impl Fork {
    pub fn run(self) -> Result<u8, Stop> {
        let path = file_of(&self.path)?;
        let failed = failed(&path);
        let session = Session::open(&path).map_err(&failed)?;
        let new = session.fork(self.at.as_deref()).map_err(&failed)?;
        let path = new.file().map(|path| path.display().to_string()).unwrap_or_default();
        print(format!("{path}\n").as_bytes())
    }
}

impl Label {
    pub fn run(self) -> Result<u8, Stop> {
        let path = file_of(&self.path)?;
        let failed = failed(&path);
        let mut session = Session::open(&path).map_err(&failed)?;
        let id = session.append_label(&self.entry, self.label.as_deref()).map_err(&failed)?;
        print(format!("{id}\n").as_bytes())
    }
}

/// Returns the file of the session that an argument names. The path of a session that was found by
/// its name is printed on standard error.
fn file_of(path: &Path) -> Result<PathBuf, Stop> {
    let Some(machine::Session { path: found, id }) = machine::named(path, None)? else {
        machine::check_word(path)?;
        return Ok(path.to_owned());
    };
    if id.is_some() {
        let (name, folder) = (path.to_string_lossy(), found.to_string_lossy());
        let message = format!("the session {name} is in {folder} with others; name its file");
        return Err(Stop::usage(printable(&message)));
    }
    aside(&found.display().to_string());
    Ok(found)
}

/// Returns the function that makes an error about a session the end of the command.
fn failed(path: &Path) -> impl Fn(Error) -> Stop {
    let is_folder = path.is_dir();
    let path = printable(&path.to_string_lossy());
    move |error| {
        if is_folder {
            return Stop::usage(format!("{path} is a folder; name the file of a session"));
        }
        let advice = match error.is_recoverable() {
            true => format!("; repair the session first: copyist repair {path}"),
            false => String::new(),
        };
        Stop { code: 3, message: format!("{path}: {error}{advice}") }
    }
}
