//! The command `copyist show`.

use super::args::{Looking, Masking};
use super::machine::{self, Among};
use super::run::run;
use super::style::When;
use super::telling::Telling;
use super::text::width;
use super::{Stop, names, pager, style};
use crate::batch::{Action, OutputPlace, Task};
use crate::format::Format;
use crate::formats::Spec;
use crate::show::{Branches, Form, Request, Tools};
use crate::store::Policy;
use clap::ValueEnum;
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;

/// Show a session to read, or write it as Markdown, HTML, JSON or YAML
///
/// At a terminal, the session is shown page by page, with Markdown laid out and each call of a tool
/// in one line. Without SESSION, you choose one at the terminal; without a terminal, it is the
/// session of the current folder with the newest message. Such an output is only for reading: no
/// command reads it back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file, an identifier, six or more characters of one, or `latest`; `-` is standard input
    #[arg(value_name = "SESSION")]
    path: Option<PathBuf>,
    /// Search only among the sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = names::format(), hide_possible_values = true)]
    agent: Option<Spec>,
    /// Form of the output: text, markdown, html, json or yaml
    #[arg(long = "as", value_name = "FORM", value_enum, default_value = "text")]
    form: Shape,
    /// Write to this file; missing folders are created
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing output
    #[arg(long)]
    force: bool,
    /// Extent to which calls of tools are shown
    ///
    /// The default is `names` for text, else `full`.
    #[arg(long, value_name = "EXTENT", value_enum)]
    tools: Option<Extent>,
    /// Show only these turns: `3`, `3-7`, `3-` or `-7`
    #[arg(long, value_name = "RANGE", value_parser = range, allow_hyphen_values = true)]
    turns: Option<(u64, u64)>,
    /// Branch that is shown, by its number, or `all`
    ///
    /// The default is the current one, 0, for text, else `all`.
    #[arg(long, value_name = "N", value_parser = branches)]
    branch: Option<Branches>,
    /// Also show events of the agent's user interface
    ///
    /// They are in the order of their numbers.
    #[arg(long)]
    events: bool,
    /// Width of the output
    ///
    /// The default is the terminal's width, or 80 without a terminal.
    #[arg(long, value_name = "COLUMNS", env = "COPYIST_WIDTH")]
    width: Option<u16>,
    #[command(flatten)]
    looking: Looking,
    #[command(flatten)]
    masking: Masking,
    #[command(flatten)]
    telling: Telling,
}

/// Values of `--as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// Text for a terminal
    Text,
    /// Markdown
    Markdown,
    /// One page of HTML, which loads nothing
    Html,
    /// One JSON object
    Json,
    /// YAML with the members of the JSON
    Yaml,
}

/// Values of `--tools`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Extent {
    /// No calls
    None,
    /// A line for each call: the tool, its main argument, the size of the result
    Names,
    /// All arguments and results, edits as differences
    Full,
}

/// Parses a range of turns.
fn range(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str, open| match text.trim() {
        "" => Ok(open),
        text => text.parse().map_err(|_| "expected a range such as `3-7`, `3-` or `3`".to_owned()),
    };
    match text.split_once('-') {
        Some((first, last)) => {
            let range = (number(first, 0)?, number(last, u64::MAX)?);
            if range.0 > range.1 {
                return Err(format!("{} is after {}", range.0, range.1));
            }
            Ok(range)
        }
        None => number(text, 0).map(|one| (one, one)),
    }
}

/// Parses a branch.
fn branches(text: &str) -> Result<Branches, String> {
    match text {
        "all" => Ok(Branches::All),
        number => {
            let parsed = number.parse().map(Branches::One);
            parsed.map_err(|_| "expected the number of a branch, or `all`".to_owned())
        }
    }
}

impl Args {
    pub fn run(self) -> Result<u8, Stop> {
        let only = self.agent.map(|agent| agent.format);
        let (path, session) = match (self.path, &self.looking.sessions) {
            (None, sessions) if !sessions.is_named() => chosen(only, !self.telling.json)?,
            (path, _) => (path, None),
        };
        let inputs = self.looking.sessions.or(session).one(path, "show", only)?;
        let output = self.output.unwrap_or_else(|| "-".into());
        let to_screen = output.as_os_str() == "-";
        let text = self.form == Shape::Text;
        let tools = self.tools.map(|extent| match extent {
            Extent::None => Tools::None,
            Extent::Names => Tools::Names,
            Extent::Full => Tools::Full,
        });
        let colors = to_screen && style::is_colored(self.telling.color, &stdout());
        let width = width(self.width);
        let request = Request {
            tools: tools.unwrap_or(if text { Tools::Names } else { Tools::Full }),
            branches: self.branch.unwrap_or(if text { Branches::One(0) } else { Branches::All }),
            turns: self.turns,
            events: self.events,
            form: match self.form {
                Shape::Text => Form::Text { width, colors },
                Shape::Markdown => Form::Markdown,
                Shape::Html => Form::Html,
                Shape::Json => Form::Json,
                Shape::Yaml => Form::Yaml,
            },
        };
        let for_others = matches!(self.form, Shape::Markdown | Shape::Html);
        let options = self.masking.options(self.looking.options(), for_others)?;
        let screen =
            if stdout().is_terminal() { pager::open } else { || Box::new(stdout()) as Box<_> };
        let task = Task {
            place: OutputPlace::One(output),
            policy: Policy { force: self.force, ..Policy::default() },
            screen,
            ..self.looking.task(Action::View(request), options)
        };
        // The pager has the screen.
        let progress = if to_screen { When::Never } else { self.telling.progress };
        run("show", task, &inputs, &Telling { progress, ..self.telling })
    }
}

/// Lets the user choose a session; returns its path, and its identifier in a folder of sessions.
fn chosen(
    only: Option<&'static Format>,
    interactive: bool,
) -> Result<(Option<PathBuf>, Option<String>), Stop> {
    let one = machine::one(None, Among { only, interactive, ..Among::default() })?;
    let machine::Session { path, id } = machine::Session::of(&one);
    Ok((Some(path), id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_turns_may_be_open() {
        assert_eq!(range("3-7"), Ok((3, 7)));
        assert_eq!(
            (range("3-"), range("-7"), range("3")),
            (Ok((3, u64::MAX)), Ok((0, 7)), Ok((3, 3)))
        );
        assert!(range("7-3").is_err() && range("x").is_err());
    }
}
