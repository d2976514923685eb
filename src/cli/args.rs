//! Options that several commands share.

use super::Stop;
use super::config;
use super::ids::Ids;
use super::inputs::{Inputs, Sessions};
use super::journal::Journaling;
use super::reading::{Reading, Strictness, Tolerance, Warned};
use super::run::run_accountably;
use super::telling::Telling;
use crate::batch::{Action, OutputPlace, RepairSettings, Task};
use crate::format::Options;
use crate::formats::{FORMATS, Spec};
use crate::ids::Choice;
use crate::store::{BACKUP, Backup, Policy, real_folder};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};

/// Options for the place of outputs.
#[derive(Debug, Args)]
pub struct Writing {
    /// Write to this file; `-` is standard output
    ///
    /// Missing folders are created. The file gets the times and permissions of the input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "out_dir")]
    pub output: Option<PathBuf>,
    /// Write below this folder
    ///
    /// Outputs are in the same subfolders as the inputs.
    #[arg(long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
    /// Choose how files are named below `--out-dir`
    #[arg(long, value_name = "HOW", value_enum, default_value = "mirror")]
    pub layout: Layout,
    /// Overwrite existing outputs
    #[arg(long)]
    pub force: bool,
    /// Do everything except writing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Choose how new identifiers are made
    #[arg(long, value_name = "HOW", value_enum, default_value = "derived")]
    pub ids: Ids,
    #[command(flatten)]
    pub journaling: Journaling,
}

/// Options for the origin, from which the source of a converted session can be restored.
#[derive(Debug, Args)]
pub struct Keeping {
    /// Write no `NAME.origin` beside the output
    ///
    /// Data that the target cannot contain is lost, and reported.
    #[arg(long)]
    pub no_origin: bool,
    /// Ignore the origins beside the files
    #[arg(long, conflicts_with = "origin")]
    pub ignore_origin: bool,
    /// Use this origin file instead of the one beside the input; for one input
    #[arg(long, value_name = "FILE", conflicts_with = "redact")]
    pub origin: Option<PathBuf>,
}

impl Keeping {
    /// Adds these settings to the options.
    pub fn options(&self, options: Options) -> Options {
        let (ignore_origin, require_origin) = (self.ignore_origin, self.origin.is_some());
        Options { origin: !self.no_origin, ignore_origin, require_origin, ..options }
    }
}

/// Options for masking secrets.
#[derive(Debug, Args)]
pub struct Masking {
    /// Mask keys, passwords, addresses and user names
    ///
    /// Masked are keys, tokens, passwords, e-mail addresses, home folders and user names, and what
    /// the section `redact` of the settings names. No `NAME.origin` is written or read.
    #[arg(long)]
    pub redact: bool,
    /// Show secrets in pages and Markdown
    ///
    /// Without this option, they are masked there.
    #[arg(long, conflicts_with = "redact")]
    pub no_redact: bool,
}

impl Masking {
    /// Adds the rules by which secrets are masked, if the user wants that. An output with masks
    /// gets no origin, which would contain the secrets. Outputs that are made for others are masked
    /// by default.
    pub fn options(&self, options: Options, for_others: bool) -> Result<Options, Stop> {
        if !(self.redact || for_others && !self.no_redact) {
            return Ok(options);
        }
        let redact = Some(super::config::settings()?.rules()?);
        Ok(Options { redact, origin: false, ignore_origin: true, ..options })
    }
}

/// Whether an agent keeps its sessions in this folder, or above it.
fn is_home(folder: &Path) -> bool {
    let homes = FORMATS.iter().filter_map(|format| config::home(format).ok().flatten());
    let (folder, mut homes) = (real_folder(folder), homes.map(|home| real_folder(&home)));
    homes.any(|home| folder.starts_with(&home))
}

/// Values of `--layout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// Name files as the inputs are named, in the same subfolders
    Mirror,
    /// Name files as the target's agent does, so that it lists the sessions; files that `migrate`
    /// changes line by line keep their names
    Native,
}

impl Writing {
    /// Returns the place of outputs, if the user named one; `to` is the format that is written.
    pub fn place(&self, inputs: &Inputs, to: Option<Spec>) -> Result<Option<OutputPlace>, Stop> {
        if self.layout == Layout::Native {
            return self.native(to).map(Some);
        }
        if let Some(folder) = &self.out_dir {
            return Ok(Some(OutputPlace::Folder(folder.clone())));
        }
        let Some(file) = &self.output else {
            return Ok(self.dry_run.then_some(OutputPlace::None));
        };
        if inputs.several() && inputs.join.is_none() {
            let message = "`-o` takes one input; for several, or a folder, use `--out-dir DIR`";
            return Err(Stop::usage(message));
        }
        Ok(Some(OutputPlace::One(file.clone())))
    }

