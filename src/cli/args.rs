//! Options that several commands have.

use super::inputs::Inputs;
use super::journal::Journaling;
use super::run::run_accountably;
use super::{Stop, names};
use crate::batch::{FailOn, Mending, Place, Task};
use crate::format::{OnError, Options};
use crate::formats::{FORMATS, Spec};
use crate::ids::Choice;
use crate::store::{BACKUP, Backup, Policy};
use crate::yaml::encoding::{self, Encoding};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Reads an encoding's name.
fn encoding(name: &str) -> Result<&'static Encoding, String> {
    let known =
        "utf-8, utf-16le, utf-16be, gbk, cp1252 and the other names of encoding.spec.whatwg.org";
    encoding::named(name).ok_or_else(|| format!("no encoding has this name; there are {known}"))
}

/// How inputs are read.
#[derive(Debug, Args)]
pub struct Reading {
    /// Format of the inputs, if it is not to be recognised: `pi`, `pi@2` …
    #[arg(short = 'f', long = "from", value_name = "FORMAT", value_parser = names::format(), hide_possible_values = true)]
    pub from: Option<Spec>,
    /// What to do with damaged lines: give no output for this input, leave the line out, or carry
    /// it along as it is. Without it `migrate` stops, and the others keep
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_error: Option<Damage>,
    /// The longest line that is read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, env = "COPYIST_MAX_LINE")]
    pub max_line: usize,
    /// Encoding of YAML files, if it is not to be recognised: `utf-16le`, `gbk`, `cp1252` …
    ///
    /// UTF-8 and marked UTF-16 are recognised, GBK and cp1252 are guessed. JSON Lines are always
    /// UTF-8.
    #[arg(long, value_name = "NAME", value_parser = encoding, env = "COPYIST_ENCODING")]
    pub encoding: Option<&'static Encoding>,
    /// What else makes the exit code 1
    #[arg(long, value_name = "WHAT", value_enum)]
    pub fail_on: Option<Failing>,
}

/// `--on-error`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Damage {
    /// Give no output for this input
    Stop,
    /// Leave damaged lines out, and say so in the report
    Skip,
    /// Carry damaged lines along as they are
    Keep,
}

/// `--fail-on`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Failing {
    /// Anything that the target cannot hold
    Loss,
    /// Any warning
    Warning,
}

impl Reading {
    /// The options for the library; `on_error` is the command's default.
    pub fn options(&self, on_error: OnError) -> Options {
        let on_error = match self.on_error {
            None => on_error,
            Some(Damage::Stop) => OnError::Stop,
            Some(Damage::Skip) => OnError::Skip,
            Some(Damage::Keep) => OnError::Keep,
        };
        let version = self.from.and_then(|from| from.version).map(|version| version.number);
        let (max_line, encoding) = (self.max_line, self.encoding);
        Options { on_error, max_line, encoding, version, ..Options::default() }
    }

    /// `--fail-on` for the batch.
    pub fn fail_on(&self) -> Option<FailOn> {
        self.fail_on.map(|failing| match failing {
            Failing::Loss => FailOn::Loss,
            Failing::Warning => FailOn::Warning,
        })
    }
}

/// Where outputs go.
#[derive(Debug, Args)]
pub struct Writing {
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "out_dir")]
    pub output: Option<PathBuf>,
    /// Write below this folder, which mirrors the inputs' folders
    #[arg(long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
    /// How files are named below `--out-dir`
    #[arg(long, value_name = "HOW", value_enum, default_value = "mirror")]
    pub layout: Layout,
    /// Write over outputs that exist
    #[arg(long)]
    pub force: bool,
    /// Do everything but write
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How new identifiers are chosen
    #[arg(long, value_name = "HOW", value_enum, default_value = "derived")]
    pub ids: Ids,
    #[command(flatten)]
    pub journaling: Journaling,
}

/// What brings the source of a converted session back.
#[derive(Debug, Args)]
pub struct Keeping {
    /// Write no `NAME.origin` beside the output: what the target cannot hold is lost, and reported
    #[arg(long)]
    pub no_origin: bool,
    /// Read the files alone, without the origins beside them
    #[arg(long, conflicts_with = "origin")]
    pub ignore_origin: bool,
    /// Use this origin, which does not stand beside its file; for one input
    #[arg(long, value_name = "FILE")]
    pub origin: Option<PathBuf>,
}

impl Keeping {
    /// The options with these.
    pub fn options(&self, options: Options) -> Options {
        Options { origin: !self.no_origin, ignore_origin: self.ignore_origin, ..options }
    }
}

/// `--layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// As the inputs are, in the same folders
    Mirror,
    /// As the target's own software does, so that the sessions show up in its list; files that
    /// `migrate` changes line by line keep their names
    Native,
}

/// `--ids`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Ids {
    /// From the entry's ordinal and the session's id; a rerun gives the same
    Derived,
    /// Anew in each run
    Random,
    /// 00000001, 00000002 …
    Sequential,
}

impl Writing {
    /// The place, if the person named one; `to` is the format that is written.
    pub fn place(&self, inputs: &Inputs, to: Option<Spec>) -> Result<Option<Place>, Stop> {
        if self.layout == Layout::Native {
            return self.native(to).map(Some);
        }
        if let Some(folder) = &self.out_dir {
            return Ok(Some(Place::Folder(folder.clone())));
        }
        let Some(file) = &self.output else {
            return Ok(self.dry_run.then_some(Place::None));
        };
        if inputs.several() && !inputs.join {
            let message = "`-o` takes one input; for several, or a folder, use `--out-dir DIR`";
            return Err(Stop::usage(message));
        }
        Ok(Some(Place::One(file.clone())))
    }

