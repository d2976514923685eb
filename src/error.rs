//! Errors that stop the work on one session.

use crate::diagnostic::{Code, Diagnostic};
use crate::json::{Fault, What};
use crate::position::Position;
use std::{fmt, io};

/// The result of work on one session.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Results of the system, whose refusals become errors that name the operation.
pub trait Cannot<T> {
    /// Returns the result of this operation, such as `read`.
    ///
    /// # Errors
    /// If the system refused it.
    fn cannot(self, operation: &str) -> Result<T>;
}

impl<T> Cannot<T> for io::Result<T> {
    fn cannot(self, operation: &str) -> Result<T> {
        self.map_err(|error| Error::io(format!("cannot {operation}"), error))
    }
}

/// Error that stopped the work, with the place where it happened.
///
/// One pointer wide, so that the results of hot loops stay small.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    diagnostic: Diagnostic,
}

/// The kinds of errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input breaks a rule of its format.
    #[error("damaged input")]
    Damaged,
    /// The request cannot be met.
    #[error("request cannot be met")]
    Request,
    /// The system refused an operation.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// Makes the error for a whole line that breaks a rule of the format; reading can continue
    /// after it.
    #[must_use]
    pub fn damaged(diagnostic: Diagnostic) -> Self {
        Self(Box::new(Inner { kind: ErrorKind::Damaged, diagnostic }))
    }

    /// Makes the error for an input on which no work is possible.
    #[must_use]
    pub fn unfit(diagnostic: Diagnostic) -> Self {
        Self(Box::new(Inner { kind: ErrorKind::Request, diagnostic }))
    }

    /// Makes the error for a request that cannot be met with this input.
    #[must_use]
    pub fn request(code: Code, message: impl Into<String>) -> Self {
        let diagnostic = Diagnostic::new(code, message);
        Self(Box::new(Inner { kind: ErrorKind::Request, diagnostic }))
    }

    /// Makes the error for a refusal of the system while `doing` something, or for input that
    /// cannot be [unpacked](Torn).
    #[must_use]
    pub fn io(doing: impl fmt::Display, error: io::Error) -> Self {
        let diagnostic = match Torn::of(&error) {
            Some(torn) => Diagnostic::new(Code::TornArchive, torn.to_string()),
            None if Swollen::of(&error).is_some() => {
                Diagnostic::new(Code::ArchiveLimit, error.to_string())
            }
            None => Diagnostic::new(Code::Io, format!("{doing}: {error}")),
        };
        Self(Box::new(Inner { kind: ErrorKind::Io(error), diagnostic }))
    }

    /// Makes the error for a fault in the JSON of a line; the position is the position of the line.
    #[must_use]
    pub fn json(fault: Fault, line: &[u8], at: Position) -> Self {
        let code = match fault.what {
            _ if !line.is_empty() && line.iter().all(|b| *b == 0) => Code::NulRun,
            What::Trailing => Code::Glued,
            what if what.is_truncation() => Code::CutShort,
            _ => Code::Syntax,
        };
        let message = match code {
            Code::NulRun => format!("{} NUL bytes instead of a record", line.len()),
            _ => fault.what.to_string(),
        };
        let found = Diagnostic::new(code, message).at(at.plus(fault.at)).showing(line, fault.at);
        Self::damaged(found)
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the permanent code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.diagnostic.code
    }

    /// Returns the place of the error, if it has one.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.diagnostic.at
    }

    /// Returns the description of the error, without its code and place, for a sentence that
    /// contains these itself.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.diagnostic.message
    }

    /// Whether the reader that gave this error can continue with what follows.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Damaged)
    }

    /// Whether the reader of the output has closed the pipe.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        self.io_kind() == io::ErrorKind::BrokenPipe
    }

    /// Returns the kind of the system's refusal; `Other` for an error that is not a refusal of the
    /// system.
    #[must_use]
    pub fn io_kind(&self) -> io::ErrorKind {
        match &self.0.kind {
            ErrorKind::Io(error) => error.kind(),
            ErrorKind::Damaged | ErrorKind::Request => io::ErrorKind::Other,
        }
    }

    /// Whether there is no room for the output.
    #[must_use]
    pub fn is_full_disk(&self) -> bool {
        matches!(self.io_kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Returns the error as a finding.
    #[must_use]
    pub fn into_diagnostic(self) -> Diagnostic {
        self.0.diagnostic
    }
}

/// Place at which a compressed file cannot be unpacked any further. Readers return it inside their
/// errors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot be unpacked beyond byte {at} of the compressed file: {why}")]
pub struct Torn {
    /// Number of bytes of the file that were unpacked.
    pub at: u64,
    /// Description of the fault by the file's format.
    pub why: String,
}

impl Torn {
    /// Returns the fault that a reader's error contains.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Error for a compressed file that unpacks to more bytes than any session has. Readers return it
/// inside their errors.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the file unpacks to more than {times} times its size and 1 GiB, the limit")]
pub struct Swollen {
    /// Maximum ratio of the unpacked size to the size of the file.
    pub times: u64,
}

impl Swollen {
    /// Returns the limit that a reader's error contains.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

/// Writes the description of the error, its code, and its place in the session: callers have no
/// other data to show.
///
/// ```
/// use copyist::{diagnostic::{Code, Diagnostic}, error::Error, position::Position};
/// let at = Position { line: 3, byte: 120, ..Position::default() };
/// let error = Error::damaged(Diagnostic::new(Code::CutShort, "the line ends early").at(at));
/// assert_eq!(error.to_string(), "the line ends early (CY0103, line 3, byte 120)");
/// assert_eq!(error.message(), "the line ends early");
/// ```
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, message, at, .. } = &self.0.diagnostic;
        write!(f, "{message} ({}", code.name())?;
        if let Some(at) = at.filter(|at| at.line > 0) {
            write!(f, ", line {}, byte {}", at.line, at.byte)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
