//! Reports about each input, and about all inputs together.

use super::identity::Looked;
use super::inputs::Passed;
use super::reported_path::ReportedPath;
use crate::diagnostic::{Code, Diagnostic, Differences, FieldOutcome, Findings, Severity};
use crate::error::Error;
use crate::format::{At, Repaired};
use crate::inspect::{Inspection, VALID};
use crate::redact::{Redactor, Rules};
use crate::store::Output;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The outcome for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Converted to another version of its format.
    Migrated,
    /// Written in another format.
    Converted,
    /// Already as requested.
    Unchanged,
    /// Damage was repaired.
    Repaired,
    /// Damage would be repaired.
    Repairable,
    /// Nothing needs to be repaired.
    Healthy,
    /// The agent can open the session, but the interface of its model refuses what it sends.
    Refused,
    /// The damage cannot be repaired: nothing of a session is left in the input, or the input was
    /// left unchanged for the user to decide.
    Beyond,
    /// Valid, without errors.
    Valid,
    /// Invalid, with errors.
    Invalid,
    /// Format recognised.
    Detected,
    /// Printed.
    Shown,
    /// Found in a folder, with the name of a session, but nothing of it can be read.
    Unreadable,
    /// Found in a folder, with the name of a session and without content.
    Empty,
    /// Found in a folder, and not a session.
    Skipped,
    /// A part of a session that is an input under its main part's name.
    Part,
    /// Finished by an earlier run, according to the journal.
    Done,
    /// The original was restored.
    Restored,
    /// A file that a run had added, or an original that it had kept, was removed.
    Removed,
    /// An original was kept, for the reason in the findings.
    Kept,
    /// Failed, without an output.
    Failed,
}

impl Outcome {
    /// Every outcome, in the order of the closing summary.
    pub const ALL: [Self; 21] = [
        Self::Migrated,
        Self::Converted,
        Self::Unchanged,
        Self::Repaired,
        Self::Repairable,
        Self::Healthy,
        Self::Refused,
        Self::Beyond,
        Self::Valid,
        Self::Invalid,
        Self::Detected,
        Self::Shown,
        Self::Unreadable,
        Self::Empty,
        Self::Skipped,
        Self::Part,
        Self::Done,
        Self::Restored,
        Self::Removed,
        Self::Kept,
        Self::Failed,
    ];

    /// Returns the outcome's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Migrated => "migrated",
            Self::Converted => "converted",
            Self::Unchanged => "unchanged",
            Self::Repaired => "repaired",
            Self::Repairable => "repairable",
            Self::Healthy => "healthy",
            Self::Refused => "refused",
            Self::Beyond => "beyond",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Detected => "detected",
            Self::Shown => "shown",
            Self::Unreadable => "unreadable",
            Self::Empty => "empty",
            Self::Skipped => "skipped",
            Self::Part => "part",
            Self::Done => "done",
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Kept => "kept",
            Self::Failed => "failed",
        }
    }
}

/// The reason why an input was skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skip {
    /// The input is not a session, or it is a file that is not read.
    #[default]
    NoSession,
    /// The input is a session of another format than the target of the run.
    OtherFormat,
    /// The input is a kind of file that is not read.
    Passed(Passed),
    /// The findings contain the reason.
    Reported,
}

/// Condition under which findings make the run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Any data that could not be written.
    Loss,
    /// Any warning.
    Warning,
}

/// The report on one input.
#[derive(Debug, Serialize)]
pub struct FileReport {
    /// The input's path; `-` for standard input.
    pub path: ReportedPath,
    /// The outcome.
    pub outcome: Outcome,
    /// The format and version as which the input was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<At>,
    /// Certainty of the detection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<&'static str>,
    /// Format and version of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<At>,
    /// Form of a view that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<&'static str>,
    /// Path of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<ReportedPath>,
    /// The paths of all files that were written, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<ReportedPath>,
    /// The files of the parts, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ReportedPath>,
    /// Number of records that were read.
    pub records: u64,
    /// The session's contents in numbers, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspection: Option<Box<Inspection>>,
    /// The changes that repair made or would make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repaired>,
    /// Size in bytes of an original that was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<u64>,
    /// Number of bytes that were read.
    #[serde(skip)]
    pub bytes: u64,
    /// Whether the reader of the output's pipe closed it.
    #[serde(skip)]
    pub pipe_closed: bool,
    /// Whether the disk was full when the output was written.
    #[serde(skip)]
    pub disk_full: bool,
    /// The exit code of the earlier run that did the work.
    #[serde(skip)]
    pub earlier: u8,
    /// Identity of the session, of an input that is looked at.
    #[serde(skip)]
    pub looked: Option<Looked>,
    /// The reason why the input was skipped, if it was.
    #[serde(skip)]
    pub skip: Skip,
    /// The findings and losses.
    #[serde(flatten, serialize_with = "findings")]
    pub findings: Findings,
}

