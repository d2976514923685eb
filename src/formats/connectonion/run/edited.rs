//! Reader for runs that were laid out again, by the user or a program such as PyYAML.
//!
//! The members are in any order, so the header is read first and the messages in a second walk.
//! The messages are a list of YAML, which is read item by item, or a text that holds a JSON array,
//! which must fit in memory.

use super::super::chain_of;
use super::super::{EXPANSION, NAME, message, second_document};
use super::header::{Header, scalars_of};
use super::note_file;
use super::{CLOSE, INDENT, MESSAGES, OPEN, parse};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Reader};
use crate::framing::Chain;
use crate::json::{Cursor, Fault, Json, without_nan};
use crate::lines::{Lines, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Record};
use crate::yaml::encoding::{Decoder, Found};
use crate::yaml::json::{Nodes, Scalars};
use crate::yaml::read::{Budget, Event, Events, Limits, What};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io::Read;

/// Whether a run has the layout that the real software writes by hand, as far as its first message
/// shows: one member a line, then a JSON array with one message a line. A run that was cut has this
/// layout, too.
pub fn is_by_hand<R: Read>(lines: &mut Lines<R>) -> Result<bool> {
    let mut header = Header::default();
    loop {
        let Some(line) = lines.next()? else { return Ok(true) };
        let Ok(text) = utf8(&line) else { return Ok(true) };
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text == MESSAGES {
            break;
        }
        if !header.line(text) {
            return Ok(!line.terminated);
        }
    }
    loop {
        let Some(line) = lines.next()? else { return Ok(true) };
        match line.bytes.trim_ascii() {
            [] => {}
            _ if line.bytes.trim_ascii_end() == OPEN.as_bytes() => break,
            // Damage that hides the bracket leaves lines of messages behind it.
            text => return Ok(!line.terminated || !text.starts_with(b"[")),
        }
    }
    let Some(line) = lines.next()? else { return Ok(true) };
    let text = line.bytes.trim_ascii_end();
    let text = text.strip_suffix(b",").unwrap_or(text);
    if !line.terminated || text == CLOSE.as_bytes() || !text.starts_with(INDENT.as_bytes()) {
        return Ok(true);
    }
    let parsed = parse(&Bytes::copy_from_slice(text));
    Ok(parsed.err().is_none_or(|fault| text.trim_ascii() != b"{" || !fault.what.is_truncation()))
}

/// Opens such a run for reading.
pub fn open<'a>(parts: &'a mut dyn Parts, encoding: Found, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let mut walk = Walk::open(parts, encoding, cx)?;
    let mut record = match walk.header() {
        Ok(record) => record,
        // Reported as damage, so that the user learns the place; without a header there are no
        // records.
        Err(error) => return Ok(Box::new(std::iter::once(Err(error)))),
    };
    let message = "another program or a user changed the layout of the run; it is read as YAML";
    cx.report(Diagnostic::new(Code::RunLayout, message));
    note_file(&mut record, encoding, false, cx);
    let second = walk.second();
    let chain = chain_of(&record.node, Field::Updated, cx);
    let mut walk = Walk::open(parts, encoding, cx)?;
    let list = walk.find("messages")?;
    let unnamed = list.is_none();
    let mut ready = VecDeque::new();
    ready.push_back(Located { value: record, at: Position { line: 1, ..Position::default() } });
    Ok(Box::new(Records {
        walk,
        cx,
        chain,
        ready,
        list,
        unnamed,
        items: false,
        records: 1,
        second,
    }))
}

/// The events of the document.
struct Walk {
    events: Events<Decoder<Box<dyn Read>>>,
    nodes: Nodes,
}

impl Walk {
    fn open(parts: &mut dyn Parts, encoding: Found, cx: &Cx<'_>) -> Result<Self> {
        let decoder = Decoder::new(parts.main()?, Some(encoding.encoding));
        let limits = Limits { scalar: cx.options.max_line, ..Limits::default() };
        let mut walk =
            Self { events: Events::new(decoder, limits), nodes: Nodes::new(Budget::of(EXPANSION)) };
        walk.next()?;
        walk.next()?;
        Ok(walk)
    }

    fn next(&mut self) -> Result<Event> {
        self.nodes.next(&mut self.events)
    }

    /// Returns the next member of the top: its name, and the first event of its value.
    fn member(&mut self) -> Result<Option<(String, Event)>> {
        let key = self.next()?;
        match key.what {
            What::Scalar(name, ..) => {
                Ok(Some((name.as_str().unwrap_or_default().to_owned(), self.next()?)))
            }
            _ => Ok(None),
        }
    }

    /// Reads the session record from all members but the messages, which are passed over.
    fn header(&mut self) -> Result<Record> {
        let mut header = Header::default();
        let mut json = Vec::new();
        while let Some((name, first)) = self.member()? {
            if name == "messages" {
                self.pass(first)?;
                continue;
            }
            json.clear();
            self.nodes.value(&mut self.events, first, scalars_of(&name), &mut json)?;
            header.member(&name, Json::trusted(json.clone().into()));
        }
        Ok(header.finish(&format!("{NAME}@3")).0)
    }

