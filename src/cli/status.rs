//! `copyist status`.

use super::sessions::{Where, aside};
use super::{Stop, print};

/// Say whether a session of claude-agent-orchestrator is running or finished, as ao-status does
///
/// The answer is `not_existent`, `running` or `finished`. Only the last line of the log is read,
/// however long the log is. The exit code is 0 for any answer.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    #[arg(value_name = "NAME")]
    name: String,
    /// Say which rule decided, and what the rules of older releases say
    #[arg(long)]
    why: bool,
    /// The answer as JSON
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
        if self.json {
            return print(format!("{}\n", seen.json(&self.name, &folders)).as_bytes());
        }
        if let Some(fatal) = seen.fatal() {
            aside(&format!("{}: {fatal}", self.name));
        }
        let reasons = if self.why { seen.reasons(&folders) } else { String::new() };
        print(format!("{}\n{reasons}", seen.status.name()).as_bytes())
    }
}
