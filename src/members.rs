//! Members of a line that migration needs, found in the one walk that checks the line.

use crate::json::{Cursor, Fault, Span, Tokens, Walk, text};

/// A member of the line's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its key, quotes included.
    pub key: Span,
    /// Its value.
    pub value: Span,
    /// End of the member before it, or of the opening brace.
    pub before: usize,
    /// Begin of the member behind it, or of the closing brace.
    pub after: usize,
}

impl Member {
    /// Returns the span of the member with one comma, so that the rest of the line's object is
    /// valid without it.
    pub fn with_comma(&self, line: &[u8], members: usize) -> Span {
        if members > 1 && line.get(self.before.wrapping_sub(1)) == Some(&b'{') {
            Span { start: self.key.start, end: self.after }
        } else {
            Span { start: self.before, end: self.value.end }
        }
    }
}

/// A checked line and the places in it. Of a member that occurs twice the last counts, as in
/// JavaScript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// `type`.
    pub kind: Option<Member>,
    /// `id`.
    pub id: Option<Member>,
    /// `parentId`.
    pub parent: Option<Member>,
    /// `version`.
    pub version: Option<Member>,
    /// `timestamp`.
    pub time: Option<Member>,
    /// `message`, if it is an object.
    pub message: Option<Span>,
    /// `message.role`.
    pub role: Option<Span>,
    /// `firstKeptEntryIndex`.
    pub kept_index: Option<Member>,
    /// `firstKeptEntryId`.
    pub kept_id: Option<Member>,
    /// `targetId`.
    pub target: Option<Member>,
    /// `copyist`.
    pub note: Option<Member>,
    /// The closing brace.
    pub close: usize,
    /// How many members there are.
    pub members: usize,
}

impl Scan {
    /// Walks a line that is UTF-8. `None` if it is JSON but not an object.
    pub fn of(line: &[u8]) -> Result<Option<Self>, Fault> {
        let mut scan = Self::default();
        Ok(scan.walk(line)?.then_some(scan))
    }

    /// Walks a line that is UTF-8, with a fresh scan that stays in its place; returns false if the
    /// line is not an object.
    pub fn walk(&mut self, line: &[u8]) -> Result<bool, Fault> {
        if let Some(mut tokens) = Tokens::of(line) {
            if let Ok(true) = self.along(&mut tokens, line) {
                return Ok(true);
            }
            *self = Self::default();
        }
        self.along(&mut Cursor::new(line), line)
    }

    /// Walks along a line with any source of tokens, with a fresh scan.
    ///
    /// # Errors
    /// The errors of [`walk`](Self::walk). Those that [`Tokens`] find contain no position.
    pub fn along(&mut self, cursor: &mut impl Walk, line: &[u8]) -> Result<bool, Fault> {
        if cursor.peek() != Some(b'{') {
            cursor.skip_value()?;
            return cursor.end().map(|()| false);
        }
        cursor.begin_object()?;
        let mut before = cursor.last() + 1;
        let mut last: Option<Name> = None;
        while let Some(key) = cursor.next_key()? {
            self.members += 1;
            if let Some(member) = last.and_then(|name| self.at(name)) {
                member.after = key.start;
            }
            let name = Name::of(key.of(line));
            let value = if name == Some(Name::Message) {
                self.message(cursor, line)?
            } else {
                cursor.skip_value()?
            };
            let member = Member { key, value, before, after: value.end };
            if let Some(name) = name {
                self.put(name, member);
            }
            last = name;
            before = value.end;
        }
        let close = cursor.last();
        self.close = close;
        if let Some(member) = last.and_then(|name| self.at(name)) {
            member.after = close;
        }
        cursor.end()?;
        Ok(true)
    }

    fn message(&mut self, cursor: &mut impl Walk, line: &[u8]) -> Result<Span, Fault> {
        (self.role, self.message) = (None, None);
        if cursor.peek() != Some(b'{') {
            return cursor.skip_value();
        }
        cursor.begin_object()?;
        let start = cursor.last();
        while let Some(key) = cursor.next_key()? {
            let value = cursor.skip_value()?;
            let key = key.of(line);
            // The second letter distinguishes most keys.
            if matches!(key, [_, b'r' | b'\\', ..]) && text::is(key, "role") {
                self.role = Some(value);
            }
        }
        let message = Span { start, end: cursor.last() + 1 };
        self.message = Some(message);
        Ok(message)
    }

