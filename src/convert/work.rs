//! Conversion of one session through its records.

use super::branch::Branch;
use super::forks::Forks;
use super::native::Native;
use super::survey::is_whole;
use super::tokens::Tokens;
use super::{masked, moved};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Cx, Format, Mends, Options, Parts, Reader, Sink, Writer};
use crate::formats::{Spec, canonical, ruling};
use crate::json::Json;
use crate::origin::Trace;
use crate::position::Located;
use crate::record::turns::{NO_RESULT, Numbered, Rules, Turns};
use crate::record::{Answers, Field, Kind, Record, Value, block};
use crate::tree::Shape;
use std::collections::HashSet;
use std::rc::Rc;

/// Maximum number of records before a session that wait until their source is known.
const LEAD: usize = 1000;

type Item = Result<Located<Record>>;

/// Conversion of one session.
pub struct Work<'a> {
    from: &'static Format,
    to: Spec,
    branch: Option<Branch>,
    assumed: Assumed,
    /// Records that the writer was given, where the trace is needed.
    trace: Option<Trace>,
    /// Turns that are brought into order for another format.
    turns: Option<Turns<Numbered>>,
    /// Usage of answers, which the source counts beside them.
    tokens: Option<Tokens>,
    /// Answers that are joined for another format.
    answers: Option<Answers>,
    forks: Rc<HashSet<u64>>,
    /// First source format of the session.
    source: Option<String>,
    /// The nodes of a tree whose branches no one else looks at.
    shape: Option<Shape>,
    cx: &'a Cx<'a>,
}

/// Shape that a session is assumed to have, until a record shows that it has not.
enum Assumed {
    /// None: its branches were read first.
    Nothing,
    /// One straight path.
    Straight,
    /// A tree without forks in answers, with the search for these.
    Unforked(Forks),
}

impl<'a> Work<'a> {
    /// Begins a session that is assumed to be one straight path.
    fn straight(from: &'static Format, to: Spec, cx: &'a Cx<'a>) -> Self {
        Self {
            from,
            to,
            branch: None,
            assumed: Assumed::Straight,
            trace: None,
            turns: None,
            tokens: None,
            answers: None,
            forks: Rc::default(),
            source: None,
            shape: None,
            cx,
        }
    }

    /// Begins a session that one reading converts if it is as most sessions are: one straight path
    /// for a target that is a list, and no fork in an answer for a tree. `None` where other facts
    /// must be known first.
    pub fn ahead(from: &'static Format, to: Spec, cx: &'a Cx<'a>) -> Option<Self> {
        let other = ![canonical::FORMAT.name, to.format.name].contains(&from.name);
        let straight = Self::straight(from, to, cx);
        match to.version().tree {
            false => Some(straight).filter(|_| other),
            true => {
                let unforked = Forks::begin(from, to).filter(|_| other && is_whole(from, to))?;
                let assumed = Assumed::Unforked(unforked);
                Some(Self { assumed, shape: shape(from, cx), ..straight })
            }
        }
    }

    /// Begins a session whose branches are read first.
    ///
    /// # Errors
    /// If its branches cannot be read.
    pub fn of(
        from: &'static Format,
        to: Spec,
        parts: &mut dyn Parts,
        cx: &'a Cx<'a>,
    ) -> Result<Self> {
        let whole = is_whole(from, to);
        let (branch, forks) = match whole {
            true => (None, Forks::of(from, to, parts, cx)?),
            false => {
                let mut forks = Forks::begin(from, to);
                let branch = Branch::of((from, to), parts, &mut forks, cx)?;
                (branch, forks.map(|forks| forks.nodes).unwrap_or_default())
            }
        };
        let forks = Rc::new(forks);
        let shape = if whole { shape(from, cx) } else { None };
        Ok(Self { branch, assumed: Assumed::Nothing, forks, shape, ..Self::straight(from, to, cx) })
    }

