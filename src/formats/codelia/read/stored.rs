//! Reader of a whole session: its runs in their order, and its state from the place where it is
//! stored.

use super::{NamedPart, Records, Run};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Cx, Head, Parts, Reader};
use crate::formats::codelia::answers::{Answers, Messages};
use crate::formats::codelia::history::{History, record_of};
use crate::formats::codelia::rows::{self, DATABASE, DATABASE_LOG, Row};
use crate::formats::codelia::state::{self, Stored};
use crate::formats::codelia::{NAME, log};
use crate::framing::Reading;
use crate::ids::Maker;
use crate::json::Json;
use crate::json::text::to_base64;
use crate::lines::BOM;
use crate::mapping::Source;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;
use std::io::Read;

/// Places where the state of a session is stored.
#[derive(Debug, Default)]
pub(super) struct Stores {
    /// File of its own, as the first releases wrote it.
    state: Option<NamedPart>,
    /// Log of the session's messages.
    log: Option<NamedPart>,
    /// Row of the session in the database, and the number of the database's part.
    row: Option<(Row, u32)>,
}

impl Stores {
    /// Returns the version of the format that stores the state in these places.
    pub(super) fn version(&self) -> u32 {
        if self.log.is_some() || self.row.is_some() { 2 } else { 1 }
    }
}

/// Opens a whole session for reading: its runs in the order in which they began, and its state.
pub fn open_whole<'a>(parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    parts.keep()?;
    let (mut runs, mut stores, mut database) = (Vec::new(), Stores::default(), None);
    let mut named = None;
    for (part, name) in (0..).zip(parts.names()) {
        let id = |text: &str| Json::string(text.rsplit('/').next().unwrap_or_default());
        let place = NamedPart { part, name };
        if place.name == DATABASE {
            database = Some(part);
        } else if place.name.ends_with(".jsonl") && place.name.starts_with("/sessions/messages/") {
            named = place.name.strip_suffix(".jsonl").map(id);
            stores.log = Some(place);
        } else if let Some(name) = place.name.strip_suffix(".json") {
            named = named.or(Some(id(name)));
            stores.state = Some(place);
        } else if place.name != DATABASE_LOG {
            runs.push((began(parts, &place.name)?, place));
        }
    }
    runs.sort_by(|(a, _), (b, _)| a.at.cmp(&b.at));
    let name = runs.first().and_then(|(began, _)| began.session.clone()).or(named);
    let id = name.or(parts.session().map(|id| Json::string(&id)));
    if let (Some(part), Some(id)) = (database, &id) {
        let row = match rows::read(parts, &id.text().unwrap_or_default(), cx.options.max_line) {
            Ok(row) => row,
            // The session is whole without it.
            Err(error) => cx.tolerate(error).map(|_| None)?,
        };
        stores.row = row.map(|row| (row, part));
    }
    let runs: Vec<_> = runs.into_iter().map(|(_, place)| place).collect();
    let none = runs.is_empty();
    let mut records = Records::over(parts, cx, runs, stores, "")?;
    if let Some(id) = id.filter(|_| none) {
        records.without_runs(id)?;
    }
    Ok(Box::new(Reading::new(records, cx)))
}

/// Facts from the header of a run.
struct Began {
    /// Time at which the run began, as it is spelled.
    at: String,
    session: Option<Json>,
}

fn began(parts: &mut dyn Parts, name: &str) -> Result<Began> {
    let mut head = Vec::new();
    let read = parts.open(name)?.take(Head::SIZE as u64).read_to_end(&mut head);
    read.map_err(|error| crate::error::Error::io("cannot read", error))?;
    let line = Bytes::copy_from_slice(head.strip_prefix(BOM).unwrap_or(&head));
    let source = Source::new(&line);
    Ok(Began {
        at: source.peek_text("started_at").ok().flatten().unwrap_or_default().into_owned(),
        session: source.peek_text("session_id").ok().flatten().map(|id| Json::string(&id)),
    })
}

