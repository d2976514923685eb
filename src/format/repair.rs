//! How a format's sessions are repaired.

use super::Cx;
use crate::diagnostic::Code;
use crate::position::Position;

/// How sessions are repaired whose records are JSON objects on lines of their own.
///
/// The lines are taken apart by the program; which pieces are records, how they hang together and
/// what the software needs to go on is known to the format.
#[derive(Debug)]
pub struct Repair {
    /// How every record begins that the software writes. Behind a torn record, a whole one is
    /// looked for where this stands.
    pub begins: &'static [u8],
    /// Whether a JSON object is a record, and not one out of the inside of a record.
    pub recognise: fn(&[u8]) -> bool,
    /// Makes a record of the complete members of a torn one, if there are enough of them.
    pub restore: fn(&[u8]) -> Option<Vec<u8>>,
    /// Begins the work on the structure of a session.
    pub open: for<'a> fn(&'a Wish, &'a Cx<'a>) -> Box<dyn Mend + 'a>,
}

/// What a person asked for, and what is known of the session from outside of it.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Whether the software must be able to go on with the session.
    pub resumable: bool,
    /// Whether the complete members of torn records are restored.
    pub salvage: bool,
    /// Entries and the parents that they are to have, by identifier.
    pub relink: Vec<(String, String)>,
    /// The file's name.
    pub name: String,
    /// The name of the folder that it stands in.
    pub folder: String,
}

/// A record that was found.
#[derive(Clone, Copy, Debug)]
pub struct Rescued<'a> {
    /// One JSON object, in UTF-8.
    pub bytes: &'a [u8],
    /// Where it stands.
    pub at: Position,
    /// Whether it stands alone on its line, so that the software reads it.
    pub read: bool,
    /// What was done to its bytes.
    pub repaired: Option<Code>,
}

/// How much of a session its software reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Entries on the active branch.
    pub entries: u64,
    /// Messages of the context that is built from them.
    pub messages: u64,
}

/// Repairs the structure of one session. All pieces are shown once or more; then, when everything
/// is decided, they are shown a last time to be written.
pub trait Mend {
    /// Looks at a record. `false` if it is none, and nothing was noted.
    fn look(&mut self, record: &Rescued<'_>) -> bool;

    /// Looks at bytes that are set aside. What is left of a record may tell where it stood.
    fn aside(&mut self, _bytes: &[u8], _code: Code) {}

    /// After a showing: whether everything must be shown once more before it can be written.
    fn again(&mut self) -> bool;

    /// Whether anything is to be changed.
    fn changes(&self) -> bool;

    /// Whether any record is to be set aside.
    fn removes(&self) -> bool;

    /// Appends the lines that a record becomes; or says why it is set aside.
    fn write(&mut self, record: &Rescued<'_>, out: &mut Vec<u8>) -> Option<Code>;

    /// Appends the lines that follow the last record.
    fn finish(&mut self, out: &mut Vec<u8>);

    /// What the software reaches as the session is, and what it will reach.
    fn reach(&self) -> (Reach, Reach);
}
