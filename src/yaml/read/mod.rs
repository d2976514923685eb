//! Reading YAML, one event at a time.
//!
//! [`Events`] wraps the event parser of the crate `granit-parser` and adds features that sessions
//! need: a stream as input, places in lines and bytes, errors with codes, halves of surrogate
//! pairs, and limits. As far as a file has the layout in which PyYAML writes, a scanner of this
//! crate (`plain`) returns the same events faster; at the first text that it does not surely
//! understand, the parser continues. Only the scalar being read is kept. Scalars stay text: the
//! caller knows which types belong there, and decides the meaning of `yes` or `1e3`.

mod breaks;
mod budget;
mod fault;
mod halves;
mod parsed;
mod plain;
mod scalar;
mod source;
mod window;

use super::Text;
use crate::error::Result;
use crate::position::Position;
pub use breaks::{end_lines, restore_breaks};
pub use budget::Budget;
pub use granit_parser::{ScalarStyle, StructureStyle as Layout};
use parsed::Parsed;
use plain::{Plain, Scanned};
use std::io::Read;
use window::Rest;

/// Limits on the cost of a document.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of collections that may be open at once.
    pub depth: usize,
    /// Maximum number of bytes that a scalar may take in the file.
    pub scalar: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // PyYAML recurses, and Python stops it before the thousandth level.
        Self { depth: 1000, scalar: 1 << 30 }
    }
}

/// One event of the document, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Content of the event.
    pub what: What,
    /// Begin of the event, its anchor and tag included.
    pub at: Position,
    /// End of the event.
    pub end: Position,
}

/// Content of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Begin of a document; a stream can contain several.
    DocumentStart,
    /// End of a document.
    DocumentEnd,
    /// Begin of a mapping. Keys and values follow in turn; a key may come twice.
    MappingStart(Layout, Node),
    /// End of the innermost mapping.
    MappingEnd,
    /// Begin of a sequence.
    SequenceStart(Layout, Node),
    /// End of the innermost sequence.
    SequenceEnd,
    /// A scalar. A missing node is an empty scalar in plain style.
    Scalar(Text<'static>, ScalarStyle, Node),
    /// A repetition of the node with this anchor.
    Alias(usize),
    /// A comment.
    Comment {
        /// Text of the comment, without its `#`.
        text: String,
        /// Whether the comment is alone on its line.
        own_line: bool,
    },
}

/// Properties that can precede a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The anchor, numbered: a name can be given twice, and an alias means the last one.
    pub anchor: Option<usize>,
    /// The tag as it is spelled, such as `!!python/tuple`.
    pub tag: Option<String>,
}

/// The events of a stream.
///
/// ```
/// use copyist::yaml::read::{Events, Limits, What};
/// let mut events = Events::new(&b"turn: 1\ninput: yes # really\n"[..], Limits::default());
/// let mut scalars = Vec::new();
/// while let Some(event) = events.next()? {
///     if let What::Scalar(text, ..) = event.what {
///         scalars.push((text.as_str().unwrap_or_default().to_owned(), event.at.line, event.at.byte));
///     }
/// }
/// assert_eq!(scalars[3], ("yes".to_owned(), 2, 15));
/// # Ok::<(), copyist::error::Error>(())
/// ```
///
/// After an error the stream is at its end. All events before it are complete; an interpretation of
/// YAML behind a broken place would be guesswork.
pub struct Events<R: Read> {
    way: Way<R>,
}

/// Source of the events: the scanner or the parser.
enum Way<R: Read> {
    Plain(Box<Plain<R>>),
    Parser(Box<Parsed<R>>),
    /// The end, or an error before it.
    Ended,
}

impl<R: Read> Events<R> {
    /// Reads a stream in UTF-8, which may begin with a byte order mark; for others see
    /// [`encoding`](crate::yaml::encoding).
    pub fn new(reader: R, limits: Limits) -> Self {
        Self { way: Way::Plain(Box::new(Plain::new(reader, limits))) }
    }

    /// Reads a stream by the parser alone, which returns the same events: the reference for the
    /// scanner in tests, and the baseline for its speed.
    pub fn parsed(reader: R, limits: Limits) -> Self {
        Self { way: Way::Parser(Box::new(Parsed::new(Rest::whole(reader), limits))) }
    }

    /// Returns the next event, or `None` at the end.
    ///
    /// # Errors
    /// [`Code::YamlSyntax`](crate::diagnostic::Code::YamlSyntax), `YamlCutShort` where the stream
    /// ends too early, `YamlLimit`, `NotUtf8`, and errors of the reader.
    #[allow(clippy::should_implement_trait, reason = "like `Lines`, which cannot be an Iterator")]
    pub fn next(&mut self) -> Result<Option<Event>> {
        if let Way::Plain(plain) = &mut self.way {
            match plain.next() {
                Scanned::Event(event) => return Ok(Some(event)),
                Scanned::End => self.way = Way::Ended,
                Scanned::Unsure => self.hand_over(),
            }
        }
        let Way::Parser(parser) = &mut self.way else { return Ok(None) };
        let found = parser.next();
        if !matches!(found, Ok(Some(_))) {
            self.way = Way::Ended;
        }
        found
    }

    /// Whether the parser had to take over.
    pub fn is_parsed(&self) -> bool {
        matches!(self.way, Way::Parser(_))
    }

    #[cold]
    fn hand_over(&mut self) {
        if let Way::Plain(plain) = std::mem::replace(&mut self.way, Way::Ended) {
            self.way = Way::Parser(Box::new(plain.hand_over()));
        }
    }
}
