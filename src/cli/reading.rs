//! Options for how inputs are read, each in a group of its own: a command takes the groups that it
//! honours.

use super::names;
use crate::batch::FailOn;
use crate::format::{OnError, Options};
use crate::formats::Spec;
use crate::yaml::encoding::{self, Encoding};
use clap::{Args, ValueEnum};
use jiff::Timestamp;

/// Parses the name of an encoding.
fn encoding(name: &str) -> Result<&'static Encoding, String> {
    let known =
        "utf-8, utf-16le, utf-16be, gbk, cp1252 and the other names of encoding.spec.whatwg.org";
    encoding::named(name).ok_or_else(|| format!("no encoding has this name; there are {known}"))
}

/// Options for the beginning of inputs, from which their format is detected.
#[derive(Debug, Args)]
pub struct Source {
    /// Format of the inputs, if it is not to be detected
    #[arg(short = 'f', long = "from", value_name = "FORMAT", value_parser = names::format(), hide_possible_values = true)]
    pub from: Option<Spec>,
    /// Encoding of YAML files, if it is not to be detected: `utf-16le`, `gbk`, `cp1252` …
    ///
    /// UTF-8 and UTF-16 with a byte order mark are detected, GBK and cp1252 are guessed. JSON Lines
    /// are always UTF-8.
    #[arg(long, value_name = "NAME", value_parser = encoding, env = "COPYIST_ENCODING")]
    pub encoding: Option<&'static Encoding>,
}

/// Options for reading whole inputs.
#[derive(Debug, Args)]
pub struct Reading {
    #[command(flatten)]
    pub source: Source,
    /// Maximum length of a line, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, env = "COPYIST_MAX_LINE")]
    pub max_line: usize,
    /// Memory for the index of one session's entries, in bytes
    ///
    /// The part of the index that does not fit is kept in a temporary file without a name, in the
    /// folder that TMPDIR names.
    #[arg(long, value_name = "BYTES", default_value_t = Options::INDEX_MEMORY, env = "COPYIST_INDEX_MEMORY")]
    pub index_memory: usize,
}

impl Source {
    /// Returns the options for the library.
    pub fn options(&self) -> Options {
        let version = self.from.and_then(|from| from.version).map(|version| version.number);
        let latest = Some(Timestamp::now().as_millisecond());
        Options { encoding: self.encoding, version, latest, ..Options::default() }
    }
}

impl Reading {
    /// Returns the options for the library, for a command that reads every input to its end.
    pub fn options(&self) -> Options {
        let Self { source, max_line, index_memory } = self;
        let (max_line, index_memory) = (*max_line, *index_memory);
        Options { on_error: OnError::Keep, max_line, index_memory, ..source.options() }
    }
}

/// Options for damaged lines.
#[derive(Debug, Args)]
pub struct Tolerance {
    /// Choose what to do with damaged lines
    #[arg(long, value_name = "WHAT", value_enum, default_value = "keep")]
    pub on_error: Damage,
}

impl Tolerance {
    /// Adds these settings to the options.
    pub fn options(&self, options: Options) -> Options {
        let on_error = match self.on_error {
            Damage::Stop => OnError::Stop,
            Damage::Skip => OnError::Skip,
            Damage::Keep => OnError::Keep,
        };
        Options { on_error, ..options }
    }
}

/// Values of `--on-error`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Damage {
    /// Fail: this input gives no output
    Stop,
    /// Leave damaged lines out, and report them
    Skip,
    /// Keep damaged lines as they are, and report them
    Keep,
}

/// Additional conditions for exit code 1, of the kind `W`.
#[derive(Debug, Args)]
pub struct Strictness<W: ValueEnum + Clone + Send + Sync + 'static> {
    /// Exit with code 1 also in this case
    #[arg(long, value_name = "WHAT", value_enum)]
    fail_on: Option<W>,
}

impl<W: ValueEnum + Clone + Send + Sync + Into<FailOn>> Strictness<W> {
    /// Returns `--fail-on` for the library.
    pub fn fail_on(&self) -> Option<FailOn> {
        self.fail_on.clone().map(Into::into)
    }
}

/// Values of `--fail-on` for a command that writes another format or version.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Losing {
    /// Any data that the target cannot contain
    Loss,
    /// Any warning
    Warning,
}

/// Values of `--fail-on` for a command that can lose nothing.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Warned {
    /// Any warning
    Warning,
}

impl From<Losing> for FailOn {
    fn from(losing: Losing) -> Self {
        match losing {
            Losing::Loss => Self::Loss,
            Losing::Warning => Self::Warning,
        }
    }
}

impl From<Warned> for FailOn {
    fn from(Warned::Warning: Warned) -> Self {
        Self::Warning
    }
}
