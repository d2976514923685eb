//! Records behind all messages of a session that describe the session: its state, and its leaf.

use crate::json::Json;
use crate::origin::merge::new_turns::NewTurns;
use crate::record::{Field, Kind, Record};

/// Maximum number of records that wait.
const MOST: usize = 1000;

/// Records from the first such record on, which wait until it is known whether new records come
/// before them.
#[derive(Default)]
pub struct Tail {
    records: Vec<Record>,
    /// The first and the last message that is new since the last one of the source.
    new: Option<(Json, Json)>,
    /// The last new entry of any kind since then.
    leaf: Option<Json>,
}

impl Tail {
    /// Takes a record that may have to wait. Returns the records that are not at the end of the
    /// session, as this record follows them.
    pub fn take(&mut self, record: Record) -> Vec<Record> {
        let speaks = record.kind == Kind::Snapshot
            || (record.kind == Kind::Session && record.node.get(Field::Leaf).is_some());
        let waits = speaks || !self.records.is_empty();
        if waits && !record.is_node() && self.records.len() < MOST {
            self.records.push(record);
            return Vec::new();
        }
        let mut ready = std::mem::take(&mut self.records);
        ready.push(record);
        ready
    }

    /// Forgets the new entries at a message of the source, as they are on the path to it.
    pub fn shown(&mut self) {
        (self.new, self.leaf) = (None, None);
    }

    /// Notes a new entry. The state names messages only.
    pub fn note(&mut self, kind: Kind, id: &Json) {
        self.leaf = Some(id.clone());
        if kind != Kind::Message {
            return;
        }
        let first = self.new.take().map_or_else(|| id.clone(), |(first, _)| first);
        self.new = Some((first, id.clone()));
    }

    /// Sets the leaf of the session to an entry with others behind it.
    pub fn set_leaf(&mut self, leaf: &Json) {
        self.leaf = Some(leaf.clone());
        let says = |record: &Record| {
            record.kind == Kind::Session && record.node.get(Field::Leaf).is_some()
        };
        if !self.records.iter().any(says) {
            let session = Record::new(Kind::Session).with(Field::Leaf, leaf.clone());
            self.records.push(session);
        }
    }

    /// Returns the records that wait at the end, with the new messages in the state.
    pub fn end(self, wanted: &NewTurns, time: Option<&Json>) -> Vec<Record> {
        let mut records = self.records;
        // A state that was left behind stays as it was.
        let is_own = |record: &&mut Record| {
            record.kind == Kind::Snapshot && !record.node.is(Field::Layout, "state")
        };
        if let Some((first, last)) = &self.new
            && let Some(Record { node, .. }) = records.iter_mut().find(is_own)
        {
            let list = node.json(Field::Messages).cloned().unwrap_or_default();
            node.set(Field::Messages, with_piece(&list, first, last));
            node.put(Field::Updated, time.cloned());
            wanted.extend(node);
        }
        let Some(leaf) = self.leaf else { return records };
        for record in &mut records {
            if record.kind == Kind::Session && record.node.get(Field::Leaf).is_some() {
                record.node.set(Field::Leaf, leaf.clone());
            }
        }
        records
    }
}

/// Adds to references one to the path between two messages.
fn with_piece(list: &Json, first: &Json, last: &Json) -> Json {
    let piece = match first == last {
        true => first.as_bytes().to_vec(),
        false => [b"[", first.as_bytes(), b",", last.as_bytes(), b"]"].concat(),
    };
    let items: Vec<_> = list.elements().collect();
    let items: Vec<_> = items.iter().map(Json::as_bytes).chain([piece.as_slice()]).collect();
    Json::trusted([b"[", items.join(&b","[..]).as_slice(), b"]"].concat().into())
}
