//! Text that the parser of YAML 1.2 reads, and that PyYAML refuses or reads as something else; and
//! characters that models refuse.
//!
//! Source: PyYAML 6.0.3, `reader.py`, `scanner.py`, `constructor.py` and `resolver.py`, as
//! `safe_load` uses them.

mod watch;

use super::Text;
use super::keys::MERGE;
use super::read::{Event, Events, Layout, Limits, Node, ScalarStyle, What};
use super::write::{fits_tag, is_no_value, is_yaml_1_1};
use crate::diagnostic::Code;
use crate::error::Result;
use crate::json::edit::Edits;
use crate::json::refused_units;
use crate::position::Position;
use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;
use watch::{Seen, Watch, is_unprintable, restored};

/// A piece of text that is refused, and a spelling that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Begin of the piece.
    pub at: Position,
    /// Length of the piece, in bytes.
    pub length: u64,
    /// The other spelling.
    pub new: Vec<u8>,
    /// The fix that the other spelling is.
    pub code: Code,
    /// Name of the refused feature.
    pub what: &'static str,
    /// Whether the piece begins with the anchor of the node, and perhaps a tag; the anchor stays.
    pub anchored: bool,
}

/// Defects for which a search looks besides text that PyYAML refuses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Members that are text, by paths through the names of mappings: a path, in which `*` is any
    /// name, and paths below it. Values that YAML 1.1 takes for a word, a number or a time are
    /// defects there.
    pub texts: &'static [(&'static str, &'static [&'static str])],
    /// Whether the texts are sent to a model, which refuses U+0000 and halves of surrogate pairs.
    pub sent: bool,
}

/// Returns the pieces of a stream that PyYAML refuses, and the `wanted` defects, in their order.
/// Behind an error of the parser nothing is found.
///
/// ```
/// use copyist::yaml::refused::{self, Wanted};
/// let wanted = Wanted { texts: &[("*", &["name"])], sent: false };
/// let found = refused::find(&b"a: 1\t\nwhen: 2026-13-01\nwho: {name: yes}\n"[..], wanted)?;
/// assert_eq!((found[0].at.byte, found[0].new.as_slice()), (4, &b" "[..]));
/// assert_eq!((found[1].at.line, found[1].new.as_slice()), (2, &b"\"2026-13-01\""[..]));
/// assert_eq!((found[2].at.line, found[2].new.as_slice()), (3, &b"\"yes\""[..]));
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub fn find(reader: impl Read, wanted: Wanted) -> Result<Vec<Refused>> {
    search(reader, wanted).map(|(found, _)| found)
}

/// Returns the pieces with characters that are not printable, if the stream can be read but for
/// these.
pub fn find_unprintable(reader: impl Read) -> Result<Vec<Refused>> {
    let (mut found, whole) = search(reader, Wanted::default())?;
    found.retain(|found| whole && found.what == UNPRINTABLE);
    Ok(found)
}

/// Returns the pieces, and whether the stream was read to its end.
fn search(reader: impl Read, wanted: Wanted) -> Result<(Vec<Refused>, bool)> {
    let seen = Rc::<RefCell<Seen>>::default();
    let mut events = Events::new(Watch::new(reader, Rc::clone(&seen)), Limits::default());
    let mut search = Search { seen, wanted, ..Search::default() };
    let whole = loop {
        match events.next() {
            Ok(Some(event)) => search.event(&event),
            Ok(None) => break true,
            Err(error) if error.code() == Code::Io => return Err(error),
            Err(_) => break false,
        }
    };
    if whole {
        search.blanks(u64::MAX);
    }
    search.found.sort_by_key(|found| found.at.byte);
    Ok((search.found, whole))
}

/// An open collection.
#[derive(Default)]
struct Level {
    /// Whether this is a mapping that waits for a key; `None` in a sequence.
    waits: Option<bool>,
    /// Whether it is in braces or brackets.
    flow: bool,
    /// The last key.
    key: String,
}

#[derive(Default)]
struct Search {
    seen: Rc<RefCell<Seen>>,
    wanted: Wanted,
    found: Vec<Refused>,
    open: Vec<Level>,
    /// A key `<<` whose value follows.
    merge: Option<Refused>,
    /// End of the last event that is not a comment.
    end: u64,
}

