//! Items of a run file, line by line.

use super::super::run::{CLOSE, MESSAGES, OPEN, PROMPT, is_remark, member_of, parse};
use super::ahead::{Ahead, divided, joined};
use super::check::is_complete;
use super::clean::{Clean, Found};
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{Cx, RepairOptions};
use crate::json::{Json, Span, salvage};
use crate::position::Position;
use crate::repair::{EFFORT, whole};
use bytes::Bytes;
use std::borrow::Cow;
use std::io::Read;

/// One item of a run file.
pub enum Item {
    /// A line of the header, with the name of its member if the line begins one, and the repair of
    /// the line.
    Header(Option<String>, Vec<u8>, Position, Option<Code>),
    /// A line around the messages.
    Frame(Vec<u8>, Position),
    /// A message, and the repair of the message.
    Message(Vec<u8>, Position, Option<Code>),
    /// A line behind the messages that stays there: a comment.
    Behind(Vec<u8>, Position),
    /// Bytes that are none of these.
    Aside(Vec<u8>, Position, Code),
}

/// Stage of a walk over the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    /// In the lines of a prompt.
    Prompt,
    Messages,
    Behind,
}

/// Shows all items of a file; `ahead` describes the end of the file.
///
/// # Errors
/// Returns the errors of `show`, and an error if the file cannot be read.
pub fn each(
    source: Box<dyn Read>,
    ahead: &Ahead,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    let mut lines = Clean::over(source, cx)?;
    let (mut stage, mut waiting) = (Stage::Header, None);
    loop {
        let line = match waiting.take().map_or_else(|| lines.next(), |line| Ok(Some(line)))? {
            Some(Found::Line(line)) => line,
            Some(Found::Aside(bytes, at, code)) => {
                show(Item::Aside(bytes, at, code))?;
                continue;
            }
            None => return Ok(()),
        };
        let at = line.0.first().map(|(at, _)| *at).unwrap_or_default();
        let heads = matches!(stage, Stage::Header | Stage::Prompt);
        let free = heads && ahead.may_begin(at.byte, stage == Stage::Prompt);
        let ((line, ends), rest) = divided(line, free && stage == Stage::Prompt);
        let terminated = ends || rest.is_some();
        waiting = rest.map(Found::Line);
        let whole = joined(&line);
        let text = String::from_utf8_lossy(&whole);
        let bare = text.trim_end_matches(['\r', '\n']);
        if free && (bare == OPEN || holds_message(&line, wanted)?) {
            stage = Stage::Messages;
        }
        let next = stage_of(bare, stage, terminated);
        stage = next.unwrap_or(stage);
        match (next, stage) {
            (Some(Stage::Header), _) => {
                header(member_of(bare).map(str::to_owned), whole, at, show)?;
            }
            (Some(Stage::Prompt), _) => {
                let name = (bare == PROMPT).then(|| "system_prompt".to_owned());
                header(name, whole, at, show)?;
            }
            (Some(Stage::Behind), _) if bare != CLOSE => show(Item::Behind(whole, at))?,
            (Some(_), _) => show(Item::Frame(whole, at))?,
            (None, Stage::Messages) => messages(&line, wanted, show)?,
            (None, _) if bare.trim().is_empty() => show(Item::Frame(whole, at))?,
            (None, _) => {
                for (at, bytes) in line {
                    show(Item::Aside(bytes, at, Code::TornRecord))?;
                }
            }
        }
    }
}

/// Shows a line of the header, in UTF-8.
fn header(
    name: Option<String>,
    line: Vec<u8>,
    at: Position,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    match String::from_utf8(line) {
        Ok(line) => show(Item::Header(name, line.into_bytes(), at, None)),
        Err(error) => {
            let line = String::from_utf8_lossy(error.as_bytes()).into_owned().into_bytes();
            show(Item::Aside(error.into_bytes(), at, Code::Utf8Replaced))?;
            show(Item::Header(name, line, at, Some(Code::Utf8Replaced)))
        }
    }
}

/// Returns the stage that a line leads to; `None` for a line whose meaning depends on the stage.
fn stage_of(line: &str, stage: Stage, terminated: bool) -> Option<Stage> {
    match line {
        MESSAGES if terminated => Some(Stage::Messages),
        OPEN if stage == Stage::Messages => Some(Stage::Messages),
        CLOSE if stage == Stage::Messages => Some(Stage::Behind),
        PROMPT => Some(Stage::Prompt),
        _ if stage == Stage::Prompt && line.starts_with("  ") => Some(Stage::Prompt),
        _ if is_behind(line, stage) => Some(Stage::Behind),
        // A number without an end may have gone on.
        _ => member_of(line).filter(|_| terminated || line.ends_with('"')).map(|_| Stage::Header),
    }
}

/// Whether a line is behind the messages, though the line that closes their list may be lost.
fn is_behind(line: &str, stage: Stage) -> bool {
    match stage {
        // A line that was not UTF-8 is refused there by every reader.
        _ if line.contains(char::REPLACEMENT_CHARACTER) => false,
        Stage::Header | Stage::Prompt | Stage::Messages => false,
        Stage::Behind => line.contains('#') && is_remark(line.as_bytes()),
    }
}

