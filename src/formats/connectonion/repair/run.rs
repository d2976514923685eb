//! Run files, line by line: a header line and a message are whole or go.

use super::super::run::{CLOSE, INDENT, MESSAGES, OPEN, is_known};
use super::items::{Item, each};
use super::{State, finish, healthy, is_told, say};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Bench, Cx, Reach, Repaired, Wish};
use crate::json::text;
use crate::lines::BOM;
use crate::position::Position;
use crate::repair::nothing_back;
use std::collections::BTreeMap;
use std::io::Write;

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

/// The lines around the messages.
const FRAME: [&str; 3] = [MESSAGES, OPEN, CLOSE];

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
