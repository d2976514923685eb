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

/// Size in bytes of the pieces in which lines are compressed.
const PIECE: usize = 128 << 10;

/// Keeps the records of a session as they are read.
pub struct Keep {
    writing: Writing,
    lines: Vec<u8>,
    /// Number of records kept, and number of records that this reading gave.
    records: u64,
    given: u64,
}

impl Keep {
    /// Begins an origin; `None` where the sink has no place for one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(sink: &mut dyn Sink, header: &Header) -> Result<Option<Self>> {
        let Some(file) = sink.origin()? else { return Ok(None) };
        let writing = Writing::new(file, header)?;
        Ok(Some(Self { writing, lines: Vec::with_capacity(PIECE), records: 0, given: 0 }))
    }

    /// Prepares for a reading of the session from its beginning, which may be a repeated one.
    pub fn begin_reading(&mut self) {
        self.given = 0;
    }

    /// Keeps a record, unless an earlier reading gave it.
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

    /// Ends the origin of a session whose parts `sink` has measured, and places it.
    ///
    /// # Errors
    /// If it cannot be written, or something else is there.
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

/// Parts of a session that were written.
#[derive(Default)]
struct Written {
    parts: Vec<(String, Rc<RefCell<Measure>>)>,
    /// Whether anything is written into files that sessions share.
    shares: bool,
    /// Number of parts at the mark.
    mark: usize,
}

/// Sink whose parts are measured as they are written.
pub struct Measured<'s> {
    sink: &'s mut dyn Sink,
    written: Written,
}

impl<'s> Measured<'s> {
    /// Wraps a sink.
    pub fn over(sink: &'s mut dyn Sink) -> Self {
        Self { sink, written: Written::default() }
    }
}

/// Sink for a place like another one, which keeps only the digests of what is written.
pub struct Digesting<'s> {
    sink: &'s mut dyn Sink,
    place: Like,
    parts: Vec<Rc<RefCell<Measure>>>,
}

impl<'s> Digesting<'s> {
    /// Creates a sink for a place like this one; temporary room comes from `sink`.
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

    fn change(&mut self, _: &str, _: Box<dyn Change>) -> Result<()> {
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

/// Part that is measured as it is written.
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

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
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
