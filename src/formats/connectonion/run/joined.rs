//! Turns of a run that the summary file beside it describes.
//!
//! A summary is the index of all runs that began with the same question. Its turns name the run
//! that they are from; `history` names earlier runs. Two conversations whose first questions make
//! the same name share a summary, and the later one replaces its content, so the summary of a run
//! may describe another conversation.

use super::super::file::{self, INDEX};
use super::super::{Made, made};
use crate::diagnostic::{Code, Diagnostic, Log, Severity};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Head, Parts, Reader};
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};
use crate::yaml::encoding::{self, Found};
use std::collections::VecDeque;
use std::io::Read;

/// Returns the path of the summary of the run at a path: `evals/greet.yaml` for
/// `evals/greet/run_2.yaml`.
pub fn summary_of(path: &str) -> Option<String> {
    let (folder, file) = path.rsplit_once('/')?;
    number(file.strip_suffix(".yaml")?)?;
    Some(format!("{folder}.yaml"))
}

/// Returns the number of a run with this file name.
fn number(name: &str) -> Option<u64> {
    name.strip_prefix("run_")?.parse().ok()
}

/// Opens a run for reading, together with the turns in its summary.
pub fn open<'a>(parts: &'a mut dyn Parts, encoding: Found, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let open_turns = SummaryTurns::of(parts, cx);
    let records = super::read::open(parts, encoding, cx)?;
    Ok(if open_turns.turns.is_empty() {
        records
    } else {
        Box::new(Joined { records, open_turns, message: None, cx })
    })
}

/// The records of a run, each turn before its question.
struct Joined<'a> {
    records: Reader<'a>,
    open_turns: SummaryTurns,
    /// A question whose turn was returned before it.
    message: Option<Located<Record>>,
    cx: &'a Cx<'a>,
}

impl Iterator for Joined<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(message) = self.message.take() {
            return Some(Ok(message));
        }
        let item = self.records.next();
        match item {
            Some(Ok(message)) => {
                Some(Ok(match self.open_turns.begun_by(&message.value.node, self.cx) {
                    Some(value) => {
                        let at = message.at;
                        self.message = Some(message);
                        Located { value, at }
                    }
                    None => message,
                }))
            }
            None => {
                self.open_turns.finish(self.cx);
                None
            }
            failed => failed,
        }
    }
}

/// Maximum size in bytes of the part of a summary that is held; summaries are short.
const LONGEST: usize = 16 << 20;

/// The turns of a summary, until their questions come.
#[derive(Debug, Default)]
struct SummaryTurns {
    turns: VecDeque<Record>,
    /// Number of turns that were joined to their questions.
    joined: u64,
}

impl SummaryTurns {
    /// Reads the turns of the run that is being read.
    fn of(parts: &mut dyn Parts, cx: &Cx<'_>) -> Self {
        let turns = read(parts, cx).unwrap_or_else(|error| {
            report(&format!("the summary beside the run is not read: {}", error.message()), cx);
            VecDeque::new()
        });
        Self { turns, joined: 0 }
    }

    /// Returns the turn that begins with this message.
    fn begun_by(&mut self, message: &Node, cx: &Cx<'_>) -> Option<Record> {
        if !message.is(Field::Role, "user") {
            return None;
        }
        let asked = file::text_of(message).and_then(|asked| asked.text());
        let open_turns = self.turns.front()?.node.text(Field::Input);
        if asked == open_turns {
            self.joined += 1;
            return self.turns.pop_front();
        }
        // The first question shows whether it is the same conversation.
        if self.joined == 0 {
            report(
                "the summary beside the run belongs to a conversation with another first question",
                cx,
            );
            self.turns.clear();
        }
        None
    }

    /// Reports turns for which no question was found.
    fn finish(&mut self, cx: &Cx<'_>) {
        let count = std::mem::take(&mut self.turns).len();
        if count > 0 {
            report(&format!("{count} turns of the summary have no question in the run"), cx);
        }
    }
}

fn report(message: &str, cx: &Cx<'_>) {
    cx.report(Diagnostic::new(Code::NotJoined, message));
}

fn read(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<VecDeque<Record>> {
    let mut turns = VecDeque::new();
    let Some((name, mut text)) = parts.index()? else { return Ok(turns) };
    let mut head = Vec::new();
    Read::take(&mut text, Head::SIZE as u64).read_to_end(&mut head).cannot("read")?;
    let begun = made(&encoding::head(&head, cx.options.encoding), head.len() < Head::SIZE);
    let is_summary = begun
        .is_some_and(|(_, made)| matches!(made, Made::File(shape) if shape.layout == INDEX.layout));
    let Some(run) = number(&name).filter(|_| is_summary) else { return Ok(turns) };
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut held = 0;
    for item in file::open(&mut Beside(parts), &INDEX, &quiet)? {
        let turn = item?.value;
        let Some(turn) = (turn.kind == Kind::Turn).then(|| of_run(turn.node, run)).flatten() else {
            continue;
        };
        held += turn.node.iter().map(|(field, _)| length(&turn.node, field)).sum::<usize>();
        if held > LONGEST {
            let found = Diagnostic::new(Code::YamlLimit, "it is too long");
            return Err(Error::unfit(found));
        }
        turns.push_back(turn);
    }
    if log.into_findings().worst() == Some(Severity::Error) {
        report("the summary beside the run is damaged; its complete parts were read", cx);
    }
    Ok(turns)
}

fn length(node: &Node, field: Field) -> usize {
    node.json(field).map_or(0, |value| value.as_bytes().len())
}

/// Returns the turn's record for this run: the turn itself, or one of its earlier runs.
fn of_run(mut turn: Node, run: u64) -> Option<Record> {
    let named =
        |value: Option<Json>| value.is_some_and(|number| number.float() == Some(run as f64));
    if !named(turn.json(Field::Attempt).cloned()) {
        let history = turn.json(Field::History).map(file::earlier_runs).unwrap_or_default();
        let mut earlier =
            history.into_iter().filter(|run| named(run.json(Field::Attempt).cloned()));
        let mut run = earlier.next()?;
        run.set(Field::Input, turn.take(Field::Input)?);
        turn = run;
    }
    let mut record = Record { kind: Kind::Turn, node: turn };
    record.node.set(Field::Synthesized, Json::constant("true"));
    Some(record)
}

/// Access to the summary as a session of its own.
struct Beside<'a>(&'a mut dyn Parts);

impl Parts for Beside<'_> {
    fn names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn open(&mut self, _name: &str) -> Result<Box<dyn Read>> {
        let none = || Error::io("cannot open", std::io::ErrorKind::NotFound.into());
        self.0.index()?.map(|(_, text)| text).ok_or_else(none)
    }

    fn keep(&mut self) -> Result<()> {
        Ok(())
    }
}
