//! Colours in the output.

use crate::batch::Outcome;
use crate::diagnostic::Severity;
use crate::home::State;
use anstream::stream::{AsLockedWrite, RawStream};
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use std::fmt::Display;
use std::io::{self, Write};

/// Values of `--progress` and `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// At a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Whether a stream is coloured.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// Decides on colours by the user's option and the abilities of the stream.
    pub fn new(when: When, stream: &impl RawStream) -> Self {
        Self(is_colored(when, stream))
    }

    /// Returns one that colours nothing.
    pub fn none() -> Self {
        Self(false)
    }

    /// Colours text by the severity of a finding.
    pub fn severity(self, severity: Severity, text: impl Display) -> String {
        self.paint(
            text,
            match severity {
                Severity::Error => AnsiColor::Red.on_default().bold(),
                Severity::Warning => AnsiColor::Yellow.on_default().bold(),
                Severity::Note => Style::new().bold(),
            },
        )
    }

    /// Colours text by the outcome of an input.
    pub fn outcome(self, outcome: Outcome, text: impl Display) -> String {
        self.paint(
            text,
            match outcome {
                Outcome::Migrated
                | Outcome::Converted
                | Outcome::Valid
                | Outcome::Repaired
                | Outcome::Restored
                | Outcome::Removed => AnsiColor::Green.on_default(),
                Outcome::Invalid | Outcome::Failed | Outcome::Beyond | Outcome::Unreadable => {
                    AnsiColor::Red.on_default()
                }
                Outcome::Repairable | Outcome::Refused | Outcome::Kept => {
                    AnsiColor::Yellow.on_default()
                }
                Outcome::Healthy
                | Outcome::Unchanged
                | Outcome::Empty
                | Outcome::Skipped
                | Outcome::Part
                | Outcome::Done => Style::new().dimmed(),
                Outcome::Detected | Outcome::Shown => Style::new(),
            },
        )
    }

    /// Emphasizes the head of a table.
    pub fn head(self, text: impl Display) -> String {
        self.paint(text, Style::new().bold())
    }

    /// Colours text by the state of a session.
    pub fn state(self, state: State, text: impl Display) -> String {
        self.paint(
            text,
            match state {
                State::Ok => Style::new(),
                State::Empty => Style::new().dimmed(),
                State::Damaged => AnsiColor::Yellow.on_default(),
                State::Unreadable => AnsiColor::Red.on_default(),
            },
        )
    }

    fn paint(self, text: impl Display, style: Style) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

/// Decides on colours by the user's option and the abilities of the stream.
pub fn is_colored(when: When, stream: &impl RawStream) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => AutoStream::choice(stream) != ColorChoice::Never,
    }
}

/// Writes text that may be coloured.
pub fn write(to: impl RawStream + AsLockedWrite, text: &str) -> io::Result<()> {
    // Old consoles of Windows do not understand escape codes.
    AutoStream::new(to, ColorChoice::Always).write_all(text.as_bytes())
}
