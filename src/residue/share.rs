//! Answers of the target that tell what several messages of the source told.
//!
//! Some programs write each block of an answer as a message of its own. Where the target has the
//! answer as one, each of these messages is told by its own blocks of it only: an item names them
//! by where they stood and what they said. So an edit of one is one of the message that it
//! belongs to.

use super::align::{Atom, atoms, matched};
use crate::error::Result;
use crate::formats::canonical;
use crate::ids::hash;
use crate::json::{Json, text};
use crate::record::{Field, Kind, Node, Record, Value};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What an item calls its blocks.
pub const KEY: &str = "of";

/// Which answers of the target are shared, and what the messages of the source say that share them.
#[derive(Default)]
pub struct Shares {
    /// The messages of the source, by the answer.
    answers: HashMap<u32, Vec<u32>>,
    /// What each of these tells.
    told: HashMap<u32, Vec<u64>>,
}

impl Shares {
    /// By pairs of records that tell the same, to which those are added that tell pieces of one
    /// answer: each of `pieces` goes with the piece before it.
    pub fn of(
        pairs: &mut Vec<(u32, u32)>,
        pieces: &[(u32, u32)],
        source: &[Atom],
        target: &[Atom],
    ) -> Self {
        let (own, written) = (answers(source), answers(target));
        let is_written = |base: u32| written.binary_search(&base).is_ok();
        together(pairs, pieces, &is_written);
        let spoken = pairs.iter().filter(|(number, _)| own.binary_search(number).is_ok());
        let spoken = spoken.filter(|(_, base)| is_written(*base));
        let mut by: Vec<_> = spoken.map(|(number, base)| (*base, *number)).collect();
        by.sort_unstable();
        let mut shares = Self::default();
        for several in by.chunk_by(|a, b| a.0 == b.0).filter(|several| several.len() > 1) {
            let numbers = several.iter().map(|(_, number)| *number).collect();
            several.first().map(|(base, _)| shares.answers.insert(*base, numbers));
        }
        let shared: BTreeSet<u32> = shares.answers.values().flatten().copied().collect();
        for atom in source {
            if let Some(number) = atom.answer().filter(|number| shared.contains(number)) {
                shares.told.entry(number).or_default().push(atom.print());
            }
        }
        shares
    }

    /// Leaves of the line of an answer what this message of the source tells, if others share it.
    /// Gives the name of these blocks.
    ///
    /// # Errors
    /// If the line is no record.
    pub fn take(&self, number: u32, base: u32, line: &mut Bytes) -> Result<Option<Json>> {
        let Some(numbers) = self.answers.get(&base) else { return Ok(None) };
        let mut record = canonical::record(line)?;
        let blocks = record.node.nodes(Field::Content).unwrap_or_default();
        let mut left: Vec<_> = numbers
            .iter()
            .map(|number| (*number, self.told.get(number).cloned().unwrap_or_default()))
            .collect();
        let (mut owner, mut own) = (numbers.first().copied(), Vec::new());
        for (place, block) in blocks.iter().enumerate() {
            let prints = prints_of(block, &record.node);
            let found = left.iter_mut().find_map(|(number, told)| {
                let at = told.iter().position(|print| prints.contains(print))?;
                told.remove(at);
                Some(*number)
            });
            owner = found.or(owner);
            if owner == Some(number) {
                own.push((place, short(block)));
            }
        }
        keep(&mut record, &own.iter().map(|(place, _)| *place).collect());
        let mut sliced = Vec::new();
        canonical::line(&record, &mut sliced);
        sliced.pop();
        *line = sliced.into();
        Ok(Some(name(&own)))
    }
}

