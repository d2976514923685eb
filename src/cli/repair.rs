//! The command `copyist repair`.

use super::Stop;
use super::args::{InPlace, Writing, check_quarantine};
use super::inputs::Batch;
use super::reading::{Reading, Strictness, Warned};
use super::telling::Telling;
use crate::batch::{Action, RepairSettings, Task};
use crate::format::{Options, RepairOptions};
use std::path::PathBuf;

/// Repair damaged sessions so that their agent can continue them
///
/// Every change is reported, and marked in the record that was changed. Data that cannot be a part
/// of the session goes to a quarantine file beside the output, byte for byte. With `-n` nothing is
/// written: a table shows which sessions are healthy, which can be repaired, and what would be
/// restored. The column `branch` counts the entries that the agent reaches, and `context` the
/// messages that the model gets, before and after the repair.
#[derive(Debug, clap::Args)]
#[command(mut_arg("layout", |arg| arg.hide(true)))]
pub struct Args {
    /// Also repair what a model's interface refuses
    ///
    /// That are calls without results, results without calls, an empty last answer, half of a
    /// surrogate pair, U+0000, tool names, images.
    #[arg(long)]
    resumable: bool,
    /// Restore the complete members of torn records
    #[arg(long)]
    salvage: bool,
    /// Link an entry to this parent; may be given several times
    #[arg(long, value_name = "ID=PARENT", value_parser = pair)]
    relink: Vec<(String, String)>,
    /// Write the quarantine to this file; for one input
    #[arg(long, value_name = "FILE")]
    quarantine: Option<PathBuf>,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    strictness: Strictness<Warned>,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    in_place: InPlace,
    #[command(flatten)]
    telling: Telling,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (id, parent) = text.split_once('=').ok_or("not of the form ID=PARENT")?;
    Ok((id.to_owned(), parent.to_owned()))
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let inputs = self.batch.inputs()?;
        check_quarantine(self.quarantine.as_deref(), &inputs)?;
        let in_place = self.in_place.place(&inputs)?;
        let Some(place) = in_place.or(self.writing.place(&inputs, None)?) else {
            return Err(Stop::usage(
                "name an output: `-o FILE`, `--out-dir DIR` or `--in-place`; `-n` only looks",
            ));
        };
        let options =
            Options { ids: self.writing.ids(), force_version: true, ..self.reading.options() };
        let wanted = RepairOptions {
            resumable: self.resumable,
            salvage: self.salvage,
            relink: self.relink,
            ..RepairOptions::default()
        };
        let action = Action::Repair(RepairSettings { wanted, quarantine: self.quarantine });
        let task = Task {
            place,
            policy: self.writing.policy(),
            ..Task::looking(action, options, &self.reading.source.from)
        }
        .failing(self.strictness.fail_on());
        self.writing.run("repair", task, &inputs, &self.telling)
    }
}
