//! Run files, line by line: a header line and a message are whole or go.

use super::super::run::{CLOSE, INDENT, MESSAGES, OPEN, is_known, member_of, parse};
use super::blocks::{Clean, Found};
use super::check::is_complete;
use super::{State, finish, healthy, is_told, say};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Bench, Cx, Reach, Repaired, Wish};
use crate::json::{Cursor, Json, salvage, text};
use crate::lines::BOM;
use crate::position::Position;
use crate::repair::nothing_back;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::{Read, Write};

/// Repairs a run.
///
/// # Errors
/// If nothing of it is left, or reading or writing fails.
pub fn repair(bench: &mut dyn Bench, state: &State, wish: &Wish, cx: &Cx<'_>) -> Result<Repaired> {
    if state.reads {
        let records = state.records;
        return if state.unfinished { finish(bench, state, cx) } else { healthy(bench, records) };
    }
    let mut takes = Takes::default();
    each(bench.parts().main()?, wish, cx, &mut |item| takes.item(&item))?;
    takes.decide();
    if takes.messages() == 0 && takes.headers() == 0 {
        return Err(nothing_back());
    }
    // Once for what is to be set aside, which needs its place before anything is written.
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut dry = Writing::new(None, &takes, wish, &quiet)?;
    each(bench.parts().main()?, wish, cx, &mut |item| dry.item(item))?;
    let removes = dry.finish()?;
    if !is_told(&log) && !state.marked {
        return healthy(bench, takes.messages() + 1);
    }
    bench.begin(removes || state.marked)?;
    let source = bench.parts().main()?;
    let mut writing = Writing::new(Some(bench), &takes, wish, cx)?;
    if state.marked {
        writing.aside(BOM, Position { line: 1, ..Position::default() }, Code::MarkRemoved)?;
    }
    each(source, wish, cx, &mut |item| writing.item(item))?;
    writing.finish()?;
    let messages = takes.messages();
    let records = messages + 1;
    let after = Reach { entries: records, messages };
    Ok(Repaired { changed: true, records, rescued: records, ..Repaired::default() }
        .reaching(Reach::default(), after))
}

/// What a file consists of.
enum Item {
    /// A line of the header, with the name of its member if it begins one, and what was done to it.
    Header(Option<String>, Vec<u8>, Position, Option<Code>),
    /// A line around the messages.
    Frame(Vec<u8>, Position),
    /// A message, and what was done to it.
    Message(Vec<u8>, Position, Option<Code>),
    /// What is none of these.
    Aside(Vec<u8>, Position, Code),
}

/// The lines around the messages.
const FRAME: [&str; 3] = [MESSAGES, OPEN, CLOSE];

/// Where lines are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Header,
    /// In the lines of a prompt.
    Prompt,
    Messages,
    Behind,
}

/// Shows all that a file consists of.
fn each(
    source: Box<dyn Read>,
    wish: &Wish,
    cx: &Cx<'_>,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    let mut lines = Clean::over(source, cx)?;
    let mut stage = Stage::Header;
    while let Some(found) = lines.next()? {
        let (line, terminated) = match found {
            Found::Line(line) => line,
            Found::Aside(bytes, at, code) => {
                show(Item::Aside(bytes, at, code))?;
                continue;
            }
        };
        let at = line.first().map(|(at, _)| *at).unwrap_or_default();
        let whole: Vec<u8> = line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let text = String::from_utf8_lossy(&whole);
        let bare = text.trim_end_matches(['\r', '\n']);
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
            (Some(_), _) => show(Item::Frame(whole, at))?,
            (None, Stage::Messages) => messages(&line, wish, show)?,
            (None, _) if bare.trim().is_empty() => show(Item::Frame(whole, at))?,
            (None, _) => {
                for (at, bytes) in line {
                    show(Item::Aside(bytes, at, Code::TornRecord))?;
                }
            }
        }
    }
    Ok(())
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

