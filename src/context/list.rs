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

    /// Returns the buffer into which the next item is written.
    pub fn item(&mut self) -> &mut Vec<u8> {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push(b',');
        }
        &mut self.out
    }
}
