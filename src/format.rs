//! What a format is, and what the program lends it to work with.

mod context;
mod head;
mod map;
mod options;
mod repair;

pub use context::{Context, Prompt};
pub use head::{Confidence, Head, Sniffed};
pub use map::Map;
pub use options::{Cx, OnError, Options};
pub use repair::{Mend, Reach, Records, RepairFn, RepairIo, RepairOptions, Repaired, Rescued};

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::lines::Line;
use crate::members::{Found, Scan};
pub use crate::parts::{
    Change, Opener, Out, Parts, ReadSeek, Same, Sink, Spool, no_room_for_parts,
};
use crate::position::{Located, Position};
use crate::record::{Kind, Node, Record};
use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::ControlFlow;

/// Everything that the program knows about one format: one row of the table.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line for `copyist formats`.
    pub summary: &'static str,
    /// Where the facts about it come from.
    pub source: &'static str,
    /// Oldest first; the last one is written when none is asked for, unless [`usual`](Self::usual)
    /// says otherwise.
    pub versions: &'static [Version],
    /// The version that is written when none is asked for, where that is not the newest.
    pub usual: Option<u32>,
    /// Endings of file names, longest first; the first is given to outputs.
    pub extensions: &'static [&'static str],
    /// Endings of the files that make up one session together, the main part's first. Empty where
    /// a session is one file.
    pub beside: &'static [&'static str],
    /// Where a file stands in a folder that all sessions of the software share, for formats that
    /// keep a session in several files there.
    pub member: Option<MemberFn>,
    /// Where the file stands that tells more of a session at this path, and perhaps of others: only
    /// read, never copied with the session. Paths have `/` between their pieces.
    pub index: Option<fn(&str) -> Option<String>>,
    /// The sessions that the shared files among those speak of.
    pub roster: Option<RosterFn>,
    /// Names of members, however deep in what the model has no fields for, whose values are folders
    /// and files of the session: they move with it.
    pub folders: &'static [&'static str],
    /// The folder in which the software keeps all sessions of a person.
    pub home: Option<HomeFn>,
    /// What an output is called whose input has this name, both without their endings.
    pub stem: fn(&str) -> String,
    /// How surely the beginning of a file is of this format, and of which version.
    pub sniff: fn(&Head<'_>) -> Option<Sniffed>,
    /// Opens a session for reading.
    pub read: ReadFn,
    /// Opens it at a record that an earlier reading gave, without what stands before it. `None` where
    /// records can be understood only after those before them.
    pub resume: Option<ResumeFn>,
    /// Opens a session for writing in a version of [`versions`](Self::versions).
    pub write: WriteFn,
    /// The byte plane: copying, and migration by [`steps`](Self::steps). `None` unless every
    /// record is a JSON object on a line of its own.
    pub plane: Option<ByteLines>,
    /// Gives what the schema speaks of as JSON, piece by piece. `None` where that is every line.
    pub pieces: Option<PiecesFn>,
    /// What migration does from one version to the next. Without a [`plane`](Self::plane) it goes
    /// through records, to any version and back, and only where it is asked to.
    pub steps: &'static [Step],
    /// What the format's own software sends to a model, if it is known.
    pub context: Option<ContextFn>,
    /// What one request of a run showed a model, where sessions keep requests.
    pub prompt: Option<PromptFn>,
    /// Repairs a damaged session.
    pub repair: RepairFn,
    /// Where its software keeps a session, for formats whose writers do not name the parts so
    /// themselves.
    pub native: Option<NativeFn>,
    /// The layout of files that hold one run, where the next one is another file.
    pub one_run: Option<&'static str>,
    /// Whether an answer is one message, however many tools it calls. Where it is not, each call may
    /// be a message of its own.
    pub whole_answers: bool,
    /// The part that the origin stands beside, where that is not the first.
    pub main: Option<MainFn>,
}

/// One version of a format.
#[derive(Debug)]
pub struct Version {
    /// What stands after the `@`.
    pub number: u32,
    /// One line for `copyist formats`.
    pub summary: &'static str,
    /// JSON Schema of one record.
    pub schema: &'static str,
    /// Whether sessions are trees; a linear version holds one branch.
    pub tree: bool,
    /// The kinds of records that it can hold.
    pub kinds: &'static [Kind],
}

/// Where a file stands in the folder in which its software keeps all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The end of its path, below that folder, from a `/` on: the name of the part.
    pub part: String,
    /// The session that it belongs to; `None` for a file that all of them share.
    pub session: Option<String>,
    /// The version of the format that has such files; the highest is that of the session.
    pub version: u32,
}

