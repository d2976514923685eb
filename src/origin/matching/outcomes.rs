//! Outcomes of the records that a file had when it was made: unchanged, edited or deleted.

use crate::error::Result;
use crate::json::Json;
use crate::origin::base::{Base, NOT_EDITED};
use crate::origin::file_records::FileRecords;
use crate::origin::matching::align::{Tag, matched};
use crate::origin::record_hash;
use crate::origin::record_key::RecordKey;
use crate::record::{Field, Record, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Outcome of a record that the file had when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// Unchanged record, which is this record of the file.
    Same(u32),
    /// Edited record, which is probably this record of the file.
    Edited(u32),
    /// Record that is no longer in the file.
    Deleted,
}

/// Maximum difference between the old and the new number of a turn.
const SHIFT: i32 = 16;

/// Matches messages whose turns got new numbers with the earlier messages: only the number differs.
pub fn renumbered(names: &[RecordKey], now: &mut FileRecords) -> Result<()> {
    let known: HashSet<u64> = names.iter().map(|name| name.hash).collect();
    let mut last = 0.0;
    for number in 0..now.names.len() as u32 {
        let name = now.names.get(number as usize).filter(|name| name.tag.is_message());
        if name.is_none_or(|name| known.contains(&name.hash)) {
            continue;
        }
        let mut record = now.record(number)?;
        let Some(turn) = record.node.json(Field::Turn).and_then(Json::float) else { continue };
        let shifts = (1..=SHIFT).flat_map(|shift| [f64::from(shift), f64::from(-shift)]);
        for shift in std::iter::once(last).chain(shifts).filter(|shift| turn + shift >= 0.0) {
            record.node.set(Field::Turn, Json::number((turn + shift) as u64));
            let hash = record_hash::of(&record);
            if known.contains(&hash) {
                now.names.get_mut(number as usize).into_iter().for_each(|name| name.hash = hash);
                last = shift;
                break;
            }
        }
    }
    Ok(())
}

/// Matches messages that an agent wrote again in another form, as Gemini CLI does when it resumes a
/// session: only members of its own format differ.
pub fn written_again(base: &mut Base, now: &mut FileRecords) -> Result<()> {
    let hashes = |names: &[RecordKey]| names.iter().map(|name| name.hash).collect();
    let [old, new]: [HashSet<u64>; 2] = [hashes(&base.names), hashes(&now.names)];
    let without = |names: &[RecordKey], others: &HashSet<u64>| -> Vec<u32> {
        let is_left = |name: &RecordKey| name.tag.is_message() && !others.contains(&name.hash);
        (0..).zip(names).filter(|(_, name)| is_left(name)).map(|(number, _)| number).collect()
    };
    let (gone, added) = (without(&base.names, &new), without(&now.names, &old));
    if gone.is_empty() {
        return Ok(());
    }
    let mut by_id: HashMap<Json, (u32, u64)> = HashMap::new();
    for number in added {
        let record = now.record(number)?;
        let id = record.node.json(Field::Id).filter(|_| record.node.get(Field::IdMade).is_none());
        let Some(id) = id.cloned() else { continue };
        let plain = plain(record);
        by_id.insert(id, (number, plain));
    }
    for number in gone {
        let Some(hash) = base.names.get(number as usize).map(|name| name.hash) else { continue };
        let was = base.record(number)?;
        let again = was.node.json(Field::Id).and_then(|id| by_id.get(id).copied());
        if let Some((number, _)) = again.filter(|(_, said)| plain(was) == *said) {
            now.names.get_mut(number as usize).into_iter().for_each(|name| name.hash = hash);
        }
    }
    Ok(())
}

/// Returns the hash of a message without the members of its format.
fn plain(mut message: Record) -> u64 {
    message.node.take(Field::Extra);
    if let Some(Value::Nodes(blocks)) = message.node.get_mut(Field::Content) {
        blocks.iter_mut().for_each(|block| drop(block.take(Field::Extra)));
    }
    record_hash::of(&message)
}

/// Matches turns by content where their number changed, as their places have no meaning then. The
/// turn that shares the most content with an earlier turn is that turn, edited.
pub fn match_turns(
    base: &mut Base,
    now: &mut FileRecords,
    (outcomes, added): (&mut [Match], &mut Vec<u32>),
) -> Result<()> {
    let turns: Vec<u32> =
        (0..).zip(&base.names).filter(|(_, name)| name.tag == Tag('T')).map(|(n, _)| n).collect();
    let is_turn =
        |number: &u32| now.names.get(*number as usize).map(|name| name.tag) == Some(Tag('T'));
    let mut new: Vec<u32> = added.iter().copied().filter(is_turn).collect();
    let mut old = Vec::new();
    for number in &turns {
        match outcomes.get(*number as usize) {
            Some(Match::Edited(edited)) => {
                new.push(*edited);
                old.push(*number);
            }
            Some(Match::Deleted) => old.push(*number),
            _ => {}
        }
    }
    if new.len() == old.len() || new.is_empty() || old.is_empty() {
        return Ok(());
    }
    new.sort_unstable();
    added.retain(|number| !new.contains(number));
    let mut set =
        |number: u32, found| outcomes.get_mut(number as usize).into_iter().for_each(|f| *f = found);
    old.iter().for_each(|number| set(*number, Match::Deleted));
    let was = old.iter().map(|number| base.record(*number)).collect::<Result<Vec<_>>>()?;
    let mut from = 0;
    for (place, number) in new.iter().enumerate() {
        let record = now.record(*number)?;
        // The remaining new turns need places, too.
        let to = (old.len() + place + 1).saturating_sub(new.len()).max(from + 1);
        let choice = old.iter().zip(&was).enumerate().take(to).skip(from);
        let best = choice.rev().max_by_key(|(_, (_, was))| alike(was, &record));
        match best {
            Some((at, (was, _))) => {
                set(*was, Match::Edited(*number));
                from = at + 1;
            }
            None => added.push(*number),
        }
    }
    added.sort_unstable();
    Ok(())
}

