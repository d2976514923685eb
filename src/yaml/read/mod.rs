//! Reading YAML, one event at a time.
//!
//! [`Events`] wraps the event parser of the crate `granit-parser` and adds what sessions need: a
//! stream as input, places in lines and bytes, errors with codes, halves of surrogate pairs, and
//! limits. As far as a file has the layout in which PyYAML writes, a scanner of our own (`plain`)
//! gives the same events faster; at the first thing that it does not surely know the parser goes
//! on. Nothing is kept but the scalar being read. Scalars stay text: what `yes` or `1e3` mean is for
//! the caller to say, who knows what belongs there.

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
pub use breaks::restore_breaks;
pub use budget::Budget;
pub use granit_parser::{ScalarStyle, StructureStyle as Layout};
use parsed::Parsed;
use plain::{Plain, Said};
use std::io::Read;
use window::Rest;

/// What a document may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many collections may be open at once.
    pub depth: usize,
    /// How many bytes a scalar may take in the file.
    pub scalar: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // PyYAML recurses, and Python stops it before the thousandth level.
        Self { depth: 1000, scalar: 1 << 30 }
    }
}

/// Something that the document says, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What it says.
    pub what: What,
    /// Where it begins, its anchor and tag included.
    pub at: Position,
    /// Where it ends.
    pub end: Position,
}

/// What a document says.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A document begins; a stream can hold several.
    DocumentStart,
    /// A document ends.
    DocumentEnd,
    /// A mapping begins. Keys and values follow in turn; a key may come twice.
    MappingStart(Layout, Node),
    /// The innermost mapping ends.
    MappingEnd,
    /// A sequence begins.
    SequenceStart(Layout, Node),
    /// The innermost sequence ends.
    SequenceEnd,
    /// A scalar. A node that is not there is an empty one in plain style.
    Scalar(Text<'static>, ScalarStyle, Node),
    /// The node with this anchor once more.
    Alias(usize),
    /// A comment.
    Comment {
        /// What it says, without its `#`.
        text: String,
        /// Whether nothing stands before it on its line.
        own_line: bool,
    },
}

/// What can stand before a node.
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
/// After an error the stream is at its end: what came before it is whole, what follows a broken
/// place in YAML is guesswork.
pub struct Events<R: Read> {
    way: Way<R>,
}

/// Who reads.
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

    /// The same by the parser alone, which gives the same events: the judge of the scanner in
    /// tests, and the yardstick of its speed.
    pub fn parsed(reader: R, limits: Limits) -> Self {
        Self { way: Way::Parser(Box::new(Parsed::new(Rest::whole(reader), limits))) }
    }

    /// The next event, or `None` at the end.
    ///
    /// # Errors
    /// [`Code::YamlSyntax`](crate::diagnostic::Code::YamlSyntax), `YamlCutShort` where the stream
    /// ends too early, `YamlLimit`, `NotUtf8`, and errors of the reader.
    #[allow(clippy::should_implement_trait, reason = "like `Lines`, which cannot be an Iterator")]
    pub fn next(&mut self) -> Result<Option<Event>> {
        if let Way::Plain(plain) = &mut self.way {
            match plain.next() {
                Said::Event(event) => return Ok(Some(event)),
                Said::End => self.way = Way::Ended,
                Said::Unsure => self.hand_over(),
            }
        }
        let Way::Parser(parser) = &mut self.way else { return Ok(None) };
        let found = parser.next();
        if !matches!(found, Ok(Some(_))) {
            self.way = Way::Ended;
        }
        found
    }

    /// Whether the parser had to be asked.
    #[must_use]
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
