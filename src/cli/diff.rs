//! The command `copyist diff`.

use super::args::Looking;
use super::changes::Printer;
use super::progress::Progress;
use super::reading::Source;
use super::run::{check_report, write_report};
use super::show::Show;
use super::telling::Telling;
use super::text::width;
use super::turn_changes;
use super::{Stop, print};
use crate::batch::{
    self, FileReport, Found, Job, Outcome, ReadOptions, RunReport, Summary, Workers, Written,
};
use crate::diagnostic::{Differences, Log};
use crate::diff::{self, Failed, Request, Side};
use crate::format::{Cx, Options};
use crate::store::Input;
use crate::turns;
use clap::ValueEnum;
use std::path::PathBuf;

/// Show the differences between two sessions, by record and field
///
/// The sessions may have different formats. White space and the escapes of strings are ignored.
/// Numbers are compared by their text, and data that copyist does not interpret also by the order
/// of members. The exit code is 1 if there are differences.
#[derive(Debug, clap::Args)]
#[command(mut_arg("progress", |arg| arg.hide(true)))]
pub struct Args {
    /// A session's file; `-` is standard input
    a: PathBuf,
    /// Another session's file
    b: PathBuf,
    /// Compare the turns with the same question: tools, result, tokens, cost, time; the exit code
    /// is 1 if tools or results differ
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["ignore", "context"])]
    by: Option<By>,
    /// Ignore differences of this kind
    #[arg(long, value_name = "WHAT", value_enum, value_delimiter = ',')]
    ignore: Vec<Ignore>,
    /// Compare what a model would receive, not what the files contain
    #[arg(long)]
    context: bool,
    /// Width of the output; the default is the terminal's width, or 80 without a terminal
    #[arg(long, value_name = "COLUMNS", env = "COPYIST_WIDTH")]
    pub width: Option<u16>,
    #[command(flatten)]
    looking: Looking,
    #[command(flatten)]
    pub telling: Telling,
}

/// Values of `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Turns, which begin with the questions of the user
    Turn,
}

