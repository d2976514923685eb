//! Definition of a format, and of the facilities that the program lends it.

mod agent;
mod append;
mod at;
mod context;
mod files;
mod head;
mod inserted;
mod kept;
mod list;
mod map;
mod member;
mod named;
mod options;
mod repair;
mod rewind;
mod totals;
mod version;

pub use agent::{
    AdditionFn, Agent, CommandFn, ContextFn, PlainFn, PromptFn, RenameFn, Rewind, Spare, TotalsFn,
    TurnsFn,
};
pub use append::{AppendFn, Appender, LineAppender};
pub use at::At;
pub use context::{Api, Context, Corrections, Interface, Mends, Prompt, Resent};
pub use files::{
    BringFn, Brought, Files, HomeFn, MainFn, MemberFn, NativeFn, RosterFn, RowsFn, Shared, SideFn,
    Successor, Variables, folder_in, own_folder,
};
pub use head::{Confidence, Head, Sniffed};
pub use inserted::{Inserted, Typed, TypedFn};
pub use list::List;
pub use map::{Map, below, inside_linux, is_of_windows};
pub use member::Member;
pub use named::{BEGINNING, Home, Named};
pub use options::{Cx, OnError, Options};
pub use repair::{
    FoundRecord, LineRepair, Reach, Reaches, Records, RepairFn, RepairIo, RepairOptions, Repaired,
};
pub use rewind::{Back, Marks, Turns};
pub use totals::{Counts, Running, Totals};
pub use version::{Step, Version};

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::lines::Line;
use crate::members::{Found, Scan};
pub use crate::parts::{
    BESIDE, Change, Commit, Opener, Out, Parts, ReadSeek, Same, Sink, Spool, no_room_for_parts,
};
use crate::position::{Located, Position};
use crate::record::{Kind, Record};
use std::ops::ControlFlow;

/// Description of one format: one row of the table.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line for `copyist formats`.
    pub summary: &'static str,
    /// Sources of the facts about the format.
    pub source: &'static str,
    /// Versions, oldest first; the last one is written when none is requested, unless
    /// [`usual`](Self::usual) names another.
    pub versions: &'static [Version],
    /// The version that is written when none is requested, where that is not the newest.
    pub usual: Option<u32>,
    /// Endings of file names, longest first; outputs get the first.
    pub extensions: &'static [&'static str],
    /// Returns how certainly the beginning of a file is of this format, and of which version, unless
    /// [`Self::settle`] finds another one.
    pub sniff: fn(&Head<'_>) -> Option<Sniffed>,
    /// Determines the version of a session that was detected, where its beginning alone does not
    /// show it.
    pub settle: Option<SettleFn>,
    /// Opens a session for reading.
    pub read: ReadFn,
    /// Opens a session for writing in a version of [`versions`](Self::versions).
    pub write: WriteFn,
    /// Whether the format is only read: [`Self::write`] refuses with the reason.
    pub reads_only: bool,
    /// Opens a session to which records are added as lines. `None` where a further record changes
    /// what was written before.
    pub append: Option<AppendFn>,
    /// The byte plane: copying, and migration by [`steps`](Self::steps). `None` unless every
    /// record is a JSON object on a line of its own.
    pub plane: Option<ByteLines>,
    /// Returns the pieces that the schema describes; `None` where it describes every line.
    pub pieces: Option<PiecesFn>,
    /// Names the members that a piece lacks and without which the software ends with an error,
    /// although its schema has always allowed that.
    pub lacks: Option<LacksFn>,
    /// Steps of migration from one version to the next. Without a [`plane`](Self::plane) migration
    /// goes through records, to any version and back, and only where the user requests it, unless
    /// the format [migrates in place](Self::migrates_in_place).
    pub steps: &'static [Step],
    /// Whether all versions are the same kind of file, so that a session may migrate through
    /// records in place, and without a named version.
    pub migrates_in_place: bool,
    /// Repairs a damaged session.
    pub repair: RepairFn,
    /// The files of a session: their names, their places, and what moves with them.
    pub files: Files,
    /// The use of a session by its software.
    pub agent: Agent,
    /// Numbers records that are added behind others, where lines have numbers.
    pub number: Option<NumberFn>,
}

