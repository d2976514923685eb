//! Continuing a session with another agent, and back.
//!
//! The first time, the session is converted into the other agent's own folder, with its origin
//! beside it. From then on there are two files: the original and its copy. Whichever of the two got
//! new messages can be continued in the other one: the new messages are added to the other file, as
//! bytes behind its last one, and the origin is written again, with both files as they are then. If
//! both got new messages, the session becomes one of its own.

mod compare;
mod made;
mod other;
mod size;
mod whole;

use super::converting::{Failed, named, opened};
use super::places::{SessionPlace, contains};
use super::summary::{self, Summary, options};
use super::survey::Listed;
use crate::batch::{FileReport, Job, JobSource};
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Parts};
use crate::formats::{self, Spec};
use crate::record::Kind;
use crate::store::{Fingerprint, Writes, lock, origin_of};
use compare::Sides;
use made::{Base, Made};
use other::Other;
pub use other::is_made_from;
use serde::de::IgnoredAny;
pub use size::{largest_of, tokens_of};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use whole::Whole;

/// The agent that continues a session.
pub struct Recipient<'w> {
    /// Its format.
    pub to: Spec,
    /// The folders in which it keeps sessions; new ones go to the first.
    pub places: &'w [SessionPlace],
    /// The folder in which the session goes on, if the user named one.
    pub cwd: Option<String>,
    /// The folder of a session that names none.
    pub here: String,
}

/// Way in which a session gets to the other agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A new session.
    New,
    /// New messages for the session that the agent has already.
    Added,
    /// The agent has the session with all messages.
    There,
}

impl Way {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Added => "added",
            Self::There => "there",
        }
    }
}

/// Session as the other agent gets it, before anything is written.
pub struct Onward {
    /// The way.
    pub way: Way,
    /// The path of the main file in the agent's folder.
    pub path: PathBuf,
    /// The summary of the session as it will be.
    pub summary: Summary,
    /// Number of messages that are new for the agent.
    pub added: u64,
    /// The reason why the session is not added to the one that the agent has.
    pub note: Option<String>,
    /// Report on the conversion, if there was one.
    pub report: Option<FileReport>,
    /// The files that are to be written.
    pub writes: Writes,
    /// The session, to read what a model gets from it.
    pub job: Job,
}

/// Prepares a session for another agent. Nothing is written to the agents' folders.
pub fn onward(session: &Listed, recipient: &Recipient<'_>) -> std::result::Result<Onward, Failed> {
    let work = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
    let whole = settled(&session.job, work.path())?;
    let is_torn = whole.is_some();
    // A session is converted alike, whether the user named its file or it was found by a name.
    let job = whole.or_else(|| session.job.path().map(|path| named(path)));
    let job = job.unwrap_or_else(|| session.job.clone());
    // Behind a session that was trimmed on the way is the whole one.
    let whole = Whole::of(&job, recipient.to.format, work.path())?;
    let job = whole.as_ref().map_or(job, |whole| whole.job.clone());
    let agent = format_of(&job)?;
    let made = Made { job: &job, format: agent, recipient, work: work.path() };
    let is_own = agent == recipient.to.format;
    // A session of a store is known by the document from which its software took it.
    let is_copy =
        matches!(session.job.source, JobSource::Whole(_)) && origin_of(&session.path).is_file();
    let path = match &whole {
        Some(whole) => whole.job.path(),
        None => session.job.path(),
    };
    let path = path.map(|path| &**path);
    let path = path.or_else(|| is_copy.then_some(&*session.path)).filter(|_| !is_own);
    let others = path.map(|path| other::find(path, agent, recipient));
    let stays = is_own && contains(recipient.places, &session.path);
    let apart = "the agent keeps the session in its own folder, so this is a session of its own";
    let (mut found, mut note) = (None, stays.then(|| apart.to_owned()));
    for other in others.into_iter().flatten() {
        match with(other, session, &made)? {
            Ok(onward) => {
                found = Some(onward);
                break;
            }
            Err(why) => note = note.or(Some(why)),
        }
    }
    let mut onward = match found {
        Some(onward) => onward,
        None => made.fresh(session, note)?,
    };
    if is_torn {
        let torn = "the last line is not complete, and is left out";
        let note = onward.note.map_or_else(|| torn.to_owned(), |note| format!("{note}; {torn}"));
        onward.note = Some(note);
    }
    if let Some(whole) = whole {
        whole.redirect(&mut onward.writes, work.path())?;
    }
    onward.writes.keep(work);
    Ok(onward)
}

