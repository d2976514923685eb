//! Lines of a part that are shown while something else reads the part.

use crate::lines::{BOM, Line};
use crate::position::Position;
use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// Visitor of the lines of a part, in the first reading that reaches the end.
pub trait LineVisitor {
    /// Begins a reading, the first one or another one in the place of one that ended early. Returns
    /// false if all lines were shown.
    fn begin(&mut self) -> bool;

    /// Takes a line that is neither blank nor too long.
    fn line(&mut self, at: Position, line: &[u8]);

    /// Notes that all lines were shown.
    fn end(&mut self);

    /// Returns the number of bytes of a line above which this reading shows no lines any more, so
    /// that the line is not in memory twice.
    fn longest(&self) -> usize;
}

/// A visitor, and how long lines may be.
#[derive(Clone)]
pub struct Showing {
    /// The visitor.
    pub visitor: Rc<RefCell<dyn LineVisitor>>,
    /// Number of bytes from which on a line is too long for the user's options.
    pub limit: usize,
}

impl Showing {
    /// Returns the part, of which all lines are shown as they are read.
    pub fn over(&self, part: Box<dyn Read>) -> Box<dyn Read> {
        if !self.visitor.borrow_mut().begin() {
            return part;
        }
        let at = Position { line: 1, ..Position::default() };
        Box::new(Shown { part, to: self.clone(), at, begun: Vec::new(), is_over: false })
    }
}

struct Shown {
    part: Box<dyn Read>,
    to: Showing,
    /// Place where the next line begins, and what was read of it.
    at: Position,
    begun: Vec<u8>,
    is_over: bool,
}

impl Read for Shown {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.part.read(buffer)?;
        match buffer.get(..count) {
            Some(bytes) if !bytes.is_empty() => self.pass(bytes),
            _ if !buffer.is_empty() => self.finish(),
            _ => {}
        }
        Ok(count)
    }
}

impl Shown {
    fn pass(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes).filter(|_| !self.is_over) {
            let (line, rest) = bytes.split_at(end);
            self.line(line);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.is_over |= self.begun.len() + bytes.len() > self.to.visitor.borrow().longest();
        if !self.is_over {
            self.begun.extend_from_slice(bytes);
        }
    }

    /// Shows a line that ends with these bytes.
    fn line(&mut self, end: &[u8]) {
        let mut begun = std::mem::take(&mut self.begun);
        let mut bytes = end;
        if !begun.is_empty() {
            begun.extend_from_slice(end);
            bytes = &begun;
        }
        if let Some(rest) = bytes.strip_prefix(BOM).filter(|_| self.at.byte == 0) {
            self.at.byte = BOM.len() as u64;
            bytes = rest;
        }
        let line = Line { bytes, at: self.at, terminated: true };
        if bytes.len() <= self.to.limit && !line.is_blank() {
            self.to.visitor.borrow_mut().line(self.at, bytes);
        }
        self.at.byte += bytes.len() as u64 + 1;
        self.at.line += 1;
        begun.clear();
        self.begun = begun;
    }

    fn finish(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if !self.begun.is_empty() {
            self.line(&[]);
        }
        self.to.visitor.borrow_mut().end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Lines;

    struct Seen(Vec<(Position, Vec<u8>)>, bool, usize);

    impl LineVisitor for Seen {
        fn begin(&mut self) -> bool {
            self.0.clear();
            !self.1
        }

        fn line(&mut self, at: Position, line: &[u8]) {
            self.0.push((at, line.to_vec()));
        }

        fn end(&mut self) {
            self.1 = true;
        }

        fn longest(&self) -> usize {
            self.2
        }
    }

    /// Returns the lines that are not blank, as readers of lines give them.
    fn lines(text: &[u8], limit: usize) -> Vec<(Position, Vec<u8>)> {
        let (mut lines, mut all) = (Lines::new(text, limit), Vec::new());
        lines.skip_bom().expect("a text");
        loop {
            match lines.next() {
                Ok(None) => return all,
                Ok(Some(line)) if line.is_blank() => {}
                Ok(Some(line)) => all.push((line.at, line.bytes.to_vec())),
                Err(error) => assert!(error.is_recoverable(), "{error}"),
            }
        }
    }

    #[test]
    fn lines_are_shown_as_readers_of_lines_give_them() {
        let texts: [&str; 6] =
            ["", "\n", "\u{feff}a\r\n\nbc", "a\nlonger\n b\n", "\u{feff}\n{}\n", "abcdefgh"];
        for text in texts {
            for size in [1, 2, 3, 100] {
                let seen = Rc::new(RefCell::new(Seen(Vec::new(), false, usize::MAX)));
                let showing = Showing { visitor: seen.clone(), limit: 4 };
                let mut part = showing.over(Box::new(text.as_bytes()));
                let mut buffer = vec![0; size];
                while part.read(&mut buffer).expect("a text") > 0 {}
                let Seen(shown, is_over, _) = &*seen.borrow();
                assert!(is_over);
                assert_eq!(*shown, lines(text.as_bytes(), 4), "{text:?} {size}");
            }
        }
    }

    #[test]
    fn a_long_line_ends_the_showing() {
        let seen = Rc::new(RefCell::new(Seen(Vec::new(), false, 3)));
        let showing = Showing { visitor: seen.clone(), limit: 100 };
        for text in ["a\nlonger\n", "a\nb\n"] {
            let mut part = showing.over(Box::new(text.as_bytes()));
            while part.read(&mut [0; 2]).expect("a text") > 0 {}
            assert_eq!(seen.borrow().1, text == "a\nb\n");
        }
    }
}
