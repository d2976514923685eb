//! Sessions of other formats, and of other versions, as a rollout.
//!
//! The items are what Codex sends; beside each is the event by which Codex lists and shows the
//! session: a session without an event for its first question is in no list, and an answer without
//! one is not on the screen. Identifiers of items are left out, because they belong to a server.
//! Thoughts of other models are left out, too: only their provider can read them.

use super::items::{adapted, owned};
use super::twin::{self, Images, Speaker, Turn};
use super::usage::Counter;
use super::{NAME, line, wire};
use crate::diagnostic::{Code, Diagnostic, FieldOutcome, Log};
use crate::dialect::responses;
use crate::format::Cx;
use crate::ids::uuid_of;
use crate::json::{Json, text};
use crate::mapping::{Extra, Object, template, without};
use crate::record::{Field, Kind, Node, Record, Value, began, block, session_uuid};
use crate::times;
use jiff::Timestamp;

/// Version that Codex claims for a session that no release wrote.
pub const NO_RELEASE: &str = "0.0.0";

/// Program that a rollout names which copyist began.
const ORIGINATOR: &str = "copyist";

/// Takes the pieces of a line without its ending.
type To<'t> = &'t mut dyn FnMut(&[&[u8]]);

/// State of the conversion.
#[derive(Debug, Default)]
pub struct Foreign {
    version: u32,
    /// Whether the records come from a rollout of another version.
    own: bool,
    /// Whether that rollout has events, which then keep their places; otherwise they are made.
    shows: bool,
    /// The last text of each speaker, for the events that repeat it.
    last_texts: [Option<Json>; 3],
    session: Node,
    /// Whether the first line is still to be written.
    first: bool,
    time: Option<Timestamp>,
    /// The time of the present line, in its spelling.
    stamp: Option<Json>,
    /// Records that wait until a folder of the session is found, and their size in bytes.
    waiting: Vec<Record>,
    waiting_size: usize,
    ordinal: u64,
    turn: Turn,
    usage: Counter,
    question: Option<String>,
}

impl Foreign {
    /// Begins with the session's record.
    pub fn of(session: &Node, version: u32, cx: &Cx<'_>) -> Self {
        let own = session.text(Field::Source).is_some_and(|s| s.split('@').next() == Some(NAME));
        let question = cx.options.question.clone();
        let mut session = session.clone();
        if let Some(folder) = cx.options.folder.as_deref().filter(|_| own)
            && session.json(Field::Cwd).is_none()
        {
            session.set(Field::Cwd, Json::string(folder));
        }
        lose(&session, version, own, cx.log);
        Self {
            version,
            own,
            time: began(&session),
            shows: own && !session.is(Field::Source, "codex@1"),
            session,
            first: true,
            question,
            ..Self::default()
        }
    }

    /// Begins behind the end of a rollout of this version.
    pub fn behind(session: &Node, version: u32) -> Self {
        let thread = session.text(Field::Id).unwrap_or_default();
        let turn = Turn {
            turn: uuid_of(&[thread.as_bytes(), b"turn"].concat()),
            thread,
            ..Turn::default()
        };
        Self { version, turn, ..Self::default() }
    }

    /// Notes a record that the rollout has.
    pub fn note(&mut self, record: &Record) {
        let node = &record.node;
        if node.is_true(Field::Synthesized) {
            return;
        }
        let ordinal = node.json(Field::Extra).and_then(|extra| extra.member("ordinal")?.float());
        self.ordinal = ordinal.map_or(self.ordinal, |ordinal| ordinal as u64 + 1);
        if let Some(data) = node.json(Field::Data).filter(|_| record.kind == Kind::Event) {
            self.turn.begin(data);
            self.usage.resume(data);
            let is_item =
                data.member("type").is_some_and(|kind| kind.as_bytes() == b"\"item_completed\"");
            self.turn.item += u64::from(is_item);
        }
    }

    /// Writes the lines of a message behind the rollout.
    pub fn add(&mut self, record: &Record, log: &Log, to: To<'_>) {
        self.time = record.node.json(Field::Time).and_then(times::read).or(self.time);
        self.lines(record, log, to);
        self.count(None, to);
    }