/// Adds the new messages to the session that the other agent has already. `Err` inside is the reason
/// why that is not possible.
fn with(
    other: Other,
    session: &Listed,
    made: &Made<'_>,
) -> std::result::Result<std::result::Result<Onward, String>, Failed> {
    // No other run may be between the growth of the file and its new origin.
    let lock = lock(&other.main)?;
    let read = Fingerprint::of(&other.main)?;
    let mut sides = match Sides::of(&other, made.job, made.format)? {
        Ok(sides) => sides,
        Err(why) => return Ok(Err(why)),
    };
    if sides.own == 0 {
        return Ok(Ok(Onward {
            way: Way::There,
            summary: summary_at(&other.main, other.format),
            job: named(&other.main),
            path: other.main,
            added: 0,
            note: None,
            report: None,
            writes: Writes::default(),
        }));
    }
    let mut added = Err("both agents went on since, so this is a session of its own".to_owned());
    if sides.others > 0 || complete(&other.main)?.is_some() {
        // A run may have been killed after it had added messages, or some of them.
        if let Ok(resumed) = made.added(session, &other, read, Base::Before(&mut sides))? {
            added = Ok(resumed);
        }
    }
    if added.is_err() && sides.others == 0 {
        added = made.added(session, &other, read, Base::Now(&mut sides))?;
    }
    Ok(added.map(|mut onward| {
        onward.writes.hold(lock);
        onward
    }))
}

/// Returns a copy of a session without its last line, if that is not complete, because its agent is
/// writing it or was killed.
fn settled(job: &Job, work: &Path) -> Result<Option<Job>> {
    let failed = |error| Error::io("cannot copy", error);
    let JobSource::File(path) = &job.source else { return Ok(None) };
    let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
    let end = if is_lines { complete(path)? } else { None };
    let Some(end) = end else { return Ok(None) };
    let folder = work.join("in");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let name = path.file_name().unwrap_or_default();
    let copy = folder.join(name);
    std::fs::copy(path, &copy).map_err(failed)?;
    let cut = File::options().write(true).open(&copy).and_then(|file| file.set_len(end));
    cut.map_err(failed)?;
    let beside = |from: &Path, to: &Path| match from.is_file() {
        true => std::fs::copy(from, to).map(drop).map_err(failed),
        false => Ok(()),
    };
    beside(&origin_of(path), &origin_of(&copy))?;
    let (from, to) = (path.with_extension(""), copy.with_extension(""));
    for file in walkdir::WalkDir::new(&from).into_iter().filter_map(std::result::Result::ok) {
        let place = to.join(file.path().strip_prefix(&from).unwrap_or(Path::new("")));
        if file.file_type().is_dir() {
            std::fs::create_dir_all(place).map_err(failed)?;
        } else if file.file_type().is_file() {
            beside(file.path(), &place)?;
        }
    }
    Ok(Some(named(&copy)))
}

/// Returns the end of the last complete line of a file whose last line is torn; `None` for a file
/// whose last line is complete.
fn complete(path: &Path) -> Result<Option<u64>> {
    const PIECE: u64 = 64 << 10;
    let failed = |error| Error::io("cannot read", error);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let (mut start, mut tail) = (size, Vec::new());
    while start > 0 {
        let from = start.saturating_sub(PIECE);
        let mut piece = vec![0; (start - from) as usize];
        file.seek(SeekFrom::Start(from))
            .and_then(|_| file.read_exact(&mut piece))
            .map_err(failed)?;
        let end = memchr::memrchr(b'\n', &piece);
        piece.append(&mut tail);
        (tail, start) = (piece, from);
        if let Some(end) = end {
            let torn = tail.get(end + 1..).unwrap_or_default();
            let whole = torn.is_empty() || serde_json::from_slice::<IgnoredAny>(torn).is_ok();
            return Ok((!whole).then(|| from + end as u64 + 1));
        }
    }
    Ok(None)
}

fn format_of(job: &Job) -> Result<&'static Format> {
    opened(job).map(|opened| opened.found.format)
}

/// Returns the summary of the session in a file.
fn summary_at(path: &Path, format: &'static Format) -> Summary {
    let job = named(path);
    summary::read(&job, Some(format)).summary.unwrap_or_else(|| Summary::empty(format.name, &job))
}

/// Returns what the beginning of a session at this path says about it.
pub fn beginning_at(path: &Path, format: &'static Format) -> Summary {
    summary::beginning(&named(path), format)
}

/// Returns the number of messages of a session.
fn messages_in(format: &'static Format, parts: &mut dyn Parts) -> Result<u64> {
    let (options, log) = (summary::options(), Log::default());
    let cx = Cx { options: &options, log: &log };
    let records = formats::records(format, parts, &cx)?;
    let messages = records.filter_map(Result::ok).filter(|located| {
        let record = &located.value;
        record.kind == Kind::Message && !record.is_aside()
    });
    Ok(messages.count() as u64)
}
