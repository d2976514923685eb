//! The options `--journal` and `--resume`.

use super::Stop;
use super::ids::Ids;
use super::inputs::Inputs;
use super::text::printable;
use crate::batch::{Account, OutputPlace, Task, root};
use crate::diagnostic::plural;
use crate::error::Error;
use crate::store::{Header, Name, real};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options for the journal of a run, from which a later run can resume.
#[derive(Debug, Args)]
pub struct Journaling {
    /// Record the run in a file, for `--resume` and `undo`
    ///
    /// It contains the outcome of each input; `--resume` continues from there, `undo` reverts the
    /// run. The file is JSON Lines. An entry is on the disk before its output is put in its place. So
    /// the journal contains everything that a run did, even if the run was killed or a power cut
    /// ended it.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    pub journal: Option<PathBuf>,
    /// Skip inputs that are done according to the journal
    ///
    /// An input that has changed since is done again. A run without a journal yet begins one.
    #[arg(long, requires = "journal", conflicts_with = "dry_run")]
    pub resume: bool,
}

/// Warning about a journal that a run was writing to when the run was killed.
pub const TORN: &str = "its last line is torn and names no output";

impl Journaling {
    /// Whether the journal is this file.
    pub fn is_at(&self, path: &Path) -> bool {
        self.journal.as_ref().is_some_and(|journal| real(journal) == real(path))
    }

    /// Opens the journal of a run, if the user wants one.
    pub fn open(
        &self,
        command: &str,
        task: &Task,
        inputs: &Inputs,
        ids: Ids,
    ) -> Result<Option<Account>, Stop> {
        let Some(path) = &self.journal else { return Ok(None) };
        let shown = printable(&path.to_string_lossy());
        let refused = |why: String| Stop::usage(format!("`--journal {shown}`: {why}"));
        if path.as_os_str() == "-" {
            return Err(refused("it is a file, not standard output".to_owned()));
        }
        let header = header(command, task, inputs, ids).map_err(|why| refused(why.to_owned()))?;
        let opened = Account::open(path).map_err(|error| refused(error.message().to_owned()))?;
        let (mut journal, before, entries, unread) = opened;
        let torn = journal.is_torn();
        let broken = |error: Error| Stop::broken(format!("{shown}: {}", error.message()));
        let root = match before {
            // Nothing was done yet, whichever run wrote the header.
            Some(before) if !entries.is_empty() || unread > 0 => {
                self.fits(&before, &header).map_err(refused)?;
                journal.go_on().map_err(broken)?;
                before.root
            }
            _ => {
                journal.begin(&header).map_err(broken)?;
                header.root
            }
        };
        if torn && self.resume {
            // With a closed stderr the message is lost.
            let _ = writeln!(std::io::stderr(), "copyist: {shown}: {TORN}");
        }
        if unread > 0 {
            let lines = plural(unread, "line");
            // With a closed stderr the message is lost.
            let _ = writeln!(
                std::io::stderr(),
                "copyist: {shown}: {lines} cannot be read and are ignored"
            );
        }
        Ok(Some(Account::new(path, journal, root.path(), entries)))
    }

    /// Checks that this run can continue where an earlier one ended.
    fn fits(&self, before: &Header, now: &Header) -> Result<(), String> {
        if !self.resume {
            return Err("it belongs to an earlier run; `--resume` continues that run".to_owned());
        }
        if (&before.command, &before.settings) != (&now.command, &now.settings) {
            return Err(format!(
                "it belongs to `{}`, and this run is `{}`",
                description(before),
                description(now)
            ));
        }
        let root = before.root.path();
        if !now.root.path().starts_with(&root) {
            let root = printable(&root.to_string_lossy());
            return Err(format!("it belongs to inputs below {root}"));
        }
        Ok(())
    }
}

/// Returns the header of a run, or the reason why a run of this kind cannot be resumed.
fn header(command: &str, task: &Task, inputs: &Inputs, ids: Ids) -> Result<Header, &'static str> {
    if inputs.stdin() {
        return Err("a run that reads standard input cannot be resumed");
    }
    if matches!(&task.place, OutputPlace::None) || stdout(&task.place) {
        return Err("a run with a journal writes files");
    }
    let root = root(&inputs.paths).filter(|root| root.is_absolute());
    let none = "the inputs have no folder in common, or one of them is not there";
    Ok(Header {
        copyist: Header::MARK.to_owned(),
        version: Header::VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.to_owned(),
        settings: task.settings(inputs.join, &format!("{ids:?}").to_lowercase()),
        in_place: matches!(task.place, OutputPlace::InPlace(_)),
        root: Name::from(root.ok_or(none)?.as_path()),
    })
}

fn stdout(place: &OutputPlace) -> bool {
    matches!(place, OutputPlace::One(path) if path.as_os_str() == "-")
}

/// Describes a run in the words of the command line.
fn description(header: &Header) -> String {
    printable(&format!("{} {}", header.command, header.settings))
}
