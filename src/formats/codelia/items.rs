//! References of a request or a state to the records of its messages.

use crate::ids::Id;
use crate::json::Json;

/// Converts an identifier to a reference.
pub fn id_json(id: Id) -> Json {
    Json::string(&String::from_utf8_lossy(&id))
}

/// List of references: an identifier, two for a piece of the path, or a value.
#[derive(Debug, Default)]
pub struct Items {
    out: Vec<u8>,
    /// First and last message of the piece of the path that is not written yet.
    piece: Option<(Id, Id)>,
}

impl Items {
    fn separate(&mut self) {
        self.out.push(if self.out.is_empty() { b'[' } else { b',' });
    }

    fn flush(&mut self) {
        let Some((first, last)) = self.piece.take() else { return };
        self.separate();
        if first == last {
            self.out.extend_from_slice(id_json(first).as_bytes());
        } else {
            let (first, last) = (id_json(first), id_json(last));
            let piece = [b"[", first.as_bytes(), b",", last.as_bytes(), b"]"].concat();
            self.out.extend_from_slice(&piece);
        }
    }

    /// Appends the next message of the path.
    pub fn step(&mut self, id: Id) {
        let first = self.piece.map_or(id, |(first, _)| first);
        self.piece = Some((first, id));
    }

    /// Appends a message that is elsewhere than next on the path.
    pub fn add_id(&mut self, id: Id) {
        self.flush();
        self.step(id);
        self.flush();
    }

    /// Appends a value.
    pub fn add(&mut self, item: &[u8]) {
        self.flush();
        self.separate();
        self.out.extend_from_slice(item);
    }

    /// Returns the list of all references.
    pub fn finish(mut self) -> Json {
        self.flush();
        if self.out.is_empty() {
            return Json::constant("[]");
        }
        self.out.push(b']');
        Json::trusted(self.out.into())
    }
}
