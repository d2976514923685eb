//! Names of parts.

use super::log::is_like_a_message;
use super::made::{EPOCH, is_uuid, uuid};
use super::rows::{DATABASE, DATABASE_LOG};
use super::sniff;
use super::state::is_state;
use crate::format::{Member, Variables, folder_in, own_folder};
use crate::json::text;
use crate::mapping::Source;
use crate::record::{Field, Node};
use bytes::Bytes;

/// Derives the identifier of the nth run of a session that comes from another format.
pub fn made_run(session: &str, nth: u64) -> String {
    uuid(format!("{session} {nth}").as_bytes())
}

/// Returns the part of a run with this header. Its folder is the day on which the run began, in
/// UTC.
pub fn run_part(header: &Node) -> String {
    let began = header.text(Field::Created).unwrap_or_default();
    let day = began.get(..10).filter(|day| is_day(&day.replace('-', "/")));
    let day = day.unwrap_or(EPOCH.get(..10).unwrap_or_default()).replace('-', "/");
    let run = header.text(Field::Run).unwrap_or_default();
    format!("/sessions/{day}/{}.jsonl", plain(&run))
}

/// Returns the part of a session's state.
pub fn state_part(session: &str) -> String {
    format!("/sessions/state/{}.json", plain(session))
}

/// Returns the part of a session's log of messages.
pub fn log_part(session: &str) -> String {
    format!("/sessions/messages/{}.jsonl", plain(session))
}

/// Returns the part beside which the file with the session's origin is written: its state or its
/// log of messages, else its first run.
pub fn main(parts: &[String]) -> Option<usize> {
    let stored = |part: &String| {
        ["/sessions/state/", "/sessions/messages/"].iter().any(|folder| part.starts_with(folder))
    };
    let own = |part: &String| ![DATABASE, DATABASE_LOG].contains(&part.as_str());
    parts.iter().position(stored).or_else(|| parts.iter().position(own))
}

/// Returns the part of a tool's output; `None` for a name that could lead outside of the folder.
pub fn output_part(reference: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let plain = (1..=200).contains(&reference.len()) && reference.chars().all(fits);
    plain.then(|| format!("/cache/tool-output/{reference}.txt"))
}

/// Converts an identifier from a file to a plain file name.
fn plain(id: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = id.chars().take(100).map(fits).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

fn is_day(text: &str) -> bool {
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = text.split('/');
    let mut next = |count| parts.next().is_some_and(|part| digits(part, count));
    next(4) && next(2) && next(2) && parts.next().is_none()
}

/// Returns the folder in which Codelia keeps its sessions: its own, or the one of
/// `CODELIA_LAYOUT=xdg`.
pub fn home(variables: Variables<'_>) -> Option<String> {
    if variables("CODELIA_LAYOUT").is_some_and(|layout| layout == "xdg") {
        let state = folder_in(variables, "XDG_STATE_HOME", ".local/state")?;
        return Some(format!("{state}/codelia/sessions"));
    }
    Some(format!("{}/.codelia/sessions", own_folder(variables)?))
}

/// Folder of all sessions in the path of a file below it.
const SESSIONS: &str = "/sessions/";

/// Returns the part and the session of a file below the folder of all sessions.
pub fn member(path: &str, head: &mut dyn FnMut() -> Vec<u8>) -> Option<Member> {
    // Most files are elsewhere, and the search from the end is slow.
    let (_, below) = path.contains(SESSIONS).then(|| path.rsplit_once(SESSIONS))??;
    let part = format!("/sessions/{below}");
    if [DATABASE, DATABASE_LOG].contains(&part.as_str()) {
        return Some(Member { part, session: None, version: 2 });
    }
    let (folder, file) = below.rsplit_once('/')?;
    if !(["state", "messages"].contains(&folder) || is_day(folder)) {
        return None;
    }
    let head = head();
    let (session, version) = match folder {
        "state" => {
            let name = file.strip_suffix(".json")?;
            let own = is_state(&head) || is_uuid(name) && sniff::begins_damaged(&head);
            (own.then(|| name.to_owned())?, 1)
        }
        "messages" => {
            let name = file.strip_suffix(".jsonl")?;
            let own = is_log(&head) || is_uuid(name) && sniff::begins_damaged(first_line(&head));
            (own.then(|| name.to_owned())?, 2)
        }
        _ => {
            let name = file.strip_suffix(".jsonl")?;
            let ruin = || is_uuid(name) && sniff::begins_damaged(first_line(&head));
            (session_of(&head).or_else(|| ruin().then(|| name.to_owned()))?, 1)
        }
    };
    Some(Member { part, session: Some(session), version })
}

/// Whether a file with this beginning may be a log of messages; a log without messages is empty.
fn is_log(head: &[u8]) -> bool {
    let line = first_line(head);
    line.is_empty() || is_like_a_message(line)
}

fn first_line(head: &[u8]) -> &[u8] {
    head.split(|b| *b == b'\n').next().unwrap_or_default()
}

/// Returns the session of the run with this beginning, which may follow lines that a crash tore; if
/// the header is torn, the first line behind it that names the session. A run without a session is
/// a session of its own.
fn session_of(head: &[u8]) -> Option<String> {
    let mut lines = sniff::lines_behind_tears(head);
    let first = Bytes::copy_from_slice(lines.next()?);
    let header = Source::new(&first);
    if text_of(&header, "type")? == "header" {
        return text_of(&header, "session_id").or_else(|| text_of(&header, "run_id"));
    }
    let named = |line: &[u8]| {
        sniff::run(line)?;
        text_of(&Source::new(&Bytes::copy_from_slice(line)), "session_id")
    };
    named(&first).or_else(|| lines.find_map(named))
}

fn text_of(line: &Source, name: &str) -> Option<String> {
    line.peek(name).ok().flatten().and_then(|value| text::decode(value.as_bytes()))
}
