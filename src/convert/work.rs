//! The way of one session through its records.

use super::again::makes_it_again;
use super::branch::Branch;
use super::forks::forks;
use super::native::{Native, native};
use super::proof::{Home, come_home};
use super::read;
use crate::diagnostic::{Code, Diagnostic, Differences, Fate, Log};
use crate::diff::{self, Failed, Request, Side};
use crate::error::Result;
use crate::format::{Carrier, Cx, Format, NativeFn, Options, Parts, Sink, Writer};
use crate::formats::{Spec, canonical, records};
use crate::position::Located;
use crate::record::{Answers, Field, Kind, Record, Value, block};
use crate::residue::{Chunks, Noted, Stage, Trace, is_heard, note};
use std::collections::HashSet;

/// So many records before a session wait until it is known where they come from.
const LEAD: usize = 1000;

/// One session on its way.
pub struct Work<'a> {
    from: &'static Format,
    to: Spec,
    branch: Option<Branch>,
    /// Whether its entries do not hang together, or its own software could send nothing of it.
    odd: bool,
    /// What the writer was given, where that will be asked.
    trace: Option<Trace>,
    /// Answers on their way into another format.
    answers: Option<Answers>,
    forks: HashSet<u64>,
    /// Whether a message lacks what every one of its kind has, or something is not understood.
    incomplete: bool,
    /// What the session was read from at first.
    source: Option<String>,
    cx: &'a Cx<'a>,
}

impl<'a> Work<'a> {
    /// A session that has not been read yet.
    ///
    /// # Errors
    /// If its branches cannot be read.
    pub fn of(
        from: &'static Format,
        to: Spec,
        parts: &mut dyn Parts,
        cx: &'a Cx<'a>,
    ) -> Result<Self> {
        // Only streams can say what a tree has no way to say.
        let stream = canonical::FORMAT.name;
        let whole = to.version().tree && (from.name != stream || to.format.name == stream);
        let (branch, odd) = if whole { (None, false) } else { Branch::of(from, to, parts, cx)? };
        let forks = forks(from, to, parts, cx)?;
        Ok(Self {
            from,
            to,
            branch,
            odd,
            trace: None,
            answers: None,
            forks,
            incomplete: false,
            source: None,
            cx,
        })
    }

    /// Writes the records.
    ///
    /// # Errors
    /// If the input is damaged beyond what the options allow, or reading or writing fails.
    pub fn records(&mut self, parts: &mut dyn Parts, sink: &mut dyn Sink) -> Result<u64> {
        let (to, cx) = (self.to, self.cx);
        let native = Native::of(to, sink.is_native());
        let options = Options { asked: self.asked(parts)?, ..cx.options.clone() };
        let writing = Cx { options: &options, log: cx.log };
        let mut writer = (to.format.write)(sink, to.version(), &writing)?;
        let (mut count, mut lead) = (0, Some(Vec::new()));
        let mut next = 0..;
        // How the source spells its lines means nothing in another format.
        let abroad = ![self.from.name, to.format.name].contains(&canonical::FORMAT.name)
            && self.from.name != to.format.name;
        let options = Options { spelling: !abroad, ..cx.options.clone() };
        let reading = Cx { options: &options, log: cx.log };
        for item in read(self.from, parts, native, &reading)? {
            let mut located = item?;
            let number = next.next().unwrap_or_default();
            count += u64::from(!located.value.is_blank());
            let Record { kind, node } = &located.value;
            self.incomplete |= abroad && (*kind == Kind::Opaque || block::lacks(node));
            let began = located.value.kind == Kind::Session;
            if began {
                self.session(&mut located.value);
            }
            if let Some(waiting) = lead.as_mut().filter(|lead| !began && lead.len() < LEAD) {
                waiting.push((number, located));
                continue;
            }
            let lead: Vec<_> = lead.take().into_iter().flatten().collect();
            let lead = if began { self.own(lead) } else { lead };
            let Self { trace, answers, branch, cx, .. } = self;
            let mut pass = |number, record| {
                let on = (&mut *trace, &mut *answers);
                give((number, record), on, writer.as_mut(), cx.log)
            };
            lead.into_iter().try_for_each(|(number, record)| pass(number, record))?;
            let Some(branch) = branch else {
                pass(number, located)?;
                continue;
            };
            if !located.value.is_node() {
                branch.beside(number, located, cx.log).map_or(Ok(()), |own| pass(number, own))?;
                let (number, before) = if began { branch.before() } else { (0, Vec::new()) };
                before.into_iter().try_for_each(|said| pass(number, said))?;
            } else {
                branch.take(number, located, cx.log);
                while let Some((number, node)) = branch.ready(cx.log) {
                    pass(number, node)?;
                }
            }
        }
        // Without a session the writer says what is missing.
        lead.into_iter().flatten().try_for_each(|(_, record)| writer.record(&record))?;
        let last = self.answers.as_mut().and_then(Answers::finish);
        last.iter().try_for_each(|record| writer.record(record))?;
        writer.finish()?;
        Ok(count)
    }

