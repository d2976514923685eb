//! Execution of a task on all inputs, and the reports on their outcomes.

use super::inputs::Inputs;
use super::interrupt::Interrupt;
use super::machine;
use super::progress::Progress;
use super::show::Show;
use super::telling::Telling;
use super::text::printable;
use super::{Stop, index, save};
use crate::batch::{
    self, Account, Action, Commit, Copies, Earlier, FailOn, FileReport, Job, Joining, Listed,
    Outcome, OutputPlace, Over, Planned, ReportedPath, RunReport, Summary, Task, Workers, planned,
    threads_in_turn,
};
use crate::diagnostic::{Code, Diagnostic, Findings};
use crate::error::Error;
use crate::format::Format;
use crate::store::{Claims, folder_of, real};
use crate::threads::ThreadBudget;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs a task without a journal.
pub fn run(command: &str, task: Task, inputs: &Inputs, telling: &Telling) -> Result<u8, Stop> {
    run_accountably(command, task, inputs, telling, |_| Ok(None))
}

/// Runs `task` on all inputs that the user named, and records the results in the account that
/// `open` returns. The journal is opened only after everything that the run needs was checked.
/// Returns the exit code.
pub fn run_accountably(
    command: &str,
    mut task: Task,
    inputs: &Inputs,
    telling: &Telling,
    open: impl FnOnce(&Task) -> Result<Option<Account>, Stop>,
) -> Result<u8, Stop> {
    let started = Instant::now();
    let threads = batch::threads(inputs.jobs);
    let workers = begun_workers(inputs, threads)?;
    let (Listed { jobs, errors, skipped }, files) = listed(&task, inputs, telling)?;
    let account = open(&task)?;
    let account = account.as_ref();
    let journal = account.map(|account| account.path().to_owned());
    // There are never more workers than inputs, whatever number the user requested. If threads
    // cannot be started, the run continues with fewer and takes longer.
    let wanted = take(&mut task, Claims::of(files, journal), threads).min(jobs.len());
    let more = (wanted > workers.count()).then(|| Workers::new(wanted));
    let workers = more.and_then(Result::ok).unwrap_or(workers);
    let task = &task;
    let data_on_stdout = matches!(&task.place, OutputPlace::One(path) if path.as_os_str() == "-");
    let progress = Progress::start(telling, data_on_stdout, jobs.iter(), &task.meter);
    let planned = planned(task, &jobs, account);
    let mut reporter =
        Reporter::new(telling, &progress, data_on_stdout, task.policy.dry, task.fail_on);
    adapt(&mut reporter.show, task);
    reporter.report_unlisted(errors, skipped);
    let interrupt = interrupt(task, inputs, data_on_stdout)?;
    interrupt.end_if_blocked(&task.meter).map_err(Stop::no_threads)?;
    let shift = Shift::new(task, account, interrupt, workers.count());
    let work = |place: usize, planned: Planned<'_>| {
        let _turn = task.claims.begin(place);
        if planned.is_work() && shift.ended().is_some() {
            return vec![(place, None)];
        }
        let over = shift.work(place, &planned);
        progress.advance();
        begun(over)
    };
    let mut skipped = 0;
    let tell = |report: Option<FileReport>| match report {
        Some(report) => reporter.report(report),
        None => skipped += 1,
    };
    workers.each(planned, work, || begun(shift.commit.finish()), tell);
    let Reporter { mut show, summary, reports: kept, exit, closed, made, views, .. } = reporter;
    let ended = shift.ended().filter(|_| skipped > 0 || shift.interrupt.code().is_some());
    let exit = ended.map_or(exit, |(code, _)| code.max(exit));
    drop(progress);
    if !closed {
        show.end(ended.is_none());
        show.summary(&summary, started.elapsed());
        show_outputs(&show, task, &made, &views)?;
    }
    match ended {
        Some((_, why)) => show.ended(why, skipped, account.is_some()),
        None => show.unmoved(&task.options.map_paths, &summary),
    }
    if let Some(error) = &show.broken {
        return Err(Stop::broken(format!("cannot write results: {error}")));
    }
    if let (Some(path), Some(inputs)) = (&telling.report, &kept) {
        let copyist = env!("CARGO_PKG_VERSION");
        task.sweep_beside(path);
        write_report(path, &RunReport { copyist, command, exit, summary: &summary, inputs })?;
    }
    Ok(exit)
}

