//! Repair of runs, logs of messages, and states, one by one or all of a session.
//!
//! A run that was killed has no `run.end`, and the repair adds none: Codelia replays the run as far
//! as it goes, and its outcome is unknown. A state that lacks its last answer stays as well, and is
//! reported. To make the session resumable, the repair appends the messages that the run proves.
//! Rows of the database repeat facts of the state, and are not changed; if the output is another
//! folder, the repair copies the row of the session.
//!
//! Source of Codelia's behaviour on damage: `packages/storage` and `packages/runtime` at 48e27ff,
//! and observation. Codelia skips damaged lines of a run, but the header must be the first line; it
//! refuses a log or a state with a damaged line as a whole.

mod history;
mod messages;
mod run;
mod state;

use super::rows::{self, Row};
use super::sniff::{self, Shape, shape};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Result};
use crate::format::{Change, Cx, LineRepair, Parts, Reach, RepairIo, RepairOptions, Repaired};
use crate::repair::{Walk, nothing_back};
use messages::Log;
use run::Run;
use state::State;

/// Whether a session has no message yet: its files are empty, and the database has its row.
fn is_unbegun(names: &[String], pieces: &[Piece], io: &mut dyn RepairIo) -> Result<bool> {
    let mut byte = [0];
    for name in names.iter().filter(|name| *name != rows::DATABASE) {
        if io.parts().open(name)?.read(&mut byte).cannot("read")? > 0 {
            return Ok(false);
        }
    }
    Ok(pieces.iter().any(|piece| matches!(piece, Piece::Rows(Ok(Some(_))))))
}

/// Repairs a session, or one file of it.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let names = io.parts().names();
    let session = io.parts().session();
    let mut pieces = Vec::new();
    for (number, name) in (0..).zip(&names) {
        cx.log.turn_to(number);
        let kind = if name.is_empty() { Some(file_shape(io.parts())?) } else { shape_of(name) };
        let about = About { name, session: session.as_deref(), wanted, cx };
        pieces.push(Piece::look(kind, &about, io)?);
    }
    let unbegun = is_unbegun(&names, &pieces, io)?;
    if pieces.iter().all(|piece| piece.records() == 0) && !unbegun {
        return Err(nothing_back());
    }
    cx.log.turn_to(0);
    if let Some(run) = behind(&pieces)
        && !(wanted.resumable && catch_up(run, &names, &mut pieces, io, cx)?)
    {
        cx.report(Diagnostic::of(Code::StateBehind));
    }
    pieces.iter_mut().for_each(Piece::close);
    if pieces.iter().all(|piece| piece.remaining() == 0) && !unbegun {
        return Err(nothing_back());
    }
    io.begin(pieces.iter().any(Piece::removes))?;
    let mut done = Repaired::default();
    let (mut before, mut after) = (Reach::default(), Reach::default());
    for (number, (name, piece)) in (0..).zip(names.iter().zip(pieces)) {
        cx.log.turn_to(number);
        done.changed |= piece.changes();
        done.records += piece.records();
        let (was, is) = piece.reach();
        add(&mut before, was);
        add(&mut after, is);
        done.rescued += is.entries.saturating_sub(was.entries);
        piece.write(name, io, cx)?;
    }
    cx.log.turn_to(0);
    Ok(done.reaching(before, after))
}

/// Finds the last run, if it was killed before its last answer got into the state that the agent
/// loads.
fn behind(pieces: &[Piece<'_>]) -> Option<usize> {
    let runs = pieces.iter().enumerate().filter_map(|(place, piece)| match piece {
        Piece::Run(_, run) => Some((place, run)),
        _ => None,
    });
    let (place, run) = runs.max_by_key(|(_, run)| run.time())?;
    let answer = run.broken_off()?;
    let says = |piece: &Piece<'_>| match piece {
        Piece::Log(_, log) => Some(answer.iter().any(|said| log.contains(*said))),
        Piece::State(state) => Some(answer.iter().any(|said| state.contains(*said))),
        Piece::Run(..) | Piece::Rows(_) | Piece::Other => None,
    };
    let stored: Vec<bool> = pieces.iter().filter_map(says).collect();
    let lacks = !answer.is_empty() && !stored.is_empty() && !stored.contains(&true);
    lacks.then_some(place)
}

/// Appends the messages that the run proves to the stored messages; false if the run does not show
/// how the stored messages continue.
fn catch_up(
    run: usize,
    names: &[String],
    pieces: &mut [Piece<'_>],
    io: &mut dyn RepairIo,
    cx: &Cx<'_>,
) -> Result<bool> {
    let name = names.get(run).map(String::as_str).unwrap_or_default();
    let history = history::of(io.parts().open(name)?, cx)?;
    let mut done = false;
    for piece in pieces {
        match piece {
            Piece::Log(_, log) => {
                let missing = history::missing(history.clone(), log.stored());
                done |= missing.is_some();
                log.restore(missing.unwrap_or_default());
            }
            Piece::State(state) => {
                let missing = history::missing(history.clone(), &state.stored());
                done |= missing.is_some();
                state.restore(missing.unwrap_or_default());
            }
            Piece::Run(..) | Piece::Rows(_) | Piece::Other => {}
        }
    }
    Ok(done)
}

fn add(sum: &mut Reach, more: Reach) {
    sum.entries += more.entries;
    sum.messages += more.messages;
}

/// Determines the shape of a single file. In a log only those lines count that the repair keeps,
/// that is neither torn lines nor results, unless there is nothing else. In a run every line
/// counts, for the repair puts a header first.
fn file_shape(parts: &mut dyn Parts) -> Result<Shape> {
    let first = shape(parts)?;
    let bytes = sniff::beginning(parts)?;
    if first == Shape::State {
        return Ok(first);
    }
    let runs = |line: &[u8]| sniff::run(line).is_some();
    let speaks = |line: &[u8]| messages::is_one(line) && !messages::is_result(line);
    let log = match sniff::lines_of(&bytes).find(|line| runs(line) || speaks(line)) {
        Some(line) => !runs(line),
        None => sniff::lines_of(&bytes).all(messages::is_one),
    };
    Ok(if log { Shape::Log } else { Shape::Run })
}

/// Returns the shape of a part of a whole session; `None` for parts that sessions share.
fn shape_of(name: &str) -> Option<Shape> {
    match name {
        _ if name.starts_with(rows::DATABASE) => None,
        _ if name.ends_with(".json") => Some(Shape::State),
        _ if name.starts_with("/sessions/messages/") => Some(Shape::Log),
        _ => Some(Shape::Run),
    }
}

/// Facts about a part from outside of it.
struct About<'a> {
    name: &'a str,
    session: Option<&'a str>,
    wanted: &'a RepairOptions,
    cx: &'a Cx<'a>,
}

