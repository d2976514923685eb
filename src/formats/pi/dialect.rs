//! Names of the files of pi and of the programs that write its format their own way.
//!
//! Sources: `newSession` of pi's `session-manager.ts`, 0.7.6 to 1.5.2, and of oh-my-pi 18.3.4;
//! `resolveSessionTranscriptPath` of clawdbot 2026.1.24; `artifacts.ts` of OpenClaw 2026.9.6.
//!
//! | program | name |
//! |---|---|
//! | pi, oh-my-pi | `TIME_ID.jsonl`, with `-` for `:` and `.` in the time |
//! | OpenClaw | `UUID.jsonl`, `UUID-topic-NAME.jsonl` |
//! | OpenClaw, set aside | `UUID.jsonl.reset.TIME`, `UUID.jsonl.deleted.TIME`, `UUID.jsonl.bak.TIME` |
//! | OpenClaw, before a compaction | `UUID.checkpoint.UUID.jsonl` |

/// What the name of a session's file tells.
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

/// What OpenClaw writes behind a session's identifier.
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
