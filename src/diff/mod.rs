//! Comparison of two sessions, of any formats, by records and fields.

mod count;
mod fields;

pub use count::count;
pub use fields::FieldChange;

pub use crate::alignment::Counts;
use crate::alignment::{Hunk, hunks};
use crate::context;
use crate::error::{self, Error};
use crate::format::{Cx, Format, Parts};
use crate::formats;
use crate::ids::hash;
use crate::json::Json;
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value};
use std::ops::Range;

/// One of the two sessions.
pub struct Side<'s> {
    /// Its format.
    pub format: &'static Format,
    /// Its parts.
    pub parts: &'s mut dyn Parts,
    /// Options and log of the first reading; defects of the session are reported in this log, once.
    pub cx: &'s Cx<'s>,
    /// Options and log of the second reading.
    pub quiet: &'s Cx<'s>,
}

/// Options that decide what counts as a difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Whether records may have other identifiers.
    pub ignore_ids: bool,
    /// Whether records may have other times.
    pub ignore_time: bool,
    /// Whether only the messages that a model would get are compared.
    pub context: bool,
}

/// One difference.
#[derive(Debug)]
pub enum Change {
    /// Two corresponding records that differ.
    Changed(Located<Record>, Located<Record>, Vec<FieldChange>),
    /// A record of the first session without a corresponding record in the second.
    OnlyA(Located<Record>),
    /// A record of the second session without a corresponding record in the first.
    OnlyB(Located<Record>),
}

/// Error, and the session in which it happened.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// The first session cannot be read.
    #[error("the first session: {0}")]
    A(#[source] Error),
    /// The second session cannot be read.
    #[error("the second session: {0}")]
    B(#[source] Error),
    /// The differences cannot be shown.
    #[error("the differences: {0}")]
    Show(#[source] Error),
}

type Result<T> = std::result::Result<T, Failed>;

/// Shows the differences, in the order of the records. Each session is read twice: 24 bytes a
/// record are kept of the first reading, and nothing of the second.
///
/// # Errors
/// If a session cannot be read, or has no context where that is to be compared.
pub fn run(
    mut a: Side<'_>,
    mut b: Side<'_>,
    request: Request,
    show: &mut dyn FnMut(Change) -> error::Result<()>,
) -> Result<Counts> {
    a.parts.keep().map_err(Failed::A)?;
    b.parts.keep().map_err(Failed::B)?;
    let (mut whole_a, mut whole_b) = (Vec::new(), Vec::new());
    let gists_a = prints(&mut a, &request, &mut whole_a).map_err(Failed::A)?;
    let gists_b = prints(&mut b, &request, &mut whole_b).map_err(Failed::B)?;
    let hunks = hunks(&gists_a, &gists_b);
    drop((gists_a, gists_b));
    let mut pairs = Pairs {
        a: records(&mut a, request, false).map_err(Failed::A)?,
        b: records(&mut b, request, false).map_err(Failed::B)?,
        whole_a: &whole_a,
        whole_b: &whole_b,
        request,
        done: Counts { a: whole_a.len() as u64, b: whole_b.len() as u64, ..Counts::default() },
        show,
    };
    let (mut at_a, mut at_b) = (0, 0);
    for Hunk { a, b } in hunks {
        pairs.fellows(at_a..a.start, at_b..b.start)?;
        (at_a, at_b) = (a.end, b.end);
        pairs.hunk(a, b)?;
    }
    pairs.fellows(at_a..whole_a.len() as u32, at_b..whole_b.len() as u32)?;
    Ok(pairs.done)
}

type Records<'a> = Box<dyn Iterator<Item = error::Result<Located<Record>>> + 'a>;

/// Returns the records that are compared. The first reading reports the defects.
fn records<'a>(
    side: &'a mut Side<'_>,
    request: Request,
    first: bool,
) -> error::Result<Records<'a>> {
    let cx = if first { side.cx } else { side.quiet };
    if request.context {
        let sent = context::sent(side.format, side.parts, cx, side.quiet)?;
        return Ok(Box::new(sent.map(|mut item| {
            item.iter_mut().for_each(|located| without_success(&mut located.value.node));
            item
        })));
    }
    let mut last = None;
    let mut counts = move |item: &mut error::Result<Located<Record>>| {
        let Ok(Located { value, .. }) = item else { return true };
        if value.is_node() {
            let id = value.node.json(Field::Id).cloned();
            let before = std::mem::replace(&mut last, id);
            without_made_parent(&mut value.node, before.as_ref());
        }
        !is_nothing(value, &request) && !names_last_entry(value, last.as_ref())
    };
    let records = formats::records(side.format, side.parts, cx)?;
    Ok(Box::new(records.filter_map(move |mut item| counts(&mut item).then_some(item))))
}

