//! Commands that change the agents' own files.

use super::Stop;
use super::config::folder_in;
use super::machine::quoted;
use super::text::printable;
use crate::diagnostic::Code;
use crate::error::Error;
use crate::store::{Undertaking, Writes, create_folder, free_journal, settle, unfinished};
use crate::times;
use jiff::Timestamp;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Options of commands that change the agents' own files.
#[derive(Debug, clap::Args)]
pub struct Changing {
    /// Print what would change
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Record what is changed in this file, for `undo`; the default is a new file below
    /// `~/.local/state/copyist`
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub journal: Option<PathBuf>,
}

/// Maximum number of plans, of which each follows a change that an agent made meanwhile.
const ATTEMPTS: usize = 20;

impl Changing {
    /// Carries out the writes of a plan, and plans again where an agent changed a file meanwhile.
    /// A run of the same command that was killed is completed first. The journal is passed to
    /// `begin` before the first change. Returns the last plan, and the path of the journal; `None` if
    /// nothing was to be written.
    pub fn carry_out<P>(
        &self,
        what: &Undertaking<'_>,
        plan: impl Fn() -> Result<P, Stop>,
        writes: impl Fn(&P) -> &Writes,
        begin: impl Fn(&Path),
    ) -> Result<(P, Option<PathBuf>), Stop> {
        if self.dry_run {
            return Ok((plan()?, None));
        }
        let failed = |error: &Error| Stop { code: 3, message: printable(error.message()) };
        let earlier = match &self.journal {
            Some(path) => Some(path.clone()).filter(|path| path.is_file()),
            None => unfinished(&journals()?, what),
        };
        earlier
            .iter()
            .try_for_each(|journal| settle(journal, what))
            .map_err(|error| failed(&error))?;
        let (mut journal, mut attempts) = (None, 1..ATTEMPTS);
        loop {
            let planned = plan()?;
            let written = writes(&planned);
            if journal.is_none() {
                if written.is_empty() && earlier.is_none() {
                    return Ok((planned, None));
                }
                let path = match earlier.clone().filter(|earlier| written.fit(earlier)) {
                    Some(earlier) => earlier,
                    None => self.journal.clone().map_or_else(|| new_journal(what.command), Ok)?,
                };
                begin(&path);
                journal = Some(path);
            }
            let path = journal.as_deref().unwrap_or(Path::new(""));
            match written.carry_out(what, path) {
                Ok(()) => return Ok((planned, journal)),
                Err(error) => match attempts.next().map(|_| error.code()) {
                    Some(Code::Changed | Code::Exists) => {
                        settle(path, what).map_err(|error| failed(&error))?;
                    }
                    // Another run of the same command goes on in the journal.
                    Some(_)
                        if error.io_kind() == ErrorKind::WouldBlock && self.journal.is_none() =>
                    {
                        journal = Some(new_journal(what.command)?);
                    }
                    _ => return Err(failed(&error)),
                },
            }
        }
    }
}

/// Returns the folder of journals that the user does not name.
fn journals() -> Result<PathBuf, Stop> {
    let state = folder_in("XDG_STATE_HOME", ".local/state");
    let folder = state.ok_or_else(|| Stop::usage("name a journal: `--journal FILE`"))?;
    Ok(folder.join("copyist"))
}

/// Begins a journal of a command; returns its path.
fn new_journal(command: &str) -> Result<PathBuf, Stop> {
    let folder = journals()?;
    let failed = |error: Error| Stop::broken(error.message().to_owned());
    create_folder(&folder, true).map_err(failed)?;
    let time = times::with_millis(Timestamp::now()).replace([':', '.'], "-");
    free_journal(&folder.join(format!("{command}-{time}")), ".jsonl").map_err(failed)
}

/// Prints how a change is undone, before it is made.
pub fn name_journal(label: &str, journal: &Path, is_json: bool) {
    let line = format!("{label} copyist undo {}\n", quoted(&journal.to_string_lossy()));
    // A run whose output is closed ends where it prints its result.
    let _ = match is_json {
        true => std::io::stderr().write_all(line.as_bytes()),
        false => std::io::stdout().write_all(line.as_bytes()),
    };
}
