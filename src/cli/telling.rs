//! Options for the reports of a run.

use super::style::When;
use clap::Args;
use std::path::PathBuf;

/// Options for what is reported, and how.
#[derive(Debug, Args)]
pub struct Telling {
    /// Print results and findings as JSON Lines
    ///
    /// They are printed on standard error if standard output carries data.
    #[arg(long)]
    pub json: bool,
    /// Write a report of findings and losses; replaces only an older report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print only errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print the outcome for each input
    #[arg(short, long)]
    pub verbose: bool,
    /// Whether findings are printed as SARIF.
    #[arg(skip)]
    pub sarif: bool,
    /// The width of drawings in columns.
    #[arg(skip)]
    pub width: Option<u16>,
    /// Whether drawings list every turn.
    #[arg(skip)]
    pub all_turns: bool,
    /// Show the progress; `auto` does at a terminal, except with `-q` or `--json`
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", env = "COPYIST_PROGRESS")]
    pub progress: When,
    /// Colour the messages; `auto` does at a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", env = "COPYIST_COLOR")]
    pub color: When,
}
