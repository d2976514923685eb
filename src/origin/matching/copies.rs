//! Copies of earlier entries that an agent writes when it resumes a session.
//!
//! Releases of pi before 0.87 write a session without an answer again, header and entries, as soon
//! as it has one: <https://github.com/earendil-works/pi/issues/3930>.
//!
//! Release 2.0.53 of Claude Code writes every block of an answer that stood with others on one line
//! on a line of its own, and again what follows it, with new identifiers and the old times. What
//! was added behind a copy follows the earlier entry.

use crate::error::Result;
use crate::formats::Spec;
use crate::ids::hash;
use crate::json::Json;
use crate::origin::file_records::FileRecords;
use crate::origin::matching::align::shown_blocks;
use crate::origin::record_key::RecordKey;
use crate::record::{Field, Kind, Record};
use std::collections::HashMap;

/// Finds copies in a file that is a tree, and lets what follows them follow the earlier entries.
pub fn find(names: &[RecordKey], now: &mut FileRecords, source_format: Option<Spec>) -> Result<()> {
    if now.names.is_empty() {
        return Ok(());
    }
    let file_format = now.record(0)?.node.text(Field::Source);
    let file_format = file_format.and_then(|source| Spec::parse(&source).ok());
    let foreign = |spec: &Spec| {
        source_format.is_none_or(|source_format| source_format.format.name != spec.format.name)
    };
    if file_format.is_none_or(|spec| !spec.version().tree || !foreign(&spec)) {
        return Ok(());
    }
    find_repeated_beginning(now)?;
    let mut known: HashMap<u64, u32> = HashMap::new();
    names.iter().for_each(|name| *known.entry(name.hash).or_default() += 1);
    let (mut earlier, mut copies) = (HashMap::<u64, Vec<u32>>::new(), HashMap::new());
    for number in 0..now.names.len() as u32 {
        let record = now.record(number)?;
        if now.again.contains(&number) {
            continue;
        }
        let Some(time) = record.node.json(Field::Time).filter(|_| is_entry(&record)) else {
            continue;
        };
        let before = earlier.entry(moment(&record, time)).or_default();
        let name = now.names.get(number as usize);
        let was_there = name.and_then(|name| known.get_mut(&name.hash)).filter(|left| **left > 0);
        let original = match was_there {
            Some(left) => {
                *left -= 1;
                None
            }
            None => original(&record, before, &copies, now)?,
        };
        match (original, record.node.json(Field::Id)) {
            (Some(original), Some(id)) => {
                copies.insert(id.detached(), original);
                now.again.insert(number);
            }
            _ => before.push(number),
        }
    }
    match copies.is_empty() {
        true => Ok(()),
        // References lead to the earlier entries now.
        false => now.rename(&[Field::Parent, Field::Leaf], &copies),
    }
}

/// Finds the entries that stand again, with their identifiers, behind a further header of the
/// session.
fn find_repeated_beginning(now: &mut FileRecords) -> Result<()> {
    let (mut earlier, mut is_repeated) = (HashMap::new(), false);
    for number in 0..now.names.len() as u32 {
        let record = now.record(number)?;
        if record.kind == Kind::Notice {
            is_repeated = record.node.is(Field::Subtype, Kind::Session.name());
            continue;
        }
        let Some(id) = record.node.json(Field::Id).filter(|_| record.is_node()) else { continue };
        let name = now.names.get(number as usize).map(|name| name.hash);
        is_repeated = is_repeated && earlier.get(id) == Some(&name);
        if is_repeated {
            now.again.insert(number);
        } else {
            earlier.insert(id.detached(), name);
        }
    }
    Ok(())
}

fn is_entry(record: &Record) -> bool {
    record.kind == Kind::Message && record.is_node() && !record.is_aside()
}

/// Hash of an entry's role and time.
fn moment(record: &Record, time: &Json) -> u64 {
    let role = record.node.json(Field::Role).map(Json::as_bytes).unwrap_or_default();
    hash(&[role, b" ", time.as_bytes()].concat())
}

/// Returns the identifier of the earlier entry of the same time that holds all blocks of this one,
/// and that has the same parent or is followed by copies as well.
fn original(
    record: &Record,
    earlier: &[u32],
    copies: &HashMap<Json, Json>,
    now: &mut FileRecords,
) -> Result<Option<Json>> {
    if earlier.is_empty() {
        return Ok(None);
    }
    let parent = record.node.json(Field::Parent);
    let behind_copy = parent.is_some_and(|parent| copies.contains_key(parent));
    let blocks = shown_blocks(&record.node);
    for number in earlier {
        let other = now.record(*number)?;
        let held = shown_blocks(&other.node);
        let beside = behind_copy || other.node.json(Field::Parent) == parent;
        // The second one of two equal lines was not written by an agent.
        let doubled = other.node.json(Field::Id) == record.node.json(Field::Id);
        if beside && !doubled && blocks.iter().all(|block| held.contains(block)) {
            return Ok(other.node.json(Field::Id).map(Json::detached));
        }
    }
    Ok(None)
}