/// Adapts what is shown to the operation.
fn adapt(show: &mut Show, task: &Task) {
    show.migrates = matches!(task.action, Action::Migrate(_)) && task.repair_first.is_none();
    if let Action::Repair(mending) = &task.action {
        show.repairs = true;
        if mending.wanted.salvage {
            show.is_followed(Code::TornRecord);
        }
    }
}

/// Prints where the only output of a conversion is, or the list of the views of a run.
fn show_outputs(
    show: &Show,
    task: &Task,
    made: &[(String, &'static Format)],
    views: &[PathBuf],
) -> Result<(), Stop> {
    if let (Action::Convert(_), [(output, format)]) = (&task.action, made) {
        show.place(output, machine::resume_at(Path::new(output), format)?.as_deref());
    }
    if let Some(written) = list(task, views)?.or_else(|| alone(views)) {
        show.place(&written.to_string_lossy(), None);
    }
    Ok(())
}

/// Writes the list of the views of a run, if their form has one; returns its path.
fn list(task: &Task, views: &[PathBuf]) -> Result<Option<PathBuf>, Stop> {
    let (Action::View(request), OutputPlace::Folder(folder)) = (&task.action, &task.place) else {
        return Ok(None);
    };
    let Some(name) = task.index_name().filter(|_| !views.is_empty() && !task.policy.dry) else {
        return Ok(None);
    };
    let path = folder.join(name);
    index::write(&path, request.form, views, task.policy.force)?;
    Ok(Some(path))
}

/// Returns the only view of a run.
fn alone(views: &[PathBuf]) -> Option<PathBuf> {
    let [view] = views else { return None };
    Some(view.clone())
}

/// Starts those of `threads` that may have work, as far as that is known before inputs are listed,
/// because the system needs time to start threads.
fn begun_workers(inputs: &Inputs, threads: usize) -> Result<Workers, Stop> {
    Commit::make_room(threads);
    let workers = Workers::new(inputs.workers(threads)).or_else(|_| Workers::new(1));
    workers.map_err(Stop::no_threads)
}

/// Gives a task the claims of its run and the threads that the user wants. Returns how many workers
/// the task needs: if names depend on what is written, some workers wait for those before them.
fn take(task: &mut Task, claims: Claims, threads: usize) -> usize {
    task.options.thread_budget = ThreadBudget::new(threads);
    let native = matches!(task.place, OutputPlace::Native(_));
    let thread_budget = task.options.thread_budget.clone();
    task.claims = Arc::new(if native { claims.in_turn(threads, thread_budget) } else { claims });
    if native { threads_in_turn(threads) } else { threads }
}

/// The listed inputs, and the files that are read.
type Work = (Listed, Vec<Arc<Path>>);

/// Lists the inputs and the files that are read, and checks that the report can be written where
/// the user wants it.
fn listed(task: &Task, inputs: &Inputs, telling: &Telling) -> Result<Work, Stop> {
    let mut listed = inputs.list(&task.place.written(), task.read_options())?;
    let jobs = &mut listed.jobs;
    if let Some(report) = &telling.report {
        check_report(report, &output_files(task))?;
    }
    let files = jobs.iter().flat_map(Job::files).cloned().collect();
    if let Some(what) = inputs.join {
        *jobs = batch::join(what, std::mem::take(jobs), task.from, &task.options);
        if matches!(task.place, OutputPlace::One(_)) && jobs.len() > 1 {
            let several = match what {
                Joining::Agent => "there is more than one agent; use `--out-dir DIR`",
                Joining::Copies => "there is more than one session; use `--out-dir DIR`",
            };
            return Err(Stop::usage(several));
        }
    }
    if matches!(&task.place, OutputPlace::One(_)) && jobs.len() > 1 && !inputs.several() {
        return Err(Stop::usage("there are several sessions; use `--out-dir DIR`"));
    }
    Ok((listed, files))
}

/// The state that the workers of a run share.
struct Shift<'a> {
    task: &'a Task,
    commit: Commit<'a>,
    interrupt: Interrupt,
    /// Whether the disk was full for an output; then it is full for other outputs, too.
    full: AtomicBool,
}

impl<'a> Shift<'a> {
    fn new(
        task: &'a Task,
        account: Option<&'a Account>,
        interrupt: Interrupt,
        workers: usize,
    ) -> Self {
        let commit = Commit::new(account, task.fail_on, workers);
        Self { task, commit, interrupt, full: AtomicBool::new(false) }
    }

    /// Returns the exit code and the reason, if no further input is begun.
    fn ended(&self) -> Option<(u8, &'static str)> {
        match self.interrupt.code() {
            Some(code) => Some((code, "interrupted")),
            None if self.full.load(Ordering::Relaxed) => Some((4, "the disk is full")),
            None => None,
        }
    }

    fn work(&self, place: usize, Planned { job, output, earlier }: &Planned<'_>) -> Over {
        if let Earlier::Done(exit) = *earlier {
            let mut report = FileReport::new(job.name());
            report.outcome = Outcome::Done;
            report.earlier = exit;
            report.output = self.task.earlier_view(output).map(ReportedPath::from);
            // The run that did this may have been killed while it wrote another file of the folder.
            self.task.sweep_for(job, output);
            return vec![(place, report)];
        }
        let mut done = self.task.run(job, output);
        if *earlier == Earlier::Changed {
            let title = Code::ChangedSince.title();
            done.report.findings.add(Diagnostic::new(Code::ChangedSince, title));
        }
        self.look(&done.report);
        let over = self.commit.push(place, job, done);
        over.iter().for_each(|(_, report)| self.look(report));
        over
    }

    fn look(&self, report: &FileReport) {
        self.full.fetch_or(report.disk_full, Ordering::Relaxed);
    }
}

fn begun(over: Over) -> Vec<(usize, Option<FileReport>)> {
    over.into_iter().map(|(place, report)| (place, Some(report))).collect()
}

/// Watches for signals in a run that leaves files which are better completed. In other runs a
/// signal ends the process at once, above all where the program waits for the user to type.
fn interrupt(task: &Task, inputs: &Inputs, data_on_stdout: bool) -> Result<Interrupt, Stop> {
    let writes = !matches!(task.place, OutputPlace::None) && !task.policy.dry && !data_on_stdout;
    if !writes || inputs.stdin() {
        return Ok(Interrupt::default());
    }
    Interrupt::watch().map_err(|error| Stop::broken(format!("cannot wait for signals: {error}")))
}

/// Reports the outcomes of inputs, and counts them.
pub struct Reporter<'a> {
    fail_on: Option<FailOn>,
    progress: &'a Progress,
    pub show: Show,
    pub summary: Summary,
    /// The reports for `--report`.
    pub reports: Option<Vec<FileReport>>,
    pub exit: u8,
    /// Whether the reader of the output closed the pipe.
    closed: bool,
    /// The first outputs of conversions, with their formats; no more than two.
    made: Vec<(String, &'static Format)>,
    /// The views in a folder, those of earlier runs included.
    views: Vec<PathBuf>,
    copies: Copies,
}

impl<'a> Reporter<'a> {
    /// Creates a teller that has reported nothing yet.
    pub fn new(
        telling: &Telling,
        progress: &'a Progress,
        data_on_stdout: bool,
        dry: bool,
        fail_on: Option<FailOn>,
    ) -> Self {
        Self {
            fail_on,
            progress,
            show: Show::new(telling, data_on_stdout, dry),
            summary: Summary::default(),
            reports: telling.report.is_some().then(Vec::new),
            exit: 0,
            closed: false,
            made: Vec::new(),
            views: Vec::new(),
            copies: Copies::default(),
        }
    }

    /// Reports the paths that could not be listed, and those that were left out.
    fn report_unlisted(
        &mut self,
        errors: Vec<(PathBuf, Error)>,
        skipped: Vec<(PathBuf, Diagnostic)>,
    ) {
        for (path, error) in errors {
            let mut report = FileReport::new(path);
            report.findings = Findings::of(error.into_diagnostic());
            self.report(report);
        }
        skipped.into_iter().for_each(|(path, note)| self.report(FileReport::skipped(path, note)));
    }

    /// Reports the outcome of one input.
    pub fn report(&mut self, mut report: FileReport) {
        self.copies.look(&mut report);
        self.exit = self.exit.max(report.exit_code(self.fail_on));
        self.summary.add(&report);
        self.closed |= report.pipe_closed;
        let made = report.output.as_deref().zip(report.to);
        if let Some((output, to)) =
            made.filter(|_| matches!(report.outcome, Outcome::Converted | Outcome::Unchanged))
            && self.made.len() < 2
        {
            self.made.push((output.to_owned(), to.format));
        }
        let is_view = report.view.is_some() || report.outcome == Outcome::Done;
        let view = report.output.as_deref().filter(|path| is_view && *path != "-");
        self.views.extend(view.map(PathBuf::from));
        if !report.pipe_closed {
            self.show.file(&report, self.progress);
        }
        if let Some(kept) = &mut self.reports {
            kept.push(report);
        }
    }
}

/// Returns the files that the user named for outputs of a task.
fn output_files(task: &Task) -> Vec<PathBuf> {
    let output = match &task.place {
        OutputPlace::One(path) => Some(path.clone()),
        _ => None,
    };
    let mending = match &task.action {
        Action::Repair(mending) => Some(mending),
        _ => task.repair_first.as_ref(),
    };
    output.into_iter().chain(mending.and_then(|mending| mending.quarantine.clone())).collect()
}

/// Checks that a report replaces only an older report, and that its folder exists. The report is
/// written last, when it would be too late to find an error.
pub fn check_report(path: &Path, outputs: &[PathBuf]) -> Result<(), Stop> {
    let shown = || printable(&path.display().to_string());
    let refused = |why: &str| Err(Stop::usage(format!("`--report {}`: {why}", shown())));
    if path.as_os_str() == "-" {
        return refused("it is a file, not standard output");
    }
    if outputs.iter().any(|output| real(output) == real(path)) {
        return refused("it is an output of this run");
    }
    if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return refused("it is a folder");
    }
    if !folder_of(path).is_dir() {
        return refused("there is no folder for it");
    }
    // A pipe with a reader is not opened for this check, because that would use up its reader.
    if !path.is_file() {
        return Ok(());
    }
    let Ok(file) = std::fs::File::open(path) else { return Ok(()) };
    let mut start = Vec::new();
    let read = file.take(REPORT_START.len() as u64).read_to_end(&mut start);
    if read.is_ok() && (start.is_empty() || start == REPORT_START) {
        return Ok(());
    }
    refused("the file exists and is not a report")
}

/// The first bytes of every report.
const REPORT_START: &[u8] = b"{\n  \"copyist\": \"";

/// Writes the report file of `--report`.
pub fn write_report(path: &Path, report: &RunReport<'_>) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::broken(format!("{}: {error}", path.display()));
    let mut text = serde_json::to_vec_pretty(report).map_err(|e| failed(e.into()))?;
    text.push(b'\n');
    // An output or a backup may have taken the name meanwhile.
    check_report(path, &[])?;
    let like: Vec<_> = report.inputs.iter().map(|input| Path::new(&*input.path)).collect();
    save(path, &text, true, &like)
}
