//! Noting what of a session its target does not tell.

use super::align::{Atom, Tag, atoms, pairs, says_alike};
use super::fill::members;
use super::outline::Outline;
use super::pack::{Chunks, Packer};
use super::print::{self, Prints};
use super::share::{self, Shares};
use super::shelf::Shelf;
use super::signed;
use super::stage::Stage;
use super::template::{Base, inside};
use crate::error::Result;
use crate::format::{Carrier, Cx, Reader, Took};
use crate::formats::{Spec, canonical};
use crate::json::text;
use crate::lines::{USUAL, empty};
use crate::mapping::Object;
use crate::record::{Field, Kind, Node, Record, Value};

/// What was written of a session, as far as its records can be found in it again.
#[derive(Default)]
pub struct Trace {
    atoms: Vec<Atom>,
    /// The last answer, and pieces of one with the piece before each.
    answer: u32,
    pieces: Vec<(u32, u32)>,
}

impl Trace {
    /// The writer was given this record, in place of that one of the source; `more` is one that
    /// became part of the answer before it.
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

/// The records of a target as they are read.
struct Target {
    /// What it is, by its first record.
    source: Option<String>,
    shelf: Shelf,
    tags: Vec<Tag>,
    /// The hashes of all records, once they are all made.
    prints: Vec<u64>,
    printing: Prints,
    atoms: Vec<Atom>,
}

/// What was noted of a session.
pub struct Noted {
    /// How many chunks there are, and these.
    pub count: u64,
    /// The chunks.
    pub chunks: Chunks,
    /// Whether the target's messages tell what the writer was given, block for block and in its
    /// order, and nothing was wrong with them.
    pub plain: bool,
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
) -> Result<Option<Noted>> {
    let mut target = target(to, carrier, stage, quiet)?;
    if whole && target.source.as_deref() == from {
        return Ok(None);
    }
    let plain = says_alike(&trace.atoms, &target.atoms) && !quiet.log.warns(&[]);
    let mut pairs = pairs(&trace.atoms, &target.atoms);
    let mut shares = Shares::of(&mut pairs, &trace.pieces, &trace.atoms, &target.atoms);
    let mut packer = Packer::new(stage.room()?)?;
    derived(&mut target, to.format.links(), &pairs, &mut packer)?;
    let mut pairs = pairs.into_iter().peekable();
    let (mut bases, mut told) = (Vec::new(), Vec::new());
    for (number, item) in (0..).zip(source) {
        bases.clear();
        empty(&mut told);
        while let Some((_, base)) = pairs.next_if(|(record, _)| *record == number) {
            bases.push(base);
        }
        target.told(&item?.value, (number, &bases), &mut shares, &mut told)?;
        packer.item(&told)?;
    }
    let (count, chunks) = packer.finish()?;
    Ok(Some(Noted { count, chunks, plain }))
}

fn target(to: Spec, carrier: &Carrier, stage: &mut Stage<'_>, quiet: &Cx<'_>) -> Result<Target> {
    let shelf = Shelf::new(stage.room()?);
    let mut target = Target::on(shelf);
    let mut parts = stage.whole()?;
    let options = quiet.options.unspelled();
    for item in (to.format.read)(&mut parts, &Cx { options: &options, log: quiet.log })? {
        let mut record = item?.value;
        let Took { whole: false, .. } = (carrier.take)(&mut record) else { continue };
        record.node.take(Field::Raw);
        target.add(&record)?;
    }
    target.prints = std::mem::take(&mut target.printing).finish();
    Ok(target)
}

/// Notes the records of the target that none of the source stands behind.
fn derived(
    target: &mut Target,
    links: bool,
    pairs: &[(u32, u32)],
    packer: &mut Packer,
) -> Result<()> {
    let mut claimed = vec![false; target.tags.len()];
    for (_, base) in pairs {
        claimed.get_mut(*base as usize).into_iter().for_each(|claimed| *claimed = true);
    }
    let mut item = Vec::new();
    for (number, _) in (0..).zip(&claimed).filter(|(_, claimed)| !**claimed) {
        let line = Outline::of(target.shelf.line(number)?);
        item.clear();
        let mut object = Object::open(&mut item);
        target.name(number, object.key("derived"));
        // An entry with another one is another entry.
        let id = line.inside(0).find(|member| *line.name(*member) == *Field::Id.name().as_bytes());
        if let Some(id) = id.filter(|_| links) {
            object.key("id").extend_from_slice(line.bytes(id));
        }
        was(&line, &|_, _| true, &mut object);
        object.close();
        packer.item(&item)?;
    }
    Ok(())
}

impl Target {
    fn on(shelf: Shelf) -> Self {
        let (tags, atoms, prints) = (Vec::new(), Vec::new(), Vec::new());
        Self { source: None, shelf, tags, printing: Prints::default(), prints, atoms }
    }

    fn add(&mut self, record: &Record) -> Result<()> {
        let number = self.tags.len() as u32;
        if number == 0 {
            self.source = record.node.text(Field::Source);
        }
        atoms(record, number, &mut self.atoms);
        self.tags.push(Tag::of(record));
        self.printing.add(record);
        self.shelf.add(record)
    }