    /// What a person asked first, if the session goes to another format without an identifier of
    /// its own.
    fn asked(&self, parts: &mut dyn Parts) -> Result<Option<String>> {
        // A stream holds a session without one.
        if [self.from.name, canonical::FORMAT.name].contains(&self.to.format.name) {
            return Ok(None);
        }
        parts.keep()?;
        let log = Log::default();
        let quiet = Cx { options: self.cx.options, log: &log };
        // What is wrong with the session is said when it is read for good.
        let records = records(self.from, parts, &quiet)?.take(LEAD).map_while(Result::ok);
        for Record { kind, node } in records.map(|located| located.value) {
            if kind == Kind::Session && node.json(Field::Id).is_some() {
                break;
            }
            if kind == Kind::Message && node.is(Field::Role, "user") {
                return Ok(block::said(&node).and_then(|said| said.text()));
            }
        }
        Ok(None)
    }

    /// What of the records before the session the target can take: only files of the format that
    /// they come from, and streams, may begin with anything else.
    fn own(&self, lead: Vec<(u32, Located<Record>)>) -> Vec<(u32, Located<Record>)> {
        let name = self.source.as_deref().unwrap_or_default().split('@').next();
        if [name, Some(canonical::FORMAT.name)].contains(&Some(self.to.format.name)) {
            return lead;
        }
        let lost = |record: &Record| format!("{} before the session", record.kind.name());
        lead.iter().for_each(|(_, at)| self.cx.log.count(Fate::Dropped, &lost(&at.value)));
        Vec::new()
    }

    /// Notes what the session comes from. How its file was spelled means nothing in another format.
    fn session(&mut self, record: &mut Record) {
        if self.source.is_none() {
            self.source = record.node.text(Field::Source);
        }
        let name = self.source.as_deref().unwrap_or_default().split('@').next();
        let held = [self.to.format.name, canonical::FORMAT.name];
        if held.contains(&name.unwrap_or_default()) || self.to.format.name == canonical::FORMAT.name
        {
            return;
        }
        let responses = self.to.version().kinds.contains(&Kind::Response);
        let joins = self.to.format.whole_answers;
        let forks = std::mem::take(&mut self.forks);
        self.answers.get_or_insert_with(|| Answers::new(joins, responses, forks));
        if let Some(Value::Node(file)) = record.node.take(Field::File) {
            let lost = |field: Field| format!("session.file.{}", field.name());
            file.fields().for_each(|field| self.cx.log.count(Fate::Dropped, &lost(field)));
        }
    }

    /// Writes the records in the format and version that they came from. Mostly nothing is left out
    /// there, and they stand in that format's order, so that the output needs no stage; otherwise
    /// they are written once more.
    ///
    /// # Errors
    /// As [`records`](Self::records).
    pub fn home(
        &mut self,
        carrier: &'static Carrier,
        named: Option<NativeFn>,
        parts: &mut dyn Parts,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        parts.keep()?;
        let is_whole = |log: &Log| log.dropped().is_empty() && !log.gave_up();
        let direct = named.is_none() && sink.mark();
        let count = if direct {
            let count = self.records(parts, sink)?;
            if is_whole(self.cx.log) {
                return Ok(count);
            }
            sink.forget();
            count
        } else {
            let mut stage = Stage::before(sink);
            let count = self.records(parts, &mut stage)?;
            if is_whole(self.cx.log) {
                let native = native(self.to, named, &mut stage, self.cx)?;
                return stage.finish(None, native).map(|()| count);
            }
            count
        };
        let log = Log::default();
        let cx = Cx { options: self.cx.options, log: &log };
        Work::of(self.from, self.to, parts, &cx)?.staged(Some(carrier), named, parts, sink)?;
        if is_whole(&log) {
            self.cx.log.carried();
        }
        Ok(count)
    }

    /// Writes the records to a stage, and puts into the output what it does not tell of them.
    ///
    /// # Errors
    /// As [`records`](Self::records).
    pub fn staged(
        &mut self,
        carrier: Option<&'static Carrier>,
        named: Option<NativeFn>,
        parts: &mut dyn Parts,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        parts.keep()?;
        let mut stage = Stage::before(sink);
        self.trace = carrier.map(|_| Trace::default());
        let count = self.records(parts, &mut stage)?;
        if self.cx.options.compare {
            self.compare(parts, &mut stage)?;
        }
        let native = native(self.to, named, &mut stage, self.cx)?;
        let (Some(carrier), Some(trace)) = (carrier, self.trace.take()) else {
            return stage.finish(None, native).map(|()| count);
        };
        if !stage.carries(carrier)? {
            return stage.finish(None, native).map(|()| count);
        }
        if self.comes_back(parts, &stage)? {
            self.cx.log.carried();
            return stage.finish(None, native).map(|()| count);
        }
        let log = Log::default();
        let quiet = Cx { options: self.cx.options, log: &log };
        let layout = Native::of(self.to, stage.is_native());
        let source = read(self.from, parts, layout, &quiet)?;
        let from = (self.source.as_deref(), self.cx.log.dropped().is_empty());
        let noted = note(source, from, &trace, (self.to, carrier), &mut stage, &quiet)?;
        // Only who asks for the spelling learns that not all of it can be kept.
        let relaid = log.into_findings().diagnostics.into_iter().find(|d| d.code == Code::Relaid);
        relaid.into_iter().for_each(|found| self.cx.report(found));
        let (load, home) = match noted {
            None => (None, true),
            Some(Noted { count, chunks, plain }) => {
                let odd = self.cx.options.prove && (!plain || self.is_odd());
                let load = (carrier, count, chunks);
                let (load, home) =
                    if odd { self.proven(parts, &mut stage, load)? } else { (load, true) };
                (Some(load), home)
            }
        };
        stage.finish(load, native)?;
        if home {
            self.cx.log.carried();
        }
        Ok(count)
    }

