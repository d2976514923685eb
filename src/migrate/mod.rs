//! Migration, and copying, on the byte plane.
//!
//! Lines are read in blocks. The checks of a line that need no earlier lines are made first, by any
//! thread that has time (`ahead`). The new bytes of each line are decided in order, by one thread,
//! and written by any thread again, where the output allows that.

mod ahead;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Cannot, Error, Result};
use crate::format::{ByteLines, Cx, Format, OnError, Out, Plane, Target};
use crate::formats::lacks;
use crate::lines::{BOM, Line, Lines, give_back};
use crate::members::Scan;
use ahead::{Ahead, Over};
use std::io::{Read, Write};
use std::thread;

/// Result of a migration or a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The version that the input was read as.
    pub from: u32,
    /// The version of the output, where the session determined it.
    pub to: Option<u32>,
    /// Whether the output differs from the input.
    pub changed: bool,
    /// Whether the session was restored from its origin.
    pub restored: bool,
    /// Records read.
    pub records: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
}

/// Size, in bytes, of the pieces in which output is passed on.
const CHUNK: usize = 64 << 10;
/// Approximate size, in bytes, of the blocks in which lines are read and checked.
const BLOCK: usize = 256 << 10;
/// Size, in bytes, from which an input is large enough to borrow threads.
const LARGE: u64 = 2 << 20;
/// Maximum number of bytes before the header.
const LEAD: usize = 16 << 20;

/// Migrates one session to `target`, line by line, in the memory of its longest line.
///
/// A session that already has the target version passes byte for byte. Input that is not one record
/// a line stops the work, unless the options allow it; the output must not be used then.
///
/// # Errors
/// If the input is damaged, is not a session of the format, cannot reach the target, or if reading
/// or writing fails.
///
/// ```
/// use copyist::{diagnostic::Log, format::{Cx, Options, Target}, formats::pi, migrate};
/// let (options, log) = (Options::default(), Log::default());
/// let cx = Cx { options: &options, log: &log };
/// let old = concat!(
///     r#"{"type":"session","id":"a","timestamp":"2025-12-01T10:00:00.000Z","cwd":"/w"}"#, "\n",
///     r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"hi"}}"#, "\n",
/// );
/// let mut new = Vec::new();
/// migrate::run(&pi::FORMAT, Box::new(old.as_bytes()), &mut new, Target::Version(3), &cx).unwrap();
/// let new = String::from_utf8(new).unwrap();
/// assert!(new.starts_with(r#"{"type":"session","id":"a","timestamp":"2025-12-01T10:00:00.000Z","cwd":"/w","version":3}"#));
/// assert!(new.ends_with(r#""parentId":null}"#.to_owned().as_str()) || new.ends_with("null}\n"));
/// ```
pub fn run(
    format: &Format,
    input: Box<dyn Read + '_>,
    output: &mut dyn Write,
    target: Target,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    run_to(format, input, Out::Here(Box::new(output)), target, cx)
}

/// Migrates one session to `target`, where any thread may write the output of a large session, if
/// `output` allows that.
///
/// # Errors
/// The errors of [`run`].
pub fn run_to(
    format: &Format,
    input: Box<dyn Read + '_>,
    output: Out<'_>,
    target: Target,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let Some(kind) = format.plane else {
        let message = format!("{} is not one record a line", format.name);
        return Err(Error::request(Code::WrongFormat, message));
    };
    if let Target::Version(number) = target
        && format.version(number).is_none()
    {
        return Err(Error::request(Code::WrongVersion, lacks(format, number)));
    }
    let mut lines = Lines::new(input, cx.options.max_line);
    let bom = lines.skip_bom()?;
    let (ahead, own) = Ahead::new(kind, &cx.options.thread_budget, output);
    let (plane, out, done) = (None, ahead.buffer(), Outcome::default());
    let mut work = Work { cx, kind, target, bom, plane, out, own, done };
    thread::scope(|scope| {
        let _over = Over(&ahead);
        let mut spare = Vec::new();
        loop {
            while ahead.has_room()
                && let Some(block) = lines.take(BLOCK, &mut spare)?
            {
                if block.byte() >= LARGE {
                    ahead.borrow_help(scope);
                }
                ahead.push(block);
            }
            if let Some(block) = ahead.next() {
                let number = lines.position().line;
                work.out.reserve(block.size());
                block.lines(number).try_for_each(|(line, scan)| work.line(&line, scan))?;
                lines.passed(block.len());
                spare = ahead.recycle(block);
            } else {
                match lines.next() {
                    Ok(Some(line)) => work.line(&line, None)?,
                    Ok(None) => {
                        give_back(spare);
                        return Ok(());
                    }
                    Err(error) => {
                        cx.tolerate(error)?;
                        work.done.changed = true;
                    }
                }
            }
            work.hand_on(&ahead)?;
        }
    })?;
    work.finish(&ahead)
}

