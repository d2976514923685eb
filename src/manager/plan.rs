//! Runs that several processes share: one plans, and each of the others works on a portion.

use super::Work;
use crate::batch::{
    Account, Action, Earlier, FileReport, Job, Name as OutputName, OpenedJournal, Outcome, Planned,
    Share, planned, root,
};
use crate::diagnostic::Code;
use crate::error::{Cannot, Error, Result};
use crate::store::{Entry, Header, Name, read_journal};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time to wait for another process that has the journal of the same portion open: it has lost its
/// connection to the run and is about to end.
const PATIENCE: Duration = Duration::from_secs(600);

/// The sessions of a run.
#[derive(Debug)]
pub struct Plan {
    /// The sessions to be worked on.
    pub shares: Vec<Share>,
    /// The reports on inputs for which there is no work.
    pub reports: Vec<FileReport>,
    /// Number of sessions that earlier runs finished, and that have not changed since.
    pub done: u64,
    /// The header for the journals of the run.
    pub header: Header,
}

impl Work {
    /// Finds the sessions in files and folders, and assigns names to their outputs. Several
    /// processes can then work on them by [`run_shares`](Self::run_shares).
    ///
    /// `journals` are those of earlier runs in the order of the runs, each with whether it counts.
    /// Sessions in a journal that counts are left out of the plan, unless they failed or changed
    /// since. Sessions in another one are planned again, and what was written for them may be
    /// replaced.
    ///
    /// # Errors
    /// If the inputs have no folder in common, or if a journal cannot be read or is of a run with
    /// other inputs or other settings.
    pub fn plan<P: AsRef<Path>>(
        self,
        paths: impl IntoIterator<Item = P>,
        journals: &[(PathBuf, bool)],
    ) -> Result<Plan> {
        let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        let header = self.header(&paths)?;
        let mut entries = Vec::new();
        for (path, counts) in journals {
            let all = entries_of(path, &header)?.into_iter();
            entries.extend(all.map(|entry| if *counts { entry } else { again(entry) }));
        }
        let account = Account::of(header.root.path(), entries);
        let (jobs, mut reports) = self.listed(&paths);
        let (mut done, mut work) = (0, Vec::new());
        for Planned { job, output, earlier } in planned(&self.task, &jobs, Some(&account)) {
            match earlier {
                _ if job.passed_over.is_some() => reports.push(self.task.run(job, &output).report),
                Earlier::Done(_) => done += 1,
                Earlier::Nothing | Earlier::Changed => work.push((job, output)),
            }
        }
        let share = |(job, output): (&Job, OutputName)| Share {
            job: job.clone(),
            output,
            earlier: account.last(job).cloned(),
            bytes: job.size().unwrap_or(0),
        };
        // The sizes come from a file system that may be remote.
        let shares = work.into_par_iter().map(share).collect();
        Ok(Plan { shares, reports, done, header })
    }

    /// Works on sessions of a plan, and returns the reports on them in their order. The results are
    /// recorded in a journal, a file that begins with the plan's header. Outputs that a process
    /// wrote which was killed in the same work are replaced. Work that writes nothing needs no
    /// journal.
    ///
    /// # Errors
    /// If the journal cannot be written or is of another run, or if there are no threads.
    pub fn run_shares(
        self,
        shares: Vec<Share>,
        journal: Option<(&Path, &Header)>,
    ) -> Result<Vec<FileReport>> {
        let account = journal.map(|(path, header)| account(path, header, &shares)).transpose()?;
        let inputs = shares.into_iter().map(|share| (share.job, share.output)).collect();
        self.finish(inputs, account.as_ref())
    }

    fn header(&self, paths: &[PathBuf]) -> Result<Header> {
        let none = "the inputs have no folder in common, or one of them is not there";
        let root = root(paths).filter(|root| root.is_absolute());
        let root = root.ok_or_else(|| Error::request(Code::Io, none))?;
        let command = match self.task.action {
            Action::Convert(_) => "convert",
            Action::Repair(_) => "repair",
            Action::Migrate(_) => "migrate",
            _ => "detect",
        };
        Ok(Header {
            copyist: Header::MARK.to_owned(),
            version: Header::VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            settings: self.task.settings(None, "derived"),
            in_place: false,
            root: Name::from(&*root),
        })
    }
}

/// Returns an entry whose work is done again. Its outputs stay known.
fn again(entry: Entry) -> Entry {
    Entry { outcome: Outcome::Failed.name().to_owned(), ..entry }
}

/// Opens the account of work on `shares`, which an earlier process may have begun.
fn account(journal: &Path, header: &Header, shares: &[Share]) -> Result<Account> {
    let (mut file, before, entries, _) = opened(journal)?;
    match before {
        Some(before) => fits(journal, &before, header).and_then(|()| file.go_on())?,
        None => file.begin(header)?,
    }
    let known = shares.iter().filter_map(|share| share.earlier.clone());
    let known = known.chain(entries).map(again).collect();
    Ok(Account::new(journal, file, header.root.path(), known))
}

/// Opens the journal of a portion. Waits for a process that still has it.
fn opened(path: &Path) -> Result<OpenedJournal> {
    let begun = Instant::now();
    loop {
        match Account::open(path) {
            Err(error)
                if error.io_kind() == io::ErrorKind::WouldBlock && begun.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(100));
            }
            opened => return opened,
        }
    }
}

/// Returns the entries of an earlier run's journal.
fn entries_of(path: &Path, header: &Header) -> Result<Vec<Entry>> {
    let file = File::open(path).cannot("open")?;
    let Some(before) = read_journal(&file)? else { return Ok(Vec::new()) };
    fits(path, &before.header, header)?;
    Ok(before.entries)
}

/// Checks that a journal is of a run with the same inputs and settings.
fn fits(path: &Path, before: &Header, now: &Header) -> Result<()> {
    let description = |header: &Header| {
        let root = header.root.path();
        format!("`{} {}` of {}", header.command, header.settings, root.display())
    };
    let (before, now) = (description(before), description(now));
    if before == now {
        return Ok(());
    }
    let path = path.display();
    Err(Error::request(Code::SameFile, format!("{path} is of {before}, and this is {now}")))
}