/// The line that the lines of a prompt follow.
const PROMPT: &str = "system_prompt: |";

/// Where a line leads; `None` for what only a stage can tell of.
fn stage_of(line: &str, stage: Stage, terminated: bool) -> Option<Stage> {
    match line {
        MESSAGES if terminated => Some(Stage::Messages),
        OPEN if stage == Stage::Messages => Some(Stage::Messages),
        CLOSE if stage == Stage::Messages => Some(Stage::Behind),
        PROMPT => Some(Stage::Prompt),
        _ if stage == Stage::Prompt && line.starts_with("  ") => Some(Stage::Prompt),
        // A number without an end may have gone on.
        _ => member_of(line).filter(|_| terminated || line.ends_with('"')).map(|_| Stage::Header),
    }
}

/// Shows what a line among the messages holds.
fn messages(
    line: &[(Position, Vec<u8>)],
    wish: &Wish,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    let whole: Vec<u8> = line.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
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
    // Something else stood in the line, so its pieces are looked at one by one.
    for (at, bytes) in line {
        apart(bytes, *at, wish, show)?;
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

/// Takes a broken line apart: whole messages that end with it or before another, and the rest.
fn apart(
    bytes: &[u8],
    at: Position,
    wish: &Wish,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    let mut from = 0;
    for start in memchr::memmem::find_iter(bytes, b"{\"role\":") {
        let rest = bytes.get(start..).unwrap_or_default();
        let mut cursor = Cursor::new(rest);
        let Ok(span) = cursor.skip_value() else { continue };
        let behind = rest.get(span.end..).unwrap_or_default().trim_ascii();
        let behind = behind.strip_prefix(b",").unwrap_or(behind).trim_ascii();
        let ends = behind.is_empty() || behind.starts_with(b"{");
        if start < from || !ends || !is_message(span.of(rest)) {
            continue;
        }
        torn(bytes.get(from..start).unwrap_or_default(), at.plus(from), wish, show)?;
        show(Item::Message(span.of(rest).to_vec(), at.plus(start), Some(Code::GluedSplit)))?;
        from = start + span.end;
    }
    torn(bytes.get(from..).unwrap_or_default(), at.plus(from), wish, show)
}

/// Sets aside what is no message, and restores of it what can be.
fn torn(
    bytes: &[u8],
    at: Position,
    wish: &Wish,
    show: &mut dyn FnMut(Item) -> Result<()>,
) -> Result<()> {
    if matches!(bytes.trim_ascii(), b"" | b",") {
        return Ok(());
    }
    let code =
        if bytes.trim_ascii().starts_with(b"{") { Code::TornRecord } else { Code::StraySetAside };
    show(Item::Aside(bytes.to_vec(), at, code))?;
    let text = String::from_utf8_lossy(bytes).trim().to_owned();
    let restored = salvage(text.as_bytes()).filter(|_| wish.salvage);
    match restored.filter(|left| is_complete(&Json::checked(left.clone().into()))) {
        Some(message) => show(Item::Message(message, at, Some(Code::Salvaged))),
        None => Ok(()),
    }
}

/// One writing of the file; a second writer begins it anew.
#[derive(Debug, Default)]
struct Take {
    names: Vec<String>,
    messages: u64,
    /// Whether a line of its header was not UTF-8.
    patched: bool,
    /// Messages that were not whole, by their number, and what was done.
    done: BTreeMap<u64, Code>,
}

/// All writings of a file.
#[derive(Debug, Default)]
struct Takes {
    all: Vec<Take>,
    /// Whether messages came since the last line of a header.
    behind: bool,
    /// The one that stays.
    best: usize,
}

impl Takes {
    fn item(&mut self, item: &Item) -> Result<()> {
        if self.starts(item) {
            self.all.push(Take::default());
        }
        let Some(take) = self.all.last_mut() else { return Ok(()) };
        match item {
            Item::Header(name, _, _, code) => {
                take.names.extend(name.clone());
                take.patched |= code.is_some();
            }
            Item::Message(_, _, code) => {
                take.messages += 1;
                take.done.extend(code.map(|code| (take.messages, code)));
            }
            Item::Frame(..) | Item::Aside(..) => {}
        }
        Ok(())
    }

    /// Whether another writing begins here.
    fn starts(&mut self, item: &Item) -> bool {
        let header = matches!(item, Item::Header(..));
        let starts = self.all.is_empty() || (header && self.behind);
        match item {
            Item::Header(..) => self.behind = false,
            Item::Message(..) | Item::Frame(..) => self.behind = true,
            Item::Aside(..) => {}
        }
        starts
    }

    fn decide(&mut self) {
        let best = self.all.iter().enumerate().max_by_key(|(place, take)| (take.messages, *place));
        self.best = best.map_or(0, |(place, _)| place);
    }

    fn messages(&self) -> u64 {
        self.all.get(self.best).map_or(0, |take| take.messages)
    }

    fn headers(&self) -> usize {
        self.all.iter().map(|take| take.names.len()).sum()
    }

    fn has(&self, name: &str) -> bool {
        let best = self.all.get(self.best);
        best.is_some_and(|take| take.names.iter().any(|own| own == name))
    }
}

/// The second walk.
struct Writing<'a> {
    /// `None` where it is only to be found out what would be done.
    bench: Option<&'a mut dyn Bench>,
    out: Box<dyn Write>,
    /// Whether anything was set aside.
    removes: bool,
    takes: &'a Takes,
    wish: &'a Wish,
    cx: &'a Cx<'a>,
    /// Which writing of the file this is, and whether messages came in it.
    take: Option<usize>,
    behind: bool,
    /// Names of members that were written.
    names: Vec<String>,
    /// Whether the lines of a prompt follow that stay.
    prompt: bool,
    begun: bool,
    /// The message that waits for what follows it.
    held: Option<Vec<u8>>,
    /// Which of the lines around the messages were met.
    framed: [bool; FRAME.len()],
}

impl<'a> Writing<'a> {
    fn new(
        mut bench: Option<&'a mut dyn Bench>,
        takes: &'a Takes,
        wish: &'a Wish,
        cx: &'a Cx<'a>,
    ) -> Result<Self> {
        Ok(Self {
            out: match &mut bench {
                Some(bench) => bench.create("")?,
                None => Box::new(std::io::sink()),
            },
            bench,
            removes: false,
            takes,
            wish,
            cx,
            take: None,
            behind: false,
            names: Vec::new(),
            prompt: false,
            begun: false,
            held: None,
            framed: [false; FRAME.len()],
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io("cannot write", error))
    }

    fn aside(&mut self, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        say(code, at, self.cx);
        self.removes = true;
        let bench = self.bench.as_mut();
        bench.map_or(Ok(()), |bench| bench.aside("", bytes, at, code))
    }

    fn item(&mut self, item: Item) -> Result<()> {
        let header = matches!(item, Item::Header(..));
        if self.take.is_none() || (header && self.behind) {
            self.take = Some(self.take.map_or(0, |take| take + 1));
        }
        let best = self.take == Some(self.takes.best);
        match item {
            Item::Header(name, line, at, code) => {
                self.behind = false;
                if code.is_some() && !best {
                    // It stands in the quarantine already.
                    return Ok(());
                }
                self.header(name, &line, at, best)
            }
            Item::Frame(line, at) => {
                self.behind = true;
                self.frame(&line, at, best)
            }
            Item::Message(message, at, code) => {
                self.behind = true;
                self.message(message, at, code, best)
            }
            Item::Aside(bytes, at, code) => self.aside(&bytes, at, code),
        }
    }

    fn header(
        &mut self,
        name: Option<String>,
        line: &[u8],
        at: Position,
        best: bool,
    ) -> Result<()> {
        let stays = match &name {
            Some(name) => {
                let wanted = best || !self.takes.has(name);
                let stays = wanted && !self.begun && !self.names.contains(name);
                self.prompt = stays;
                self.names.extend(stays.then(|| name.clone()));
                stays
            }
            None => self.prompt,
        };
        if !stays {
            return self.aside(line, at, Code::DuplicateRemoved);
        }
        self.put(line)?;
        if !line.ends_with(b"\n") {
            say(Code::LineEnded, at, self.cx);
            self.put(b"\n")?;
        }
        Ok(())
    }

    /// Writes what stands between the header and the messages.
    fn begin(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let mut notes = Vec::new();
        if !self.names.iter().any(|name| is_known(name)) {
            let stem = self.wish.name.split('.').next().unwrap_or_default();
            let mut quoted = Vec::new();
            text::quote(stem, &mut quoted);
            self.put(&[b"agent: ", quoted.as_slice(), b"\n"].concat())?;
            say(Code::MemberRestored, Position::default(), self.cx);
            notes.push(format!(
                "{{\"code\": \"{}\", \"what\": \"agent\"}}",
                Code::MemberRestored.name()
            ));
        }
        let take = self.takes.all.get(self.takes.best);
        if take.is_some_and(|take| take.patched) {
            let code = Code::Utf8Replaced.name();
            notes.push(format!("{{\"code\": \"{code}\", \"what\": \"the header\"}}"));
        }
        let done = take.map(|take| &take.done);
        let told = done.into_iter().flatten().filter(|(_, code)| **code != Code::GluedSplit);
        for (number, code) in told {
            let code = code.name();
            notes.push(format!("{{\"code\": \"{code}\", \"what\": \"message {number}\"}}"));
        }
        if !notes.is_empty() {
            let list = notes.join(", ");
            self.put(format!("copyist: {{\"repaired\": [{list}]}}\n").as_bytes())?;
        }
        self.put(format!("{MESSAGES}\n{OPEN}\n").as_bytes())
    }

    fn frame(&mut self, line: &[u8], at: Position, best: bool) -> Result<()> {
        let text = String::from_utf8_lossy(line);
        let bare = text.trim_end_matches(['\r', '\n']);
        let frame = FRAME.iter().position(|line| *line == bare);
        let once = frame.and_then(|place| self.framed.get_mut(place));
        let fresh = once.is_some_and(|met| best && !std::mem::replace(met, true));
        let kept = best && (bare.is_empty() || fresh);
        if !kept {
            return self.aside(line, at, Code::DuplicateRemoved);
        }
        if bare == MESSAGES {
            self.begin()?;
        }
        Ok(())
    }

    fn message(
        &mut self,
        message: Vec<u8>,
        at: Position,
        code: Option<Code>,
        best: bool,
    ) -> Result<()> {
        if !best {
            // What was repaired stands there already.
            return match code {
                None | Some(Code::GluedSplit) => self.aside(&message, at, Code::DuplicateRemoved),
                Some(_) => Ok(()),
            };
        }
        self.begin()?;
        if let Some(code) = code {
            say(code, at, self.cx);
        }
        if let Some(before) = self.held.replace(message) {
            self.put(&[INDENT.as_bytes(), &before, b",\n"].concat())?;
        }
        Ok(())
    }

    /// Writes what is left; says whether anything was set aside.
    fn finish(mut self) -> Result<bool> {
        self.begin()?;
        if let Some(last) = self.held.take() {
            self.put(&[INDENT.as_bytes(), &last, b"\n"].concat())?;
        }
        self.put(format!("{CLOSE}\n").as_bytes())?;
        if self.framed.contains(&false) {
            say(Code::ListClosed, Position::default(), self.cx);
        }
        self.out.flush().map_err(|error| Error::io("cannot write", error))?;
        Ok(self.removes)
    }
}
