//! Description of the files of a format: names, places, and paths in them.

use super::{Cx, List, Member, Named, Parts};
use crate::error::Result;
use crate::sqlite::Database;
use std::ops::Range;

/// The files of a session, and where the software keeps them. Paths have `/` between their pieces.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// Endings of the files that make up one session together, the main part's first. Empty where
    /// a session is one file.
    pub beside: &'static [&'static str],
    /// Folders, in a folder with the main part's name without its ending, whose files belong to the
    /// session.
    pub below: &'static [&'static str],
    /// Folders among [`below`](Self::below) for outputs of tools, which are no sessions even if they
    /// look like one.
    pub outputs: &'static [&'static str],
    /// Finds the session to which a file beside its main part belongs. `None` where there are no
    /// such files.
    pub side: Option<SideFn>,
    /// Places in a folder whose files all sessions of the software share.
    pub shared: Option<Shared>,
    /// Finds the sessions of a file that may have several, one behind the other. `None` where a file
    /// has one.
    pub rows: Option<RowsFn>,
    /// Returns the path of the file with further data about a session at this path, and perhaps
    /// about others: it is only read, never copied. Paths have `/` between their pieces.
    pub index: Option<fn(&str) -> Option<String>>,
    /// Returns the paths at which a session at this path may have been before its software moved it.
    pub earlier: fn(&str) -> Vec<String>,
    /// Names the place where the software keeps a session, for formats whose writers do not name
    /// the parts so themselves.
    pub native: Option<NativeFn>,
    /// Returns the name of an output from the name of its input, both without their endings.
    pub stem: fn(&str) -> String,
    /// Names of members whose values are folders and files of the session, at any depth in data for
    /// which the model has no fields. These paths move with the session.
    pub folders: &'static [&'static str],
    /// Names of members whose values belong to messages: paths in them do not move.
    pub messages: &'static [&'static str],
    /// Text files in which the software keeps paths of projects, as paths from
    /// [`home`](Self::home).
    pub lists: &'static [List],
    /// Files whose whole text is the path of a project, one in each folder of a place: the path of
    /// the place from [`home`](Self::home), which is `.` for the folders with the sessions, and the
    /// name of the file.
    pub marks: &'static [(&'static str, &'static str)],
    /// The folder in which the software keeps all sessions of the user.
    pub home: Option<HomeFn>,
    /// Further folders with sessions of the user, as paths from [`home`](Self::home).
    pub archives: &'static [&'static str],
    /// Folders with sessions of a project, as paths from the project's folder.
    pub in_projects: &'static [&'static str],
}

impl Files {
    /// A session is one file at any place, and its outputs keep its name.
    pub const ONE: Self = Self {
        beside: &[],
        below: &[],
        outputs: &[],
        side: None,
        shared: None,
        rows: None,
        index: None,
        earlier: |_| Vec::new(),
        native: None,
        stem: str::to_owned,
        folders: &[],
        messages: &[],
        lists: &[],
        marks: &[],
        home: None,
        archives: &[],
        in_projects: &[],
    };
}

/// Facts about a session that is several files of a folder that all sessions share.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Finds the place of a file in the folder.
    pub member: MemberFn,
    /// Lists the sessions that the shared files among the parts contain.
    pub roster: RosterFn,
    /// Finds the part beside which the origin is.
    pub main: MainFn,
    /// The layout of files that hold one run, where the next one is another file.
    pub one_run: &'static str,
    /// Whether a part is of a store that is only read: its sessions are written as files of their
    /// own.
    pub is_only_read: fn(&str) -> bool,
    /// Database that takes the sessions of older files, which the software no longer reads.
    pub successor: Option<Successor>,
}

/// Database that takes the sessions of older files.
#[derive(Clone, Copy, Debug)]
pub struct Successor {
    /// Folder of the older files, below the folder of all sessions.
    pub folder: &'static str,
    /// Finds the database among the parts that sessions share.
    pub database: fn(&[String]) -> Option<String>,
    /// Brings a session of older files into the database.
    pub bring: BringFn,
}

/// Outcome for a session that was to be brought into a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It was added, with this number of records.
    Added {
        /// Number of records.
        records: u64,
    },
    /// The database has a session of its identifier.
    Present,
}

/// Brings a session into a database; nothing of it is there after an error.
pub type BringFn = fn(&mut dyn Parts, &Database, &Cx<'_>) -> Result<Brought>;
/// Finds a file's place in the folder of all sessions from its path, with `/` before and between
/// its pieces, and from its beginning. Files are many, so only files with fitting paths are opened.
pub type MemberFn = fn(&str, &mut dyn FnMut() -> Vec<u8>) -> Option<Member>;
/// Finds the session to which a file belongs, from the file's name and its beginning: returns the
/// name of the session's main file in the same folder. Only files with fitting names are opened.
pub type SideFn = fn(&str, &mut dyn FnMut() -> Vec<u8>) -> Option<String>;
/// Returns the number of each session in the main part, and the bytes that it takes there. The number
/// is that of its line, or of its place where sessions are no lines.
pub type RowsFn = fn(&mut dyn Parts) -> Result<Vec<(u64, Range<u64>)>>;
/// Returns the identifiers of all sessions in parts that they share.
pub type RosterFn = fn(&mut dyn Parts) -> Result<Vec<String>>;
/// Returns the home directory of a program, by the variables of the environment.
pub type HomeFn = fn(Variables<'_>) -> Option<String>;
/// Returns the path of a session's main part below the folder of all sessions, without its ending;
/// `/` is before and between its pieces, each of which must be a plain name.
pub type NativeFn = fn(&Named<'_>) -> String;
/// Returns the place, among a session's parts by their names, of the part beside which its origin
/// is.
pub type MainFn = fn(&[String]) -> Option<usize>;

/// Returns the values of environment variables.
pub type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// Returns the value of an environment variable that is set and not empty.
fn set(variables: Variables<'_>, name: &str) -> Option<String> {
    variables(name).filter(|value| !value.is_empty())
}

/// Returns the user's own folder.
#[must_use]
pub fn own_folder(variables: Variables<'_>) -> Option<String> {
    set(variables, "HOME").or_else(|| set(variables, "USERPROFILE"))
}

/// Returns the folder that an environment variable names, or else this one in the user's own.
#[must_use]
pub fn folder_in(variables: Variables<'_>, name: &str, usual: &str) -> Option<String> {
    let usual = || Some(format!("{}/{usual}", own_folder(variables)?));
    set(variables, name).or_else(usual)
}
