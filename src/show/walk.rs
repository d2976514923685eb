//! The two walks over a session, of which the second makes the items.

use super::blocks::{blocks, output};
use super::head::{Head, Survey, short};
use super::item::{Block, Content, Item, Message, Note};
use super::pairing::Pairing;
use super::passage::Passage;
use super::texts::one_line;
use super::{Branches, Request};
use crate::diagnostic::{Code, Log};
use crate::dialect::anthropic::context::COMPACT_SUMMARY;
use crate::dialect::responses::provided;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Parts};
use crate::formats;
use crate::inspect::preview;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, block};
use crate::session::Session;
use crate::turns::Check;
use crate::usage::Usage;
use crate::user_words::UserWords;

/// Maximum number of events that are brought into the order of their numbers.
const EVENTS: usize = 256;

/// Maximum number of characters of a short description.
const LINE: usize = 300;

/// Title of the summary of a compaction.
const COMPACTED: &str = "Context compacted";

/// A session that was walked once.
pub struct Walk<'w, 'r> {
    format: &'static Format,
    parts: &'w mut dyn Parts,
    request: &'w Request,
    passage: Passage<'w, 'r>,
    head: Head,
}

impl<'w, 'r> Walk<'w, 'r> {
    /// Walks over a session for what must be known before its items. Its defects are reported.
    pub fn open(
        format: &'static Format,
        parts: &'w mut dyn Parts,
        request: &'w Request,
        passage: Passage<'w, 'r>,
        cx: &Cx<'_>,
    ) -> Result<Self> {
        let mut survey = Survey::new(format, passage);
        let session =
            Session::open_showing(format, parts, cx, &mut |located| survey.record(&located.value))?;
        let log = Log::default();
        let quiet = Cx { options: cx.options, log: &log };
        let head = survey.finish(session, &quiet)?;
        if let Branches::One(number) = request.branches
            && !head.own_branches().any(|branch| branch.number == number)
        {
            let most = head.own_branches().map(|branch| branch.number).max().unwrap_or(0);
            let message = format!("there is no branch {number}; the last one is {most}");
            return Err(Error::request(Code::NoContext, message));
        }
        Ok(Self { format, parts, request, passage, head })
    }

    /// Returns the facts about the session.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Passes on each item that is shown. Returns the number of records.
    pub fn items(
        self,
        cx: &Cx<'_>,
        show: &mut dyn FnMut(&Head, &Item) -> Result<()>,
    ) -> Result<(u64, Head)> {
        let Self { format, parts, request, passage, head } = self;
        let log = Log::default();
        let quiet = Cx { options: cx.options, log: &log };
        let before = passage.counts().unwrap_or_default();
        let mut making = Making::new(format, &head, request, passage);
        let mut records = 0;
        for located in formats::records(format, parts, &quiet)? {
            records += 1;
            let mut located = located?;
            passage.record(&mut located.value);
            making.record(located);
            while let Some(item) = making.ready.next(false) {
                show(&head, &item)?;
            }
        }
        making.play_events();
        while let Some(item) = making.ready.next(true) {
            show(&head, &item)?;
        }
        // The first walk masked some of the same texts.
        if let Some(mut counts) = passage.counts() {
            for (kind, count) in &mut counts {
                *count -= before.get(kind).copied().unwrap_or(0).min(*count);
            }
            counts.retain(|_, count| *count > 0);
            cx.log.mask(counts);
        }
        Ok((records, head))
    }
}

/// Makes items of records.
struct Making<'m, 'r> {
    head: &'m Head,
    request: &'m Request,
    passage: Passage<'m, 'r>,
    user_words: UserWords,
    way: Option<Vec<(u32, u32)>>,
    /// Ordinal of the next node.
    next: u32,
    /// Number of the last item.
    number: u64,
    branch: u32,
    /// Number of the turns so far, by branch.
    turns: Vec<u64>,
    /// Events that wait for those before them.
    events: Vec<(Json, f64, Item)>,
    ready: Pairing,
}

impl<'m, 'r> Making<'m, 'r> {
    fn new(
        format: &'static Format,
        head: &'m Head,
        request: &'m Request,
        passage: Passage<'m, 'r>,
    ) -> Self {
        let turns = head.branches.iter().map(|branch| branch.turns_before).collect();
        let (way, events) = (head.way(request.branches), Vec::new());
        let (ready, user_words) = (Pairing::default(), UserWords::of(format));
        Self {
            head,
            request,
            passage,
            user_words,
            way,
            next: 0,
            number: 0,
            branch: 0,
            turns,
            events,
            ready,
        }
    }

