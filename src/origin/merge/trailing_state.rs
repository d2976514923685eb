//! What stands behind all messages of a session and speaks of them: its state, and where it stands.

use crate::json::Json;
use crate::origin::merge::new_turns::NewTurns;
use crate::record::{Field, Kind, Record};

/// So many records wait at most.
const MOST: usize = 1000;

/// The records from the first such one on, until it is known whether anything is new before them.
#[derive(Default)]
pub struct Tail {
    records: Vec<Record>,
    /// The first and the last message that is new since the last one of the source.
    new: Option<(Json, Json)>,
    /// The last new entry of any kind since then.
    leaf: Option<Json>,
}

impl Tail {
    /// Takes a record that may have to wait. Gives those that are no tail, as this comes behind them.
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

    /// A message of the source: what was new before it stands on its way.
    pub fn shown(&mut self) {
        (self.new, self.leaf) = (None, None);
    }

    /// A new entry. The state speaks of messages only.
    pub fn said(&mut self, kind: Kind, id: &Json) {
        self.leaf = Some(id.clone());
        if kind != Kind::Message {
            return;
        }
        let first = self.new.take().map_or_else(|| id.clone(), |(first, _)| first);
        self.new = Some((first, id.clone()));
    }

    /// The session stands at this entry, behind which there are others.
    pub fn stands_at(&mut self, leaf: &Json) {
        self.leaf = Some(leaf.clone());
        let says = |record: &Record| {
            record.kind == Kind::Session && record.node.get(Field::Leaf).is_some()
        };
        if !self.records.iter().any(says) {
            let mut session = Record::new(Kind::Session);
            session.node.set(Field::Leaf, leaf.clone());
            self.records.push(session);
        }
    }

    /// What waits, at the end: the state with what is new.
    pub fn end(self, asked: &NewTurns, time: Option<&Json>) -> Vec<Record> {
        let mut records = self.records;
        // A state that was left behind stays as it was.
        let is_own = |record: &&mut Record| {
            record.kind == Kind::Snapshot && !record.node.is(Field::Layout, "state")
        };
        if let Some((first, last)) = &self.new
            && let Some(Record { node, .. }) = records.iter_mut().find(is_own)
        {
            [Field::Raw, Field::RawBytes].iter().for_each(|field| drop(node.take(*field)));
            let list = node.json(Field::Messages).cloned().unwrap_or_default();
            node.set(Field::Messages, with_piece(&list, first, last));
            time.into_iter().for_each(|time| node.set(Field::Updated, time.clone()));
            asked.extend(node);
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

/// References, and one to the path from the one message to the other.
fn with_piece(list: &Json, first: &Json, last: &Json) -> Json {
    let piece = match first == last {
        true => first.as_bytes().to_vec(),
        false => [b"[", first.as_bytes(), b",", last.as_bytes(), b"]"].concat(),
    };
    let items: Vec<_> = list.elements().collect();
    let items: Vec<_> = items.iter().map(Json::as_bytes).chain([piece.as_slice()]).collect();
    Json::checked([b"[", items.join(&b","[..]).as_slice(), b"]"].concat().into())
}
