//! Joins several sessions into one, for an agent that kept a file for each time that it was
//! started.

use crate::convert::report_losses;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Parts, Sink};
use crate::formats::Spec;
use crate::formats::canonical;
use crate::json::Json;
use crate::migrate::Outcome;
use crate::origin::{Header, Keep, Kept, Measured, RecordStore};
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record};
use crate::stage::Like;

/// A session that is to be part of a joined session.
pub struct Piece<'a> {
    /// Format of the session.
    pub format: &'static Format,
    /// Its parts.
    pub parts: &'a mut dyn Parts,
}

/// Writes sessions one behind the other, in their order, as one. Turns are numbered continuously,
/// and each session's first entry follows the last of the session before. The prompt of the result
/// is the last session's, and its other properties are the first one's.
///
/// # Errors
/// If one of them is damaged beyond what the options allow or is of the target's own version, or
/// reading or writing fails.
///
/// ```
/// use copyist::diagnostic::Log;
/// use copyist::format::{Cx, Options};
/// use copyist::formats::{Spec, connectonion};
/// use copyist::join::{Piece, run};
/// use copyist::memory::{Buffer, Bytes};
/// let file = |day, question| format!(
///     "name: a\ncreated: '{day}'\nturns:\n- input: {question}\n  turn: 1\nmessages:\n  1:\n  - role: user\n    content: {question}\n"
/// );
/// let (options, log) = (Options::default(), Log::default());
/// let cx = Cx { options: &options, log: &log };
/// let mut files = [Bytes::new(file("2025-12-03", "one")), Bytes::new(file("2025-12-04", "two"))];
/// let mut pieces: Vec<_> =
///     files.iter_mut().map(|parts| Piece { format: &connectonion::FORMAT, parts }).collect();
/// let mut out = Buffer::default();
/// run(&mut pieces, Spec::parse("canonical").unwrap(), &mut out, &cx)?;
/// let text = String::from_utf8(out.main()).unwrap();
/// assert!(text.contains(r#"{"kind":"turn","input":"two","number":2}"#), "{text}");
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub fn run(
    pieces: &mut [Piece<'_>],
    to: Spec,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let source = canonical::FORMAT.name.to_owned();
    let target = to.format.at(to.version().number);
    let read = canonical::FORMAT.at(1);
    let header = Header::new(source, read, target.clone(), Like::of(sink), cx);
    let stream = to.format.name == canonical::FORMAT.name;
    let keeps = cx.options.origin && !stream;
    let keep = if keeps { Keep::begin(sink, header)? } else { None };
    // The origin contains the joined stream.
    let mut joined = keep.as_ref().map(|_| sink.spool().map(RecordStore::new)).transpose()?;
    let mut sink = Measured::over(sink);
    let mut writer = (to.format.write)(&mut sink, to.version(), cx)?;
    let mut done = Outcome { changed: true, ..Outcome::default() };
    let mut seam = Seam::default();
    // A writer restores its own files as they were, and data that occur twice in them stay so.
    for (place, piece) in (0..).zip(pieces) {
        cx.log.turn_to(place);
        for item in piece.format.records(piece.parts, cx)? {
            let mut located = item?;
            done.records += 1;
            located.at.part = place;
            if located.value.node.is(Field::Source, &target) {
                let message = format!("files of {target} are joined into other formats only");
                return Err(Error::request(Code::WrongVersion, message));
            }
            if seam.adapt(&mut located, cx) {
                joined.as_mut().map_or(Ok(()), |joined| joined.add(&located.value))?;
                writer.record(&located)?;
            }
        }
        seam.next_session();
    }
    cx.log.turn_to(0);
    writer.finish()?;
    if let (Some(keep), Some(mut joined)) = (keep, joined) {
        let parts = &mut joined.parts()?;
        let stream = Kept { format: &canonical::FORMAT, parts, further: Vec::new() };
        keep.finish(stream, to.format, &mut sink, cx)?;
        cx.log.carried();
    }
    report_losses(to, cx);
    Ok(done)
}

/// State that a session needs from the sessions before it.
#[derive(Default)]
struct Seam {
    /// Number of sessions that were written.
    sessions: u64,
    /// Numbers of the turns of the sessions before, and of this session.
    before: u64,
    turns: u64,
    /// The last entry.
    last: Option<Json>,
    /// The last system message.
    system: Option<Node>,
    /// An entry that is left out, with the entry before it.
    omitted: Option<(Json, Option<Json>)>,
}

impl Seam {
    fn next_session(&mut self) {
        self.sessions += 1;
        self.before += std::mem::take(&mut self.turns);
    }

    /// Adapts a record to the joined session; returns false if nothing of it is left to write.
    fn adapt(&mut self, located: &mut Located<Record>, cx: &Cx<'_>) -> bool {
        let record = &mut located.value;
        match record.kind {
            Kind::Session if self.sessions > 0 => return self.session(record, cx),
            Kind::Message if self.repeats(record) => {
                let id = record.node.json(Field::Id).cloned();
                self.omitted = id.map(|id| (id, self.last.clone()));
                return false;
            }
            Kind::Turn => {
                self.turns += 1;
                self.count_on(record, Field::Number);
            }
            _ => self.count_on(record, Field::Turn),
        }
        if record.is_node() {
            self.follow(&mut record.node);
            self.last = record.node.json(Field::Id).cloned().or(self.last.take());
        }
        true
    }

    /// Whether a system message of a later session only repeats the system message of the session
    /// before.
    fn repeats(&mut self, record: &Record) -> bool {
        if !record.node.is(Field::Role, "system") {
            return false;
        }
        let prompt =
            Node::default().with_some(Field::Content, record.node.get(Field::Content).cloned());
        let same = self.sessions > 0 && self.system.as_ref() == Some(&prompt);
        self.system = Some(prompt);
        same
    }

    /// Makes an entry follow the last one, if it began its session or followed an entry that is
    /// left out.
    fn follow(&self, node: &mut Node) {
        let parent = node.json(Field::Parent).filter(|parent| !parent.is_null());
        match (parent, &self.omitted, &self.last) {
            (Some(parent), Some((id, before)), _) if parent == id => match before.clone() {
                Some(before) => node.set(Field::Parent, before),
                None => node.set(Field::Parent, Json::constant("null")),
            },
            (None, _, Some(last)) => node.set(Field::Parent, last.clone()),
            _ => {}
        }
    }

    /// Replaces the number of a turn by its number among all turns.
    fn count_on(&self, record: &mut Record, field: Field) {
        let number = record.node.json(field).and_then(Json::float).filter(|_| self.before > 0);
        if let Some(number) = number {
            record.node.set(field, Json::number(number as u64 + self.before));
        }
    }

    /// Adapts the session record of a later session: its prompt is the prompt of the joined session
    /// from here on, and its time the last one.
    fn session(&self, record: &mut Record, cx: &Cx<'_>) -> bool {
        let mut rest = Record::new(Kind::Session);
        let updated = record.node.take(Field::Updated).or(record.node.take(Field::Created));
        rest.node.put(Field::Updated, updated);
        rest.node.put(Field::SystemPrompt, record.node.take(Field::SystemPrompt));
        let expected = [Field::Source, Field::Agent, Field::File, Field::Created];
        for field in record.node.fields().filter(|field| !expected.contains(field)) {
            cx.log.lost(&format!("session.{} of a later session", field.name()));
        }
        *record = rest;
        !record.node.is_empty()
    }
}
