//! History in another rollout: a fork, and a segment behind turns that were taken back, name the
//! rollout, and the number and the byte of the line before which they continue. Release 0.169.0 goes
//! by the byte.
//!
//! The other rollout is looked for among the sessions beside this one, and only read.

use super::wire;
use crate::error::Result;
use crate::format::Parts;
use crate::ids::is_uuid;
use crate::json::Json;
use crate::lines::{Lines, OwnedLine};
use crate::parts::Searched;
use std::io::Read;

/// Folders in which Codex keeps rollouts.
const FOLDERS: &[&str] = &["sessions", "archived_sessions"];

/// A rollout whose first lines are the history of another.
struct Base {
    /// The identifier of its session.
    thread: String,
    lines: Lines<Box<dyn Read>>,
    /// The number of the first line that is not history, and the byte at which the history ends.
    end: f64,
    end_byte: Option<f64>,
    /// The line about its session.
    meta: Option<Json>,
}

impl Base {
    /// Opens the rollout to which the line about a session refers. `None` if it refers to none;
    /// `Some(None)` if the rollout is not there.
    fn of(meta: &Json, parts: &mut dyn Parts, max_line: usize) -> Result<Option<Option<Self>>> {
        let Some(base) = reference(meta) else { return Ok(None) };
        let thread = base.text_of("thread_id");
        let Some(thread) = thread.filter(|id| is_uuid(id)) else { return Ok(Some(None)) };
        let end = base.member("end_ordinal_exclusive").and_then(|end| end.float());
        let end_byte = base.member("end_byte_offset").and_then(|end| end.float());
        let end_byte = end_byte.filter(|end| *end > 0.0);
        let Some(file) = parts.find(FOLDERS, &format!("-{thread}.jsonl"))? else {
            return Ok(Some(None));
        };
        let mut lines = Lines::new(file, max_line);
        lines.skip_bom()?;
        let mut base = Self { thread, lines, end: end.unwrap_or(0.0), end_byte, meta: None };
        // Codex refuses a rollout that does not begin with the line about its session.
        base.meta = base.read()?.map(|(line, _)| line).filter(is_meta);
        Ok(Some(base.meta.is_some().then_some(base)))
    }

    /// Returns the next line that Codex can parse, and the byte at which it ends.
    fn read(&mut self) -> Result<Option<(Json, u64)>> {
        loop {
            let OwnedLine { bytes, at, .. } = match self.lines.next_owned() {
                Ok(Some(kept)) => kept,
                Ok(None) => return Ok(None),
                Err(error) if error.is_recoverable() => continue,
                Err(error) => return Err(error),
            };
            let line = Json::read(&bytes).ok().filter(|_| std::str::from_utf8(&bytes).is_ok());
            if let Some(line) = line {
                return Ok(Some((line, at.byte + bytes.len() as u64)));
            }
        }
    }

    /// Returns the next line of the history, or the line about the session. The history ends at a
    /// byte, or at a number if the reference names no byte.
    fn next(&mut self) -> Result<Option<Json>> {
        if let Some(meta) = self.meta.take() {
            return Ok(Some(meta));
        }
        while let Some((line, end)) = self.read()? {
            let number = line.member("ordinal").and_then(|number| number.float());
            let counts = match self.end_byte {
                Some(end_byte) => number.is_some() && end as f64 <= end_byte,
                None => number.is_some_and(|number| number < self.end),
            };
            if is_meta(&line) || counts {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }
}

fn is_meta(line: &Json) -> bool {
    line.member("type").is_some_and(|kind| kind.text().as_deref() == Some(wire::META))
}

/// Returns the reference to another rollout in the payload about a session.
pub fn reference(meta: &Json) -> Option<Json> {
    meta.member(wire::HISTORY_BASE).filter(Json::is_object)
}

/// Whether the payload about a session refers to a rollout that is not there.
pub fn is_lost(meta: &Json, parts: &mut dyn Parts, max_line: usize) -> Result<bool> {
    Ok(matches!(Base::of(meta, parts, max_line)?, Some(None)))
}

/// Looks for a rollout that names this session as its base.
pub fn fork_of(thread: &str, parts: &mut dyn Parts) -> Searched {
    let is_fork = |line: &[u8]| {
        let line = Json::read(&bytes::Bytes::copy_from_slice(line.trim_ascii())).ok();
        let base = line.and_then(|line| reference(&line.member("payload")?));
        let base = base.and_then(|base| base.member("thread_id"));
        base.is_some_and(|named| named.text().as_deref() == Some(thread))
    };
    parts.search(FOLDERS, &is_fork)
}

/// Lines of the rollouts on which a session is based.
#[derive(Default)]
pub struct History {
    /// The rollouts that are being read, each based on the next one.
    open: Vec<Base>,
    /// Whether a rollout is missing.
    pub lost: bool,
}

impl History {
    /// Begins with the payload about a session.
    pub fn begin(&mut self, meta: &Json, parts: &mut dyn Parts, max_line: usize) -> Result<()> {
        match Base::of(meta, parts, max_line)? {
            // A circle has no end.
            Some(Some(base)) if self.open.iter().all(|open| open.thread != base.thread) => {
                self.open.push(base);
            }
            Some(_) => self.lost = true,
            None => {}
        }
        Ok(())
    }

    /// Returns the next line.
    pub fn next(&mut self, parts: &mut dyn Parts, max_line: usize) -> Result<Option<Json>> {
        while let Some(base) = self.open.last_mut() {
            match base.next()? {
                None => drop(self.open.pop()),
                Some(line) if is_meta(&line) => {
                    if let Some(meta) = line.member("payload") {
                        self.begin(&meta, parts, max_line)?;
                    }
                }
                line => return Ok(line),
            }
        }
        Ok(None)
    }
}
