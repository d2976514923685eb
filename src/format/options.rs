//! Options of the user, and the context of the work on one session.

use super::{Home, Map};
use crate::cuts::Cuts;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::ids;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Node, Record};
use crate::redact::Rules;
use crate::threads::ThreadBudget;
use crate::yaml::encoding::Encoding;
use std::sync::Arc;

/// Treatment of damaged input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// No output for this input.
    Stop,
    /// Leave the damaged line out.
    Skip,
    /// Carry the damaged line along.
    Keep,
}

/// Options of the user, as far as formats need them.
#[derive(Clone, Debug)]
pub struct Options {
    /// Treatment of damaged input.
    pub on_error: OnError,
    /// The longest line, in bytes.
    pub max_line: usize,
    /// Memory, in bytes, for the index of a session's entries; a larger index is continued in a
    /// temporary file. Sessions of at most a 128th of it are kept whole.
    pub index_memory: usize,
    /// Encoding of text, where a format does not demand UTF-8.
    pub encoding: Option<&'static Encoding>,
    /// The version of the session as the user names it, for sessions whose beginning does not show
    /// it.
    pub version: Option<u32>,
    /// How new identifiers are chosen.
    pub ids: ids::Choice,
    /// Whether to migrate files of a version newer than any known.
    pub force_version: bool,
    /// Whether data that a target cannot express are kept in an origin beside it.
    pub origin: bool,
    /// Whether the output is read again and compared with the session; differences are
    /// [noted](crate::diagnostic::Log::differ).
    pub compare: bool,
    /// Whether the user may have added records to the input. Such records get the fields that their
    /// software requires.
    pub complete: bool,
    /// Whether the origins beside files that are read are left alone.
    pub ignore_origin: bool,
    /// Whether an origin that cannot be used is an error, because the user named it.
    pub require_origin: bool,
    /// Whether the contents of messages are needed; otherwise a reader may leave them out.
    pub contents: bool,
    /// Paths by which sessions are found, old and new: paths below the old one move.
    pub map_paths: Vec<Map>,
    /// The folder of a session that names none, where another format or the newer version of its
    /// own needs one.
    pub folder: Option<String>,
    /// The folder in which the target's software keeps its sessions, if the output goes there.
    pub home: Option<Arc<dyn Home>>,
    /// The identifier that a session gets in another format, instead of its own.
    pub id: Option<String>,
    /// The present, in milliseconds since 1970, if it is known: software may bear no later time.
    pub latest: Option<i64>,
    /// The user's first question, for a session without an identifier. Where the target makes an
    /// identifier, it distinguishes sessions of one agent, folder and second.
    pub question: Option<String>,
    /// Whether a file that a relative of the target's software wrote its own way is written as the
    /// software itself reads it.
    pub plain: bool,
    /// Rules by which secrets are masked in outputs; a session is then always written record by
    /// record.
    pub redact: Option<Arc<Rules>>,
    /// Contents that are cut out of the session; it then stays in its format.
    pub cuts: Option<Arc<Cuts>>,
    /// Whether the whole of a trimmed session is meant where it stays in its format.
    pub whole: bool,
    /// Threads that the work on a large input may borrow.
    pub thread_budget: ThreadBudget,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            on_error: OnError::Stop,
            max_line: 1 << 30,
            index_memory: Self::INDEX_MEMORY,
            encoding: None,
            version: None,
            ids: ids::Choice::Derived,
            force_version: false,
            origin: true,
            compare: false,
            complete: false,
            ignore_origin: false,
            require_origin: false,
            contents: true,
            map_paths: Vec::new(),
            folder: None,
            id: None,
            latest: None,
            home: None,
            question: None,
            plain: false,
            redact: None,
            cuts: None,
            whole: false,
            thread_budget: ThreadBudget::default(),
        }
    }
}

impl Options {
    /// Returns the options for a reading that damage does not end.
    #[must_use]
    pub fn tolerant(&self) -> Self {
        let stops = self.on_error == OnError::Stop;
        Self { on_error: if stops { OnError::Keep } else { self.on_error }, ..self.clone() }
    }

    /// Maximum size, in bytes, of a session whose records are kept while it is worked on. They take
    /// about four times as much.
    #[must_use]
    pub fn small(&self) -> u64 {
        self.index_memory as u64 / 128
    }

    /// Whether a session has the same records with these options, apart from the contents of
    /// messages.
    #[must_use]
    pub fn read_the_same(&self, other: &Self) -> bool {
        let key = |one: &Self| {
            let encoding = one.encoding.map(std::ptr::from_ref);
            let flags = (one.complete, one.plain, one.force_version);
            (one.on_error, one.max_line, encoding, one.version, one.ids, flags)
        };
        key(self) == key(other) && self.folder == other.folder && self.id == other.id
    }

    /// Memory for the index of a session's entries, unless the user gives another.
    pub const INDEX_MEMORY: usize = 256 << 20;
}

/// Work on one session: the options, and the log of its findings.
#[derive(Debug)]
pub struct Cx<'a> {
    /// Options of the user.
    pub options: &'a Options,
    /// Log of the findings.
    pub log: &'a Log,
}

impl Cx<'_> {
    /// Reports a finding about the session.
    pub fn report(&self, diagnostic: Diagnostic) {
        self.log.report(diagnostic);
    }

    /// Reports a finding at a place, by the title of its code.
    pub fn report_at(&self, code: Code, at: Position) {
        self.report(Diagnostic::of(code).at(at));
    }

    /// Reports the images of a message that are in files of their own, where the message is shown
    /// without these files.
    pub fn report_outside_images(&self, message: &Located<Record>) {
        for reference in message.value.outside_images() {
            let text = format!("{}: {reference}", Code::OutsideImage.title());
            self.report(Diagnostic::new(Code::OutsideImage, text).at(message.at));
        }
    }

    /// Notes in a node the properties of a file, and reports the unusual ones: a byte order mark
    /// and `\r\n` line endings; `None` for a plain file. The place of its beginning is given if the
    /// file is one of several.
    #[must_use]
    pub fn file(&self, bom: bool, crlf: bool, at: Option<Position>) -> Option<Node> {
        let mut file = Node::default();
        if bom {
            let found = Diagnostic::of(Code::ByteOrderMark);
            self.report(Diagnostic { at, ..found });
            file.set(Field::Bom, Json::constant("true"));
        }
        if crlf {
            file.set(Field::Eol, Json::constant("\"crlf\""));
        }
        (!file.is_empty()).then_some(file)
    }

    /// Whether the damaged input to which this error refers is kept as it is.
    #[must_use]
    pub fn keeps(&self, error: &Error) -> bool {
        error.is_recoverable() && self.options.on_error == OnError::Keep
    }

    /// Decides about damage: reports it and continues, or returns it where the work must stop.
    ///
    /// # Errors
    /// The error itself, if it is not recoverable or the user wants to stop.
    pub fn tolerate(&self, error: Error) -> Result<OnError> {
        // A line that is too long cannot be carried along, only left out.
        let too_long = error.code() == Code::LineTooLong && self.options.on_error == OnError::Keep;
        if !error.is_recoverable() || too_long || self.options.on_error == OnError::Stop {
            return Err(error);
        }
        self.report(error.into_diagnostic());
        Ok(self.options.on_error)
    }
}
