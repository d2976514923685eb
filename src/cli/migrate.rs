//! The command `copyist migrate`.

use super::args::{InPlace, Layout, RepairFirst, Writing};
use super::changing::Changing;
use super::inputs::Batch;
use super::reading::{Losing, Reading, Strictness, Tolerance};
use super::telling::Telling;
use super::{Stop, names, succession};
use crate::batch::{Action, Task};
use crate::format::Options;
use crate::formats::Spec;
use crate::home::OlderHome;
use std::path::PathBuf;

/// Migrate sessions to a newer version of their format
///
/// Only the bytes that must change are changed; every byte is checked. A damaged file gives no
/// output and is not changed. Files that already have the target version are copied byte for byte.
/// For a folder with sessions in files that its agent no longer reads, `--in-place` adds them to the
/// agent's database.
#[derive(Debug, clap::Args)]
#[command(mut_arg("on_error", |arg| arg.default_value("stop")))]
pub struct Args {
    /// Version to reach; the default is the newest
    ///
    /// The default for Codex is version 2. If each version of a format is another kind of file, as for ConnectOnion, sessions change
    /// their version only with this option.
    #[arg(long, value_name = "FORMAT@V", value_parser = names::format(), hide_possible_values = true)]
    to: Option<Spec>,
    /// Also migrate files with a version newer than all known ones
    #[arg(long)]
    force_version: bool,
    /// Folder of a session that names none and needs one, such as a Codex rollout of 2025; the
    /// default is that of its first command, else `/`
    #[arg(long, value_name = "DIR", value_parser = folder)]
    cwd: Option<String>,
    #[command(flatten)]
    repair_first: RepairFirst,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    tolerance: Tolerance,
    #[command(flatten)]
    strictness: Strictness<Losing>,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    in_place: InPlace,
    #[command(flatten)]
    telling: Telling,
}

/// Parses an absolute path.
pub fn folder(text: &str) -> Result<String, &'static str> {
    let whole = text.starts_with('/') || PathBuf::from(text).is_absolute();
    if whole { Ok(text.to_owned()) } else { Err("expected an absolute path") }
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.batch.inputs()?;
        if let [path] = inputs.paths.as_slice()
            && !self.writing.has_place()
            && inputs.gather.session.is_none()
            && let Some(home) = OlderHome::of(path)
        {
            return self.bring(&home);
        }
        let in_place = self.in_place.place(&inputs)?;
        let lines = |to: Spec| to.format.plane.is_some();
        if self.writing.layout == Layout::Native && self.to.is_some_and(lines) {
            let message = "`--layout native` is for `convert`; files of this format keep their \
                           names where they are migrated";
            return Err(Stop::usage(message));
        }
        let Some(place) = in_place.or(self.writing.place(&inputs, self.to)?) else {
            return Err(Stop::usage("name an output: `-o FILE`, `--out-dir DIR` or `--in-place`"));
        };
        let options = Options {
            ids: self.writing.ids(),
            force_version: self.force_version,
            folder: self.cwd,
            ..self.tolerance.options(self.reading.options())
        };
        let action = Action::Migrate(self.to);
        let task = Task {
            repair_first: self.repair_first.settings(&inputs)?,
            place,
            policy: self.writing.policy(),
            ..Task::looking(action, options, &self.reading.source.from)
        }
        .failing(self.strictness.fail_on());
        self.writing.run("migrate", task, &inputs, &self.telling)
    }

    /// Brings the sessions of older files into the database of their agent.
    fn bring(self, home: &OlderHome) -> Result<u8, Stop> {
        let dry_run = self.writing.dry_run;
        if !dry_run && !self.in_place.in_place {
            let message = "`--in-place` brings the sessions of the older files in this folder into \
                           the agent's database, `-n` prints which";
            return Err(Stop::usage(message));
        }
        if self.batch.selects() {
            let message = "`--include` and `--exclude` select files; all sessions of this folder \
                           are brought over";
            return Err(Stop::usage(message));
        }
        if self.in_place.no_backup || self.in_place.backup.is_some() || self.to.is_some() {
            let message = "`--to`, `--backup` and `--no-backup` are for sessions in files of their \
                           own; the original of a database is always kept";
            return Err(Stop::usage(message));
        }
        let options = self.tolerance.options(self.reading.options());
        let changing = Changing { dry_run, journal: self.writing.journaling.journal };
        succession::run(home, &options, &changing, &self.telling)
    }
}
