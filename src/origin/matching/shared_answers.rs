//! Answers of the target that hold the content of several messages of the source.
//!
//! Some programs write each block of an answer as its own message. Where the target has one answer,
//! each of these messages has only its own blocks of it: an item names them by their places and
//! hashes. So an edit of a block is an edit of the message that it belongs to.

use crate::error::Result;
use crate::formats::canonical;
use crate::ids::hash;
use crate::origin::matching::align::{Atom, atoms, matched};
use crate::record::{Field, Kind, Node, Record, Value};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Blocks of a shared answer that belong to one message: their places, and the hash of each.
pub type Share = Vec<(usize, u64)>;

/// Shared answers of the target, with the content of the source's messages that share them.
#[derive(Default)]
pub struct Shares {
    /// The messages of the source, by the answer.
    answers: HashMap<u32, Vec<u32>>,
    /// Hashes of the content of each of these messages.
    hashes: HashMap<u32, Vec<u64>>,
    /// Last answer that was divided: messages that share one are mostly next to each other.
    last: Option<Shared>,
}

/// Answer, with the places of the blocks that belong to each message of the source.
struct Shared {
    base: u32,
    answer: Blocks,
    places: HashMap<u32, Vec<usize>>,
}

/// Message taken apart, so that some of its blocks can be read without a walk through the others.
pub struct Blocks {
    /// Message without its blocks.
    rest: Record,
    /// Blocks of the message; `None` if it has no list of blocks.
    list: Option<Vec<Node>>,
}

impl Blocks {
    fn of(mut message: Record) -> Self {
        let list = match message.node.get_mut(Field::Content) {
            Some(Value::Nodes(blocks)) => Some(std::mem::take(blocks)),
            _ => None,
        };
        Self { rest: message, list }
    }

    fn iter(&self) -> impl Iterator<Item = &Node> {
        self.list.iter().flatten()
    }

    /// Returns the message with only the blocks at these places.
    fn at(&self, places: &[usize]) -> Record {
        let mut message = self.rest.clone();
        if let Some(list) = &self.list {
            let blocks: Vec<_> = places.iter().filter_map(|at| list.get(*at)).cloned().collect();
            message.node.set(Field::Content, blocks);
        }
        message
    }
}

impl Shares {
    /// Finds the shared answers by pairs of matching records. Adds the pairs of records that hold
    /// pieces of one answer: each of `pieces` belongs to the piece before it.
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
                shares.hashes.entry(number).or_default().push(atom.hash());
            }
        }
        shares
    }

    /// Returns the blocks of a shared answer that belong to this message of the source; `None` if
    /// the answer is not shared. `line` reads the answer.
    pub fn take(
        &mut self,
        number: u32,
        base: u32,
        line: impl FnOnce() -> Result<Bytes>,
    ) -> Result<Option<Share>> {
        let Some(numbers) = self.answers.get(&base) else { return Ok(None) };
        let shared = match self.last.take().filter(|last| last.base == base) {
            Some(last) => last,
            None => {
                let answer = Blocks::of(canonical::record(&line()?)?);
                Shared { base, places: self.owned(numbers, &answer), answer }
            }
        };
        let places = shared.places.get(&number).map(Vec::as_slice).unwrap_or_default();
        let block =
            |place: &usize| Some((*place, short(shared.answer.list.as_ref()?.get(*place)?)));
        let own = places.iter().filter_map(block).collect();
        self.last = Some(shared);
        Ok(Some(own))
    }

    /// Finds the places of the blocks that belong to each message. A block belongs to the first
    /// message of the same content, or else to the message of the block before it.
    fn owned(&self, numbers: &[u32], answer: &Blocks) -> HashMap<u32, Vec<usize>> {
        let mut left: HashMap<u64, VecDeque<(usize, usize)>> = HashMap::new();
        for (order, number) in numbers.iter().enumerate() {
            for (at, hash) in self.hashes.get(number).into_iter().flatten().enumerate() {
                left.entry(*hash).or_default().push_back((order, at));
            }
        }
        let (mut owner, mut places) = (numbers.first(), HashMap::<_, Vec<_>>::new());
        for (place, block) in answer.iter().enumerate() {
            let prints = prints_of(block, &answer.rest.node);
            let hashes = prints.iter().filter_map(|hash| Some((*left.get(hash)?.front()?, hash)));
            if let Some(((order, _), hash)) = hashes.min() {
                left.get_mut(hash).and_then(VecDeque::pop_front);
                owner = numbers.get(order);
            }
            owner.into_iter().for_each(|owner| places.entry(*owner).or_default().push(place));
        }
        places
    }
}

