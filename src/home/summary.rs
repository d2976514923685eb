//! Summary of a session, from one reading.

use crate::batch::{Job, Opened, ReadOptions, ruin};
use crate::diagnostic::{Code, Log};
use crate::error::Result;
use crate::format::{Cx, Format, OnError, Options, Reader};
use crate::formats;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Beginning, Field, Kind, Record};
use crate::times;
use crate::usage::{Spent, Tally, Usage};
use crate::user_words::{self, Title, UserWords};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// State of a session's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All of it was read.
    Ok,
    /// A part of it is damaged; the other fields describe the rest.
    Damaged,
    /// The file has no content.
    Empty,
    /// Nothing could be read.
    Unreadable,
}

impl State {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Damaged => "damaged",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Summary of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The name of the agent's format; empty if it is not known.
    pub agent: String,
    /// The session's identifier, or else the name of its file.
    pub id: String,
    /// The folder of the project.
    pub project: Option<String>,
    /// The session's own name, or else the user's first question, in one line.
    pub title: Option<String>,
    /// The time of the last record, as in `2026-01-03T08:21:00.000Z`.
    pub updated: Option<String>,
    /// Number of messages, without those of sub-agents.
    pub messages: u64,
    /// Number of tokens of all requests, if the session contains it.
    pub tokens: Option<u64>,
    /// Cost, if the session contains it.
    pub cost: Option<f64>,
    /// Tokens and cost of each model on each day.
    pub spent: Vec<Spent>,
    /// Hash of the first question and the first answer, which copies and forks share.
    pub beginning: Option<u64>,
    /// State of the file.
    pub state: State,
    /// The reason why a session could not be read.
    pub fault: Option<String>,
}

/// A reading of a session: its summary, and all files that contain the session.
pub struct Read {
    /// The summary; `None` if the file is no session, or a part of another one.
    pub summary: Option<Summary>,
    /// The files.
    pub files: Vec<Arc<Path>>,
}

/// Returns the options with which sessions are read: as far as possible.
pub fn options() -> Options {
    Options { on_error: OnError::Keep, force_version: true, ..Options::default() }
}

/// Reads a session. `agent` is the format of the agent whose folder contains it.
pub fn read(job: &Job, agent: Option<&'static Format>) -> Read {
    let nothing = Read { summary: None, files: Vec::new() };
    let unreadable = |state, fault: String| Summary {
        state,
        fault: Some(fault),
        ..Summary::empty(agent.map_or("", |agent| agent.name), job)
    };
    let opened = match Opened::new(&job.source, ReadOptions::default(), job.named) {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            let fault = job.path().and_then(|path| ruin(path, ReadOptions::default()).ok()?);
            // Agents keep other files beside their sessions.
            let called = |agent: &Format| {
                let name = job.path().map(|path| path.to_string_lossy()).unwrap_or_default();
                agent.extensions.iter().any(|ending| name.ends_with(ending))
            };
            let empty = job.size() == Some(0);
            let state = if empty { State::Empty } else { State::Unreadable };
            let summary = fault.filter(|_| agent.is_some_and(called));
            return Read { summary: summary.map(|why| unreadable(state, why.into())), ..nothing };
        }
        Err(error) => {
            let empty = error.code() == Code::Empty;
            let state = if empty { State::Empty } else { State::Unreadable };
            let summary = Some(unreadable(state, error.message().to_owned()));
            return Read { summary, ..nothing };
        }
    };
    let files = opened.files.to_vec();
    if opened.part_of.is_some() {
        return Read { summary: None, files };
    }
    let Opened { found, mut input, .. } = opened;
    let (options, log) = (options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let summary = Summary::empty(found.format.name, job);
    let summary = match formats::records(found.format, &mut input, &cx) {
        Ok(records) => Reading::of(found.format).finish(records, summary, &log),
        Err(error) => {
            let fault = Some(error.message().to_owned());
            Summary { state: State::Unreadable, fault, ..summary }
        }
    };
    Read { summary: Some(summary), files }
}

/// Returns what the beginning of a session says about it, as far as the first message.
pub fn beginning(job: &Job, format: &'static Format) -> Summary {
    let empty = Summary::empty(format.name, job);
    let opened = Opened::new(&job.source, ReadOptions::default(), job.named);
    let Ok(Some(Opened { found, mut input, .. })) = opened else { return empty };
    // No other reading follows.
    let (options, log) = (Options { index_memory: 0, ..options() }, Log::default());
    let cx = Cx { options: &options, log: &log };
    let Ok(records) = formats::records(found.format, &mut input, &cx) else { return empty };
    let is_message = |item: &Result<Located<Record>>| {
        item.as_ref().is_ok_and(|located| located.value.kind == Kind::Message)
    };
    let records = records.take_while(|item| !is_message(item));
    Reading::of(format).finish(Box::new(records), empty, &log)
}

