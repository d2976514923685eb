//! `copyist result`.

use super::sessions::{Folders, Seen, Where, aside};
use super::show::printable;
use super::{Stop, print};
use crate::json::Json;
use crate::named::Status;
use std::io::IsTerminal;

/// Print the result of a session of claude-agent-orchestrator, as ao-get-result does
///
/// Without a result it says why, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    #[arg(value_name = "NAME")]
    name: String,
    /// Say which rule decided, and what the rules of older releases say
    #[arg(long)]
    why: bool,
    /// Status and result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Where,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let folders = self.place.folders()?;
        folders.checked(&self.name)?;
        let seen = folders.look(&self.name);
        let result = seen.verdict.as_ref().and_then(|verdict| verdict.result.clone());
        let text = match &result {
            Some(result) => said(result),
            None => Err(reason(&self.name, &seen)),
        };
        if self.why && !self.json {
            aside(&format!("{}: {}", self.name, seen.status.name()));
            seen.reasons(&folders).lines().for_each(|line| aside(line.trim_start()));
        }
        if self.json {
            return self.as_json(&seen, &folders, result, text.err());
        }
        match text {
            Ok(text) => print(shown(&text).as_bytes()),
            Err(why) => {
                aside(&why);
                Ok(1)
            }
        }
    }

    fn as_json(
        &self,
        seen: &Seen,
        folders: &Folders,
        result: Option<Json>,
        problem: Option<String>,
    ) -> Result<u8, Stop> {
        let mut answer = seen.json(&self.name, folders);
        let none = result.is_none();
        answer["problem"] = problem.into();
        // The result in its own spelling: a value could not hold every number and half a pair.
        let spelled = result.map(|result| String::from_utf8_lossy(result.as_bytes()).into_owned());
        let answer = answer.to_string();
        let inner = answer.strip_suffix('}').unwrap_or(&answer);
        let result = spelled.as_deref().unwrap_or("null");
        print(format!("{inner},\"result\":{result}}}\n").as_bytes())?;
        Ok(u8::from(none))
    }
}

/// A result as text: a string's own, of any other value its JSON.
fn said(result: &Json) -> Result<String, String> {
    if !result.as_bytes().starts_with(b"\"") {
        return Ok(String::from_utf8_lossy(result.as_bytes()).into_owned());
    }
    let text = crate::json::text::decode_wtf8(result.as_bytes()).unwrap_or_default();
    String::from_utf8(text).map_err(|_| {
        "The result holds half of a surrogate pair, which no text can; --json shows it".to_owned()
    })
}

/// Why there is no result.
fn reason(name: &str, seen: &Seen) -> String {
    if let Some(fatal) = seen.fatal() {
        return format!("No result found: {fatal}");
    }
    match seen.status {
        Status::NotExistent => format!(
            "Session not found: {}; `copyist list` shows those that are there, --sessions-dir names another folder",
            seen.why
        ),
        Status::Running => format!(
            "Session is still running: {}; wait, or look with `copyist status --why {name}`",
            seen.why
        ),
        Status::Finished => {
            "No result found: the session is finished, but its result is empty".to_owned()
        }
    }
}

/// The text as it may be shown: a terminal gets no commands.
fn shown(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return format!("{text}\n");
    }
    let lines = text.split('\n').map(|line| {
        let pieces: Vec<String> = line.split('\t').map(printable).collect();
        pieces.join("\t")
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}
