//! Identifiers of calls that the target's writer spelled in another way, because the interface of
//! its agent does not accept the source's.

use crate::error::Result;
use crate::format::{Cx, Parts};
use crate::formats::canonical;
use crate::json::Json;
use crate::origin::base::Base;
use crate::record::{Field, Node, Record, Value};
use std::collections::HashMap;

/// Identifiers of the source, by those of the target.
#[derive(Default)]
pub struct CallNames {
    own: HashMap<Json, Json>,
}

impl CallNames {
    /// Finds the identifiers that differ between a source and its base.
    pub fn of(base: &mut Base, stream: &mut dyn Parts, cx: &Cx<'_>) -> Result<Self> {
        let mut names = Self::default();
        let (mut identifiers, mut at) = (Vec::new(), Vec::new());
        let mut items = base.items(canonical::FORMAT.records(stream, cx)?);
        while let Some(item) = base.next(&mut items)? {
            let source = item.source.filter(|_| !item.bases.is_empty());
            let Some(source) = source.map(|source| named(&source.node)) else { continue };
            // Several records of the source may be one of the base.
            if item.bases != at {
                names.pair(base, &at, &identifiers)?;
                (identifiers, at) = (Vec::new(), item.bases);
            }
            identifiers.extend(source);
        }
        names.pair(base, &at, &identifiers)?;
        Ok(names)
    }

    fn pair(&mut self, base: &mut Base, at: &[u32], identifiers: &[Json]) -> Result<()> {
        if identifiers.is_empty() {
            return Ok(());
        }
        let mut written = Vec::new();
        for number in at {
            written.extend(named(&base.record(*number)?.node));
        }
        if written.len() == identifiers.len() {
            let pairs = written.into_iter().zip(identifiers).filter(|(name, own)| name != *own);
            self.own.extend(pairs.map(|(name, own)| (name, own.clone())));
        }
        Ok(())
    }

    /// Whether all identifiers are those of the source.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Gives the calls and results of a record the identifiers of the source.
    pub fn restore(&self, record: &mut Record) {
        self.put(&mut record.node, Field::ParentCall);
        let Some(Value::Nodes(blocks)) = record.node.get_mut(Field::Content) else { return };
        for block in blocks {
            NAMES.iter().for_each(|field| self.put(block, *field));
        }
    }

    fn put(&self, node: &mut Node, field: Field) {
        node.put(field, node.json(field).and_then(|name| self.own.get(name)).cloned());
    }
}

/// Fields of blocks that name a call.
const NAMES: &[Field] = &[Field::Id, Field::Call];

/// Returns the identifiers of calls in a message.
fn named(node: &Node) -> Vec<Json> {
    let blocks = node.content();
    let name = |block: &Node| NAMES.iter().find_map(|field| block.json(*field).cloned());
    blocks.iter().filter_map(name).collect()
}
