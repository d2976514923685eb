//! Programs that write pi's format their own way: names of files, and the title slot.
//!
//! oh-my-pi begins a file with a slot: a line `{"type":"title","v":1,"title","source"?,"updatedAt",
//! "pad"}` of 256 bytes with its ending, which it writes over in place. The header is the second
//! line. The slot's title counts, not the header's. Further types of entries are `title_change`,
//! `mode_change`, `session_init`, `model_usage`, `service_tier_change`, `ttsr_injection`,
//! `credential_pin` and `reset_boundary`; they are kept as they are. Images of 1,024 bytes and more
//! are `blob:sha256:HASH` and are in `blobs/HASH` beside the folder `sessions`. Read in
//! `session-title-slot.ts`, `session-entries.ts`, `session-loader.ts` and `blob-store.ts` of
//! release 18.3.4; the program itself was not run.
//!
//! Sources of the names: `newSession` of pi's `session-manager.ts`, 0.7.6 to 1.5.2, and of oh-my-pi
//! 18.3.4; `resolveSessionTranscriptPath` of clawdbot 2026.1.24; `artifacts.ts` of OpenClaw
//! 2026.9.6.
//!
//! | program | name |
//! |---|---|
//! | pi, oh-my-pi | `TIME_ID.jsonl`, with `-` for `:` and `.` in the time |
//! | OpenClaw | `UUID.jsonl`, `UUID-topic-NAME.jsonl` |
//! | OpenClaw, set aside | `UUID.jsonl.reset.TIME`, `UUID.jsonl.deleted.TIME`, `UUID.jsonl.bak.TIME` |
//! | OpenClaw, before a compaction | `UUID.checkpoint.UUID.jsonl` |

use super::lineage::quoted;
use crate::error::Result;
use crate::format::Reader;
use crate::ids::{Choice, Maker};
use crate::json::{Json, member, text};
use crate::members::Scan;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, Value};

/// Whether a line is the title slot with which oh-my-pi begins a file. Real pi and its other
/// relatives take such a line for an entry without an identifier, or discard the file.
pub fn is_slot(line: &[u8]) -> bool {
    if !line.trim_ascii_start().starts_with(b"{\"type\"") {
        return false;
    }
    let Ok(Some(scan)) = Scan::of(line) else { return false };
    let has_members =
        ["v", "title", "updatedAt", "pad"].iter().all(|key| member(line, key).is_some());
    scan.is(line, "title") && scan.id.is_none() && has_members
}

/// Returns the lines of a session behind its title slot.
pub fn behind_slot<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    let mut first = true;
    lines.filter(move |line| !(std::mem::take(&mut first) && is_slot(line)))
}

/// Sets a session's name from its title slot. An empty title means that there is none.
pub fn set_name(slot: &[u8], session: &mut Node) {
    let title =
        member(slot, "title").filter(|title| text::decode(title).is_some_and(|t| !t.is_empty()));
    if let Some(title) = title {
        session.set(Field::Name, Json::trusted(bytes::Bytes::copy_from_slice(title)));
    }
}

/// Returns the records as real pi reads them: the title slot becomes the last `session_info`, so
/// that the header is the first line.
pub fn plain(reader: Reader<'_>) -> Reader<'_> {
    Box::new(Plain { reader, name: None, session: None, last: Node::default(), began: false })
}

struct Plain<'a> {
    reader: Reader<'a>,
    name: Option<Json>,
    /// The session's identifier.
    session: Option<Json>,
    /// Identifier and time of the last entry.
    last: Node,
    began: bool,
}

