//! Results and findings, for people and for programs.

use super::args::Telling;
use super::drawing;
use crate::batch::{FileReport, Outcome, Summary};
use crate::diagnostic::{Code, Diagnostic, Severity, Window};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

/// How many findings of one input are shown; `-v` and `--report` have more.
const SHOWN: usize = 10;

/// Tells what becomes of the inputs.
pub struct Show {
    json: bool,
    quiet: bool,
    verbose: bool,
    /// Whether standard output carries the sessions themselves.
    data_on_stdout: bool,
    dry_run: bool,
    /// How wide drawings are.
    width: usize,
    /// Codes whose help was given: once a run is enough.
    helped: BTreeSet<Code>,
    /// Why results could not be written.
    pub broken: Option<io::Error>,
}

impl Show {
    /// As the person wants it.
    pub fn new(telling: &Telling, data_on_stdout: bool, dry_run: bool) -> Self {
        Self {
            json: telling.json,
            quiet: telling.quiet,
            verbose: telling.verbose,
            data_on_stdout,
            dry_run,
            width: width(telling.width),
            helped: BTreeSet::new(),
            broken: None,
        }
    }

    /// Tells about one input.
    pub fn file(&mut self, report: &FileReport) {
        if self.json {
            if report.outcome != Outcome::Skipped || self.verbose {
                self.result(&serde_json::to_string(report).unwrap_or_default());
            }
            return;
        }
        let shown = if self.verbose { usize::MAX } else { SHOWN };
        let least = if self.quiet { Severity::Error } else { Severity::Note };
        let mut told = 0;
        for found in report.findings.diagnostics.iter().filter(|d| d.code.severity() >= least) {
            if told < shown {
                say(&finding(&report.path, found));
                if let Some(help) = found.code.help().filter(|_| self.helped.insert(found.code)) {
                    say(&format!("  help: {help}"));
                }
            }
            told += 1;
        }
        let all: u64 = report
            .findings
            .counts
            .iter()
            .filter(|(c, _)| c.severity() >= least)
            .map(|(_, n)| n)
            .sum();
        if all > told.min(shown) as u64 {
            let more = all - told.min(shown) as u64;
            say(&format!("{}: … and {more} more findings", printable(&report.path)));
        }
        if let Some(inspection) = &report.inspection {
            self.result(&drawing::draw(report, inspection, self.width));
        } else if let Some(line) = self.line(report) {
            self.result(&line);
        }
    }

    /// What became of one input, in a line; `None` where nothing need be said.
    fn line(&self, report: &FileReport) -> Option<String> {
        let path = printable(&report.path);
        let format = report.format.as_deref().unwrap_or("unknown");
        match report.outcome {
            Outcome::Detected => {
                Some(format!("{path}: {format} ({})", report.confidence.unwrap_or("unknown")))
            }
            Outcome::Valid if !self.quiet => {
                Some(format!("{path}: valid {format}, {} records", report.records))
            }
            Outcome::Invalid if !self.quiet => Some(format!("{path}: invalid {format}")),
            Outcome::Skipped if self.verbose => Some(format!("{path}: skipped, no session file")),
            Outcome::Migrated | Outcome::Converted | Outcome::Unchanged if self.verbose => {
                let to = report.to.as_deref().filter(|to| *to != format);
                let arrow = to.map_or(String::new(), |to| format!(" → {to}"));
                let output = report.output.as_deref().filter(|output| *output != report.path);
                let place = output.map_or(String::new(), |o| format!(", {}", printable(o)));
                let outcome = report.outcome.name();
                let records = report.records;
                Some(format!("{path}: {outcome} {format}{arrow}, {records} records{place}"))
            }
            _ => None,
        }
    }

    /// Tells about all inputs together.
    pub fn summary(&self, summary: &Summary) {
        if self.json || self.quiet {
            return;
        }
        let count = |outcome: &Outcome| {
            let n = summary.outcomes.get(outcome.name())?;
            Some(format!("{n} {}", outcome.name()))
        };
        let mut counts: Vec<_> = Outcome::ALL.iter().filter_map(count).collect();
        if summary.warnings > 0 {
            counts.push(plural(summary.warnings, "warning"));
        }
        let only = summary.outcomes.values().sum::<u64>() == 1;
        // One input that was just looked at has said everything in its own line.
        let looked = ["detected", "shown", "valid", "invalid"];
        if only && looked.iter().any(|name| summary.outcomes.contains_key(name)) {
            return;
        }
        let nothing = if self.dry_run { ", nothing written" } else { "" };
        let records = plural(summary.records, "record");
        let counts =
            if counts.is_empty() { "no session files".to_owned() } else { counts.join(", ") };
        say(&format!("{counts}; {records}{nothing}"));
    }

    fn result(&mut self, line: &str) {
        let written = if self.data_on_stdout {
            writeln!(io::stderr(), "{line}")
        } else {
            writeln!(io::stdout(), "{line}")
        };
        // Whoever reads the results may have heard enough; that is no failure.
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.broken.get_or_insert(error);
        }
    }
}

/// The columns that a person wants, or the terminal has.
fn width(wanted: Option<u16>) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(w), _)| w);
    wanted.or_else(terminal).unwrap_or(80).into()
}

fn plural(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// One finding: `path:line:byte: severity[CODE]: message`, and the text around it.
fn finding(path: &str, found: &Diagnostic) -> String {
    let mut out = printable(path);
    if let Some(at) = found.at {
        let _ = write!(out, ":{}", at.line);
        // Findings about the tree know their line only.
        if at.byte > 0 || at.line == 1 {
            let _ = write!(out, ":{}", at.byte);
        }
    }
    let code = found.code;
    let _ = write!(out, ": {}[{}]: {}", code.severity(), code.name(), printable(&found.message));
    if let Some(window) = &found.window {
        out.push_str(&excerpt(window));
    }
    out
}

fn excerpt(window: &Window) -> String {
    let before: String = window.text.chars().take(window.caret).collect();
    let after: String = window.text.chars().skip(window.caret).collect();
    let (left, right) = window.cropped;
    let left = if left { "…" } else { "" };
    let right = if right { "…" } else { "" };
    let before = format!("{left}{}", printable(&before));
    let caret = " ".repeat(before.chars().count());
    format!("\n  | {before}{}{right}\n  | {caret}^", printable(&after))
}

/// Text that cannot command a terminal: control, format and bidirectional characters are shown as
/// escapes.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let hidden = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if hidden {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_file_commands_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}é"), "a\\u{1b}[31m\\u{202e}é");
    }
}