    fn slot(&mut self, name: Name) -> Option<&mut Option<Member>> {
        match name {
            Name::Type => Some(&mut self.kind),
            Name::Id => Some(&mut self.id),
            Name::Parent => Some(&mut self.parent),
            Name::Time => Some(&mut self.time),
            Name::Version => Some(&mut self.version),
            Name::KeptIndex => Some(&mut self.kept_index),
            Name::KeptId => Some(&mut self.kept_id),
            Name::Target => Some(&mut self.target),
            Name::Note => Some(&mut self.note),
            Name::Message => None,
        }
    }

    fn at(&mut self, name: Name) -> Option<&mut Member> {
        self.slot(name)?.as_mut()
    }

    fn put(&mut self, name: Name, member: Member) {
        if let Some(slot) = self.slot(name) {
            *slot = Some(member);
        }
    }

    /// Whether the line's `type` is `name`.
    pub fn is(&self, line: &[u8], name: &str) -> bool {
        self.kind.is_some_and(|kind| text::is(kind.value.of(line), name))
    }
}

/// One line of several, and its members.
#[derive(Debug)]
pub struct Found {
    /// End of the line: its line break, or the end of the lines.
    pub end: usize,
    /// Members of the line, if it is good.
    pub scan: Scan,
    /// Whether the line is an object; blank lines and damaged ones are not.
    pub good: bool,
}

impl Found {
    /// Returns a line of which only the end is known.
    pub fn at(end: usize) -> Self {
        Self { end, scan: Scan::default(), good: false }
    }
}

/// Finds the members of consecutive lines, each with its line break, in one walk. Returns where it
/// stopped: at the end, or where a line begins that must be checked alone.
pub fn of_lines(lines: &[u8], found: &mut Vec<Found>) -> usize {
    match Tokens::of(lines) {
        Some(tokens) => along_lines(tokens.in_lines(), lines, found),
        None => 0,
    }
}

/// Finds the members of consecutive lines along tokens of [lines](Tokens::in_lines). Returns where
/// it stopped.
pub fn along_lines(mut tokens: Tokens<'_>, lines: &[u8], found: &mut Vec<Found>) -> usize {
    if simdutf8::basic::from_utf8(lines).is_err() {
        return 0;
    }
    let mut start = 0;
    while let Some(rest) = lines.get(start..).filter(|rest| !rest.is_empty()) {
        found.push(Found::at(start));
        let Some(line) = found.last_mut() else { break };
        let blank = tokens.peek() == Some(b'\n');
        let walked = if blank { Ok(false) } else { line.scan.along(&mut tokens, rest) };
        let (Ok(good), Some(length)) = (walked, tokens.next_line()) else {
            found.pop();
            break;
        };
        line.good = good;
        line.end = start + length;
        start = line.end + 1;
    }
    start
}

/// Name of a member that is looked for.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    Type,
    Id,
    Parent,
    Time,
    Version,
    Message,
    KeptIndex,
    KeptId,
    Target,
    Note,
}

impl Name {
    #[inline]
    fn of(key: &[u8]) -> Option<Self> {
        Some(match key {
            b"\"type\"" => Self::Type,
            b"\"id\"" => Self::Id,
            b"\"parentId\"" => Self::Parent,
            b"\"timestamp\"" => Self::Time,
            b"\"version\"" => Self::Version,
            b"\"message\"" => Self::Message,
            b"\"firstKeptEntryIndex\"" => Self::KeptIndex,
            b"\"firstKeptEntryId\"" => Self::KeptId,
            b"\"targetId\"" => Self::Target,
            b"\"copyist\"" => Self::Note,
            _ if key.contains(&b'\\') => return Self::of_escaped(key),
            _ => return None,
        })
    }

    /// Returns the member for a key spelled with escapes.
    fn of_escaped(key: &[u8]) -> Option<Self> {
        let mut plain = Vec::new();
        text::quote(&text::decode(key)?, &mut plain);
        if plain.contains(&b'\\') { None } else { Self::of(&plain) }
    }
}
