//! Damage is not deletion: records that a damaged file lost are restored from its origin.
//!
//! Records that only the base has are gone from the file. Between two unchanged records where the
//! reader reports damage, they were lost. Everywhere else, the user deleted them.

use super::base::Base;
use super::file_records::FileRecords;
use super::matching::align::Tag;
use super::matching::outcomes::{Match, aligned};
use super::record_store::RecordStore;
use crate::diagnostic::{Code, Diagnostic, Log, Severity};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Parts};
use crate::formats::canonical;
use crate::json::Json;
use crate::position::Position;
use crate::record::Field;
use crate::stage::Staged;
use std::collections::BTreeSet;
use std::io::Read;

/// Places where a file is damaged.
pub enum Damage {
    /// Damage at these places.
    At(Vec<Position>),
    /// Damage at unknown places: the file had to be repaired before it could be read.
    Anywhere,
}

impl Damage {
    /// Collects the places of the errors that a reader reported.
    pub fn found(log: &Log) -> Self {
        Self::At(log.places(|code| code.severity() == Severity::Error))
    }

    /// Collects the places of errors and of repairs, and a missing line ending at the end of the
    /// file, which is a sign of damage where the user has the file repaired.
    pub fn repaired(log: &Log) -> Self {
        let is_fix = |code: Code| code.is_fix() && code != Code::LineEnded;
        let is_sign = |code: Code| is_fix(code) || code == Code::NoFinalNewline;
        Self::At(log.places(|code| code.severity() == Severity::Error || is_sign(code)))
    }

    /// Whether there is any damage.
    pub fn is_any(&self) -> bool {
        !matches!(self, Self::At(places) if places.is_empty())
    }

    /// Returns the numbers of the damaged records; -1 represents the place before all records.
    fn records(&self, now: &FileRecords) -> BTreeSet<i64> {
        let Self::At(damaged) = self else { return (-1..now.places.len() as i64).collect() };
        let mut order: Vec<_> = (0..)
            .zip(now.places.iter().zip(&now.names))
            .map(|(n, (at, name))| (*at, n, name.tag))
            .collect();
        // Some formats write all turns before the first message.
        order.sort_unstable_by_key(|(at, number, _)| (at.part, at.byte, *number));
        let mut within = BTreeSet::new();
        for at in damaged {
            let end =
                order.partition_point(|(place, ..)| (place.part, place.line) <= (at.part, at.line));
            let last = |(_, number, tag): &(Position, i64, Tag)| {
                tag.is_message() && !now.put_in.contains(&(*number as u32))
            };
            // Behind the last message, there may be the remains of the next one, and findings of
            // the reader about the whole file.
            let before = order.get(..end).unwrap_or_default();
            let from = before.iter().rposition(last).unwrap_or(0);
            within.extend(before.iter().skip(from).map(|(_, number, _)| *number));
            within.extend(before.is_empty().then_some(-1));
        }
        within
    }
}

/// Record of a file to which the lost records are restored.
#[derive(Clone, Copy)]
enum Step {
    /// Record of the file.
    File(u32),
    /// Record of the base that is restored.
    Base(u32),
}

/// Outcomes of the base's records, matched with the records that are in the file now. Records
/// that the reader added to those of the file do not count.
fn outcomes(base: &Base, now: &FileRecords) -> Vec<Match> {
    let own: Vec<u32> =
        (0..now.names.len() as u32).filter(|number| !now.put_in.contains(number)).collect();
    let names: Vec<_> =
        own.iter().filter_map(|number| now.names.get(*number as usize)).copied().collect();
    let (outcomes, _) = aligned(&base.names, &names);
    let number = |place: u32| own.get(place as usize).copied().unwrap_or_default();
    let outcomes = outcomes.into_iter().map(|found| match found {
        Match::Same(place) => Match::Same(number(place)),
        Match::Edited(place) => Match::Edited(number(place)),
        Match::Deleted => Match::Deleted,
    });
    outcomes.collect()
}