    /// Writes by what a record is known again.
    fn name(&self, number: u32, out: &mut Vec<u8>) {
        let place = number as usize;
        let (Some(tag), Some(print)) = (self.tags.get(place), self.prints.get(place)) else {
            return;
        };
        out.extend_from_slice(format!("[{number},").as_bytes());
        text::quote(&print::spelled(*tag, *print), out);
        out.push(b']');
    }

    /// A record of the source as what these of the target do not tell of it.
    fn told(
        &mut self,
        record: &Record,
        (number, bases): (u32, &[u32]),
        shares: &mut Shares,
        item: &mut Vec<u8>,
    ) -> Result<()> {
        let mut line = Vec::with_capacity(USUAL);
        canonical::line(record, &mut line);
        line.pop();
        let line = Outline::of(line.into());
        let share = match bases {
            [base] => shares.take(number, *base, || self.shelf.line(*base))?,
            _ => None,
        };
        let (lines, share) = match share {
            Some((line, share)) => (vec![line], Some(share)),
            None => {
                let lines = bases.iter().map(|base| self.shelf.line(*base));
                (lines.collect::<Result<_>>()?, None)
            }
        };
        let base = Base::new(lines);
        let mut object = Object::open(item);
        if let Some(first) = base.first() {
            let list = object.key("by");
            for (i, base) in bases.iter().enumerate() {
                list.push(if i == 0 { b'[' } else { b',' });
                self.name(*base, list);
            }
            list.push(b']');
            share.iter().for_each(|share| object.member(share::KEY, share.as_bytes()));
            let counts = |field, bytes: &[u8]| {
                differs(record, &line, field, bytes)
                    || is_set(record.kind, field)
                        && (field == Field::Id || record.node.get(field).is_none())
            };
            was(first, &counts, &mut object);
            strangers(first, &mut object);
        }
        let mut template = Vec::with_capacity(USUAL);
        base.template(&line, &mut template);
        signed::note(record, &template, &mut object);
        object.key("is").extend_from_slice(&template);
        object.close();
        Ok(())
    }
}

/// Whether a record, whose line this is, has the field with another value than the one that is
/// spelled so.
fn differs(record: &Record, line: &Outline, field: Field, bytes: &[u8]) -> bool {
    // A line begins with what the record is.
    let mut fields = record.node.iter().zip(line.inside(0).skip(1));
    let own = fields.find(|((own, _), _)| *own == field);
    own.is_some_and(|((_, value), at)| line.bytes(at) != bytes || !is_read_so(field, value))
}

/// Whether a field's value is of the kind that is read from its spelling.
fn is_read_so(field: Field, value: &Value) -> bool {
    let all = |node: &Node| node.iter().all(|(field, value)| is_read_so(field, value));
    match value {
        Value::Json(json) => !field.shape().is_group(json.as_bytes()),
        Value::Node(node) => all(node),
        Value::Nodes(nodes) => nodes.iter().all(all),
    }
}

/// Notes what fields of the target's record were, so that an edit of them is seen.
fn was(line: &Outline, counts: &dyn Fn(Field, &[u8]) -> bool, object: &mut Object<'_>) {
    let mut members = line.inside(0);
    let kind = members.next().and_then(|kind| Kind::named(inside(line.bytes(kind))));
    let Some(kind) = kind else { return };
    let fields = members.filter_map(|member| {
        let name = line.name(member);
        let field = Field::named(&name).find(|field| kind.admits(*field))?;
        Some((field, member))
    });
    let mut fields = fields
        .filter(|(field, _)| !NOT_EDITED.contains(field) || is_set(kind, *field))
        .filter(|(field, member)| counts(*field, line.bytes(*member)))
        .peekable();
    if fields.peek().is_none() {
        return;
    }
    let mut was = Object::open(object.key("was"));
    for (field, member) in fields {
        text::quote(&print::of_spelled(field, &line.json(member)), was.key(field.name()));
    }
    was.close();
}

/// Notes members of the target's record that no field is for, so that new ones are missed at home.
fn strangers(line: &Outline, object: &mut Object<'_>) {
    let extra =
        line.inside(0).find(|member| *line.name(*member) == *Field::Extra.name().as_bytes());
    let Some(extra) = extra.map(|at| line.json(at)) else { return };
    let mut noted = Object::open(object.key(Field::Extra.name()));
    for (name, value) in members(&extra) {
        let name = name.text().unwrap_or_default();
        text::quote(&print::short(&value), noted.key(&name));
    }
    noted.close();
}

/// What a person sets of a session, so that it counts even where its source has no such thing. Ids
/// are never referred to, but that of a session is another one in a session that was forked.
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

/// Whether a record of this kind is a session's, and the field one that a person sets.
pub fn is_set(kind: Kind, field: Field) -> bool {
    kind == Kind::Session && SET.contains(&field)
}

/// What no person edits in a file, or what is compared in another way.
pub const NOT_EDITED: &[Field] = &[
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
