//! Detection of the whole parts of a block.

use super::block::Kind;
use super::indentation::straightened;
use super::line::{begins_with_dash, spaces};
use super::spell;
use crate::json::{Json, is_whole, without_nan};
use crate::yaml::json::{Nodes, Scalars};
use crate::yaml::read::{Budget, Events, Limits, What};
use bytes::Bytes;
use std::ops::Range;

/// Result of checking a block.
#[derive(Debug, Default)]
pub struct Checked {
    /// The ranges of its bytes that stay, ascending; all of it is one range.
    pub staying: Vec<Range<usize>>,
    /// Content of these ranges, if anything stays.
    pub content: Option<Json>,
    /// The block with its lines at their places, if straightening makes it whole.
    pub straight: Option<Vec<u8>>,
}

impl Checked {
    fn whole(bytes: &[u8], value: Option<Json>) -> Self {
        Self::of(vec![Range { start: 0, end: bytes.len() }], value)
    }

    /// Makes the result for ranges that stay in their place.
    pub fn of(kept: Vec<Range<usize>>, value: Option<Json>) -> Self {
        Self { staying: kept, content: value, straight: None }
    }

    /// Whether all of the block's `length` bytes stay.
    pub fn is_all(&self, length: usize) -> bool {
        matches!(self.staying.as_slice(), [one] if one.len() == length)
    }
}

/// Parses one YAML document as JSON; every scalar is a text. Stubs for anchors of other blocks are
/// put before the document.
fn parse(text: &[u8]) -> Option<Json> {
    let mut stubs = Vec::new();
    let indent = spaces(text);
    let mut count = 0;
    for word in text.split(|b| b.is_ascii_whitespace()) {
        if let Some(name) = word.strip_prefix(b"*").filter(|name| name.starts_with(b"id"))
            && text.get(indent) == Some(&b'-')
        {
            stubs.extend(std::iter::repeat_n(b' ', indent));
            stubs.extend_from_slice(&[b"- &".as_slice(), name, b" x\n"].concat());
            count += 1;
        }
    }
    let text = [stubs.as_slice(), text].concat();
    let mut events = Events::new(text.as_slice(), Limits::default());
    let mut nodes = Nodes::new(Budget::of(1 << 20));
    let mut out = Vec::new();
    let begins = |what: &What| matches!(what, What::DocumentStart);
    let first = loop {
        let event = nodes.next(&mut events).ok()?;
        if !begins(&event.what) {
            break event;
        }
    };
    nodes.value(&mut events, first, Scalars::Text, &mut out).ok()?;
    while let Some(event) = events.next().ok()? {
        if !matches!(event.what, What::DocumentEnd | What::Comment { .. }) {
            return None;
        }
    }
    let json = Json::trusted(Bytes::from(out));
    if text.get(indent) == Some(&b'-') {
        let mut items = json.elements().skip(count);
        return items.next().filter(|_| items.next().is_none());
    }
    Some(json)
}

/// Parses one YAML document for other modules.
pub fn one(text: &[u8]) -> Option<Json> {
    parse(text)
}

/// Whether a message has all members that its role requires.
pub fn is_complete(message: &Json) -> bool {
    let has = |object: &Json, name| object.member(name).is_some_and(|value| !value.is_null());
    let whole = |call: &Json| {
        let function = call.member("function");
        let called = |f: &Json| has(f, "name") && has(f, "arguments");
        has(call, "id") && function.as_ref().is_some_and(called)
    };
    match message.text_of("role").as_deref() {
        Some("assistant") => match message.member("tool_calls") {
            Some(calls) => {
                let mut calls = calls.elements().peekable();
                calls.peek().is_some() && calls.all(|call| whole(&call))
            }
            None => has(message, "content"),
        },
        Some("tool") => has(message, "content") && has(message, "tool_call_id"),
        Some(_) => has(message, "content"),
        None => false,
    }
}

/// Function that returns whether an unterminated text is known to be complete from elsewhere in the
/// file.
pub type Known<'k> = &'k dyn Fn(&str) -> bool;

/// Facts about the surroundings of a block.
#[derive(Clone, Copy)]
pub struct Around<'k> {
    /// Whether no block follows.
    pub last: bool,
    /// Whether not even a line ending follows: a text without quotes may then have gone on, unless
    /// it is known.
    pub cut: bool,
    /// Texts that are known to be complete.
    pub known: Known<'k>,
    /// Indentation of messages, if that is known.
    pub place: Option<usize>,
}

