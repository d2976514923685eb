//! How a format's sessions are repaired.

use super::{Change, Cx, Parts};
use crate::diagnostic::Code;
use crate::error::Result;
use crate::lines::Line;
use crate::position::Position;
use serde::Serialize;
use std::io::Write;

/// Repairs one session: reads all of its parts, decides, then writes the repaired parts.
pub type RepairFn = fn(&mut dyn RepairIo, &RepairOptions, &Cx<'_>) -> Result<Repaired>;

/// Parts of the session, and places for their repaired output, which the program lends for one
/// repair.
pub trait RepairIo {
    /// Returns the session as it is; every part can be opened as often as needed.
    fn parts(&mut self) -> &mut dyn Parts;

    /// Whether there is room for more parts than the main one.
    fn takes_parts(&self) -> bool;

    /// Whether the repaired parts replace the parts that are read.
    fn is_in_place(&self) -> bool;

    /// Notes that everything is decided, and whether anything is set aside: the quarantine gets its
    /// place before any output does, so that each byte has a place at any moment.
    ///
    /// # Errors
    /// If there is no place for it.
    fn begin(&mut self, removes: bool) -> Result<()>;

    /// Opens the output for a part.
    ///
    /// # Errors
    /// If it cannot be created.
    fn create(&mut self, part: &str) -> Result<Box<dyn Write>>;

    /// Writes the content that this session has in a part that sessions share: `change`, or
    /// nothing.
    fn share(&mut self, part: &str, change: Option<Box<dyn Change>>);

    /// Leaves a part as it is.
    ///
    /// # Errors
    /// If it cannot be copied to where the output goes.
    fn keep(&mut self, part: &str) -> Result<()>;

    /// Sets bytes of a part aside.
    ///
    /// # Errors
    /// If they cannot be written.
    fn aside(&mut self, part: &str, bytes: &[u8], at: Position, code: Code) -> Result<()>;
}

/// Result of a repair, or of a trial without output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// Whether the session has defects.
    #[serde(skip)]
    pub changed: bool,
    /// Records that were found.
    #[serde(skip)]
    pub records: u64,
    /// Whether the counts of messages surely agree with the rules for contexts; otherwise the rules
    /// are applied.
    #[serde(skip)]
    pub counted: bool,
    /// Records found that the software did not read.
    pub rescued: u64,
    /// Entries of the active branch that the software reached before.
    pub entries_before: u64,
    /// Entries of the active branch that the software reaches now.
    pub entries: u64,
    /// Messages of the context that it built before.
    pub messages_before: u64,
    /// Messages of the context that the software builds now.
    pub messages: u64,
    /// Bytes that were set aside.
    pub quarantined: u64,
    /// Fixes.
    pub fixes: u64,
}

impl Repaired {
    /// Returns the result with the counts that the software reaches in the session as it was and as
    /// it is now.
    #[must_use]
    pub fn reaching(self, before: Reach, after: Reach) -> Self {
        Self {
            entries_before: before.entries,
            entries: after.entries,
            messages_before: before.messages,
            messages: after.messages,
            ..self
        }
    }
}

/// Properties of records that are JSON objects on lines of their own.
///
/// The program divides the lines into pieces. The format knows which pieces are records, how they
/// are linked, and which data the software needs to continue.
#[derive(Debug)]
pub struct Records {
    /// Beginnings of the records that the software writes. Behind a torn record, a whole one is
    /// looked for where one of these is.
    pub begins: &'static [&'static [u8]],
    /// Whether a JSON object is a record, and not an object from the inside of a record.
    pub recognise: fn(&[u8]) -> bool,
    /// Makes a record of the complete members of a torn one, if there are enough of them.
    pub restore: fn(&[u8]) -> Option<Vec<u8>>,
}

/// Options of the user, and data of the session from outside of it: the name of its file and
/// folder.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Whether the software must be able to continue the session.
    pub resumable: bool,
    /// Whether the complete members of torn records are restored.
    pub salvage: bool,
    /// Entries and the parents that they are to have, by identifier.
    pub relink: Vec<(String, String)>,
    /// The file's name.
    pub name: String,
    /// The name of its folder.
    pub folder: String,
}

/// A record that was found.
#[derive(Clone, Copy, Debug)]
pub struct FoundRecord<'a> {
    /// One JSON object, in UTF-8.
    pub bytes: &'a [u8],
    /// Place of the record.
    pub at: Position,
    /// Whether it is alone on its line, so that the software reads it.
    pub read: bool,
    /// Fix that was made to its bytes.
    pub repaired: Option<Code>,
}

/// Counts of the entries and messages of a session that its software reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Entries on the active branch.
    pub entries: u64,
    /// Messages of the context that is built from them.
    pub messages: u64,
}

/// Counts of a session as it was and as it is after a repair.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reaches {
    /// Counts before the repair.
    pub before: Reach,
    /// Counts after it.
    pub after: Reach,
}

impl Reaches {
    /// Counts an entry that stays, and whether the software read it before.
    pub fn count(&mut self, is_message: bool, was_read: bool) {
        let before = was_read.then_some(&mut self.before);
        for reach in [Some(&mut self.after), before].into_iter().flatten() {
            reach.entries += 1;
            reach.messages += u64::from(is_message);
        }
    }
}

/// Repairs the structure of one part whose records are lines. All pieces are shown once or more;
/// then, when everything is decided, they are shown a last time to be written.
pub trait LineRepair {
    /// Looks at a line as it is, before the records in it.
    fn line(&mut self, _line: &Line<'_>) {}

    /// Looks at a record. Returns `false` if the bytes are not a record, and nothing was noted.
    fn look(&mut self, record: &FoundRecord<'_>) -> bool;

    /// Whether the record that was looked at last is not set aside, as far as that is known.
    fn is_kept(&self) -> bool {
        true
    }

    /// Looks at a blank line.
    fn blank(&mut self) {}

    /// Looks at bytes that are set aside. The remainder of a record may show the place of the
    /// record.
    fn quarantined(&mut self, _bytes: &[u8], _code: Code) {}

    /// Ends a showing: returns whether everything must be shown once more before it can be written.
    fn needs_another_pass(&mut self) -> bool {
        false
    }

    /// Whether anything is to be changed.
    fn changes(&self) -> bool;

    /// Whether any record is to be set aside.
    fn removes(&self) -> bool {
        false
    }

    /// Returns why blank lines behind the last record are set aside, if they are.
    fn blank_end(&self) -> Option<Code> {
        None
    }

    /// Appends the lines before everything else.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    /// Appends the lines that a record becomes, or returns why it is set aside.
    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code>;

    /// Returns the bytes that the record written last has lost, which are set aside.
    fn removed_parts(&mut self) -> Vec<(Vec<u8>, Code)> {
        Vec::new()
    }

    /// Appends the lines that follow the last record.
    fn finish(&mut self, _out: &mut Vec<u8>) {}
}
