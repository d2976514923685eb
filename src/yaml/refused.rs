//! Text that the parser of YAML 1.2 reads, and that PyYAML refuses; and characters that models
//! refuse.
//!
//! Source: PyYAML 6.0.3, `scanner.py`, `constructor.py` and `resolver.py`, as `safe_load` uses
//! them.

use super::Text;
use super::read::{Event, Events, Limits, Node, ScalarStyle, What};
use super::write::is_no_value;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::json::edit::Edits;
use crate::json::refused_units;
use crate::position::Position;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

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
}

/// Returns the pieces of a stream that PyYAML refuses, in their order; if the texts are `sent` to a
/// model, also those with U+0000 or half of a surrogate pair. Behind an error of the parser nothing
/// is found.
///
/// ```
/// use copyist::yaml::refused;
/// let found = refused::find(&b"a: 1\t\nwhen: 2026-13-01\n"[..], false)?;
/// assert_eq!((found[0].at.byte, found[0].new.as_slice()), (4, &b" "[..]));
/// assert_eq!((found[1].at.line, found[1].new.as_slice()), (2, &b"\"2026-13-01\""[..]));
/// # Ok::<(), copyist::error::Error>(())
/// ```
///
/// # Errors
/// If reading fails.
pub fn find(reader: impl Read, sent: bool) -> Result<Vec<Refused>> {
    let tabs = Rc::new(RefCell::new(Tabs::default()));
    let mut events = Events::new(Watch { reader, tabs: Rc::clone(&tabs) }, Limits::default());
    let mut search = Search { tabs, sent, ..Search::default() };
    loop {
        match events.next() {
            Ok(Some(event)) => search.event(&event),
            Ok(None) => break search.blanks(u64::MAX),
            Err(error) if error.code() == Code::Io => return Err(error),
            Err(_) => break,
        }
    }
    search.found.sort_by_key(|found| found.at.byte);
    Ok(search.found)
}

/// Places of tabs that the parser has read ahead.
#[derive(Debug, Default)]
struct Tabs {
    line: u64,
    byte: u64,
    places: VecDeque<Position>,
}

impl Tabs {
    /// Takes the places before an offset.
    fn before(&mut self, end: u64) -> impl Iterator<Item = Position> {
        let count = self.places.partition_point(|at| at.byte < end);
        self.places.drain(..count)
    }
}

/// A reader that notes tabs.
struct Watch<R> {
    reader: R,
    tabs: Rc<RefCell<Tabs>>,
}

impl<R: Read> Read for Watch<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(into)?;
        let bytes = into.get(..read).unwrap_or_default();
        let tabs = &mut *self.tabs.borrow_mut();
        for at in memchr::memchr2_iter(b'\n', b'\t', bytes) {
            if bytes.get(at) == Some(&b'\n') {
                tabs.line += 1;
            } else {
                let (line, byte) = (tabs.line + 1, tabs.byte + at as u64);
                tabs.places.push_back(Position { line, byte, ..Position::default() });
            }
        }
        tabs.byte += read as u64;
        Ok(read)
    }
}

#[derive(Default)]
struct Search {
    tabs: Rc<RefCell<Tabs>>,
    sent: bool,
    found: Vec<Refused>,
    /// The open collections: whether each is a mapping that waits for a key.
    open: Vec<Option<bool>>,
    /// A key `<<` whose value follows.
    merge: Option<Refused>,
}

impl Search {
    fn event(&mut self, event: &Event) {
        self.blanks(event.at.byte);
        let tabs = self.tabs.borrow_mut().before(event.end.byte).count() > 0;
        if let What::Comment { text, .. } = &event.what {
            if text.contains(BREAKS) {
                let new = format!("#{}", text.replace(BREAKS, " ")).into_bytes();
                self.refuse(event, new, "a line break of YAML 1.1");
            }
            return;
        }
        let is_key = self.is_key();
        match &event.what {
            What::MappingStart(_, node) => {
                self.merge = None;
                self.tag(event.at, node);
                self.open.push(Some(true));
            }
            What::SequenceStart(_, node) => {
                self.tag(event.at, node);
                self.open.push(None);
            }
            What::MappingEnd | What::SequenceEnd => {
                self.merge = None;
                self.open.pop();
            }
            What::Alias(_) => self.merge = None,
            What::Scalar(text, style, node) => {
                self.found.extend(self.merge.take());
                self.tag(event.at, node);
                match style {
                    _ if *node != Node::default() => {}
                    ScalarStyle::Plain => self.plain(event, text, tabs, is_key),
                    ScalarStyle::DoubleQuoted if self.sent => self.units(event, text),
                    _ => {}
                }
            }
            What::DocumentStart | What::DocumentEnd | What::Comment { .. } => {}
        }
    }

    /// Steps over a node; returns whether it is a key.
    fn is_key(&mut self) -> bool {
        match self.open.last_mut() {
            Some(Some(waits)) => std::mem::replace(waits, !*waits),
            _ => false,
        }
    }

    /// Refuses a tag that belongs to no type of YAML.
    fn tag(&mut self, at: Position, node: &Node) {
        let known = |tag: &&String| tag.starts_with("!!") && !tag.starts_with("!!python/");
        let tag = node.tag.as_ref().filter(|tag| *tag != "!" && !known(tag));
        if let Some(tag) = tag.filter(|tag| node.anchor.is_none() && !tag.starts_with("!<")) {
            let length = tag.len() as u64;
            self.found.push(respelled(at, length, Vec::new(), "a tag"));
        }
    }

    fn plain(&mut self, event: &Event, scalar: &Text<'_>, tabs: bool, is_key: bool) {
        let text = scalar.as_str().unwrap_or_default();
        let what = if tabs {
            "a tab"
        } else if text.contains(BREAKS) {
            "a line break of YAML 1.1"
        } else if is_no_value(text.as_bytes()) {
            "a time or number that does not exist"
        } else if is_key && text == "<<" {
            self.merge = Some(refused(event, quoted(scalar), "`<<` without a mapping"));
            return;
        } else {
            return;
        };
        self.refuse(event, quoted(scalar), what);
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
        let found = refused(event, escaped(new), "in a text");
        self.found.push(Refused { code: Code::SurrogateReplaced, ..found });
    }

    fn refuse(&mut self, event: &Event, new: Vec<u8>, what: &'static str) {
        self.found.push(refused(event, new, what));
    }

    /// Refuses the tabs before an offset: they are between the events.
    fn blanks(&mut self, end: u64) {
        let refused = |at| respelled(at, 1, vec![b' '], "a tab");
        self.found.extend(self.tabs.borrow_mut().before(end).map(refused));
    }
}

/// Characters that are line breaks for YAML 1.1 only.
const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

fn refused(event: &Event, new: Vec<u8>, what: &'static str) -> Refused {
    respelled(event.at, event.end.byte.saturating_sub(event.at.byte), new, what)
}

fn respelled(at: Position, length: u64, new: Vec<u8>, what: &'static str) -> Refused {
    Refused { at, length, new, code: Code::Respelled, what }
}

/// Spells a text in double quotes, with escapes that JSON and YAML share.
fn quoted(text: &Text<'_>) -> Vec<u8> {
    escaped(text.to_json())
}

/// Spells the line breaks of YAML 1.1 in a JSON string as escapes.
fn escaped(json: Vec<u8>) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(&json).into_owned();
    for found in BREAKS {
        text = text.replace(found, &format!("\\u{:04x}", u32::from(found)));
    }
    text.into_bytes()
}