impl Summary {
    pub(super) fn empty(agent: &str, job: &Job) -> Self {
        let stem = job.relative.file_name().unwrap_or_default().to_string_lossy();
        Self {
            agent: agent.to_owned(),
            id: crate::batch::stem(crate::store::plain_name(&stem)).to_owned(),
            project: None,
            title: None,
            updated: None,
            messages: 0,
            tokens: None,
            cost: None,
            spent: Vec::new(),
            beginning: None,
            state: State::Ok,
            fault: None,
        }
    }
}

/// Data of the records that were read so far.
struct Reading {
    id: Option<String>,
    project: Option<String>,
    name: Option<String>,
    title: Title,
    time: Option<Json>,
    updated: Option<Json>,
    messages: u64,
    beginning: Beginning,
    tally: Tally,
    user_words: UserWords,
}

impl Reading {
    fn of(format: &'static Format) -> Self {
        Self {
            id: None,
            project: None,
            name: None,
            title: Title::default(),
            time: None,
            updated: None,
            messages: 0,
            beginning: Beginning::default(),
            tally: Tally::of(format),
            user_words: UserWords::of(format),
        }
    }

    fn finish(mut self, records: Reader<'_>, empty: Summary, log: &Log) -> Summary {
        let mut fault = None;
        for record in records {
            match record {
                Ok(Located { value, .. }) => self.record(&value),
                Err(error) if error.is_recoverable() => fault = Some(error.message().to_owned()),
                Err(error) => {
                    fault = Some(error.message().to_owned());
                    break;
                }
            }
        }
        let damaged = fault.is_some() || log.has(Code::is_for_repair) || log.has(Code::is_of_line);
        let spent = self.tally.spent();
        let mut usage = Usage::default();
        spent.iter().for_each(|spent| usage.join(spent.usage));
        let time = |json: &Json| times::read(json).or_else(|| times::of_number(json));
        let updated = [self.time, self.updated].iter().flatten().filter_map(time).max();
        Summary {
            id: self.id.filter(|id| !id.is_empty()).unwrap_or(empty.id),
            project: self.project.filter(|project| !project.is_empty()),
            title: self.name.map(|name| user_words::line(&name)).or(self.title.finish()),
            updated: updated.map(times::with_millis),
            messages: self.messages,
            tokens: Some(usage.all()).filter(|all| *all > 0.0).map(|all| all as u64),
            cost: Some(usage.cost).filter(|cost| *cost > 0.0),
            spent,
            beginning: self.beginning.hash(),
            state: if damaged { State::Damaged } else { State::Ok },
            fault,
            ..empty
        }
    }

    fn record(&mut self, record: &Record) {
        let node = &record.node;
        self.tally.record(record);
        self.user_words.note(record);
        self.beginning.look(record);
        let own = node.json(Field::ParentCall).is_none_or(Json::is_null);
        if let Some(time) = node.json(Field::Time).filter(|_| own) {
            self.time = Some(time.clone());
        }
        let name = |name: &String| !name.trim().is_empty();
        match record.kind {
            Kind::Session => {
                self.id = node.text(Field::Id).or(self.id.take());
                self.project = node.text(Field::Cwd).or(self.project.take());
                self.name = node.text(Field::Name).filter(name).or(self.name.take());
                for field in [Field::Created, Field::Updated] {
                    self.updated = node.json(field).cloned().or(self.updated.take());
                }
            }
            Kind::SessionInfo => {
                self.name = node.text(Field::Name).filter(name).or(self.name.take());
            }
            Kind::Message if own => {
                self.messages += 1;
                self.title.note(self.user_words, record);
            }
            _ => {}
        }
    }
}

/// Counts the tokens and cost of a session again; `look` gets each record before it is counted.
/// `None` if the file is no session.
pub fn recount(job: &Job, mut look: impl FnMut(&Record, &mut Tally)) -> Result<Option<Tally>> {
    let opened = Opened::new(&job.source, ReadOptions::default(), job.named)?;
    let Some(Opened { found, mut input, .. }) = opened else { return Ok(None) };
    let (options, log) = (options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let mut tally = Tally::of(found.format);
    let records = formats::records(found.format, &mut input, &cx)?;
    for record in records.filter_map(Result::ok).map(|located| located.value) {
        look(&record, &mut tally);
        tally.record(&record);
    }
    Ok(Some(tally))
}

/// Passes the messages of a session to `each`, until it returns false.
pub fn messages(job: &Job, each: &mut dyn FnMut(&Record) -> bool) -> Result<()> {
    let opened = Opened::new(&job.source, ReadOptions::default(), job.named)?;
    let Some(Opened { found, mut input, .. }) = opened else { return Ok(()) };
    let (options, log) = (options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let records = formats::records(found.format, &mut input, &cx)?;
    let records = records.filter_map(Result::ok).map(|located| located.value);
    let mut messages = records.filter(|record| record.kind == Kind::Message);
    messages.all(|message| each(&message));
    Ok(())
}
