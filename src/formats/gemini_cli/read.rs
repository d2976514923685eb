//! Reader of sessions.
//!
//! The last version of a message decides on its record, so the lines of a log are in memory.

use super::log::{self, Effect, Item, Life, Log};
use super::message::{self, Sort, sort};
use super::result;
use super::{PATH, STYLE, is_document, wire};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{self, Items, on_one_line};
use crate::error::{Error, Result};
use crate::format::{Cx, Head, Parts, Piece, Reader};
use crate::framing::{Chain, FramedLines, Framing, ReadLines, Reading};
use crate::ids::hash;
use crate::json::Json;
use crate::lines::utf8;
use crate::mapping::Extra;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record, calls};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::Read;

/// Opens a session for reading.
///
/// # Errors
/// If it cannot be read, or has no header.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let document = is_of_document(parts)?;
    let project = project(parts)?;
    match document {
        true => open_document(parts, project.as_deref(), cx),
        false => open_log(parts, project.as_deref(), cx),
    }
}

fn is_of_document(parts: &mut dyn Parts) -> Result<bool> {
    parts.keep()?;
    let mut bytes = Vec::new();
    let read = parts.main()?.take(Head::SIZE as u64).read_to_end(&mut bytes);
    read.map_err(|error| Error::io("cannot read", error))?;
    Ok(is_document(&bytes))
}

/// Returns the folder in the file beside the sessions of a project.
fn project(parts: &mut dyn Parts) -> Result<Option<String>> {
    let Some((_, file)) = parts.index()? else { return Ok(None) };
    let mut text = String::new();
    let read = file.take(LONGEST_PATH).read_to_string(&mut text);
    Ok(read.is_ok().then_some(text))
}

/// Maximum length of a path.
const LONGEST_PATH: u64 = 64 << 10;

/// Returns the text of the message in which the program names its folders.
fn context_of(item: &Json) -> Option<String> {
    let is_context = sort(item) == Sort::Notice("session_context".to_owned());
    let content = item.member("content").filter(|_| is_context)?;
    content.text().or_else(|| content.elements().next()?.member("text")?.text())
}

/// Returns the record of a message's notice, or of an object that is no message.
fn notice(name: &str, data: Json) -> Record {
    let mut record = Record::new(Kind::Notice);
    record.node.set(Field::Subtype, Json::string(name));
    record.node.set(Field::Data, data);
    record
}

/// Name of the notice of an object that the program ignores.
const OTHER: &str = "other";

/// Makes records of messages, each behind the one before it.
struct Talk<'a> {
    chain: Chain,
    cx: &'a Cx<'a>,
    /// Calls of the last answer with the parts of their results, by which lines that repeat these are
    /// known.
    answer: Vec<(Json, Vec<Json>)>,
    /// Hashes of the identifiers of all answers that call tools.
    calling: HashSet<u64>,
}

impl<'a> Talk<'a> {
    fn of(session: &Node, cx: &'a Cx<'a>) -> Self {
        let key = session.json(Field::Id).map_or(&b""[..], Json::as_bytes);
        Self { chain: Chain::of(key, cx), cx, answer: Vec::new(), calling: HashSet::new() }
    }

    /// Returns the records of a message behind the entry `before`, and the last entry.
    fn read(
        &mut self,
        item: &Json,
        at: Position,
        before: Option<Json>,
        is_again: bool,
    ) -> Result<(Vec<Record>, Option<Json>)> {
        match sort(item) {
            Sort::Notice(name) => return Ok((vec![notice(&name, item.clone())], before)),
            Sort::Other => {
                self.cx.report_at(Code::OddMessage, at);
                return Ok((vec![notice(OTHER, item.clone())], before));
            }
            Sort::Talk => {}
        }
        let read = message::read(item).map_err(|fault| Error::json(fault, item.as_bytes(), at))?;
        let message::Read { mut message, mut results } = read;
        let has_id = message.node.json(Field::Id).is_some();
        if let Some(data) = self.repeated(item).or_else(|| self.listed_again(item)) {
            let node = std::mem::take(&mut message.node);
            message = Record::new(Kind::Event);
            for field in [Field::Id, Field::Time] {
                message.node.put(field, node.json(field).cloned());
            }
            message.node.set(Field::Data, data);
            message.node.set(Field::Derived, Json::constant("true"));
            results.clear();
        }
        if is_again || !has_id {
            if has_id {
                let own = message.node.json(Field::Id).cloned().unwrap_or_default();
                rename(&mut message.node, &own);
            }
            self.chain.name(&mut message.node);
        }
        if message.node.is(Field::Role, "assistant") {
            self.answer = result::of_calls(item);
            if calls(&message.node) {
                let id = item.member("id").unwrap_or_default();
                self.calling.insert(hash(id.text().unwrap_or_default().as_bytes()));
            }
        }
        let (mut all, mut last) = (vec![message], before);
        all.extend(results);
        for (number, record) in all.iter_mut().enumerate() {
            if number > 0 {
                self.chain.name(&mut record.node);
            }
            record.node.set(Field::Parent, last.take().unwrap_or(Json::constant("null")));
            last = record.node.json(Field::Id).cloned();
        }
        Ok((all, last))
    }