/// Returns the records of the file with the lost ones; `None` if none were lost.
fn steps(base: &Base, now: &FileRecords, damage: &Damage) -> Option<Vec<Step>> {
    let (outcomes, damaged) = (outcomes(base, now), damage.records(now));
    let is_damaged = |number: u32| damaged.contains(&i64::from(number));
    let end = (outcomes.len(), now.names.len() as u32);
    let same = (0..).zip(&outcomes).filter_map(|(place, found)| match found {
        Match::Same(number) => Some((place, *number)),
        _ => None,
    });
    let (mut steps, mut lost, mut from, mut next) = (Vec::new(), false, 0, 0);
    for (to, number) in same.chain([end]) {
        let was_damaged = (i64::from(next) - 1..i64::from(number)).any(|n| damaged.contains(&n));
        let is_gone = |place: usize| match outcomes.get(place) {
            _ if !was_damaged || base.put_in.contains(&(place as u32)) => false,
            Some(Match::Deleted) => true,
            Some(Match::Edited(number)) => is_damaged(*number),
            _ => false,
        };
        let any = (from..to).any(is_gone);
        lost |= any;
        // The remains of a damaged record are not a new record.
        let stays = |number: &u32| !any || !is_damaged(*number) && !now.put_in.contains(number);
        for place in from..to {
            if is_gone(place) {
                steps.push(Step::Base(place as u32));
            } else if let Some(Match::Edited(edited)) = outcomes.get(place) {
                steps.extend((next..edited + 1).filter(stays).map(Step::File));
                next = next.max(edited + 1);
            }
        }
        steps.extend((next..number).filter(stays).map(Step::File));
        steps.extend((number < end.1).then_some(Step::File(number)));
        (from, next) = (to + 1, next.max(number + 1));
    }
    lost.then_some(steps)
}

/// Returns the file with the records that it lost, and reports each; `None` if it lost none.
pub fn healed(
    (base, now): (&mut Base, &mut FileRecords),
    damage: &Damage,
    format: &Format,
    [store, other]: [RecordStore; 2],
    cx: &Cx<'_>,
) -> Result<Option<FileRecords>> {
    let Some(steps) = steps(base, now, damage) else { return Ok(None) };
    let (mut lines, mut places, mut last) = (store, Vec::new(), None::<Json>);
    let mut place = now.places.first().copied().unwrap_or_default();
    for step in steps {
        let mut record = match step {
            Step::File(number) => {
                place = now.places.get(number as usize).copied().unwrap_or(place);
                canonical::record(&now.store.line(number)?)?
            }
            Step::Base(number) => {
                let record = base.record(number)?;
                let message =
                    format!("{} was lost, and is restored from the origin", record.description());
                cx.report(Diagnostic::new(Code::RecordRestored, message).at(place));
                record
            }
        };
        places.push(place);
        if record.is_node() && record.node.get(Field::Id).is_some() {
            // The entries of a list are linked by their order only.
            if !format.links() && record.node.get(Field::Parent).is_some() {
                record.node.set(Field::Parent, last.unwrap_or_else(|| Json::constant("null")));
            }
            last = record.node.json(Field::Id).cloned();
        }
        lines.add(&record)?;
    }
    let mut parts = lines.parts()?;
    let records = canonical::FORMAT.records(&mut parts, cx)?;
    let whole = FileRecords::read(records, format.links(), other)?;
    Ok(Some(FileRecords { places, ..whole }))
}

/// Whether a file has lost everything that belongs to a session: it contains no identifier, no turn
/// and no message, and the base contains a message or a turn. A session that never had one is
/// edited.
pub fn is_emptied(base: &Base, now: &mut FileRecords) -> Result<bool> {
    Ok(base.names.iter().any(|name| name.tag.has_text()) && has_no_content(now)?)
}

/// Whether a file contains nothing that belongs to a session: no identifier, no turn, no message.
pub fn has_no_content(now: &mut FileRecords) -> Result<bool> {
    for number in 0..now.names.len() as u32 {
        if now.put_in.contains(&number) {
            continue;
        }
        let record = now.record(number)?;
        let identifier = record.node.json(Field::Id).filter(|id| !id.is_null());
        let made = record.node.get(Field::IdMade).is_some();
        if Tag::of(&record).has_text() || identifier.is_some() && !made {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the end of a file is missing: each part is as it was written, or the beginning of what
/// was written, and at least one is shorter.
pub fn is_cut(written: &mut Staged, parts: &mut dyn Parts) -> Result<bool> {
    let (names, mut shorter) = (written.names(), false);
    for name in parts.names() {
        if !names.contains(&name) {
            return Ok(false);
        }
        match is_beginning(parts.open(&name)?, written.open(&name)?)? {
            Some(is_shorter) => shorter |= is_shorter,
            None => return Ok(false),
        }
    }
    Ok(shorter)
}

/// Whether `part` is shorter than `whole`, of which it is the beginning; `None` if it is not.
fn is_beginning(mut part: impl Read, mut whole: impl Read) -> Result<Option<bool>> {
    const PIECE: u64 = 64 << 10;
    let failed = |error| Error::io("cannot read", error);
    let (mut some, mut other) = (Vec::new(), Vec::new());
    loop {
        some.clear();
        other.clear();
        part.by_ref().take(PIECE).read_to_end(&mut some).map_err(failed)?;
        whole.by_ref().take(PIECE).read_to_end(&mut other).map_err(failed)?;
        if !other.starts_with(&some) {
            return Ok(None);
        }
        if some.len() < other.len() || some.is_empty() {
            return Ok(Some(some.len() < other.len()));
        }
    }
}