/// Whether a finding of this code explains the outcome, and so is an error.
fn decides(outcome: Outcome, code: Code) -> bool {
    match outcome {
        Outcome::Invalid => code.is_invalid(),
        // If the user named the origin, it must be usable.
        Outcome::Failed => matches!(code, Code::OriginUnreadable | Code::OriginOfAnother),
        _ => false,
    }
}

impl FileReport {
    /// Creates the report on an input of which nothing is known yet.
    pub fn new(path: impl Into<ReportedPath>) -> Self {
        Self {
            path: path.into(),
            outcome: Outcome::Failed,
            format: None,
            confidence: None,
            to: None,
            view: None,
            output: None,
            outputs: Vec::new(),
            parts: Vec::new(),
            records: 0,
            inspection: None,
            repair: None,
            freed: None,
            bytes: 0,
            pipe_closed: false,
            disk_full: false,
            earlier: 0,
            looked: None,
            skip: Skip::NoSession,
            findings: Findings::default(),
        }
    }

    /// Records the paths of the output, if it was not written to the main part's place or consists
    /// of several files.
    pub fn wrote(&mut self, output: &Output) {
        let paths = output.paths();
        if let Some(first) = paths.first()
            && !self.output.as_ref().is_some_and(|output| output.is(first))
        {
            self.output = Some(ReportedPath::from(*first));
        }
        if paths.len() > 1 {
            self.outputs = paths.into_iter().map(ReportedPath::from).collect();
        }
    }

    /// Returns the name of the format and version as which the input was read.
    pub fn format_name(&self) -> String {
        self.format.map_or("unknown".to_owned(), |format| format.to_string())
    }

    /// Returns the path of the file that contains a part of the session.
    pub fn part(&self, part: u32) -> &str {
        self.parts.get(part as usize).unwrap_or(&self.path)
    }

    /// Creates the report on a path that was found and left out.
    pub fn skipped(path: PathBuf, note: Diagnostic) -> Self {
        let (outcome, skip) = (Outcome::Skipped, Skip::Reported);
        Self { outcome, skip, findings: Findings::of(note), ..Self::new(path) }
    }

    /// Records that there is no output. Returns the finding that explains the error.
    pub fn fail(&mut self, error: Error) -> Diagnostic {
        self.outcome = Outcome::Failed;
        self.output = None;
        self.outputs.clear();
        self.pipe_closed = error.is_closed_pipe();
        self.disk_full = error.is_full_disk();
        error.into_diagnostic()
    }

    /// Whether there is a warning or an error about the input.
    pub fn is_warned(&self) -> bool {
        self.findings.counts.keys().any(|code| code.severity() >= Severity::Warning)
    }

    /// Masks secrets in messages. Excerpts go, because a piece of a secret does not look like one.
    pub fn mask(&mut self, rules: &Rules) {
        let redactor = Redactor::new(rules);
        for found in &mut self.findings.diagnostics {
            found.window = None;
            found.message = redactor.text(&found.message).into_owned();
        }
    }

    /// Marks the findings that make the session invalid, or the request fail.
    pub fn mark_decisive(&mut self) {
        let outcome = self.outcome;
        for found in &mut self.findings.diagnostics {
            found.decides = decides(outcome, found.code);
        }
    }

    /// Returns how grave the findings of a code are: what makes a session invalid is an error.
    pub fn severity(&self, code: Code) -> Severity {
        let decides = decides(self.outcome, code);
        if decides { Severity::Error } else { code.severity() }
    }

    /// Returns the exit code for this input.
    pub fn exit_code(&self, fail_on: Option<FailOn>) -> u8 {
        let found = &self.findings;
        // A closed pipe is not a finding, but findings up to then count.
        let counts = |code: &&Code| !(self.pipe_closed && **code == Code::Io);
        let worst = found.counts.keys().filter(counts).map(|code| code.severity()).max();
        let fails = match fail_on {
            Some(FailOn::Loss) => found.dropped() > 0,
            Some(FailOn::Warning) => worst >= Some(Severity::Warning),
            None => false,
        };
        match self.outcome {
            _ if self.pipe_closed => u8::from(fails || worst == Some(Severity::Error)),
            // The input is correct; the request was not.
            Outcome::Failed if found.counts.contains_key(&Code::OutputName) => 2,
            Outcome::Failed if found.counts.contains_key(&Code::NoQuarantine) => 4,
            Outcome::Failed => 3,
            Outcome::Invalid
            | Outcome::Repairable
            | Outcome::Beyond
            | Outcome::Refused
            | Outcome::Kept => 1,
            Outcome::Empty | Outcome::Skipped | Outcome::Part => 0,
            Outcome::Done => self.earlier,
            // `inspect` has the verdict of `validate`.
            Outcome::Shown if self.inspection.as_ref().is_some_and(|seen| !seen.is_valid()) => 1,
            Outcome::Repaired if Verdict::of(found) == Verdict::Invalid => 1,
            _ => u8::from(fails || worst == Some(Severity::Error)),
        }
    }
}

