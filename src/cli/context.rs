//! `copyist context`.

use super::Stop;
use super::args::{Ids, Reading, Telling};
use super::inputs::Inputs;
use super::run::run;
use crate::batch::{Action, Place, Task};
use crate::context::Request;
use crate::format::{OnError, Options};
use std::path::PathBuf;

/// Print what the agent would send to a model if it took the session up again
///
/// One JSON object in the source format's own shape, `{"messages":[…]}`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's file; `-` is standard input
    #[arg(value_name = "INPUT")]
    path: PathBuf,
    /// The entry to stand at; the session's own leaf if none is given
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// Print header, leaf, branch and labels, too; the messages then stand under `context`
    #[arg(long)]
    details: bool,
    /// How identifiers are chosen for a session that has none
    #[arg(long, value_name = "HOW", value_enum, default_value = "derived")]
    ids: Ids,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    telling: Telling,
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        if self.path.is_dir() {
            return Err(Stop::usage("`context` takes one session, not a folder"));
        }
        let options = Options {
            ids: self.ids.choice(),
            force_version: true,
            ..self.reading.options(OnError::Keep)
        };
        let request = Request { leaf: self.leaf, details: self.details };
        let task = Task {
            place: Place::One("-".into()),
            ..Task::looking(Action::Context(request), options, &self.reading.from)
        };
        let task = task.failing(self.reading.fail_on());
        run("context", task, &Inputs::one(self.path), &self.telling)
    }
}