/// The answers among what records tell, by their numbers, in order.
fn answers(atoms: &[Atom]) -> Vec<u32> {
    let mut numbers: Vec<_> = atoms.iter().filter_map(Atom::answer).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Adds what the pieces of an answer are told by to each of them.
fn together(pairs: &mut Vec<(u32, u32)>, pieces: &[(u32, u32)], is_written: &dyn Fn(u32) -> bool) {
    let mut heads: HashMap<u32, u32> = HashMap::new();
    for (before, piece) in pieces {
        let head = heads.get(before).unwrap_or(before);
        heads.insert(*piece, *head);
    }
    if heads.is_empty() {
        return;
    }
    let mut all: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (piece, head) in &heads {
        all.entry(*head).or_insert_with(|| vec![*head]).push(*piece);
    }
    let head_of = |number: &u32| *heads.get(number).unwrap_or(number);
    let mut more = Vec::new();
    for (number, base) in pairs.iter().filter(|(_, base)| is_written(*base)) {
        let pieces = all.get(&head_of(number)).into_iter().flatten();
        more.extend(pieces.map(|piece| (*piece, *base)));
    }
    pairs.extend(more);
    pairs.sort_unstable();
    pairs.dedup();
}

/// What a block of an answer tells.
fn prints_of(block: &Node, answer: &Node) -> Vec<u64> {
    let mut alone = Record::new(Kind::Message);
    answer.get(Field::Role).into_iter().for_each(|role| alone.node.set(Field::Role, role.clone()));
    alone.node.set(Field::Content, vec![block.clone()]);
    let mut list = Vec::new();
    atoms(&alone, 0, &mut list);
    list.iter().map(Atom::print).collect()
}

/// By what a block is known again, however it is spelled.
fn short(block: &Node) -> String {
    let prints: Vec<u8> =
        prints_of(block, &Node::default()).into_iter().flat_map(u64::to_le_bytes).collect();
    format!("{:08x}", hash(&prints) >> 32)
}

/// How an item calls blocks.
fn name(blocks: &[(usize, String)]) -> Json {
    let mut out = vec![b'['];
    for (i, (place, print)) in blocks.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b"[" } else { b",[" });
        out.extend_from_slice(place.to_string().as_bytes());
        out.push(b',');
        text::quote(print, &mut out);
        out.push(b']');
    }
    out.push(b']');
    Json::checked(out.into())
}

/// The blocks that an item names.
fn named(of: &Json) -> Vec<(usize, String)> {
    let one = |json: Json| {
        let list: Vec<_> = json.elements().collect();
        let [place, print] = list.as_slice() else { return None };
        Some((place.float()? as usize, print.text()?))
    };
    of.elements().filter_map(one).collect()
}

/// Leaves of a message the blocks that stand at these places.
fn keep(record: &mut Record, places: &BTreeSet<usize>) {
    if let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content) {
        let mut place = 0..;
        blocks.retain(|_| place.next().is_some_and(|place| places.contains(&place)));
    }
}

/// Shared answers that were edited: what they were made of.
#[derive(Default)]
pub struct Parted(HashMap<u32, Vec<Vec<(usize, String)>>>);

/// What is left of a message's part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The same blocks that it was.
    Same,
    /// Others.
    Edited,
    /// None of those that there were.
    Gone,
}

impl Parted {
    /// An item that names blocks of an answer which was edited.
    pub fn look(&mut self, number: u32, of: &Json) {
        self.0.entry(number).or_default().push(named(of));
    }

    /// Leaves of an answer the blocks of one item.
    pub fn part(&self, number: u32, of: &Json, answer: &mut Record) -> Part {
        let own = named(of);
        let blocks = answer.node.nodes(Field::Content).unwrap_or_default();
        let now: Vec<_> = blocks.iter().map(short).collect();
        let places: BTreeSet<usize> = match self.0.get(&number) {
            None => own.iter().map(|(place, _)| *place).collect(),
            Some(all) => {
                let at = all.iter().position(|part| *part == own);
                let owners = owners(all, &now).into_iter().enumerate();
                owners.filter(|(_, owner)| Some(*owner) == at).map(|(place, _)| place).collect()
            }
        };
        let left: Vec<_> = places.iter().filter_map(|place| now.get(*place)).collect();
        let same = left.iter().copied().eq(own.iter().map(|(_, print)| print));
        keep(answer, &places);
        match () {
            () if same => Part::Same,
            () if places.is_empty() => Part::Gone,
            () => Part::Edited,
        }
    }
}

/// To which of the parts each block of an answer belongs now: what was put in belongs to the part
/// before it.
fn owners(parts: &[Vec<(usize, String)>], now: &[String]) -> Vec<usize> {
    let mut old: Vec<_> = parts
        .iter()
        .enumerate()
        .flat_map(|(owner, part)| part.iter().map(move |(place, print)| (*place, print, owner)))
        .collect();
    old.sort_unstable();
    let print = |text: &String| u64::from_str_radix(text, 16).unwrap_or_default();
    let before: Vec<u64> = old.iter().map(|(_, text, _)| print(text)).collect();
    let after: Vec<u64> = now.iter().map(print).collect();
    let mut owners = vec![0; now.len()];
    let mut last = 0;
    matched(&before, &after, &mut |_, a, b| {
        let mut there = old.get(a).unwrap_or_default().iter();
        for place in b {
            last = there.next().map_or(last, |(.., owner)| *owner);
            owners.get_mut(place).into_iter().for_each(|owner| *owner = last);
        }
        last = there.last().map_or(last, |(.., owner)| *owner);
    });
    owners
}
