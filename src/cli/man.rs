//! The command `copyist man`.

use super::text::printable;
use super::{Stop, program, save};
use clap::Command;
use clap_mangen::Man;
use std::path::PathBuf;

/// Write manual pages, one for copyist and one for each command
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder to write to; it is created
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Overwrite existing pages that are different
    #[arg(long)]
    force: bool,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let pages = pages().map_err(|error| Stop::broken(error.to_string()))?;
        let pages = pages.into_iter().map(|(name, text)| (self.folder.join(name), text));
        let same = |path: &PathBuf, text: &[u8]| std::fs::read(path).is_ok_and(|old| old == text);
        let new: Vec<_> = pages.filter(|(path, text)| !same(path, text)).collect();
        // All pages are written or none, as far as that can be checked beforehand.
        if let Some((path, _)) = new.iter().find(|(path, _)| !self.force && path.exists()) {
            let path = printable(&path.to_string_lossy());
            return Err(Stop::usage(format!("{path} exists; `--force` writes over it")));
        }
        new.iter().try_for_each(|(path, text)| save(path, text, self.force, &[]))?;
        Ok(0)
    }
}

/// Returns the pages with their file names, made from the help texts.
fn pages() -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = program(true).disable_help_subcommand(true);
    // Gives the commands their full names.
    program.build();
    let version = env!("CARGO_PKG_VERSION");
    let commands = program.get_subcommands().map(|command| command.clone().version(version));
    let commands: Vec<Command> = commands.collect();
    let pages = std::iter::once(program).chain(commands).map(|command| {
        let page = Man::new(command).manual("copyist manual");
        let mut text = Vec::new();
        page.render(&mut text)?;
        Ok((page.get_filename(), text))
    });
    pages.collect()
}