    /// The folder of a software's sessions.
    fn native(&self, to: Option<Spec>) -> Result<Place, Stop> {
        let Some(folder) = &self.out_dir else {
            return Err(Stop::usage("`--layout native` names files below `--out-dir DIR`"));
        };
        match to {
            Some(Spec { format, .. }) if format.member.is_some() || format.native.is_some() => {
                Ok(Place::Native(folder.clone()))
            }
            Some(Spec { format, .. }) => {
                let message = format!("{} has no layout of its own", format.name);
                Err(Stop::usage(message))
            }
            None => Err(Stop::usage(
                "`--layout native` is for `convert`, and for a format that is named",
            )),
        }
    }

    /// What may be written over.
    pub fn policy(&self) -> Policy {
        Policy { force: self.force, dry: self.dry_run }
    }

    /// Runs `task`, with the journal that the person wants.
    pub fn run(
        &self,
        command: &str,
        task: Task,
        inputs: &Inputs,
        telling: &Telling,
    ) -> Result<u8, Stop> {
        let journaling = &self.journaling;
        if telling.report.as_ref().is_some_and(|report| journaling.is_at(report)) {
            return Err(Stop::usage("report and journal cannot be one file"));
        }
        let open = |task: &Task| journaling.open(command, task, inputs, self.ids);
        run_accountably(command, task, inputs, telling, open)
    }

    /// `--ids` for the library.
    pub fn ids(&self) -> Choice {
        self.ids.choice()
    }
}

impl Ids {
    /// The same for the library.
    pub fn choice(self) -> Choice {
        match self {
            Self::Derived => Choice::Derived,
            Self::Sequential => Choice::Sequential,
            Self::Random => Choice::Random(seed()),
        }
    }
}

/// A number that no other run has: the standard library seeds its hash tables with one.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// `--repair` and `--quarantine` of commands that do something else besides.
pub fn mending(
    repair: bool,
    quarantine: Option<PathBuf>,
    inputs: &Inputs,
) -> Result<Option<Mending>, Stop> {
    check_quarantine(quarantine.as_deref(), inputs)?;
    Ok(repair.then(|| Mending { quarantine, ..Mending::default() }))
}

/// Whether what is set aside can go where the person says.
pub fn check_quarantine(quarantine: Option<&Path>, inputs: &Inputs) -> Result<(), Stop> {
    match quarantine {
        Some(_) if inputs.several() => Err(Stop::usage("`--quarantine` takes one input")),
        Some(path) if path.as_os_str() == "-" => {
            Err(Stop::usage("`--quarantine` takes a file, not standard output"))
        }
        _ => Ok(()),
    }
}

/// `--in-place` and its backup.
#[derive(Debug, Args)]
pub struct InPlace {
    /// Change the files themselves, and keep the originals beside them
    #[arg(long, conflicts_with_all = ["output", "out_dir"])]
    pub in_place: bool,
    /// Ending of the originals' names
    ///
    /// `.bak` if it is not given.
    #[arg(long, value_name = "SUFFIX", require_equals = true, num_args = 0..=1,
          default_missing_value = BACKUP, requires = "in_place",
          conflicts_with_all = ["output", "out_dir"])]
    pub backup: Option<String>,
    /// Do not keep the originals
    #[arg(long, requires = "in_place", conflicts_with_all = ["backup", "output", "out_dir"])]
    pub no_backup: bool,
}

impl InPlace {
    /// The place, if it is asked for.
    pub fn place(&self, inputs: &Inputs) -> Result<Option<Place>, Stop> {
        if !self.in_place {
            return Ok(None);
        }
        if inputs.stdin() {
            return Err(Stop::usage("standard input cannot be changed in place"));
        }
        let unfit = |c: char| c == '/' || c == '\\' || c.is_control();
        let suffix = self.backup.as_deref().unwrap_or(BACKUP);
        if suffix.is_empty() || suffix.contains(unfit) {
            return Err(Stop::usage("`--backup` takes an ending such as `.bak`"));
        }
        if FORMATS.iter().any(|format| format.extensions.contains(&suffix)) {
            return Err(Stop::usage(format!(
                "`--backup={suffix}`: sessions end so, and would be taken for originals"
            )));
        }
        let suffix = Backup::Suffix(suffix.to_owned());
        Ok(Some(Place::InPlace(if self.no_backup { Backup::None } else { suffix })))
    }
}

/// What is told, and how.
#[derive(Debug, Args)]
pub struct Telling {
    /// Results and findings as JSON Lines; on standard error if standard output carries data
    #[arg(long)]
    pub json: bool,
    /// Write a report of what was found and lost, in place of an older report only
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say what became of each input
    #[arg(short, long)]
    pub verbose: bool,
    /// How wide drawings are.
    #[arg(skip)]
    pub width: Option<u16>,
    /// Show how far the work came; `auto` does at a terminal, unless with `-q` or `--json`
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", env = "COPYIST_PROGRESS")]
    pub progress: When,
    /// Colour what is told; `auto` does at a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", env = "COPYIST_COLOR")]
    pub color: When,
}

/// `--progress` and `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Where it helps a person
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}