    /// Returns a message that repeats the results of an earlier answer.
    fn listed_again(&self, item: &Json) -> Option<Json> {
        let id = item.member("id")?.text()?;
        let answer = log::answer_listed_again(&id, item)?;
        self.calling.contains(&hash(answer.as_bytes())).then(|| item.clone())
    }

    /// Returns a message that only repeats results of the answer before it, with the calls in the
    /// places of their results.
    fn repeated(&self, item: &Json) -> Option<Json> {
        let content = item.member("content").filter(|list| list.as_bytes().starts_with(b"["))?;
        let content: Vec<Json> = content.elements().collect();
        let (mut rest, mut calls) = (content.as_slice(), Vec::new());
        while !rest.is_empty() {
            let (call, parts) = self.answer.iter().find(|(_, parts)| rest.starts_with(parts))?;
            calls.push(call.as_bytes());
            rest = rest.get(parts.len()..)?;
        }
        let list = [b"[", calls.join(&b","[..]).as_slice(), b"]"].concat();
        (!calls.is_empty()).then(|| log::with_member(item, "content", &list))
    }
}

/// Keeps an identifier of a message that another one has.
fn rename(node: &mut Node, id: &Json) {
    let kept = node.json(Field::Extra).map(|kept| log::with_member(kept, "id", id.as_bytes()));
    node.put(Field::Extra, kept);
}

fn open_document<'a>(
    parts: &'a mut dyn Parts,
    project: Option<&str>,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    let limit = cx.options.max_line;
    let mut items = Items::over(parts.main()?, PATH, limit)?;
    let mut context = None;
    for item in items.by_ref() {
        context = context.or_else(|| context_of(&item.ok()?.value));
    }
    // A fault is reported by the reading below.
    let frame = match items.frame().text.is_empty() {
        true => return Err(first_error(Items::over(parts.main()?, PATH, limit)?)),
        false => items.frame().clone(),
    };
    let at = Position { line: 1, ..Position::default() };
    let header = Json::trusted(frame.text.clone());
    if !wire::is_header(header.as_bytes()) {
        let message = "the document has no `sessionId`";
        return Err(Error::unfit(Diagnostic::new(Code::NoHeader, message).at(at)));
    }
    let mut value = wire::read_header(&header, wire::HEADER, project, context.as_deref());
    value.node.set(Field::Source, Json::constant(SOURCES[0]));
    value.node.put(Field::File, frame.file(STYLE, cx));
    let talk = Talk::of(&value.node, cx);
    let items = Items::over(parts.main()?, PATH, limit)?;
    let first = VecDeque::from([Located { value, at }]);
    Ok(Box::new(Reading::behind(first, Document { items, talk, last: None }, cx)))
}

const SOURCES: [&str; 2] = ["\"gemini-cli@1\"", "\"gemini-cli@2\""];

fn first_error(mut items: Items) -> Error {
    let empty = || Error::unfit(Diagnostic::of(Code::NoHeader));
    items.find_map(Result::err).unwrap_or_else(empty)
}

struct Document<'a> {
    items: Items,
    talk: Talk<'a>,
    /// The last entry.
    last: Option<Json>,
}

impl ReadLines for Document<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(Located { value, at }) = self.items.next().transpose()? else { return Ok(false) };
        let item = Json::trusted(on_one_line(value.bytes()));
        let (records, last) = self.talk.read(&item, at, self.last.take(), false)?;
        self.last = last;
        ready.extend(records.into_iter().map(|value| Located { value, at }));
        Ok(true)
    }

    fn tail(&mut self, _: &mut VecDeque<Located<Record>>) -> Result<()> {
        Ok(())
    }
}

