//! Links between the lines of a damaged transcript, and the decision how each is linked.
//!
//! A line costs 36 bytes: hashes of its identifier and of its parent's, of its text, its time and of whose
//! line it is, and its place in the order of identifiers.

use super::super::wire;
use crate::diagnostic::Code;
use crate::formats::claude_code::members::Members;
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
    time: u32,
    /// Hash of the sub-agent that wrote the line.
    side: u32,
    is_side: bool,
    is_progress: bool,
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
    /// Lines that are the same message as another one, and those of them that are set aside.
    copies: Bits,
    aside: Bits,
    /// Copies that every release reads as the line itself: set aside only where the line changes.
    harmless: Bits,
    renamed: Bits,
    /// Lines whose lost parent stays, each with the line before.
    lost: Vec<(u32, u32)>,
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
            content: hash(&[of(members.kind), of(members.message)].concat()) as u32,
            time: hash(of(members.time)) as u32,
            side: hash(&side.concat()) as u32,
            is_side: of(members.side) == b"true",
            is_progress: members.kind(line) == wire::PROGRESS,
        });
    }

    /// Notes the parent that the remains of a torn line name.
    pub fn torn(&mut self, bytes: &[u8]) {
        let Some(left) = salvage(bytes) else { return };
        let Some(members) = Members::of(&left) else { return };
        if let (Some(uuid), Some(_)) = (members.uuid(&left), members.parent) {
            self.torn.entry(key(uuid)).or_insert(parent_key(&left, &members));
        }
    }

    /// Decides about each line of a transcript, or of the `agent` whose conversation the file is.
    ///
    /// The newest release mostly finds the line that one whose parent is lost followed, so that
    /// [`Plan::close`] comes later, and reads copies of a line as one message, so that these are
    /// mended only for older ones, with `resumable`. In a transcript, lines of sub-agents are always
    /// mended.
    pub fn decide(&mut self, agent: bool, resumable: bool) -> Plan {
        let list = std::mem::take(&mut self.list);
        let mut order: Vec<u32> = (0..list.len() as u32).collect();
        order.sort_by_key(|at| list.get(*at as usize).map(|link| link.id));
        let mut plan = Plan { list, order, ..Plan::default() };
        let mends = |link: &Link| resumable || link.is_side && !agent;
        plan.find_copies(&mends);
        plan.link(&self.torn, &|link| link.is_side && !agent);
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
            || (0..self.len()).any(|at| self.is_renamed(at) || self.is_set_aside(at))
    }

    /// Keeps copies that every release reads as the line itself, if nothing else changes.
    pub fn keep_copies(&mut self) {
        let others =
            |at| self.is_renamed(at) || self.is_set_aside(at) && !self.harmless.contains(at);
        if self.parents.is_empty() && !(0..self.len()).any(others) {
            self.aside = Bits::default();
        }
    }

    /// Whether any line is set aside.
    pub fn removes(&self) -> bool {
        (0..self.len()).any(|at| self.is_set_aside(at))
    }

    /// Whether the line is removed, because another one is the same message.
    pub fn is_set_aside(&self, ordinal: u32) -> bool {
        self.aside.contains(ordinal)
    }

    /// Whether another line is the same message and counts instead.
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

    /// Returns the lines whose lost parent stays, each with the line before.
    pub fn lost(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.lost.iter().copied()
    }

    /// Links lines whose parent is lost to these lines.
    pub fn close(&mut self, gaps: &[(u32, u32)]) {
        let closed = gaps.iter().map(|(at, last)| (*at, (Some(*last), Code::ParentLinked)));
        self.parents.extend(closed);
        self.break_cycles();
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
        let same = self.order.get(start..).filter(|_| id > ROOT)?;
        let same = same.get(..same.partition_point(|at| of(at) == id))?;
        let (before, behind) = same.split_at(same.partition_point(|at| *at < own));
        let mut near = before.iter().rev().chain(behind).copied();
        near.find(|at| !self.is_copy(*at))
    }

    /// Finds lines that occur twice, and others that need an identifier of their own. Of copies,
    /// the first counts whose parent is in the file. The others are set aside if the newest release
    /// would lose messages through them, and where the line `mends`.
    fn find_copies(&mut self, mends: &dyn Fn(&Link) -> bool) {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut last = NONE;
        for at in self.order.clone() {
            let Some(link) = self.get(at) else { continue };
            if link.id == NONE {
                self.renamed.insert(at);
            } else if let Some(group) = groups.last_mut().filter(|_| link.id == last) {
                group.push(at);
            } else {
                groups.push(vec![at]);
            }
            last = link.id;
        }
        for group in groups.into_iter().filter(|group| group.len() > 1) {
            let mut kept: Vec<(u32, Vec<u32>)> = Vec::new();
            let mut places = HashMap::new();
            for at in group {
                let content = self.get(at).map(|link| link.content);
                let place = *places.entry(content).or_insert(kept.len());
                match kept.get_mut(place) {
                    Some((_, copies)) => copies.push(at),
                    None => kept.push((at, Vec::new())),
                }
            }
            for (place, (first, copies)) in kept.into_iter().enumerate() {
                if place > 0 {
                    self.renamed.insert(first);
                }
                self.choose(first, &copies, mends);
            }
        }
        let copies = &self.copies;
        self.order.retain(|at| !copies.contains(*at));
    }

    /// Chooses the line that counts among those of one message.
    fn choose(&mut self, first: u32, copies: &[u32], mends: &dyn Fn(&Link) -> bool) {
        let parent = |at: u32| self.get(at).map_or(NONE, |link| link.parent);
        let all = || std::iter::once(first).chain(copies.iter().copied());
        // The parent of the last copy is the one by which the newest release goes.
        let Some(last) = all().last().map(parent) else { return };
        let same = all().all(|at| parent(at) == last);
        let stays = if same { None } else { all().find(|at| self.is_linked(*at)) }.unwrap_or(first);
        let lost = last <= ROOT && parent(stays) > ROOT;
        let mended =
            self.renamed.contains(first) || self.get(first).is_some_and(|link| mends(&link));
        for copy in all().filter(|at| *at != stays) {
            self.copies.insert(copy);
            if self.get(copy).map(|link| link.time) == self.get(stays).map(|link| link.time) && same
            {
                self.harmless.insert(copy);
            }
            if lost || (mended && !self.decides_leaf(copy)) {
                self.aside.insert(copy);
            }
        }
    }

    /// Whether a copy is the last line that is not about progress, so that the newest release
    /// continues behind it, and the newest of the other lines is not there.
    fn decides_leaf(&self, copy: u32) -> bool {
        let first = |id: u64| {
            let start = self.order.partition_point(|at| self.get(*at).is_some_and(|l| l.id < id));
            let at = self.order.get(start).copied()?;
            self.get(at).filter(|link| link.id == id).map(|link| (at, link))
        };
        let is_first =
            |at: &u32| self.get(*at).and_then(|link| first(link.id)).is_some_and(|(f, _)| f == *at);
        let counts =
            |at: &u32| self.get(*at).is_some_and(|link| !link.is_side && !link.is_progress);
        let is_last = counts(&copy) && !(copy + 1..self.len()).any(|at| counts(&at));
        let Some(own) = self.get(copy).filter(|_| is_last) else { return false };
        let newest = (0..copy).rev().find(|at| counts(at) && is_first(at));
        let mut above = newest.and_then(|at| self.get(at));
        for _ in 0..=self.list.len() {
            match above {
                Some(link) if link.id == own.id => return false,
                Some(link) => above = first(link.parent).map(|(_, link)| link),
                None => break,
            }
        }
        true
    }

    /// Whether the parent of a line is in the file, and not below the line itself.
    fn is_linked(&self, at: u32) -> bool {
        let Some(own) = self.get(at) else { return false };
        let mut parent = own.parent;
        for step in 0..=self.list.len() {
            let Some(above) = self.find(parent, at).and_then(|above| self.get(above)) else {
                return step > 0;
            };
            if above.id == own.id {
                return false;
            }
            parent = above.parent;
        }
        false
    }

    /// Gives lines a parent that exists. A line that `mends` and whose parent is lost follows the
    /// line before it, unless a torn line shows its parent.
    fn link(&mut self, torn: &HashMap<u64, u64>, mends: &dyn Fn(&Link) -> bool) {
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
            let before = self.first_part(at, link);
            match before.or_else(|| self.find(link.parent, at)) {
                Some(found) if before.is_some() || self.is_renamed(found) => {
                    self.parents.insert(at, (Some(found), Code::IdChanged));
                }
                Some(_) => {}
                None => {
                    let through = self.through_torn(link.parent, at, torn);
                    if through.is_some() || mends(&link) {
                        self.parents.insert(at, (through.or(last), Code::ParentLinked));
                    } else {
                        self.lost.extend(last.map(|last| (at, last)));
                    }
                }
            }
        }
    }

    /// Returns the last line before with the same identifier and parent, which has another part of
    /// the message.
    fn first_part(&self, at: u32, link: Link) -> Option<u32> {
        let before = self.find(link.id, at).filter(|before| self.is_renamed(at) && *before < at)?;
        self.get(before).filter(|first| first.parent == link.parent).map(|_| before)
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
