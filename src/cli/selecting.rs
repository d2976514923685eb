//! Options that select sessions among many.

use super::machine::{at, folders, named, surveyed};
use super::relocate::is_foreign;
use super::text::printable;
use super::{Stop, names};
use crate::format::{Format, Map, inside_linux};
use crate::formats::Spec;
use crate::home::{Listed, Mention, Selection, SessionPlace, in_projects};
use clap::Args;
use jiff::Timestamp;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Options for the sessions that a command takes.
#[derive(Debug, Args)]
pub struct Selecting {
    /// Take only the sessions of this agent, which is the name of a format
    #[arg(long, value_name = "NAME", value_parser = names::format(), hide_possible_values = true)]
    agent: Option<Spec>,
    /// Take only the sessions of this project folder, and of folders below it
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Take only sessions with activity since then: an age such as 90m, 12h, 7d or 2w, or a date
    #[arg(long, value_name = "WHEN", value_parser = at)]
    since: Option<Timestamp>,
    /// Take only sessions with this text in a message, a call or its result
    ///
    /// Small letters match capital letters, too.
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
}

impl Selecting {
    /// Returns the agent's format.
    pub fn format(&self) -> Option<&'static Format> {
        self.agent.map(|agent| agent.format)
    }

    /// Adds words to the text that is looked for.
    pub fn add_words(&mut self, words: impl Iterator<Item = String>) {
        let words: Vec<_> = self.grep.take().into_iter().chain(words).collect();
        self.grep = (!words.is_empty()).then(|| words.join(" "));
    }

    /// Whether a session is selected by more than its agent.
    pub fn has_conditions(&self) -> bool {
        self.project.is_some() || self.since.is_some() || self.grep.is_some()
    }

    /// Returns the folders of the agents and of the project.
    pub fn places(&self) -> Result<Vec<SessionPlace>, Stop> {
        let only = self.format();
        let mut places = folders(only)?;
        let more = in_projects(self.project.as_deref().into_iter(), &places, only);
        places.extend(more);
        Ok(places)
    }

    /// Returns the sessions that are selected, in files, folders and sessions that the user named, or
    /// else in the folders of the agents and of the project.
    pub fn sessions(&self, paths: &[PathBuf]) -> Result<Vec<Listed>, Stop> {
        let only = self.format();
        let (mut places, mut ids) = (Vec::new(), HashSet::new());
        for path in paths {
            let found = named(path, only)?;
            if found.is_none() && std::fs::metadata(path).is_err() {
                let path = printable(&path.to_string_lossy());
                return Err(Stop::usage(format!("{path}: no file and no session has this name")));
            }
            ids.extend(found.as_ref().and_then(|found| found.id.clone()));
            places
                .push(SessionPlace::named(found.map_or_else(|| path.clone(), |found| found.path)));
        }
        if paths.is_empty() {
            places = self.places()?;
        }
        let mut sessions = surveyed(&places, paths.is_empty(), only);
        if !ids.is_empty() {
            sessions.retain(|session| ids.contains(&session.summary.id));
        }
        Ok(self.selection().of(sessions))
    }

    /// Returns the selection for the library, in the order of the newest sessions.
    pub fn selection(&self) -> Selection {
        Selection {
            format: self.format(),
            projects: self.project.as_deref().map(folders_of).unwrap_or_default(),
            since: self.since,
            mention: self.grep.as_deref().map(Mention::new),
            ..Selection::default()
        }
    }
}

/// Returns the paths by which sessions may name a folder: as the user does, and without links.
pub fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let paths: Vec<PathBuf> = match is_foreign(folder) {
        true => vec![folder.to_owned()],
        false => std::path::absolute(folder).into_iter().chain(folder.canonicalize()).collect(),
    };
    let inside = inside_linux(&folder.to_string_lossy()).map(PathBuf::from);
    let maps = paths.iter().chain(&inside).flat_map(|path| {
        let path = path.to_string_lossy();
        Map::new(path.clone(), path).with_twin()
    });
    maps.map(|map| map.old.into()).collect()
}
