//! Lines of a newer version, as they were in the version that is written.

use super::{Entries, raw_of};
use crate::formats::pi::version::Named;
use crate::formats::pi::{NAME, older, read, was, wire, write};
use crate::json::Json;
use crate::mapping::without;
use crate::record::{Field, Kind, Node, Record};
use bytes::Bytes;

/// Fields of a header that another version contains in another form, or may contain so.
const CHANGED_FIELDS: [Field; 6] =
    [Field::Name, Field::File, Field::Source, Field::Layout, Field::Extra, Field::ParentSession];

/// Whether a line is a header of this version with the content of a record of a newer one.
fn heads(line: &Bytes, node: &Node, version: u32) -> bool {
    let Some(header) = read::header(line, NAME).ok().flatten() else { return false };
    let read = &header.record.node;
    let parent = |node: &Node| {
        let parent = node.node(Field::ParentSession)?;
        parent.json(Field::Path).or(parent.json(Field::Data)).cloned()
    };
    header.named == Named::Known(version)
        && read.is_same(node, &CHANGED_FIELDS)
        && others(read) == others(node)
        && parent(read) == parent(node)
}

impl Entries<'_> {
    /// Returns the line of a header in this version.
    pub(super) fn header_before(&self, node: &Node, newer: u32) -> Option<Bytes> {
        let version = self.version.number;
        let line = if was::is_noted(node, was::WAS) {
            let mut spelled = Vec::new();
            write::header(node, newer, &mut spelled);
            was::line(&raw_of(node).unwrap_or_else(|| spelled.into()), version)?
        } else {
            older::header(&raw_of(node)?, version)?
        };
        let line = Bytes::from(line);
        heads(&line, node, version).then_some(line)
    }

    /// Returns the line of a record for which there is a note of its earlier spelling.
    pub(super) fn noted(&self, record: &Record, newer: u32, index: Option<u64>) -> Option<Bytes> {
        let whole = |data: &&Json| was::taken(data.as_bytes()).is_some();
        let whole = record.node.json(Field::Data).filter(whole).is_some();
        if !whole && !was::is_noted(&record.node, was::WAS) {
            return None;
        }
        let mut spelled = Vec::new();
        let raw = raw_of(&record.node)
            .or_else(|| write::entry(record, newer, None, &mut spelled).then(|| spelled.into()))?;
        let line = Bytes::from(was::line(&raw, self.version.number)?);
        self.has_same_content(&line, record, index).then_some(line)
    }

    /// Returns the line of a record in this version, in the record's own spelling, where that is
    /// not pi's.
    pub(super) fn as_before(
        &self,
        record: &Record,
        newer: u32,
        index: Option<u64>,
    ) -> Option<Bytes> {
        let whole = |node: &Node| Some(node.json(Field::Data)?.bytes().clone());
        let raw = raw_of(&record.node)
            .or_else(|| whole(&record.node).filter(|_| record.kind == Kind::Opaque))?;
        let raw = was::taken(&raw).map_or(raw, |(rest, _)| rest.into());
        let number = index.map(|index| index.to_string());
        let number = number.as_ref().map(String::as_bytes);
        let line = Bytes::from(older::entry(&raw, (newer, self.version.number), number)?);
        self.has_same_content(&line, record, index).then_some(line)
    }

    /// Whether a line has the same content in this version as a record of a newer version.
    fn has_same_content(&self, line: &Bytes, record: &Record, index: Option<u64>) -> bool {
        let Some(parsed) = self.parsed(line, index).filter(|parsed| parsed.kind == record.kind)
        else {
            return false;
        };
        // A record that is kept whole has its identifiers in its data.
        let whole = [Kind::Opaque, Kind::Notice].contains(&record.kind);
        let apart: Vec<_> = super::LISTED
            .into_iter()
            .chain([Field::Extra])
            .chain(whole.then_some(Field::Data))
            .collect();
        parsed.node.is_same(&record.node, &apart) && others(&parsed.node) == others(&record.node)
    }
}

/// Returns the members for which a record has no fields, without those that a migration changes.
fn others(node: &Node) -> Option<Json> {
    let extra = node.json(Field::Extra)?;
    let changed = ["id", "parentId", wire::FIRST_KEPT_ID, wire::FIRST_KEPT_INDEX, wire::NOTE];
    changed.iter().try_fold(extra.clone(), |extra, name| without(&extra, name))
}