struct Work<'a> {
    cx: &'a Cx<'a>,
    kind: ByteLines,
    target: Target,
    bom: bool,
    plane: Option<Box<dyn Plane + 'a>>,
    out: Vec<u8>,
    /// Output that only this thread may write.
    own: Option<Box<dyn Write + 'a>>,
    done: Outcome,
}

impl<'a> Work<'a> {
    fn flush(&mut self, ahead: &Ahead<'_>) -> Result<()> {
        self.done.bytes_out += self.out.len() as u64;
        let Some(own) = &mut self.own else { return ahead.send(&mut self.out) };
        own.write_all(&self.out).cannot("write")?;
        self.out.clear();
        Ok(())
    }

    /// Passes on the output that is ready.
    fn hand_on(&mut self, ahead: &Ahead<'_>) -> Result<()> {
        // Whether a byte order mark stays in front is known only with the header.
        if self.out.len() >= CHUNK && self.plane.is_some() {
            self.flush(ahead)?;
        }
        if self.out.len() >= LEAD && self.plane.is_none() {
            let found = Diagnostic::new(Code::NoHeader, "no header after 16 MiB of other lines");
            return Err(Error::unfit(found));
        }
        Ok(())
    }

    fn finish(mut self, ahead: &Ahead<'_>) -> Result<Outcome> {
        let Some(mut plane) = self.plane.take().filter(|_| self.done.records > 0) else {
            return Err(Error::unfit(Diagnostic::of(Code::Empty)));
        };
        plane.finish();
        self.done.from = plane.from();
        self.flush(ahead)?;
        self.own.as_mut().map_or(Ok(()), |own| own.flush()).cannot("write")?;
        ahead.flush()?;
        Ok(self.done)
    }

    /// Takes a line, and the members found in it.
    fn line(&mut self, line: &Line<'_>, scan: Option<&Scan>) -> Result<()> {
        self.done.bytes_in = line.at.byte + line.bytes.len() as u64 + u64::from(line.terminated);
        let leads = || self.plane.is_none() && (self.kind.leads)(line.bytes);
        if line.is_blank() || leads() {
            self.out.extend_from_slice(line.bytes);
        } else if let Err(error) = self.record(line, scan) {
            self.done.changed |= self.cx.tolerate(error)? == OnError::Skip;
            if self.cx.options.on_error == OnError::Skip {
                return Ok(());
            }
            self.out.extend_from_slice(line.bytes);
        }
        if line.terminated {
            self.out.push(b'\n');
        } else {
            self.last(line);
        }
        Ok(())
    }

    fn record(&mut self, line: &Line<'_>, scan: Option<&Scan>) -> Result<()> {
        if self.plane.is_none() {
            let plane = (self.kind.open)(line, self.target, self.cx)?;
            self.done.changed |= plane.changes();
            self.plane = Some(plane);
            if self.bom {
                self.begin_with_bom();
            }
        }
        let mut found = Scan::default();
        let scan = match scan {
            Some(scan) => Some(scan),
            None => (self.kind.check)(line, &mut found)?.then_some(&found),
        };
        let Some(plane) = &mut self.plane else { return Ok(()) };
        plane.line(line, scan, &mut self.out)?;
        self.done.records += 1;
        Ok(())
    }

    fn begin_with_bom(&mut self) {
        let fate = if self.done.changed { "removed" } else { "kept" };
        let message = format!("{}, {fate}", Code::ByteOrderMark.title());
        self.cx.report(Diagnostic::new(Code::ByteOrderMark, message));
        if !self.done.changed {
            self.out.splice(..0, BOM.iter().copied());
        }
    }

    /// Reports the last line, which lacks its line ending.
    fn last(&mut self, line: &Line<'_>) {
        if line.is_blank() {
            return;
        }
        let fate = if self.done.changed { "added" } else { "left so" };
        let message = format!("{}, {fate}", Code::NoFinalNewline.title());
        self.cx.report(Diagnostic::new(Code::NoFinalNewline, message).at(line.at));
        if self.done.changed {
            self.out.push(b'\n');
        }
    }
}
