//! The command `copyist detect`.

use super::Stop;
use super::args::{Reading, Telling};
use super::inputs::Batch;
use super::run::run;
use crate::batch::{Action, Task};
use crate::format::OnError;

/// Print the format and version of files
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.batch.inputs()?;
        let options = self.reading.options(OnError::Keep);
        let task = Task::looking(Action::Detect, options, &self.reading.from)
            .failing(self.reading.fail_on());
        run("detect", task, &inputs, &self.telling)
    }
}
