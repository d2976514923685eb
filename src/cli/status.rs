//! The command `copyist status`.

use super::sessions::Question;
use super::text::aside;
use super::{Stop, print};

/// Print whether a session of claude-agent-orchestrator is running or finished, as ao-status does
///
/// The answer is `not_existent`, `running` or `finished`. Only the last line of the log is read,
/// however long the log is. The exit code is 0 for any answer.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    question: Question,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let question = self.question;
        let (folders, seen) = question.look()?;
        if question.json {
            return print(format!("{}\n", seen.json(&question.name, &folders)).as_bytes());
        }
        if let Some(fatal) = seen.fatal() {
            aside(&format!("{}: {fatal}", question.name));
        }
        let mut answer = format!("{}\n", seen.status.name());
        for reason in question.reasons(&folders, &seen) {
            answer.push_str(&format!("  {reason}\n"));
        }
        print(answer.as_bytes())
    }
}