/// Checks a block.
pub fn check(kind: &Kind, bytes: &[u8], around: Around<'_>) -> Checked {
    let Around { last, cut, known, place } = around;
    // The space before a member of the top is removed.
    if matches!(kind, Kind::Top(_)) && spaces(bytes) > 0 {
        let (space, bytes) = bytes.split_at(spaces(bytes));
        let found = check(kind, bytes, around);
        let moved = |kept: Range<usize>| kept.start + space.len()..kept.end + space.len();
        return Checked::of(found.staying.into_iter().map(moved).collect(), found.content);
    }
    if let Some(found) = opening(kind, bytes).or_else(|| outside(kind, bytes)) {
        return found;
    }
    let straight = place.and_then(|place| straightened(kind, bytes, place));
    let beside = |straight: &Vec<u8>| spaces(straight) != spaces(bytes) || parse(bytes).is_none();
    if let Some(straight) = straight.filter(beside) {
        let found = check(kind, &straight, around);
        if !found.is_all(straight.len()) {
            return Checked::default();
        }
        return Checked { straight: Some(straight), ..Checked::whole(bytes, found.content) };
    }
    let begun = if cut { before_begun(kind, bytes) } else { None };
    if let Some(before) = begun.or_else(|| before_bare(kind, bytes).filter(|_| last)) {
        let checked = check(kind, before, Around { cut: false, ..around });
        if !checked.staying.is_empty() {
            return checked;
        }
    }
    let item = matches!(kind, Kind::Turn | Kind::Message);
    let complete = |says: &Json| match kind {
        Kind::Message => says.is_object() && (!last || is_complete(says)),
        Kind::Turn => says.is_object() && has_list(says),
        Kind::Top(_) | Kind::Key(_) => says.is_object(),
        Kind::Before | Kind::Between => false,
    };
    let whole =
        parse(bytes).filter(|_| !(is_headless(kind, bytes) || cut && is_torn(bytes, known)));
    if let Some(says) = whole.filter(|says| complete(says)) {
        return Checked::whole(bytes, Some(says));
    }
    let mut kept = Vec::new();
    for entry in
        if item { entries(kind, bytes) } else { vec![Range { start: 0, end: bytes.len() }] }
    {
        let at_end = cut && entry.end == bytes.len();
        let text = bytes.get(entry.clone()).unwrap_or_default();
        match whole_part(text, at_end, known) {
            0 => {}
            length => kept.push(entry.start..entry.start + length),
        }
    }
    let says = parse(&written(kind, bytes, &kept));
    let whole = |says: &Json| says.is_object() && (kind != &Kind::Message || is_complete(says));
    match says.filter(whole) {
        Some(says) if !kept.is_empty() => Checked::of(kept, Some(says)),
        _ => Checked::default(),
    }
}

/// Returns the text before a line that was begun and that belongs to no text of the block.
/// Continued texts are indented further than members, and further than the member before them that
/// is deeper in the block. Elements of a list may be indented as far as its name.
fn before_begun<'b>(kind: &Kind, bytes: &'b [u8]) -> Option<&'b [u8]> {
    // The key of messages has no content without the messages.
    if matches!(kind, Kind::Key(_)) {
        return None;
    }
    let start = memchr::memrchr(b'\n', bytes)? + 1;
    let (before, line) = bytes.split_at_checked(start)?;
    if ends_in_comment(bytes) {
        return None;
    }
    let (inner, indent) = (spaces(line), members_indent(kind, bytes));
    let above = before.trim_ascii_end().rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let named = above.ends_with(b":") || memchr::memmem::find(above, b": ").is_some();
    let element = above.trim_ascii_start().starts_with(b"- ");
    let beside = spaces(above) + if element { 2 } else { 0 };
    let begins = match line.get(inner) {
        None => true,
        Some(b'-') => inner < indent,
        Some(_) => inner <= indent || named && inner == beside,
    };
    begins.then_some(before)
}

/// Returns the text before the last member of an item if only the member's name is left.
fn before_bare<'b>(kind: &Kind, bytes: &'b [u8]) -> Option<&'b [u8]> {
    let text = bytes.trim_ascii_end();
    let start = memchr::memrchr(b'\n', text)? + 1;
    let (before, line) = bytes.split_at_checked(start)?;
    let item = matches!(kind, Kind::Turn | Kind::Message);
    let bare = text.ends_with(b":") && spaces(line) == members_indent(kind, bytes);
    (item && bare).then_some(before)
}