    /// Writes the records in the format from which they came. Mostly they are in that format's
    /// order, so that the writer need not wait for the last record; otherwise they are written once
    /// more.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn write_in_source_format(
        mut self,
        parts: &mut dyn Parts,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        parts.keep()?;
        if !sink.checkpoint() {
            return self.all(parts, sink);
        }
        let count = self.all(parts, sink)?;
        if !self.cx.log.gave_up() {
            return Ok(count);
        }
        sink.roll_back();
        let (from, to, log) = (self.from, self.to, Log::default());
        let quiet = Cx { options: self.cx.options, log: &log };
        Work::of(from, to, parts, &quiet)?.all(parts, sink)
    }

    /// Writes the records, and returns which part of the output contains which record.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn traced(mut self, parts: &mut dyn Parts, sink: &mut dyn Sink) -> Result<Trace> {
        self.trace = Some(Trace::default());
        self.all(parts, sink)?;
        Ok(self.trace.unwrap_or_default())
    }

    /// Writes the records of a session whose branches were read. Returns their number.
    ///
    /// # Errors
    /// The errors of [`records`](Self::records).
    pub fn all(&mut self, parts: &mut dyn Parts, sink: &mut dyn Sink) -> Result<u64> {
        self.records(parts, sink).map(Option::unwrap_or_default)
    }

    /// Writes the records; returns `None` as soon as the session is found not to be one straight
    /// path.
    ///
    /// # Errors
    /// If the input is damaged beyond what the options allow, or reading or writing fails.
    pub fn records(&mut self, parts: &mut dyn Parts, sink: &mut dyn Sink) -> Result<Option<u64>> {
        let (to, cx) = (self.to, self.cx);
        let native = Native::of(to, sink.is_native());
        let mut items = read(self.from, parts, native, cx)?;
        let (first, question) = self.first_question(&mut items);
        let options = Options { question: masked::text(question, cx), ..cx.options.clone() };
        let writing = Cx { options: &options, log: cx.log };
        let mut writer = masked::over((to.format.write)(sink, to.version(), &writing)?, cx);
        let (mut count, mut lead) = (0, Some(Vec::new()));
        let shows = self.is_foreign() || cx.options.plain;
        for (number, item) in (0..).zip(first.into_iter().chain(items)) {
            let mut located = item?;
            count += u64::from(!located.value.is_blank());
            if shows {
                cx.report_outside_images(&located);
            }
            let began = located.value.kind == Kind::Session;
            if began {
                self.begin(&mut located.value);
            }
            if !self.goes_on(&located) {
                return Ok(None);
            }
            if let Some(waiting) = lead.as_mut().filter(|lead| !began && lead.len() < LEAD) {
                waiting.push((number, located));
                continue;
            }
            let lead: Vec<_> = lead.take().into_iter().flatten().collect();
            let lead = if began { self.own(lead) } else { lead };
            lead.into_iter().try_for_each(|item| self.pass(item, writer.as_mut()))?;
            self.take(number, located, writer.as_mut())?;
        }
        if self.is_straight() && !self.branch.as_mut().is_some_and(Branch::is_straight) {
            return Ok(None);
        }
        self.report_tree();
        // Without a session the writer reports the missing record.
        lead.into_iter().flatten().try_for_each(|(_, record)| writer.record(&record))?;
        self.give_rest(writer.as_mut())?;
        writer.finish()?;
        Ok(Some(count))
    }

    /// Whether the session goes from one agent's format to another's.
    fn is_foreign(&self) -> bool {
        ![self.from.name, self.to.format.name].contains(&canonical::FORMAT.name)
            && self.from.name != self.to.format.name
    }

    /// Begins with the session's record.
    fn begin(&mut self, session: &mut Record) {
        if self.is_foreign() && !self.cx.options.ignore_origin {
            self.report_missing_origin(session);
        }
        if self.is_straight() && self.branch.is_none() {
            self.branch = Some(Branch::ahead(session, self.to, self.cx));
        }
        if self.source.is_none() && self.from.name != self.to.format.name {
            complete(session, self.cx.options);
        }
        self.session(session);
    }

    /// Looks at a record; returns whether the session can still be what it is assumed to be: one
    /// straight path, or a tree without forks in answers.
    fn goes_on(&mut self, located: &Located<Record>) -> bool {
        if located.value.is_node() {
            self.shape.iter_mut().for_each(|shape| shape.record(located));
        }
        match &mut self.assumed {
            Assumed::Nothing => true,
            Assumed::Straight => self.branch.as_mut().is_some_and(|branch| branch.goes_on(located)),
            Assumed::Unforked(forks) => {
                forks.record(&located.value);
                forks.nodes.is_empty()
            }
        }
    }

    /// Whether the session is assumed to be one straight path.
    fn is_straight(&self) -> bool {
        matches!(self.assumed, Assumed::Straight)
    }

    /// Takes a record behind the first ones, and passes those of the branch that are ready.
    fn take(
        &mut self,
        number: u32,
        located: Located<Record>,
        writer: &mut dyn Writer,
    ) -> Result<()> {
        let log = self.cx.log;
        let Some(branch) = &mut self.branch else { return self.pass((number, located), writer) };
        if located.value.is_node() {
            branch.take(number, located, log);
            while let Some(item) = self.branch.as_mut().and_then(|branch| branch.ready(log)) {
                self.pass(item, writer)?;
            }
            return Ok(());
        }
        let began = located.value.kind == Kind::Session;
        let beside = branch.beside(number, located, log).map(|record| (number, record));
        let (number, before) = if began { branch.before() } else { (0, Vec::new()) };
        let before = before.into_iter().map(|record| (number, record));
        beside.into_iter().chain(before).try_for_each(|item| self.pass(item, writer))
    }

    /// Passes a record to the writer, or holds it until its turn is in order.
    fn pass(&mut self, item: Numbered, writer: &mut dyn Writer) -> Result<()> {
        let mut ready = Vec::new();
        match &mut self.turns {
            Some(turns) => turns.take(item, &mut ready),
            None => ready.push(item),
        }
        self.tokens.iter_mut().for_each(|tokens| tokens.take_all(&mut ready));
        ready.into_iter().try_for_each(|item| self.give(item, writer))
    }

    /// Gives the writer the records that were held.
    fn give_rest(&mut self, writer: &mut dyn Writer) -> Result<()> {
        let mut ready = Vec::new();
        let dropped = self.turns.as_mut().map_or(0, |turns| {
            turns.finish(&mut ready);
            turns.dropped()
        });
        self.tokens.iter_mut().for_each(|tokens| tokens.finish(&mut ready));
        ready.into_iter().try_for_each(|item| self.give(item, writer))?;
        (0..dropped).for_each(|_| self.cx.log.lost("result without a call"));
        let last = self.answers.as_mut().and_then(Answers::finish);
        last.iter().try_for_each(|record| writer.record(record))
    }

    /// Gives the writer a record of this number; of an answer in pieces it gives only the complete
    /// answer.
    fn give(&mut self, (number, record): Numbered, writer: &mut dyn Writer) -> Result<()> {
        let Self { trace, answers, cx, .. } = self;
        let more = answers.as_ref().is_some_and(|answers| answers.goes_on(&record.value));
        if more {
            cx.log.lost("seam between parts of an answer");
        }
        trace.iter_mut().for_each(|trace| trace.passed(number, &record.value, more));
        match answers {
            Some(answers) => {
                let mut ready = answers.take(record).into_iter().flatten();
                ready.try_for_each(|record| writer.record(&record))
            }
            None => writer.record(&record),
        }
    }

    /// Reports circles of parents, and what the branch leaves out.
    fn report_tree(&mut self) {
        // An agent that follows the parents of such an entry has no end.
        let findings = self.shape.take().into_iter().flat_map(|shape| shape.finish().findings());
        findings.filter(|found| found.code == Code::Cycle).for_each(|found| self.cx.report(found));
        let note = self.branch.as_ref().and_then(|branch| branch.note(self.to));
        note.into_iter().for_each(|note| self.cx.report(note));
    }

    /// Returns the user's first question, if the session goes to another format and has no
    /// identifier of its own, and the items that were read for this.
    fn first_question(&self, items: &mut Reader<'_>) -> (Vec<Item>, Option<String>) {
        let mut read = Vec::new();
        // A stream can hold a session without an identifier.
        if [self.from.name, canonical::FORMAT.name].contains(&self.to.format.name) {
            return (read, None);
        }
        for item in items.by_ref().take(LEAD) {
            read.push(item);
            let Some(Ok(Located { value: Record { kind, node }, .. })) = read.last() else { break };
            if *kind == Kind::Session && node.json(Field::Id).is_some() {
                break;
            }
            if *kind == Kind::Message && node.is(Field::Role, "user") {
                let question = block::message_text(node).and_then(|text| text.text());
                return (read, question);
            }
        }
        (read, None)
    }

    /// Returns the records before the session that the target can take: only files of the format
    /// from which they come, and streams, may begin with such records.
    fn own(&self, lead: Vec<(u32, Located<Record>)>) -> Vec<(u32, Located<Record>)> {
        let name = self.source.as_deref().unwrap_or_default().split('@').next();
        if [name, Some(canonical::FORMAT.name)].contains(&Some(self.to.format.name)) {
            return lead;
        }
        let lost = |record: &Record| format!("{} before the session", record.kind.name());
        lead.iter().for_each(|(_, at)| self.cx.log.lost(&lost(&at.value)));
        Vec::new()
    }

    /// Reports a session that copyist made of another one: a session with its origin does not come
    /// here as a file.
    fn report_missing_origin(&self, session: &Record) {
        let is_ours = self.from.agent.is_ours.filter(|_| self.source.is_none());
        if is_ours.is_some_and(|is_ours| is_ours(&session.node)) {
            let message = "copyist made this file, and its origin is not beside it";
            self.cx.report(Diagnostic::new(Code::OriginMissing, message));
        }
    }

    /// Notes the source of the session. The spelling of its file has no meaning in another format.
    fn session(&mut self, record: &mut Record) {
        if self.source.is_none() {
            self.source = record.node.text(Field::Source);
        }
        let name = self.source.as_deref().unwrap_or_default().split('@').next();
        let (to, stream) = (self.to.format.name, canonical::FORMAT.name);
        if [to, stream].contains(&name.unwrap_or_default()) || to == stream {
            return;
        }
        let responses = self.to.version().kinds.contains(&Kind::Response);
        let joins = self.to.format.agent.whole_answers;
        let forks = std::mem::take(&mut self.forks);
        let ruling = ruling(self.from, &record.node);
        let rules = rules(ruling, self.to);
        self.tokens = self.tokens.take().or(ruling.agent.totals.map(Tokens::new));
        self.turns.get_or_insert_with(|| Turns::new(rules, Rc::clone(&forks)));
        self.answers.get_or_insert_with(|| Answers::new(joins, responses, forks));
        if let Some(Value::Node(file)) = record.node.take(Field::File) {
            let lost = |field: Field| format!("session.file.{}", field.name());
            file.fields().for_each(|field| self.cx.log.lost(&lost(field)));
        }
    }
}