    /// Whether the target is what the session came from.
    fn is_home(&self, home: Spec) -> bool {
        home.format.at(home.version().number) == self.to.format.at(self.to.version().number)
    }

    /// Whether something about the session may keep it from coming home.
    fn is_odd(&self) -> bool {
        // That nothing resumes it is said of most.
        self.incomplete
            || self.from.name == self.to.format.name
            || self.cx.log.warns(&[Code::NotResumable])
            || self.odd
            || self.source.as_deref().is_none_or(|source| Spec::parse(source).is_err())
    }

    /// Takes a session home for a trial, and says so if it does not come there. Gives whether it
    /// counts as carried, and what it carries again.
    fn proven(
        &self,
        parts: &mut dyn Parts,
        stage: &mut Stage<'_>,
        load: (&'static Carrier, u64, Chunks),
    ) -> Result<((&'static Carrier, u64, Chunks), bool)> {
        let (carrier, count, _) = load;
        let (mut there, chunks) = stage.carrying(load)?;
        let source = self.source.as_deref().and_then(|source| Spec::parse(source).ok());
        let home = match source {
            // On its way home it has come there.
            Some(home) if self.is_home(home) => Home::Came,
            Some(home) => {
                come_home((self.from, parts), home, (self.to, &mut there), stage, self.cx)?
            }
            None if is_heard((self.from, parts), (self.to.format, &mut there), self.cx)? => {
                Home::Came
            }
            None => Home::Refused,
        };
        let target = self.to.format.at(self.to.version().number);
        let message = match home {
            Home::Came => return Ok(((carrier, count, chunks), true)),
            Home::Differs => format!("it comes home from {target}, but not byte for byte"),
            Home::Refused => format!("{target} shows something else than what the session says"),
        };
        self.cx.report(Diagnostic::new(Code::NotHome, message));
        if home == Home::Refused {
            self.cx.log.count(Fate::Dropped, "what only residue tells");
        }
        Ok(((carrier, count, chunks), home == Home::Differs))
    }

    /// Whether all of the session comes back without residue.
    fn comes_back(&self, parts: &mut dyn Parts, stage: &Stage<'_>) -> Result<bool> {
        let from = self.source.as_deref().and_then(|source| Spec::parse(source).ok());
        let own = |from: &Spec| from.format.name == self.to.format.name;
        match from.filter(own).and_then(|from| from.version) {
            Some(version) if self.from.plane.is_some() => {
                makes_it_again((self.from, version.number), parts, stage, self.cx)
            }
            _ => Ok(false),
        }
    }

    /// Notes what differs between the session and what was written of it.
    fn compare(&self, parts: &mut dyn Parts, stage: &mut Stage<'_>) -> Result<()> {
        let log = Log::default();
        let cx = &Cx { options: self.cx.options, log: &log };
        let a = Side { format: self.from, parts, cx, quiet: cx };
        // The stream may spell a line longer than its source did.
        let options = Options {
            max_line: self.cx.options.max_line.saturating_mul(16),
            ..self.cx.options.clone()
        };
        let wide = &Cx { options: &options, log: &log };
        let b = Side { format: self.to.format, parts: &mut stage.whole()?, cx: wide, quiet: wide };
        let mut differences = Differences::default();
        let done = diff::run(a, b, Request::default(), &mut |change| {
            diff::count(&change, &mut differences);
            Ok(())
        });
        match done {
            Ok(_) => self.cx.log.differ(differences),
            Err(Failed::A(error) | Failed::B(error) | Failed::Show(error)) => return Err(error),
        }
        Ok(())
    }
}

/// Gives a writer a record of this number, of an answer in pieces only the whole.
fn give(
    (number, record): (u32, Located<Record>),
    (trace, answers): (&mut Option<Trace>, &mut Option<Answers>),
    writer: &mut dyn Writer,
    log: &Log,
) -> Result<()> {
    let more = answers.as_ref().is_some_and(|answers| answers.goes_on(&record.value));
    if more {
        log.count(Fate::Dropped, "seam between parts of an answer");
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
