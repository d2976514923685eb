//! What a person asked for, and what is said about one session.

use super::Map;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::ids;
use crate::json::Json;
use crate::position::Position;
use crate::record::{Field, Node};
use crate::threads::ThreadBudget;
use crate::yaml::encoding::Encoding;

/// What to do with damaged input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// No output for this input.
    Stop,
    /// Leave the damaged line out.
    Skip,
    /// Carry the damaged line along.
    Keep,
}

/// What a person asked for, as far as formats need to know it.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to do with damaged input.
    pub on_error: OnError,
    /// The longest line, in bytes.
    pub max_line: usize,
    /// What text is encoded in, where a format does not demand UTF-8.
    pub encoding: Option<&'static Encoding>,
    /// The version that a person says a session is of: for where its beginning does not tell.
    pub version: Option<u32>,
    /// How new identifiers are chosen.
    pub ids: ids::Choice,
    /// Whether to migrate files of a version newer than any known.
    pub force_version: bool,
    /// Whether what a target cannot express is kept in an origin beside it.
    pub origin: bool,
    /// Whether what was written is read again and compared with the session: what differs is
    /// [noted](crate::diagnostic::Log::differ).
    pub compare: bool,
    /// Whether a person may have put records into what is read, which get what their software takes
    /// for granted.
    pub complete: bool,
    /// Whether the origins beside files that are read are left alone.
    pub ignore_origin: bool,
    /// Whether records keep how their source spells them, where their format's own writer would
    /// spell them otherwise. In another format it means nothing.
    pub spelling: bool,
    /// Whether anybody asks for what messages say; a reader may leave it out else.
    pub contents: bool,
    /// Paths that sessions are found by, old and new: what stands below the old one moves.
    pub map_paths: Vec<Map>,
    /// What a person asked first, of a session without an identifier: where the target makes one,
    /// it tells sessions of one agent, folder and second apart.
    pub asked: Option<String>,
    /// The threads that work on a large input may borrow.
    pub hands: ThreadBudget,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            on_error: OnError::Stop,
            max_line: 1 << 30,
            encoding: None,
            version: None,
            ids: ids::Choice::Derived,
            force_version: false,
            origin: true,
            compare: false,
            complete: false,
            ignore_origin: false,
            spelling: true,
            contents: true,
            map_paths: Vec::new(),
            asked: None,
            hands: ThreadBudget::default(),
        }
    }
}

impl Options {
    /// The same for records of which nobody asks how their source spells them.
    #[must_use]
    pub fn unspelled(&self) -> Self {
        Self { spelling: false, ..self.clone() }
    }
}

/// Work on one session: what was asked for, and what is said about it.
#[derive(Debug)]
pub struct Cx<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// What is said.
    pub log: &'a Log,
}

impl Cx<'_> {
    /// Says something about the session.
    pub fn report(&self, diagnostic: Diagnostic) {
        self.log.report(diagnostic);
    }

    /// Says that a record's stored spelling is not written, for it says something else.
    pub fn raw_refused(&self, at: Position) {
        let message = "the record was edited, its stored spelling is dropped";
        self.report(Diagnostic::new(Code::RawRefused, message).at(at));
    }

    /// Notes in a node what a file is like, and says what is strange about it; `None` for a plain
    /// file. Where it begins is said of one of several.
    #[must_use]
    pub fn file(&self, bom: bool, crlf: bool, at: Option<Position>) -> Option<Node> {
        let mut file = Node::default();
        if bom {
            let found = Diagnostic::new(Code::ByteOrderMark, Code::ByteOrderMark.title());
            self.report(Diagnostic { at, ..found });
            file.set(Field::Bom, Json::constant("true"));
        }
        if crlf {
            file.set(Field::Eol, Json::constant("\"crlf\""));
        }
        (!file.is_empty()).then_some(file)
    }

    /// Whether what this error is about is to be carried along as it is.
    #[must_use]
    pub fn keeps(&self, error: &Error) -> bool {
        error.is_recoverable() && self.options.on_error == OnError::Keep
    }

    /// Decides about damage: reports it and goes on, or gives it back where the work must stop.
    ///
    /// # Errors
    /// The error itself, if it is not recoverable or the person wants to stop.
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
