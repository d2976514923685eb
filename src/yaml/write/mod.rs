//! Writing YAML, one scalar at a time.
//!
//! The caller gives an [`Emitter`] one node after the other, and it appends them to a buffer; it
//! keeps the open collections, one small record each, and none of their contents.
//!
//! [`Style::PyYaml`] is a port of the emitter and resolver of PyYAML 6.0.3 (`emitter.py`,
//! `resolver.py`): files that Python programs write with `yaml.dump` are written byte for byte, so
//! a file that was read and written again shows only the differences of the changes.

mod analysis;
mod folded;
mod implicit;
mod pen;
mod readable;

use super::Text;
use analysis::Analysis;
pub use implicit::{fits_tag, is_no_value, is_yaml_1_1};
use pen::{Pen, characters};
use readable::ScalarStyle;

/// Style in which scalars are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The spelling of PyYAML 6 with `yaml.dump(data, default_flow_style=False,
    /// allow_unicode=True)`: quotes where YAML 1.1 demands them, lines folded at 80 columns. One
    /// text is spelled differently, with escapes: a text in which U+0085, U+2028 or U+2029 follows
    /// a `\n`, because no other parser reads PyYAML's spelling of it.
    PyYaml,
    /// A spelling for users and for any parser of YAML 1.1 or 1.2: without quotes where all agree,
    /// literal blocks for text of several lines, else double quotes with the escapes of JSON. Lines
    /// are never folded.
    ///
    /// Half of a surrogate pair is the exception: it is written as an escape (`"\ud83d"`), which
    /// PyYAML and this crate read and others refuse.
    Readable,
}

/// Number of spaces by which a collection or a folded line is indented.
const INDENT: usize = 2;

/// Maximum length of a key that may come before its `:`, in characters. PyYAML allows 127,
/// including the tag `!!str` or `!!int` that it does not write.
const SIMPLE_KEY: usize = 122;

/// Writes one YAML document, nodes in order.
///
/// In a mapping every first node is a key and every second one its value. The output is in
/// [`buffer`](Self::buffer), which the caller may empty at any time.
///
/// ```
/// use copyist::yaml::write::{Emitter, Style};
/// let mut yaml = Emitter::new(Style::PyYaml);
/// yaml.begin_mapping();
/// yaml.string("input").string("yes");
/// yaml.string("tokens").plain("223");
/// yaml.string("tools").begin_sequence().string("run(x='1')").end();
/// yaml.string("history").begin_sequence().end();
/// yaml.end();
/// assert_eq!(
///     String::from_utf8(yaml.finish()).unwrap(),
///     "input: 'yes'\ntokens: 223\ntools:\n- run(x='1')\nhistory: []\n",
/// );
/// ```
#[derive(Debug)]
pub struct Emitter {
    pen: Pen,
    style: Style,
    open: Vec<Level>,
    /// A collection that was begun and has no node yet: an empty one is written differently.
    begun: Option<Collection>,
    /// Whether the document is a scalar without quotes, which needs an end marker.
    open_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Collection {
    Mapping,
    Sequence,
}

/// An open collection.
#[derive(Debug)]
struct Level {
    next: Role,
    /// The indentation around the collection.
    outer: Option<usize>,
}

/// Part that a node has in the collection around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Root,
    Item,
    Key,
    /// Behind a key and its `:` on the same line.
    Value,
    /// Behind a key that was introduced by `?`.
    LongValue,
}

impl Emitter {
    /// Starts a document.
    pub fn new(style: Style) -> Self {
        Self { pen: Pen::new(), style, open: Vec::new(), begun: None, open_ended: false }
    }

    /// Sets the style of all further scalars.
    pub fn set_style(&mut self, style: Style) {
        self.style = style;
    }

