//! A JSON array while it is written.

/// A JSON array while it is written.
#[derive(Debug, Default)]
pub struct List {
    out: Vec<u8>,
    begun: bool,
}

impl List {
    /// Writes text that is not an item.
    pub fn text(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Returns the buffer with the output that was written and not yet taken out.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Lets an item be written; if nothing is, there is none.
    pub fn item_of(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.out.len();
        if self.begun {
            self.out.push(b',');
        }
        let start = self.out.len();
        write(&mut self.out);
        match self.out.len() > start {
            true => self.begun = true,
            false => self.out.truncate(before),
        }
    }

    /// Returns the buffer into which the next item is written.
    pub fn item(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        &mut self.out
    }
}
