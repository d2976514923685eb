//! The command `copyist inspect`.

use super::Stop;
use super::args::Telling;
use super::inputs::Sessions;
use super::reading::{Reading, Strictness, Tolerance, Warned};
use super::run::run;
use crate::batch::{Action, Task};
use crate::format::Options;
use crate::inspect::Request;
use std::path::PathBuf;

/// Show a session's header, counts, tree, turns, tokens, cost and damage
///
/// The active branch is drawn as a straight line (●). Other branches (○) start at their forks.
/// Entries between forks, questions, summaries and labels share a row. The exit code is 1 if the
/// session is not valid.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's file, its identifier or the first six or more characters of it, or `latest`; `-`
    /// is standard input
    #[arg(value_name = "INPUT", required_unless_present = "session")]
    path: Option<PathBuf>,
    /// Draw a row for every entry
    #[arg(long)]
    full: bool,
    /// List every turn; otherwise the first and the last ones
    #[arg(long)]
    turns: bool,
    /// Maximum number of rows of the tree
    #[arg(long, value_name = "N", default_value_t = 400)]
    rows: usize,
    /// Width of the output; the default is the terminal's width, or 80 without a terminal
    #[arg(long, value_name = "COLUMNS", env = "COPYIST_WIDTH")]
    width: Option<u16>,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    tolerance: Tolerance,
    #[command(flatten)]
    strictness: Strictness<Warned>,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.sessions.one(self.path, "inspect")?;
        let options =
            Options { force_version: true, ..self.tolerance.options(self.reading.options()) };
        let request = Request { full: self.full, rows: self.rows };
        let task = Task::looking(Action::Inspect(request), options, &self.reading.source.from)
            .failing(self.strictness.fail_on());
        let telling = Telling { width: self.width, all_turns: self.turns, ..self.telling };
        run("inspect", task, &inputs, &telling)
    }
}