    /// Returns the buffer with the output since the caller last emptied it.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.pen.out
    }

    /// Begins a mapping.
    pub fn begin_mapping(&mut self) -> &mut Self {
        self.begin(Collection::Mapping)
    }

    /// Begins a sequence.
    pub fn begin_sequence(&mut self) -> &mut Self {
        self.begin(Collection::Sequence)
    }

    fn begin(&mut self, collection: Collection) -> &mut Self {
        self.open_begun();
        self.begun = Some(collection);
        self
    }

    /// Ends the innermost collection; a key left without a value gets an empty one.
    pub fn end(&mut self) -> &mut Self {
        let role = self.role();
        if let Some(empty) = self.begun.take() {
            self.enter(role, true);
            let brackets: &[u8] = if empty == Collection::Mapping { b"{}" } else { b"[]" };
            self.pen.indicator(brackets, true);
            return self;
        }
        if matches!(role, Role::Value | Role::LongValue) {
            self.enter(role, true);
        }
        if let Some(level) = self.open.pop() {
            self.pen.indent = level.outer;
        }
        self
    }

    /// Writes text, quoted where it must be.
    pub fn string<'t>(&mut self, text: impl Into<Text<'t>>) -> &mut Self {
        let text = text.into();
        match self.style {
            Style::PyYaml => self.folded(text.as_bytes()),
            Style::Readable => self.readable(text.as_bytes()),
        }
        self
    }

    fn folded(&mut self, text: &[u8]) {
        let found = Analysis::of(text);
        let key = self.enter_scalar(|| !text.is_empty() && !found.multiline && is_short(text));
        let outer = self.indent();
        if found.plain && !implicit::is_yaml_1_1(text) {
            self.open_ended = self.open.is_empty();
            folded::plain(&mut self.pen, text, !key);
        } else if found.single {
            folded::single(&mut self.pen, text, !key, found.wide);
        } else {
            folded::double(&mut self.pen, text, !key);
        }
        self.pen.indent = outer;
    }

    fn readable(&mut self, text: &[u8]) {
        // A literal block outside of a collection has nothing to be indented from.
        self.open_begun();
        let one_line = matches!(self.role(), Role::Key | Role::Root);
        let spelling = readable::spelling(text, one_line);
        self.enter_scalar(|| is_short(text));
        let outer = self.indent();
        match spelling {
            ScalarStyle::Plain => readable::plain(&mut self.pen, text),
            ScalarStyle::Literal => readable::literal(&mut self.pen, text),
            ScalarStyle::Quoted => readable::quoted(&mut self.pen, text),
        }
        self.pen.indent = outer;
    }

    /// Writes a scalar as the caller spells it, without quotes: a number, `true`, `null`.
    pub fn plain(&mut self, spelling: &str) -> &mut Self {
        let key = self.enter_scalar(|| is_short(spelling.as_bytes()));
        self.open_ended = self.open.is_empty();
        let outer = self.indent();
        folded::plain(&mut self.pen, spelling.as_bytes(), !key);
        self.pen.indent = outer;
        self
    }

    /// Ends the document; returns the content of the buffer.
    pub fn finish(mut self) -> Vec<u8> {
        self.close();
        self.pen.out
    }

    /// Ends the document; the buffer contains the rest of it.
    pub fn close(&mut self) {
        while self.begun.is_some() || !self.open.is_empty() {
            self.end();
        }
        self.pen.new_line();
        if self.open_ended {
            self.pen.indicator(b"...", true);
            self.pen.new_line();
        }
    }

    /// Returns the place of the next node.
    fn role(&self) -> Role {
        self.open.last().map_or(Role::Root, |level| level.next)
    }

    /// Goes to the place of a scalar; returns whether the scalar is a key in front of its `:`, as
    /// `simple` may allow.
    fn enter_scalar(&mut self, simple: impl FnOnce() -> bool) -> bool {
        self.open_begun();
        let role = self.role();
        let key = role == Role::Key && simple();
        self.enter(role, key);
        key
    }

    /// Goes to the place of a node; `simple` is true if it can be a key in front of its `:`.
    fn enter(&mut self, role: Role, simple: bool) {
        match role {
            Role::Root => {}
            Role::Value => self.pen.indicator(b":", false),
            Role::Item => self.line(b"-"),
            Role::LongValue => self.line(b":"),
            Role::Key if simple => self.pen.new_line(),
            Role::Key => self.line(b"?"),
        }
        if let Some(level) = self.open.last_mut() {
            level.next = match role {
                Role::Key if simple => Role::Value,
                Role::Key => Role::LongValue,
                Role::Value | Role::LongValue => Role::Key,
                Role::Root | Role::Item => role,
            };
        }
    }

    /// Begins a line with an indicator.
    fn line(&mut self, indicator: &[u8]) {
        self.pen.new_line();
        self.pen.opener(indicator);
    }

    /// Indents the lines of a scalar; returns the indentation around it.
    fn indent(&mut self) -> Option<usize> {
        let outer = self.pen.indent;
        self.pen.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        outer
    }

    /// Opens the collection that was begun, because it gets a node.
    fn open_begun(&mut self) {
        let Some(collection) = self.begun.take() else {
            return;
        };
        let role = self.role();
        self.enter(role, false);
        let outer = self.pen.indent;
        // A sequence behind a key is no deeper than the key, as PyYAML has it.
        let behind_key = !matches!(role, Role::Root | Role::Item) && !self.pen.indention;
        let level = collection == Collection::Sequence && behind_key;
        self.pen.indent = Some(match outer {
            None => 0,
            Some(indent) if level => indent,
            Some(indent) => indent + INDENT,
        });
        let next = if collection == Collection::Mapping { Role::Key } else { Role::Item };
        self.open.push(Level { next, outer });
    }
}

fn is_short(key: &[u8]) -> bool {
    key.len() <= 4 * SIMPLE_KEY && characters(key) <= SIMPLE_KEY
}
