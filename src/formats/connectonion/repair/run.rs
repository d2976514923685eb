//! Repair of run files, line by line: a header line or a message stays if it is whole, and is
//! removed otherwise.

mod takes;

use super::super::run::{CLOSE, INDENT, MESSAGES, OPEN, is_known};
use super::ahead::Ahead;
use super::items::{Item, each};
use super::{NOTES, State, as_it_is, is_reported, report_aside, report_put};
use crate::diagnostic::{Code, Log};
use crate::error::{Cannot, Result};
use crate::format::{Cx, Reach, RepairIo, RepairOptions, Repaired};
use crate::json::Json;
use crate::lines::BOM;
use crate::position::Position;
use crate::repair::nothing_back;
use std::io::Write;
use takes::{CurrentCopy, Sources, Takes};

/// Repairs a run.
pub fn repair(
    io: &mut dyn RepairIo,
    state: &State,
    wanted: &RepairOptions,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    // A list that only this reader accepts is not whole.
    let reads = state.reads && !state.unlisted;
    if reads && !wanted.resumable {
        return as_it_is(io, state, wanted, cx);
    }
    let ahead = Ahead::of(io.parts().main()?, cx)?;
    let mut takes = Takes::new(wanted, state);
    each(io.parts().main()?, &ahead, wanted, cx, &mut |item| takes.item(&item))?;
    takes.decide();
    // A run in another layout has lines that this repair does not recognize.
    if reads && !(takes.mends() && takes.are_all(state.messages)) {
        return as_it_is(io, state, wanted, cx);
    }
    if takes.messages() == 0 && takes.headers() == 0 {
        return Err(nothing_back());
    }
    // The first pass finds the bytes to set aside, whose place is needed before anything is
    // written.
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let sources = takes.sources(io)?;
    let removes = Writing::new(None, &takes, wanted, &quiet)?.walk(sources, &ahead)?;
    if !is_reported(&log) && !state.marked {
        return as_it_is(io, state, wanted, cx);
    }
    io.begin(removes || state.marked)?;
    let sources = takes.sources(io)?;
    let mut writing = Writing::new(Some(io), &takes, wanted, cx)?;
    if state.marked {
        writing.aside(BOM, Position { line: 1, ..Position::default() }, Code::MarkRemoved)?;
    }
    writing.walk(sources, &ahead)?;
    let records = takes.messages() + 1;
    let of = |messages| Reach { entries: messages + 1, messages };
    let rescued = if state.reads { 0 } else { records };
    let before = if state.reads { of(state.messages) } else { Reach::default() };
    Ok(Repaired { changed: true, records, rescued, ..Repaired::default() }
        .reaching(before, of(takes.remaining())))
}

/// The text before and behind the notes.
const BEGIN: &str = "copyist: {\"repaired\": [";
const END: &str = "]}";

/// The lines around the messages.
const FRAME: [&str; 3] = [MESSAGES, OPEN, CLOSE];

/// The second walk, which writes.
struct Writing<'a> {
    /// The destination; `None` for a dry run.
    io: Option<&'a mut dyn RepairIo>,
    out: Box<dyn Write>,
    /// Whether any bytes were set aside.
    removes: bool,
    takes: &'a Takes,
    wanted: &'a RepairOptions,
    cx: &'a Cx<'a>,
    /// The copy of the file that the walk is in.
    place: CurrentCopy,
    /// Names of members that were written.
    names: Vec<String>,
    /// Whether the following lines of a prompt stay.
    prompt: bool,
    begun: bool,
    /// Number of messages that were met; `held` is the message that waits for its successor.
    met: u32,
    held: Option<Vec<u8>>,
    /// The notes of an earlier repair.
    earlier: Option<(Vec<u8>, Position)>,
    /// Which of the lines around the messages were met.
    framed: [bool; FRAME.len()],
}

