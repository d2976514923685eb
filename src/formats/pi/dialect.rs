//! Programs that write pi's format their own way: names of files, and the title slot.
//!
//! oh-my-pi begins a file with a slot: a line `{"type":"title","v":1,"title","source"?,"updatedAt",
//! "pad"}` of 256 bytes with its ending, which it writes over in place. The header is the second
//! line. The slot's title counts, not the header's. Further types of entries are `title_change`,
//! `mode_change`, `session_init`, `model_usage`, `service_tier_change`, `ttsr_injection`,
//! `credential_pin` and `reset_boundary`; they are kept as they are. Images of 1,024 bytes and more
//! are `blob:sha256:HASH` and stand in `blobs/HASH` beside the folder `sessions`. Read in
//! `session-title-slot.ts`, `session-entries.ts`, `session-loader.ts` and `blob-store.ts` of
//! release 18.3.4; the program itself was not run.
//!
//! Sources of the names: `newSession` of pi's `session-manager.ts`, 0.7.6 to 1.5.2, and of oh-my-pi 18.3.4;
//! `resolveSessionTranscriptPath` of clawdbot 2026.1.24; `artifacts.ts` of OpenClaw 2026.9.6.
//!
//! | program | name |
//! |---|---|
//! | pi, oh-my-pi | `TIME_ID.jsonl`, with `-` for `:` and `.` in the time |
//! | OpenClaw | `UUID.jsonl`, `UUID-topic-NAME.jsonl` |
//! | OpenClaw, set aside | `UUID.jsonl.reset.TIME`, `UUID.jsonl.deleted.TIME`, `UUID.jsonl.bak.TIME` |
//! | OpenClaw, before a compaction | `UUID.checkpoint.UUID.jsonl` |

use super::repair::record::member;
use crate::json::{Json, text};
use crate::members::Scan;
use crate::record::{Field, Node};

/// Whether a line is the title slot with which oh-my-pi begins a file. Real pi and its other
/// relatives take such a line for an entry without an identifier, or discard the file.
#[must_use]
pub fn is_slot(line: &[u8]) -> bool {
    if !line.trim_ascii_start().starts_with(b"{\"type\"") {
        return false;
    }
    let Ok(Some(scan)) = Scan::of(line) else { return false };
    let told = ["v", "title", "updatedAt", "pad"].iter().all(|key| member(line, key).is_some());
    scan.is(line, "title") && scan.id.is_none() && told
}

/// Returns the lines of a session behind its title slot.
pub fn behind_slot<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    let mut first = true;
    lines.filter(move |line| !(std::mem::take(&mut first) && is_slot(line)))
}

/// Sets a session's name from its title slot. An empty title says that there is none.
pub fn set_name(slot: &[u8], session: &mut Node) {
    let title =
        member(slot, "title").filter(|title| text::decode(title).is_some_and(|t| !t.is_empty()));
    if let Some(title) = title {
        session.set(Field::Name, Json::checked(bytes::Bytes::copy_from_slice(title)));
    }
}

/// Name of a session's file, as far as it tells of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// The session's identifier.
    pub id: String,
    /// The time at which the session began, as the header spells it.
    pub time: Option<String>,
}

impl FileName {
    /// Reads a name; `None` if none of the programs gives such a name.
    #[must_use]
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
    fn names_of_all_programs_tell_the_identifier() {
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
