//! Output of results and findings, as text or as JSON.

use super::drawing;
use super::progress::Progress;
use super::repairs;
use super::sarif::Sarif;
use super::style::{Paint, write};
use super::telling::Telling;
use super::text::{printable, size, width};
use crate::batch::{FileReport, Outcome, Passed, Skip, Summary};
use crate::diagnostic::{Code, Diagnostic, Severity, Window, plural};
use crate::format::Map;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::time::Duration;

/// Maximum number of findings of one input that are shown; `-v` and `--report` show more.
const SHOWN: usize = 10;

/// Advice for damage that a migration can repair.
const REPAIRS_FIRST: &str = "`copyist migrate --repair` also does what `copyist repair` does: it restores every complete record";

/// Duration from which on a run reports its speed.
const LONG: Duration = Duration::from_secs(1);

/// Prints the outcomes of the inputs.
pub struct Show {
    json: bool,
    /// The log of findings, if they are printed as SARIF.
    sarif: Option<Sarif>,
    quiet: bool,
    verbose: bool,
    /// Whether standard output carries the sessions themselves.
    data_on_stdout: bool,
    dry_run: bool,
    /// The width of drawings in columns.
    width: usize,
    /// Whether drawings list every turn.
    all_turns: bool,
    /// The colours of findings.
    findings: Paint,
    /// The colours of results.
    results: Paint,
    /// Whether the findings come from a repair.
    pub repairs: bool,
    /// Whether the findings come from a migration, which can repair first.
    pub migrates: bool,
    /// Whether the head of the table of repairs was printed.
    tabled: bool,
    /// The codes whose help was printed. Each help text is printed once per run.
    helped: BTreeSet<Code>,
    /// The findings of repairs, which are printed behind the table.
    repaired: String,
    /// The findings about files of which nothing can be read, which are printed at the end.
    unreadable: String,
    /// Number of files of which nothing can be read.
    unread: u64,
    /// The error because of which results could not be written.
    pub broken: Option<io::Error>,
}

impl Show {
    /// Creates the output with the user's options.
    pub fn new(telling: &Telling, data_on_stdout: bool, dry_run: bool) -> Self {
        let findings = Paint::new(telling.color, &io::stderr());
        let results =
            if data_on_stdout { findings } else { Paint::new(telling.color, &io::stdout()) };
        Self {
            json: telling.json || telling.sarif,
            sarif: telling.sarif.then(Sarif::new),
            quiet: telling.quiet,
            verbose: telling.verbose,
            data_on_stdout,
            dry_run,
            width: width(telling.width),
            all_turns: telling.all_turns,
            findings,
            results,
            repairs: false,
            migrates: false,
            tabled: false,
            helped: BTreeSet::new(),
            repaired: String::new(),
            unreadable: String::new(),
            unread: 0,
            broken: None,
        }
    }

    /// Prints the outcome of one input.
    pub fn file(&mut self, report: &FileReport, progress: &Progress) {
        if let Some(sarif) = &mut self.sarif {
            let results = sarif.results(report);
            return self.write(&results, progress);
        }
        if self.json {
            let is_result =
                !matches!(report.outcome, Outcome::Skipped | Outcome::Part | Outcome::Done);
            let noted = !report.findings.diagnostics.is_empty();
            if is_result || noted || self.verbose {
                self.result(&serde_json::to_string(report).unwrap_or_default(), progress);
            }
            return;
        }
        if report.outcome == Outcome::Unreadable {
            // These files are printed last, because they would be overlooked among many others.
            self.unread += 1;
            if self.verbose || self.unread <= SHOWN as u64 {
                let found = self.findings(report);
                self.unreadable.push_str(&found);
            }
            return;
        }
        let findings = self.findings(report);
        if repairs::is_row(report) && !self.quiet {
            self.repaired.push_str(&findings);
        } else if !findings.is_empty() {
            progress.aside(|| self.print_text(&findings));
        }
        if let Some(inspection) = &report.inspection {
            self.result(&drawing::draw(report, inspection, self.width, self.all_turns), progress);
        } else if repairs::is_row(report) && !self.quiet {
            if !std::mem::replace(&mut self.tabled, true) {
                self.result(repairs::HEAD, progress);
            }
            let state = format!("{:<10}", report.outcome.name());
            let state = self.results.outcome(report.outcome, state);
            self.result(&repairs::row(report, &state), progress);
        } else if let Some(line) = self.line(report) {
            self.result(&line, progress);
        }
    }

