//! Noting what of a session its target does not tell.

use super::align::{Atom, Tag, atoms, pairs};
use super::pack::{Chunks, Packer};
use super::print;
use super::shelf::Shelf;
use super::stage::Stage;
use super::template::Base;
use crate::error::Result;
use crate::format::{Carrier, Cx, Reader, Took};
use crate::formats::{Spec, canonical};
use crate::json::text;
use crate::mapping::Object;
use crate::record::{Field, Record};
use bytes::Bytes;

/// What was written of a session, as far as its records can be found in it again.
#[derive(Default)]
pub struct Trace {
    atoms: Vec<Atom>,
}

impl Trace {
    /// The writer was given this record, in place of that one of the source.
    pub fn passed(&mut self, number: u32, record: &Record) {
        atoms(record, number, &mut self.atoms);
    }
}

/// The records of a target as they are read.
struct Target {
    /// What it is, by its first record.
    source: Option<String>,
    shelf: Shelf,
    prints: Vec<(Tag, u64)>,
    atoms: Vec<Atom>,
}

/// Reads what was written and notes of the source's records what it does not tell; `None` if the
/// writer left nothing out and made a file of the very version that `from` names.
///
/// # Errors
/// If either cannot be read, or there is no room.
pub fn note(
    source: Reader<'_>,
    (from, whole): (Option<&str>, bool),
    trace: &Trace,
    (to, carrier): (Spec, &Carrier),
    stage: &mut Stage<'_>,
    quiet: &Cx<'_>,
) -> Result<Option<(u64, Chunks)>> {
    let mut target = target(to, carrier, stage, quiet)?;
    if whole && target.source.as_deref() == from {
        return Ok(None);
    }
    let pairs = pairs(&trace.atoms, &target.atoms);
    let mut packer = Packer::new(stage.room()?);
    derived(&mut target, &pairs, &mut packer)?;
    let mut pairs = pairs.into_iter().peekable();
    for (number, item) in (0..).zip(source) {
        let mut bases = Vec::new();
        while let Some((_, base)) = pairs.next_if(|(record, _)| *record == number) {
            bases.push(base);
        }
        let item = target.told(&item?.value, &bases)?;
        packer.item(&item)?;
    }
    packer.finish().map(Some)
}

fn target(to: Spec, carrier: &Carrier, stage: &mut Stage<'_>, quiet: &Cx<'_>) -> Result<Target> {
    let shelf = Shelf::new(stage.room()?);
    let mut target = Target { source: None, shelf, prints: Vec::new(), atoms: Vec::new() };
    let mut parts = stage.parts();
    for item in (to.format.read)(&mut parts, quiet)? {
        let mut record = item?.value;
        let Took { whole: false, .. } = (carrier.take)(&mut record) else { continue };
        // What carries is spelled otherwise in the end.
        record.node.take(Field::Raw);
        target.add(&record)?;
    }
    Ok(target)
}

/// Notes the records of the target that none of the source stands behind.
fn derived(target: &mut Target, pairs: &[(u32, u32)], packer: &mut Packer) -> Result<()> {
    let mut claimed = vec![false; target.prints.len()];
    for (_, base) in pairs {
        claimed.get_mut(*base as usize).into_iter().for_each(|claimed| *claimed = true);
    }
    for (number, _) in (0..).zip(&claimed).filter(|(_, claimed)| !**claimed) {
        let line = target.shelf.line(number)?;
        let record = canonical::record(&line)?;
        let mut item = Vec::new();
        let mut object = Object::open(&mut item);
        target.name(number, object.key("derived"));
        was(&record, &|_| true, &mut object);
        object.close();
        packer.item(&item)?;
    }
    Ok(())
}

impl Target {
    fn add(&mut self, record: &Record) -> Result<()> {
        let number = self.prints.len() as u32;
        if number == 0 {
            self.source = record.node.text(Field::Source);
        }
        atoms(record, number, &mut self.atoms);
        self.prints.push((Tag::of(record), print::of(record)));
        self.shelf.add(record)
    }

    /// Writes by what a record is known again.
    fn name(&self, number: u32, out: &mut Vec<u8>) {
        let Some((tag, print)) = self.prints.get(number as usize) else { return };
        out.extend_from_slice(format!("[{number},").as_bytes());
        text::quote(&print::spelled(*tag, *print), out);
        out.push(b']');
    }

    /// A record of the source as what these of the target do not tell of it.
    fn told(&mut self, record: &Record, bases: &[u32]) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        canonical::line(record, &mut line);
        line.pop();
        let line = Bytes::from(line);
        let mut item = Vec::new();
        let mut object = Object::open(&mut item);
        if bases.is_empty() {
            object.member("is", &Base::new(Vec::new()).template(&line));
            object.close();
            return Ok(item);
        }
        let lines = bases.iter().map(|base| self.shelf.line(*base));
        let lines: Vec<_> = lines.collect::<Result<_>>()?;
        let list = object.key("by");
        for (i, base) in bases.iter().enumerate() {
            list.push(if i == 0 { b'[' } else { b',' });
            self.name(*base, list);
        }
        list.push(b']');
        if let Some(first) = lines.first() {
            let first = canonical::record(first)?;
            let differs = |field| {
                record.node.get(field).is_some_and(|own| first.node.get(field) != Some(own))
            };
            was(&first, &differs, &mut object);
        }
        object.member("is", &Base::new(lines).template(&line));
        object.close();
        Ok(item)
    }
}

/// Notes what fields of the target's record were, so that an edit of them is seen.
fn was(record: &Record, counts: &dyn Fn(Field) -> bool, object: &mut Object<'_>) {
    let fields = record.node.fields().filter(|field| !NOT_EDITED.contains(field));
    let fields: Vec<_> = fields.filter(|field| counts(*field)).collect();
    if fields.is_empty() {
        return;
    }
    let mut was = Object::open(object.key("was"));
    for field in fields {
        if let Some(print) = print::of_field(&record.node, field) {
            text::quote(&print, was.key(field.name()));
        }
    }
    was.close();
}

/// What no person edits in a file, or what is compared in another way.
const NOT_EDITED: &[Field] = &[
    Field::Content,
    Field::Id,
    Field::IdMade,
    Field::Parent,
    Field::Source,
    Field::File,
    Field::Layout,
    Field::Group,
    Field::Raw,
    Field::RawBytes,
    Field::Eol,
    Field::Leaf,
    Field::Turn,
    Field::Synthesized,
];
