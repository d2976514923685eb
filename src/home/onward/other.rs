//! The other file of a session with which two agents go on by turns.

use super::{Recipient, format_of, named, summary_at};
use crate::format::Format;
use crate::formats::Spec;
use crate::origin::{self, Header};
use crate::store::{is_origin, origin_of, origin_of_moved, plain_name};
use std::fs::File;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// The file of the other agent.
pub struct Other {
    /// Its path.
    pub main: PathBuf,
    /// Its format.
    pub format: &'static Format,
    /// The origin, which is beside the copy.
    pub origin: PathBuf,
    /// Whether the file is the original, and the session that goes on is its copy.
    pub is_original: bool,
}

/// Finds the files of the other agent with the session in this file: the original, then copies, the
/// newest first.
pub fn find(path: &Path, format: &'static Format, recipient: &Recipient<'_>) -> Vec<Other> {
    let original = original(path, format, recipient);
    original.into_iter().chain(copies(path, format, recipient)).collect()
}

/// Finds the file from which this one was made.
fn original(path: &Path, format: &'static Format, recipient: &Recipient<'_>) -> Option<Other> {
    let origin = origin_of_moved(path, format);
    let header = header_of(&origin)?;
    let own = is_of(&header.source, recipient.to.format) && is_of(&header.target, format);
    let name = header.file_name.filter(|_| own)?;
    let is_it = |file: &Path| plain_of(file).as_ref() == Some(&name);
    // Copies of the original stand in several folders where a user copied a project.
    let mut all: Vec<_> = files(recipient).filter(|file| is_it(file)).collect();
    let spoken = |file: &PathBuf| summary_at(file, recipient.to.format).spoken;
    if all.len() > 1 {
        all.sort_by_cached_key(|file| std::cmp::Reverse(spoken(file)));
    }
    // A file of a store is no session by itself, and only its software writes it.
    let is_alone = |file: &PathBuf| {
        let found = || format_of(&named(file)).is_ok_and(|found| found == recipient.to.format);
        recipient.to.format.files.shared.is_none() || found()
    };
    let main = all.into_iter().find(is_alone)?;
    Some(Other { main, format: recipient.to.format, origin, is_original: true })
}

/// Whether a file was made from another one, which is of this agent, by what its origin says.
pub fn is_made_from(copy: &Path, (path, agent): (&Path, &str)) -> bool {
    let header = header_of(&origin_of(copy));
    header.is_some_and(|header| {
        Spec::parse(&header.source).is_ok_and(|source| source.format.name == agent)
            && header.file_name == plain_of(path)
    })
}

/// Finds the files that were made from this one, the newest first.
fn copies(path: &Path, format: &'static Format, recipient: &Recipient<'_>) -> Vec<Other> {
    let Some(name) = plain_of(path) else { return Vec::new() };
    let is_its = |header: &Header| {
        is_of(&header.source, format)
            && is_of(&header.target, recipient.to.format)
            && header.file_name.as_ref() == Some(&name)
    };
    let origins = files(recipient).filter(|file| is_origin(file));
    let origins = origins.filter(|file| header_of(file).as_ref().is_some_and(is_its));
    let made = origins.filter_map(|origin| {
        let main = origin.with_extension("");
        let time = main.metadata().ok()?.modified().ok();
        (origin_of(&main) == origin).then_some((time, main, origin))
    });
    let mut made: Vec<_> = made.collect();
    made.sort_by(|a, b| b.cmp(a));
    let format = recipient.to.format;
    let other = |(_, main, origin)| Other { main, format, origin, is_original: false };
    made.into_iter().map(other).collect()
}

/// Returns the header of an origin.
fn header_of(path: &Path) -> Option<Header> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    origin::header_of(file, size)
}

/// Whether the name of a format and version is of this format.
fn is_of(name: &str, format: &Format) -> bool {
    Spec::parse(name).is_ok_and(|spec| spec.format == format)
}

/// Returns the files in the agent's folders.
fn files<'w>(recipient: &'w Recipient<'_>) -> impl Iterator<Item = PathBuf> + 'w {
    let all =
        recipient.places.iter().flat_map(|place| WalkDir::new(&place.path).sort_by_file_name());
    all.filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
}

fn plain_of(path: &Path) -> Option<String> {
    path.file_name()?.to_str().map(|name| plain_name(name).to_owned())
}