impl Records<'_> {
    /// Begins with the session alone. Fields that headers of runs would contain are taken from its
    /// state.
    fn without_runs(&mut self, id: Json) -> Result<()> {
        self.history = Some(History::new(Maker::new(self.cx.options.ids, id.as_bytes())));
        self.run = Run { ended: true, ..Run::default() };
        let mut session = Record::new(Kind::Session);
        let source = format!("{NAME}@{}", self.stores.version());
        session.node.set(Field::Source, Json::string(&source));
        session.node.set(Field::Id, id);
        let store = self.store_fields()?;
        for (field, value) in [
            (Field::Updated, store.json(Field::Updated).cloned()),
            (Field::Cwd, state::workspace(&store)),
        ] {
            session.node.put(field, value);
        }
        self.ready.push_back(Located { value: session, at: Position::default() });
        Ok(())
    }

    /// Returns the fields that the store contains beside the messages.
    fn store_fields(&mut self) -> Result<Node> {
        let mut fields = Node::default();
        if let Some((row, _)) = &self.stores.row {
            row.fill(&mut fields, 0, None);
        } else if let Some(place) = &self.stores.state {
            // Faults of the state are reported when it is read for good.
            let log = Log::default();
            let quiet = Cx { options: self.cx.options, log: &log };
            let state = state::read(self.parts.open(&place.name)?, &quiet);
            fields = state.map(|state| state.snapshot.node).unwrap_or_default();
        }
        Ok(fields)
    }

    /// Returns the answer of a tool in parts, as the state contains it, with its spelling.
    pub(super) fn in_parts(&mut self, output: &Node) -> Option<(Record, Vec<u8>)> {
        if self.answers.is_none() {
            self.answers = Some(Answers::of(self.state_messages(), self.state_messages()));
        }
        let message = self.answers.as_mut()?.of_output(output)?;
        Some((record_of(&message), message.as_bytes().to_vec()))
    }

    /// Returns the messages of the state, as far as they can be read. Faults of the state are
    /// reported when it is read for good.
    fn state_messages(&mut self) -> Messages {
        fn each(messages: Result<impl Iterator<Item = Result<Json>> + 'static>) -> Messages {
            Box::new(messages.into_iter().flatten().map_while(Result::ok))
        }
        let limit = self.cx.options.max_line;
        let place = self.stores.log.as_ref().or(self.stores.state.as_ref());
        let part = place.and_then(|place| self.parts.open(&place.name).ok());
        match part {
            Some(part) if self.stores.log.is_some() => each(log::messages(part, limit)),
            Some(part) => each(state::messages(part, limit)),
            None => Box::new(std::iter::empty()),
        }
    }

    /// Reads the state, the last message of which is the session's current message.
    pub(super) fn stored(&mut self) -> Result<()> {
        let newer = self.stores.log.is_some() || self.stores.row.is_some();
        if let Some(place) = self.stores.state.take() {
            self.state(&place, newer)?;
        }
        if newer { self.newer() } else { Ok(()) }
    }

    fn state(&mut self, place: &NamedPart, remaining: bool) -> Result<()> {
        let at = Position { part: place.part, line: 1, ..Position::default() };
        let limit = self.cx.options.max_line;
        let Stored { mut snapshot, file } =
            match state::read(self.parts.open(&place.name)?, self.cx) {
                Ok(state) => state,
                // The runs are whole without it.
                Err(error) => return self.cx.tolerate(error).map(drop),
            };
        if remaining {
            // The runtime leaves this file unchanged once there is a log.
            snapshot.node.set(Field::Layout, Json::constant("\"state\""));
        }
        let messages = state::messages(self.parts.open(&place.name)?, limit)?;
        self.snapshot(snapshot, messages, file, at)
    }

    /// Reads the log and the row.
    fn newer(&mut self) -> Result<()> {
        let mut snapshot =
            Record::new(Kind::Snapshot).with(Field::Layout, Json::constant("\"log\""));
        let row = self.stores.row.take();
        let Some(place) = self.stores.log.take() else {
            let Some((row, part)) = row else { return Ok(()) };
            let at = Position { part, ..Position::default() };
            let empty = self.history.as_ref().is_none_or(|history| history.last().is_none());
            let message = match empty {
                true => "message log is missing, and with it all messages",
                false => Code::NoMessageLog.title(),
            };
            self.cx.report(Diagnostic::new(Code::NoMessageLog, message).at(at));
            row.fill(&mut snapshot.node, 0, None);
            self.ready.push_back(Located { value: snapshot, at });
            return Ok(());
        };
        let at = Position { part: place.part, line: 1, ..Position::default() };
        let limit = self.cx.options.max_line;
        if let Some(found) = log::survey(self.parts.open(&place.name)?, limit)? {
            match row {
                Some((row, _)) => {
                    if found.messages == 0 && row.counts() > 0 {
                        let message = format!("message log is empty, and had {}", row.counts());
                        self.cx.report(Diagnostic::new(Code::NoMessageLog, message).at(at));
                    }
                    row.fill(&mut snapshot.node, found.messages, found.last_user.as_ref());
                }
                None => self.cx.report(Diagnostic::of(Code::NoRow).at(at)),
            }
            let messages = log::messages(self.parts.open(&place.name)?, limit)?;
            return self.snapshot(snapshot, messages, None, at);
        }
        self.foreign_log(&place, row, snapshot, at)
    }

    /// Reads a log that the runtime did not write, or that is damaged.
    fn foreign_log(
        &mut self,
        place: &NamedPart,
        row: Option<(Row, u32)>,
        mut snapshot: Record,
        at: Position,
    ) -> Result<()> {
        let state::State { file, text } = state::text_of(self.parts.open(&place.name)?, self.cx)?;
        let (messages, errors) = log::split(&text, place.part);
        errors.into_iter().try_for_each(|error| self.cx.tolerate(error).map(drop))?;
        match row {
            Some((row, _)) => {
                row.fill(&mut snapshot.node, messages.len(), rows::last_user(&messages));
            }
            None => self.cx.report(Diagnostic::of(Code::NoRow).at(at)),
        }
        self.snapshot(snapshot, messages.into_iter().map(Ok), file, at)
    }

    fn snapshot(
        &mut self,
        mut snapshot: Record,
        messages: impl Iterator<Item = Result<Json>>,
        file: Option<Node>,
        at: Position,
    ) -> Result<()> {
        let Some(history) = &mut self.history else { return Ok(()) };
        let (new, references) = history.snapshot(messages)?;
        snapshot.node.set(Field::Messages, references);
        for message in new {
            self.message(message, at);
        }
        self.ready.push_back(Located { value: snapshot, at });
        if let Some(file) = file {
            let session = Record::new(Kind::Session).with(Field::File, file);
            self.ready.push_back(Located { value: session, at });
        }
        Ok(())
    }

    /// Reads the stored output that an output's reference names, if it exists.
    pub(super) fn follow(&mut self, output: &mut Node, at: Position) -> Result<()> {
        let Some(id) = output.json(Field::Reference).and_then(|reference| reference.member("id"))
        else {
            return Ok(());
        };
        let id = id.text().unwrap_or_default();
        let Some(name) = crate::formats::codelia::names::output_part(&id) else {
            let message = format!("the output's reference {id:?} is not a plain name");
            self.cx.report(Diagnostic::new(Code::OutsideReference, message).at(at));
            return Ok(());
        };
        let Some(part) = self.parts.follow(&name)? else { return Ok(()) };
        let (mut bytes, limit) = (Vec::new(), self.cx.options.max_line as u64);
        let read = part.take(limit.saturating_add(1)).read_to_end(&mut bytes);
        if read.map_err(|error| crate::error::Error::io("cannot read", error))? as u64 > limit {
            let message = format!("stored output of more than {limit} bytes, the limit");
            self.cx.report(Diagnostic::new(Code::LineTooLong, message).at(at));
            return Ok(());
        }
        let shown = output.json(Field::Output).and_then(Json::text);
        let stored = match std::str::from_utf8(&bytes) {
            Ok(text) if shown.as_deref() == Some(text) => Json::constant("true"),
            Ok(text) => Json::string(text),
            Err(_) => {
                let object = format!("{{\"base64\":\"{}\"}}", to_base64(&bytes));
                Json::trusted(object.into_bytes().into())
            }
        };
        output.set(Field::Stored, stored);
        Ok(())
    }
}

/// Returns the bytes of a stored output; `output` is the output's record with all its fields.
pub fn stored_of(output: &Node) -> Option<Vec<u8>> {
    let stored = output.json(Field::Stored)?;
    if let Some(base64) = stored.text_of("base64") {
        return crate::json::text::from_base64(&base64);
    }
    let output = output.json(Field::Output).filter(|_| output.is_true(Field::Stored));
    output.unwrap_or(stored).text().map(String::into_bytes)
}