/// By what a session is named.
#[derive(Clone, Copy, Debug)]
pub struct Named<'n> {
    /// The session's record.
    pub session: &'n Node,
    /// What a person asked first.
    pub asked: Option<&'n str>,
    /// What the output would be called elsewhere.
    pub stem: &'n str,
    /// The version that was written.
    pub version: u32,
    /// Which of the sessions it is that would have one name; from 1 on. One without a number of
    /// its own gets one behind its name.
    pub nth: u64,
}

/// What migration does from one version to the next, for people.
#[derive(Debug)]
pub struct Step {
    /// The older version.
    pub from: u32,
    /// The newer version.
    pub to: u32,
    /// What changes, in one line.
    pub summary: &'static str,
}

/// Opens a session for reading.
pub type ReadFn = for<'a> fn(&'a mut dyn Parts, &'a Cx<'a>) -> Result<Reader<'a>>;
/// Opens a session for reading from the record at this position on.
pub type ResumeFn = for<'a> fn(&'a mut dyn Parts, Position, &'a Cx<'a>) -> Result<Reader<'a>>;
/// Opens a session for writing.
pub type WriteFn =
    for<'a> fn(&'a mut dyn Sink, &'static Version, &'a Cx<'a>) -> Result<Box<dyn Writer + 'a>>;
