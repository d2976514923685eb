//! The command `copyist list`.

use super::list_named::Listing;
use super::list_table::table;
use super::machine::surveyed;
use super::pager::page;
use super::selecting::Selecting;
use super::style::Paint;
use super::style::When;
use super::text::aside;
use super::text::printable;
use super::{Stop, print};
use crate::batch::ReportedPath;
use crate::formats::NAMED;
use crate::home::{Listed, Selection, SessionPlace, Sort, State, Summary};
use crate::times;
use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;

/// List the sessions of all agents, or those in files and folders
///
/// Without PATH, the sessions of Claude Code, Codex, pi, Codelia and OpenCode in the agents' own folders
/// are listed, and those of ConnectOnion and claude-agent-orchestrator in the current folder, the folders
/// above it, and the folders of the listed sessions. Files of sub-agents are parts of their sessions. The newest session is first.
/// A damaged session is listed with its state.
///
/// For claude-agent-orchestrator without PATH, the list is that of ao-list-sessions.
///
/// Summaries are kept in the user's cache folder and read again when a file has changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files and folders with sessions, the default is the folders of all agents; or words to look
    /// for, as --grep does
    ///
    /// An argument that exists, or that contains a separator of paths, is a path.
    #[arg(value_name = "PATH|WORD")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    selecting: Selecting,
    /// List only the sessions in this state
    #[arg(long, value_name = "STATE", value_enum)]
    state: Option<States>,
    /// Choose the order; the highest value is first
    #[arg(long, value_name = "BY", value_enum, default_value = "time")]
    sort: By,
    /// List only the first N sessions
    #[arg(short = 'n', value_name = "N")]
    most: Option<usize>,
    /// Print one line of JSON for each session
    #[arg(long)]
    json: bool,
    /// Width of the table; the default is the terminal's width; without a terminal, titles are not
    /// cropped
    #[arg(long, value_name = "COLUMNS", env = "COPYIST_WIDTH")]
    width: Option<u16>,
    /// Colour the table; `auto` does at a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", env = "COPYIST_COLOR")]
    color: When,
    #[command(flatten)]
    listing: Listing,
}

/// Values of `--sort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Last activity
    Time,
    /// Size of the files
    Size,
    /// Number of messages
    Messages,
    /// Number of tokens
    Tokens,
    /// Cost
    Cost,
}

/// Values of `--state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum States {
    /// All of it can be read
    Ok,
    /// A part of it is damaged
    Damaged,
    /// It has no content
    Empty,
    /// Nothing of it can be read
    Unreadable,
}

impl Args {
    pub fn run(mut self) -> Result<u8, Stop> {
        self.take_words();
        let format = self.selecting.format();
        let by_name = format.is_some_and(|of| NAMED.iter().any(|named| named.format == of.name));
        if self.listing.is_wanted() || (by_name && self.paths.is_empty()) {
            if format.is_some() && !by_name || self.selects() {
                let message = "the list of claude-agent-orchestrator takes no conditions; name its \
                               folder as PATH to use them";
                return Err(Stop::usage(message));
            }
            return self.listing.run(self.json);
        }
        let places = self.places()?;
        let sessions = surveyed(&places, self.paths.is_empty(), format);
        let selection = Selection {
            state: self.state.map(State::from),
            sort: self.sort.into(),
            most: self.most,
            ..self.selecting.selection()
        };
        let any = !sessions.is_empty();
        let sessions = selection.of(sessions);
        if sessions.is_empty() && !self.json {
            aside(&nothing(any, &places));
        }
        if self.json {
            let lines: String = sessions.iter().map(|one| format!("{}\n", object(one))).collect();
            return print(lines.as_bytes());
        }
        let fits = self.width.is_some() || std::io::stdout().is_terminal();
        let width = fits.then(|| super::text::width(self.width));
        let paint = Paint::new(self.color, &std::io::stdout());
        page(&table(&sessions, Timestamp::now(), width, paint))
    }

    /// Takes the arguments that are no paths as the text to look for.
    fn take_words(&mut self) {
        let is_path = |path: &PathBuf| {
            let text = path.to_string_lossy();
            text.contains(['/', '\\']) || std::fs::metadata(path).is_ok()
        };
        let (paths, words) = std::mem::take(&mut self.paths).into_iter().partition(is_path);
        self.paths = paths;
        let words: Vec<PathBuf> = words;
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        self.selecting.add_words(words);
    }

    /// Whether an option selects or orders sessions.
    fn selects(&self) -> bool {
        self.selecting.has_conditions()
            || self.state.is_some()
            || self.most.is_some()
            || self.sort != By::Time
            || !self.paths.is_empty()
    }

    /// Returns the places of the sessions.
    fn places(&self) -> Result<Vec<SessionPlace>, Stop> {
        if self.paths.is_empty() {
            return self.selecting.places();
        }
        for path in &self.paths {
            if let Err(error) = std::fs::metadata(path) {
                let path = printable(&path.to_string_lossy());
                return Err(Stop::usage(format!("{path}: cannot open: {error}")));
            }
        }
        Ok(self.paths.iter().cloned().map(SessionPlace::named).collect())
    }
}

impl From<States> for State {
    fn from(state: States) -> Self {
        match state {
            States::Ok => Self::Ok,
            States::Damaged => Self::Damaged,
            States::Empty => Self::Empty,
            States::Unreadable => Self::Unreadable,
        }
    }
}

impl From<By> for Sort {
    fn from(by: By) -> Self {
        match by {
            By::Time => Self::Time,
            By::Size => Self::Size,
            By::Messages => Self::Messages,
            By::Tokens => Self::Tokens,
            By::Cost => Self::Cost,
        }
    }
}

/// Returns the message for an empty list.
fn nothing(any: bool, places: &[SessionPlace]) -> String {
    if any {
        return "no session meets the conditions".to_owned();
    }
    let paths: Vec<_> = places.iter().map(|place| place.path.display().to_string()).collect();
    match paths.is_empty() {
        true => "there are no sessions: no agent has a folder for them here".to_owned(),
        false => format!("there are no sessions in {}", paths.join(" or ")),
    }
}

/// Returns a session as JSON.
fn object(session: &Listed) -> serde_json::Value {
    let Summary { agent, id, project, title, messages, tokens, cost, state, fault, .. } =
        &session.summary;
    let mut object = json!({
        "agent": agent,
        "id": id,
        "path": ReportedPath::from(&session.path),
        "project": project,
        "title": title,
        "updated": session.updated.map(times::with_millis),
        "messages": messages,
        "size": session.size,
        "tokens": tokens,
        "cost": cost,
        "state": state.name(),
    });
    if let (Some(object), Some(hit)) = (object.as_object_mut(), &session.hit) {
        object.insert("hit".to_owned(), json!(hit));
    }
    if let (Some(object), Some(fault)) = (object.as_object_mut(), fault) {
        object.insert("error".to_owned(), json!(fault));
    }
    object
}
