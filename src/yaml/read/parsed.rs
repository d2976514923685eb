//! The events of the parser.

use super::fault::Shift;
use super::source::{Shared, Source};
use super::window::Rest;
use super::{Event, Limits, Node, ScalarStyle, What, fault, halves};
use crate::error::Result;
use crate::position::Position;
use crate::yaml::Text;
use granit_parser::{Event as Given, Parser, Placement, Span, Tag, options};
use std::borrow::Cow;
use std::io::Read;
use std::rc::Rc;

/// Maximum number of consecutive lines of comments: the parser keeps them until it knows the node
/// behind them.
const COMMENTS: usize = 1 << 16;

/// A stream read by the parser.
pub struct Parsed<R: Read> {
    parser: Parser<'static, Source<Rest<R>>>,
    shared: Rc<Shared>,
    /// Number of events that come from text before the stream.
    pass: usize,
    shift: Shift,
}

impl<R: Read> Parsed<R> {
    pub fn new(rest: Rest<R>, limits: Limits) -> Self {
        Self::resumed(rest, limits, 0, Shift::default())
    }

    /// Continues in the middle of a stream: the first `pass` events come from text that only leads
    /// there.
    pub fn resumed(rest: Rest<R>, limits: Limits, pass: usize, shift: Shift) -> Self {
        let shared = Rc::new(Shared::default());
        let source = Source::new(rest, limits.scalar, Rc::clone(&shared));
        let options = options! {
            emit_anchor_events: true,
            max_buffered_comment_events: COMMENTS,
            flow_nesting_limit: limits.depth,
            block_nesting_limit: limits.depth,
        };
        Self { parser: Parser::with_options(source, options), shared, pass, shift }
    }

    /// Returns the next event, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Event>> {
        loop {
            let Some(next) = self.parser.next_event() else { return Ok(None) };
            let (event, span) =
                next.map_err(|error| fault::error(&error, &self.shared, self.shift))?;
            let floor = span.end.byte_offset().unwrap_or(0).max(self.shared.floor.get());
            self.shared.floor.set(floor);
            if let Some(event) = self.event(event, span)? {
                if self.pass == 0 || matches!(event.what, What::Comment { .. }) {
                    return Ok(Some(event));
                }
                self.pass -= 1;
            }
        }
    }

    fn event(&mut self, event: Given<'static>, span: Span) -> Result<Option<Event>> {
        let (mut at, end) = (self.shift.position(span.start), self.shift.position(span.end));
        let what = match event {
            Given::DocumentStart(..) => What::DocumentStart,
            Given::DocumentEnd => What::DocumentEnd,
            Given::MappingEnd => What::MappingEnd,
            Given::SequenceEnd => What::SequenceEnd,
            Given::Alias(anchor) => What::Alias(anchor),
            Given::MappingStart(layout, anchor, tag) => {
                What::MappingStart(layout, self.node(anchor, tag, span, &mut at))
            }
            Given::SequenceStart(layout, anchor, tag) => {
                What::SequenceStart(layout, self.node(anchor, tag, span, &mut at))
            }
            Given::Scalar(text, spelling, anchor, tag) => {
                // The parser reports a missing node as `~`.
                let absent = spelling == ScalarStyle::Plain && at.byte == end.byte;
                let text = if absent { Cow::default() } else { text };
                let text = self.text(text, spelling, at)?;
                What::Scalar(text, spelling, self.node(anchor, tag, span, &mut at))
            }
            Given::Comment(text, placement) => {
                let text = self.text(text, ScalarStyle::Plain, at)?;
                let text = text.as_str().unwrap_or_default().to_owned();
                What::Comment { text, own_line: placement != Placement::Right }
            }
            _ => return Ok(None),
        };
        Ok(Some(Event { what, at, end }))
    }

    /// Returns anchor and tag of a node, which begins where the first of them does.
    fn node(
        &mut self,
        anchor: usize,
        tag: Option<Cow<'static, Tag>>,
        span: Span,
        at: &mut Position,
    ) -> Node {
        if let Some(start) = span.tag_start() {
            *at = (*at).min(self.shift.position(start));
        }
        if anchor == 0 {
            return Node { anchor: None, tag: tag.map(|tag| tag.original()) };
        }
        if let Some(Ok((Given::Anchor(..), span))) = self.parser.peek() {
            *at = (*at).min(self.shift.position(span.start));
        }
        Node { anchor: Some(anchor), tag: tag.map(|tag| tag.original()) }
    }

    fn text(
        &self,
        text: Cow<'static, str>,
        spelling: ScalarStyle,
        at: Position,
    ) -> Result<Text<'static>> {
        let text = text.into_owned();
        if !self.shared.marked.get() {
            return Ok(text.into());
        }
        halves::restore(text, spelling == ScalarStyle::DoubleQuoted)
            .ok_or_else(|| fault::escape(at))
    }
}
