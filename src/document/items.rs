//! Reader of the items of a list, one by one.

use super::{Path, Style, on_one_line};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::Cx;
use crate::json::{Cursor, Fault, Flow, Json, What, text};
use crate::lines::{BOM, Line, utf8};
use crate::position::{Located, Position};
use crate::record::{Field, Node};
use bytes::Bytes;
use std::io::{self, Read};

/// Document without the items of its list.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Text of the document, on one line, with an empty list.
    pub text: Bytes,
    /// Number of items that the list had.
    pub items: u64,
    /// Whether the text began with a byte order mark.
    pub bom: bool,
    /// Whether the text ended with a line ending.
    pub newline: bool,
}

impl Frame {
    /// Returns the properties of the file that its software does not write; reports a byte order
    /// mark.
    #[must_use]
    pub fn file(&self, style: Style, cx: &Cx<'_>) -> Option<Node> {
        let mut file = cx.file(self.bom, false, None);
        if self.newline != style.newline {
            let newline = Json::constant(if self.newline { "true" } else { "false" });
            file.get_or_insert_default().set(Field::FinalNewline, newline);
        }
        file
    }
}

/// Reads through a document for its frame.
///
/// # Errors
/// If it cannot be read, is no document with one list at this path, or a piece of it is longer than
/// `limit` bytes.
pub fn frame(part: Box<dyn Read>, path: Path, limit: usize) -> Result<Frame> {
    let mut items = Items::over(part, path, limit)?;
    items.by_ref().try_for_each(|item| item.map(drop))?;
    Ok(items.frame)
}

/// Items of a list inside a document. At most one item is in memory, beside the text around the
/// list; an error ends the list.
pub struct Items {
    flow: Flow<Box<dyn Read>>,
    path: Path,
    limit: usize,
    /// Position of the next byte.
    at: Position,
    /// Text before the first item.
    head: Vec<u8>,
    over: bool,
    /// The frame, once the list is over.
    frame: Frame,
}

fn failed(error: io::Error) -> Error {
    Error::io("cannot read", error)
}

impl Items {
    /// Finds the list at this path. `limit` is the maximum length in bytes of an item, and of the
    /// text before the list and behind it.
    ///
    /// # Errors
    /// If the text up to the list cannot be read, or there is no list.
    pub fn over(part: Box<dyn Read>, path: Path, limit: usize) -> Result<Self> {
        let mut flow = Flow::new(part, limit);
        flow.more().map_err(failed)?;
        let at = Position { line: 1, ..Position::default() };
        let (head, frame) = (Vec::new(), Frame::default());
        let mut items = Self { flow, path, limit, at, head, over: false, frame };
        items.frame.bom = items.flow.ahead().starts_with(BOM);
        if items.frame.bom {
            items.pass(BOM.len());
        }
        loop {
            match begin_of(items.flow.ahead(), path) {
                Ok(Some(begin)) => {
                    items.head = items.flow.ahead().get(..begin).unwrap_or_default().to_vec();
                    items.pass(begin);
                    return Ok(items);
                }
                Ok(None) => return Err(items.no_list()),
                Err(fault)
                    if fault.what.is_truncation() && items.flow.more().map_err(failed)? => {}
                Err(fault) => return Err(items.broken(fault)),
            }
        }
    }

    /// Skips bytes.
    fn pass(&mut self, bytes: usize) {
        let passed = self.flow.ahead().get(..bytes).unwrap_or_default();
        self.at = behind(self.at, passed);
        self.flow.pass(bytes);
    }

    /// Returns the next byte that is not white space, which is skipped.
    fn token(&mut self) -> Result<Option<u8>> {
        loop {
            let ahead = self.flow.ahead();
            let space = ahead.iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
            let byte = ahead.get(space).copied();
            self.pass(space);
            if byte.is_some() || !self.flow.more().map_err(failed)? {
                return Ok(byte);
            }
        }
    }

