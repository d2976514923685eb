//! Putting the sessions of a pack where their agents look for them.

use super::{Base, Packed, PackedSession};
use crate::batch::{Opened, ReadOptions};
use crate::convert::moved_path;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Format, Map, Parts};
use crate::formats::FORMATS;
use crate::home::cache::Cache;
use crate::home::converting::stem;
use crate::home::find::{Search, SessionName, find};
use crate::home::places::SessionPlace;
use crate::home::relocation::{files, relocation};
use crate::home::summary::Summary;
use crate::home::survey::{Listed, survey};
use crate::store::{Undertaking, Write, Writes, is_origin, origin_of};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The machine to which a session comes.
pub struct Arrival<'a> {
    /// The folders in which the session's agent keeps sessions, that for new ones first.
    pub places: &'a [SessionPlace],
    /// The folders that have another path here.
    pub maps: &'a [Map],
}

/// A session of a pack with the paths of this machine, before its files get their places.
pub struct Ready {
    /// The format.
    pub format: &'static Format,
    /// The summary.
    pub summary: Summary,
    /// The place of the main file.
    pub path: PathBuf,
    /// Files in which old paths stay, each with the reason.
    pub unchanged: Vec<String>,
    /// Each file, and its place.
    files: Vec<(PathBuf, PathBuf)>,
}

impl PackedSession {
    /// Returns the format.
    ///
    /// # Errors
    /// If there is no such format.
    pub fn format(&self) -> Result<&'static Format> {
        let known = FORMATS.iter().find(|format| format.name == self.agent);
        known.copied().ok_or_else(|| refused(format!("no format is called {:?} here", self.agent)))
    }

    /// Returns the folder of the project on this machine; the one that the session names where no
    /// map moves it.
    #[must_use]
    pub fn project_here(&self, maps: &[Map]) -> Option<String> {
        let old = self.project.as_ref()?;
        Some(moved_path(old, maps).unwrap_or_else(|| old.clone()))
    }
}

impl Packed {
    /// Moves the paths in a session to those of this machine, and finds the places of its files.
    ///
    /// # Errors
    /// If this machine has no place for it, the agent has a session of its identifier, or it contains
    /// anything but one session.
    pub fn ready(&self, number: usize, arrival: &Arrival<'_>) -> Result<Ready> {
        let session = self.manifest.sessions.get(number);
        let session = session.ok_or_else(|| refused("there is no such session"))?;
        let format = session.format()?;
        let folder = self.folder(number);
        let place = SessionPlace { path: folder.clone(), format: Some(format), project: None };
        let moved = relocation(std::slice::from_ref(&place), arrival.maps)?;
        let what = Undertaking { command: "unpack", settings: "", outcome: "unpacked" };
        moved.writes.carry_out(&what, &self.journal(number))?;
        let within = |path: &Path| path.strip_prefix(&folder).unwrap_or(path).to_owned();
        let unchanged = moved.unchanged.iter();
        let unchanged =
            unchanged.map(|(path, why)| format!("{}: {why}", within(path).display())).collect();
        let found = only(&place)?;
        if found.summary.agent != format.name {
            let agent = &found.summary.agent;
            return Err(refused(format!(
                "its files are a session of {agent}, not of {}",
                format.name
            )));
        }
        let base = base_of(session, format, arrival)?;
        let own = parts_of(&found)?;
        let mut ready = Ready {
            format,
            path: base.join(within(&found.path)),
            summary: found.summary,
            unchanged,
            files: Vec::new(),
        };
        for file in files(&folder) {
            let to = within(&file);
            let fits = session.base == Base::Agent
                || format.files.in_projects.iter().any(|folder| to.starts_with(folder));
            if !own.contains(&file) || !fits {
                return Err(refused(format!("{} is no file of the session", to.display())));
            }
            ready.files.push((file, base.join(to)));
        }
        // A session is complete when its main file has its place.
        ready.files.sort_by_key(|(_, to)| (*to == ready.path, !is_origin(to)));
        ready.check_free(arrival)?;
        Ok(ready)
    }
}

impl Ready {
    /// Refuses a session that the agent has already.
    fn check_free(&self, arrival: &Arrival<'_>) -> Result<()> {
        let there = |path: &Path| {
            let why = format!("the agent has a session of this identifier: {}", path.display());
            Err(Error::request(Code::Exists, why))
        };
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        if exists(&self.path) {
            return there(&self.path);
        }
        if let Some((_, to)) = self.files.iter().find(|(_, to)| exists(to)) {
            let why = format!("a file is there already: {}", to.display());
            return Err(Error::request(Code::Exists, why));
        }
        let Some(name) = SessionName::of(&self.summary.id) else { return Ok(()) };
        match find(name, arrival.places, None, &mut Cache::open(None)) {
            Search::One(one) if one.summary.id == self.summary.id => there(&one.path),
            Search::Several(all) => {
                let same = all.iter().find(|one| one.summary.id == self.summary.id);
                same.map_or(Ok(()), |one| there(&one.path))
            }
            _ => Ok(()),
        }
    }

    /// Returns the writes that give the files their places.
    #[must_use]
    pub fn writes(&self) -> Writes {
        let new = |(from, to): &(PathBuf, PathBuf)| Write::New {
            from: from.clone(),
            to: to.clone(),
            like: from.clone(),
        };
        Writes::of(self.files.iter().map(new).collect())
    }
}

fn refused(why: impl Into<String>) -> Error {
    Error::request(Code::BadPack, why)
}

/// Returns the only session in a folder.
fn only(place: &SessionPlace) -> Result<Listed> {
    let (mut found, errors) =
        survey(std::slice::from_ref(place), &|_| true, &mut Cache::open(None));
    match (found.len(), errors.into_iter().next()) {
        (1, None) => found.pop().ok_or_else(|| refused("it contains no session")),
        (_, Some((_, error))) => Err(error),
        (0, None) => Err(refused("it contains no session")),
        _ => Err(refused("it contains several sessions")),
    }
}

/// Returns the folder to which the files of a session belong here.
fn base_of(session: &PackedSession, format: &Format, arrival: &Arrival<'_>) -> Result<PathBuf> {
    match session.base {
        Base::Agent => arrival.places.first().map(|place| place.path.clone()).ok_or_else(|| {
            refused(format!("the folder of {}'s sessions is not known", format.name))
        }),
        Base::Project => session
            .project_here(arrival.maps)
            .map(PathBuf::from)
            .ok_or_else(|| refused("its agent keeps it in its project, and it names none")),
    }
}

/// Returns the files of which a session consists, and its origin.
fn parts_of(session: &Listed) -> Result<BTreeSet<PathBuf>> {
    let mut own: BTreeSet<PathBuf> = session.job.files().map(|file| file.to_path_buf()).collect();
    own.extend(session.files.iter().cloned());
    let opened = Opened::new(&session.job.source, ReadOptions::default(), true)?;
    if let (Some(opened), Some(main)) = (opened, session.job.path()) {
        let before = stem(main);
        let names = opened.input.names();
        let parts = names.iter().filter(|part| !part.is_empty());
        own.extend(parts.map(|part| PathBuf::from(format!("{}{part}", before.display()))));
    }
    let origins: Vec<_> = own.iter().map(|file| origin_of(file)).collect();
    own.extend(origins);
    Ok(own)
}
