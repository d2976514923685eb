//! The output, and the kind of the last character written.

/// Writes at a column; the state is that of PyYAML's emitter, which decides by it where spaces and
/// line breaks go.
///
/// Source: PyYAML 6.0.3, `emitter.py`: `write_indicator`, `write_indent`, `write_line_break`.
#[derive(Debug)]
pub struct Pen {
    pub out: Vec<u8>,
    /// Column, in characters.
    pub column: usize,
    /// Whether the last character was a space or a line break, so that none is needed.
    pub space: bool,
    /// Whether the line contains only indentation and indicators (`-`, `?`, `:`).
    pub indention: bool,
    /// The indentation of the collection or scalar being written; `None` outside of all.
    pub indent: Option<usize>,
}

/// Spaces for nearly every indentation.
const SPACES: &[u8] = &[b' '; 64];

impl Pen {
    pub fn new() -> Self {
        Self { out: Vec::new(), column: 0, space: true, indention: true, indent: None }
    }

    /// Appends text without line breaks.
    pub fn push(&mut self, text: &[u8]) {
        self.column += characters(text);
        self.out.extend_from_slice(text);
    }

    /// Appends text of this number of characters.
    pub fn push_counted(&mut self, text: &[u8], characters: usize) {
        self.column += characters;
        self.out.extend_from_slice(text);
    }

    /// Appends an indicator, after a space if it must be separate and is not yet.
    pub fn indicator(&mut self, text: &[u8], apart: bool) {
        if apart && !self.space {
            self.push_counted(b" ", 1);
        }
        self.push_counted(text, text.len());
        self.content();
    }

    /// Appends an indicator after which a collection can begin on the same line.
    pub fn opener(&mut self, text: &[u8]) {
        let indention = self.indention;
        self.indicator(text, true);
        self.indention = indention;
    }

    /// Notes that the last character belongs to a scalar.
    pub fn content(&mut self) {
        self.space = false;
        self.indention = false;
    }

    /// Goes to the indentation, on a new line unless the line is empty so far.
    pub fn new_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.space) {
            self.line_break(b"\n");
        }
        if self.column < indent {
            self.space = true;
            let mut missing = indent - self.column;
            while missing > 0 {
                let spaces = SPACES.get(..missing).unwrap_or(SPACES);
                self.out.extend_from_slice(spaces);
                missing -= spaces.len();
            }
            self.column = indent;
        }
    }

    pub fn line_break(&mut self, spelling: &[u8]) {
        self.space = true;
        self.indention = true;
        self.column = 0;
        self.out.extend_from_slice(spelling);
    }
}

/// Returns how many characters some WTF-8 contains.
pub fn characters(text: &[u8]) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    // The count is made in bytes, which is much faster than in words, as long as no byte can
    // overflow.
    let count = |part: &[u8]| part.iter().map(|b| u8::from(*b & 0xc0 != 0x80)).sum::<u8>();
    text.chunks(u8::MAX.into()).map(|part| usize::from(count(part))).sum()
}
