//! Nodes that a trajectory does not hold: what follows one of them follows its parent.

use crate::json::Json;
use crate::record::{Field, Node};
use std::collections::HashMap;

/// Nodes that were left out.
#[derive(Debug, Default)]
pub struct Omitted {
    /// Parent of each, and the first node that follows it.
    nodes: HashMap<Json, (Json, Option<Json>)>,
}

impl Omitted {
    /// Notes a node that is left out.
    pub fn note(&mut self, node: &Node) {
        let Some(id) = node.json(Field::Id) else { return };
        let parent = node.json(Field::Parent).cloned().unwrap_or(Json::constant("null"));
        let parent = self.above(&parent, Some(id));
        self.nodes.insert(id.detached(), (parent.detached(), None));
    }

    /// Returns a node, or the nearest one above it that is not left out. `next` follows it.
    fn above(&mut self, id: &Json, next: Option<&Json>) -> Json {
        match self.nodes.get_mut(id) {
            Some((parent, follower)) => {
                if follower.is_none() {
                    *follower = next.map(Json::detached);
                }
                parent.clone()
            }
            None => id.clone(),
        }
    }

    /// Links a node to what is not left out.
    pub fn link(&mut self, node: &mut Node) {
        if self.nodes.is_empty() {
            return;
        }
        let id = node.json(Field::Id).cloned();
        if let Some(parent) = node.json(Field::Parent).cloned() {
            node.set(Field::Parent, self.above(&parent, id.as_ref()));
        }
        for field in [Field::Target, Field::From] {
            let target = node.json(field).cloned();
            let target = target.filter(|target| self.nodes.contains_key(target));
            node.put(field, target.map(|target| self.above(&target, None)));
        }
        let first = node.json(Field::FirstKept).cloned();
        node.put(Field::FirstKept, first.and_then(|first| self.below(first)));
    }

    /// Returns the leaf of a session.
    pub fn leaf(&mut self, leaf: &Json) -> Json {
        self.above(leaf, None)
    }

    /// Returns the first node behind a node that is left out, which is not left out itself; `None`
    /// for a node that is there.
    fn below(&self, id: Json) -> Option<Json> {
        let mut next = self.nodes.get(&id)?.1.as_ref()?;
        // A longer way would lead in a circle.
        for _ in 0..self.nodes.len() {
            match self.nodes.get(next) {
                Some((_, Some(follower))) => next = follower,
                _ => break,
            }
        }
        Some(next.clone())
    }
}
