//! What is told about each input, and about all of them.

use super::inputs::Passed;
use super::told::Told;
use crate::diagnostic::{Code, Diagnostic, Differences, FieldOutcome, Findings, Severity};
use crate::error::Error;
use crate::format::{At, Repaired};
use crate::inspect::Inspection;
use crate::store::Output;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Brought to another version.
    Migrated,
    /// Written in another format.
    Converted,
    /// Already what was asked for.
    Unchanged,
    /// Damage was repaired.
    Repaired,
    /// Damage would be repaired.
    Repairable,
    /// Nothing is there to be repaired.
    Healthy,
    /// What is wrong with it is beyond repair: nothing of a session is left in it, or it was left as
    /// it is for the user to decide.
    Beyond,
    /// Without fault.
    Valid,
    /// With faults.
    Invalid,
    /// Recognised.
    Detected,
    /// Printed.
    Shown,
    /// Found in a folder, and called as a session is, but nothing of it can be read.
    Unreadable,
    /// Found in a folder, and no session.
    Skipped,
    /// A part of a session that is an input under its main part's name.
    Part,
    /// Finished by an earlier run, as the journal says.
    Done,
    /// The original was put back.
    Restored,
    /// A file that the run had added is gone.
    Removed,
    /// Without output.
    Failed,
}

impl Outcome {
    /// Every outcome, in the order of the closing summary.
    pub const ALL: [Self; 18] = [
        Self::Migrated,
        Self::Converted,
        Self::Unchanged,
        Self::Repaired,
        Self::Repairable,
        Self::Healthy,
        Self::Beyond,
        Self::Valid,
        Self::Invalid,
        Self::Detected,
        Self::Shown,
        Self::Unreadable,
        Self::Skipped,
        Self::Part,
        Self::Done,
        Self::Restored,
        Self::Removed,
        Self::Failed,
    ];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Migrated => "migrated",
            Self::Converted => "converted",
            Self::Unchanged => "unchanged",
            Self::Repaired => "repaired",
            Self::Repairable => "repairable",
            Self::Healthy => "healthy",
            Self::Beyond => "beyond",
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Detected => "detected",
            Self::Shown => "shown",
            Self::Unreadable => "unreadable",
            Self::Skipped => "skipped",
            Self::Part => "part",
            Self::Done => "done",
            Self::Restored => "restored",
            Self::Removed => "removed",
            Self::Failed => "failed",
        }
    }
}

/// Why an input was skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skip {
    /// It is no session, or nothing that is looked at.
    #[default]
    NoSession,
    /// It is a session of another format than the one that the run leads to.
    OtherFormat,
    /// It is not looked into.
    Passed(Passed),
    /// The findings say it.
    Told,
}

/// What turns findings into a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// Anything that could not be written.
    Loss,
    /// Any warning.
    Warning,
}

/// What is told about one input.
#[derive(Debug, Serialize)]
pub struct FileReport {
    /// The input's path; `-` for standard input.
    pub path: Told,
    /// What became of it.
    pub outcome: Outcome,
    /// Format and version that it was read as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<At>,
    /// How sure the detection was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<&'static str>,
    /// Format and version of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<At>,
    /// Path of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Told>,
    /// The paths of all files that were written, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Told>,
    /// The files of its parts, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Told>,
    /// Records read.
    pub records: u64,
    /// What there is in it, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspection: Option<Box<Inspection>>,
    /// What repair did or would do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repaired>,
    /// Bytes read.
    #[serde(skip)]
    pub bytes: u64,
    /// Whether the output's pipe was closed by whoever read it.
    #[serde(skip)]
    pub pipe_closed: bool,
    /// Whether there was no room for its output.
    #[serde(skip)]
    pub disk_full: bool,
    /// The exit code that the earlier run gave, which did the work.
    #[serde(skip)]
    pub earlier: u8,
    /// Why it was skipped, if it was.
    #[serde(skip)]
    pub skip: Skip,
    /// What was found and lost.
    #[serde(flatten, serialize_with = "findings")]
    pub findings: Findings,
}

impl FileReport {
    /// For an input of which nothing is known yet.
    #[must_use]
    pub fn new(path: impl Into<Told>) -> Self {
        Self {
            path: path.into(),
            outcome: Outcome::Failed,
            format: None,
            confidence: None,
            to: None,
            output: None,
            outputs: Vec::new(),
            parts: Vec::new(),
            records: 0,
            inspection: None,
            repair: None,
            bytes: 0,
            pipe_closed: false,
            disk_full: false,
            earlier: 0,
            skip: Skip::NoSession,
            findings: Findings::default(),
        }
    }

