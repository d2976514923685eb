//! The command `copyist migrate` for a folder of sessions of which some are in files that their agent
//! no longer reads.

use super::Stop;
use super::changing::{Changing, name_journal};
use super::progress::Progress;
use super::run::{Reporter, check_report, write_report};
use super::telling::Telling;
use super::text::printable;
use crate::batch::RunReport;
use crate::diagnostic::plural;
use crate::error::Error;
use crate::format::Options;
use crate::home::OlderHome;
use crate::store::Undertaking;
use std::path::Path;
use std::time::Instant;

/// Brings the sessions of older files into the database of their agent.
pub fn run(
    home: &OlderHome,
    options: &Options,
    changing: &Changing,
    telling: &Telling,
) -> Result<u8, Stop> {
    let started = Instant::now();
    if let Some(report) = &telling.report {
        check_report(report, &[])?;
    }
    let settings = home.path.to_string_lossy();
    let what = Undertaking { command: "migrate", settings: &settings, outcome: "migrated" };
    let failed = |error: Error| Stop { code: 3, message: printable(error.message()) };
    let plan = || home.succession(options).map_err(failed);
    let begin = |journal: &Path| {
        if !telling.quiet {
            name_journal("undo:", journal, telling.json);
        }
    };
    let (done, _) = changing.carry_out(&what, plan, |done| &done.writes, begin)?;
    let progress = Progress::none();
    let mut reporter = Reporter::new(telling, &progress, false, changing.dry_run, None);
    done.reports.into_iter().for_each(|report| reporter.report(report));
    let Reporter { show, summary, reports: kept, exit, .. } = reporter;
    show.summary(&summary, started.elapsed());
    if done.present > 0 && !telling.quiet && !telling.json {
        let sessions = plural(done.present, "session");
        println!("in the database already, and not changed: {sessions}");
    }
    if let (Some(path), Some(inputs)) = (&telling.report, &kept) {
        let copyist = env!("CARGO_PKG_VERSION");
        let report = RunReport { copyist, command: "migrate", exit, summary: &summary, inputs };
        write_report(path, &report)?;
    }
    Ok(exit)
}