impl Plain<'_> {
    fn is_slot(&self, record: &Record) -> bool {
        !self.began && record.node.line().is_some_and(|line| is_slot(&line))
    }

    fn note(&mut self, record: &mut Record) {
        if record.kind == Kind::Session && !std::mem::replace(&mut self.began, true) {
            self.name = match record.node.take(Field::Name) {
                Some(Value::Json(name)) => Some(name),
                _ => None,
            };
            self.session = record.node.json(Field::Id).cloned();
        } else if record.is_node() {
            for field in [Field::Id, Field::Time] {
                record
                    .node
                    .json(field)
                    .into_iter()
                    .for_each(|own| self.last.set(field, own.clone()));
            }
        }
    }

    /// Returns the entry that names the session, once.
    fn named(&mut self) -> Option<Located<Record>> {
        let name = self.name.take()?;
        let session = self.session.as_ref().map_or(&b""[..], Json::as_bytes);
        let mut value = Record::new(Kind::SessionInfo);
        let id = Maker::new(Choice::Derived, session).id(u64::MAX);
        let id = Json::trusted(bytes::Bytes::copy_from_slice(&quoted(id)));
        let parent = self.last.json(Field::Id).cloned();
        value.node.set(Field::Id, id);
        value.node.set(Field::Parent, parent.unwrap_or_else(|| Json::constant("null")));
        self.last
            .json(Field::Time)
            .into_iter()
            .for_each(|time| value.node.set(Field::Time, time.clone()));
        value.node.set(Field::Name, name);
        Some(Located { value, at: Position::default() })
    }
}

impl Iterator for Plain<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut item = match self.reader.next() {
                None => return self.named().map(Ok),
                Some(item) => item,
            };
            if let Ok(located) = &mut item {
                if self.is_slot(&located.value) {
                    continue;
                }
                self.note(&mut located.value);
            }
            return Some(item);
        }
    }
}

/// Facts about a session from the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// The session's identifier.
    pub id: String,
    /// The time at which the session began, as the header spells it.
    pub time: Option<String>,
}

impl FileName {
    /// Reads a name; `None` if none of the programs gives such a name.
    pub fn of(name: &str) -> Option<Self> {
        timed(name).or_else(|| uuid(name))
    }
}

/// Reads the name that pi gives.
fn timed(name: &str) -> Option<FileName> {
    let (time, rest) = name.split_once('_')?;
    let id = rest.split_once('.').map_or(rest, |(id, _)| id);
    let (day, clock) = time.split_once('T')?;
    let mut parts = clock.strip_suffix('Z')?.split('-');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    let milliseconds = parts.next()?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = [hour, minute, second, milliseconds].iter().all(|part| digits(part))
        && day.split('-').all(digits)
        && !id.is_empty();
    let time = format!("{day}T{hour}:{minute}:{second}.{milliseconds}Z");
    numbers.then(|| FileName { id: id.to_owned(), time: Some(time) })
}

/// Texts that OpenClaw writes behind a session's identifier.
const BEHIND: &[&str] = &[".jsonl", ".checkpoint.", "-topic-"];

/// Reads the name that OpenClaw gives.
fn uuid(name: &str) -> Option<FileName> {
    let (id, behind) = name.split_at_checked(36)?;
    let hyphen = |place| matches!(place, 8 | 13 | 18 | 23);
    let is_uuid = id.bytes().enumerate().all(|(place, byte)| match byte {
        b'-' => hyphen(place),
        byte => !hyphen(place) && byte.is_ascii_hexdigit(),
    });
    let known = behind.is_empty() || BEHIND.iter().any(|known| behind.starts_with(known));
    (is_uuid && known).then(|| FileName { id: id.to_owned(), time: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name_of_each_program_contains_the_identifier() {
        let uuid = "11111111-2222-4333-8444-55555555555a";
        for behind in [
            "",
            ".jsonl",
            "-topic-7.jsonl",
            ".jsonl.reset.2026-01-01T00-00-00.000Z",
            ".jsonl.deleted.2026-01-01T00-00-00.000Z.zst",
            ".checkpoint.22222222-2222-4333-8444-555555555555.jsonl",
        ] {
            let named = FileName::of(&format!("{uuid}{behind}")).expect(behind);
            assert_eq!((named.id.as_str(), named.time), (uuid, None), "{behind}");
        }
        let named = FileName::of(&format!("2026-01-01T00-00-00-123Z_{uuid}.jsonl")).expect("pi");
        assert_eq!(named.time.as_deref(), Some("2026-01-01T00:00:00.123Z"));
        assert_eq!(named.id, uuid);
        for other in ["a.jsonl", "11111111-2222-4333-8444-55555555555aa.jsonl", "notes_a.jsonl"] {
            assert_eq!(FileName::of(other), None, "{other}");
        }
    }
}
