//! Walk over one part whose records are lines: the part is shown to the format until it has
//! decided, then written.

use super::pieces::{Found, Part, Pieces};
use crate::diagnostic::Code;
use crate::error::{Cannot, Result};
use crate::format::{Cx, LineRepair, Records, RepairIo, RepairOptions};
use crate::position::Position;
use std::io::Write;

/// Size, in bytes, of the pieces in which output is passed on.
const CHUNK: usize = 64 << 10;

/// One part of lines that is being repaired.
pub struct Walk<'a> {
    part: String,
    pieces: Pieces<'a>,
    cx: &'a Cx<'a>,
    /// Place at which the blank lines at the end begin.
    blank: Option<Position>,
}

impl<'a> Walk<'a> {
    /// Begins for a part by its name.
    pub fn new(part: &str, kind: &'static Records, wanted: &RepairOptions, cx: &'a Cx<'a>) -> Self {
        Self {
            part: part.to_owned(),
            pieces: Pieces::new(kind, wanted.salvage, cx),
            cx,
            blank: None,
        }
    }

    /// Shows everything until the format has decided.
    pub fn look(&mut self, io: &mut dyn RepairIo, mend: &mut dyn LineRepair) -> Result<()> {
        loop {
            let source = io.parts().open(&self.part)?;
            self.blank = None;
            let blank = &mut self.blank;
            self.pieces.walk(source, &mut |part| Ok(look(mend, part, blank)))?;
            if !mend.needs_another_pass() {
                return Ok(());
            }
        }
    }

    /// Returns the findings.
    pub fn found(&self) -> Found {
        self.pieces.found
    }

    /// Whether the part is changed.
    pub fn changes(&self, mend: &dyn LineRepair) -> bool {
        self.pieces.found.damaged || mend.changes() || self.cut(mend).is_some()
    }

    /// Whether bytes of the part are set aside.
    pub fn removes(&self, mend: &dyn LineRepair) -> bool {
        self.pieces.found.aside > 0 || mend.removes() || self.cut(mend).is_some()
    }

    /// Returns where blank lines begin that are set aside, and why.
    fn cut(&self, mend: &dyn LineRepair) -> Option<(Position, Code)> {
        self.blank.zip(mend.blank_end())
    }

    /// Ends the repair of a session that is this part alone: writes it. Returns whether it is
    /// changed.
    pub fn settle(self, io: &mut dyn RepairIo, mend: &mut dyn LineRepair) -> Result<bool> {
        io.begin(self.removes(mend))?;
        let changed = self.changes(mend);
        self.write(io, mend)?;
        Ok(changed)
    }

    /// Writes the repaired part.
    pub fn write(mut self, io: &mut dyn RepairIo, mend: &mut dyn LineRepair) -> Result<()> {
        if !self.changes(mend) {
            return io.keep(&self.part);
        }
        let cut = self.cut(mend);
        if let Some((at, code)) = cut {
            self.cx.report_at(code, at);
        }
        let mut out = Out { bytes: Vec::with_capacity(2 * CHUNK), file: io.create(&self.part)? };
        let source = io.parts().open(&self.part)?;
        let part = &self.part;
        mend.begin(&mut out.bytes);
        self.pieces.walk(source, &mut |piece| {
            write(part, piece, io, mend, cut, &mut out)?;
            out.pass(CHUNK).map(|()| true)
        })?;
        mend.finish(&mut out.bytes);
        out.pass(0)?;
        out.file.flush().cannot("write")
    }
}

fn look(mend: &mut dyn LineRepair, part: Part<'_>, blank: &mut Option<Position>) -> bool {
    match part {
        Part::Line(line) => {
            mend.line(&line);
            true
        }
        Part::Blank(_, at, _) => {
            blank.get_or_insert(at);
            mend.blank();
            true
        }
        Part::Record(record) => {
            let taken = mend.look(&record);
            if taken && mend.is_kept() {
                *blank = None;
            }
            taken
        }
        Part::Aside(bytes, _, code) => {
            mend.quarantined(bytes, code);
            true
        }
    }
}

fn write(
    part: &str,
    piece: Part<'_>,
    io: &mut dyn RepairIo,
    mend: &mut dyn LineRepair,
    cut: Option<(Position, Code)>,
    out: &mut Out,
) -> Result<()> {
    match piece {
        Part::Line(_) => Ok(()),
        Part::Blank(bytes, at, terminated) => {
            let ending: &[u8] = if terminated { b"\n" } else { b"" };
            match cut.filter(|(from, _)| at.byte >= from.byte) {
                Some((_, code)) => io.aside(part, &[bytes, ending].concat(), at, code),
                None => {
                    out.bytes.extend_from_slice(bytes);
                    out.bytes.extend_from_slice(ending);
                    Ok(())
                }
            }
        }
        Part::Record(record) => {
            let gone = mend.write(&record, &mut out.bytes);
            for (bytes, code) in mend.removed_parts() {
                io.aside(part, &bytes, record.at, code)?;
            }
            match gone {
                // The bytes of a record that was already repaired are there already, unless only
                // backslashes were doubled.
                Some(code) if record.repaired.is_none_or(|code| code == Code::EscapeRead) => {
                    io.aside(part, record.bytes, record.at, code)
                }
                _ => Ok(()),
            }
        }
        Part::Aside(bytes, at, code) => io.aside(part, bytes, at, code),
    }
}

/// An output while it is written.
struct Out {
    bytes: Vec<u8>,
    file: Box<dyn Write>,
}

impl Out {
    /// Passes the output on, if it has reached this size.
    fn pass(&mut self, much: usize) -> Result<()> {
        if self.bytes.len() < much {
            return Ok(());
        }
        let written = self.file.write_all(&self.bytes);
        self.bytes.clear();
        written.cannot("write")
    }
}