impl<'a> Writing<'a> {
    fn new(
        mut io: Option<&'a mut dyn RepairIo>,
        takes: &'a Takes,
        wanted: &'a RepairOptions,
        cx: &'a Cx<'a>,
    ) -> Result<Self> {
        Ok(Self {
            out: match &mut io {
                Some(io) => io.create("")?,
                None => Box::new(std::io::sink()),
            },
            io,
            removes: false,
            takes,
            wanted,
            cx,
            place: CurrentCopy::default(),
            names: Vec::new(),
            prompt: false,
            begun: false,
            met: 0,
            held: None,
            earlier: None,
            framed: [false; FRAME.len()],
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).cannot("write")
    }

    fn aside(&mut self, bytes: &[u8], at: Position, code: Code) -> Result<()> {
        report_aside(code, bytes, at, self.cx);
        self.removes = true;
        let io = self.io.as_mut();
        io.map_or(Ok(()), |io| io.aside("", bytes, at, code))
    }

    fn item(&mut self, item: Item) -> Result<()> {
        let best = self.place.of(&item) == self.takes.best;
        match item {
            Item::Header(name, line, at, code) => {
                if code.is_some() && !best {
                    // The line was set aside already.
                    return Ok(());
                }
                self.header(name, &line, at, best)
            }
            Item::Frame(line, at) => self.frame(&line, at, best),
            Item::Message(message, at, code) => self.message(message, at, code, best),
            // The line is written when the list is closed.
            Item::Behind(..) if best => Ok(()),
            Item::Behind(line, at) => self.aside(&line, at, self.takes.code_of(&line)),
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
            return self.aside(line, at, self.takes.code_of(line));
        }
        let mut line = line.to_vec();
        if !line.ends_with(b"\n") {
            self.cx.report_at(Code::LineEnded, at);
            line.extend_from_slice(self.end());
        }
        if name.is_some_and(|name| name == NOTES) {
            // More notes may follow them.
            self.earlier = Some((line, at));
            return Ok(());
        }
        self.put(&line)
    }

    /// Writes the text between the header and the messages.
    fn begin(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let mut notes = Vec::new();
        let mut note = |code: Code, what: &str| {
            let what = Json::string(what);
            let what = String::from_utf8_lossy(what.as_bytes());
            notes.push(format!("{{\"code\": \"{}\", \"what\": {what}}}", code.name()));
        };
        if !self.names.iter().any(|name| is_known(name)) {
            let stem = self.wanted.name.split('.').next().unwrap_or_default();
            let line = [b"agent: ", Json::string(stem).as_bytes(), self.end()].concat();
            self.put(&line)?;
            report_put(Code::MemberRestored, "agent", self.cx);
            note(Code::MemberRestored, "agent");
        }
        if let Some(take) = self.takes.best() {
            if take.patched {
                note(Code::Utf8Replaced, "the header");
            }
            for (number, code) in take.done.iter().filter(|(_, code)| **code != Code::GluedSplit) {
                note(*code, &format!("message {number}"));
            }
            let added = take.talk.pairing().all_added();
            added.for_each(|(_, put)| note(Code::ResultSynthesized, &put.what()));
        }
        self.notes(&notes)?;
        let end = String::from_utf8_lossy(self.end());
        self.put(format!("{MESSAGES}{end}{OPEN}{end}").as_bytes())
    }

    /// Returns the line ending.
    fn end(&self) -> &'static [u8] {
        if self.takes.best().is_some_and(|take| take.crlf) { b"\r\n" } else { b"\n" }
    }

    /// Writes notes behind those of an earlier repair.
    fn notes(&mut self, notes: &[String]) -> Result<()> {
        let mut list = notes.join(", ");
        if let Some((line, at)) = self.earlier.take() {
            let text = String::from_utf8_lossy(&line).into_owned();
            let own = text.trim_end().strip_prefix(BEGIN).and_then(|text| text.strip_suffix(END));
            match own.filter(|own| own.starts_with('{')) {
                _ if list.is_empty() => return self.put(&line),
                Some(own) => list = format!("{own}, {list}"),
                None => self.aside(&line, at, Code::DuplicateRemoved)?,
            }
        }
        if list.is_empty() {
            return Ok(());
        }
        let line = [BEGIN.as_bytes(), list.as_bytes(), END.as_bytes(), self.end()].concat();
        self.put(&line)
    }