    /// Whether the user named a file or a folder for outputs.
    pub fn has_place(&self) -> bool {
        self.output.is_some() || self.out_dir.is_some()
    }

    /// Returns the folder of an agent's sessions as the place of outputs.
    fn native(&self, to: Option<Spec>) -> Result<OutputPlace, Stop> {
        let Some(folder) = &self.out_dir else {
            return Err(Stop::usage("`--layout native` names files below `--out-dir DIR`"));
        };
        match to {
            Some(Spec { format, .. })
                if format.files.shared.is_some() || format.files.native.is_some() =>
            {
                Ok(OutputPlace::Native(folder.clone()))
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

    /// Returns the user's permissions for existing files.
    pub fn policy(&self) -> Policy {
        let current = self.layout == Layout::Native && self.out_dir.as_deref().is_some_and(is_home);
        Policy { force: self.force, dry: self.dry_run, current }
    }

    /// Runs `task`, with a journal if the user wants one.
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

    /// Returns `--ids` for the library.
    pub fn ids(&self) -> Choice {
        self.ids.choice()
    }
}

/// Options of a command that looks at one session.
#[derive(Debug, Args)]
pub struct Looking {
    #[command(flatten)]
    pub sessions: Sessions,
    #[command(flatten)]
    pub reading: Reading,
    #[command(flatten)]
    tolerance: Tolerance,
    #[command(flatten)]
    pub strictness: Strictness<Warned>,
}

impl Looking {
    /// Returns the options for the library. Sessions of versions that are not known are read, too.
    pub fn options(&self) -> Options {
        Options { force_version: true, ..self.tolerance.options(self.reading.options()) }
    }

    /// Returns the task of looking with these options.
    pub fn task(&self, action: Action, options: Options) -> Task {
        let task = Task::looking(action, options, &self.reading.source.from);
        task.failing(self.strictness.fail_on())
    }
}

/// Options for repair before another command's work.
#[derive(Debug, Args)]
pub struct RepairFirst {
    /// Repair damaged sessions first
    ///
    /// Lines that do not belong to a session go to a quarantine file.
    #[arg(long)]
    pub repair: bool,
    /// Write the quarantine to this file; for one input
    #[arg(long, value_name = "FILE", requires = "repair")]
    quarantine: Option<PathBuf>,
}

impl RepairFirst {
    /// Returns the settings of the repair, if the user wants one.
    pub fn settings(self, inputs: &Inputs) -> Result<Option<RepairSettings>, Stop> {
        check_quarantine(self.quarantine.as_deref(), inputs)?;
        let quarantine = self.quarantine;
        Ok(self.repair.then(|| RepairSettings { quarantine, ..RepairSettings::default() }))
    }
}

/// Checks that the quarantine file can be written where the user wants it.
pub fn check_quarantine(quarantine: Option<&Path>, inputs: &Inputs) -> Result<(), Stop> {
    match quarantine {
        Some(_) if inputs.several() => Err(Stop::usage("`--quarantine` takes one input")),
        Some(path) if path.as_os_str() == "-" => {
            Err(Stop::usage("`--quarantine` takes a file, not standard output"))
        }
        _ => Ok(()),
    }
}

/// Options for changing files in place.
#[derive(Debug, Args)]
pub struct InPlace {
    /// Change the files; the originals stay beside them
    #[arg(long, conflicts_with_all = ["output", "out_dir"])]
    pub in_place: bool,
    /// Ending of the originals' names
    ///
    /// The default is `.bak`.
    #[arg(long, value_name = "SUFFIX", require_equals = true, num_args = 0..=1,
          default_missing_value = BACKUP, requires = "in_place",
          conflicts_with_all = ["output", "out_dir"])]
    pub backup: Option<String>,
    /// Do not keep the originals
    #[arg(long, requires = "in_place", conflicts_with_all = ["backup", "output", "out_dir"])]
    pub no_backup: bool,
}

impl InPlace {
    /// Returns the place of outputs, if `--in-place` is given.
    pub fn place(&self, inputs: &Inputs) -> Result<Option<OutputPlace>, Stop> {
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
                "`--backup={suffix}`: names of sessions have this ending"
            )));
        }
        let suffix = Backup::Suffix(suffix.to_owned());
        Ok(Some(OutputPlace::InPlace(if self.no_backup { Backup::None } else { suffix })))
    }
}
