//! `copyist context`.

use super::Stop;
use super::args::{Ids, Reading, Telling};
use super::inputs::Sessions;
use super::run::run;
use crate::batch::{Action, Place, Task};
use crate::context::{Form, Request};
use crate::format::{OnError, Options};
use clap::ValueEnum;
use std::path::PathBuf;

/// Print what the agent would send to a model if it took the session up again
///
/// One JSON object, `{"messages":[…]}`, in the source format's own shape or another.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's file; `-` is standard input
    #[arg(value_name = "INPUT", required_unless_present = "session")]
    path: Option<PathBuf>,
    /// The entry to stand at; the session's own leaf if none is given
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// Stand at this turn, counted from 1: everything before it, and its question
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    /// Show what this run's request `--seq` showed the model, not what would be sent next
    #[arg(long, value_name = "ID", requires = "seq", conflicts_with_all = ["leaf", "turn", "details", "no_restore"])]
    run: Option<String>,
    /// The number of a request of `--run`
    #[arg(long, value_name = "N", requires = "run")]
    seq: Option<u64>,
    /// Print header, leaf, branch and labels, too; the messages then stand under `context`
    #[arg(long)]
    details: bool,
    /// Leave out the messages that the file does not hold and that were restored from its turns
    #[arg(long)]
    no_restore: bool,
    /// The shape of the messages, if it is not to be the source format's own
    #[arg(long = "as", value_name = "SHAPE", value_enum)]
    shape: Option<Shape>,
    /// How identifiers are chosen for a session that has none
    #[arg(long, value_name = "HOW", value_enum, default_value = "derived")]
    ids: Ids,
    #[command(flatten)]
    sessions: Sessions,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    telling: Telling,
}

/// `--as`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// OpenAI's Chat Completions
    #[value(name = "openai")]
    OpenAi,
    /// Anthropic's Messages
    Anthropic,
    /// Role and content only; contexts of different formats can be compared in it
    Canonical,
}

impl From<Option<Shape>> for Form {
    fn from(shape: Option<Shape>) -> Self {
        match shape {
            None => Self::Own,
            Some(Shape::OpenAi) => Self::OpenAi,
            Some(Shape::Anthropic) => Self::Anthropic,
            Some(Shape::Canonical) => Self::Canonical,
        }
    }
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let options = Options {
            ids: self.ids.choice(),
            force_version: true,
            ..self.reading.options(OnError::Keep)
        };
        let request = Request {
            leaf: self.leaf,
            details: self.details,
            form: self.shape.into(),
            turn: self.turn,
            call: self.run.zip(self.seq),
            no_restore: self.no_restore,
        };
        let task = Task {
            place: Place::One("-".into()),
            ..Task::looking(Action::Context(request), options, &self.reading.from)
        };
        let task = task.failing(self.reading.fail_on());
        run("context", task, &self.sessions.one(self.path, "context")?, &self.telling)
    }
}