    /// Writes the lines of a record.
    pub fn record(&mut self, record: &Record, cx: &Cx<'_>, to: To<'_>) {
        if record.kind == Kind::Session {
            return;
        }
        self.time = record.node.json(Field::Time).and_then(times::read).or(self.time);
        if self.lacks_folder() {
            let folder = folder_of(record);
            folder.iter().for_each(|cwd| self.found(cwd, cx));
            self.waiting_size += size_of(record);
            self.waiting.push(record.clone());
            if folder.is_some() || self.waiting_size > LONGEST_WAIT {
                self.release(cx, to);
            }
            return;
        }
        self.head(to);
        self.lines(record, cx.log, to);
    }

    /// Writes what is still to be written.
    pub fn finish(&mut self, cx: &Cx<'_>, to: To<'_>) {
        self.release(cx, to);
        self.count(None, to);
    }

    /// Writes the first line, if no record did, and the records that wait for it.
    fn release(&mut self, cx: &Cx<'_>, to: To<'_>) {
        if self.lacks_folder() {
            let message = "the session names no working folder; `/` is written";
            cx.report(Diagnostic::new(Code::NoProject, message));
        }
        self.head(to);
        for record in std::mem::take(&mut self.waiting) {
            self.lines(&record, cx.log, to);
        }
    }

    /// Whether the first line waits for a folder, which version 1 does not name.
    fn lacks_folder(&self) -> bool {
        let folder = self.session.json(Field::Cwd);
        self.first && self.own && self.version > 1 && folder.is_none()
    }

    fn found(&mut self, cwd: &Json, cx: &Cx<'_>) {
        let text = cwd.text().unwrap_or_default();
        let message = format!("the session's folder is that of its first command: {text}");
        cx.report(Diagnostic::new(Code::FolderFound, message));
        self.session.set(Field::Cwd, cwd.clone());
    }

    fn lines(&mut self, record: &Record, log: &Log, to: To<'_>) {
        self.stamp = record.node.json(Field::Time).filter(|_| self.own).cloned();
        match record.kind {
            Kind::Message if !record.is_aside() && self.own => self.message(record, log, to),
            Kind::Message if !record.is_aside() => {
                self.count(Some(&record.node), to);
                self.thoughts(&record.node, to);
                self.message(record, log, to);
                self.usage.note(&record.node);
            }
            _ if self.own => self.line(record, log, to),
            _ => log.lost(&record.path()),
        }
    }

    fn head(&mut self, to: To<'_>) {
        if !std::mem::take(&mut self.first) {
            return;
        }
        let mut node = std::mem::take(&mut self.session);
        let id = session_uuid(&node, self.question.as_deref());
        let created = self.now();
        node.set(Field::Id, Json::string(&id));
        if !self.own || node.json(Field::Created).is_none() {
            node.set(Field::Created, created.clone());
        }
        node.set(Field::Time, created);
        if !self.own {
            for field in [Field::Provider, Field::SystemPrompt, Field::Extra] {
                node.take(field);
            }
        }
        let extra = members(&node, self.version, self.own);
        if self.version == 1 {
            node.set(Field::Extra, extra);
        } else {
            if !node.text(Field::Cwd).is_some_and(|cwd| cwd.starts_with('/')) {
                node.set(Field::Cwd, Json::constant("\"/\""));
            }
            self.number(extra, &mut node);
        }
        let mut out = Vec::new();
        line::write_meta(&node, self.version == 1, &mut out);
        to(&[&out]);
        self.turn.turn = uuid_of(&[id.as_bytes(), b"turn"].concat());
        self.turn.thread = id;
    }

    /// Sets the members around a payload.
    fn number(&mut self, payload: Json, node: &mut Node) {
        let mut extra = Extra::default();
        if self.version == 3 {
            extra.add(b"\"ordinal\"", self.ordinal.to_string().as_bytes());
            self.ordinal += 1;
        }
        let payload = payload.member("payload").unwrap_or(payload);
        extra.add(b"\"payload\"", payload.as_bytes());
        rest_of(node).into_iter().for_each(|rest| extra.add_members(&rest));
        extra.put(node);
    }

    fn now(&self) -> Json {
        if let Some(stamp) = &self.stamp {
            return stamp.clone();
        }
        Json::string(&times::with_millis(self.time.unwrap_or(Timestamp::UNIX_EPOCH)))
    }

