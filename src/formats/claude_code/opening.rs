//! Facts about a session that must be known before its first record, from one reading.

use super::about::{About, FIRST, SECOND};
use super::chain::Chain;
use super::files;
use super::links::{Facts, Lines};
use super::members::Members;
use super::older::Older;
use crate::error::Result;
use crate::format::{Options, Parts};
use crate::framing::{FramedLines, ParsedLines};
use crate::lines::Line;
use crate::threads::ThreadBudget;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

/// Facts about a session.
#[derive(Debug)]
pub struct Opening {
    /// Length of the longest line that was looked at, and the limit above which there are others.
    longest: usize,
    limit: Option<usize>,
    pub about: About,
    pub version: u32,
    /// Findings of version 1 in the lines, if the session is of it.
    pub older: Option<Older>,
    pub chain: Arc<Chain>,
    /// Keys of all identifiers, of a session with further parts.
    pub ids: HashSet<u64>,
}

/// Returns the version of a session. It is read only at its beginning, if a release of version 2
/// began it and nothing there is of version 1, or if the lines there are of version 1 whatever
/// follows.
///
/// # Errors
/// If the session cannot be read.
pub fn settle(parts: &mut dyn Parts, limit: usize) -> Result<u32> {
    // The records of a small session will need all lines.
    if parts.known_size().is_none_or(|size| size > Options::default().small()) {
        let bytes = files::head(&mut *parts.main()?)?;
        let mut older = Older::default();
        for line in bytes.split(|b| *b == b'\n') {
            Members::of(line).into_iter().for_each(|members| older.line(line, &members));
        }
        if About::of(&bytes).is_of_a_new_release() && !older.is_first(true) {
            return Ok(SECOND);
        }
        if older.is_first(false) {
            return Ok(FIRST);
        }
    }
    Opening::of(parts, limit, &ThreadBudget::default()).map(|opening| opening.version)
}

impl Opening {
    /// Looks at a session, unless an earlier reading did.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of(
        parts: &mut dyn Parts,
        limit: usize,
        thread_budget: &ThreadBudget,
    ) -> Result<Rc<Self>> {
        let known = parts.memo().and_then(|memo| memo.get::<Self>());
        let holds = |known: &Rc<Self>| known.limit.map_or(known.longest <= limit, |at| at == limit);
        if let Some(known) = known.filter(holds) {
            return Ok(known);
        }
        let new = Rc::new(Self::read(parts, limit, thread_budget)?);
        parts.memo().into_iter().for_each(|memo| memo.keep(Rc::clone(&new)));
        Ok(new)
    }

    fn read(parts: &mut dyn Parts, limit: usize, thread_budget: &ThreadBudget) -> Result<Self> {
        let mut looking = Looking::default();
        let lines = FramedLines::over(parts.main()?, limit)?;
        let mut lines = ParsedLines::of(lines, |line| Found::of(&line.bytes), thread_budget);
        loop {
            match lines.next() {
                Ok(None) => break,
                Ok(Some((line, Some(found)))) => looking.found(line.at.byte, &line.bytes, found),
                Ok(Some((_, None))) => {}
                // The reader reports it.
                Err(error) if error.is_recoverable() => looking.limit = Some(limit),
                Err(error) => return Err(error),
            }
        }
        looking.finish(parts)
    }
}

impl Looking {
    /// Begins to look at a session, unless an earlier reading did.
    pub fn unless_known(parts: &dyn Parts) -> Option<Self> {
        let known = parts.memo().and_then(|memo| memo.get::<Opening>());
        known.is_none().then(Self::default)
    }

    /// Keeps the facts for later readings.
    pub fn keep(self, parts: &mut dyn Parts) {
        // What cannot be read is reported by the reader.
        let Ok(new) = self.finish(parts).map(Rc::new) else { return };
        parts.memo().into_iter().for_each(|memo| memo.keep(Rc::clone(&new)));
    }

    fn finish(self, parts: &mut dyn Parts) -> Result<Opening> {
        let Self { mut about, older, links, is_new, longest, limit } = self;
        let names = parts.names();
        let beside = || older.flat(&names).iter().any(|flat| names.contains(&flat.file()));
        let is_new = is_new.unwrap_or_else(|| about.is_of_a_new_release() && !older.is_first(true));
        let is_first = !is_new && (older.is_first(true) || beside());
        // A transcript may be empty, while the files of sub-agents beside it name the session.
        if about.session_id().is_none()
            && let Some(side) = names.iter().find(|name| files::is_flat(name))
        {
            about.complete(&About::of(&files::head(&mut *parts.open(side)?)?));
        }
        about.complete_name(parts.file_name().as_deref());
        let several = names.len() > 1;
        let ids = links.links().iter().filter(|_| several).map(|link| link.id).collect();
        let version = if is_first { FIRST } else { SECOND };
        let (older, chain) = (Some(older).filter(|_| is_first), Arc::new(links.chain()));
        Ok(Opening { longest, limit, about, version, older, chain, ids })
    }
}

/// State of the reading.
#[derive(Default)]
pub struct Looking {
    longest: usize,
    limit: Option<usize>,
    about: About,
    older: Older,
    links: Lines,
    /// Whether the beginning shows a release that writes nothing of version 1, once it was read.
    is_new: Option<bool>,
}

/// Facts in a line by itself.
struct Found {
    members: Members,
    facts: Facts,
}

impl Found {
    fn of(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let mut facts = Facts::default();
        let members = Members::showing(line, &mut |cursor| {
            facts = Facts::of(line, cursor)?;
            Some(())
        })?;
        Some(Self { members, facts })
    }
}

impl Looking {
    /// Looks at a line of the reading that repair makes. Returns its members.
    pub fn line(&mut self, line: &Line<'_>) -> Option<Members> {
        let cr = usize::from(line.terminated && line.bytes.ends_with(b"\r"));
        let bytes = line.bytes.get(..line.bytes.len() - cr)?;
        let found = Found::of(bytes)?;
        let members = found.members;
        self.found(line.at.byte, bytes, found);
        Some(members)
    }

    fn found(&mut self, at: u64, line: &[u8], Found { members, facts }: Found) {
        self.longest = self.longest.max(line.len());
        let in_head = at + line.len() as u64 <= About::HEAD;
        let line = line.trim_ascii();
        if in_head {
            self.about.line(line, &members);
            self.links.agent = self.about.agent;
        } else if self.is_new.is_none() {
            self.is_new = Some(self.about.is_of_a_new_release() && !self.older.is_first(true));
        }
        if self.is_new != Some(true) {
            self.older.line(line, &members);
        }
        self.links.note_with(line, &members, facts);
    }
}