/// Values of `--ignore`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ignore {
    /// Identifiers of records, and references to them
    Ids,
    /// Times of records
    Time,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let [job_a, job_b] = self.jobs()?;
        if let Some(report) = &self.telling.report {
            check_report(report, &[])?;
        }
        let options = self.looking.options();
        let logs = [Log::default(), Log::default()];
        let [log_a, log_b] = &logs;
        let mut a = Opened::new(&job_a, &self.looking.reading.source, log_a);
        let mut b = Opened::new(&job_b, &self.looking.reading.source, log_b);
        let same = match self.by {
            Some(By::Turn) => self.compare_turns([&mut a, &mut b], logs.each_ref(), &options)?,
            None => self.compare(&mut a, &mut b, logs.each_ref(), &options),
        };
        let mut show = Show::new(&self.telling, false, false);
        let (mut summary, mut exit) = (Summary::default(), 0);
        let mut reports = Vec::new();
        for (mut report, log) in [a.report, b.report].into_iter().zip(logs) {
            report.findings = log.into_findings();
            exit = exit.max(report.exit_code(self.looking.strictness.fail_on()));
            summary.add(&report);
            show.file(&report, &Progress::none());
            reports.push(report);
        }
        exit = exit.max(u8::from(!same));
        if let Some(path) = &self.telling.report {
            let (copyist, inputs) = (env!("CARGO_PKG_VERSION"), reports.as_slice());
            let report = RunReport { copyist, command: "diff", exit, summary: &summary, inputs };
            write_report(path, &report)?;
        }
        Ok(exit)
    }

    /// Returns the width of the output.
    fn width(&self) -> usize {
        width(self.width).max(40)
    }

    /// Returns the jobs of the two sessions.
    fn jobs(&self) -> Result<[Job; 2], Stop> {
        // Only this thread searches folders; starting others would take longer.
        let _alone = Workers::new(1).map_err(Stop::no_threads)?;
        let both = [&self.a, &self.b];
        if both.iter().all(|path| path.as_os_str() == "-") {
            return Err(Stop::usage("standard input cannot be both sessions"));
        }
        let one = |path: &PathBuf| {
            let inputs = self.looking.sessions.one(Some(path.clone()), "diff", None)?;
            inputs
                .list(
                    &Written::default(),
                    ReadOptions {
                        from: self.looking.reading.source.from,
                        ..ReadOptions::default()
                    },
                )?
                .jobs
                .pop()
                .ok_or_else(|| Stop::usage("there is no session"))
        };
        Ok([one(&self.a)?, one(&self.b)?])
    }

    /// Prints the turns of both sessions, if both can be read. Returns whether tools and results are
    /// equal, as far as that is known.
    fn compare_turns(
        &self,
        sides: [&mut Opened; 2],
        logs: [&Log; 2],
        options: &Options,
    ) -> Result<bool, Stop> {
        let mut read = Vec::new();
        for (side, log) in sides.into_iter().zip(logs) {
            let Some((found, input)) = &mut side.input else { continue };
            match turns::run(found.format, input, &Cx { options, log }) {
                Ok(turns) => {
                    side.report.records = turns.len() as u64;
                    read.push((turn_changes::title(&side.report), turns));
                }
                Err(error) => log.report(side.report.fail(error)),
            }
        }
        let [(title_a, a), (title_b, b)] = read.as_slice() else { return Ok(true) };
        let pairs = turns::paired(a, b);
        if !self.telling.quiet {
            let text = match self.telling.json {
                true => turn_changes::as_json(&pairs),
                false => turn_changes::as_text([(title_a, a), (title_b, b)], &pairs, self.width()),
            };
            print(text.as_bytes())?;
        }
        Ok(pairs.iter().all(turns::Pair::is_same))
    }

    /// Prints the differences, if both sessions can be read. Returns whether the sessions are
    /// equal, as far as that is known.
    fn compare(&self, a: &mut Opened, b: &mut Opened, logs: [&Log; 2], options: &Options) -> bool {
        let request = Request {
            ignore_ids: self.ignore.contains(&Ignore::Ids),
            ignore_time: self.ignore.contains(&Ignore::Time),
            context: self.context,
        };
        let (Some((found_a, input_a)), Some((found_b, input_b))) = (&mut a.input, &mut b.input)
        else {
            return true;
        };
        let log = Log::default();
        let quiet = Cx { options, log: &log };
        let [cx_a, cx_b] = logs.map(|log| Cx { options, log });
        let side_a = Side { format: found_a.format, parts: input_a, cx: &cx_a, quiet: &quiet };
        let side_b = Side { format: found_b.format, parts: input_b, cx: &cx_b, quiet: &quiet };
        let mut printer = Printer::new(&self.telling, self.width(), [&a.report, &b.report]);
        let (mut differences, mut same) = (Differences::default(), true);
        let done = diff::run(side_a, side_b, request, &mut |change| {
            same = false;
            diff::count(&change, &mut differences);
            printer.change(&change)
        });
        logs[0].differ(differences);
        let done =
            done.and_then(|counts| printer.end(&counts).map(|()| counts).map_err(Failed::Show));
        let (report, log, error) = match done {
            Ok(counts) => {
                (a.report.records, b.report.records) = (counts.a, counts.b);
                return counts.is_same();
            }
            // The reader closed the pipe, which is not a failure.
            Err(Failed::Show(error)) if error.is_closed_pipe() => return same,
            Err(Failed::A(error)) => (&mut a.report, logs[0], error),
            Err(Failed::B(error)) => (&mut b.report, logs[1], error),
            Err(Failed::Show(error)) => (&mut a.report, logs[0], error),
        };
        log.report(report.fail(error));
        true
    }
}

/// A session that was opened, or the report on why it could not be.
struct Opened {
    report: FileReport,
    input: Option<(Found, Input)>,
}

impl Opened {
    fn new(job: &Job, source: &Source, log: &Log) -> Self {
        let mut report = FileReport::new(job.name());
        let options = ReadOptions { from: source.from, encoding: source.encoding, mends: false };
        let opened = || {
            let opened = batch::Opened::new(&job.source, options, true)?;
            Ok(opened.map(|opened| (opened.found, opened.input)))
        };
        match opened() {
            Ok(input) => {
                report.format = input.as_ref().map(|(found, _)| found.name());
                report.confidence =
                    input.as_ref().map(|(found, _)| found.sniffed.confidence.name());
                report.outcome = Outcome::Shown;
                Self { report, input }
            }
            Err(error) => {
                log.report(report.fail(error));
                Self { report, input: None }
            }
        }
    }
}
