//! The command `copyist undo`.

use super::Stop;
use super::args::Telling;
use super::journal::TORN;
use super::progress::Progress;
use super::run::{Reporter, check_report, write_report};
use super::show::printable;
use crate::batch::{self, RunReport, Undone};
use crate::diagnostic::plural;
use std::io::Write;
use std::path::PathBuf;

/// Restore the originals of an in-place run from its journal
///
/// A file is restored only if it is still what the run wrote, byte for byte, and its backup is what
/// the run read. A file that the run added is removed. Every other file is reported and not
/// changed. Files outside of the folder that the run worked in are not touched. Quarantine files
/// are kept.
#[derive(Debug, clap::Args)]
#[command(mut_arg("progress", |arg| arg.hide(true)))]
pub struct Args {
    /// Journal that the run wrote with `--journal`
    journal: PathBuf,
    /// Present path of the folder that the run worked in, if it or its disk was moved
    ///
    /// The folder is the one that contained all inputs of the run. Files are searched for at the
    /// same places in it. Only files that match the journal are restored.
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Do everything except restoring
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        if let Some(report) = &self.telling.report {
            check_report(report, &[])?;
        }
        let shown = printable(&self.journal.to_string_lossy());
        let Undone { reports, unread, torn } =
            batch::undo(&self.journal, self.root.as_deref(), self.dry_run)
                .map_err(|error| Stop::usage(format!("{shown}: {}", error.message())))?;
        let progress = Progress::none();
        let mut reporter = Reporter::new(&self.telling, &progress, false, self.dry_run, None);
        for report in reports {
            reporter.report(report);
        }
        if torn {
            // With a closed stderr the message is lost.
            let _ = writeln!(std::io::stderr(), "copyist: {shown}: {TORN}");
        }
        if unread > 0 {
            let lines = plural(unread, "line");
            let _ = writeln!(
                std::io::stderr(),
                "copyist: {shown}: {lines} cannot be read; the files that they name are not changed"
            );
            reporter.exit = reporter.exit.max(1);
        }
        let Reporter { show, summary, reports: kept, exit, .. } = reporter;
        show.undone(&summary);
        if let (Some(path), Some(kept)) = (&self.telling.report, kept) {
            let copyist = env!("CARGO_PKG_VERSION");
            let report =
                RunReport { copyist, command: "undo", exit, summary: &summary, inputs: &kept };
            write_report(path, &report)?;
        }
        Ok(exit)
    }
}
