//! The identifier that a session has by its header.

use super::found::{Found, Opened, ReadOptions};
use super::inputs::{Job, JobSource};
use crate::diagnostic::Log;
use crate::format::{Cx, Options, Parts};
use crate::formats::records;
use crate::ids;
use crate::record::{Beginning, Field, Kind};

/// A session's identifier, and the name of its format.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// The name of the format.
    pub format: &'static str,
    /// The identifier.
    pub id: String,
}

/// Returns the identity of an input that is one file of a format and version that `fits`; `None` if
/// it has none, or cannot be read.
pub fn identity(job: &Job, fits: impl Fn(&Found) -> bool) -> Option<Identity> {
    job.path().filter(|_| job.passed_over.is_none())?;
    let mut opened = Opened::new(&job.source, ReadOptions::default(), job.named).ok()??;
    let alone = matches!(job.source, JobSource::File(_)) && opened.part_of.is_none();
    if !alone || !fits(&opened.found) {
        return None;
    }
    of_parts(&opened.found, &mut opened.input)
}

impl Identity {
    /// Returns a hash of the identity.
    pub fn hash(&self) -> u64 {
        ids::hash([self.format.as_bytes(), b"\0", self.id.as_bytes()].concat().as_slice())
    }
}

/// Identity of a session, and the hash of its first question and answer, if they are near its
/// beginning.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The identity.
    pub identity: Identity,
    /// The hash.
    pub beginning: Option<u64>,
}

impl Looked {
    /// Looks at a session that was opened.
    pub fn at(found: &Found, parts: &mut dyn Parts) -> Option<Self> {
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        const NEAR: usize = 64;
        let (mut id, mut beginning) = (None, Beginning::default());
        let records = records(found.format, parts, &cx).ok()?.take(NEAR).filter_map(Result::ok);
        for record in records.map(|located| located.value) {
            if record.kind == Kind::Session && id.is_none() {
                id = Some(record.node.text(Field::Id)?);
            }
            if beginning.look(&record) {
                break;
            }
        }
        let identity = Identity { format: found.format.name, id: id? };
        Some(Self { identity, beginning: beginning.hash() })
    }
}

/// Returns the identity of a session that was opened. Only the records up to the header are read.
pub fn of_parts(found: &Found, parts: &mut dyn Parts) -> Option<Identity> {
    let options = Options { contents: false, ..Options::default() };
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    // A crash can leave damaged lines before the header.
    const BEFORE: usize = 16;
    let records = records(found.format, parts, &cx).ok()?.take(BEFORE);
    let mut sessions = records
        .filter_map(Result::ok)
        .filter(|located| located.value.kind == Kind::Session)
        .map(|located| located.value.node.text(Field::Id));
    let id = sessions.next()??;
    Some(Identity { format: found.format.name, id })
}
