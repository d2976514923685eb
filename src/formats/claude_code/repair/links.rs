//! Links between the lines of a damaged transcript, and the decision how each is linked.
//!
//! A line costs 28 bytes: hashes of its identifier and of its parent's, of its text and of whose
//! line it is, and its place in the order of identifiers.

use super::line::Members;
use crate::diagnostic::Code;
use crate::ids::hash;
use crate::json::salvage;
use crate::tree::Bits;
use std::collections::HashMap;

/// Identifier of a line without one, and the parent of a line that names none.
const NONE: u64 = 0;
/// Parent of a line that is the first.
const ROOT: u64 = 1;

/// A line of the chain.
#[derive(Clone, Copy, Debug)]
struct Link {
    id: u64,
    parent: u64,
    content: u32,
    /// Hash of the sub-agent that wrote the line.
    side: u32,
}

/// Links as they are in the file.
#[derive(Debug, Default)]
pub struct Links {
    list: Vec<Link>,
    /// Parents that torn lines name, by the lines' identifiers.
    torn: HashMap<u64, u64>,
}

/// Links as they are written.
#[derive(Debug, Default)]
pub struct Plan {
    list: Vec<Link>,
    /// Ordinals in the order of identifiers.
    order: Vec<u32>,
    copies: Bits,
    renamed: Bits,
    /// New parents, each with the reason.
    parents: HashMap<u32, (Option<u32>, Code)>,
}

/// Returns the key of an identifier in its JSON spelling.
pub fn key(spelling: &[u8]) -> u64 {
    hash(spelling).max(ROOT + 1)
}

fn parent_key(line: &[u8], members: &Members) -> u64 {
    match members.parent.map(|parent| parent.of(line)) {
        None => NONE,
        Some(parent) if parent.starts_with(b"\"") => key(parent),
        Some(_) => ROOT,
    }
}

impl Links {
    /// Notes a line of the chain, in the order of the file.
    pub fn note(&mut self, line: &[u8], members: &Members) {
        let of =
            |span: Option<crate::json::Span>| span.map(|span| span.of(line)).unwrap_or_default();
        let side = [
            of(members.side).strip_prefix(b"false").unwrap_or(of(members.side)),
            of(members.agent),
        ];
        self.list.push(Link {
            id: members.uuid(line).map_or(NONE, key),
            parent: parent_key(line, members),
            content: hash(line.trim_ascii()) as u32,
            side: hash(&side.concat()) as u32,
        });
    }

    /// Notes the parent that the remains of a torn line name.
    pub fn torn(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let Some(left) = salvage(text.as_bytes()) else { return };
        let Some(members) = Members::of(&left) else { return };
        if let (Some(uuid), Some(_)) = (members.uuid(&left), members.parent) {
            self.torn.entry(key(uuid)).or_insert(parent_key(&left, &members));
        }
    }

    /// Decides about each line.
    pub fn decide(&mut self) -> Plan {
        let list = std::mem::take(&mut self.list);
        let mut order: Vec<u32> = (0..list.len() as u32).collect();
        order.sort_by_key(|at| list.get(*at as usize).map(|link| link.id));
        let mut plan = Plan { list, order, ..Plan::default() };
        plan.find_copies();
        plan.link(&self.torn);
        plan.break_cycles();
        plan
    }
}

impl Plan {
    fn get(&self, ordinal: u32) -> Option<Link> {
        self.list.get(ordinal as usize).copied()
    }

    /// Returns how many lines there are.
    pub fn len(&self) -> u32 {
        self.list.len() as u32
    }

    /// Whether anything is changed.
    pub fn changes(&self) -> bool {
        !self.parents.is_empty()
            || (0..self.len()).any(|at| self.is_renamed(at) || self.is_copy(at))
    }

    /// Whether any line is set aside.
    pub fn removes(&self) -> bool {
        (0..self.len()).any(|at| self.is_copy(at))
    }

    /// Whether an equal line comes before the line.
    pub fn is_copy(&self, ordinal: u32) -> bool {
        self.copies.contains(ordinal)
    }

    /// Whether the line gets another identifier.
    pub fn is_renamed(&self, ordinal: u32) -> bool {
        self.renamed.contains(ordinal)
    }

    /// Gives a line the parent that the user wants for it; false if there is no such line, or a
    /// cycle would come of it.
    pub fn relink(&mut self, entry: u64, parent: u64) -> bool {
        let (Some(entry), Some(parent)) = (self.find(entry, u32::MAX), self.find(parent, u32::MAX))
        else {
            return false;
        };
        let mut above = Some(parent);
        while let Some(at) = above {
            if at == entry {
                return false;
            }
            above = self.parent(at);
        }
        self.parents.insert(entry, (Some(parent), Code::ParentLinked));
        true
    }

