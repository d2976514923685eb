//! Reader of sessions, wherever they are: each is read as its document.

use super::database::{self, Stored};
use super::files::{self, Files};
use super::item::{self, Item, Reverted};
use super::second::{self, Second};
use super::wire::{INFO, SESSION_TIMES, kept, read_times};
use super::{PATH, STYLE};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::{self, Frame, Items, on_one_line};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, Piece, Reader};
use crate::framing::{ReadLines, Reading};
use crate::json::{Fault, Json, text};
use crate::mapping::{Extra, Source, template};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::collections::VecDeque;

/// Opens a session for reading: that of the database, which the program reads today, else that of
/// files, else a document.
pub fn open<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let names = parts.names();
    if let Some(name) = database::part_of(&names) {
        let id = match parts.session() {
            Some(id) => Some(id),
            None => database::roster(parts)?.pop(),
        };
        let stored = database::open(parts, &name, &id.unwrap_or_default(), cx)?;
        if let Some(Stored { frame, messages }) = stored {
            if files::main(&names).is_some() {
                cx.report(Diagnostic::of(Code::TwoStores));
            }
            return behind(&frame, None, messages, cx);
        }
    }
    if let Some(frame) = files::frame(parts, cx)? {
        return behind(&frame, None, Box::new(Files::of(parts, cx)), cx);
    }
    let Some(name) = files::document(&names) else {
        let message = "the database has no such session";
        return Err(Error::unfit(Diagnostic::new(Code::NoHeader, message)));
    };
    parts.keep()?;
    let limit = cx.options.max_line;
    let (frame, is_sorted) = survey(Items::over(parts.open(name)?, PATH, limit)?)?;
    let items = Items::over(parts.open(name)?, PATH, limit)?;
    if second::is_own(&frame.text) {
        let frame = second::frame(&Json::trusted(frame.text));
        return behind(&frame, None, Box::new(of_second(&frame, items, cx)), cx);
    }
    let items: Ordered<'_> = if is_sorted { Box::new(items) } else { Box::new(sorted(items)?) };
    behind(&frame.text, frame.file(STYLE, cx), items, cx)
}

/// Begins a session with the record that the document without its messages is.
fn behind<'a>(
    frame: &Bytes,
    file: Option<Node>,
    items: Ordered<'a>,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    let at = Position { line: 1, ..Position::default() };
    let frame = on_one_line(frame);
    let mut value = session(&frame).map_err(|fault| Error::json(fault, &frame, at))?;
    value.node.put(Field::File, file);
    let messages = Messages::of(&value.node, items, cx);
    let first = VecDeque::from([Located { value, at }]);
    Ok(Box::new(Reading::behind(first, messages, cx)))
}

/// Messages in the order in which the program reads them.
type Ordered<'a> = Box<dyn Iterator<Item = Result<Located<Json>>> + 'a>;

/// Key by which the program orders messages.
type Key = (i64, String);

fn key(item: &Json) -> Key {
    let info = item.member("info").unwrap_or_default();
    let time = info.member("time").and_then(|time| time.member("created")?.float());
    let id = info.member("id").and_then(|id| id.text()).unwrap_or_default();
    (time.unwrap_or_default() as i64, id)
}

/// Reads through a document: returns its frame, and whether its messages are in the order in which
/// the program reads them.
fn survey(mut items: Items) -> Result<(Frame, bool)> {
    let (mut last, mut is_sorted) = (Key::default(), true);
    for item in items.by_ref() {
        let key = key(&item?.value);
        is_sorted &= last <= key;
        last = key;
    }
    Ok((items.frame().clone(), is_sorted))
}

/// Returns the messages in the order in which the program reads them. Only a document that another
/// program wrote needs this.
fn sorted(items: Items) -> Result<impl Iterator<Item = Result<Located<Json>>>> {
    let mut all = items.collect::<Result<Vec<_>>>()?;
    all.sort_by_cached_key(|item| key(&item.value));
    Ok(all.into_iter().map(Ok))
}

/// Returns the messages of a document of release 2.
fn of_second<'a>(
    frame: &Bytes,
    items: Items,
    cx: &'a Cx<'a>,
) -> impl Iterator<Item = Result<Located<Json>>> + use<'a> {
    let info = Json::trusted(frame.clone()).member("info").unwrap_or_default();
    let mut second = Second::of(info.member("id").unwrap_or_default());
    items.flat_map(move |item| match item {
        Ok(Located { value, at }) => {
            let read = second.read(&value, at, cx).into_iter();
            read.map(|value| Ok(Located { value, at })).collect::<Vec<_>>()
        }
        Err(error) => vec![Err(error)],
    })
}

