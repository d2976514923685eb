//! One operation on one input, from opening it to the output in its place.

use super::inputs::{Job, Origin};
use super::report::{FileReport, Outcome};
use crate::context::{self, Request};
use crate::detect::detect;
use crate::diagnostic::{Code, Diagnostic, Log, Severity};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Confidence, Cx, Format, Head, Options, Parts, Sink, Sniffed, Target};
use crate::formats::Spec;
use crate::store::{Backup, Destination, Input, Output, Policy, Swept};
use crate::{convert, migrate, validate};
use jsonschema::Validator;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Action {
    /// Bring to a version; without one to the newest of the input's format.
    Migrate(Option<Spec>),
    /// Write in a format.
    Convert(Spec),
    /// Look for faults, and say so many at most.
    Validate(usize),
    /// Recognise.
    Detect,
    /// Print what would be sent to a model.
    Context(Request),
}

/// Where outputs go.
#[derive(Clone, Debug)]
pub enum Place {
    /// There is none.
    None,
    /// To one file, or `-`.
    One(PathBuf),
    /// Below a folder.
    Folder(PathBuf),
    /// Where the input is.
    InPlace(Backup),
}

/// What turns findings into a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Anything that could not be written.
    Loss,
    /// Any warning.
    Warning,
}

/// An operation, ready to be applied to inputs.
#[derive(Debug)]
pub struct Task {
    /// What is to be done.
    pub action: Action,
    /// The inputs' format, if the person said so.
    pub from: Option<Spec>,
    /// How.
    pub options: Options,
    /// Where outputs go.
    pub place: Place,
    /// What may be written over.
    pub policy: Policy,
    /// The folders that are free of what killed runs left.
    pub swept: Swept,
    /// The real paths of all inputs, none of which may be replaced by an output.
    pub inputs: HashSet<PathBuf>,
    /// What else makes the exit code 1.
    pub fail_on: Option<FailOn>,
    /// Schemas, compiled when first needed.
    pub schemas: Mutex<HashMap<(&'static str, u32), Arc<Validator>>>,
}

/// What the input turned out to be.
struct Found {
    format: &'static Format,
    sniffed: Sniffed,
}

impl Task {
    /// A task that writes nothing.
    #[must_use]
    pub fn looking(action: Action, options: Options, from: &Option<Spec>) -> Self {
        Self {
            action,
            from: *from,
            options,
            place: Place::None,
            policy: Policy::default(),
            swept: Swept::default(),
            inputs: HashSet::new(),
            fail_on: None,
            schemas: Mutex::default(),
        }
    }

    /// The same, with more that makes the exit code 1.
    #[must_use]
    pub fn failing(self, fail_on: Option<FailOn>) -> Self {
        Self { fail_on, ..self }
    }

    /// Does it to one input. `output` is the input's place below the output folder.
    #[must_use]
    pub fn run(&self, job: &Job, output: &Path) -> FileReport {
        let mut report = FileReport::new(job.name());
        let log = Log::default();
        let cx = Cx { options: &self.options, log: &log };
        match self.session(job, output, &cx, &mut report) {
            Ok(outcome) => report.outcome = outcome,
            Err(error) => {
                report.outcome = Outcome::Failed;
                report.output = None;
                report.pipe_closed = is_closed_pipe(&error);
                log.report(error.into_diagnostic());
            }
        }
        report.findings = log.into_findings();
        if report.outcome == Outcome::Valid
            && report.findings.counts.keys().any(|code| code.is_invalid())
        {
            report.outcome = Outcome::Invalid;
        }
        report
    }

