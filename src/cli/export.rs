//! The command `copyist export`.

use super::args::Masking;
use super::dataset::{Card, Dataset, Place, Settings};
use super::names;
use super::selecting::Selecting;
use super::show::finding;
use super::split::{Split, split};
use super::style::{Paint, When};
use super::text::printable;
use super::{Stop, print};
use crate::batch::{FileReport, Workers, threads};
use crate::diagnostic::{Code, Diagnostic, Findings, Log, plural};
use crate::error::Error;
use crate::export::{Choices, Per, Reasoning, Row, Rows, Style};
use crate::format::{Cx, OnError, Options};
use crate::home::Listed;
use crate::ids::hash;
use crate::manager::rows_of;
use crate::store::Packing;
use clap::ValueEnum;
use std::collections::{BTreeSet, HashSet};
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Write sessions as rows for training
///
/// A row is the current branch of a session as a model would get it: each call with its result,
/// compactions as the agent applies them. Rows of `openai`, `finetune` and `anthropic` fit the
/// interfaces, `trl` chat templates, `sharegpt` LLaMA-Factory, `sts` session traces of Hugging Face.
///
/// With `--out-dir`, `card.json` and `README.md` tell what the rows contain and what was left out.
/// A session that cannot be read gives no row, is named, and makes the exit code 3.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files, folders or sessions; the default is the folders of all agents
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Shape of the rows
    #[arg(long = "as", value_name = "STYLE", value_parser = names::choice(Style::ALL))]
    style: Style,
    /// Write all rows to this file
    ///
    /// It is compressed if its name ends in .zst or .gz; `-` is standard output.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["out_dir", "split"])]
    output: Option<PathBuf>,
    /// Write a data set into this folder
    ///
    /// Its files are train-00000.jsonl …, card.json and README.md.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Choose the part of a session that is a row
    #[arg(long, value_name = "WHAT", value_parser = names::choice(Per::ALL), default_value = "session")]
    per: Per,
    /// Choose the place of thoughts; the default is the style's own place, else they are left out
    #[arg(long, value_name = "HOW", value_enum)]
    reasoning: Option<Reasonings>,
    /// Keep or drop images; the default keeps them where the style has a place for them
    #[arg(long, value_name = "HOW", value_enum)]
    images: Option<Keep>,
    /// Cut results of tools behind N characters, with a mark
    #[arg(long, value_name = "N")]
    tool_results: Option<usize>,
    /// Keep or drop system messages
    #[arg(long, value_name = "HOW", value_enum, default_value = "keep")]
    system: Keep,
    /// Mask keys, passwords, addresses and user names
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    selecting: Selecting,
    /// Take only sessions in which a model counted tokens whose name begins so
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Take only rows with at least N questions
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_turns: u64,
    /// Leave out rows in which a tool reported an error
    #[arg(long)]
    no_errors: bool,
    /// Take only sessions whose turns were checked, and passed
    #[arg(long)]
    passed: bool,
    /// Leave out rows that another row contains
    ///
    /// These are copies, and what a fork repeats.
    #[arg(long)]
    dedup: bool,
    /// Divide the rows, as in `train=0.9,test=0.1`
    ///
    /// Sessions with the same first question and answer stay on one side, and none changes sides when
    /// others are added.
    #[arg(long, value_name = "NAME=SHARE,…", value_parser = split, requires = "out_dir")]
    split: Option<Split>,
    /// Number that decides which rows go to which part of `--split`
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Maximum size of a file of rows before compression, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 512 << 20, requires = "out_dir")]
    shard_size: u64,
    /// Compress the files of rows with Zstandard
    #[arg(long, requires = "out_dir", conflicts_with = "gzip")]
    zstd: bool,
    /// Compress the files of rows with gzip
    #[arg(long, requires = "out_dir")]
    gzip: bool,
    /// Replace a data set of an earlier export, or an existing file
    #[arg(long)]
    force: bool,
    /// Do everything except writing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Number of sessions at a time; 0 is one for each processor
    #[arg(short, long, value_name = "N", default_value_t = 0, env = "COPYIST_JOBS")]
    jobs: usize,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

/// Values of `--reasoning`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Reasonings {
    /// In the style's own place
    Keep,
    /// Before the text of the answer, in `<think>`
    Move,
    /// Leave them out
    Drop,
}

/// Values of `--images` and `--system`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// Keep them
    Keep,
    /// Leave them out
    Drop,
}

/// Maximum number of bytes of the sessions whose rows wait for each other.
const AT_ONCE: u64 = 128 << 20;