    /// Writes a line of another version of the format.
    fn line(&mut self, record: &Record, log: &Log, to: To<'_>) {
        let node = &record.node;
        let data = node.json(Field::Data);
        if record.kind == Kind::Event
            && let Some(data) = data
        {
            self.turn.begin(data);
            if let Some((speaker, text)) = twin::of_event(data) {
                let new = self.last_texts.get(speaker as usize).and_then(Option::as_ref);
                let text = new.filter(|_| node.is_true(Field::Derived)).unwrap_or(&text).clone();
                if self.version == 1 {
                    return log.count(FieldOutcome::Derived, "event");
                }
                return self.event(speaker, &text, &twin::images(data), rest_of(node), to);
            }
        }
        // A line of version 1 that is not an item is not part of the conversation.
        let state = node.is(Field::Subtype, "state");
        let bare = data.filter(|data| state && data.member("type").is_none());
        if let Some(data) = bare {
            let answer = data.member("previous_response_id").filter(|id| !id.is_null());
            let outcome =
                if answer.is_some() { FieldOutcome::Dropped } else { FieldOutcome::Derived };
            return log.count(outcome, "notice");
        }
        let item = state || record.kind == Kind::Extension || line::is_item(record);
        match data {
            Some(data) if item => {
                self.payload(line::wire_of(record), data.as_bytes(), rest_of(node), to);
            }
            _ if self.version > 1 && record.kind != Kind::Opaque => {
                let mut record = record.clone();
                let payload = node.json(Field::Extra).and_then(|extra| extra.member("payload"));
                self.number(payload.unwrap_or(Json::constant("{}")), &mut record.node);
                record.node.set(Field::Time, self.now());
                let mut out = Vec::new();
                if line::write(&record, false, &mut out) { to(&[&out]) } else { lost(&record, log) }
            }
            _ if self.version > 1 => match node.line().or(data.map(|data| data.bytes().to_vec())) {
                Some(line) => to(&[&line]),
                None => lost(record, log),
            },
            _ => lost(record, log),
        }
    }

    fn message(&mut self, record: &Record, log: &Log, to: To<'_>) {
        let pieces = if self.own { vec![owned(&record.node)] } else { adapted(&record.node, log) };
        for piece in pieces {
            let mut out = Vec::new();
            if !responses::write(&piece, &mut out) {
                lost(record, log);
                continue;
            }
            let rest = if self.own { rest_of(&record.node) } else { None };
            self.payload(wire::ITEM, &out, rest, to);
            let message = twin::of_message(&piece).filter(|_| self.version > 1);
            match message {
                Some((speaker, text)) if self.shows => {
                    if let Some(last) = self.last_texts.get_mut(speaker as usize) {
                        *last = Some(text);
                    }
                }
                Some((speaker, text)) => {
                    self.event(speaker, &text, &Images::default(), None, to);
                }
                None => {}
            }
        }
    }

    /// Writes an event for each thought of another model: Codex shows it, and sends nothing of it.
    fn thoughts(&mut self, message: &Node, to: To<'_>) {
        for block in message.blocks_of(block::THINKING) {
            let words = block.json(Field::Thinking).filter(|words| words.as_bytes().len() > 2);
            // Version 3 shows nothing for it.
            if let Some(words) = words.filter(|_| self.version == 2) {
                self.event(Speaker::Thought, words, &Images::default(), None, to);
            }
        }
    }

    /// Writes the event with the tokens of the last answer, before the `next` message.
    fn count(&mut self, next: Option<&Node>, to: To<'_>) {
        if let Some(event) = self.usage.event(next).filter(|_| self.version > 1) {
            self.payload(wire::EVENT, &event, None, to);
        }
    }

    fn event(
        &mut self,
        speaker: Speaker,
        new_text: &Json,
        images: &Images,
        rest: Option<Json>,
        to: To<'_>,
    ) {
        let mut payload = Vec::new();
        self.turn.item += 1;
        self.turn.millis = self.time.unwrap_or(Timestamp::UNIX_EPOCH).as_millisecond();
        if speaker == Speaker::User && !self.turn.named {
            let key = [self.turn.thread.as_bytes(), &self.turn.item.to_le_bytes()].concat();
            self.turn.turn = uuid_of(&key);
        }
        let turn = Some(&self.turn).filter(|_| self.version == 3);
        twin::write(speaker, new_text, images, turn, &mut payload);
        self.payload(wire::EVENT, &payload, rest, to);
    }

    /// Writes a line with this payload.
    fn payload(&mut self, wire: &str, payload: &[u8], rest: Option<Json>, to: To<'_>) {
        if self.version == 1 {
            return to(&[payload]);
        }
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        let mut object = Object::open(&mut head);
        object.member("timestamp", self.now().as_bytes());
        if self.version == 3 {
            object.member("ordinal", self.ordinal.to_string().as_bytes());
            self.ordinal += 1;
        }
        text::quote(wire, object.key("type"));
        object.key("payload");
        object.close_behind(rest.as_ref(), &mut tail);
        // A long payload is not copied.
        to(&[&head, payload, &tail]);
    }
}