/// Returns the record of a session: `frame` is the document without its messages.
///
/// # Errors
/// If the text is not JSON.
pub fn session(frame: &Bytes) -> Result<Record, Fault> {
    let mut record = Record::new(Kind::Session);
    let node = &mut record.node;
    node.set(Field::Source, Json::string(super::FORMAT.name));
    let (mut extra, mut times) = (Extra::default(), Node::default());
    for (key, value) in Json::trusted(frame.clone()).members() {
        if !text::is(key, "info") || !value.starts_with(b"{") {
            let is_list = text::is(key, "messages");
            extra.add(key, if is_list { template::PLACE } else { value });
            continue;
        }
        let own = frame.slice_ref(value);
        let (mut source, mut info) = (Source::new(&own), Extra::default());
        template::read(&mut source, INFO, node, &mut info, &mut |source, key, info| {
            let name = source.spelling(key);
            if text::is(name, "time") {
                read_times(&kept(source, key, info)?, SESSION_TIMES, &mut times);
            } else if text::is(name, "parentID") && source.cursor.peek() == Some(b'"') {
                let span = source.cursor.skip_value()?;
                info.add(name, template::PLACE);
                let mut parent = Node::default();
                parent.set(Field::Id, source.json(span));
                times.set(Field::ParentSession, parent);
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        extra.add(key, info.finish().unwrap_or(Json::constant("{}")).as_bytes());
    }
    times.iter().for_each(|(field, value)| node.set(field, value.clone()));
    extra.put(node);
    Ok(record)
}

/// Returns the message, and the part in it, from which on the user took everything back.
pub fn taken_back(session: &Node) -> Option<(String, Option<String>)> {
    let revert = session.json(Field::Extra)?.member("info")?.member("revert")?;
    let text = |name: &str| revert.member(name)?.text();
    text("messageID").map(|message| (message, text("partID")))
}

/// The messages of a session, one by one.
pub struct Messages<'a> {
    items: Ordered<'a>,
    cx: &'a Cx<'a>,
    /// Message and part from which on the user took everything back.
    reverted: Option<(String, Option<String>)>,
    /// Whether that message has come.
    is_off: bool,
    /// A request for a compaction, before its answer has come.
    request: Option<Located<Item>>,
    /// Identifier of the last entry.
    last: Option<Json>,
}

impl<'a> Messages<'a> {
    /// Begins with the first message behind the record of the session.
    pub fn of(session: &Node, items: Ordered<'a>, cx: &'a Cx<'a>) -> Self {
        let reverted = taken_back(session);
        Self { items, cx, reverted, is_off: false, request: None, last: None }
    }

    /// Queues records, each behind the entry before it.
    fn link(&mut self, records: Vec<Located<Record>>, ready: &mut VecDeque<Located<Record>>) {
        for mut located in records {
            let node = &mut located.value.node;
            if let Some(id) = node.json(Field::Id).cloned() {
                let parent = self.last.replace(id);
                node.set(Field::Parent, parent.unwrap_or(Json::constant("null")));
            }
            ready.push_back(located);
        }
    }

    fn message(
        &mut self,
        item: &Located<Item>,
        ready: &mut VecDeque<Located<Record>>,
    ) -> Result<()> {
        let Located { value, at } = item;
        let mut reverted = Reverted { is_off: self.is_off, from: None };
        if let Some((message, part)) = &self.reverted
            && value.text_of("id") == *message
        {
            self.is_off = true;
            reverted = Reverted { is_off: part.is_none(), from: part.as_deref() };
        }
        let records = item::read(value, reverted, *at);
        let records = records.map_err(|fault| Error::json(fault, &value.text, *at))?;
        self.link(records, ready);
        Ok(())
    }
}

impl ReadLines for Messages<'_> {
    fn line(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<bool> {
        let Some(Located { value, at }) = self.items.next().transpose()? else { return Ok(false) };
        let text = on_one_line(value.bytes());
        let Some(item) = Item::of(text.clone()) else {
            self.tail(ready)?;
            self.cx.report_at(Code::OddMessage, at);
            let value = item::other(&text).map_err(|fault| Error::json(fault, &text, at))?;
            ready.push_back(Located { value, at });
            return Ok(true);
        };
        if let Some(request) = self.request.take_if(|request| item.sums_up(&request.value)) {
            let compaction = item::compaction(&request.value, &item);
            let value = compaction.map_err(|fault| Error::json(fault, &text, at))?;
            self.link(vec![Located { value, at: request.at }], ready);
            return Ok(true);
        }
        self.tail(ready)?;
        let item = Located { value: item, at };
        match item.value.compaction() {
            Some(_) if !self.is_off => self.request = Some(item),
            _ => self.message(&item, ready)?,
        }
        Ok(true)
    }

    fn tail(&mut self, ready: &mut VecDeque<Located<Record>>) -> Result<()> {
        self.request.take().map_or(Ok(()), |request| self.message(&request, ready))
    }
}

/// Shows the session and its messages as the pieces that the schema describes.
pub fn pieces(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    let names = parts.names();
    // The stores have other shapes than the document that they become.
    let Some(name) = files::document(&names).filter(|_| names.len() == 1) else { return Ok(()) };
    parts.keep()?;
    // The schema is one of release 1.
    if second::is_document(parts, name)? {
        return Ok(());
    }
    document::pieces(parts.open(name)?, PATH, cx.options.max_line, show)
}