    fn step(&mut self) -> Result<Option<Located<Json>>> {
        match self.token()? {
            Some(b']') => return self.close().map(|()| None),
            Some(b',') if self.frame.items > 0 => {
                self.pass(1);
                self.token()?;
            }
            Some(_) if self.frame.items == 0 => {}
            _ => return Err(self.broken(self.unexpected())),
        }
        let at = self.at;
        let Some(value) = self.flow.value().map_err(failed)? else {
            let fault = Cursor::new(self.flow.ahead()).skip_value();
            return Err(fault.err().map_or_else(|| self.not_utf8(), |fault| self.broken(fault)));
        };
        self.at = behind(at, value.as_bytes());
        self.at.record += 1;
        self.frame.items += 1;
        Ok(Some(Located { value, at }))
    }

    /// Reads the text behind the list.
    fn close(&mut self) -> Result<()> {
        self.over = true;
        let Some(tail) = self.flow.rest().map_err(failed)? else { return Err(self.too_long()) };
        let text = Bytes::from([self.head.as_slice(), &tail].concat());
        // Behind the head, the frame lacks the items.
        let place = |at: usize| {
            let behind_head = at.checked_sub(self.head.len());
            let start = Position { line: 1, ..Position::default() };
            let at = match behind_head {
                Some(offset) => behind(self.at, tail.get(..offset).unwrap_or_default()),
                None => behind(start, text.get(..at).unwrap_or_default()),
            };
            Position { part: self.at.part, ..at }
        };
        let mut cursor = Cursor::new(&text);
        if let Err(fault) = cursor.skip_value().and_then(|_| cursor.end()) {
            let at = start_of(place(fault.at), fault.at);
            return Err(Error::json(fault, &text, at));
        }
        let at = Position { part: self.at.part, line: 1, ..Position::default() };
        utf8(&Line { bytes: &text, at, terminated: true })?;
        if !is_once(&text, self.path) {
            return Err(self.no_list());
        }
        self.frame.newline = text.ends_with(b"\n");
        self.frame.text = on_one_line(&text.slice(..text.trim_ascii_end().len()));
        Ok(())
    }

    /// Returns the text around the list, once the list is over.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn no_list(&self) -> Error {
        let path = self.path.join(".");
        let message = format!("there is no list `{path}`, or there are two");
        let at = Position { part: self.at.part, line: 1, ..Position::default() };
        Error::unfit(Diagnostic::new(Code::NoHeader, message).at(at))
    }

    /// Returns the fault that the next byte is.
    fn unexpected(&self) -> Fault {
        let what = self.flow.ahead().first().map_or(What::End, |byte| What::Unexpected(*byte));
        Fault { at: 0, what }
    }

    fn too_long(&self) -> Error {
        let message = format!("piece of a document of more than {} bytes, the limit", self.limit);
        Error::unfit(Diagnostic::new(Code::LineTooLong, message).at(self.at))
    }

    /// Returns the error for a fault in the text that comes next.
    fn broken(&self, fault: Fault) -> Error {
        let ahead = self.flow.ahead();
        if ahead.len() > self.limit && fault.what.is_truncation() {
            return self.too_long();
        }
        let at = behind(self.at, ahead.get(..fault.at).unwrap_or_default());
        Error::json(fault, ahead, start_of(at, fault.at))
    }

    fn not_utf8(&self) -> Error {
        let ahead = self.flow.ahead();
        let fault = std::str::from_utf8(ahead).map_or_else(|fault| fault.valid_up_to(), str::len);
        let at = start_of(behind(self.at, ahead.get(..fault).unwrap_or_default()), fault);
        let line = Line { bytes: ahead, at, terminated: true };
        utf8(&line).map_or_else(|error| error, |_| self.too_long())
    }
}

impl Iterator for Items {
    type Item = Result<Located<Json>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let step = self.step();
        self.over |= step.is_err();
        step.transpose()
    }
}

/// Returns the position behind these bytes.
fn behind(at: Position, passed: &[u8]) -> Position {
    let lines = memchr::memchr_iter(b'\n', passed).count() as u64;
    Position { line: at.line + lines, byte: at.byte + passed.len() as u64, ..at }
}

/// Returns the position of which this one is so many bytes behind, in the same line.
fn start_of(at: Position, bytes: usize) -> Position {
    Position { byte: at.byte.saturating_sub(bytes as u64), ..at }
}