/// Returns the shape of a tree whose branches no one else looks at.
fn shape(from: &Format, cx: &Cx<'_>) -> Option<Shape> {
    let tree = from.name != canonical::FORMAT.name && from.versions.iter().any(|one| one.tree);
    tree.then(|| Shape::within(cx.options.index_memory))
}

/// Gives a session the identifier that the user wants, and the user's folder if it names none.
fn complete(session: &mut Record, options: &Options) {
    let node = &mut session.node;
    if let Some(id) = &options.id {
        node.set(Field::Id, Json::string(id));
    }
    let names_folder = node.text(Field::Cwd).is_some_and(|folder| !folder.is_empty());
    if let (Some(folder), false) = (&options.folder, names_folder) {
        node.set(Field::Cwd, Json::string(folder));
    }
}

/// Returns the rules for turns of a source in another format: what the software of the source mends
/// itself and that of the target does not.
fn rules(from: &Format, to: Spec) -> Rules {
    let (tree, mends) = (to.version().tree, to.format.agent.mends);
    let moves = !mends.pairs();
    let completes = mends == Mends::Nothing && from.agent.mends != Mends::Nothing;
    let drops = moves && from.agent.mends.pairs();
    Rules { tree, moves, drops, unanswered: completes.then_some(NO_RESULT) }
}

/// Returns the records of a session. `native` names the folders of projects.
fn read<'a>(
    from: &Format,
    parts: &'a mut dyn Parts,
    native: Option<Native>,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    let reader = crate::formats::named(from, from.records(parts, cx)?, cx);
    let reader = match from.agent.plain.filter(|_| cx.options.plain) {
        Some(plain) => plain(reader),
        None => reader,
    };
    Ok(moved(trimmed(reader, cx), native, cx))
}

/// Returns the records without what is cut out of them.
fn trimmed<'a>(reader: Reader<'a>, cx: &'a Cx<'a>) -> Reader<'a> {
    let Some(cuts) = cx.options.cuts.as_deref() else { return reader };
    Box::new((0..).zip(reader).filter_map(move |(place, mut item)| {
        let stays = item.as_mut().is_ok_and(|located| cuts.record(place, &mut located.value));
        (stays || item.is_err()).then_some(item)
    }))
}