/// Rows of one session, or the report on why there are none.
type Made = Result<(Rows, Log), Box<FileReport>>;

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let choices = self.choices();
        let options = self.options()?;
        let place = self.place()?;
        let sessions = self.sessions()?;
        let files = sessions.iter().flat_map(|session| {
            let read = session.files.iter().map(|file| Arc::from(file.as_path()));
            read.chain([Arc::clone(&session.path)])
        });
        let dataset = Dataset::open(place, self.settings(), files.collect())?;
        let workers = Workers::new(threads(self.jobs)).or_else(|_| Workers::new(1));
        let workers = workers.map_err(Stop::no_threads)?;
        let make = |session: &Listed| made(session, &choices, &options);
        // Rows of turns contain each other.
        let repeated = match self.dedup && choices.per != Per::Turn {
            true => self.repeated(&sessions, &workers, &make),
            false => Repeated::default(),
        };
        let card = Card::new(&choices);
        let helped = BTreeSet::new();
        let mut export = Export { args: &self, repeated, dataset, card, helped };
        each(&sessions, &workers, &make, &mut |session, made| export.add(session, made))?;
        let Export { dataset, card, .. } = export;
        let written = dataset.finish(&card)?;
        self.report(&card, &written)?;
        let is_missing = written.is_empty() && !self.dry_run && !self.is_stdout();
        Ok(if card.failed() > 0 || is_missing { 3 } else { 0 })
    }

    fn choices(&self) -> Choices {
        let of = Choices::of(self.style);
        let reasoning = self.reasoning.map_or(of.reasoning, Reasoning::from);
        let images = self.images.map_or(of.images, |images| images == Keep::Keep);
        Choices {
            per: self.per,
            reasoning,
            images: images && of.style.has_images(),
            tool_results: self.tool_results,
            system: self.system == Keep::Keep,
            passed: self.passed,
            ..of
        }
    }

    fn options(&self) -> Result<Options, Stop> {
        let options =
            Options { force_version: true, on_error: OnError::Stop, ..Options::default() };
        Masking { redact: self.redact, no_redact: false }.options(options, false)
    }

    fn place(&self) -> Result<Place, Stop> {
        match (&self.output, &self.out_dir) {
            _ if self.dry_run => Ok(Place::Nowhere),
            (Some(_), _) if self.is_stdout() => Ok(Place::Stdout),
            (Some(file), _) => Ok(Place::File(file.clone())),
            (_, Some(folder)) => Ok(Place::Folder(folder.clone())),
            _ => {
                Err(Stop::usage("name the place of the rows: `--out-dir DIR`, `-o FILE` or `-o -`"))
            }
        }
    }

    fn settings(&self) -> Settings {
        let packing = match (self.zstd, self.gzip) {
            (true, _) => Some(Packing::Zstd),
            (_, true) => Some(Packing::Gzip),
            _ => None,
        };
        // A trace is a file of its own.
        let most = if self.style == Style::Sts { 0 } else { self.shard_size };
        Settings { packing, most, force: self.force }
    }

    /// Returns the sessions that are selected, in the order of their paths.
    fn sessions(&self) -> Result<Vec<Listed>, Stop> {
        let mut sessions = self.selecting.sessions(&self.paths)?;
        if let Some(model) = &self.model {
            let spent = |session: &Listed| {
                session.summary.spent.iter().any(|spent| spent.model.starts_with(model.as_str()))
            };
            sessions.retain(spent);
        }
        let key = |one: &Listed| (one.path.clone(), one.job.number(), one.summary.id.clone());
        sessions.sort_by_cached_key(key);
        Ok(sessions)
    }

    /// Whether a row is wanted, whatever other rows there are.
    fn wants(&self, row: &Row) -> bool {
        row.turns >= self.min_turns && !(self.no_errors && row.has_errors)
    }

    /// Returns the hashes of all beginnings of rows.
    fn repeated(
        &self,
        sessions: &[Listed],
        workers: &Workers,
        make: &(dyn Fn(&Listed) -> Made + Sync),
    ) -> Repeated {
        let mut repeated = Repeated::default();
        let _ = each(sessions, workers, make, &mut |_, made| {
            for row in made.iter().flat_map(|(rows, _)| &rows.rows).filter(|row| self.wants(row)) {
                repeated.within.extend(row.marks.iter().rev().skip(1));
            }
            Ok(())
        });
        repeated
    }

    /// Whether rows go to standard output.
    fn is_stdout(&self) -> bool {
        !self.dry_run && self.output.as_deref() == Some(Path::new("-"))
    }

    fn report(&self, card: &Card, written: &[PathBuf]) -> Result<(), Stop> {
        if self.quiet {
            return Ok(());
        }
        let mut lines = card.lines();
        match (written, &self.out_dir) {
            _ if self.is_stdout() => {}
            ([], _) => lines.push("nothing written".to_owned()),
            (files, Some(folder)) => {
                let files = plural(files.len() as u64, "file");
                lines.push(format!("written: {files} in {}", folder.display()));
            }
            ([first, ..], None) => lines.push(format!("written: {}", first.display())),
        }
        let text: String = lines.iter().map(|line| format!("{}\n", printable(line))).collect();
        match self.is_stdout() {
            // A closed standard error is no failure of the export.
            true => drop(stderr().write_all(text.as_bytes())),
            false => drop(print(text.as_bytes())?),
        }
        Ok(())
    }
}

