//! The command `copyist schema`.

use super::{Stop, names, print};
use crate::formats::Spec;

/// Print the JSON Schema of a format's records
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Format and version: `pi@3`, `canonical`; the default is the version that
    /// `convert` writes
    #[arg(value_name = "FORMAT@V", value_parser = names::format(), hide_possible_values = true)]
    format: Spec,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        print(self.format.version().schema.as_bytes())
    }
}