/// Determines the version of a session; lines longer than this limit are not looked at.
pub type SettleFn = fn(&mut dyn Parts, usize) -> Result<u32>;
/// Opens a session for reading.
pub type ReadFn = for<'a> fn(&'a mut dyn Parts, &'a Cx<'a>) -> Result<Reader<'a>>;
/// Returns the members that the software needs and a line lacks, by their names.
pub type LacksFn = fn(&[u8]) -> Vec<&'static str>;
/// Opens a session for writing.
pub type WriteFn = for<'a> fn(&'a mut dyn Sink, &'static Version, &'a Cx<'a>) -> Writing<'a>;
/// Takes a piece of a session as JSON, and its place; a break ends the reading.
pub type Piece<'a> = &'a mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>;
/// Reads a session as the pieces that its schema describes. [`ReadFn`] reports damage; these
/// functions do not.
pub type PiecesFn = fn(&mut dyn Parts, &Cx<'_>, Piece<'_>) -> Result<()>;
/// Gives a record a number behind the last one, if there is one. Returns the record's number.
pub type NumberFn = fn(&mut Record, Option<u64>) -> Option<u64>;
/// Checks a line that is not blank without the lines before it, so that any thread may do it, and
/// notes its findings in a fresh scan; returns false if the line is JSON but not an object. A scan
/// is large, so it is not passed from function to function.
pub type CheckFn = fn(&Line<'_>, &mut Scan) -> Result<bool>;
/// Checks consecutive lines as [`CheckFn`] does, as far as possible; returns the byte at which a
/// line begins that must be checked alone, or the end.
pub type CheckManyFn = fn(&[u8], &mut Vec<Found>) -> usize;
/// Opens the byte plane on a session's first record.
pub type PlaneFn = for<'a> fn(&Line<'_>, Target, &'a Cx<'a>) -> Result<Box<dyn Plane + 'a>>;

/// Iterator over records in source order; its memory is that of the longest record. After an error
/// that [is recoverable](Error::is_recoverable) it continues with the next record.
pub type Reader<'a> = Box<dyn Iterator<Item = Result<Located<Record>>> + 'a>;

/// The writer of a session, unless its output cannot be created.
pub type Writing<'a> = Result<Box<dyn Writer + 'a>>;

/// Takes records in source order. A writer that is dropped without [`finish`](Self::finish), or
/// after an error, leaves an incomplete output, which the owner of the sink discards.
pub trait Writer {
    /// Writes one record, or keeps what it needs of it.
    ///
    /// # Errors
    /// If the output cannot be written, or the record is not allowed here.
    fn record(&mut self, record: &Located<Record>) -> Result<()>;

    /// Writes the remaining output.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Functions of a format for lines whose bytes mostly stay unchanged. The work has two steps, of
/// which other threads can do the first.
#[derive(Clone, Copy, Debug)]
pub struct ByteLines {
    /// Checks a line.
    pub check: CheckFn,
    /// Checks many lines at once, where that is faster.
    pub many: Option<CheckManyFn>,
    /// Whether a line before the first record belongs there, and stays as it is.
    pub leads: fn(&[u8]) -> bool,
    /// Opens a session.
    pub open: PlaneFn,
}

/// Work on the lines of one session that leaves most bytes as they are.
pub trait Plane {
    /// The version that the session is read as.
    fn from(&self) -> u32;

    /// Whether the plane changes anything; if not, the session is already at the target.
    fn changes(&self) -> bool;