    /// Leaves out the help for a code, because the run follows it already.
    pub fn is_followed(&mut self, code: Code) {
        self.helped.insert(code);
    }

    /// Formats the first findings of one input, and the number of further ones.
    fn findings(&mut self, report: &FileReport) -> String {
        let mut out = String::new();
        let shown = if self.verbose { usize::MAX } else { SHOWN };
        let least = if self.quiet { Severity::Error } else { Severity::Note };
        let wanted = |code: &Code| report.severity(*code) >= least;
        let mut printed = 0;
        let mut list: Vec<_> =
            report.findings.diagnostics.iter().filter(|d| wanted(&d.code)).collect();
        if list.len() > shown {
            // The most severe findings must be shown. Among equal ones, those about the whole file
            // come first.
            list.sort_by_key(|found| (std::cmp::Reverse(found.severity()), found.at.is_some()));
        }
        for found in list.into_iter().take(shown) {
            let _ = writeln!(
                out,
                "{}",
                finding(report.part(found.at.map_or(0, |at| at.part)), found, self.findings)
            );
            let helps = !(self.repairs && found.code.is_for_repair());
            let repairs_first = self.migrates && found.code.is_for_repair();
            let help = if repairs_first { Some(REPAIRS_FIRST) } else { found.help() };
            if let Some(help) = help.filter(|_| helps && self.helped.insert(found.code)) {
                let _ = writeln!(out, "  help: {help}");
            }
            printed += 1;
        }
        let all: u64 =
            report.findings.counts.iter().filter(|(code, _)| wanted(code)).map(|(_, n)| n).sum();
        if all > printed {
            let path = printable(&report.path);
            let _ = writeln!(out, "{path}: … and {} more findings", all - printed);
        }
        out
    }

    /// Formats the outcome of one input as a line; `None` where no line is needed.
    fn line(&self, report: &FileReport) -> Option<String> {
        let is_shown = match report.outcome {
            Outcome::Detected => true,
            Outcome::Valid | Outcome::Invalid | Outcome::Refused => !self.quiet,
            Outcome::Restored | Outcome::Removed => self.verbose || self.dry_run && !self.quiet,
            _ => self.verbose,
        };
        if !is_shown {
            return None;
        }
        let path = printable(&report.path);
        let format = report.format_name();
        let records = report.records;
        let outcome = self.results.outcome(report.outcome, report.outcome.name());
        match report.outcome {
            Outcome::Detected => {
                Some(format!("{path}: {format} ({})", report.confidence.unwrap_or("unknown")))
            }
            Outcome::Valid | Outcome::Refused => {
                Some(format!("{path}: {outcome} {format}, {records} records"))
            }
            Outcome::Invalid => Some(format!("{path}: {outcome} {format}")),
            Outcome::Skipped => Some(match report.skip {
                Skip::NoSession => format!("{path}: {outcome}, not a session by itself"),
                Skip::OtherFormat => format!(
                    "{path}: {outcome}, {format}; migration stays inside one format, `copyist \
                     convert` writes other formats"
                ),
                Skip::Passed(Passed::Link) => format!("{path}: {outcome}, a link"),
                Skip::Passed(Passed::Special) => format!("{path}: {outcome}; not a regular file"),
                Skip::Passed(Passed::Output) => {
                    format!("{path}: {outcome}, an output of a tool without its session")
                }
                Skip::Passed(Passed::Unfinished) => {
                    format!("{path}: {outcome}, a file that another program has not finished")
                }
                Skip::Passed(Passed::Ours) => {
                    format!("{path}: {outcome}, an original that was kept, or set aside by a run")
                }
                Skip::Reported => format!("{path}: {outcome}"),
            }),
            Outcome::Done => Some(format!("{path}: {outcome} by an earlier run")),
            Outcome::Restored | Outcome::Removed if self.dry_run => {
                Some(format!("{path}: would be {outcome}"))
            }
            Outcome::Restored | Outcome::Removed => Some(format!("{path}: {outcome}")),
            Outcome::Part => Some(format!("{path}: {outcome} of a session, read with it")),
            Outcome::Migrated | Outcome::Converted | Outcome::Unchanged => {
                let view = report.view.map(str::to_owned);
                let to = report.to.map(|to| to.to_string()).or(view).filter(|to| *to != format);
                let arrow = to.map_or(String::new(), |to| format!(" → {to}"));
                let output = report.output.as_deref().filter(|output| *output != &*report.path);
                let place = output.map_or(String::new(), |o| format!(", {}", printable(o)));
                Some(format!("{path}: {outcome} {format}{arrow}, {records} records{place}"))
            }
            _ => None,
        }
    }

