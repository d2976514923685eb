//! The command `copyist convert`.

use super::args::{Keeping, Layout, Masking, RepairFirst, Writing};
use super::inputs::{Batch, Inputs};
use super::names::Target;
use super::reading::{Losing, Reading, Strictness, Tolerance};
use super::telling::Telling;
use super::{Stop, names};
use crate::batch::{Action, Joining, OutputPlace, Task};
use crate::format::{Format, Home, Map, Options};
use crate::formats::{Spec, canonical};
use crate::home::HomeFolder;
use crate::show::{Form, Request};
use clap::ValueEnum;
use std::io::{self, IsTerminal};
use std::sync::Arc;

/// Write sessions in another format, or an older version of their own
///
/// Data that the target format cannot express is kept in `NAME.origin` beside the output. It is
/// restored when the file is converted back. `html` and `markdown` write pages to read, with a list
/// of them in `index.html` or `index.md`; they have no origin, are never read back, and secrets in
/// them are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Format to write: `canonical`, `pi`, `pi@1` …; or pages to read: `html`, `markdown`
    #[arg(short = 't', long = "to", value_name = "FORMAT", value_parser = names::target(), hide_possible_values = true)]
    to: Target,
    /// Write several sessions as one
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["redact", "repair"])]
    join: Option<Join>,
    /// Replace the folder OLD by NEW in the paths that agents use to find sessions, also in paths
    /// below OLD; messages are not changed
    #[arg(long, value_name = "OLD=NEW", value_parser = paths)]
    map_path: Vec<Map>,
    /// Folder of a session that names none
    #[arg(long, value_name = "DIR", value_parser = super::migrate::folder)]
    cwd: Option<String>,
    /// Write the layout of this program, such as `pi`, if a related program, such as oh-my-pi, wrote
    /// the input in a layout of its own; both programs read the output
    #[arg(long, value_name = "NAME", value_parser = names::dialect(), hide_possible_values = true)]
    dialect: Option<&'static Format>,
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
    keeping: Keeping,
    #[command(flatten)]
    masking: Masking,
    #[command(flatten)]
    telling: Telling,
}

/// Values of `--join`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Join {
    /// Sessions that name the same agent, which wrote a new file each time it was started
    Agent,
    /// Copies of a session that were continued separately, as branches of one tree
    Copies,
}

impl Join {
    fn meant(self) -> Joining {
        match self {
            Self::Agent => Joining::Agent,
            Self::Copies => Joining::Copies,
        }
    }
}

const NO_PLACE: &str = "name an output: `-o FILE` or `--out-dir DIR`";

/// Parses `OLD=NEW`.
pub fn paths(text: &str) -> Result<Map, String> {
    let pair =
        text.split_once('=').filter(|(old, _)| !old.trim_end_matches(['/', '\\']).is_empty());
    let (old, new) = pair.ok_or("expected OLD=NEW, such as `/home/ada=/users/ada`")?;
    if is_absolute(old) && !new.is_empty() && !is_absolute(new) {
        return Err(format!("`{new}` is not absolute, so no agent would find the session there"));
    }
    Ok(Map::new(old, new))
}

/// Whether a path is absolute on any system.
fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':')
}

impl Args {
    /// Returns standard output as the place of one canonical stream, if it is a pipe or a file.
    fn piped(to: Spec, inputs: &Inputs) -> Option<OutputPlace> {
        let piped = to.format.name == canonical::FORMAT.name && !io::stdout().is_terminal();
        (piped && !inputs.several()).then(|| OutputPlace::One("-".into()))
    }

    pub fn run(self) -> Result<u8, Stop> {
        match self.to {
            Target::Session(to) => self.sessions(to),
            Target::View(form) => self.views(form),
        }
    }

    /// Writes views.
    fn views(self, form: Form) -> Result<u8, Stop> {
        let unfit = [
            ("--join", self.join.is_some()),
            ("--map-path", !self.map_path.is_empty()),
            ("--cwd", self.cwd.is_some()),
            ("--dialect", self.dialect.is_some()),
            ("--repair", self.repair_first.repair),
            ("--origin", self.keeping.origin.is_some()),
            ("--layout native", self.writing.layout == Layout::Native),
        ];
        if let Some((option, _)) = unfit.iter().find(|(_, given)| *given) {
            let message = format!("`{option}` is for sessions, and {} is only read", form.name());
            return Err(Stop::usage(message));
        }
        let inputs = self.batch.inputs()?;
        let Some(place) = self.writing.place(&inputs, None)? else {
            return Err(Stop::usage(NO_PLACE));
        };
        let options = self.tolerance.options(self.reading.options());
        let options = Options { force_version: true, ..options };
        let options = self.masking.options(options, true)?;
        let task = Task {
            place,
            policy: self.writing.policy(),
            ..Task::looking(Action::View(Request::new(form)), options, &self.reading.source.from)
        }
        .failing(self.strictness.fail_on());
        self.writing.run("convert", task, &inputs, &self.telling)
    }

    /// Writes sessions.
    fn sessions(self, to: Spec) -> Result<u8, Stop> {
        let inputs = Inputs { join: self.join.map(Join::meant), ..self.batch.inputs()? };
        let place = self.writing.place(&inputs, Some(to))?;
        let Some(place) = place.or_else(|| Self::piped(to, &inputs)) else {
            return Err(Stop::usage(NO_PLACE));
        };
        if let Some(own) = self.dialect.filter(|own| *own != to.format) {
            let message = format!("`--dialect {}` needs `--to {}`", own.name, own.name);
            return Err(Stop::usage(message));
        }
        let options = Options {
            plain: self.dialect.is_some(),
            ids: self.writing.ids(),
            // A conversion reads what it finds; only a migration promises to know the new version.
            force_version: true,
            whole: true,
            map_paths: self.map_path,
            folder: self.cwd,
            compare: self.telling.report.is_some(),
            ..self.tolerance.options(self.reading.options())
        };
        let options = self.masking.options(self.keeping.options(options), false)?;
        let origin = self.keeping.origin;
        if origin.is_some() && inputs.several() {
            return Err(Stop::usage("`--origin` takes one input"));
        }
        let home: Option<Arc<dyn Home>> = match &place {
            OutputPlace::Native(folder) => Some(Arc::new(HomeFolder(folder.clone()))),
            _ => None,
        };
        let options = Options { home, ..options };
        let action = Action::Convert(to);
        let task = Task {
            repair_first: self.repair_first.settings(&inputs)?,
            place,
            policy: self.writing.policy(),
            origin,
            ..Task::looking(action, options, &self.reading.source.from)
        }
        .failing(self.strictness.fail_on());
        self.writing.run("convert", task, &inputs, &self.telling)
    }
}
