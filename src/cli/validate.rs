//! The command `copyist validate`.

use super::Stop;
use super::inputs::Batch;
use super::reading::{Reading, Strictness, Warned};
use super::run::run;
use super::telling::Telling;
use crate::batch::{Action, Task};
use crate::format::Options;

/// Check whether the agent can open and continue sessions
///
/// Records must match the schema of their version, identifiers must be unique, parents and targets
/// must exist, and no entry may be its own ancestor. The verdict is `valid`, `refused` (the model's
/// interface would refuse the session) or `invalid`. The exit code is 1 unless all sessions are
/// valid.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Maximum number of schema errors that are printed for each input; all are counted
    #[arg(long, value_name = "N", default_value_t = 100)]
    max_errors: usize,
    /// Print findings as SARIF 2.1.0, for editors and code hosts
    ///
    /// Each finding has its code as the rule, with the text of `copyist explain`, and the place as
    /// line, column, byte and length up to the end of the line. Paths are relative to the current
    /// folder. Findings above `--max-errors` are only counted.
    #[arg(long, conflicts_with_all = ["json", "quiet", "verbose"])]
    sarif: bool,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    strictness: Strictness<Warned>,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.batch.inputs()?;
        let options = Options { force_version: true, ..self.reading.options() };
        let task =
            Task::looking(Action::Validate(self.max_errors), options, &self.reading.source.from)
                .failing(self.strictness.fail_on());
        let telling = Telling { sarif: self.sarif, ..self.telling };
        run("validate", task, &inputs, &telling)
    }
}