    /// Tells where the output went, where that is not where the main part would have.
    pub fn wrote(&mut self, output: &Output) {
        let paths = output.paths();
        if let Some(first) = paths.first()
            && !self.output.as_ref().is_some_and(|output| output.is(first))
        {
            self.output = Some(Told::from(*first));
        }
        if paths.len() > 1 {
            self.outputs = paths.into_iter().map(Told::from).collect();
        }
    }

    /// What it was read as, in words.
    #[must_use]
    pub fn format_name(&self) -> String {
        self.format.map_or("unknown".to_owned(), |format| format.to_string())
    }

    /// The path of the file that a part of the session is.
    #[must_use]
    pub fn part(&self, part: u32) -> &str {
        self.parts.get(part as usize).unwrap_or(&self.path)
    }

    /// For what was found and left alone.
    #[must_use]
    pub fn left(path: PathBuf, note: Diagnostic) -> Self {
        let (outcome, skip) = (Outcome::Skipped, Skip::Told);
        Self { outcome, skip, findings: Findings::of(note), ..Self::new(path) }
    }

    /// Notes that there is no output; the finding says why.
    #[must_use]
    pub fn fail(&mut self, error: Error) -> Diagnostic {
        self.outcome = Outcome::Failed;
        self.output = None;
        self.outputs.clear();
        self.pipe_closed = error.is_closed_pipe();
        self.disk_full = error.is_full_disk();
        error.into_diagnostic()
    }

    /// Whether something was found that makes it invalid, or stays so after repair.
    #[must_use]
    pub fn is_faulty(&self) -> bool {
        // A link that nobody could make is no fault of the session.
        let mut codes = self.findings.counts.keys().filter(|code| **code != Code::NotLinked);
        codes.any(|code| code.is_invalid())
    }

    /// The exit code that it calls for.
    #[must_use]
    pub fn exit_code(&self, fail_on: Option<FailOn>) -> u8 {
        let found = &self.findings;
        // That nobody reads on is no finding; what was found by then is.
        let counts = |code: &&Code| !(self.pipe_closed && **code == Code::Io);
        let worst = found.counts.keys().filter(counts).map(|code| code.severity()).max();
        let fails = match fail_on {
            Some(FailOn::Loss) => found.dropped() > 0,
            Some(FailOn::Warning) => worst >= Some(Severity::Warning),
            None => false,
        };
        match self.outcome {
            _ if self.pipe_closed => u8::from(fails || worst == Some(Severity::Error)),
            // Nothing is wrong with the input; the request was.
            Outcome::Failed if found.counts.contains_key(&Code::OutputName) => 2,
            Outcome::Failed if found.counts.contains_key(&Code::NoQuarantine) => 4,
            Outcome::Failed => 3,
            Outcome::Invalid | Outcome::Repairable | Outcome::Beyond => 1,
            Outcome::Skipped | Outcome::Part => 0,
            Outcome::Done => self.earlier,
            Outcome::Repaired if self.is_faulty() => 1,
            _ => u8::from(fails || worst == Some(Severity::Error)),
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
            severity: found.code.severity().to_string(),
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
    };
    shape.serialize(serializer)
}

/// How many inputs met each outcome.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// By the outcome's name; those that did not occur are left out.
    #[serde(flatten)]
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Records read.
    pub records: u64,
    /// Bytes read.
    #[serde(skip)]
    pub bytes: u64,
    /// Of those that were skipped, sessions of another format.
    #[serde(skip)]
    pub others: u64,
    /// Warnings.
    pub warnings: u64,
    /// Errors.
    pub errors: u64,
}

impl Summary {
    /// Counts one input.
    pub fn add(&mut self, report: &FileReport) {
        *self.outcomes.entry(report.outcome.name()).or_default() += 1;
        self.records += report.records;
        self.bytes += report.bytes;
        self.others += u64::from(report.skip == Skip::OtherFormat);
        for (code, count) in &report.findings.counts {
            match code.severity() {
                Severity::Error => self.errors += count,
                Severity::Warning => self.warnings += count,
                Severity::Note => {}
            }
        }
    }
}

/// The file that `--report` writes; its schema is `schemas/report.schema.json`.
#[derive(Debug, Serialize)]
pub struct RunReport<'a> {
    /// The program's version.
    pub copyist: &'static str,
    /// The command.
    pub command: &'a str,
    /// The exit code.
    pub exit: u8,
    /// Counts over all inputs.
    pub summary: &'a Summary,
    /// Each input, in order.
    pub inputs: &'a [FileReport],
}
