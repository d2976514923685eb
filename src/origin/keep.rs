//! The origin of a session while the session is written: its records, and the digests of the parts.

use super::file::{Digest, Header, Measure, Writing, stream_of};
use crate::error::Result;
use crate::format::{Change, Format, ReadSeek, Sink, Spool};
use crate::formats::canonical;
use crate::record::Record;
use crate::stage::Like;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Lines are compressed in pieces of this size.
const PIECE: usize = 128 << 10;

/// Keeps the records of a session as they are read.
pub struct Keep {
    writing: Writing,
    lines: Vec<u8>,
    /// How many records it has, and how many of them this reading gave.
    records: u64,
    given: u64,
}

impl Keep {
    /// Begins an origin; `None` where none can stand.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(sink: &mut dyn Sink, header: &Header) -> Result<Option<Self>> {
        let Some(file) = sink.origin()? else { return Ok(None) };
        let writing = Writing::new(file, header)?;
        Ok(Some(Self { writing, lines: Vec::with_capacity(PIECE), records: 0, given: 0 }))
    }

    /// The session is read from its beginning, once more perhaps.
    pub fn begin_reading(&mut self) {
        self.given = 0;
    }

    /// Takes a record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn take(&mut self, record: &Record) -> Result<()> {
        self.given += 1;
        if self.given <= self.records {
            return Ok(());
        }
        self.records = self.given;
        canonical::line(record, &mut self.lines);
        if self.lines.len() < PIECE {
            return Ok(());
        }
        self.writing.lines(&self.lines)?;
        self.lines.clear();
        Ok(())
    }

    /// Ends the origin of a session whose parts were `written`, and says where it goes.
    ///
    /// # Errors
    /// If it cannot be written, or something else stands there.
    pub fn finish(mut self, format: &Format, sink: &mut Measured<'_>) -> Result<()> {
        self.writing.lines(&self.lines)?;
        let written = std::mem::take(&mut sink.written);
        let (names, measures): (Vec<_>, Vec<_>) = written.parts.into_iter().unzip();
        let parts: Vec<Digest> = measures.iter().map(|part| part.borrow().digest()).collect();
        let stream = self.writing.finish(parts, written.shares)?;
        let same = move |other: &mut dyn ReadSeek| stream_of(other).as_ref() == Some(&stream);
        sink.sink.place_origin(format.main_of(&names), Rc::new(same))
    }
}

/// What was written of a session.
#[derive(Default)]
struct Written {
    parts: Vec<(String, Rc<RefCell<Measure>>)>,
    /// Whether anything goes into files that sessions share.
    shares: bool,
    /// How many parts there were at the mark.
    mark: usize,
}

/// A sink whose parts are measured as they are written.
pub struct Measured<'s> {
    sink: &'s mut dyn Sink,
    written: Written,
}

impl<'s> Measured<'s> {
    /// Over this sink.
    pub fn over(sink: &'s mut dyn Sink) -> Self {
        Self { sink, written: Written::default() }
    }
}

/// A place like another one, of which nothing is left but the digests of what is written there.
pub struct Digesting<'s> {
    sink: &'s mut dyn Sink,
    place: Like,
    parts: Vec<Rc<RefCell<Measure>>>,
}

impl<'s> Digesting<'s> {
    /// Room comes from this sink.
    pub fn like(sink: &'s mut dyn Sink, place: Like) -> Self {
        Self { sink, place, parts: Vec::new() }
    }

    /// The digests of the parts.
    pub fn digests(&self) -> Vec<Digest> {
        self.parts.iter().map(|part| part.borrow().digest()).collect()
    }
}

impl Sink for Digesting<'_> {
    fn create(&mut self, _: &str) -> Result<Box<dyn Write>> {
        let measure = Rc::<RefCell<Measure>>::default();
        self.parts.push(Rc::clone(&measure));
        Ok(Box::new(Part { inner: Box::new(io::sink()), measure }))
    }

    fn add(&mut self, _: &str, _: &[u8]) -> Result<bool> {
        Ok(true)
    }

    fn change(&mut self, _: &str, _: Change) -> Result<()> {
        Ok(())
    }

    fn is_native(&self) -> bool {
        self.place.is_native
    }

    fn takes_parts(&self) -> bool {
        self.place.takes_parts
    }

    fn stem(&self) -> Option<String> {
        self.place.stem.clone()
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.sink.spool()
    }
}

/// A part that is measured.
struct Part {
    inner: Box<dyn Write>,
    measure: Rc<RefCell<Measure>>,
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.measure.borrow_mut().update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Sink for Measured<'_> {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        let (inner, measure) = (self.sink.create(name)?, Rc::default());
        self.written.parts.push((name.to_owned(), Rc::clone(&measure)));
        Ok(Box::new(Part { inner, measure }))
    }

    fn add(&mut self, name: &str, contents: &[u8]) -> Result<bool> {
        self.written.shares = true;
        self.sink.add(name, contents)
    }

    fn change(&mut self, name: &str, change: Change) -> Result<()> {
        self.written.shares = true;
        self.sink.change(name, change)
    }

    fn is_native(&self) -> bool {
        self.sink.is_native()
    }

    fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        self.sink.take(nth)
    }

    fn is_in_place(&self) -> bool {
        self.sink.is_in_place()
    }

    fn takes_parts(&self) -> bool {
        self.sink.takes_parts()
    }

    fn stem(&self) -> Option<String> {
        self.sink.stem()
    }

    fn mark(&mut self) -> bool {
        self.written.mark = self.written.parts.len();
        self.sink.mark()
    }

    fn forget(&mut self) {
        self.written.parts.truncate(self.written.mark);
        self.sink.forget();
    }

    fn forgets(&self) -> bool {
        self.sink.forgets()
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.sink.spool()
    }
}
