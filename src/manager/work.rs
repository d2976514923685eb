//! Operations on files and folders, as the command carries them out.

use crate::batch::{
    self, Account, Action, Commit, FileReport, Filter, Gather, Job, Listed, Name, Outcome,
    OutputPlace, RepairSettings, Task, Workers, planned,
};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{OnError, Options, RepairOptions};
use crate::formats::Spec;
use crate::inspect::Request;
use crate::store::{Backup, Claims, Policy};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Work on files and folders: what to do, and where the outputs go.
///
/// ```no_run
/// use copyist::manager::Work;
/// for report in Work::migrate().out_dir("new").run(["sessions"])? {
///     println!("{}: {}", &*report.path, report.outcome.name());
/// }
/// # Ok::<(), copyist::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Work {
    pub(super) task: Task,
    threads: usize,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn new(action: Action, on_error: OnError) -> Self {
        let options = Options { on_error, ..Options::default() };
        Self { task: Task::looking(action, options, &None), threads: 0, stop: Arc::default() }
    }

    /// Converts to a format, such as `pi` or `connectonion@2`.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn convert(to: &str) -> Result<Self> {
        let mut work = Self::new(Action::Convert(spec(to)?), OnError::Keep);
        work.task.options.force_version = true;
        Ok(work)
    }

    /// Migrates to the newest version.
    #[must_use]
    pub fn migrate() -> Self {
        Self::new(Action::Migrate(None), OnError::Stop)
    }

    /// Repairs damaged sessions; with `resumable`, also those that a model's interface refuses.
    #[must_use]
    pub fn repair(resumable: bool) -> Self {
        let wanted = RepairOptions { resumable, ..RepairOptions::default() };
        Self::new(Action::Repair(RepairSettings { wanted, quarantine: None }), OnError::Keep)
    }

    /// Checks sessions, and describes at most 100 errors of each.
    #[must_use]
    pub fn validate() -> Self {
        Self::new(Action::Validate(100), OnError::Keep)
    }

    /// Shows what sessions hold in numbers; see [`FileReport::inspection`].
    #[must_use]
    pub fn inspect() -> Self {
        Self::new(Action::Inspect(Request { full: false, rows: 0 }), OnError::Keep)
    }

    /// Detects formats.
    #[must_use]
    pub fn detect() -> Self {
        Self::new(Action::Detect, OnError::Keep)
    }

    /// Writes the output of the only input to this file.
    #[must_use]
    pub fn output(mut self, file: impl Into<PathBuf>) -> Self {
        self.task.place = OutputPlace::One(file.into());
        self
    }

    /// Writes outputs below this folder.
    #[must_use]
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.task.place = OutputPlace::Folder(folder.into());
        self
    }

    /// Replaces the inputs, and keeps the originals with `.bak` behind their names.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.task.place = OutputPlace::InPlace(Backup::Suffix(crate::store::BACKUP.to_owned()));
        self
    }

    /// Allows that existing files are replaced.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.task.policy = Policy { force: true, ..self.task.policy };
        self
    }

    /// Does everything except writing.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.task.policy = Policy { dry: true, ..self.task.policy };
        self
    }

    /// Writes no origins beside converted files.
    #[must_use]
    pub fn without_origin(mut self) -> Self {
        self.task.options.origin = false;
        self
    }

    /// Works on this many inputs at a time; 0, the default, is one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Begins no further input once the flag is set. There are no reports on the inputs that are
    /// left.
    #[must_use]
    pub fn until(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Does the work, and returns a report on each session, in the order of the inputs. What is
    /// wrong with one session does not end the work on the others.
    ///
    /// # Errors
    /// If the work cannot begin: several inputs for one output, or no threads.
    pub fn run<P: AsRef<Path>>(
        self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Vec<FileReport>> {
        let paths: Vec<_> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        let (jobs, mut reports) = self.listed(&paths);
        if matches!(self.task.place, OutputPlace::One(_)) && jobs.len() > 1 {
            return Err(Error::request(Code::Io, "one output file for several sessions"));
        }
        let named: Vec<_> =
            planned(&self.task, &jobs, None).map(|planned| planned.output).collect();
        reports.append(&mut self.finish(jobs.into_iter().zip(named).collect(), None)?);
        Ok(reports)
    }

    /// Returns the inputs that the paths mean, and reports on what is not an input.
    pub(super) fn listed(&self, paths: &[PathBuf]) -> (Vec<Job>, Vec<FileReport>) {
        let Listed { jobs, errors, skipped } =
            batch::expand(paths, &Filter::default(), &self.task.place.written());
        let skipped = skipped.into_iter().map(|(path, note)| FileReport::skipped(path, note));
        let failed = errors.into_iter().map(|(path, why)| {
            let mut report = FileReport::new(path);
            let why = report.fail(why);
            report.findings.add(why);
            report
        });
        (
            batch::apart(batch::group(jobs, &Gather::default()), self.task.read_options()),
            skipped.chain(failed).collect(),
        )
    }

    /// Works on inputs whose outputs have names, and returns the reports in their order.
    pub(super) fn finish(
        mut self,
        inputs: Vec<(Job, Name)>,
        account: Option<&Account>,
    ) -> Result<Vec<FileReport>> {
        let files = inputs.iter().flat_map(|(job, _)| job.files()).cloned().collect();
        let claims = Claims::of(files, account.map(|account| account.path().to_owned()));
        self.task.claims = Arc::new(claims);
        let workers = Workers::new(batch::threads(self.threads).min(inputs.len()).max(1));
        let workers = workers.map_err(|e| Error::request(Code::Io, format!("no threads: {e}")))?;
        let task = &self.task;
        if let Some(account) = account {
            let made = inputs.iter().flat_map(|(job, _)| account.untouched(job));
            made.for_each(|made| task.claims.own(&made));
        }
        let commit = Commit::new(account, None, workers.count());
        let mut reports = Vec::with_capacity(inputs.len());
        workers.each(
            inputs.iter().take_while(|_| !self.stop.load(Ordering::Relaxed)),
            |place, (job, name)| commit.push(place, job, task.run(job, name)),
            || commit.finish(),
            |report| reports.push(report),
        );
        Ok(reports)
    }

    /// Does the work on one session, and returns the report on it.
    ///
    /// # Errors
    /// If there is no output, or nothing could be read.
    pub fn run_one(self, path: impl AsRef<Path>) -> Result<FileReport> {
        let report = self.run([path.as_ref()])?.pop();
        let report = report.ok_or_else(|| Error::request(Code::UnknownFormat, "no session"))?;
        if report.outcome == Outcome::Failed {
            let why = report.findings.diagnostics.last().cloned();
            let unknown = || Diagnostic::of(Code::UnknownFormat);
            return Err(Error::unfit(why.unwrap_or_else(unknown)));
        }
        Ok(report)
    }
}

/// Converts a session to a format, such as `codex` or `connectonion@2`, as `copyist convert` does:
/// with its origin beside it, and without replacing anything. `into` is a file, or a folder if it
/// exists as one or ends with `/`.
///
/// ```no_run
/// let report = copyist::convert_file("session.jsonl", "codex", "out/")?;
/// println!("{:?}: {}", report.output, report.outcome.name());
/// # Ok::<(), copyist::error::Error>(())
/// ```
///
/// # Errors
/// If there is no such format, the session cannot be read, or the output exists or cannot be
/// written.
pub fn convert_file(
    session: impl AsRef<Path>,
    to: &str,
    into: impl Into<PathBuf>,
) -> Result<FileReport> {
    let (work, into) = (Work::convert(to)?, into.into());
    let folder = into.is_dir() || into.as_os_str().as_encoded_bytes().ends_with(b"/");
    if folder { work.out_dir(into) } else { work.output(into) }.run_one(session)
}

fn spec(name: &str) -> Result<Spec> {
    Spec::parse(name).map_err(|why| Error::request(Code::WrongFormat, why))
}