impl Search {
    fn event(&mut self, event: &Event) {
        self.blanks(event.at.byte);
        let tabs = self.seen.borrow_mut().tabs.before(event.end.byte).count() > 0;
        let unprintable = self.seen.borrow_mut().unprintable.before(event.end.byte).count() > 0;
        let breaks = self.seen.borrow_mut().breaks.before(event.end.byte).count() > 0;
        if let What::Comment { text, .. } = &event.what {
            if unprintable || breaks {
                let blank = |c: char| is_unprintable(c) || BREAKS.contains(&c);
                let new = format!("#{}", restored(text).replace(blank, " "));
                self.refuse(event, new.into_bytes(), UNPRINTABLE);
            }
            return;
        }
        let is_key = self.is_key();
        match &event.what {
            What::MappingStart(layout, node) | What::SequenceStart(layout, node) => {
                let mapping = matches!(event.what, What::MappingStart(..));
                if mapping {
                    self.merge = None;
                }
                self.tag(event.at, node, if mapping { MAPPINGS } else { SEQUENCES });
                let (waits, flow) = (mapping.then_some(true), *layout == Layout::Flow);
                self.open.push(Level { waits, flow, ..Level::default() });
            }
            What::MappingEnd | What::SequenceEnd => {
                self.merge = None;
                self.open.pop();
            }
            What::Alias(_) => self.merge = None,
            What::Scalar(text, style, node) => {
                self.found.extend(self.merge.take());
                self.tag(event.at, node, &[]);
                if is_key {
                    self.key(text);
                }
                self.scalar(event, text, *style, node, Bytes { tabs, unprintable, breaks }, is_key);
            }
            What::DocumentStart | What::DocumentEnd | What::Comment { .. } => {}
        }
        self.end = event.end.byte;
    }

    /// Steps over a node; returns whether it is a key.
    fn is_key(&mut self) -> bool {
        match self.open.last_mut().and_then(|level| level.waits.as_mut()) {
            Some(waits) => std::mem::replace(waits, !*waits),
            None => false,
        }
    }

    fn key(&mut self, key: &Text<'_>) {
        if let Some(level) = self.open.last_mut() {
            level.key.clear();
            level.key.push_str(key.as_str().unwrap_or_default());
        }
    }

    /// Refuses a tag that belongs to no type of YAML, or to none of the types of this collection;
    /// the tags of scalars depend on their text.
    fn tag(&mut self, at: Position, node: &Node, collections: &[&str]) {
        let Some(tag) = node.tag.as_ref().filter(|tag| *tag != "!") else { return };
        let scalar = collections.is_empty();
        let known = tag.strip_prefix("!!").filter(|name| !name.starts_with("python/"));
        if known.is_some_and(|name| scalar || collections.contains(&name)) {
            return;
        }
        if node.anchor.is_none() && !tag.starts_with("!<") {
            self.found.push(self.respelled(at, tag.len() as u64, Vec::new(), "a tag"));
        }
    }

    fn scalar(
        &mut self,
        event: &Event,
        scalar: &Text<'_>,
        style: ScalarStyle,
        node: &Node,
        bytes: Bytes,
        is_key: bool,
    ) {
        let text = scalar.as_str().unwrap_or_default();
        let plain = style == ScalarStyle::Plain;
        let tag = node.tag.as_deref().filter(|tag| *tag != "!");
        let untyped = plain && tag.is_none();
        let what = if tag.is_some_and(|tag| !fits_tag(tag, text.as_bytes())) {
            "a tag of another type"
        } else if tag.is_some_and(is_typed) && !is_key && self.is_text() {
            NOT_TEXT
        } else if bytes.unprintable && (node.anchor.is_none() || !text.is_empty()) {
            // In front of no text, it is in the name of the anchor, which has no other form.
            UNPRINTABLE
        } else if bytes.breaks && ends_lines(text, style) {
            "a line break of YAML 1.1"
        } else if plain && bytes.tabs {
            "a tab"
        } else if untyped && is_no_value(text.as_bytes()) {
            "a time or number that does not exist"
        } else if untyped && is_key && text == MERGE {
            self.merge = Some(self.refused(event, quoted(scalar), "`<<` without a mapping"));
            return;
        } else if untyped && !is_key && matches!(text, MERGE | "=") {
            "`<<` or `=` as a value"
        } else if untyped && is_key && text.is_empty() && self.is_in_braces(event) {
            "no key"
        } else if untyped && !is_key && !is_null(text) && is_yaml_1_1(text.as_bytes()) {
            match self.is_text() {
                true => NOT_TEXT,
                false => return,
            }
        } else {
            if style == ScalarStyle::DoubleQuoted && self.wanted.sent {
                self.units(event, scalar);
            }
            return;
        };
        match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.block(event, scalar, what),
            _ => {
                let found = self.refused(event, quoted(scalar), what);
                self.found.push(Refused { anchored: node.anchor.is_some(), ..found });
            }
        }
    }

    /// Whether a key that is not there is in braces, where PyYAML needs one.
    fn is_in_braces(&self, event: &Event) -> bool {
        event.at.byte == event.end.byte && self.open.last().is_some_and(|level| level.flow)
    }

    /// Whether the current value is one of the texts.
    fn is_text(&self) -> bool {
        let keys = || self.open.iter().filter(|level| level.waits.is_some());
        let fits = |above: &str, path: &str| {
            let mut names = above.split('/').chain(path.split('/')).filter(|name| !name.is_empty());
            keys().all(|level| names.next().is_some_and(|name| name == "*" || name == level.key))
                && names.next().is_none()
        };
        self.wanted.texts.iter().any(|(above, paths)| paths.iter().any(|path| fits(above, path)))
    }

    /// Refuses a block of text, which begins with its indicator.
    fn block(&mut self, event: &Event, scalar: &Text<'_>, what: &'static str) {
        let end = self.end;
        let mut seen = self.seen.borrow_mut();
        let begin = seen.blocks.before(event.end.byte).find(|at| at.byte >= end);
        drop(seen);
        let Some(at) = begin else { return };
        let event = Event { at, ..event.clone() };
        self.refuse(&event, quoted(scalar), what);
    }

    /// Refuses characters that no model takes.
    fn units(&mut self, event: &Event, text: &Text<'_>) {
        let json = text.to_json();
        let mut edits = Edits::default();
        refused_units(&json).for_each(|(place, _)| edits.replace(place, b"\\ufffd"));
        if edits.is_empty() {
            return;
        }
        let mut new = Vec::with_capacity(json.len());
        edits.apply(&json, json.len(), false, &mut new);
        let found = self.refused(event, escaped(new), "in a text");
        self.found.push(Refused { code: Code::SurrogateReplaced, ..found });
    }

    fn refuse(&mut self, event: &Event, new: Vec<u8>, what: &'static str) {
        self.found.push(self.refused(event, new, what));
    }

    fn refused(&self, event: &Event, new: Vec<u8>, what: &'static str) -> Refused {
        self.respelled(event.at, event.end.byte.saturating_sub(event.at.byte), new, what)
    }

    /// Makes a piece of `length` bytes that the parser got, as a piece of the stream.
    fn respelled(&self, at: Position, length: u64, new: Vec<u8>, what: &'static str) -> Refused {
        let seen = self.seen.borrow();
        let (begin, end) = (seen.source(at.byte), seen.source(at.byte + length));
        let at = Position { byte: begin, ..at };
        Refused { at, length: end - begin, new, code: Code::Respelled, what, anchored: false }
    }

    /// Refuses the tabs before an offset: they are between the events.
    fn blanks(&mut self, end: u64) {
        let tabs: Vec<_> = self.seen.borrow_mut().tabs.before(end).collect();
        for at in tabs {
            self.found.push(self.respelled(at, 1, vec![b' '], "a tab"));
        }
    }
}

