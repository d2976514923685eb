//! The command `copyist inspect`.

use super::Stop;
use super::args::Looking;
use super::run::run;
use super::telling::Telling;
use crate::batch::Action;
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
    looking: Looking,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.looking.sessions.one(self.path, "inspect", None)?;
        let request = Request { full: self.full, rows: self.rows };
        let task = self.looking.task(Action::Inspect(request), self.looking.options());
        let telling = Telling { width: self.width, all_turns: self.turns, ..self.telling };
        run("inspect", task, &inputs, &telling)
    }
}