    fn record(&mut self, located: Located<Record>) {
        let record = &located.value;
        let ordinal = record.is_node().then_some(self.next);
        if let Some(ordinal) = ordinal {
            self.next += 1;
            self.branch = self.head.places.of(ordinal);
        }
        self.user_words.note(record);
        let begins_turn = self.user_words.is_question(record);
        let turn = self.turns.get_mut(self.branch as usize);
        let turn = turn.map_or(0, |turn| {
            *turn += u64::from(begins_turn);
            *turn
        });
        if !self.is_selected(ordinal, turn) {
            return;
        }
        let Some(content) = self.content(record) else { return };
        let node = &record.node;
        let id = node.json(Field::Id);
        let label = id.and_then(|id| self.head.labels.get(id)).and_then(Json::text);
        let forks = ordinal.into_iter().flat_map(|ordinal| self.head.places.leaving(ordinal));
        let item = Item {
            ordinal,
            number: 0,
            id: id.and_then(Json::text).filter(|_| !node.is_true(Field::IdMade)),
            line: located.at.line,
            branch: self.branch,
            turn,
            begins_turn,
            time: node.text(Field::Time),
            label: label.map(|label| self.passage.text(label)),
            forks: forks.map(|branch| branch.number).collect(),
            of_sub_agent: node.json(Field::ParentCall).is_some_and(|call| !call.is_null()),
            answer: node.json(Field::Group).map(Json::detached),
            next: ordinal.map(|ordinal| ordinal + 1),
            content,
        };
        if record.kind == Kind::Event {
            let number = node.json(Field::Seq).and_then(Json::float).unwrap_or(f64::MAX);
            let run = node.json(Field::Run).map(Json::detached).unwrap_or_default();
            self.events.push((run, number, item));
            if self.events.len() >= EVENTS {
                self.play_events();
            }
            return;
        }
        self.play_events();
        self.push(item);
    }

    fn push(&mut self, mut item: Item) {
        if self.ready.takes_results(&mut item) || self.ready.takes_piece(&mut item) {
            return;
        }
        self.number += 1;
        item.number = self.number;
        self.ready.push(item);
    }

    /// Passes on the events that wait, those of each run in the order of their numbers.
    fn play_events(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        for run in events.chunk_by_mut(|a, b| a.0 == b.0) {
            run.sort_by(|a, b| a.1.total_cmp(&b.1));
        }
        events.into_iter().for_each(|(_, _, item)| self.push(item));
    }

    /// Whether a record is on the selected branch and in the selected turns.
    fn is_selected(&self, ordinal: Option<u32>, turn: u64) -> bool {
        let in_turns =
            self.request.turns.is_none_or(|(first, last)| (first..=last).contains(&turn));
        let of_sub_agent = || {
            let branch = self.head.branches.get(self.branch as usize);
            branch.is_some_and(|branch| branch.of_sub_agent)
        };
        let on_way = self.way.as_ref().is_none_or(|way| {
            let at = ordinal.unwrap_or(self.next.saturating_sub(1));
            way.iter().any(|(branch, last)| *branch == self.branch && at <= *last) || of_sub_agent()
        });
        in_turns && on_way
    }

    /// Returns what a record shows; `None` if it shows nothing.
    fn content(&self, record: &Record) -> Option<Content> {
        let node = &record.node;
        let text = |field| node.text(field).unwrap_or_default();
        let line = || one_line(&preview::text(record), LINE);
        let note = |title: String| self.note(record, title, None);
        match record.kind {
            Kind::Message if node.is(Field::Subtype, COMPACT_SUMMARY) => {
                let summary = block::message_text(node).and_then(|text| text.text());
                self.note(record, COMPACTED.into(), summary)
            }
            Kind::Message => Some(Content::Message(self.message(record))),
            Kind::Compaction => {
                let tokens = node.json(Field::TokensBefore).and_then(Json::float);
                let tokens = tokens.map(|tokens| format!(", {} tokens before", short(tokens)));
                let title = format!("{COMPACTED}{}", tokens.unwrap_or_default());
                self.note(record, title, Some(text(Field::Summary)))
            }
            Kind::BranchSummary => {
                self.note(record, "Summary of another branch".into(), Some(text(Field::Summary)))
            }
            Kind::ModelChange => note(format!("Model: {}", line())),
            Kind::ThinkingChange => note(format!("Thinking level: {}", line())),
            Kind::ToolsChange => note("Other tools".into()),
            Kind::Label => note(format!("Label: {}", line())),
            Kind::SessionInfo => note(format!("Name: {}", line())),
            Kind::ContextEdit => {
                let what =
                    if node.node(Field::Replacement).is_some() { "replaced" } else { "left out" };
                note(format!("Message {what} in the context: {}", line()))
            }
            Kind::Turn => self.check(node).and_then(note),
            Kind::Run => match node.text(Field::Outcome) {
                Some(outcome) => note(format!("Run ended: {}", outcome)),
                None => node.json(Field::Run).and_then(|_| note("Run".into())),
            },
            Kind::RunError => self.note(record, "Run failed".into(), Some(text(Field::Message))),
            Kind::Result if node.is_true(Field::IsError) => {
                self.note(record, "Failed".into(), Some(text(Field::Result)))
            }
            Kind::Event if self.request.events && !record.is_repetition() => {
                note(one_line(&self.event(node), LINE))
            }
            Kind::Opaque if node.json(Field::Type).is_some() => {
                let node = provided::read(node.json(Field::Data)?)?;
                let message = self.message(&Record { kind: Kind::Message, node });
                Some(Content::Message(message))
            }
            Kind::Opaque if !record.is_blank() => {
                note(format!("Unreadable line: {}", one_line(&text(Field::Text), LINE)))
            }
            _ => None,
        }
    }