impl About<'_> {
    /// Returns the part's file name without its ending.
    fn stem(&self) -> &str {
        let path = if self.name.is_empty() { &self.wanted.name } else { self.name };
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default()
    }
}

impl About<'_> {
    /// Reads the session's row in the database; reports a fault of the database.
    fn row(&self, io: &mut dyn RepairIo) -> std::result::Result<Option<Row>, ()> {
        let session = self.session.unwrap_or_default();
        rows::read(io.parts(), session, self.cx.options.max_line)
            .map_err(|error| self.cx.report(error.into_diagnostic()))
    }
}

/// Part that the repair has looked at.
enum Piece<'a> {
    Run(Walk<'a>, Box<Run<'a>>),
    Log(Walk<'a>, Box<Log<'a>>),
    State(State),
    /// Database that sessions share, with the session's row, or an error if it cannot be read.
    Rows(std::result::Result<Option<Row>, ()>),
    /// Log of the database (its `-wal` file), with changes that are not in the database yet.
    Other,
}

impl<'a> Piece<'a> {
    fn look(kind: Option<Shape>, about: &About<'a>, io: &mut dyn RepairIo) -> Result<Self> {
        let walk = |kind| Walk::new(about.name, kind, about.wanted, about.cx);
        Ok(match kind {
            Some(Shape::Run) => {
                let (mut walk, mut mend) = (walk(&run::RECORDS), Box::new(Run::new(about)));
                walk.look(io, mend.as_mut())?;
                Self::Run(walk, mend)
            }
            Some(Shape::Log) => {
                let (mut walk, mut mend) = (walk(&messages::RECORDS), Box::new(Log::new(about)));
                walk.look(io, mend.as_mut())?;
                Self::Log(walk, mend)
            }
            Some(Shape::State) => Self::State(State::look(about, io)?),
            None if about.name == rows::DATABASE => Self::Rows(about.row(io)),
            None => Self::Other,
        })
    }

    /// Ends the search when all messages are known.
    fn close(&mut self) {
        match self {
            Self::Log(_, log) => log.close(),
            Self::State(state) => state.close(),
            Self::Run(..) | Self::Rows(_) | Self::Other => {}
        }
    }

    fn lines(&self) -> Option<(&Walk<'a>, &dyn LineRepair)> {
        match self {
            Self::Run(walk, mend) => Some((walk, mend.as_ref())),
            Self::Log(walk, mend) => Some((walk, mend.as_ref())),
            Self::State(_) | Self::Rows(_) | Self::Other => None,
        }
    }

    fn records(&self) -> u64 {
        match self {
            Self::State(state) => state.records(),
            _ => self.lines().map_or(0, |(walk, _)| walk.found().records),
        }
    }

    /// Returns the number of records after the repair.
    fn remaining(&self) -> u64 {
        match self {
            Self::Log(..) => self.reach().1.entries,
            _ => self.records(),
        }
    }

    fn removes(&self) -> bool {
        match self {
            Self::State(state) => state.removes(),
            _ => self.lines().is_some_and(|(walk, mend)| walk.removes(mend)),
        }
    }

    fn changes(&self) -> bool {
        match self {
            Self::State(state) => state.changes(),
            _ => self.lines().is_some_and(|(walk, mend)| walk.changes(mend)),
        }
    }

    /// Returns how much of the part Codelia reads before the repair, and how much after it.
    fn reach(&self) -> (Reach, Reach) {
        match self {
            Self::Run(_, mend) => mend.reach(),
            Self::Log(walk, mend) => mend.reach(walk.found().damaged),
            Self::State(state) => state.reach(),
            Self::Rows(_) | Self::Other => Default::default(),
        }
    }

    fn write(self, name: &str, io: &mut dyn RepairIo, cx: &Cx<'_>) -> Result<()> {
        match self {
            Self::Run(walk, mut mend) => walk.write(io, mend.as_mut()),
            Self::Log(walk, mut mend) => walk.write(io, mend.as_mut()),
            Self::State(state) => state.write(name, io, cx),
            // Rows of other sessions are not copied.
            Self::Rows(Ok(row)) if !io.is_in_place() => {
                io.share(name, row.map(|row| Box::new(row) as Box<dyn Change>));
                Ok(())
            }
            // The row is complete without this file.
            Self::Other if !io.is_in_place() => {
                io.share(name, None);
                Ok(())
            }
            Self::Rows(_) | Self::Other => io.keep(name),
        }
    }
}
