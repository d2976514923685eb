//! Carrying a task through all inputs, and telling what became of them.

use super::args::Telling;
use super::inputs::Inputs;
use super::progress::Progress;
use super::show::{self, Show};
use super::{Stop, save};
use crate::batch::{self, Action, FileReport, Job, Name, Namer, Place, RunReport, Summary, Task};
use crate::store::Backup;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

/// Runs `task` on everything that the person named. Gives the exit code.
pub fn run(command: &str, mut task: Task, inputs: &Inputs, telling: &Telling) -> Result<u8, Stop> {
    let started = Instant::now();
    let backup = match &task.place {
        Place::InPlace(Backup::Suffix(suffix)) => Some(suffix.clone()),
        _ => None,
    };
    let (mut jobs, errors) = inputs.list(backup.as_deref())?;
    if let Some(report) = &telling.report {
        check_report(report)?;
    }
    let real = |path: &Path| path.canonicalize().ok();
    task.inputs = jobs.iter().flat_map(Job::files).filter_map(real).collect();
    let task = &task;
    if inputs.join {
        jobs = batch::join(jobs, task.from, &task.options);
        if matches!(task.place, Place::One(_)) && jobs.len() > 1 {
            return Err(Stop::usage("there is more than one agent; use `--out-dir DIR`"));
        }
    }
    if matches!(&task.place, Place::One(_)) && jobs.len() > 1 && !inputs.several() {
        return Err(Stop::usage("there are several sessions; use `--out-dir DIR`"));
    }
    let jobs = named(task, jobs);
    let data_on_stdout = matches!(&task.place, Place::One(path) if path.as_os_str() == "-");
    let watched = jobs.iter().map(|(job, _)| job);
    let progress = Progress::start(telling, data_on_stdout, watched, &task.meter);
    let mut teller = Teller {
        task,
        progress: &progress,
        show: Show::new(telling, data_on_stdout, task.policy.dry),
        summary: Summary::default(),
        kept: telling.report.is_some().then(Vec::new),
        exit: 0,
    };
    for (path, error) in errors {
        let mut report = FileReport::new(path.display().to_string());
        report.findings = crate::diagnostic::Findings::of(error.into_diagnostic());
        teller.tell(report);
    }
    let work = |(job, output): &(Job, Name)| {
        let report = task.run(job, output);
        progress.advance();
        report
    };
    batch::each(&jobs, inputs.jobs, work, |report| teller.tell(report))
        .map_err(|error| Stop::broken(format!("cannot start threads: {error}")))?;
    let Teller { show, summary, kept, exit, .. } = teller;
    drop(progress);
    show.summary(&summary, started.elapsed());
    if let Some(error) = &show.broken {
        return Err(Stop::broken(format!("cannot write results: {error}")));
    }
    if let (Some(path), Some(kept)) = (&telling.report, kept) {
        let version = env!("CARGO_PKG_VERSION");
        let report =
            RunReport { copyist: version, command, exit, summary: &summary, inputs: &kept };
        task.sweep_beside(path);
        write_report(path, &report)?;
    }
    Ok(exit)
}

struct Teller<'a> {
    task: &'a Task,
    progress: &'a Progress,
    show: Show,
    summary: Summary,
    /// Reports for `--report`.
    kept: Option<Vec<FileReport>>,
    exit: u8,
}

impl Teller<'_> {
    fn tell(&mut self, report: FileReport) {
        self.exit = self.exit.max(report.exit_code(self.task.fail_on));
        self.summary.add(&report);
        if !report.pipe_closed {
            self.show.file(&report, self.progress);
        }
        if let Some(kept) = &mut self.kept {
            kept.push(report);
        }
    }
}

/// Gives each input the name of its output below the output folder.
fn named(task: &Task, jobs: Vec<Job>) -> Vec<(Job, Name)> {
    let mut namer = Namer::default();
    let to = match &task.action {
        Action::Convert(to) => Some(to.format),
        Action::Migrate(Some(to)) => Some(to.format),
        // Without a target the format stays the input's, and so does the ending.
        _ => None,
    };
    let mut with_output = |job: Job| {
        let output = namer.name(&job, to);
        (job, output)
    };
    jobs.into_iter().map(&mut with_output).collect()
}

/// A report takes the place of nothing but an older report.
fn check_report(path: &Path) -> Result<(), Stop> {
    let Ok(file) = std::fs::File::open(path) else { return Ok(()) };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = file.take(REPORT_START.len() as u64).read_to_end(&mut start);
    if read.is_ok() && (start.is_empty() || start == REPORT_START) {
        return Ok(());
    }
    let path = show::printable(&path.display().to_string());
    Err(Stop::usage(format!("`--report {path}`: the file exists and is no report")))
}

/// How every report begins.
const REPORT_START: &[u8] = b"{\n  \"copyist\": \"";

/// Writes the file of `--report`.
pub fn write_report(path: &Path, report: &RunReport<'_>) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::broken(format!("{}: {error}", path.display()));
    let mut text = serde_json::to_vec_pretty(report).map_err(|e| failed(e.into()))?;
    text.push(b'\n');
    // An output or a backup may have taken the name meanwhile.
    check_report(path)?;
    save(path, &text, true)
}
