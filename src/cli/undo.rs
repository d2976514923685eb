//! The command `copyist undo`.

use super::Stop;
use super::journaled::Journaled;
use crate::batch;

/// Restore the originals of an in-place run from its journal
///
/// A file is restored only if it is still what the run wrote, byte for byte, and its backup is what
/// the run read. A file that the run added is removed. Every other file is reported and not
/// changed. Files outside of the folder that the run worked in are not touched. Quarantine files
/// are kept. After `copyist clean` there are no originals to restore.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    journaled: Journaled,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let none = "the journal contains no change that can be undone";
        self.journaled.run("undo", none, batch::undo)
    }
}
