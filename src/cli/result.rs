//! The command `copyist result`.

use super::sessions::{Question, Seen};
use super::text::aside;
use super::text::printable;
use super::{Stop, print};
use crate::json::Json;
use crate::named::Status;
use serde_json::Value;
use std::io::IsTerminal;

/// Print the result of a session of claude-agent-orchestrator, as ao-get-result does
///
/// If there is no result, the reason is printed and the exit code is 1.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    question: Question,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let question = self.question;
        let (folders, seen) = question.look()?;
        let result = seen.verdict.as_ref().and_then(|verdict| verdict.result.clone());
        let text = match &result {
            Some(result) => plain_text(result),
            None => Err(reason(&question.name, &seen)),
        };
        if question.json {
            let answer = seen.json(&question.name, &folders);
            return print_json(answer, result, text.err());
        }
        if question.why {
            aside(&format!("{}: {}", question.name, seen.status.name()));
        }
        question.reasons(&folders, &seen).iter().for_each(|reason| aside(reason));
        match text {
            Ok(text) => print(shown(&text).as_bytes()),
            Err(why) => {
                aside(&why);
                Ok(1)
            }
        }
    }
}

/// Prints the status with the result, or with the reason why there is none.
fn print_json(
    mut answer: Value,
    result: Option<Json>,
    problem: Option<String>,
) -> Result<u8, Stop> {
    let none = result.is_none();
    answer["problem"] = problem.into();
    // The result keeps its spelling: a parsed value could not hold every number and half a
    // surrogate pair.
    let spelled = result.map(|result| String::from_utf8_lossy(result.as_bytes()).into_owned());
    let answer = answer.to_string();
    let inner = answer.strip_suffix('}').unwrap_or(&answer);
    let result = spelled.as_deref().unwrap_or("null");
    print(format!("{inner},\"result\":{result}}}\n").as_bytes())?;
    Ok(u8::from(none))
}

/// Returns a result as text: the contents of a string, or the JSON of any other value.
fn plain_text(result: &Json) -> Result<String, String> {
    if !result.as_bytes().starts_with(b"\"") {
        return Ok(String::from_utf8_lossy(result.as_bytes()).into_owned());
    }
    let text = crate::json::text::decode_wtf8(result.as_bytes()).unwrap_or_default();
    String::from_utf8(text).map_err(|_| {
        "The result contains half of a surrogate pair, which is not valid text; --json shows it"
            .to_owned()
    })
}

/// Returns the reason why there is no result.
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

/// Returns the text for printing. Control characters are escaped at a terminal, so that the text
/// cannot command it.
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
