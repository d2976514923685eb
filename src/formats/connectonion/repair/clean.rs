//! Lines of a damaged file, without bytes that certainly belong to none of them.

use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::Cx;
use crate::lines::Lines;
use crate::position::Position;
use std::io::Read;

/// A line in pieces, each with its position, because other bytes may have been in the line; and
/// whether the line has an ending.
pub type Line = (Vec<(Position, Vec<u8>)>, bool);

/// Item of a walk over lines.
pub enum Found {
    /// A line.
    Line(Line),
    /// Bytes that belong to no line.
    Aside(Vec<u8>, Position, Code),
}

/// Lines without bytes that certainly belong to none of them: the marks of a merge conflict with
/// one of its sides, and NUL bytes.
pub struct Clean {
    lines: Lines<Box<dyn Read>>,
    /// The pieces of a line that has not ended yet.
    begun: Vec<(Position, Vec<u8>)>,
    /// The rest of a line that was begun, and whether it has an ending.
    rest: Option<(Position, Vec<u8>, bool)>,
    /// Whether the first side of a merge is open, and whether the second is.
    merging: (bool, bool),
}

impl Clean {
    /// Walks over a part.
    pub fn over(part: Box<dyn Read>, cx: &Cx<'_>) -> Result<Self> {
        let mut lines = Lines::new(part, cx.options.max_line);
        lines.skip_bom()?;
        Ok(Self { lines, begun: Vec::new(), rest: None, merging: (false, false) })
    }

    /// Returns the next line, or bytes that belong to none, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<Found>> {
        let Some((at, mut bytes, terminated)) = self.line()? else {
            let begun = std::mem::take(&mut self.begun);
            return Ok((!begun.is_empty()).then_some(Found::Line((begun, false))));
        };
        let aside = self.merged(&mut bytes, at);
        if let Some(aside) = aside.or_else(|| self.nuls(&mut bytes, at, terminated)) {
            return Ok(Some(aside));
        }
        let mut line = std::mem::take(&mut self.begun);
        line.push((at, bytes));
        Ok(Some(Found::Line((line, terminated))))
    }

    /// Returns the next line, or the rest of a line.
    fn line(&mut self) -> Result<Option<(Position, Vec<u8>, bool)>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        Ok(self.lines.next()?.map(|line| {
            let end: &[u8] = if line.terminated { b"\n" } else { b"" };
            (line.at, [line.bytes, end].concat(), line.terminated)
        }))
    }

    /// Removes the marks of a merge conflict from a line: returns the removed bytes, and keeps the
    /// others.
    fn merged(&mut self, line: &mut Vec<u8>, at: Position) -> Option<Found> {
        let text = line.trim_ascii_end();
        let aside = |bytes, at| Some(Found::Aside(bytes, at, Code::MergeRemoved));
        if self.merging.1 {
            if text.starts_with(b">>>>>>> ") {
                self.merging = (false, false);
            }
            return aside(std::mem::take(line), at);
        }
        if text.starts_with(b"<<<<<<< ") {
            self.merging = (true, false);
            return aside(std::mem::take(line), at);
        }
        let kept = text.strip_suffix(b"=======").filter(|_| self.merging.0)?.len();
        self.merging.1 = true;
        let gone = line.split_off(kept);
        if kept > 0 {
            self.begun.push((at, std::mem::take(line)));
        }
        aside(gone, at.plus(kept))
    }

    /// Removes a run of NUL bytes from the beginning of a line and returns it. Text before a run in
    /// its line is torn.
    fn nuls(&mut self, line: &mut Vec<u8>, at: Position, terminated: bool) -> Option<Found> {
        let length = line.iter().take_while(|b| **b == 0).count();
        if length == 0 || !self.begun.is_empty() {
            return None;
        }
        let rest = line.split_off(length);
        let mut run = std::mem::take(line);
        if rest.trim_ascii().is_empty() {
            run.extend_from_slice(&rest);
        } else {
            self.rest = Some((at.plus(length), rest, terminated));
        }
        Some(Found::Aside(run, at, Code::NulsRemoved))
    }
}
