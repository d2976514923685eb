//! The command `copyist detect`.

use super::Stop;
use super::inputs::Batch;
use super::reading::Source;
use super::run::run;
use super::telling::Telling;
use crate::batch::{Action, Task};

/// Print the format and version of files
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.batch.inputs()?;
        let task = Task::looking(Action::Detect, self.source.options(), &self.source.from);
        run("detect", task, &inputs, &self.telling)
    }
}
