//! Writer of the stream: one record per line, `kind` first, the fields in the model's order.

use crate::error::{Cannot, Result};
use crate::format::{Cx, Sink, Version, Writer, Writing};
use crate::lines::empty;
use crate::mapping::record_text::line;
use crate::position::Located;
use crate::record::Record;
use std::io::Write;

/// Opens a stream for writing.
pub fn open<'a>(
    sink: &'a mut dyn Sink,
    _version: &'static Version,
    _cx: &'a Cx<'a>,
) -> Writing<'a> {
    Ok(Box::new(Stream { to: sink.create("")?, out: Vec::new() }))
}

/// Size in bytes at which output is passed on.
const CHUNK: usize = 256 << 10;

struct Stream {
    to: Box<dyn Write>,
    out: Vec<u8>,
}

impl Stream {
    fn flush(&mut self) -> Result<()> {
        self.to.write_all(&self.out).cannot("write")?;
        empty(&mut self.out);
        Ok(())
    }
}

impl Writer for Stream {
    fn record(&mut self, record: &Located<Record>) -> Result<()> {
        line(&record.value, &mut self.out);
        if self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()?;
        self.to.flush().cannot("write")
    }
}