/// Whether a line holds a whole message.
fn holds_message(line: &[(Position, Vec<u8>)], wanted: &RepairOptions) -> Result<bool> {
    let mut found = false;
    messages(line, wanted, &mut |item| {
        found |= matches!(item, Item::Message(..));
        Ok(())
    })?;
    Ok(found)
}

/// Shows the items of a line among the messages.
fn messages(
    line: &[(Position, Vec<u8>)],
    wanted: &RepairOptions,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    let whole = joined(line);
    let at = line.first().map(|(at, _)| *at).unwrap_or_default();
    let lossy = String::from_utf8_lossy(&whole);
    let bare = lossy.trim_ascii();
    let one = bare.strip_suffix(',').unwrap_or(bare);
    if bare.is_empty() {
        return show(Item::Frame(whole.clone(), at));
    }
    if is_message(one.as_bytes()) {
        if std::str::from_utf8(&whole).is_ok() {
            let indent = whole.len() - whole.trim_ascii_start().len();
            return show(Item::Message(one.as_bytes().to_vec(), at.plus(indent), None));
        }
        show(Item::Aside(whole.clone(), at, Code::Utf8Replaced))?;
        return show(Item::Message(one.as_bytes().to_vec(), at, Some(Code::Utf8Replaced)));
    }
    let closed = bare.trim_end_matches([',', ' ', '\t']);
    if let ([_], Ok(_), true) = (line, std::str::from_utf8(&whole), is_message(closed.as_bytes())) {
        let start = whole.len() - whole.trim_ascii_start().len();
        let (end, comma) = (start + bare.len(), start + closed.len() + 1);
        show(Item::Message(closed.as_bytes().to_vec(), at.plus(start), None))?;
        let more = whole.get(comma..end).unwrap_or_default().to_vec();
        return show(Item::Aside(more, at.plus(comma), Code::StraySetAside));
    }
    // Other bytes were in the line, so its pieces are examined one by one.
    for (at, bytes) in line {
        apart(bytes, *at, wanted, show)?;
    }
    Ok(())
}

/// Whether a text is a message.
fn is_message(text: &[u8]) -> bool {
    let object = text.first() == Some(&b'{');
    object
        && parse(&Bytes::copy_from_slice(text)).is_ok()
        && memchr::memmem::find(text, b"\"role\"").is_some()
}

/// Splits a broken line: whole messages that end with the line or before another message, and the
/// rest.
fn apart(
    bytes: &[u8],
    at: Position,
    wanted: &RepairOptions,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    let (mut from, mut budget) = (0, bytes.len().saturating_mul(EFFORT));
    for start in memchr::memmem::find_iter(bytes, b"{\"role\":") {
        if start < from {
            continue;
        }
        let rest = bytes.get(start..).unwrap_or_default();
        let Some(length) = whole(rest, &mut budget) else { continue };
        let span = Span { start: 0, end: length };
        let behind = rest.get(span.end..).unwrap_or_default().trim_ascii();
        let behind = behind.strip_prefix(b",").unwrap_or(behind).trim_ascii();
        let ends = behind.is_empty() || behind.starts_with(b"{");
        if !ends || !is_message(span.of(rest)) {
            continue;
        }
        torn(bytes.get(from..start).unwrap_or_default(), at.plus(from), wanted, show)?;
        found(span.of(rest), at.plus(start), show)?;
        from = start + span.end;
    }
    torn(bytes.get(from..).unwrap_or_default(), at.plus(from), wanted, show)
}

/// Shows a message that was found among other bytes, in UTF-8.
fn found(message: &[u8], at: Position, show: &mut dyn FnMut(Item) -> Result<()>) -> Result<()> {
    match String::from_utf8_lossy(message) {
        Cow::Borrowed(_) => show(Item::Message(message.to_vec(), at, Some(Code::GluedSplit))),
        Cow::Owned(text) => {
            show(Item::Aside(message.to_vec(), at, Code::Utf8Replaced))?;
            show(Item::Message(text.into_bytes(), at, Some(Code::Utf8Replaced)))
        }
    }
}

/// Sets aside bytes that are not a message, and restores the message in them if possible.
fn torn(
    bytes: &[u8],
    at: Position,
    wanted: &RepairOptions,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    if matches!(bytes.trim_ascii(), b"" | b",") {
        return Ok(());
    }
    let code =
        if bytes.trim_ascii().starts_with(b"{") { Code::TornRecord } else { Code::StraySetAside };
    show(Item::Aside(bytes.to_vec(), at, code))?;
    let text = String::from_utf8_lossy(bytes).trim().to_owned();
    let restored = salvage(text.as_bytes()).filter(|_| wanted.salvage);
    match restored.filter(|left| is_complete(&Json::trusted(left.clone().into()))) {
        Some(message) => show(Item::Message(message, at, Some(Code::Salvaged))),
        None => Ok(()),
    }
}
