//! The command `copyist context`.

use super::Stop;
use super::args::Looking;
use super::ids::Ids;
use super::run::run;
use super::telling::Telling;
use crate::batch::{Action, OutputPlace, Task};
use crate::context::{Form, Request};
use crate::format::Options;
use clap::ValueEnum;
use std::path::PathBuf;

/// Print what the agent would send to a model if it resumed the session
///
/// The output is one JSON object, `{"messages":[…]}`, in the source format's shape or in another
/// one.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's file, its identifier or the first six or more characters of it, or `latest`; `-`
    /// is standard input
    #[arg(value_name = "INPUT", required_unless_present = "session")]
    path: Option<PathBuf>,
    /// Stop at this entry; the default is the session's leaf
    #[arg(long, value_name = "ID")]
    leaf: Option<String>,
    /// Stop at this turn, counted from 1, after its question
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    /// Show what request `--seq` of this run sent to the model, not what would be sent next
    #[arg(long, value_name = "ID", requires = "seq", conflicts_with_all = ["leaf", "turn", "details", "no_restore"])]
    run: Option<String>,
    /// Number of a request of `--run`
    #[arg(long, value_name = "N", requires = "run")]
    seq: Option<u64>,
    /// Print header, leaf, branch and labels, too; the messages are then below `context`
    #[arg(long)]
    details: bool,
    /// Leave out messages that the file does not contain and that were restored from its turns
    #[arg(long)]
    no_restore: bool,
    /// Shape of the messages; the default is the source format's shape
    #[arg(long = "as", value_name = "SHAPE", value_enum)]
    shape: Option<Shape>,
    /// Choose how identifiers are made for a session without identifiers
    #[arg(long, value_name = "HOW", value_enum, default_value = "derived")]
    ids: Ids,
    #[command(flatten)]
    looking: Looking,
    #[command(flatten)]
    telling: Telling,
}

/// Values of `--as`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// OpenAI's Chat Completions
    #[value(name = "openai")]
    OpenAi,
    /// Anthropic's Messages
    Anthropic,
    /// Role and content only, to compare contexts of different formats
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
        let options = Options { ids: self.ids.choice(), ..self.looking.options() };
        let request = Request {
            leaf: self.leaf,
            details: self.details,
            form: self.shape.into(),
            turn: self.turn,
            call: self.run.zip(self.seq),
            no_restore: self.no_restore,
        };
        let task = Task {
            place: OutputPlace::One("-".into()),
            ..self.looking.task(Action::Context(request), options)
        };
        run("context", task, &self.looking.sessions.one(self.path, "context", None)?, &self.telling)
    }
}
