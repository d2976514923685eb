//! Records that the file's agent added by itself, for instance when it resumed the session. Those
//! that the source format has a place for are taken over, as a change of the model is one in
//! another format, too. The others are left out, and counted.

use super::Merger;
use crate::diagnostic::{Code, plural};
use crate::error::Result;
use crate::formats::Spec;
use crate::json::Json;
use crate::origin::matching::compactions::passed;
use crate::record::{Field, Kind, Record};

/// Kinds of records that mean nothing outside of the format that has them.
const OWN: &[Kind] = &[Kind::Opaque, Kind::Extension, Kind::Notice, Kind::Event];

/// Kinds of records beside the conversation that some formats have no place for.
const BESIDE: &[Kind] = &[
    Kind::ModelChange,
    Kind::ThinkingChange,
    Kind::ToolsChange,
    Kind::Label,
    Kind::SessionInfo,
    Kind::Usage,
    Kind::RunContext,
];

/// Fields that only the file's format writes, and that a record loses that is taken over.
const FOREIGN: &[Field] = &[Field::Extra, Field::Layout];

/// Number of records that were left out, by their names.
#[derive(Default)]
pub struct Omitted(Vec<(&'static str, u64)>);

impl Merger<'_> {
    /// Returns what a new record is, if it is to be left out.
    pub(super) fn addition(&self, record: &Record) -> Option<&'static str> {
        let source_format = self.source_format.filter(|_| !self.is_native())?;
        let held = source_format.version().kinds.contains(&record.kind);
        let beside = OWN.contains(&record.kind) || (BESIDE.contains(&record.kind) && !held);
        let name = self.names_addition(record);
        match record.kind {
            Kind::Message => name,
            kind => beside.then(|| name.unwrap_or(kind.name())),
        }
    }

    /// Returns how the file's format names a record that its agent adds.
    pub(super) fn names_addition(&self, record: &Record) -> Option<&'static str> {
        self.parent_links.file_format?.format.agent.additions.and_then(|name| name(record))
    }

    /// Returns the record of the source format for a new entry that names the session.
    pub(super) fn title(&self, record: &Record) -> Option<Record> {
        let rename = self.source_format.filter(|_| !self.is_native())?.format.agent.rename?;
        let name = record.node.json(Field::Name).filter(|_| record.kind == Kind::SessionInfo)?;
        let has_text = name.text().is_some_and(|name| !name.is_empty());
        has_text.then(|| rename(self.new_turns.session(), name))
    }

    /// Adds the record of the source format for an entry that the source has no place for.
    pub(super) fn put_for(&mut self, entry: &Record, record: Record) -> Result<()> {
        self.parent_links.pass(entry);
        self.changed = true;
        let alone = self.new_turns.behind(record);
        alone.iter().try_for_each(|record| self.store.add(record))
    }

    /// Leaves out a new record: entries that follow it follow the entry before it.
    pub(super) fn leave_out(&mut self, record: &Record, number: u32, name: &'static str) {
        self.parent_links.pass(record);
        if record.kind == Kind::Message {
            // The file then counts as one without this message.
            self.summed.replacements.insert(number, passed(record));
        }
        self.cx.log.lost(record.kind.name());
        self.changed = true;
        match self.omitted.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.omitted.0.push((name, 1)),
        }
    }

    /// Leaves out a message that the file had before, if the file's agent added it by itself: the
    /// source has no counterpart.
    pub(super) fn omit_addition(&mut self, number: u32) -> Result<()> {
        let is_message =
            self.now.names.get(number as usize).is_some_and(|name| name.tag.is_message());
        let file_format = self.parent_links.file_format.filter(|_| is_message);
        let Some(of) = file_format.and_then(|spec| spec.format.agent.additions) else {
            return Ok(());
        };
        let record = self.now.record(number)?;
        if of(&record).is_some() {
            self.summed.replacements.insert(number, passed(&record));
        }
        Ok(())
    }

    /// Reports the records that were left out, in one finding.
    pub(super) fn report_omitted(&self) {
        let Omitted(counts) = &self.omitted;
        let all = counts.iter().map(|(_, count)| count).sum();
        let Some(file_format) = self.parent_links.file_format.filter(|_| all > 0) else { return };
        let each: Vec<_> = counts.iter().map(|(name, count)| plural(*count, name)).collect();
        let (all, name) = (plural(all, "record"), file_format.format.name);
        let message = format!("{all} that {name} added by itself left out: {}", each.join(", "));
        self.report(Code::Dropped, &message, None);
    }

    /// Removes from a record that is taken over what only the file's format writes, and completes a
    /// change of the model.
    pub(super) fn take_over(&self, record: &mut Record) {
        if self.is_native() || !BESIDE.contains(&record.kind) {
            return;
        }
        FOREIGN.iter().for_each(|field| drop(record.node.take(*field)));
        if record.kind == Kind::ModelChange {
            self.models.complete_change(&mut record.node);
        }
    }

    /// Removes from the session's record at the end of the file what the agent writes there by
    /// itself.
    pub(super) fn strip(&self, record: &mut Record) {
        let fields = record.node.fields();
        let by_agent: Vec<_> =
            fields.filter(|field| self.is_set_by_agent(*field, record)).collect();
        by_agent.iter().for_each(|field| drop(record.node.take(*field)));
    }

    /// Returns the entry that gives the session its new name, for the session's record at the end
    /// of a file of another format.
    pub(super) fn renaming(&self, record: &Record) -> Option<Record> {
        let name = record.node.json(Field::Name).filter(|_| record.kind == Kind::Session)?;
        let renaming = Record::new(Kind::SessionInfo)
            .with(Field::Id, Json::constant("\"name\""))
            .with(Field::Name, name.clone());
        (!self.is_native()).then_some(renaming)
    }

    /// Whether a field of the session's record at the end of the file describes what the file's
    /// agent did, such as its release. The name is the user's.
    pub(super) fn is_set_by_agent(&self, field: Field, record: &Record) -> bool {
        record.kind == Kind::Session && field != Field::Name && !self.is_native()
    }

    /// Whether the agent of the file filled all fields by which these records of the session differ.
    pub(super) fn are_all_filled(&self, was: &Record, now: &Record) -> bool {
        let fields = was.node.fields().chain(now.node.fields());
        was.kind == Kind::Session
            && fields
                .filter(|field| was.node.get(*field) != now.node.get(*field))
                .all(|field| self.is_filled(field, was))
    }

    /// Whether the agent of the file filled this field of the session's record by itself, as the
    /// file had none.
    pub(super) fn is_filled(&self, field: Field, was: &Record) -> bool {
        let fills = |spec: Spec| spec.format.agent.fills.contains(&field);
        let foreign = self.parent_links.file_format.filter(|_| !self.is_native());
        was.kind == Kind::Session && was.node.get(field).is_none() && foreign.is_some_and(fills)
    }
}