/// The verdict that the findings about a session give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The session opens and can be continued.
    Valid,
    /// The interface of the model refuses what is sent of it.
    Refused,
    /// It has defects.
    Invalid,
}

impl Verdict {
    /// Returns the verdict that these findings give.
    pub fn of(found: &Findings) -> Self {
        // A link that could not be created is not an error in the session.
        let is_fault = |code: &Code| code.is_invalid() && *code != Code::NotLinked;
        if found.counts.keys().any(is_fault) {
            Self::Invalid
        } else if found.counts.contains_key(&Code::Refused) {
            Self::Refused
        } else {
            Self::Valid
        }
    }

    /// Returns the verdict in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => VALID,
            Self::Refused => "refused",
            Self::Invalid => "invalid",
        }
    }

    /// Returns the outcome of an operation that ended with `outcome` on a session with this verdict.
    pub fn outcome(self, outcome: Outcome) -> Outcome {
        match (outcome, self) {
            (Outcome::Valid, Self::Invalid) => Outcome::Invalid,
            (Outcome::Healthy, Self::Invalid) => Outcome::Beyond,
            (Outcome::Valid | Outcome::Healthy, Self::Refused) => Outcome::Refused,
            (outcome, _) => outcome,
        }
    }
}

#[derive(Serialize)]
struct Finding<'a> {
    code: &'static str,
    severity: String,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
}

impl<'a> From<&'a Diagnostic> for Finding<'a> {
    fn from(found: &'a Diagnostic) -> Self {
        let within = found.at.filter(|at| at.line > 0);
        Self {
            code: found.code.name(),
            severity: found.severity().to_string(),
            message: &found.message,
            part: found.at.map(|at| at.part).filter(|part| *part > 0),
            line: within.map(|at| at.line),
            byte: within.map(|at| at.byte),
        }
    }
}

#[derive(Serialize)]
struct FindingsShape<'a> {
    diagnostics: Vec<Finding<'a>>,
    counts: BTreeMap<&'static str, u64>,
    losses: BTreeMap<&'static str, BTreeMap<&'a str, u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<&'a Differences>,
    #[serde(skip_serializing_if = "Option::is_none")]
    masked: Option<&'a BTreeMap<String, u64>>,
}

fn findings<S: Serializer>(found: &Findings, serializer: S) -> Result<S::Ok, S::Error> {
    let mut losses: BTreeMap<&'static str, BTreeMap<&str, u64>> = BTreeMap::new();
    for ((fate, path), count) in &found.losses {
        losses.entry(FieldOutcome::name(*fate)).or_default().insert(path, *count);
    }
    let shape = FindingsShape {
        diagnostics: found.diagnostics.iter().map(Finding::from).collect(),
        counts: found.counts.iter().map(|(code, n)| (code.name(), *n)).collect(),
        losses,
        differences: found.differences.as_ref(),
        masked: found.masked.as_ref(),
    };
    shape.serialize(serializer)
}

/// The number of inputs for each outcome.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The counts by the outcome's name. Outcomes that did not occur are left out.
    #[serde(flatten)]
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Number of records that were read.
    pub records: u64,
    /// Number of bytes that were read.
    #[serde(skip)]
    pub bytes: u64,
    /// Number of skipped inputs that are sessions of another format.
    #[serde(skip)]
    pub others: u64,
    /// Number of warnings.
    pub warnings: u64,
    /// Number of errors.
    pub errors: u64,
    /// Size in bytes of all originals that were removed, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freed: Option<u64>,
    /// Number of secrets of each kind that were masked, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masked: Option<BTreeMap<String, u64>>,
}

impl Summary {
    /// Adds the report on one input.
    pub fn add(&mut self, report: &FileReport) {
        *self.outcomes.entry(report.outcome.name()).or_default() += 1;
        self.records += report.records;
        self.bytes += report.bytes;
        report.freed.iter().for_each(|size| *self.freed.get_or_insert_default() += size);
        self.others += u64::from(report.skip == Skip::OtherFormat);
        if let Some(masked) = &report.findings.masked {
            let all = self.masked.get_or_insert_default();
            masked.iter().for_each(|(kind, n)| *all.entry(kind.clone()).or_default() += n);
        }
        for (code, count) in &report.findings.counts {
            match report.severity(*code) {
                Severity::Error => self.errors += count,
                Severity::Warning => self.warnings += count,
                Severity::Note => {}
            }
        }
    }
}

/// The contents of the file that `--report` writes. The schema is `schemas/report.schema.json`.
#[derive(Debug, Serialize)]
pub struct RunReport<'a> {
    /// The program's version.
    pub copyist: &'static str,
    /// The command.
    pub command: &'a str,
    /// The exit code.
    pub exit: u8,
    /// The counts over all inputs.
    pub summary: &'a Summary,
    /// The reports on the inputs, in order.
    pub inputs: &'a [FileReport],
}