/// An export while sessions are added.
struct Export<'a> {
    args: &'a Args,
    repeated: Repeated,
    dataset: Dataset,
    card: Card,
    /// Codes whose advice was given.
    helped: BTreeSet<Code>,
}

impl Export<'_> {
    fn add(&mut self, session: &Listed, made: Made) -> Result<(), Stop> {
        let (Rows { rows, counts, has_failed }, log) = match made {
            Ok(made) => made,
            Err(report) => {
                self.fail(&report);
                return Ok(());
            }
        };
        let Self { args, card, .. } = self;
        let mut written = 0;
        let family = session.summary.beginning;
        let family = family.unwrap_or_else(|| hash(session.summary.id.as_bytes()));
        let part = args.split.as_ref().map_or("train", |split| split.of(family, args.seed));
        for row in &rows {
            if row.turns < args.min_turns {
                card.omit("rows with too few questions");
            } else if !args.wants(row) {
                card.omit("rows with errors of tools");
            } else if args.dedup && !self.repeated.is_new(row) {
                card.omit("rows that others repeat");
            } else {
                self.dataset.row(part, &row.text)?;
                card.row(part, row);
                written += 1;
            }
        }
        if has_failed {
            card.omit("sessions without passed checks");
        } else if rows.is_empty() {
            card.omit("sessions without an answer");
        }
        if written > 0 {
            card.session(&session.summary, written, &counts, log.into_findings().masked);
        }
        Ok(())
    }

    /// Reports a session that could not be read, with advice once for each kind of error.
    fn fail(&mut self, report: &FileReport) {
        let mut out = stderr();
        let paint = Paint::new(When::Auto, &out);
        for found in &report.findings.diagnostics {
            // A closed standard error is no failure of the export.
            let _ = writeln!(out, "{}", finding(&report.path, found, paint));
            if let Some(help) = found.help().filter(|_| self.helped.insert(found.code)) {
                let _ = writeln!(out, "  help: {help}");
            }
            self.card.fail(&report.path, &found.message);
        }
    }
}

/// Hashes of the conversations of rows.
#[derive(Default)]
struct Repeated {
    /// Hashes of the beginnings of rows, without the whole rows.
    within: HashSet<u64>,
    /// Hashes of the rows that were written.
    written: HashSet<u64>,
}

impl Repeated {
    /// Whether no other row contains this one. Of equal rows, the first is new.
    fn is_new(&mut self, row: &Row) -> bool {
        let Some(end) = row.marks.last() else { return true };
        !self.within.contains(end) && self.written.insert(*end)
    }
}

/// Makes the rows of all sessions in parallel, and passes them on in the order of the sessions.
fn each(
    sessions: &[Listed],
    workers: &Workers,
    make: &(dyn Fn(&Listed) -> Made + Sync),
    take: &mut dyn FnMut(&Listed, Made) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut rest = sessions;
    while !rest.is_empty() {
        let mut size = 0;
        let fits = |session: &&Listed| {
            size += session.size;
            size <= AT_ONCE
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (now, later) = rest.split_at(count);
        rest = later;
        let mut done = Vec::with_capacity(count);
        let work = |place: usize, session| vec![(place, (session, make(session)))];
        workers.each(now.iter(), work, Vec::new, |made| done.push(made));
        done.into_iter().try_for_each(|(session, made)| take(session, made))?;
    }
    Ok(())
}

/// Makes the rows of a session.
fn made(session: &Listed, choices: &Choices, options: &Options) -> Made {
    let failed = |found: Diagnostic| {
        let mut report = FileReport::new(session.job.name());
        report.findings = Findings::of(found);
        options.redact.iter().for_each(|rules| report.mask(rules));
        Box::new(report)
    };
    let refused = |error: Error| failed(error.into_diagnostic());
    let log = Log::default();
    let cx = Cx { options, log: &log };
    match rows_of(&session.job.source, true, choices, &cx).map_err(refused)? {
        Some(rows) => Ok((rows, log)),
        None => {
            let why = session.summary.fault.as_deref().unwrap_or("it is not a session");
            Err(failed(Diagnostic::new(Code::Unreadable, why)))
        }
    }
}

impl From<Reasonings> for Reasoning {
    fn from(reasoning: Reasonings) -> Self {
        match reasoning {
            Reasonings::Keep => Self::Keep,
            Reasonings::Move => Self::Move,
            Reasonings::Drop => Self::Drop,
        }
    }
}