/// Line of a log, and its effect.
enum Row {
    Line(Framing, Json, Effect),
    /// A blank or damaged line.
    Kept(Framing, Option<Error>),
    /// An error in place of a line.
    Failed(Error),
}

fn open_log<'a>(
    parts: &'a mut dyn Parts,
    project: Option<&str>,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    let mut frames = FramedLines::over(parts.main()?, cx.options.max_line)?;
    let (mut log, mut rows, mut context) = (Log::default(), VecDeque::new(), None);
    let mut header = None;
    loop {
        let frame = match frames.next() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) if error.is_recoverable() => {
                rows.push_back(Row::Failed(error));
                continue;
            }
            Err(error) => return Err(error),
        };
        if frame.blank {
            rows.push_back(Row::Kept(frame, None));
            continue;
        }
        let read = || {
            utf8(&frame.line())?;
            let fault = |fault| Error::json(fault, &frame.bytes, frame.at);
            let value = Json::read(&frame.bytes).map_err(fault)?;
            match value.as_bytes().starts_with(b"{") {
                true => Ok(Json::trusted(frame.bytes.slice_ref(value.as_bytes()))),
                false => {
                    let found = Diagnostic::of(Code::NotObject).at(frame.at);
                    Err(Error::damaged(found.showing(&frame.bytes, 0)))
                }
            }
        };
        match read() {
            Ok(value) => {
                let number = rows.len();
                let effect = log.apply(number, &value);
                if matches!(effect, Effect::Data(log::HEADER, ..)) {
                    header.get_or_insert(number);
                }
                rows.push_back(Row::Line(frame, value, effect));
            }
            Err(error) => rows.push_back(Row::Kept(frame, Some(error))),
        }
    }
    for life in &log.lives {
        context = context.or_else(|| context_of(&life.last()));
    }
    let place = header.and_then(|number| Some((number, rows.get(number)?)));
    let Some((number, Row::Line(frame, value, Effect::Data(_, items, _)))) = place else {
        return Err(no_header(rows, frames.position()));
    };
    let shown = listed(value, "messages", &log.items(items));
    let mut session = wire::read_header(&shown, wire::LOG_HEADER, project, context.as_deref());
    session.node.set(Field::Source, Json::constant(SOURCES[1]));
    if number > 0 {
        let mut extra = Extra::default();
        session.node.json(Field::Extra).iter().for_each(|own| extra.add_members(own));
        extra.add(b"\"$line\"", number.to_string().as_bytes());
        extra.put(&mut session.node);
    }
    let frame = frame.clone();
    let at = Position { line: frame.at.line, record: 0, ..frame.at };
    frames.note(&frame, &mut session, true, cx);
    let talk = Talk::of(&session.node, cx);
    let first = VecDeque::from([Located { value: session, at }]);
    let (ends, last) = (HashMap::new(), None);
    let lines =
        Lines { frames, rows, number: 0, header: number, log, talk, cx, count: 1, ends, last };
    Ok(Box::new(Reading::behind(first, lines, cx)))
}

/// Returns the error for a log without a header.
fn no_header(rows: VecDeque<Row>, end: Position) -> Error {
    for row in rows {
        match row {
            Row::Failed(error) | Row::Kept(_, Some(error)) => return error,
            Row::Line(frame, ..) => {
                let message = "no line is a header with `sessionId` and `projectHash`";
                return crate::format::no_header(&frame.line(), message);
            }
            Row::Kept(..) => {}
        }
    }
    Error::unfit(Diagnostic::of(Code::Empty).at(end))
}

/// Returns an object with another list of messages, if it has one.
fn listed(object: &Json, name: &str, items: &Json) -> Json {
    match object.member(name).is_some_and(|list| list.as_bytes().starts_with(b"[")) {
        true => log::with_member(object, name, items.as_bytes()),
        false => object.clone(),
    }
}

struct Lines<'a> {
    frames: FramedLines,
    rows: VecDeque<Row>,
    /// Number of the next line, and of the line with the session's record.
    number: usize,
    header: usize,
    log: Log,
    talk: Talk<'a>,
    cx: &'a Cx<'a>,
    count: u64,
    /// Last entry of each message.
    ends: HashMap<usize, Json>,
    /// Last entry that was read.
    last: Option<Json>,
}