/// Reduces a parent that the reader named to whether it is the node before: names that the reader
/// makes have no meaning.
fn without_made_parent(node: &mut Node, before: Option<&Json>) {
    if !node.is_true(Field::IdMade) {
        return;
    }
    let parent = node.take(Field::Parent);
    let parent = match &parent {
        Some(Value::Json(parent)) if !parent.is_null() => Some(parent),
        _ => None,
    };
    match parent {
        None if before.is_some() => node.set(Field::Parent, Json::constant("null")),
        Some(parent) if Some(parent) != before => {
            node.set(Field::Parent, Json::constant("\"another entry\""));
        }
        _ => {}
    }
}

/// Removes the mark that a tool did not fail, which some formats contain and others leave out: a
/// model gets only the marks of failures.
fn without_success(message: &mut Node) {
    let Some(Value::Nodes(blocks)) = message.get_mut(Field::Content) else { return };
    for block in blocks {
        if block.json(Field::IsError).is_some_and(|failed| failed.as_bytes() == b"false") {
            block.take(Field::IsError);
        }
    }
}

/// Whether a record has no content: a blank line, or a record for data known only at the end of a
/// file.
fn is_nothing(record: &Record, request: &Request) -> bool {
    let fields = fields::of(record, request);
    let blank =
        |(_, value): &(String, Json)| value.text().is_some_and(|text| text.trim().is_empty());
    match record.kind {
        Kind::Opaque => fields.iter().all(blank),
        Kind::Session => fields.is_empty(),
        _ => false,
    }
}

/// Whether the only content of a record is that the session's leaf is its last entry, which is the
/// default.
fn names_last_entry(record: &Record, last: Option<&Json>) -> bool {
    let fields = record.node.fields().collect::<Vec<_>>();
    record.kind == Kind::Session && fields == [Field::Leaf] && record.node.json(Field::Leaf) == last
}

/// Returns the hashes by which corresponding records are found; hashes of all compared values go to
/// `whole`.
fn prints(side: &mut Side<'_>, request: &Request, whole: &mut Vec<u64>) -> error::Result<Vec<u64>> {
    let mut gists = Vec::new();
    for item in records(side, *request, true)? {
        let record = item?.value;
        gists.push(hash(&fields::gist(&record)));
        whole.push(hash(&fields::key(record.kind, &fields::of(&record, request))));
    }
    Ok(gists)
}

/// Second reading of both sessions, side by side.
struct Pairs<'p> {
    a: Records<'p>,
    b: Records<'p>,
    whole_a: &'p [u64],
    whole_b: &'p [u64],
    request: Request,
    done: Counts,
    show: &'p mut dyn FnMut(Change) -> error::Result<()>,
}

impl Pairs<'_> {
    /// Compares corresponding records one by one.
    fn fellows(&mut self, a: Range<u32>, b: Range<u32>) -> Result<()> {
        for (place_a, place_b) in a.zip(b) {
            let (Some(a), Some(b)) = (self.a.next(), self.b.next()) else { return Ok(()) };
            let whole = (self.whole_a.get(place_a as usize), self.whole_b.get(place_b as usize));
            if whole.0 == whole.1 {
                self.done.same += 1;
            } else {
                self.changed(a.map_err(Failed::A)?, b.map_err(Failed::B)?)?;
            }
        }
        Ok(())
    }

    /// Shows records without corresponding records. Two of them with the same role are treated as
    /// one changed record.
    fn hunk(&mut self, a: Range<u32>, b: Range<u32>) -> Result<()> {
        let both = a.len().min(b.len());
        for _ in 0..both {
            let (Some(a), Some(b)) = (self.a.next(), self.b.next()) else { return Ok(()) };
            let (a, b) = (a.map_err(Failed::A)?, b.map_err(Failed::B)?);
            if is_alike(&a.value, &b.value) {
                self.changed(a, b)?;
            } else {
                self.only_a(a)?;
                self.only_b(b)?;
            }
        }
        for _ in both..a.len() {
            let Some(a) = self.a.next() else { return Ok(()) };
            self.only_a(a.map_err(Failed::A)?)?;
        }
        for _ in both..b.len() {
            let Some(b) = self.b.next() else { return Ok(()) };
            self.only_b(b.map_err(Failed::B)?)?;
        }
        Ok(())
    }

    fn changed(&mut self, a: Located<Record>, b: Located<Record>) -> Result<()> {
        let of = |located: &Located<Record>| fields::of(&located.value, &self.request);
        let changes = fields::changes(of(&a), of(&b));
        self.done.changed += 1;
        (self.show)(Change::Changed(a, b, changes)).map_err(Failed::Show)
    }

    fn only_a(&mut self, a: Located<Record>) -> Result<()> {
        self.done.only_a += 1;
        (self.show)(Change::OnlyA(a)).map_err(Failed::Show)
    }

    fn only_b(&mut self, b: Located<Record>) -> Result<()> {
        self.done.only_b += 1;
        (self.show)(Change::OnlyB(b)).map_err(Failed::Show)
    }
}

fn is_alike(a: &Record, b: &Record) -> bool {
    a.kind == b.kind && a.node.json(Field::Role) == b.node.json(Field::Role)
}