    /// Returns the new parent of a line, and the reason for it.
    pub fn new_parent(&self, ordinal: u32) -> Option<(Option<u32>, Code)> {
        self.parents.get(&ordinal).copied()
    }

    /// Returns the ordinals of all new parents.
    pub fn new_parents(&self) -> impl Iterator<Item = u32> + '_ {
        self.parents.values().filter_map(|(parent, _)| *parent)
    }

    /// Returns the parent of a line.
    pub fn parent(&self, ordinal: u32) -> Option<u32> {
        match self.parents.get(&ordinal) {
            Some((parent, _)) => *parent,
            None => self.find(self.get(ordinal)?.parent, ordinal),
        }
    }

    /// Returns the line that an identifier means to a line: the nearest before it, else the first
    /// behind it.
    pub fn find(&self, id: u64, own: u32) -> Option<u32> {
        let of = |at: &u32| self.get(*at).map_or(0, |link| link.id);
        let start = self.order.partition_point(|at| of(at) < id);
        let same = self.order.get(start..)?.iter().take_while(|at| of(at) == id);
        let mut found = None;
        for at in same.copied().filter(|at| !self.is_copy(*at)) {
            if at < own || found.is_none() {
                found = Some(at);
            }
        }
        found.filter(|_| id > ROOT)
    }

    /// Finds lines that occur twice, and others that need an identifier of their own.
    fn find_copies(&mut self) {
        let mut first: Option<(u64, u64, u32)> = None;
        for at in self.order.clone() {
            let Some(link) = self.get(at) else { continue };
            if link.id == NONE {
                self.renamed.insert(at);
                continue;
            }
            let group = first.filter(|(id, ..)| *id == link.id);
            let Some((_, parent, content)) = group else {
                first = Some((link.id, link.parent, link.content));
                continue;
            };
            let same = (parent, content) == (link.parent, link.content);
            let marked = if same { &mut self.copies } else { &mut self.renamed };
            marked.insert(at);
        }
    }

    /// Gives lines a parent that exists. As release 2.1.332 does, a line whose parent is lost
    /// follows the line before it, unless a torn line shows its parent.
    fn link(&mut self, torn: &HashMap<u64, u64>) {
        let mut before = HashMap::<u32, u32>::new();
        for at in 0..self.len() {
            let Some(link) = self.get(at).filter(|_| !self.is_copy(at)) else { continue };
            let last = before.insert(link.side, at);
            if link.parent <= ROOT {
                if let Some(last) = last.filter(|_| link.parent == NONE) {
                    self.parents.insert(at, (Some(last), Code::ParentLinked));
                }
                continue;
            }
            match self.find(link.parent, at) {
                Some(found) if self.is_renamed(found) => {
                    self.parents.insert(at, (Some(found), Code::IdChanged));
                }
                Some(_) => {}
                None => {
                    let parent = self.through_torn(link.parent, at, torn).or(last);
                    self.parents.insert(at, (parent, Code::ParentLinked));
                }
            }
        }
    }

    /// Returns the nearest line before this one above a torn line.
    fn through_torn(&self, mut id: u64, own: u32, torn: &HashMap<u64, u64>) -> Option<u32> {
        // A longer way would lead in a circle.
        for _ in 0..torn.len() {
            id = *torn.get(&id)?;
            let found = self.find(id, own).filter(|found| *found < own);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Links the first line of each cycle to the line before it.
    fn break_cycles(&mut self) {
        let mut done = Bits::with_room(self.list.len());
        for start in 0..self.len() {
            let (mut way, mut here) = (Vec::new(), Some(start));
            let mut on_way = HashMap::new();
            while let Some(at) = here.filter(|at| !done.contains(*at)) {
                if let Some(place) = on_way.insert(at, way.len()) {
                    let cycle = way.get(place..).unwrap_or_default();
                    let first = cycle.iter().min().copied().unwrap_or(at);
                    let side = self.get(first).map(|link| link.side);
                    let is_before = |before: &u32| {
                        !self.is_copy(*before) && self.get(*before).map(|link| link.side) == side
                    };
                    let before = (0..first).rev().find(is_before);
                    self.parents.insert(first, (before, Code::CycleBroken));
                    break;
                }
                way.push(at);
                here = self.parent(at);
            }
            for at in way {
                done.insert(at);
            }
        }
    }
}
