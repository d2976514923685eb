//! The command `copyist validate`.

use super::Stop;
use super::args::Telling;
use super::inputs::Batch;
use super::reading::{Reading, Strictness, Warned};
use super::run::run;
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
        run("validate", task, &inputs, &self.telling)
    }
}
