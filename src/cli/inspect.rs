//! `copyist inspect`.

use super::Stop;
use super::args::{Reading, Telling};
use super::inputs::Sessions;
use super::run::run;
use crate::batch::{Action, Task};
use crate::format::{OnError, Options};
use crate::inspect::Request;
use std::path::PathBuf;

/// Show what there is in a session: header, counts, tree, turns, tokens, cost and damage
///
/// The branch that the session stands on is drawn straight down (●), what was left beside it (○)
/// stands at its fork. Entries between forks, questions, summaries and labels share a row.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's file; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "session")]
    path: Option<PathBuf>,
    /// A row for every entry
    #[arg(long)]
    full: bool,
    /// How many rows of the tree are drawn
    #[arg(long, value_name = "N", default_value_t = 400)]
    rows: usize,
    /// How wide the output is; the terminal's width if it is not given, 80 without a terminal
    #[arg(long, value_name = "COLUMNS", env = "COPYIST_WIDTH")]
    width: Option<u16>,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.sessions.one(self.path, "inspect")?;
        let options = Options { force_version: true, ..self.reading.options(OnError::Keep) };
        let request = Request { full: self.full, rows: self.rows };
        let task = Task::looking(Action::Inspect(request), options, &self.reading.from)
            .failing(self.reading.fail_on());
        let telling = Telling { width: self.width, ..self.telling };
        run("inspect", task, &inputs, &telling)
    }
}