/// Returns the members around a payload, without those that a version decides on.
fn rest_of(node: &Node) -> Option<Json> {
    without(&without(node.json(Field::Extra)?, "ordinal")?, "payload")
}

/// Size in bytes of the records that wait for a folder at most.
const LONGEST_WAIT: usize = 1 << 20;

/// Returns the folder that a call names for its command.
fn folder_of(record: &Record) -> Option<Json> {
    let call = record.node.nodes(Field::Content)?.first()?.json(Field::Arguments)?;
    let arguments = call.parsed().unwrap_or_else(|| call.clone());
    let folder = ["workdir", "working_directory"].iter().find_map(|name| arguments.member(name));
    folder.filter(|folder| folder.text().is_some_and(|folder| folder.starts_with('/')))
}

fn size_of(record: &Record) -> usize {
    let size = |value: &Value| match value {
        Value::Json(json) => json.as_bytes().len(),
        Value::Node(_) => 64,
        Value::Nodes(blocks) => blocks
            .iter()
            .flat_map(Node::iter)
            .map(|(_, value)| match value {
                Value::Json(json) => json.as_bytes().len(),
                _ => 64,
            })
            .sum(),
    };
    64 + record.node.iter().map(|(_, value)| size(value)).sum::<usize>()
}

fn lost(record: &Record, log: &Log) {
    log.lost(record.kind.name());
}

/// Counts the fields of the session record that the first line does not hold.
fn lose(session: &Node, version: u32, own: bool, log: &Log) {
    const HELD: &[Field] =
        &[Field::Source, Field::Id, Field::Created, Field::Updated, Field::File, Field::Time];
    const OF_OWN: &[Field] =
        &[Field::Provider, Field::SystemPrompt, Field::ParentSession, Field::Extra];
    for field in session.fields().filter(|field| !HELD.contains(field)) {
        let held = [Field::Cwd, Field::Branch].contains(&field) || (own && OF_OWN.contains(&field));
        if !held || version == 1 && ![Field::Extra, Field::Branch].contains(&field) {
            log.lost(&format!("session.{}", field.name()));
        }
    }
}

/// Returns the members of the first line for which the model has no field, and places for the
/// others.
fn members(node: &Node, version: u32, own: bool) -> Json {
    let kept = node.json(Field::Extra).and_then(|extra| extra.member("payload"));
    let has = |name: &str| kept.as_ref().is_some_and(|kept: &Json| kept.member(name).is_some());
    let mut extra = Extra::default();
    let mut usual = |name: &str, value: &[u8]| {
        if !has(name) {
            extra.add(format!("\"{name}\"").as_bytes(), value);
        }
    };
    usual("id", template::PLACE);
    usual("timestamp", template::PLACE);
    if version == 1 {
        usual("instructions", b"null");
    } else {
        usual("cwd", template::PLACE);
        usual(
            "originator",
            format!("\"{}\"", if own { "codex_cli_rs" } else { ORIGINATOR }).as_bytes(),
        );
        usual("cli_version", format!("\"{NO_RELEASE}\"").as_bytes());
        usual("source", b"\"cli\"");
    }
    let bare = ["id", "timestamp", "instructions", "git"];
    for (key, value) in kept.iter().flat_map(Json::members) {
        let held = version > 1 || bare.iter().any(|name| text::is(key, name));
        // The lines of the other rollout are written here, where lines have no numbers.
        let numbers = [wire::HISTORY_MODE, wire::HISTORY_BASE];
        if held && !numbers.iter().any(|name| text::is(key, name)) {
            extra.add(key, value);
        }
    }
    if version == 3 {
        extra.add(b"\"history_mode\"", b"\"paginated\"");
    }
    let members = extra.finish().unwrap_or(Json::constant("{}"));
    let mut outer = Extra::default();
    outer.add(b"\"payload\"", members.as_bytes());
    outer.finish().unwrap_or_default()
}

/// Whether copyist began the rollout.
pub fn is_ours(session: &Node) -> bool {
    let payload = session.json(Field::Extra).and_then(|extra| extra.member("payload"));
    let originator = payload.and_then(|payload| payload.member("originator")?.text());
    originator.is_some_and(|originator| originator == ORIGINATOR)
}