/// Returns where the items of a list begin; `None` if there is no such list.
fn begin_of(text: &[u8], path: Path) -> Result<Option<usize>, Fault> {
    let mut cursor = Cursor::new(text);
    for name in path {
        if cursor.peek().is_some_and(|byte| byte != b'{') {
            // Broken JSON is the more serious finding.
            return cursor.skip_value().map(|_| None);
        }
        cursor.begin_object()?;
        loop {
            match cursor.next_key()? {
                Some(key) if text::is(key.of(text), name) => break,
                Some(_) => drop(cursor.skip_value()?),
                None => return Ok(None),
            }
        }
    }
    match cursor.peek() {
        Some(b'[') => cursor.begin_array().map(|()| Some(cursor.at())),
        _ => cursor.skip_value().map(|_| None),
    }
}

/// Whether each member on the path is there once.
fn is_once(text: &[u8], path: Path) -> bool {
    let mut object = Some(Json::trusted(Bytes::copy_from_slice(text)));
    path.iter().all(|name| {
        let Some(inside) = object.take() else { return false };
        object = inside.member(name);
        inside.members().filter(|(key, _)| text::is(key, name)).count() == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: Path = &["talk", "messages"];

    fn of(text: &str) -> Result<(Vec<(u64, u64)>, Frame)> {
        let part = || Box::new(io::Cursor::new(text.to_owned().into_bytes()));
        let places = Items::over(part(), LIST, 1000)?
            .map(|item| item.map(|item| (item.at.line, item.at.byte)))
            .collect::<Result<_>>()?;
        Ok((places, frame(part(), LIST, 1000)?))
    }

    #[test]
    fn items_have_their_places_and_the_frame_the_rest() {
        let text = "\u{feff}{\"id\": 1,\n \"talk\": {\"n\": {}, \"messages\": [\n  {\"a\":\n 1} , 2\n]},\n\"end\": []}\n";
        let (places, frame) = of(text).expect("a document");
        let byte = |piece: &str| text.find(piece).expect("a piece") as u64;
        assert_eq!(places, [(3, byte("{\"a\"")), (4, byte("2\n"))]);
        assert_eq!((frame.items, frame.bom, frame.newline), (2, true, true));
        assert_eq!(frame.text, r#"{"id":1,"talk":{"n":{},"messages":[]},"end":[]}"#);
    }

    #[test]
    fn faults_are_reported_in_their_places() {
        let whole = "{\"talk\":{\"messages\":[\n1,\n{\"a\":2}]},\"end\":3}";
        for (wrong, code, line, piece) in [
            (whole.replace("2}", "x}"), Code::Syntax, 3, "x}"),
            (whole.replace(",\n", "\n"), Code::Syntax, 3, "{\"a\""),
            (whole.replace("3}", "x}"), Code::Syntax, 3, "x}"),
            (whole.replace("3}", "3}4"), Code::Glued, 3, "4"),
            (whole.replace("messages", "lines"), Code::NoHeader, 1, "{"),
            (whole.replace("\"end\"", "\"talk\""), Code::NoHeader, 1, "{"),
            (whole.replace("[\n1", "{\"b\":[\n1").replace("}]", "}]}"), Code::NoHeader, 1, "{"),
        ] {
            let error = of(&wrong).expect_err(&wrong);
            let at = error.position().expect("a position");
            let byte = wrong.find(piece).expect("a piece") as u64;
            assert_eq!((error.code(), at.line, at.byte), (code, line, byte), "{wrong}");
        }
        for cut in 0..whole.len() {
            let error = of(&whole[..cut]).expect_err(whole);
            assert_eq!(error.code(), Code::CutShort, "cut at {cut}");
        }
        let long = whole.replace('2', &"2".repeat(70_000));
        assert_eq!(of(&long).expect_err("too long").code(), Code::LineTooLong);
        assert!(
            frame(Box::new(&b"{\"talk\":{\"messages\":[\"\xff\"]}}"[..]), LIST, 99)
                .is_err_and(|error| error.code() == Code::NotUtf8)
        );
    }
}