    /// Appends the lines that a line becomes to `out`, without a line ending; the line of the first
    /// record is passed here, too. `scan` holds the findings of [`ByteLines::check`] in it. Blank
    /// lines are not passed here.
    ///
    /// # Errors
    /// If the line is not allowed here; nothing was appended then.
    fn line(&mut self, line: &Line<'_>, scan: Option<&Scan>, out: &mut Vec<u8>) -> Result<()>;

    /// Reports findings that only the whole session shows.
    fn finish(&mut self) {}
}

/// The version that the byte plane is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The version that the session has.
    Same,
    /// The version of this number.
    Version(u32),
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// Values that every row of the table must give for its format.
pub struct Required {
    /// [`Format::name`].
    pub name: &'static str,
    /// [`Format::summary`].
    pub summary: &'static str,
    /// [`Format::source`].
    pub source: &'static str,
    /// [`Format::versions`].
    pub versions: &'static [Version],
    /// [`Format::extensions`].
    pub extensions: &'static [&'static str],
    /// [`Format::sniff`].
    pub sniff: fn(&Head<'_>) -> Option<Sniffed>,
    /// [`Format::read`].
    pub read: ReadFn,
    /// [`Format::write`].
    pub write: WriteFn,
    /// [`Format::repair`].
    pub repair: RepairFn,
}

impl Format {
    /// Returns a row of a format with only these values: a session is one file, and its outputs
    /// keep its name.
    #[must_use]
    pub const fn new(required: Required) -> Self {
        let Required { name, summary, source, versions, extensions, sniff, read, write, repair } =
            required;
        Self {
            name,
            aliases: &[],
            summary,
            source,
            versions,
            usual: None,
            extensions,
            settle: None,
            sniff,
            read,
            write,
            reads_only: false,
            append: None,
            plane: None,
            pieces: None,
            lacks: None,
            steps: &[],
            migrates_in_place: false,
            repair,
            files: Files::ONE,
            agent: Agent::UNKNOWN,
            number: None,
        }
    }

    /// Returns the row of a version.
    #[must_use]
    pub fn version(&self, number: u32) -> Option<&'static Version> {
        self.versions.iter().find(|version| version.number == number)
    }

    /// Returns the newest version that migration reaches from another one without an explicit
    /// request.
    #[must_use]
    pub fn reached_from(&self, version: u32) -> u32 {
        let unasked = self.plane.is_some() || self.migrates_in_place;
        let mut steps = self.steps.iter().filter(|_| unasked);
        let usual = self.usual.unwrap_or(u32::MAX);
        let step = steps.find(|step| step.from == version && step.to <= usual);
        step.map_or(version, |step| self.reached_from(step.to))
    }

    /// Whether entries of the format name their parents in files with which its software continues.
    #[must_use]
    pub fn links(&self) -> bool {
        self.files.home.is_some() && self.versions.iter().any(|version| version.tree)
    }

    /// Whether a tree may be unable to express what a compaction of the format keeps: the format is
    /// a list whose compactions put a new history in the place of the earlier one.
    #[must_use]
    pub fn replaces_history(&self) -> bool {
        let holds = |version: &Version| version.kinds.contains(&Kind::Compaction);
        self.versions.iter().all(|version| !version.tree && holds(version))
    }

    /// Returns the name of the part beside which a session's origin is.
    #[must_use]
    pub fn main_of<'n>(&self, parts: &'n [String]) -> &'n str {
        let place = self.files.shared.map_or(Some(0), |shared| (shared.main)(parts));
        place.and_then(|place| parts.get(place)).map_or("", String::as_str)
    }

    /// Returns the name with a version, or without one where there is only one.
    #[must_use]
    pub fn at(&self, number: u32) -> String {
        if self.versions.len() == 1 {
            self.name.to_owned()
        } else {
            format!("{}@{number}", self.name)
        }
    }
}

/// Returns the error for a stream of records with which a writer cannot begin.
#[must_use]
pub fn no_session(at: Position) -> Error {
    let message = "the stream does not begin with a session";
    Error::unfit(Diagnostic::new(Code::BadRecord, message).at(at))
}

/// Returns the error for a file whose first record is not the one that its format demands.
#[must_use]
pub fn no_header(line: &Line<'_>, message: impl Into<String>) -> Error {
    let found = Diagnostic::new(Code::NoHeader, message).at(line.at).showing(line.bytes, 0);
    Error::unfit(found)
}
