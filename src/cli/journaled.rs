//! Work on the files of an earlier run, which its journal names.

use super::Stop;
use super::journal::TORN;
use super::progress::Progress;
use super::run::{Reporter, check_report, write_report};
use super::telling::Telling;
use super::text::printable;
use crate::batch::{JournalWork, RunReport};
use crate::diagnostic::plural;
use crate::error;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The journal of an earlier run, and options for work on its files.
#[derive(Debug, clap::Args)]
#[command(mut_arg("progress", |arg| arg.hide(true)))]
pub struct Journaled {
    /// Journal that the run wrote with `--journal`
    journal: PathBuf,
    /// Present path of the folder that the run worked in, if it or its disk was moved
    ///
    /// The folder is the one that contained all inputs of the run. Files are searched for at the
    /// same places in it. Only files that match the journal are changed.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Print what would happen, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    telling: Telling,
}

impl Journaled {
    /// Does `work` on the files of the journal for `command`, and reports it. `none` is printed if
    /// the journal contains nothing for the work.
    pub fn run(
        self,
        command: &str,
        none: &str,
        work: impl FnOnce(&Path, Option<&Path>, bool) -> error::Result<JournalWork>,
    ) -> Result<u8, Stop> {
        if let Some(report) = &self.telling.report {
            check_report(report, &[])?;
        }
        let shown = printable(&self.journal.to_string_lossy());
        let JournalWork { reports, unread, torn } =
            work(&self.journal, self.root.as_deref(), self.dry_run)
                .map_err(|error| Stop::usage(format!("{shown}: {}", error.message())))?;
        let progress = Progress::none();
        let mut reporter = Reporter::new(&self.telling, &progress, false, self.dry_run, None);
        for report in reports {
            reporter.report(report);
        }
        // With a closed stderr the messages are lost.
        let aside = |text: &str| _ = writeln!(std::io::stderr(), "copyist: {shown}: {text}");
        if torn {
            aside(TORN);
        }
        if unread > 0 {
            let lines = plural(unread, "line");
            aside(&format!("{lines} cannot be read; the files that they name are not changed"));
            reporter.exit = reporter.exit.max(1);
        }
        let Reporter { show, summary, reports: kept, exit, .. } = reporter;
        show.worked(&summary, none);
        if let (Some(path), Some(kept)) = (&self.telling.report, kept) {
            let copyist = env!("CARGO_PKG_VERSION");
            let report = RunReport { copyist, command, exit, summary: &summary, inputs: &kept };
            write_report(path, &report)?;
        }
        Ok(exit)
    }
}