/// Special bytes in a scalar.
#[derive(Clone, Copy)]
struct Bytes {
    tabs: bool,
    unprintable: bool,
    breaks: bool,
}

const UNPRINTABLE: &str = "a character that is not printable";

const NOT_TEXT: &str = "a value that is not text";

/// Characters that are line breaks for YAML 1.1 only.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Types of YAML that are mappings or sequences.
const MAPPINGS: &[&str] = &["map", "set"];
const SEQUENCES: &[&str] = &["seq", "omap", "pairs"];

/// Whether line breaks of YAML 1.1 in a scalar are refused, or read as another text. PyYAML itself
/// writes them between single quotes. Between double quotes, it reads U+0085 as a space and removes
/// blanks beside the others. In a block the next line would need the indentation of the block,
/// unless it is blank; at the end of a block it reads fewer lines.
fn ends_lines(text: &str, style: ScalarStyle) -> bool {
    let blank = |c: char| c.is_ascii_whitespace() || BREAKS.contains(&c);
    let mut breaks = text.match_indices(BREAKS).map(|(at, found)| {
        let (before, after) = (text.get(..at), text.get(at + found.len()..));
        (before.unwrap_or_default(), found, after.unwrap_or_default())
    });
    match style {
        ScalarStyle::SingleQuoted => false,
        ScalarStyle::DoubleQuoted => breaks.any(|(before, found, after)| {
            found == "\u{85}" || before.ends_with(blank) || after.starts_with(blank)
        }),
        ScalarStyle::Literal => {
            breaks.any(|(_, _, after)| !after.starts_with('\n') || after.chars().all(blank))
        }
        _ => breaks.next().is_some(),
    }
}

/// Whether a tag makes a scalar something other than a text.
fn is_typed(tag: &str) -> bool {
    matches!(tag, "!!int" | "!!float" | "!!bool" | "!!timestamp")
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Spells a text in double quotes, with escapes that JSON and YAML share.
fn quoted(text: &Text<'_>) -> Vec<u8> {
    escaped(text.to_json())
}

/// Writes escapes for the characters of a JSON string that PyYAML refuses, or takes for the end of a
/// line.
fn escaped(json: Vec<u8>) -> Vec<u8> {
    let mut text = String::with_capacity(json.len());
    for c in restored(&String::from_utf8_lossy(&json)).chars() {
        match is_unprintable(c) || BREAKS.contains(&c) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
    }
    text.into_bytes()
}