/// Returns the numbers of the answers among these pieces of content, in order.
fn answers(atoms: &[Atom]) -> Vec<u32> {
    let mut numbers: Vec<_> = atoms.iter().filter_map(Atom::answer).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Pairs each piece of an answer with all records that hold content of that answer.
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
    // Many pairs are of one answer and the same record.
    let hashes: BTreeSet<_> = pairs
        .iter()
        .filter(|(_, base)| is_written(*base))
        .map(|(number, base)| (head_of(number), *base))
        .collect();
    let mut more = Vec::new();
    for (head, base) in hashes {
        let pieces = all.get(&head).into_iter().flatten();
        more.extend(pieces.map(|piece| (*piece, base)));
    }
    pairs.extend(more);
    pairs.sort_unstable();
    pairs.dedup();
}

/// Hashes of the content of a block of an answer.
fn prints_of(block: &Node, answer: &Node) -> Vec<u64> {
    let alone = Record::new(Kind::Message)
        .with_some(Field::Role, answer.get(Field::Role).cloned())
        .with(Field::Content, vec![block.clone()]);
    let mut list = Vec::new();
    atoms(&alone, 0, &mut list);
    list.iter().map(Atom::hash).collect()
}

/// Hash by which a block is recognised, however it is spelled.
fn short(block: &Node) -> u64 {
    let prints: Vec<u8> =
        prints_of(block, &Node::default()).into_iter().flat_map(u64::to_le_bytes).collect();
    hash(&prints)
}

/// Shared answers of the file, and the parts that edited ones were made of.
#[derive(Default)]
pub struct Parted {
    edited: HashMap<u32, Vec<Share>>,
    /// Last answer that was divided.
    last: Option<Whole>,
}

/// Answer with the hashes of its blocks; if it was edited, also with the blocks that belong to each
/// part now.
struct Whole {
    number: u32,
    answer: Blocks,
    now: Vec<u64>,
    parts: Option<HashMap<Share, Vec<usize>>>,
}

/// State of a message's part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Part whose blocks are unchanged.
    Same,
    /// Part whose blocks are other ones.
    Edited,
    /// Part without any block left.
    Empty,
}

impl Parted {
    /// Notes an item with blocks of an answer that was edited.
    pub fn look(&mut self, number: u32, of: &Share) {
        self.edited.entry(number).or_default().push(of.clone());
    }

    /// Reduces an answer to the blocks of one item, and returns the state of that part.
    pub fn part(&mut self, number: u32, of: &Share, answer: &mut Record) -> Part {
        let whole = self.whole(number, answer.clone());
        let (own, part) = whole.part(of);
        *answer = own;
        self.last = Some(whole);
        part
    }

    /// Returns the part of one item from the answer that was divided last, if that is this answer.
    pub fn held(&self, number: u32, of: &Share) -> Option<(Record, Part)> {
        self.last.as_ref().filter(|last| last.number == number).map(|last| last.part(of))
    }

    fn whole(&self, number: u32, answer: Record) -> Whole {
        let answer = Blocks::of(answer);
        let now: Vec<_> = answer.iter().map(short).collect();
        let parts = self.edited.get(&number).map(|all| {
            let mut places = vec![Vec::new(); all.len()];
            for (place, owner) in owners(all, &now).into_iter().enumerate() {
                places.get_mut(owner).into_iter().for_each(|places| places.push(place));
            }
            // Of equal parts, the first one has all blocks.
            let parts = all.iter().cloned().zip(places).rev();
            parts.collect()
        });
        Whole { number, answer, now, parts }
    }
}

impl Whole {
    fn part(&self, of: &Share) -> (Record, Part) {
        let own = of;
        let places: Vec<usize> = match &self.parts {
            None => {
                own.iter().map(|(place, _)| *place).collect::<BTreeSet<_>>().into_iter().collect()
            }
            Some(parts) => parts.get(own).cloned().unwrap_or_default(),
        };
        let left: Vec<_> = places.iter().filter_map(|place| self.now.get(*place)).collect();
        let same = left.iter().copied().eq(own.iter().map(|(_, hash)| hash));
        let part = match () {
            () if same => Part::Same,
            () if places.is_empty() => Part::Empty,
            () => Part::Edited,
        };
        (self.answer.at(&places), part)
    }
}

/// Returns the part to which each block of an answer belongs now. A new block belongs to the part
/// before it.
fn owners(parts: &[Share], now: &[u64]) -> Vec<usize> {
    let mut old: Vec<_> = parts
        .iter()
        .enumerate()
        .flat_map(|(owner, part)| part.iter().map(move |(place, hash)| (*place, *hash, owner)))
        .collect();
    old.sort_unstable();
    let before: Vec<u64> = old.iter().map(|(_, hash, _)| *hash).collect();
    let mut owners = vec![0; now.len()];
    let mut last = 0;
    matched(&before, now, &mut |_, a, b| {
        let mut there = old.get(a).unwrap_or_default().iter();
        for place in b {
            last = there.next().map_or(last, |(.., owner)| *owner);
            owners.get_mut(place).into_iter().for_each(|owner| *owner = last);
        }
        last = there.last().map_or(last, |(.., owner)| *owner);
    });
    owners
}
