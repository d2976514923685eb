//! The command `copyist clean`.

use super::Stop;
use super::journaled::Journaled;
use crate::batch;

/// Remove the originals that an in-place run kept, named by its journal
///
/// An original (`NAME.bak`) is removed only if the run reported neither a warning nor an error for
/// its file, the file is still what the run wrote, byte for byte, and the original is what the run
/// read. Every other original is reported and kept; then the exit code is 1. Nothing else is
/// removed. Afterwards `copyist undo` cannot restore the files. If the command is interrupted, run
/// it again.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    journaled: Journaled,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let none = "the journal names no original that was kept";
        self.journaled.run("clean", none, batch::clean)
    }
}
