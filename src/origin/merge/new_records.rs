//! New records of a file, which are added to the session that the file comes from.

use super::Merger;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::formats::Spec;
use crate::ids::hash;
use crate::json::Json;
use crate::origin::matching::compactions::passed;
use crate::origin::merge::message_edits::{edit_extra, is_nothing, respelled};
use crate::origin::merge::native_form::{call_of, in_source_format, pass};
use crate::origin::merge::new_turns::is_question;
use crate::origin::merge::restored_texts::{self, Turn};
use crate::position::{Located, Position};
use crate::record::{Answers, Field, Kind, Node, Record};
use crate::times;
use std::rc::Rc;

/// Sets the update time of a session, if it has one, to the time of the last new message, if that
/// is later.
fn update(session: &mut Node, last: &Json) {
    let Some(old) = session.json(Field::Updated).cloned() else { return };
    if times::read(&old).is_some_and(|old| times::read(last).is_some_and(|last| last > old)) {
        let new = respelled(&last.clone().into(), Some(&old.into()));
        session.set(Field::Updated, new);
    }
}

/// Destination of a record that the source does not have.
#[derive(PartialEq)]
enum Destination {
    /// Among the records of the source format.
    Source,
    /// Into the origin of the restored session: details of another agent's run.
    Origin,
    /// Nowhere, as the record sums up messages that the source has in full.
    SummedUp,
    /// Nowhere: pi shows nothing of a line that is not an entry, and a log holds only the records
    /// of its own program.
    Nowhere,
}

