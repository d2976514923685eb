//! Joints of a tree: what follows a compaction without a parent continues what came before it.

use super::{Branches, Path, Tree, key};
use crate::json::Json;
use std::collections::HashMap;

/// Maximum number of messages that a compaction keeps, and that are passed over.
const KEPT: usize = 1000;

impl Tree {
    /// Returns the nodes of the conversation up to the leaf, as [`path`](Self::path) does; those before
    /// a compaction count, although no parent leads to them.
    pub fn history(&self, leaf: Option<&Json>) -> Option<Path> {
        if self.joints.is_empty() {
            return self.path(leaf);
        }
        let leaf = self.find(leaf.map(key).or(self.leaf)?)?;
        let leaf = self.entries.get(leaf)?.ordinal;
        let at = |ordinal| self.places.at(ordinal);
        let before = |ordinal| self.parent_of(ordinal).or_else(|| self.continued(ordinal));
        Some(Path::up(self.entries.len(), leaf, at, before))
    }

    /// Finds the nodes behind which nodes without a parent continue the conversation. Messages that a
    /// compaction keeps follow its summary, and so do not come before it; the last of the others does.
    pub(super) fn settle_joints(&mut self) {
        let joints = std::mem::take(&mut self.joints);
        let settled = joints.into_iter().filter_map(|(ordinal, behind)| {
            let last = self.entries.get(self.find(behind)?)?.ordinal;
            let mut before = (0..=last).rev().take(KEPT);
            Some((ordinal, before.find(|before| self.root_of(*before) < ordinal)?))
        });
        let settled: Vec<_> = settled.collect();
        self.joints = settled.into_iter().map(|(at, before)| (at, u64::from(before))).collect();
    }

    /// Returns the first node on the way to a node; one in a cycle has none.
    fn root_of(&self, ordinal: u32) -> u32 {
        let way = std::iter::successors(Some(ordinal), |ordinal| self.parent_of(*ordinal));
        let mut way = way.take(self.entries.len() + 1);
        let last = way.by_ref().take(self.entries.len()).last().unwrap_or(u32::MAX);
        if way.next().is_some() { u32::MAX } else { last }
    }

    /// Returns the node behind which a node without a parent continues the conversation. The root
    /// above it comes before that node, so that no circle arises.
    fn continued(&self, ordinal: u32) -> Option<u32> {
        let joint = self.joints.binary_search_by_key(&ordinal, |(ordinal, _)| *ordinal).ok()?;
        self.joints.get(joint).map(|(_, before)| *before as u32)
    }

    /// Returns the nodes, sorted for a walk from the roots to the leaves. What follows a compaction is
    /// no tree of its own.
    pub fn into_branches(mut self) -> Branches {
        let wanted: HashMap<u32, u32> =
            self.joints.iter().map(|(ordinal, before)| (*before as u32, *ordinal)).collect();
        let places = 0..if wanted.is_empty() { 0 } else { self.entries.len() };
        let found = places.clone().filter_map(|place| self.entries.get(place));
        let ids: HashMap<u32, u64> = found
            .filter_map(|entry| Some((*wanted.get(&{ entry.ordinal })?, { entry.id })))
            .collect();
        for place in places {
            let ordinal = self.entries.get(place).map(|entry| entry.ordinal);
            if let Some(behind) = ordinal.and_then(|ordinal| ids.get(&ordinal)) {
                self.entries.change(place, |entry| entry.parent = *behind);
            }
        }
        Branches::new(self.entries)
    }
}
