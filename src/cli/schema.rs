//! `copyist schema`.

use super::Stop;
use super::args::spec;
use crate::formats::Spec;
use std::io::Write;

/// Print the JSON Schema of a format's records
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The format and version: `pi@3`, `canonical`; the newest version if none is given
    #[arg(value_name = "FORMAT@V", value_parser = spec)]
    format: Spec,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let _ = std::io::stdout().write_all(self.format.version().schema.as_bytes());
        Ok(0)
    }
}