    /// Returns the error of the text behind the mapping, if there is one.
    fn second(&mut self) -> Option<Error> {
        loop {
            match self.events.next() {
                Ok(Some(event)) if event.what == What::DocumentStart => {
                    return Some(second_document(event.at));
                }
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => return Some(error),
            }
        }
    }

    fn pass(&mut self, first: Event) -> Result<()> {
        let (mut depth, mut event) = (0u64, first);
        loop {
            match event.what {
                What::MappingStart(..) | What::SequenceStart(..) => depth += 1,
                What::MappingEnd | What::SequenceEnd => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
            event = self.next()?;
        }
    }

    /// Returns the first event of the value of the member `wanted`.
    fn find(&mut self, wanted: &str) -> Result<Option<Event>> {
        while let Some((name, first)) = self.member()? {
            if name == wanted {
                return Ok(Some(first));
            }
            self.pass(first)?;
        }
        Ok(None)
    }
}

struct Records<'a> {
    walk: Walk,
    cx: &'a Cx<'a>,
    chain: Chain,
    ready: VecDeque<Located<Record>>,
    /// The first event of the value of `messages`, until the reader begins it.
    list: Option<Event>,
    /// Whether there is no such member, which is not reported yet.
    unnamed: bool,
    /// Whether items of a list follow.
    items: bool,
    records: u64,
    /// The error of a document behind this one, which is reported at the end.
    second: Option<Error>,
}

impl Iterator for Records<'_> {
    type Item = Result<Located<Record>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(mut located) = self.ready.pop_front() {
                if located.value.node.json(Field::Source).is_none() {
                    located.at.record = self.records;
                    self.records += 1;
                    self.chain.link(&mut located.value.node);
                }
                return Some(Ok(located));
            }
            let step = match self.list.take() {
                Some(list) => self.begin(list),
                None if self.items => self.item(),
                None if std::mem::take(&mut self.unnamed) => {
                    let found =
                        Diagnostic::new(Code::CutShort, "no member has the name `messages`");
                    Err(Error::damaged(found))
                }
                None => {
                    // This is not damage for repair, which would not recognize the lines of this
                    // layout.
                    let second = self.second.take().map(Error::into_diagnostic);
                    second.into_iter().for_each(|second| self.cx.report(second));
                    return None;
                }
            };
            if let Err(error) = step {
                self.items = false;
                if let Err(error) = self.cx.tolerate(damage(error)) {
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Converts an error of the document to damage, so that the records read so far are kept.
fn damage(error: Error) -> Error {
    if error.code() == Code::Io { error } else { Error::damaged(error.into_diagnostic()) }
}

impl Records<'_> {
    fn begin(&mut self, list: Event) -> Result<()> {
        match list.what {
            What::SequenceStart(..) => {
                self.items = true;
                Ok(())
            }
            What::Scalar(ref text, ..) if text.as_bytes().trim_ascii().starts_with(b"[") => {
                self.array(Bytes::copy_from_slice(text.as_bytes()), list.at)
            }
            _ => {
                let found =
                    Diagnostic::new(Code::NotObject, "`messages` is not a list of messages");
                Err(Error::damaged(found.at(list.at)))
            }
        }
    }

    /// Reads one item of a YAML list.
    fn item(&mut self) -> Result<()> {
        let first = self.walk.next()?;
        if first.what == What::SequenceEnd {
            self.items = false;
            return Ok(());
        }
        let (at, mut json) = (first.at, Vec::new());
        let scalars = Scalars::TextOf(message::TEXTS);
        self.walk.nodes.value(&mut self.walk.events, first, scalars, &mut json)?;
        let json = Bytes::from(json);
        let value = message::read(&json).map_err(|fault| Error::json(fault, &json, at))?;
        message::report_opaque(&value, at, self.cx);
        self.ready.push_back(Located { value, at });
        Ok(())
    }

    /// Reads all messages of a text that holds a JSON array.
    fn array(&mut self, text: Bytes, at: Position) -> Result<()> {
        let plain = without_nan(&text);
        if plain.is_some() {
            let found = Diagnostic::of(Code::PythonNumber);
            self.cx.report(found.at(at));
        }
        let text = plain.map_or(text, Bytes::from);
        self.elements(&text, at).map_err(|fault| Error::json(fault, &text, at))
    }

    fn elements(&mut self, text: &Bytes, at: Position) -> Result<(), Fault> {
        let mut cursor = Cursor::new(text);
        cursor.begin_array()?;
        while cursor.next_element()? {
            let span = cursor.skip_value()?;
            let value = message::read(&text.slice(span.start..span.end))?;
            message::report_opaque(&value, at, self.cx);
            self.ready.push_back(Located { value, at });
        }
        cursor.end()
    }
}
