//! Reading YAML, one event at a time.
//!
//! [`Events`] wraps the event parser of the crate `granit-parser` and adds what sessions need: a
//! stream as input, places in lines and bytes, errors with codes, halves of surrogate pairs, and
//! limits. Nothing is kept but the scalar being read. Scalars stay text: what `yes` or `1e3` mean
//! is for the caller to say, who knows what belongs there.

mod breaks;
mod budget;
mod fault;
mod halves;
mod source;

use super::Text;
use crate::error::Result;
use crate::position::Position;
pub use breaks::restore_breaks;
pub use budget::Budget;
use granit_parser::{Event as Parsed, Marker, Parser, Placement, Span, Tag, options};
pub use granit_parser::{ScalarStyle as Spelling, StructureStyle as Layout};
use source::{Shared, Source};
use std::borrow::Cow;
use std::io::Read;
use std::rc::Rc;

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

/// Lines of comments in a row: the parser holds them until it knows what they stand before.
const COMMENTS: usize = 1 << 16;

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
    Scalar(Text<'static>, Spelling, Node),
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
    parser: Parser<'static, Source<R>>,
    shared: Rc<Shared>,
    ended: bool,
}

impl<R: Read> Events<R> {
    /// Reads a stream in UTF-8, which may begin with a byte order mark; for others see
    /// [`encoding`](crate::yaml::encoding).
    pub fn new(reader: R, limits: Limits) -> Self {
        let shared = Rc::new(Shared::default());
        let source = Source::new(reader, limits.scalar, Rc::clone(&shared));
        let options = options! {
            emit_anchor_events: true,
            max_buffered_comment_events: COMMENTS,
            flow_nesting_limit: limits.depth,
            block_nesting_limit: limits.depth,
        };
        Self { parser: Parser::with_options(source, options), shared, ended: false }
    }

    /// The next event, or `None` at the end.
    ///
    /// # Errors
    /// [`Code::YamlSyntax`](crate::diagnostic::Code::YamlSyntax), `YamlCutShort` where the stream
    /// ends too early, `YamlLimit`, `NotUtf8`, and errors of the reader.
    #[allow(clippy::should_implement_trait, reason = "like `Lines`, which cannot be an Iterator")]
    pub fn next(&mut self) -> Result<Option<Event>> {
        while !self.ended {
            match self.step() {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Takes one event of the parser, which may be none for the caller.
    fn step(&mut self) -> Result<Option<Event>> {
        let Some(next) = self.parser.next_event() else {
            self.ended = true;
            return Ok(None);
        };
        let (event, span) = next.map_err(|error| fault::error(&error, &self.shared))?;
        let floor = span.end.byte_offset().unwrap_or(0).max(self.shared.floor.get());
        self.shared.floor.set(floor);
        self.event(event, span)
    }

    fn event(&mut self, event: Parsed<'static>, span: Span) -> Result<Option<Event>> {
        let (mut at, end) = (position(span.start), position(span.end));
        let what = match event {
            Parsed::DocumentStart(..) => What::DocumentStart,
            Parsed::DocumentEnd => What::DocumentEnd,
            Parsed::MappingEnd => What::MappingEnd,
            Parsed::SequenceEnd => What::SequenceEnd,
            Parsed::Alias(anchor) => What::Alias(anchor),
            Parsed::MappingStart(layout, anchor, tag) => {
                What::MappingStart(layout, self.node(anchor, tag, span, &mut at))
            }
            Parsed::SequenceStart(layout, anchor, tag) => {
                What::SequenceStart(layout, self.node(anchor, tag, span, &mut at))
            }
            Parsed::Scalar(text, spelling, anchor, tag) => {
                // The parser reports a node that is not there as `~`.
                let absent = spelling == Spelling::Plain && at.byte == end.byte;
                let text = if absent { Cow::default() } else { text };
                let text = self.text(text, spelling, at)?;
                What::Scalar(text, spelling, self.node(anchor, tag, span, &mut at))
            }
            Parsed::Comment(text, placement) => {
                let text = self.text(text, Spelling::Plain, at)?;
                let text = text.as_str().unwrap_or_default().to_owned();
                What::Comment { text, own_line: placement != Placement::Right }
            }
            _ => return Ok(None),
        };
        Ok(Some(Event { what, at, end }))
    }

    /// Anchor and tag of a node, which begins where the first of them does.
    fn node(
        &mut self,
        anchor: usize,
        tag: Option<Cow<'static, Tag>>,
        span: Span,
        at: &mut Position,
    ) -> Node {
        if let Some(start) = span.tag_start() {
            *at = (*at).min(position(start));
        }
        if anchor == 0 {
            return Node { anchor: None, tag: tag.map(|tag| tag.original()) };
        }
        if let Some(Ok((Parsed::Anchor(..), span))) = self.parser.peek() {
            *at = (*at).min(position(span.start));
        }
        Node { anchor: Some(anchor), tag: tag.map(|tag| tag.original()) }
    }

    fn text(
        &self,
        text: Cow<'static, str>,
        spelling: Spelling,
        at: Position,
    ) -> Result<Text<'static>> {
        let text = text.into_owned();
        if !self.shared.marked.get() {
            return Ok(text.into());
        }
        halves::restore(text, spelling == Spelling::DoubleQuoted).ok_or_else(|| fault::escape(at))
    }
}

fn position(marker: Marker) -> Position {
    Position {
        line: marker.line() as u64,
        byte: marker.byte_offset().unwrap_or_default() as u64,
        ..Position::default()
    }
}