/// Returns the indentation of a block's members.
pub fn members_indent(kind: &Kind, bytes: &[u8]) -> usize {
    let item = matches!(kind, Kind::Turn | Kind::Message);
    spaces(bytes) + if item && begins_with_dash(bytes) { 2 } else { 0 }
}

/// Whether the line with which an item began is lost.
pub fn is_headless(kind: &Kind, bytes: &[u8]) -> bool {
    matches!(kind, Kind::Turn | Kind::Message) && !begins_with_dash(bytes)
}

/// Whether no text follows the name of a member on its line, so that lists may follow.
pub fn is_bare(name: &str, member: &[u8]) -> bool {
    let line = member.split(|b| *b == b'\n').next().unwrap_or_default();
    line.trim_ascii() == format!("{name}:").as_bytes()
}

/// Whether messages follow the key of a turn, and not the value for no messages.
pub fn opens_messages(key: &[u8]) -> bool {
    let line = key.split(|b| *b == b'\n').next().unwrap_or_default();
    line.trim_ascii_end().ends_with(b":")
}

/// Whether the key of a turn is beside the place of keys.
pub fn is_askew(key: &[u8]) -> bool {
    spaces(key) != 2
}

/// Checks the line that turns or messages follow: other text in its block belongs to none of them.
fn opening(kind: &Kind, bytes: &[u8]) -> Option<Checked> {
    let mut lines = bytes.split_inclusive(|b| *b == b'\n');
    let first = lines.next()?;
    let remarks = lines.all(is_remark);
    let (name, opens) = match kind {
        Kind::Top(name) => {
            (name, ["turns", "messages"].contains(&name.as_str()) && is_bare(name, first))
        }
        // The first message of a turn without its first line is not a list, nor part of one.
        Kind::Key(name) => (name, opens_messages(first) && !remarks && !is_key_of_list(bytes)),
        _ => return None,
    };
    if !opens {
        return None;
    }
    let end = if remarks { bytes.len() } else { first.len() };
    let says = Json::trusted(format!("{{\"{name}\":null}}").into());
    Some(Checked::of(vec![Range { start: 0, end }], Some(says)))
}

/// Returns the result for a block that is none of the file's members: only remarks at the beginning
/// stay.
fn outside(kind: &Kind, bytes: &[u8]) -> Option<Checked> {
    match kind {
        Kind::Before if is_only_remarks(bytes) => {
            Some(Checked::whole(bytes, Some(Json::constant("{}"))))
        }
        Kind::Before | Kind::Between => Some(Checked::default()),
        Kind::Key(_) if !is_key_of_list(bytes) => Some(Checked::default()),
        _ => None,
    }
}

/// Whether the value of a turn's key is a list or null.
fn is_key_of_list(bytes: &[u8]) -> bool {
    let list = |value: &[u8]| value == b"null" || value.starts_with(b"[");
    parse(bytes).is_some_and(|says| says.members().all(|(_, value)| list(value)))
}

/// Maximum number of last elements of a torn list at which its end is looked for. For each of them
/// all text before is parsed, and the lines of a long text may look like elements.
const TRIED: usize = 64;

/// Returns how many bytes of an item's member stay: all, the whole elements of its list, or none.
fn whole_part(text: &[u8], cut: bool, known: Known<'_>) -> usize {
    let alone = |text: &[u8]| parse(text).is_some_and(|says| is_entry(&says));
    if alone(text) && !(cut && is_torn(text, known)) {
        return text.len();
    }
    // The last line or the last element may be torn.
    let starts = memchr::memchr_iter(b'\n', text).map(|end| end + 1).filter(|s| *s < text.len());
    let mut starts: Vec<_> = starts.collect();
    starts.retain(|start| {
        let line = text.get(*start..).unwrap_or_default();
        line.trim_ascii_start().starts_with(b"- ")
    });
    let shorter = |start: &usize| {
        let before = text.get(..*start).unwrap_or_default();
        before.ends_with(b"\n") && alone(before) && !before.trim_ascii_end().ends_with(b":")
    };
    starts.into_iter().rev().take(TRIED).find(shorter).unwrap_or(0)
}