/// Measures how much content two turns share. An equal question or result counts 8, any other equal
/// field 1.
fn alike(was: &Record, turn: &Record) -> usize {
    let same = was.node.iter().map(|(field, value)| {
        let apart = field == Field::Number || NOT_EDITED.contains(&field);
        let same = !apart && turn.node.get(field).is_some_and(|own| own == value);
        let weight = if matches!(field, Field::Input | Field::Result) { 8 } else { 1 };
        if same { weight } else { 0 }
    });
    same.sum()
}

/// Returns the outcome of each record, and the numbers of the file's new records.
pub fn aligned(names: &[RecordKey], now: &[RecordKey]) -> (Vec<Match>, Vec<u32>) {
    let mut outcomes = vec![Match::Deleted; names.len()];
    let mut set =
        |number: usize, found| outcomes.get_mut(number).into_iter().for_each(|f| *f = found);
    let (mut added, mut apart, mut ids) = (Vec::new(), Vec::new(), false);
    let before: Vec<u64> = names.iter().map(|name| name.hash).collect();
    let after: Vec<u64> = now.iter().map(|name| name.hash).collect();
    matched(&before, &after, &mut |same, a, b| {
        if !same {
            return apart.push((a, b));
        }
        for ((number, was), at) in a.clone().zip(names.get(a).unwrap_or_default()).zip(b) {
            set(number, Match::Same(at as u32));
            ids |= was.id != 0 && now.get(at).is_some_and(|is| is.id == was.id);
        }
    });
    for (a, b) in apart {
        let mut new: Vec<u32> = b.map(|at| at as u32).collect();
        let old: Vec<_> = a.clone().zip(names.get(a).unwrap_or_default().iter().copied()).collect();
        let paired = if ids { None } else { in_order(&old, &new, now) };
        for (place, (number, was)) in old.iter().enumerate() {
            let is = |at: &u32| now.get(*at as usize).is_some_and(|is| is.may_be(was, ids));
            let found = match paired.as_ref().filter(|_| was.tag.is_message()) {
                Some(paired) => paired.get(&place).and_then(|at| new.iter().position(|n| n == at)),
                None => new.iter().position(is),
            };
            if let Some(place) = found {
                set(*number, Match::Edited(new.remove(place)));
            }
        }
        added.extend(new);
    }
    (outcomes, added)
}

/// Maximum number of message pairs among which edited messages are searched. Beyond it, each
/// message is paired with the next one of its role.
const LOOKED_AT: usize = 1 << 20;

/// Pairs messages by their roles and in order: as many as possible, and the earliest possible ones.
/// A result before its call would make the whole session unusable. `None` if there are too many
/// pairs.
pub fn in_order<N>(
    old: &[(N, RecordKey)],
    new: &[u32],
    now: &[RecordKey],
) -> Option<BTreeMap<usize, u32>> {
    let old = old.iter().enumerate().map(|(place, (_, name))| (place, name.tag));
    let old: Vec<_> = old.filter(|(_, tag)| tag.is_message()).collect();
    let new = new.iter().filter_map(|at| Some((*at, now.get(*at as usize)?.tag)));
    let new: Vec<_> = new.filter(|(_, tag)| tag.is_message()).collect();
    let width = new.len() + 1;
    if (old.len() + 1).checked_mul(width).is_none_or(|pairs| pairs > LOOKED_AT) {
        return None;
    }
    // How many can be paired from each place of both lists on, the last places first.
    let mut most = vec![vec![0u32; width]];
    for (_, tag) in old.iter().rev() {
        let below = most.last()?;
        let mut row = vec![0; width];
        for (at, (_, other)) in new.iter().enumerate().rev() {
            let paired = below.get(at + 1).filter(|_| tag == other).map_or(0, |n| n + 1);
            let best = paired.max(*below.get(at)?).max(*row.get(at + 1)?);
            row.get_mut(at).into_iter().for_each(|n| *n = best);
        }
        most.push(row);
    }
    most.reverse();
    let (mut pairs, mut at) = (BTreeMap::new(), 0);
    for ((place, tag), rows) in old.iter().zip(most.windows(2)) {
        let [row, below] = rows else { break };
        let wanted = *row.get(at)?;
        let left = (at..new.len()).take_while(|at| row.get(*at) == Some(&wanted));
        let pairing = |at: &usize| {
            new.get(*at).is_some_and(|(_, other)| other == tag)
                && below.get(at + 1).is_some_and(|n| n + 1 == wanted)
        };
        if let Some(found) = left.filter(|_| wanted > 0).find(pairing) {
            pairs.insert(*place, new.get(found)?.0);
            at = found + 1;
        }
    }
    Some(pairs)
}
