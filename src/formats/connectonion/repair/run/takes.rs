//! Copies of a run in its file: a second writer begins the file from the beginning.

use super::super::State;
use super::super::items::Item;
use super::super::resume::Resume;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::format::{RepairIo, RepairOptions};
use crate::ids::fingerprint;
use crate::json::{Json, without_nan};
use std::collections::{BTreeMap, HashSet};
use std::io::Read;

/// One copy of the run.
#[derive(Debug, Default)]
pub struct Take {
    names: Vec<String>,
    messages: u64,
    /// Hashes of the lines, by which a repeated line is distinguished from other text.
    lines: HashSet<u64>,
    /// Whether a line of its header was not UTF-8.
    pub patched: bool,
    /// Messages that were not whole, by their number, and the repair of each.
    pub done: BTreeMap<u64, Code>,
    /// Messages that a model's interface would refuse.
    pub talk: Resume,
    /// Whether lines end with `\r\n`.
    pub crlf: bool,
    /// Whether lines that stay are behind the messages.
    behind: bool,
}

/// The copy of the run that a walk is in.
#[derive(Debug, Default)]
pub struct CurrentCopy {
    take: Option<usize>,
    /// Whether an item other than stray bytes came since the last header line.
    behind: bool,
}

impl CurrentCopy {
    /// Returns the index of the copy to which the next item belongs: a header line behind any other
    /// item begins another copy.
    pub fn of(&mut self, item: &Item) -> usize {
        let header = matches!(item, Item::Header(..));
        let take = match self.take {
            Some(take) => take + usize::from(header && self.behind),
            None => 0,
        };
        self.take = Some(take);
        self.behind = !header && (self.behind || !matches!(item, Item::Aside(..)));
        take
    }
}

/// The file, and a second reading of it if there are lines behind its messages.
pub type Sources = (Box<dyn Read>, Option<Box<dyn Read>>);

/// All copies of the run in a file.
#[derive(Debug, Default)]
pub struct Takes {
    all: Vec<Take>,
    place: CurrentCopy,
    /// Index of the copy that stays.
    pub best: usize,
    /// Whether any item is not a line of a run.
    has_other_items: bool,
    /// Whether the lines of messages do not form a list.
    pub unlisted: bool,
    /// Whether a model's interface must take the messages.
    resumable: bool,
}

impl Takes {
    /// Makes a list without copies.
    pub fn new(wanted: &RepairOptions, state: &State) -> Self {
        let (resumable, unlisted) = (wanted.resumable, state.unlisted);
        Self { resumable, unlisted, ..Self::default() }
    }

    /// Adds an item of the first walk.
    ///
    /// # Errors
    /// None; a walk expects a result.
    pub fn item(&mut self, item: &Item) -> Result<()> {
        if self.place.of(item) >= self.all.len() {
            self.all.push(Take::default());
        }
        let Some(take) = self.all.last_mut() else { return Ok(()) };
        match item {
            Item::Header(name, line, _, code) => {
                take.names.extend(name.clone());
                take.lines.insert(hash(line));
                take.patched |= code.is_some();
                take.crlf |= line.ends_with(b"\r\n");
            }
            Item::Message(message, _, code) => {
                take.messages += 1;
                take.lines.insert(hash(message));
                take.done.extend(code.map(|code| (take.messages, code)));
                if self.resumable {
                    let plain = without_nan(message).unwrap_or_else(|| message.clone());
                    take.talk.look(&Json::trusted(plain.into()));
                }
            }
            Item::Behind(line, _) => {
                take.behind = true;
                take.lines.insert(hash(line));
            }
            Item::Aside(..) => self.has_other_items = true,
            Item::Frame(..) => {}
        }
        Ok(())
    }

    /// Decides which copy stays: of those with the most messages, the last.
    pub fn decide(&mut self) {
        let best = self.all.iter().enumerate().max_by_key(|(place, take)| (take.messages, *place));
        self.best = best.map_or(0, |(place, _)| place);
        self.all.iter_mut().for_each(|take| take.talk.close());
    }

    /// Opens the file for a walk that writes.
    pub fn sources(&self, io: &mut dyn RepairIo) -> Result<Sources> {
        let behind = self.best().is_some_and(|take| take.behind);
        let again = behind.then(|| io.parts().main()).transpose()?;
        Ok((io.parts().main()?, again))
    }

    /// Returns the copy that stays.
    pub fn best(&self) -> Option<&Take> {
        self.all.get(self.best)
    }

    /// Whether a model's interface would refuse anything.
    pub fn mends(&self) -> bool {
        self.best().is_some_and(|take| take.talk.pairing().changes())
    }

    /// Whether the file has only one copy, no stray bytes, and exactly this number of messages.
    pub fn are_all(&self, messages: u64) -> bool {
        self.all.len() == 1 && !self.has_other_items && self.messages() == messages
    }

    /// Returns the number of messages in the copy that stays.
    pub fn messages(&self) -> u64 {
        self.best().map_or(0, |take| take.messages)
    }

    /// Returns the number of messages after the repair.
    pub fn remaining(&self) -> u64 {
        self.best().map_or(0, |take| take.talk.pairing().count(take.messages))
    }

    /// Returns the number of header members in all copies.
    pub fn headers(&self) -> usize {
        self.all.iter().map(|take| take.names.len()).sum()
    }

    /// Returns why a line is removed that is not one of those that stay.
    pub fn code_of(&self, line: &[u8]) -> Code {
        let same = self.best().is_some_and(|take| take.lines.contains(&hash(line)));
        if same { Code::DuplicateRemoved } else { Code::StraySetAside }
    }

    /// Whether the copy that stays has a member of this name.
    pub fn has(&self, name: &str) -> bool {
        self.best().is_some_and(|take| take.names.iter().any(|own| own == name))
    }
}

fn hash(line: &[u8]) -> u64 {
    fingerprint(line.trim_ascii_end())
}
