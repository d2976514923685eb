//! Folders in which agents keep sessions.

use crate::format::{BEGINNING, Format, Home};
use crate::formats::FORMATS;
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A folder or file in which sessions are looked for.
#[derive(Clone, Debug)]
pub struct SessionPlace {
    /// The path.
    pub path: PathBuf,
    /// The format of the agent that keeps its sessions there, if that is known.
    pub format: Option<&'static Format>,
    /// The project to which all sessions belong that name none.
    pub project: Option<PathBuf>,
}

impl SessionPlace {
    /// Creates the place of a path that the user named.
    pub fn named(path: PathBuf) -> Self {
        Self { path, format: None, project: None }
    }
}

/// Whether a file is in one of these places.
pub fn contains(places: &[SessionPlace], file: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = real(file);
    places.iter().any(|place| file.starts_with(real(&place.path)))
}

/// Returns the existing folders with sessions: `home` returns the folder of a format's agent, and
/// folders of projects are looked for in `current` and the folders above it.
pub fn places(
    home: &dyn Fn(&'static Format) -> Option<PathBuf>,
    current: Option<&Path>,
    only: Option<&'static Format>,
) -> Vec<SessionPlace> {
    let formats = || FORMATS.iter().copied().filter(|f| only.is_none_or(|only| *f == only));
    let mut all = Vec::new();
    for format in formats() {
        let Some(home) = home(format) else { continue };
        let archives = format.files.archives.iter().map(|archive| below(&home, archive));
        let paths = std::iter::once(home.clone()).chain(archives);
        all.extend(paths.map(|path| SessionPlace { path, format: Some(format), project: None }));
    }
    let mut seen = HashSet::new();
    all.retain(|place| place.path.canonicalize().is_ok_and(|real| seen.insert(real)));
    let more = in_projects(current.into_iter().flat_map(Path::ancestors), &all, only);
    all.extend(more);
    all
}

/// Returns the existing folders with sessions in projects, without those of `known`.
pub fn in_projects<'p>(
    projects: impl Iterator<Item = &'p Path>,
    known: &[SessionPlace],
    only: Option<&'static Format>,
) -> Vec<SessionPlace> {
    let formats = || FORMATS.iter().copied().filter(|f| only.is_none_or(|only| *f == only));
    let known = known.iter().filter_map(|place| place.path.canonicalize().ok());
    let mut seen: HashSet<_> = known.collect();
    let mut all = Vec::new();
    for project in projects {
        for format in formats() {
            for folder in format.files.in_projects {
                let (path, project) = (project.join(folder), Some(project.to_owned()));
                if path.canonicalize().is_ok_and(|real| seen.insert(real)) {
                    all.push(SessionPlace { path, format: Some(format), project });
                }
            }
        }
    }
    all
}

/// Folder of an agent's sessions, in which a writer looks.
#[derive(Debug)]
pub struct HomeFolder(pub PathBuf);

impl Home for HomeFolder {
    fn read(&self, path: &str) -> Option<String> {
        let file = std::fs::File::open(below(&self.0, path)).ok()?;
        let mut text = Vec::new();
        file.take(BEGINNING).read_to_end(&mut text).ok()?;
        String::from_utf8(text).ok()
    }

    fn names(&self, path: &str) -> Vec<String> {
        let found = std::fs::read_dir(below(&self.0, path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            found.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// Returns the path that leads from a folder over `..` to another one.
pub(super) fn below(folder: &Path, path: &str) -> PathBuf {
    path.split('/').fold(folder.to_owned(), |folder, piece| match (piece, folder.parent()) {
        ("..", Some(above)) => above.to_owned(),
        (piece, _) => folder.join(piece),
    })
}
