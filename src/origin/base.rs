//! The base: what today's writer makes of the origin's stream in the file's format, read again.
//!
//! Each difference between the base and the file is an edit of the file since it was written.

use super::matching::align::{Atom, Tag, atoms, pairs};
use super::matching::shared_answers::{Share, Shares};
use super::record_key::RecordKey;
use super::record_store::RecordStore;
use crate::error::Result;
use crate::format::{Cx, Format, Parts, Reader};
use crate::formats::canonical;
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use crate::stage::Staged;
use std::collections::HashSet;
use std::iter::Peekable;
use std::vec::IntoIter;

/// Trace of a session's writing, by which its records can be found again in the target.
#[derive(Default)]
pub struct Trace {
    atoms: Vec<Atom>,
    /// Last answer, and pieces of an answer, each with the piece before it.
    answer: u32,
    pieces: Vec<(u32, u32)>,
}

impl Trace {
    /// Notes the record that the writer got in the place of record `number` of the source. `more`
    /// states whether it became part of the answer before it.
    pub fn passed(&mut self, number: u32, record: &Record, more: bool) {
        if more {
            self.pieces.push((self.answer, number));
        }
        if Tag::of(record).is_answer() {
            self.answer = number;
        }
        atoms(record, number, &mut self.atoms);
    }
}

/// Records of the base, and their matches with the records of the source.
pub struct Base {
    store: RecordStore,
    /// Key of each record.
    pub names: Vec<RecordKey>,
    /// Numbers of the records that the reader added: they are nowhere in the file.
    pub put_in: HashSet<u32>,
    /// Pairs of record numbers of the source and of the base with the same content, sorted.
    pairs: Vec<(u32, u32)>,
    shares: Shares,
}

impl Base {
    /// Reads the base and matches it with the source, by the `trace` of its writing.
    pub fn of(
        format: &Format,
        parts: &mut dyn Parts,
        trace: &Trace,
        mut store: RecordStore,
        cx: &Cx<'_>,
    ) -> Result<Self> {
        let (mut names, mut base_atoms, mut put_in) = (Vec::new(), Vec::new(), HashSet::new());
        for item in format.records(parts, cx)? {
            let record = item?.value;
            // Playback follows the record that it repeats.
            if record.is_repetition() {
                continue;
            }
            let number = names.len() as u32;
            atoms(&record, number, &mut base_atoms);
            if record.is_restored() {
                put_in.insert(number);
            }
            names.push(RecordKey::of(&record, format.links()));
            store.add(&record)?;
        }
        let mut pairs = pairs(&trace.atoms, &base_atoms);
        let shares = Shares::of(&mut pairs, &trace.pieces, &trace.atoms, &base_atoms);
        Ok(Self { store, names, put_in, pairs, shares })
    }

    /// Returns a record of the base.
    pub fn record(&mut self, number: u32) -> Result<Record> {
        canonical::record(&self.store.line(number)?)
    }

    /// Returns the records of the base as a stream.
    pub fn parts(&mut self) -> Result<Staged> {
        self.store.parts()
    }

    /// Replaces the records of the base by others of the same numbers.
    pub fn rewrite(&mut self, to: RecordStore, edit: &dyn Fn(&mut Record)) -> Result<()> {
        self.store = self.store.rewritten(to, edit)?;
        Ok(())
    }

    /// Returns the tag of a record of the base.
    pub fn tag(&self, number: u32) -> Option<Tag> {
        self.names.get(number as usize).map(|name| name.tag)
    }

    /// Returns the numbers of the records that match no record of the source.
    fn derived(&self) -> IntoIter<u32> {
        let mut claimed = vec![false; self.names.len()];
        for (_, base) in &self.pairs {
            claimed.get_mut(*base as usize).into_iter().for_each(|claimed| *claimed = true);
        }
        let free = (0..).zip(claimed).filter(|(_, claimed)| !claimed).map(|(number, _)| number);
        free.collect::<Vec<_>>().into_iter()
    }

    /// Returns the next item of a walk over the records that only the base has, and then the
    /// source.
    pub fn next(&mut self, items: &mut Items<'_>) -> Result<Option<Item>> {
        if let Some(number) = items.derived.next() {
            return Ok(Some(Item { source: None, bases: vec![number], share: None }));
        }
        let Some(item) = items.source.next() else { return Ok(None) };
        let Located { value: record, .. } = item?;
        let number = items.number;
        items.number += 1;
        let mut bases = Vec::new();
        while let Some((_, base)) = items.pairs.next_if(|(record, _)| *record == number) {
            bases.push(base);
        }
        let share = match bases.as_slice() {
            [base] => self.shares.take(number, *base, || self.store.line(*base))?,
            _ => None,
        };
        Ok(Some(Item { source: Some(record), bases, share }))
    }

    /// Begins a walk over the records that only the base has, and then the source.
    pub fn items<'s>(&self, source: Reader<'s>) -> Items<'s> {
        let pairs = self.pairs.clone().into_iter().peekable();
        Items { derived: self.derived(), source, number: 0, pairs }
    }
}

/// A walk over the records that only the base has, and then the source.
pub struct Items<'s> {
    derived: IntoIter<u32>,
    source: Reader<'s>,
    number: u32,
    pairs: Peekable<IntoIter<(u32, u32)>>,
}

/// Record of the source with the records of the base that match it, or a record that only the base
/// has.
pub struct Item {
    /// Record of the source; `None` if the target's writer computed the record of the base.
    pub source: Option<Record>,
    /// The numbers of the base's records.
    pub bases: Vec<u32>,
    /// Blocks of a shared answer that belong to this record.
    pub share: Option<Share>,
}

/// Fields of a session that a user sets, so that an edit counts even where the source has no such
/// field.
const SET: &[Field] = &[
    Field::Id,
    Field::Name,
    Field::Cwd,
    Field::ParentSession,
    Field::Agent,
    Field::Provider,
    Field::Model,
    Field::ThinkingLevel,
    Field::SystemPrompt,
    Field::Totals,
];

/// Whether the kind is a session, and the field is one that a user sets.
pub fn is_set(kind: Kind, field: Field) -> bool {
    kind == Kind::Session && SET.contains(&field)
}

/// Fields that no user edits in a file, or that are compared in another way.
pub const NOT_EDITED: &[Field] = &[
    Field::Content,
    Field::Extra,
    Field::Id,
    Field::IdMade,
    Field::Parent,
    Field::Source,
    Field::File,
    Field::Layout,
    Field::Group,
    Field::Leaf,
    Field::Turn,
    Field::Synthesized,
];