impl Lines<'_> {
    fn message(
        &mut self,
        number: usize,
        at: Position,
        ready: &mut VecDeque<Located<Record>>,
    ) -> Result<()> {
        let Some(life) = self.log.lives.get(number) else { return Ok(()) };
        let (item, forms, is_again) = (life.last(), life.forms(), life.is_again);
        let Life { is_listed, before, is_talk, .. } = *life;
        let before = before.and_then(|before| self.ends.get(&before).cloned());
        let (mut records, last) = self.talk.read(&item, at, before, is_again)?;
        if let Some(end) = last.filter(|_| is_talk) {
            self.ends.insert(number, end.clone());
            if records.iter().any(Record::is_node) {
                self.last = Some(end);
            }
        }
        if let Some(record) = records.first_mut() {
            if is_listed {
                record.node.set(Field::Layout, Json::string(wire::LISTED));
            }
            if let Some(forms) = forms {
                let mut extra = Extra::default();
                record.node.json(Field::Extra).iter().for_each(|own| extra.add_members(own));
                extra.add(Json::string(wire::VERSIONS).as_bytes(), forms.as_bytes());
                extra.put(&mut record.node);
            }
        }
        for value in records {
            ready.push_back(Located { value, at: Position { record: self.count, ..at } });
            self.count += 1;
        }
        Ok(())
    }

    /// Returns the record of data of the session. Data that drop messages are an entry behind those
    /// that are still in the conversation.
    fn data(&mut self, name: &str, data: Json, end: Option<Option<usize>>) -> Record {
        let before = end.map(|end| end.and_then(|end| self.ends.get(&end).cloned()));
        let Some(before) = before.filter(|before| *before != self.last) else {
            return notice(name, data);
        };
        let mut record = Record::new(Kind::Event);
        record.node.set(Field::Data, data);
        self.last = Some(self.talk.chain.name(&mut record.node));
        record.node.set(Field::Parent, before.unwrap_or(Json::constant("null")));
        record
    }

    fn items(
        &mut self,
        items: &[Item],
        at: Position,
        ready: &mut VecDeque<Located<Record>>,
    ) -> Result<()> {
        let new = items.iter().filter_map(|item| match item {
            Item::New(life) => Some(*life),
            _ => None,
        });
        new.into_iter().try_for_each(|life| self.message(life, at, ready))
    }
}

impl ReadLines for Lines<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(row) = self.rows.pop_front() else { return Ok(false) };
        let number = self.number;
        self.number += 1;
        let (frame, value, effect) = match row {
            Row::Failed(error) => return Err(error),
            Row::Kept(frame, error) => {
                let value = match error {
                    Some(error) => self.frames.damaged(&frame, error, self.cx)?,
                    None => self.frames.record_of_line(&frame),
                };
                ready.push_back(Located { value, at: Position { record: self.count, ..frame.at } });
                self.count += 1;
                return Ok(true);
            }
            Row::Line(frame, value, effect) => (frame, value, effect),
        };
        let at = frame.at;
        let record = match &effect {
            Effect::Data(_, items, _) if number == self.header => {
                self.items(items, at, ready)?;
                return Ok(true);
            }
            Effect::Again => return Ok(true),
            Effect::New(life) => return self.message(*life, at, ready).map(|()| true),
            Effect::Data(name, items, end) => {
                let forms = self.log.items(items);
                let data = match value.member(log::SET) {
                    Some(set) if *name == log::SET && !items.is_empty() => {
                        let set = listed(&set, "messages", &forms);
                        log::with_member(&value, log::SET, set.as_bytes())
                    }
                    _ if *name == log::HEADER => listed(&value, "messages", &forms),
                    _ => value,
                };
                self.data(name, data, *end)
            }
            Effect::None => notice(OTHER, value),
        };
        ready.push_back(Located { value: record, at: Position { record: self.count, ..at } });
        self.count += 1;
        if let Effect::Data(_, items, _) = &effect {
            self.items(items, at, ready)?;
        }
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        ready.extend(self.frames.tail(self.cx));
        Ok(())
    }
}

/// Shows the pieces that the schema describes: lines of a log; messages of a document, and the rest
/// of it.
///
/// # Errors
/// If a part cannot be read.
pub fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    if is_of_document(parts)? {
        return document::pieces(parts.main()?, PATH, cx.options.max_line, show);
    }
    let mut frames = FramedLines::over(parts.main()?, cx.options.max_line)?;
    while let Ok(Some(frame)) = frames.next() {
        let is_object = !frame.blank && Json::read(&frame.bytes).is_ok();
        if is_object && show(frame.at, &frame.bytes).is_break() {
            break;
        }
    }
    Ok(())
}
