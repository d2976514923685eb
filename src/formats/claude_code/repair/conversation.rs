//! The conversation of a transcript: the lines from its beginning to its leaf, as the newest release
//! finds them.

use super::super::chain::Places;
use super::super::line::{self, is_set};
use super::super::lineage::Lineage;
use super::super::links::{Lines, NO_TIME, Sort};
use super::super::wire;
use super::links::{Plan, key};
use crate::formats::claude_code::members::Members;
use crate::record::{Field, Record, block};
use crate::tree::Bits;
use bytes::Bytes;
use std::sync::Arc;

/// Links of the lines, as they are shown.
#[derive(Debug, Default)]
pub struct Conversation {
    pub lineage: Lineage,
    pub lines: Lines,
    /// Lines with results alone, and summaries of what was before them.
    results: Bits,
    summaries: Bits,
}

/// Lines that are sent.
#[derive(Debug)]
pub struct Way {
    /// Links by which the newest release goes.
    pub places: Places,
    /// The line that the file gives as the end of the conversation.
    pub leaf: Option<u32>,
    pub path: Bits,
    /// Results behind an answer that follows them, which are not sent.
    pub late_results: Bits,
    /// The lines of the path from its beginning on, if one of them precedes its parent.
    pub order: Option<Vec<u32>>,
    /// Whether late results lead in a circle.
    pub is_circular: bool,
}

impl Conversation {
    /// Begins for the lines of a session, or of one sub-agent.
    pub fn new(agent: bool) -> Self {
        Self {
            lineage: Lineage::of(agent, Arc::default()),
            lines: Lines::new(agent),
            results: Bits::default(),
            summaries: Bits::default(),
        }
    }

    /// Looks at a line beside the chain.
    pub fn beside(&mut self, line: &Bytes) {
        if let Ok(mut records) = line::read(line) {
            self.lineage.link(&mut records);
        }
    }

    /// Looks at a line of the chain.
    pub fn look(&mut self, ordinal: u32, line: &Bytes) {
        let Ok(mut records) = line::read(line) else { return };
        let is_result = |record: &Record| {
            let blocks = record.node.content();
            !blocks.is_empty() && blocks.iter().all(|it| it.is(Field::Type, block::TOOL_RESULT))
        };
        if !records.is_empty() && records.iter().all(is_result) {
            self.results.insert(ordinal);
        }
        if records.iter().any(|record| is_set(&record.node, wire::SUMMARY)) {
            self.summaries.insert(ordinal);
        }
        self.lineage.link(&mut records);
        while self.lines.links().len() < ordinal as usize {
            self.lines.skip();
        }
        let line = line.trim_ascii();
        Members::of(line).into_iter().for_each(|members| self.lines.note(line, &members));
    }

    /// Finds the lines that are sent.
    pub fn way(&self, plan: &Plan) -> Way {
        let places = self.lines.decide(false);
        let behind_copy = places.leaf.filter(|_| self.lineage.wanted().is_none());
        let leaf = self.lineage.given_leaf();
        let leaf = || leaf.and_then(|leaf| plan.find(key(leaf.as_bytes()), u32::MAX));
        let leaf = behind_copy.or_else(leaf);
        let (mut path, mut late_results) = (Bits::default(), Bits::default());
        let (mut order, mut in_order, mut is_circular) = (Vec::new(), true, false);
        let mut here = leaf.map(|leaf| places.end(leaf));
        while let Some(at) = here.filter(|at| path.insert(*at)) {
            order.push(at);
            let follows = |parent: u32| {
                parent < at || places.kept.contains(at) || places.are_together(parent, at)
            };
            let is_late = |parent: u32| {
                !follows(parent) && self.results.contains(parent) && !path.contains(parent)
            };
            let parent = places.parent(at);
            let (mut late, mut first) = (Vec::new(), parent);
            while let Some(result) = first.filter(|result| is_late(*result)) {
                if late.contains(&result) || late_results.contains(result) {
                    (first, is_circular) = (None, true);
                    break;
                }
                late.push(result);
                first = places.parent(result);
            }
            // Where all parents are behind their children, no result is late.
            here = if first.is_none_or(follows) { first } else { parent };
            if here == first {
                late.iter().for_each(|result| {
                    late_results.insert(*result);
                });
            }
            in_order &= here.is_none_or(follows);
        }
        order.reverse();
        let order = (!in_order).then_some(order);
        Way { places, leaf, path, late_results, order, is_circular }
    }

    /// Returns new parents of the lines whose parent is lost, if messages behind one of them are not
    /// sent, but would be then; with `all`, in any case. A summary takes the place of all before it.
    pub fn gaps(mut self, plan: &Plan, all: bool) -> Vec<(u32, u32)> {
        let way = self.way(plan);
        let goes_on = |(at, before)| (at, self.before_gap(at, before, &way.places));
        let lost = plan.lost().filter(|(at, _)| !self.summaries.contains(*at));
        let links: Vec<(u32, u32)> = lost.map(goes_on).collect();
        if all {
            return links;
        }
        for (at, parent) in links.iter().copied() {
            let id = |at: u32| self.lines.links().get(at as usize).map(|link| link.id);
            if let (Some(id), Some(parent)) = (id(at), id(parent)) {
                self.lines.relink(at, parent);
                self.lineage.relink(id, parent);
            }
        }
        let whole = self.way(plan).path;
        let is_message = |at: &u32| {
            let link = self.lines.links().get(*at as usize);
            link.is_some_and(|link| {
                ![Sort::Aside, Sort::Other, Sort::Progress].contains(&link.sort)
            })
        };
        let is_new = |at: u32| whole.contains(at) && !way.path.contains(at);
        if !(0..plan.len()).filter(is_message).any(is_new) {
            return Vec::new();
        }
        links.into_iter().filter(|(at, _)| whole.contains(*at)).collect()
    }

    /// Returns the line behind which a message comes whose parent is lost: the line before it in
    /// the file, but the one at which the newest release goes on if that line is newer than the
    /// message, which is not so in one branch. Lines beside messages have times of their own.
    fn before_gap(&self, at: u32, before: u32, places: &Places) -> u32 {
        let link = |at: u32| self.lines.links().get(at as usize).copied().unwrap_or_default();
        let is_newer = link(before).time > link(at).time && link(at).time != NO_TIME;
        let found = places.parent(at).filter(|_| is_newer && link(at).is_message);
        found.unwrap_or(before)
    }
}