    fn frame(&mut self, line: &[u8], at: Position, best: bool) -> Result<()> {
        let text = String::from_utf8_lossy(line);
        let bare = text.trim_end_matches(['\r', '\n']);
        let frame = FRAME.iter().position(|line| *line == bare);
        let once = frame.and_then(|place| self.framed.get_mut(place));
        let fresh = once.is_some_and(|met| best && !std::mem::replace(met, true));
        let kept = best && (bare.is_empty() || fresh);
        if !kept {
            let space = bare.trim().is_empty();
            let code = if space { Code::StraySetAside } else { Code::DuplicateRemoved };
            return self.aside(line, at, code);
        }
        if bare == MESSAGES {
            self.begin()?;
            if !line.ends_with(b"\n") {
                self.cx.report_at(Code::GluedSplit, at);
            }
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
            // A repaired message was set aside already.
            return match code {
                None | Some(Code::GluedSplit) => {
                    self.aside(&message, at, self.takes.code_of(&message))
                }
                Some(_) => Ok(()),
            };
        }
        self.begin()?;
        let (takes, number) = (self.takes, self.met);
        self.met += 1;
        let talk = takes.best().map(|take| take.talk.pairing());
        if let Some(removed) = talk.and_then(|talk| talk.removed(number)) {
            // A repaired message was set aside already.
            let whole = matches!(code, None | Some(Code::GluedSplit));
            return if whole { self.aside(&message, at, removed) } else { Ok(()) };
        }
        if let Some(code) = code {
            self.cx.report_at(code, at);
        }
        self.hold(message)?;
        for put in talk.map(|talk| talk.added(number)).unwrap_or_default() {
            self.cx.report_at(Code::ResultSynthesized, at);
            self.hold(put.message().as_bytes().to_vec())?;
        }
        Ok(())
    }

    /// Writes the held message, and holds this one.
    fn hold(&mut self, message: Vec<u8>) -> Result<()> {
        let before = self.held.replace(message);
        let line = |before: Vec<u8>| [INDENT.as_bytes(), &before, b",", self.end()].concat();
        let line = before.map(line).unwrap_or_default();
        self.put(&line)
    }

    /// Walks over the file, and once more for the lines behind its list; returns whether any bytes
    /// were set aside.
    fn walk(mut self, sources: Sources, ahead: &Ahead) -> Result<bool> {
        let (source, again) = sources;
        each(source, ahead, self.wanted, self.cx, &mut |item| self.item(item))?;
        self.close()?;
        let mut place = CurrentCopy::default();
        if let Some(again) = again {
            each(again, ahead, self.wanted, self.cx, &mut |item| match (place.of(&item), item) {
                (take, Item::Behind(line, at)) if take == self.takes.best => self.behind(&line, at),
                _ => Ok(()),
            })?;
        }
        self.out.flush().cannot("write")?;
        Ok(self.removes)
    }

    /// Writes a line behind the list.
    fn behind(&mut self, line: &[u8], at: Position) -> Result<()> {
        self.put(line)?;
        if !line.ends_with(b"\n") {
            self.cx.report_at(Code::LineEnded, at);
            self.put(self.end())?;
        }
        Ok(())
    }

    /// Writes the rest of the list.
    fn close(&mut self) -> Result<()> {
        self.begin()?;
        if let Some(last) = self.held.take() {
            self.put(&[INDENT.as_bytes(), &last, self.end()].concat())?;
        }
        self.put(&[CLOSE.as_bytes(), self.end()].concat())?;
        if self.framed.contains(&false) {
            self.cx.report_at(Code::ListClosed, Position::default());
        } else if self.takes.unlisted {
            report_put(Code::ListClosed, "each message has its comma and its place", self.cx);
        }
        Ok(())
    }
}