impl Merger<'_> {
    /// Adds the new records before record `end` of the file.
    pub(super) fn flush(&mut self, end: u32) -> Result<()> {
        while let Some(entry) = self.added.first_entry().filter(|entry| *entry.key() < end) {
            let (number, known) = entry.remove_entry();
            self.put_new(number, known)?;
        }
        let last = self.whole.as_mut().and_then(Answers::finish);
        last.map_or(Ok(()), |last| self.take_in(last))?;
        self.settle()
    }

    /// Puts a new record in its place: a record of the file, or the one that is `known` instead of
    /// it.
    fn put_new(&mut self, number: u32, known: Option<Record>) -> Result<()> {
        let mut fresh = known.is_none();
        let mut record = match known {
            Some(record) => record,
            None => self.now.record(number)?,
        };
        self.strip(&mut record);
        if let Some(renamed) = self.renaming(&record) {
            (record, fresh) = (renamed, true);
        }
        if is_nothing(&mut record) {
            return Ok(());
        }
        self.take_back(number)?;
        if fresh && let Some(title) = self.title(&record) {
            self.report(Code::OriginAdded, "the name of the session is new", Some(number));
            return self.put_for(&record, title);
        }
        if fresh && let Some(name) = self.addition(&record) {
            self.models.note_file(&record);
            self.leave_out(&record, number, name);
            return Ok(());
        }
        let destination = self.destination_of(&record);
        if fresh {
            self.begin_new(&mut record, number, &destination);
        }
        match destination {
            Destination::SummedUp => self.leave(&record, number),
            // Values that the file's agent computes are computed again.
            Destination::Origin if !fresh => {}
            Destination::Nowhere => {
                self.cx.log.lost(record.kind.name());
                let message =
                    format!("{} has no place in the session's own format", record.description());
                self.again(Code::Dropped, message);
            }
            Destination::Origin | Destination::Source if fresh && record.kind == Kind::Turn => {
                let turn = self.turn(&record, number);
                self.new_turns.keep(turn, record);
                self.changed = true;
            }
            Destination::Origin | Destination::Source => match self.plain(record) {
                Ok(record) => self.take_whole(record, number)?,
                Err(what) => {
                    self.cx.log.lost("message that is not sent");
                    let message =
                        format!("{what} is not sent, and has no place in the source format");
                    self.report(Code::Dropped, &message, Some(number));
                }
            },
        }
        Ok(())
    }

    /// Notes and reports a record that only the file has, and makes it one of the source's.
    fn begin_new(&mut self, record: &mut Record, number: u32, destination: &Destination) {
        self.models.note_file(record);
        self.take_over(record);
        if !matches!(destination, Destination::Origin | Destination::Nowhere) {
            let message = format!("{} is new", record.description());
            self.report(Code::OriginAdded, &message, Some(number));
        }
        // The source's agent restores none of these records.
        [Field::Synthesized, Field::Derived].iter().for_each(|f| drop(record.node.take(*f)));
    }

    /// Adds a new record. The parts of an answer are joined where the source format has whole
    /// answers.
    fn take_whole(&mut self, value: Record, number: u32) -> Result<()> {
        let at = Position { record: number.into(), ..Position::default() };
        let (source_format, same) = (self.source_format, self.is_native());
        let whole = self.whole.get_or_insert_with(|| {
            let joins =
                source_format.is_some_and(|source_format| source_format.format.agent.whole_answers);
            let responses =
                source_format.is_none_or(|h| h.version().kinds.contains(&Kind::Response));
            Answers::new(joins && !same, responses || same, Rc::default())
        });
        let ready = whole.take(Located { value, at });
        ready.into_iter().flatten().try_for_each(|ready| self.take_in(ready))
    }

    /// Counts the occurrences of a finding that is reported once.
    pub(super) fn again(&mut self, code: Code, what: String) {
        match self.often.iter_mut().find(|(known, text, _)| *known == code && *text == what) {
            Some((.., times)) => *times += 1,
            None => self.often.push((code, what, 1)),
        }
    }

    /// Edits the extra members of a record, and reports those that have no place in the source.
    pub(super) fn edit_extra(
        &self,
        was: Option<&Record>,
        now: &Record,
        source: &mut Record,
        number: u32,
    ) {
        let unplaced = edit_extra(was.map(|was| &was.node), &now.node, &mut source.node);
        // Its agent counts in the session's record.
        let is_own = now.kind == Kind::Session && self.names_addition(now).is_some();
        for name in unplaced.iter().filter(|_| !is_own) {
            let kind = now.kind.name();
            self.cx.log.lost(&format!("{kind}.extra.{name}"));
            let message = format!("`{name}` of the {kind} has no place in the source format");
            self.report(Code::Dropped, &message, Some(number));
        }
    }

    /// Reports the counted findings, each with its number of occurrences.
    pub(super) fn report_counted(&self) {
        for (code, what, times) in &self.often {
            let times = if *times > 1 { format!(" ({times} times)") } else { String::new() };
            self.report(*code, &format!("{what}{times}"), None);
        }
    }

    /// Decides the destination of a record that the source does not have.
    fn destination_of(&self, record: &Record) -> Destination {
        let Some(source_format) = self.source_format else { return Destination::Source };
        let held = source_format.version().kinds.contains(&record.kind);
        // Other formats than the file's cannot list what a compaction keeps.
        let mut lists = record.node.get(Field::Kept).is_some();
        // A list cannot name the first message that is kept.
        lists |= record.node.get(Field::FirstKept).is_some() && !source_format.version().tree;
        let lists = lists && !self.is_native();
        if record.kind == Kind::Compaction && (!held || lists) {
            return Destination::SummedUp;
        }
        let own = record.is_node() || matches!(record.kind, Kind::Session | Kind::Turn);
        match source_format.format.links() && !own {
            true if held => Destination::Nowhere,
            true => Destination::Origin,
            // A notice about the lines of a file means nothing in another format.
            false if record.kind == Kind::Notice && !self.is_native() => Destination::Nowhere,
            false => Destination::Source,
        }
    }

    /// Leaves out a compaction that the source format has no place for, as the source has its
    /// messages in full. The file then counts as one without this compaction.
    fn leave(&mut self, record: &Record, number: u32) {
        self.cx.log.lost(record.kind.name());
        let message = "a compaction has no place in the source format, which keeps the messages that it summarizes";
        self.report(Code::Dropped, message, Some(number));
        self.parent_links.pass(record);
        self.summed.replacements.insert(number, passed(record));
        self.changed = true;
    }

    /// Whether the file has the source format.
    pub(super) fn is_native(&self) -> bool {
        let name = |spec: Option<Spec>| spec.map(|spec| spec.format.name);
        name(self.source_format) == name(self.parent_links.file_format)
    }

    /// Converts a new record to a form that other formats know. The error describes a record that
    /// has no such form.
    fn plain(&mut self, record: Record) -> std::result::Result<Record, String> {
        if self.is_native() {
            return Ok(record);
        }
        let what = record.description();
        self.parent_links.plain(record).ok_or(what)
    }

    /// Adds a new record to the source.
    pub(super) fn take_in(
        &mut self,
        Located { value: mut record, at }: Located<Record>,
    ) -> Result<()> {
        let number = at.record as u32;
        let before = self.time.clone();
        let is_said = record.kind == Kind::Message;
        let mut turn = None;
        if is_said && !self.new_turns.native {
            turn = restored_texts::number(&record, Field::Turn);
            record.node.take(Field::Turn);
        }
        if record.is_node() {
            self.date(&mut record.node, turn);
        }
        let call = call_of(&record.node, &self.called);
        let source_format = self.source_format.filter(|_| is_said);
        if source_format.is_some() && !self.is_native() {
            self.models.complete_model(&mut record.node);
        }
        if source_format
            .is_some_and(|source_format| source_format.version().kinds.contains(&Kind::ModelChange))
        {
            self.models.complete(&mut record.node);
        }
        let given = self.given(&record, number)?;
        let made = source_format
            .map(|to| in_source_format(to, self.new_turns.session(), call, &given))
            .unwrap_or_default();
        pass(&record.node, &mut self.called);
        let before_it = self.parent_links.before(&record).map(|before| before.cloned());
        let behind_call = self.summed.is_dangling(self.last_shown.as_ref());
        let moves = before_it.as_ref().is_some_and(|before| *before != self.last_shown);
        let branches = moves && self.taken_back.is_none() && !behind_call;
        if branches || (is_said && self.new_turns.ends_before(&record)) {
            self.settle()?;
        }
        if branches {
            self.tail.shown();
            self.last_shown = before_it.flatten();
        }
        let mut all = if made.is_empty() { vec![given] } else { made };
        for (place, record) in all.iter_mut().enumerate() {
            self.identify(record, number, place)?;
            if record.kind == Kind::Compaction && !self.new_turns.native {
                self.summed.take(record);
            }
        }
        self.last_shown.iter().for_each(|id| self.parent_links.add(&record, id));
        let name = record.node.json(Field::Id).cloned();
        self.last_shown
            .iter()
            .zip(&name)
            .for_each(|(id, name)| self.summed.place(std::slice::from_ref(name), id));
        self.changed = true;
        if is_said {
            self.new_turns.add(turn, record, all, before);
            return Ok(());
        }
        for record in all {
            let Some(mut alone) = self.new_turns.behind(record) else { continue };
            self.renumber(&mut alone);
            self.taken_back.iter_mut().for_each(|taken| taken.note(&alone, true));
            self.store.add(&alone)?;
        }
        Ok(())
    }

    /// Writes the open new messages, with the records that the source format has around them.
    pub(super) fn settle(&mut self) -> Result<()> {
        let mut all = self.new_turns.settle(self.source_format);
        self.mark(&mut all);
        all.iter_mut().for_each(|record| self.renumber(record));
        for record in &all {
            self.deletions.pass(record);
            self.taken_back.iter_mut().for_each(|taken| taken.note(record, true));
        }
        all.iter().try_for_each(|record| self.store.add(record))
    }

    /// Adds the records at the beginning and the end of a new turn, where the source has such.
    fn mark(&self, turn: &mut Vec<Record>) {
        let marks = self.source_format.filter(|_| self.marks_turns && !self.is_native());
        let marks = marks
            .and_then(|spec| Some(spec.format.agent.rewind?.marks))
            .filter(|_| turn.iter().any(is_question));
        if let Some([begin, end]) = marks.and_then(|marks| (marks.around)(turn)) {
            turn.insert(0, begin);
            turn.push(end);
        }
    }

    /// Gives a new record the next number, where the lines of the source have numbers.
    pub(super) fn renumber(&mut self, record: &mut Record) {
        let number = self.source_format.and_then(|spec| spec.format.number);
        if let Some(number) = number.filter(|_| !self.is_native()) {
            self.number = number(record, self.number).or(self.number);
        }
    }

    /// Returns a new record with an identifier that follows from its line. In a file of the source
    /// format, it keeps its own.
    fn given(&mut self, record: &Record, number: u32) -> Result<Record> {
        let mut given = record.clone();
        if record.is_node() && !self.new_turns.native {
            given.node.set(Field::Id, self.new_id(number, 0)?);
        }
        Ok(given)
    }

    fn new_id(&mut self, number: u32, place: usize) -> Result<Json> {
        let mut line = self.now.store.line(number)?.to_vec();
        line.extend(std::iter::repeat_n(b' ', place));
        Ok(Json::string(&format!("{:08x}", hash(&line) >> 32)))
    }

    /// Gives a record that is made of new record `number` a parent: the last node that the file
    /// shows. Further records that are made of it get identifiers of their own.
    fn identify(&mut self, record: &mut Record, number: u32, place: usize) -> Result<()> {
        if !record.is_node() {
            return Ok(());
        }
        let given = self.new_id(number, 0)?;
        let own = record.node.json(Field::Id).cloned().filter(|id| place == 0 || *id != given);
        let id = own.map_or_else(|| self.new_id(number, place), Ok)?;
        // In a file of the source format, the state names the new messages, too.
        if !self.new_turns.native {
            self.tail.note(record.kind, &id);
        }
        self.end = Some(id.clone());
        self.taken_back.iter_mut().for_each(|taken| taken.show(number, Some(&id)));
        let before = self.last_shown.replace(id.clone());
        let parent = before.clone().unwrap_or(Json::constant("null"));
        if !self.parent_links.tree {
            self.reparented =
                Some((self.reparented.take().map_or(before, |(from, _)| from), id.clone()));
        }
        record.node.take(Field::IdMade);
        record.node.set(Field::Id, id);
        record.node.set(Field::Parent, parent);
        Ok(())
    }

    /// Gives a record without a time the time of its turn, if the file has one after the time of
    /// the record before, or else the next time after that.
    pub(super) fn date(&mut self, node: &mut Node, turn: Option<Turn>) {
        if node.json(Field::Time).is_none() {
            let last = self.time.as_ref().and_then(times::read);
            let own = self.new_turns.time_of(turn).and_then(times::read);
            let next = last.map(times::after);
            let next = own.filter(|own| next.is_none_or(|next| *own > next)).or(next);
            let next = next.map(|next| Json::string(&times::with_millis(next)));
            node.put(Field::Time, next.or_else(|| self.time.clone()));
        } else if self.times_rise() {
            let [own, last] = [node.json(Field::Time), self.time.as_ref()];
            let [own, last] = [own, last].map(|time| time.and_then(times::read));
            let late = own.is_some_and(|own| last.is_some_and(|last| own <= last));
            let next = last.filter(|_| late).map(times::after);
            next.into_iter()
                .for_each(|next| node.set(Field::Time, Json::string(&times::with_millis(next))));
        }
        self.time = node.json(Field::Time).or(self.time.as_ref()).cloned();
    }

    /// Whether times of new records must be later than those before them: agents with trees may
    /// continue at the newest entry.
    fn times_rise(&self) -> bool {
        let tree = |spec: Spec| spec.version().tree && spec.format.links();
        !self.is_native() && self.source_format.is_some_and(tree)
    }

    /// Looks at the new records before the first of them is written. A session of one run has no
    /// place for a new question, and becomes a session of several runs. A file of the source format
    /// has its own records around a question.
    pub(super) fn look_ahead(&mut self, session: &mut Node) -> Result<()> {
        let Some(source_format) = self.source_format else { return Ok(()) };
        let same = self
            .parent_links
            .file_format
            .is_some_and(|file_format| file_format.format.name == source_format.format.name);
        if !self.added.is_empty() {
            let file_session = self.now.record(0)?;
            self.models.note_file(&file_session);
        }
        let mut last = None;
        for number in self.added.keys() {
            let record = self.now.record(*number)?;
            self.new_turns.native |= same && record.kind == Kind::Run;
            let one = source_format
                .format
                .files
                .shared
                .is_some_and(|shared| session.is(Field::Layout, shared.one_run));
            if one && is_question(&record) {
                session.take(Field::Layout);
            }
            let time = record.node.json(Field::Time).filter(|_| record.kind == Kind::Message);
            last = time.cloned().or(last);
        }
        last.iter().for_each(|last| update(session, last));
        Ok(())
    }
}