/// Whether the messages of a turn, if they are a text, contain a list as Python reads it.
fn has_list(turn: &Json) -> bool {
    let text = turn.text_of("messages");
    text.is_none_or(|text| {
        let plain = without_nan(text.as_bytes()).unwrap_or_else(|| text.into_bytes());
        plain.trim_ascii_start().starts_with(b"[") && is_whole(&plain)
    })
}

/// Whether the value is one member with a value.
fn is_entry(value: &Json) -> bool {
    let mut members = value.members();
    if !has_list(value) {
        return false;
    }
    let one = members.next().is_some_and(|(_, value)| value != b"null");
    value.is_object() && one && members.next().is_none()
}

/// Whether a text without an ending may have gone on: a text without quotes that is not known.
fn is_torn(text: &[u8], known: Known<'_>) -> bool {
    let line = text.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    if ends_in_comment(text) {
        return false;
    }
    let line = String::from_utf8_lossy(line);
    let is_element = line.trim_start().starts_with("- ");
    let line = line.trim_start_matches([' ', '-']);
    let value = line.split_once(": ").map_or(line, |(_, value)| value);
    // A quote at the end of an element that begins without one is part of the text.
    let plain = is_element && !value.starts_with(['\'', '"', '[', '{']);
    let closed = !plain && value.ends_with(['\'', '"', ']', '}']) && value.len() > 1;
    !(closed || text.ends_with(b"\n") || known(value))
}

/// Whether the text contains only remarks, which can be read.
fn is_only_remarks(text: &[u8]) -> bool {
    let mut events = Events::new(text, Limits::default());
    loop {
        match events.next() {
            Ok(Some(event)) if matches!(event.what, What::Comment { .. }) => {}
            Ok(event) => return event.is_none(),
            Err(_) => return false,
        }
    }
}

/// Whether the last line is a comment. A line further to the right may belong to a text.
fn ends_in_comment(text: &[u8]) -> bool {
    let line = text.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    is_comment(line) && spaces(line) <= spaces(text)
}

fn is_remark(line: &[u8]) -> bool {
    line.trim_ascii().is_empty() || is_comment(line)
}

fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"#")
}

/// Returns the members of an item, by their lines; the first one begins with the item's `-`, if
/// that is there.
fn entries(kind: &Kind, bytes: &[u8]) -> Vec<Range<usize>> {
    let indent = members_indent(kind, bytes);
    let mut starts = vec![0];
    let mut at = 0;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let inner = spaces(line);
        let begins = !matches!(line.get(inner), Some(b'-' | b'\n' | b'\r' | b'#') | None);
        if at > 0 && inner == indent && begins && line.contains(&b':') {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns the range of a turn's list in its block.
pub fn list_in(turn: &[u8]) -> Range<usize> {
    let list = |entry: &Range<usize>| {
        let text = turn.get(entry.clone()).unwrap_or_default().trim_ascii_start();
        text.strip_prefix(b"-").unwrap_or(text).trim_ascii_start().starts_with(b"messages:")
    };
    entries(&Kind::Turn, turn).into_iter().find(list).unwrap_or_default()
}

/// Spells a list as the member of a turn.
pub fn list_of(turn: &[u8], list: &Json) -> Vec<u8> {
    let indent = spaces(turn) + 2;
    let text = Json::string(&String::from_utf8_lossy(list.as_bytes()));
    spell::member("messages", &text, indent)
}

/// Replaces the list of a turn by another.
pub fn relisted(mut turn: Vec<u8>, list: &[u8]) -> Vec<u8> {
    let place = list_in(&turn);
    let indent = spaces(list);
    // The first member has the item's `-` before it.
    let entry = turn.get(place.clone()).unwrap_or_default();
    let lead = entry.get(..indent).unwrap_or_default();
    let new = [lead, list.get(indent..).unwrap_or_default()].concat();
    if !place.is_empty() {
        turn.splice(place, new);
    }
    turn
}

/// Returns the text of the parts of a block that stay: the first member that stays gets the item's
/// `-`, and the last line ends.
pub fn written(kind: &Kind, bytes: &[u8], kept: &[Range<usize>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 1);
    for range in kept {
        let start = out.len();
        out.extend_from_slice(bytes.get(range.clone()).unwrap_or_default());
        let item = begins_with_dash(bytes) && range.start > 0 || is_headless(kind, bytes);
        if start == 0
            && item
            && let Some(place) = spaces(&out).checked_sub(2).and_then(|place| out.get_mut(place))
        {
            *place = b'-';
        }
        if !out.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
    out
}