/// Takes a piece of a session as JSON, and where it stands; a break ends the reading.
pub type Piece<'a> = &'a mut dyn FnMut(Position, &[u8]) -> ControlFlow<()>;
/// Reads a session as what its schema speaks of. Damage is told by [`ReadFn`], not here.
pub type PiecesFn = fn(&mut dyn Parts, &Cx<'_>, Piece<'_>) -> Result<()>;
/// Begins a context with what the session record tells.
pub type ContextFn = fn(&Record) -> Box<dyn Context>;
/// Looks for the request with this number in the run with this identifier.
pub type PromptFn = fn(&str, f64) -> Box<dyn Prompt>;
/// Says from a file's path, with `/` before and between its pieces, and from its beginning, where
/// it stands. Files are many, so only those are opened whose paths are right.
pub type MemberFn = fn(&str, &mut dyn FnMut() -> Vec<u8>) -> Option<Member>;
/// Gives the identifiers of all sessions in parts that they share.
pub type RosterFn = fn(&mut dyn Parts) -> Result<Vec<String>>;
/// Says where a home is, by the variables of the environment.
pub type HomeFn = fn(&dyn Fn(&str) -> Option<String>) -> Option<String>;
/// Gives the path of a session's main part below the folder of all sessions, without its ending;
/// `/` stands before and between its pieces, each of which must be a plain name.
pub type NativeFn = fn(&Named<'_>) -> String;
/// Which of a session's parts, by their names, is the one that its origin stands beside.
pub type MainFn = fn(&[String]) -> Option<usize>;
/// Looks at a line that is no blank one without knowing those before it, so any thread may, and
/// notes in a fresh scan what it finds; false if the line is JSON but no object. A scan is large,
/// so it is not handed from one to the next.
pub type CheckFn = fn(&Line<'_>, &mut Scan) -> Result<bool>;
/// Does the same for lines that stand one behind another, as far as it comes; gives the byte where a
/// line begins that must be looked at alone, or the end.
pub type CheckManyFn = fn(&[u8], &mut Vec<Found>) -> usize;
/// Opens the byte plane on a session's first record.
pub type PlaneFn = for<'a> fn(&Line<'_>, Target, &'a Cx<'a>) -> Result<Box<dyn Plane + 'a>>;

/// Gives records in source order in the memory of the longest one. After an error that
/// [is recoverable](Error::is_recoverable) it goes on with what follows.
pub type Reader<'a> = Box<dyn Iterator<Item = Result<Located<Record>>> + 'a>;

/// Takes records in source order. Dropped without [`finish`](Self::finish), or after an error, it
/// leaves a piece of an output, which whoever lent the sink throws away.
pub trait Writer {
    /// Writes one record, or keeps what it needs of it.
    ///
    /// # Errors
    /// If the output cannot be written, or the record cannot stand here.
    fn record(&mut self, record: &Located<Record>) -> Result<()>;

    /// Writes what is left.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// What a format knows of lines whose bytes mostly stay: the work is done in two steps, of which
/// other threads can do the first.
#[derive(Clone, Copy, Debug)]
pub struct ByteLines {
    /// Checks a line.
    pub check: CheckFn,
    /// Checks many at once, where that is faster.
    pub many: Option<CheckManyFn>,
    /// Opens a session.
    pub open: PlaneFn,
}

/// Work on the lines of one session that leaves most bytes as they are.
pub trait Plane {
    /// The version that the session is read as.
    fn from(&self) -> u32;

    /// Whether the plane changes anything; if not, the session is already at the target.
    fn changes(&self) -> bool;

    /// Appends what becomes of a line to `out`, without a line ending; the first record's is one of
    /// them. `scan` is what [`ByteLines::check`] found in it. Blank lines are not passed here.
    ///
    /// # Errors
    /// If the line cannot stand here; nothing was appended then.
    fn line(&mut self, line: &Line<'_>, scan: Option<&Scan>, out: &mut Vec<u8>) -> Result<()>;

    /// Reports what only the whole session shows.
    fn finish(&mut self) {}
}

/// The version that the byte plane is to reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Stay as it is.
    Same,
    /// This version.
    Version(u32),
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// What every row of the table says of its format.
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
    /// A row of a format that has nothing but this: a session is one file, whose name its outputs keep.
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
            beside: &[],
            member: None,
            index: None,
            roster: None,
            folders: &[],
            home: None,
            stem: str::to_owned,
            sniff,
            read,
            resume: None,
            write,
            plane: None,
            pieces: None,
            steps: &[],
            context: None,
            prompt: None,
            repair,
            native: None,
            one_run: None,
            whole_answers: false,
            main: None,
        }
    }

    /// Opens a session at a record that an earlier reading gave.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn resume<'a>(
        &self,
        parts: &'a mut dyn Parts,
        from: Position,
        cx: &'a Cx<'a>,
    ) -> Result<Reader<'a>> {
        match self.resume {
            Some(resume) => resume(parts, from, cx),
            None => Ok(skip_to((self.read)(parts, cx)?, from)),
        }
    }

    /// The row of a version.
    #[must_use]
    pub fn version(&self, number: u32) -> Option<&'static Version> {
        self.versions.iter().find(|version| version.number == number)
    }

    /// The newest version that migration reaches from another one without being asked for it.
    #[must_use]
    pub fn reached_from(&self, version: u32) -> u32 {
        let mut steps = self.steps.iter().filter(|_| self.plane.is_some());
        let step = steps.find(|step| step.from == version);
        step.map_or(version, |step| self.reached_from(step.to))
    }

    /// Whether its entries name their parents in files that its software goes on with.
    #[must_use]
    pub fn links(&self) -> bool {
        self.home.is_some() && self.versions.iter().any(|version| version.tree)
    }

    /// The name of the part that a session's origin stands beside.
    #[must_use]
    pub fn main_of<'n>(&self, parts: &'n [String]) -> &'n str {
        let place = self.main.map_or(Some(0), |main| main(parts));
        place.and_then(|place| parts.get(place)).map_or("", String::as_str)
    }

    /// The name with a version, or without one where there is only one.
    #[must_use]
    pub fn at(&self, number: u32) -> String {
        if self.versions.len() == 1 {
            self.name.to_owned()
        } else {
            format!("{}@{number}", self.name)
        }
    }
}

/// A version of a format; it is put into words when it is told.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The format.
    pub format: &'static Format,
    /// The version.
    pub number: u32,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format.at(self.number))
    }
}

impl Serialize for At {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The error for a stream of records that a writer cannot begin with.
#[must_use]
pub fn no_session(at: Position) -> Error {
    let message = "the stream does not begin with a session";
    Error::unfit(Diagnostic::new(Code::BadRecord, message).at(at))
}

/// A reader that passes over what stands before `from`: the way to [`resume`](Format::resume) in
/// a format whose records can be understood only after those before them.
#[must_use]
pub fn skip_to(reader: Reader<'_>, from: Position) -> Reader<'_> {
    let before = move |item: &Result<Located<Record>>| {
        item.as_ref().is_ok_and(|located| located.at.byte < from.byte)
    };
    Box::new(reader.skip_while(before))
}

/// The error for a file whose first record is not what its format demands.
#[must_use]
pub fn no_header(line: &Line<'_>, message: impl Into<String>) -> Error {
    let found = Diagnostic::new(Code::NoHeader, message).at(line.at).showing(line.bytes, 0);
    Error::unfit(found)
}