    /// Prints the files that seem to be sessions, but of which nothing can be read.
    fn unreadable(&self) {
        let more = match self.unread.saturating_sub(SHOWN as u64) {
            more if more > 0 && !self.verbose => {
                format!("… and {more} more of them; `-v` or `--report FILE` names all\n")
            }
            _ => String::new(),
        };
        if self.unread > 0 {
            self.print_text(&format!("{}{more}", self.unreadable));
        }
    }

    /// Prints the totals for all inputs, which took `time`.
    pub fn summary(&self, summary: &Summary, time: Duration) {
        if !self.repaired.is_empty() {
            self.print_text(&self.repaired);
        }
        self.unreadable();
        if self.json || self.quiet {
            return;
        }
        let counts = self.counts(summary);
        let only = summary.outcomes.values().sum::<u64>() == 1;
        // If only one input was read, its own line contains everything.
        let looked =
            ["detected", "shown", "valid", "invalid", "repairable", "healthy", "refused", "beyond"];
        if only && looked.iter().any(|name| summary.outcomes.contains_key(name)) {
            summary.masked.iter().for_each(|masked| self.masked(masked));
            return;
        }
        let nothing = if self.dry_run { ", nothing written" } else { "" };
        let records = match summary.records {
            0 => String::new(),
            records => format!("; {}", plural(records, "record")),
        };
        let pace = if time > LONG { pace(summary.bytes, time) } else { String::new() };
        let counts = if counts.is_empty() { "no session files" } else { &counts };
        let others = match summary.others {
            0 => String::new(),
            1 => " (1 a session of another format)".to_owned(),
            n => format!(" ({n} sessions of another format)"),
        };
        let parts = match summary.outcomes.get(Outcome::Part.name()) {
            Some(parts) => format!(" (with {})", plural(*parts, "more file")),
            None => String::new(),
        };
        self.print_text(&format!("{counts}{others}{parts}{records}{pace}{nothing}\n"));
        summary.masked.iter().for_each(|masked| self.masked(masked));
    }

    /// Prints how many secrets of each kind were masked, the most frequent kind first.
    fn masked(&self, counts: &BTreeMap<String, u64>) {
        let mut kinds: Vec<_> = counts.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let kinds: Vec<_> = kinds.into_iter().map(|(kind, n)| plural(*n, kind)).collect();
        let kinds = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        self.print_text(&format!("masked: {}\n", printable(&kinds)));
    }

    /// Prints where the only output is, and the command that resumes the session there.
    pub fn place(&self, output: &str, resume: Option<&str>) {
        if self.json || self.quiet || self.data_on_stdout || self.dry_run {
            return;
        }
        self.print_text(&format!("written: {}\n", printable(output)));
        resume.iter().for_each(|line| self.print_text(&format!("resume: {}\n", printable(line))));
    }

    /// Prints the totals for the files of a journal; `none` if there are no such files.
    pub fn worked(&self, summary: &Summary, none: &str) {
        if self.json || self.quiet {
            return;
        }
        let counts = self.counts(summary);
        let counts = if counts.is_empty() { none } else { &counts };
        let freed =
            summary.freed.map_or(String::new(), |freed| format!("; {}", size(freed as f64)));
        let nothing = if self.dry_run { ", nothing written" } else { "" };
        self.print_text(&format!("{counts}{freed}{nothing}\n"));
    }