    fn note(&self, record: &Record, title: String, text: Option<String>) -> Option<Content> {
        let is_error = matches!(record.kind, Kind::RunError | Kind::Result | Kind::Opaque);
        let text = text.filter(|text| !text.is_empty());
        Some(Content::Note(Note { kind: record.kind.name(), title, text, is_error }))
    }

    /// Describes the check of a turn, without the tools that were called.
    fn check(&self, turn: &Node) -> Option<String> {
        let mut check = Check::of(turn.node(Field::Eval)?)?;
        let tools = check.tools.take().map(|tools| tools.expected.join(", "));
        let words = Some(check.words()).filter(|words| !words.is_empty());
        let expected = check.expectation().map(|expected| format!(", expected: {expected}"));
        let tools = tools.map(|tools| format!(", expected tools: {tools}"));
        let more = [expected, tools].into_iter().flatten().collect::<String>();
        let words = words.unwrap_or_else(|| "open".to_owned());
        Some(one_line(&format!("Check: {words}{more}"), LINE))
    }

    /// Describes an event: its type, and its text.
    fn event(&self, event: &Node) -> String {
        let Some(data) = event.json(Field::Data) else { return "event".to_owned() };
        let member = |name| data.text_of(name);
        let kind = member("type").unwrap_or_else(|| "event".to_owned());
        let names = ["content", "message", "text", "title", "tool", "result", "status"];
        let words = names.iter().find_map(|name| member(name)).unwrap_or_default();
        format!("{kind}: {words}")
    }

    fn message(&self, record: &Record) -> Message {
        let node = &record.node;
        let mut found = Vec::new();
        if let Some(bash) = node.node(Field::Bash) {
            let text = |field| bash.text(field).unwrap_or_default();
            let code = bash
                .json(Field::ExitCode)
                .map(Json::as_bytes)
                .filter(|code| !matches!(*code, b"0" | b"null"));
            found.push(Block::Command {
                command: text(Field::Command),
                output: text(Field::Output),
                exit_code: code.map(|code| String::from_utf8_lossy(code).into_owned()),
            });
        }
        if node.is(Field::Role, "tool") {
            let results = node.content().iter();
            found.extend(results.map(|result| match result.is(Field::Type, block::TOOL_RESULT) {
                true => Block::Output(output(result)),
                false => Block::Other {
                    text: block::placeholder(result).text(Field::Text).unwrap_or_default(),
                },
            }));
        }
        if found.is_empty() {
            found = blocks(node);
        }
        self.sections(node, &mut found);
        found.extend(attachments(node));
        Message {
            role: node.text(Field::Role).unwrap_or_default(),
            name: node.text(Field::Model).or(node.text(Field::CustomType)),
            blocks: found,
            usage: usage(record),
            error: node.text(Field::Error).filter(|text| !text.is_empty()),
            by_program: self.user_words.is_of_program(record),
            excluded: node.is_true(Field::Excluded),
        }
    }

    /// Adds the named parts of a system prompt.
    fn sections(&self, message: &Node, found: &mut Vec<Block>) {
        for (name, section) in message.json(Field::Sections).map(Json::pairs).unwrap_or_default() {
            let text = section.text().filter(|text| !text.is_empty());
            found.extend(text.map(|text| {
                let name = name.text().unwrap_or_default();
                Block::Text { text: format!("**{name}**\n\n{text}") }
            }));
        }
    }
}

/// Names of the member of an attachment that names it.
const NAMES: &[&str] = &["fileName", "filename", "name", "path", "url"];

/// Returns a description of each file that is attached to a message.
fn attachments(message: &Node) -> impl Iterator<Item = Block> {
    let list = message.json(Field::Attachments).cloned().unwrap_or_default();
    let named = |one: &Json| {
        let name = NAMES.iter().find_map(|name| one.member(name)?.text());
        name.unwrap_or_else(|| one.text().unwrap_or_default())
    };
    let names: Vec<_> = list.elements().map(|one| named(&one)).collect();
    let shown = |name: String| one_line(&format!("[attachment: {name}]"), LINE);
    names.into_iter().map(move |name| Block::Other { text: shown(name) })
}

/// Returns the tokens and cost that a message notes, if there are any.
fn usage(record: &Record) -> Option<Usage> {
    record.node.node(Field::Usage).map(Usage::of).filter(|usage| *usage != Usage::default())
}
