//! The command `copyist completions`.

use super::{Cli, Stop, print};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell to print completions for
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let mut out = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "copyist", &mut out);
        print(&out)
    }
}