    /// The exit code that an input's report calls for.
    #[must_use]
    pub fn exit_code(&self, report: &FileReport) -> u8 {
        let found = &report.findings;
        let fails = match self.fail_on {
            Some(FailOn::Loss) => found.dropped() > 0,
            Some(FailOn::Warning) => found.worst() >= Some(Severity::Warning),
            None => false,
        };
        match report.outcome {
            _ if report.pipe_closed => 0,
            Outcome::Failed => 3,
            Outcome::Invalid => 1,
            Outcome::Skipped => 0,
            _ => u8::from(fails || found.worst() == Some(Severity::Error)),
        }
    }

    fn session(
        &self,
        job: &Job,
        output: &Path,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<Outcome> {
        let mut input = match &job.origin {
            Origin::File(_) if job.passed_over => return Ok(Outcome::Skipped),
            Origin::File(path) => Input::file(path)?,
            Origin::Stdin => Input::stdin(),
        };
        let Some(found) = self.recognise(job, &mut input, report)? else {
            return Ok(Outcome::Skipped);
        };
        match &self.action {
            Action::Detect => Ok(Outcome::Detected),
            Action::Context(request) => {
                let mut out = std::io::stdout();
                report.records = context::run(found.format, &mut input, request, cx, &mut out)?;
                Ok(Outcome::Shown)
            }
            Action::Validate(max_errors) => {
                let schema = self.schema(&found)?;
                report.records = validate::run(found.format, &schema, &mut input, *max_errors, cx)?;
                Ok(Outcome::Valid)
            }
            Action::Migrate(to) => match to {
                Some(to) if to.format.name != found.format.name => {
                    if job.named {
                        Err(other_format(&found, *to))
                    } else {
                        Ok(Outcome::Skipped)
                    }
                }
                _ => {
                    let newest = Spec { format: found.format, version: None };
                    self.write(job, output, input, &found, to.unwrap_or(newest), cx, report)
                }
            },
            Action::Convert(to) => self.write(job, output, input, &found, *to, cx, report),
        }
    }

    /// What the input is: what its first bytes say, unless the person said otherwise. `None` for
    /// what was merely found in a folder and is no session.
    fn recognise(
        &self,
        job: &Job,
        input: &mut Input,
        report: &mut FileReport,
    ) -> Result<Option<Found>> {
        let (bytes, whole) = input.head()?;
        let name = job.path().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let head = Head { name: &name, bytes: &bytes, whole };
        let found = match self.from {
            _ if whole && bytes.trim_ascii().is_empty() => {
                Err(Error::unfit(Diagnostic::new(Code::Empty, Code::Empty.title())))
            }
            Some(spec) => as_asked(spec, &head),
            None => detect(&head).ok_or_else(|| unknown(&head)),
        };
        let (format, sniffed) = match found {
            Ok(found) => found,
            Err(error) if job.named => return Err(error),
            Err(_) => return Ok(None),
        };
        report.format = Some(format.at(sniffed.version));
        report.confidence = Some(sniffed.confidence.name());
        Ok(Some(Found { format, sniffed }))
    }

    fn schema(&self, found: &Found) -> Result<Arc<Validator>> {
        let number = found.sniffed.version;
        let Some(version) = found.format.version(number) else {
            let message = format!("{} has no version {number}", found.format.name);
            return Err(Error::request(Code::WrongVersion, message));
        };
        let mut schemas = self.schemas.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = (found.format.name, number);
        if let Some(schema) = schemas.get(&key) {
            return Ok(schema.clone());
        }
        let schema = Arc::new(validate::compile(version)?);
        schemas.insert(key, schema.clone());
        Ok(schema)
    }

    #[allow(clippy::too_many_arguments, reason = "one input's whole state, passed once")]
    fn write(
        &self,
        job: &Job,
        relative: &Path,
        mut input: Input,
        found: &Found,
        to: Spec,
        cx: &Cx<'_>,
        report: &mut FileReport,
    ) -> Result<Outcome> {
        let destination = self.destination(relative);
        let in_place = matches!(destination, Destination::InPlace(_));
        report.to = Some(to.format.at(to.version().number));
        let target = destination.target(job.path());
        report.output = match &destination {
            Destination::Stdout => Some("-".to_owned()),
            _ => target.map(|path| path.display().to_string()),
        };
        if let Some(target) = target {
            self.sweep_beside(target);
        }
        if let Destination::File(path) = &destination
            && path.canonicalize().is_ok_and(|path| self.inputs.contains(&path))
        {
            let message = format!("{} is an input of this run", path.display());
            return Err(Error::request(Code::SameFile, message));
        }
        let regular = job.path().filter(|path| path.is_file());
        let mut output = Output::prepare(destination, regular, self.policy)?;
        let version = found.sniffed.version;
        let done = match &self.action {
            Action::Migrate(_) => {
                let target = Target::Version(to.version().number);
                input.main().and_then(|from| {
                    migrate::run(found.format, from, &mut output.create("")?, target, cx)
                })
            }
            _ => convert::run(found.format, version, to, &mut input, &mut output, cx),
        };
        let done = match done {
            // What looks like damage may be a line that another program is just writing.
            Err(error) if error.is_recoverable() => output.unchanged().and(Err(error)),
            done => done,
        }?;
        report.records = done.records;
        if in_place && !done.changed {
            report.output = None;
            return Ok(Outcome::Unchanged);
        }
        output.commit()?;
        Ok(match &self.action {
            _ if !done.changed => Outcome::Unchanged,
            Action::Migrate(_) => Outcome::Migrated,
            _ => Outcome::Converted,
        })
    }

    /// Removes what killed runs left in the folder of a file that is to be written.
    pub fn sweep_beside(&self, target: &Path) {
        if !self.policy.dry {
            self.swept.beside(target);
        }
    }

    fn destination(&self, relative: &Path) -> Destination {
        match &self.place {
            Place::None => Destination::Nowhere,
            Place::One(path) => Destination::from(path.as_path()),
            Place::Folder(folder) => Destination::File(folder.join(relative)),
            Place::InPlace(backup) => Destination::InPlace(backup.clone()),
        }
    }
}

/// The format that the person named. What it does not recognise may still be a damaged file of
/// it, and its reader says what is wrong; but not where the file is plainly something else.
fn as_asked(spec: Spec, head: &Head<'_>) -> Result<(&'static Format, Sniffed)> {
    let wrong = |what: String| Err(Error::request(Code::WrongFormat, what));
    let Format { name, json_lines, .. } = spec.format;
    let sniffed = match (spec.format.sniff)(head) {
        Some(sniffed) => sniffed,
        None => match detect(head) {
            Some((other, Sniffed { confidence: Confidence::Certain, version })) => {
                return wrong(format!("the file is {}, not {name}", other.at(version)));
            }
            _ if *json_lines && head.is_pretty_json() => {
                return wrong(format!("the file is {PRETTY}, and {name} has one record a line"));
            }
            _ if *json_lines && head.lacks_objects() => {
                return wrong(format!(
                    "the file is not {name}: no line begins as a JSON object does"
                ));
            }
            _ => Sniffed { confidence: Confidence::Weak, version: spec.version().number },
        },
    };
    let version = spec.version.map_or(sniffed.version, |version| version.number);
    Ok((spec.format, Sniffed { version, ..sniffed }))
}

const PRETTY: &str = "JSON spread over several lines";

fn unknown(head: &Head<'_>) -> Error {
    let title = Code::UnknownFormat.title();
    let message =
        if head.is_pretty_json() { format!("{title}: it is {PRETTY}") } else { title.into() };
    Error::request(Code::UnknownFormat, message)
}

fn other_format(found: &Found, to: Spec) -> Error {
    let message = format!(
        "the file is {}, and migration stays inside one format; `copyist convert -t {}` converts it",
        found.format.at(found.sniffed.version),
        to.format.at(to.version().number),
    );
    Error::request(Code::WrongFormat, message)
}

fn is_closed_pipe(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
}