    /// Formats the number of inputs for each outcome, and the number of warnings.
    fn counts(&self, summary: &Summary) -> String {
        let count = |outcome: &Outcome| {
            let n = summary.outcomes.get(outcome.name())?;
            Some(self.findings.outcome(*outcome, format!("{n} {}", outcome.name())))
        };
        let mut counts: Vec<_> = Outcome::ALL
            .iter()
            .filter(|outcome| **outcome != Outcome::Part)
            .filter_map(count)
            .collect();
        if summary.warnings > 0 {
            let warnings = plural(summary.warnings, "warning");
            counts.push(self.findings.severity(Severity::Warning, warnings));
        }
        counts.join(", ")
    }

    /// Prints which folders of `--map-path` no session names, if sessions were written.
    pub fn unmoved(&self, maps: &[Map], summary: &Summary) {
        if self.quiet || !summary.outcomes.contains_key(Outcome::Converted.name()) {
            return;
        }
        for old in maps.iter().filter(|map| !map.was_met()).map(|map| printable(&map.old)) {
            self.print_text(&format!(
                "copyist: note: `--map-path`: no session is found by {old} or a folder below it\n"
            ));
        }
    }

    /// Prints that the run ended early, why, and how many inputs were not begun.
    pub fn ended(&self, why: &str, remaining: u64, journaled: bool) {
        let inputs = plural(remaining, "input");
        let help = match journaled {
            true => "run the same command with `--resume` to continue",
            false => "use `--journal FILE` to be able to continue a run with `--resume`",
        };
        self.print_text(&format!("copyist: {why}; {inputs} not begun; {help}\n"));
    }

    fn print_text(&self, text: &str) {
        // With a closed stderr the message is lost.
        let _ = write(io::stderr(), text);
    }

    /// Completes a log of findings. `complete` states whether every input was checked.
    pub fn end(&mut self, complete: bool) {
        if let Some(sarif) = self.sarif.take() {
            self.result(&sarif.end(complete), &Progress::none());
        }
    }

    fn result(&mut self, line: &str, progress: &Progress) {
        self.write(&format!("{line}\n"), progress);
    }

    fn write(&mut self, text: &str, progress: &Progress) {
        let written = if self.data_on_stdout {
            progress.aside(|| write(io::stderr(), text))
        } else if io::stdout().is_terminal() {
            progress.aside(|| write(io::stdout(), text))
        } else {
            write(io::stdout(), text)
        };
        // The reader of the results may have closed the pipe, which is not a failure.
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.broken.get_or_insert(error);
        }
    }
}

/// Formats how much was read, how long that took, and the speed.
fn pace(bytes: u64, time: Duration) -> String {
    let (bytes, seconds) = (bytes as f64, time.as_secs_f64());
    format!(", {} in {seconds:.1} s, {}/s", size(bytes), size(bytes / seconds))
}

/// Formats one finding: `path:line:byte: severity[CODE]: message`, and the text around it.
pub fn finding(path: &str, found: &Diagnostic, paint: Paint) -> String {
    let mut out = printable(path);
    // A finding about a part as a whole has no line.
    if let Some(at) = found.at.filter(|at| at.line > 0) {
        let _ = write!(out, ":{}", at.line);
        // Only the first line begins at byte 0. Elsewhere byte 0 means that only the line is known.
        if at.byte > 0 || at.line == 1 {
            let _ = write!(out, ":{}", at.byte);
        }
    }
    let severity = found.severity();
    let code = paint.severity(severity, format!("{severity}[{}]", found.code.name()));
    let _ = write!(out, ": {code}: {}", printable(&found.message));
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
    let before = format!("{left}{}", shortened(&before));
    let caret = " ".repeat(before.chars().count());
    format!("\n  | {before}{}{right}\n  | {caret}^", shortened(&after))
}

/// Returns printable text in which a long run of NUL characters is a count.
fn shortened(text: &str) -> String {
    let mut out = String::new();
    for run in text.as_bytes().chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        match run {
            [0, 0, 0, 0, ..] => _ = write!(out, "\\u{{0}}×{}", run.len()),
            run => out.push_str(&printable(&String::from_utf8_lossy(run))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_of_a_run_has_fitting_units() {
        let pace = pace(1_318_400_000, Duration::from_millis(3200));
        assert_eq!(pace, ", 1.3 GB in 3.2 s, 412 MB/s");
    }
}
