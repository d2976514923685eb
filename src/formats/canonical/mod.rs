//! Canonical record stream as a format of its own: JSON Lines, one record per line.
//!
//! Each line is an object with a member `kind`; the other members are the kind's fields, each in
//! its shape (`copyist schema canonical`). The stream is the program's form of a session between
//! reading and writing, so that the user can inspect a wrong conversion, edit it, and resume from
//! here. Blank lines are ignored.
//!
//! Importers write the stream as well, with a `session` record first that has no `source`, or a
//! `source` that is not the name of a format. Messages may then lack identifiers (`naming.rs`), and
//! the stream itself determines which of them are sent to a model (`context.rs`).

mod context;
mod naming;
mod read;
mod repair;
mod write;

pub use crate::mapping::record_text::{line, line_of, normal_line_of, object_of};
pub use naming::named;

use crate::error::Result;
use crate::format::{
    Agent, ByteLines, Confidence, Cx, Format, Head, Plane, Required, Sniffed, Target, Version,
    no_header,
};
use crate::lines::Line;
use crate::mapping::{Source, record_text};
use crate::members::Scan;
use crate::position::Position;
use crate::record::{Kind, Record};
use bytes::Bytes;

/// Entry of the format in the table of formats.
pub static FORMAT: Format = Format {
    aliases: &["copyist"],
    plane: Some(ByteLines { check, many: None, leads: |_| false, open }),
    agent: Agent { context: Some(context::open), ..Agent::UNKNOWN },
    ..Format::new(Required {
        name: "canonical",
        summary: "the stream of records to which every format is mapped (JSON Lines)",
        source: "copyist's own design",
        versions: &[Version {
            number: 1,
            summary: "records of every kind",
            schema: include_str!("../../../schemas/canonical.schema.json"),
            tree: true,
            kinds: Kind::ALL,
        }],
        extensions: &[".copyist.jsonl"],
        sniff,
        read: read::open,
        write: write::open,
        repair: repair::repair,
    })
};

fn sniff(head: &Head<'_>) -> Option<Sniffed> {
    let called = Head::is_called(head.name, FORMAT.extensions);
    let behind = || head.behind_tears(called, |line| kind_of(line).is_some());
    let mut kinds = behind().map_while(kind_of).peekable();
    let found = |confidence| Some(Sniffed { confidence, version: 1 });
    if kinds.peek().is_none() {
        // Nothing else may follow the lines that a merge or the user put in front of a stream.
        let session = |line: &[u8]| kind_of(line) == Some(Kind::Session);
        let buried = called && behind().take(SNIFFED).any(session);
        return if buried { found(Confidence::Buried) } else { None };
    }
    // Lines of a source before its header come before the session record, too.
    let is_session = kinds.find(|kind| *kind != Kind::Opaque) == Some(Kind::Session);
    let whole = head.lines().next() == behind().next();
    found(if is_session && whole { Confidence::Certain } else { Confidence::Strong })
}

/// Maximum number of lines that detection looks at.
const SNIFFED: usize = 16;

/// Returns the kind of the record on a line.
fn kind_of(line: &[u8]) -> Option<Kind> {
    let line = Bytes::copy_from_slice(line);
    let kind = Source::new(&line).peek_text("kind").ok()??;
    Kind::named(kind.as_bytes())
}

fn check(line: &Line<'_>, _: &mut Scan) -> Result<bool> {
    record_text::parse(line, &Bytes::copy_from_slice(line.bytes)).map(|_| true)
}

fn open<'a>(line: &Line<'_>, _: Target, _cx: &'a Cx<'a>) -> Result<Box<dyn Plane + 'a>> {
    if sniff(&Head { name: "", bytes: line.bytes, whole: true, encoding: None }).is_none() {
        return Err(no_header(line, "first record has no `kind`"));
    }
    Ok(Box::new(Copy))
}

/// Reads one record from its line, without line ending. The role of a message is not checked
/// against its content.
pub fn record(line: &Bytes) -> Result<Record> {
    let at = Position { line: 1, ..Position::default() };
    record_text::parse_any(&Line { bytes: line, at, terminated: true }, line)
}

/// Reads one record from its line, without line ending, and checks the role of a message against
/// its content.
pub fn whole_record(line: &Bytes) -> Result<Record> {
    let at = Position { line: 1, ..Position::default() };
    record_text::parse(&Line { bytes: line, at, terminated: true }, line)
}

/// Plane that passes each checked line on.
struct Copy;

impl Plane for Copy {
    fn from(&self) -> u32 {
        1
    }

    fn changes(&self) -> bool {
        false
    }

    fn line(&mut self, line: &Line<'_>, _: Option<&Scan>, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(line.bytes);
        Ok(())
    }
}
