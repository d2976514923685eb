//! Sessions of a project whose folder was moved or renamed.
//!
//! The paths of the project are replaced in the sessions of all agents and in the agents' lists of
//! projects, and nothing else is. Where an agent keeps the sessions of each project in a folder of
//! their own, the files move to the folder of the new path.

mod folders;
mod origins;
mod text;

use super::converting;
use super::places::SessionPlace;
use crate::convert::moved_path;
use crate::error::{Error, Result};
use crate::format::{Format, Map};
use crate::store::{Edit, Held, Packing, Redo, Write, Writes, is_origin, origin_of};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use text::Paths;
use walkdir::WalkDir;

/// Changes for sessions of a moved project, before anything is written.
pub struct Relocation {
    /// Files that change or move.
    pub rows: Vec<Row>,
    /// Files with the old path that stay as they are, each with the reason.
    pub unchanged: Vec<(PathBuf, String)>,
    /// Whether sessions are among them.
    pub leaves_sessions: bool,
    /// The files that are to be written.
    pub writes: Writes,
}

/// A file that changes or moves.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name of the agent's format.
    pub agent: &'static str,
    /// The path so far.
    pub path: PathBuf,
    /// The new path, if the file moves.
    pub to: Option<PathBuf>,
    /// Number of paths in it that change.
    pub paths: u64,
}

/// Finds everything that names the old folders of these maps, in these folders of agents, for its
/// new place.
pub fn relocation(places: &[SessionPlace], maps: &[Map]) -> Result<Relocation> {
    let work = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
    let mut found = Found::new(maps, &work);
    for place in places {
        let Some(format) = place.format else { continue };
        found.sessions(place, format)?;
        found.lists(place, format)?;
    }
    found.leave_held();
    found.origins()?;
    let Found { moves, mut edits, mut unchanged, others, .. } = found;
    let leaves_sessions = !unchanged.is_empty();
    unchanged.extend(others);
    let mut rows = BTreeMap::new();
    for (path, edited) in &edits {
        let (agent, paths) = (edited.agent, edited.paths);
        rows.insert(path.clone(), Row { agent, path: path.clone(), to: None, paths });
    }
    for (path, (agent, to)) in &moves {
        let row = Row { agent, path: path.clone(), to: None, paths: 0 };
        rows.entry(path.clone()).or_insert(row).to = Some(to.clone());
    }
    let write = |row: &Row| {
        let edit = edits.remove(&row.path).map(|edited| edited.edit);
        match (&row.to, edit) {
            (Some(to), edit) => Some(Write::Move { old: row.path.clone(), edit, to: to.clone() }),
            (None, edit) => Some(Write::Replace { edit: edit?, to: row.path.clone() }),
        }
    };
    let mut writes = Writes::of(rows.values().filter_map(write).collect());
    writes.keep(work);
    Ok(Relocation { rows: rows.into_values().collect(), unchanged, leaves_sessions, writes })
}

/// New contents of a file.
struct Edited {
    agent: &'static str,
    edit: Edit,
    paths: u64,
}

/// Files that were found so far.
struct Found<'f> {
    maps: &'f [Map],
    /// Pieces of the old paths, of which every spelling of such a path contains one.
    words: BTreeSet<Vec<u8>>,
    work: &'f TempDir,
    edits: BTreeMap<PathBuf, Edited>,
    moves: BTreeMap<PathBuf, (&'static str, PathBuf)>,
    origins: BTreeSet<(PathBuf, &'static str)>,
    /// Sessions that stay, each with the reason.
    unchanged: Vec<(PathBuf, String)>,
    /// Other files that stay, each with the reason.
    others: Vec<(PathBuf, String)>,
}

impl<'f> Found<'f> {
    fn new(maps: &'f [Map], work: &'f TempDir) -> Self {
        Self {
            maps,
            words: maps.iter().map(|map| word(&map.old)).collect(),
            work,
            edits: BTreeMap::new(),
            moves: BTreeMap::new(),
            origins: BTreeSet::new(),
            unchanged: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Looks at all files of an agent's folder.
    fn sessions(&mut self, place: &SessionPlace, format: &'static Format) -> Result<()> {
        let files = files(&place.path);
        self.links(&place.path);
        let mut staying = Vec::new();
        for (from, to) in folders::moves(place, format, self.maps, &files) {
            match to {
                Ok(to) => drop(self.moves.insert(from, (format.name, to))),
                Err(why) => {
                    staying.push(from.clone());
                    self.unchanged.push((from, why));
                }
            }
        }
        for path in files {
            // A session that stays is found again by the next run.
            if staying.iter().any(|main| folders::is_of(&path, main)) {
                continue;
            }
            if is_origin(&path) {
                self.origins.insert((path, format.name));
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_text = name.ends_with(".jsonl") || name.ends_with(".json");
            if is_text {
                let redo = redo(Paths::of(format, self.maps), name.ends_with(".json"));
                self.edit(&path, format.name, &redo)?;
            } else if (Packing::of_file(&path).is_some() || is_database(&name))
                && self.mentions(&path)
            {
                let why = "it is compressed or a database, and is not changed";
                self.unchanged.push((path, why.to_owned()));
            }
        }
        Ok(())
    }

    /// Names the links that lead to files with the old path: the files may belong to another folder,
    /// too.
    fn links(&mut self, folder: &Path) {
        let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(|e| e.ok());
        let links = entries.filter(|entry| entry.path_is_symlink() && entry.path() != folder);
        for link in links.map(walkdir::DirEntry::into_path) {
            let behind = WalkDir::new(&link).follow_links(true).into_iter().filter_map(|e| e.ok());
            let mut behind = behind.filter(|entry| entry.file_type().is_file());
            if behind.any(|entry| !is_kept(entry.path()) && self.mentions(entry.path())) {
                let real = link.canonicalize().unwrap_or_else(|_| link.clone());
                let why = format!("it is a link to {}, where nothing is changed", real.display());
                self.unchanged.push((link, why));
            }
        }
    }

    /// Looks at the agent's lists of projects, and at other files beside its sessions.
    fn lists(&mut self, place: &SessionPlace, format: &'static Format) -> Result<()> {
        let mut known = BTreeSet::new();
        for list in format.files.lists {
            let path = super::places::below(&place.path, list.path);
            let Some(path) = path.canonicalize().ok().filter(|path| path.is_file()) else {
                continue;
            };
            if known.insert(path.clone()) {
                let whole = !path.to_string_lossy().ends_with(".jsonl");
                self.edit(&path, format.name, &redo(Paths::of_list(list, self.maps), whole))?;
            }
        }
        if format.files.home.is_none() || place.project.is_some() {
            return Ok(());
        }
        self.marks(place, format)?;
        let above = place.path.parent().unwrap_or(Path::new(""));
        let others = std::fs::read_dir(above).into_iter().flatten().flatten();
        for other in others.map(|entry| entry.path()).filter(|path| path.is_file()) {
            let real = other.canonicalize().unwrap_or_else(|_| other.clone());
            let is_known =
                known.contains(&real) || self.others.iter().any(|(path, _)| *path == other);
            if !is_known && !is_kept(&other) && self.mentions(&other) {
                let name = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let why = match is_database(&name) {
                    true => {
                        "a database, which the agent makes again from its sessions if it is removed"
                    }
                    false => "the user's own settings",
                };
                self.others.push((other, why.to_owned()));
            }
        }
        Ok(())
    }

    /// Looks at the files whose text is the path of a project. If the software knows the new folder
    /// already, the sessions move there.
    fn marks(&mut self, place: &SessionPlace, format: &'static Format) -> Result<()> {
        for (folder, name) in format.files.marks {
            let folders = std::fs::read_dir(super::places::below(&place.path, folder));
            let folders = folders.into_iter().flatten().flatten();
            let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let read = |entry: std::fs::DirEntry| {
                let mark = entry.path().join(name);
                let text = std::fs::read_to_string(&mark).ok()?;
                Some((text.trim().to_owned(), mark))
            };
            let marks: BTreeMap<String, PathBuf> = folders.filter_map(read).collect();
            for (path, mark) in &marks {
                let Some(new) = moved_path(path, self.maps) else { continue };
                match marks.get(&new) {
                    None => {
                        let work = move |from: &mut dyn BufRead, to: &mut dyn io::Write| {
                            io::copy(from, &mut io::sink())?;
                            to.write_all(new.as_bytes()).map(|()| 1)
                        };
                        self.edit(mark, format.name, &Redo::new(work, false))?;
                    }
                    Some(known) if *folder == "." => self.join(mark, known, format),
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Moves what is beside a mark to the place of another one.
    fn join(&mut self, mark: &Path, known: &Path, format: &'static Format) {
        let (Some(from), Some(to)) = (mark.parent(), known.parent()) else { return };
        for file in files(from).into_iter().filter(|file| file != mark) {
            let new = to.join(file.strip_prefix(from).unwrap_or(&file));
            match new.symlink_metadata() {
                Ok(_) => {
                    let why = format!("{} is there already", new.display());
                    self.unchanged.push((file, why));
                }
                Err(_) => drop(self.moves.insert(file, (format.name, new))),
            }
        }
    }

    /// Changes the paths in a file.
    fn edit(&mut self, path: &Path, agent: &'static str, redo: &Redo) -> Result<()> {
        if !self.mentions(path) {
            return Ok(());
        }
        let (edit, paths) = redo.edit(path, self.fresh("edit"))?;
        if paths > 0 {
            self.edits.insert(path.to_owned(), Edited { agent, edit, paths });
        }
        Ok(())
    }

    /// Leaves the sessions and lists alone that other programs have open: such a program would go on
    /// in the old file.
    fn leave_held(&mut self) {
        let all: BTreeSet<_> = self.edits.keys().chain(self.moves.keys()).cloned().collect();
        let held = Held::among(all.iter().map(PathBuf::as_path));
        for path in &all {
            let Some(why) = held.why(path) else { continue };
            let main = all.iter().find(|main| *main != path && folders::is_of(path, main));
            let main = main.unwrap_or(path);
            self.edits.retain(|file, _| !folders::is_of(file, main));
            self.moves.retain(|file, _| !folders::is_of(file, main));
            self.origins.retain(|(file, _)| !folders::is_of(file, main));
            self.unchanged.push((main.clone(), why));
        }
    }

    /// Returns the path of a new temporary file.
    fn fresh(&self, name: &str) -> PathBuf {
        let number = self.edits.len();
        self.work.path().join(format!("{name}-{number}"))
    }

    /// Whether a file may contain an old path.
    fn mentions(&self, path: &Path) -> bool {
        self.words.iter().any(|word| contains(path, word).unwrap_or(false))
    }
}

/// Returns the work that changes the paths in a file: in a `whole` text, or in each line.
fn redo(paths: Paths, whole: bool) -> Redo {
    let work = move |from: &mut dyn BufRead, to: &mut dyn io::Write| {
        if !whole {
            return paths.copy_lines(from, to);
        }
        let mut text = Vec::new();
        from.read_to_end(&mut text)?;
        paths.copy(&Bytes::from(text), to)
    };
    Redo::new(work, !whole)
}

/// Whether a file contains some bytes, in capital or small letters.
fn contains(path: &Path, word: &[u8]) -> std::io::Result<bool> {
    const PIECE: usize = 1 << 20;
    let mut file = File::open(path)?;
    let (mut buffer, mut kept) = (vec![0; PIECE + word.len()], 0);
    loop {
        let read = file.read(buffer.get_mut(kept..).unwrap_or_default())?;
        let end = kept + read;
        buffer.get_mut(kept..end).unwrap_or_default().make_ascii_lowercase();
        let text = buffer.get(..end).unwrap_or_default();
        if memchr::memmem::find(text, word).is_some() {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        let from = end.saturating_sub(word.len());
        buffer.copy_within(from..end, 0);
        kept = end - from;
    }
}

/// Returns the longest piece of a path that JSON never escapes, in small letters.
fn word(path: &str) -> Vec<u8> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let pieces = path.split(|c| !is_plain(c));
    pieces.max_by_key(|piece| piece.len()).unwrap_or_default().to_ascii_lowercase().into_bytes()
}

/// Returns the files below a folder, without those that a run kept.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = converting::files(folder);
    files.retain(|path| !is_kept(path));
    files
}

/// Whether a file is one that a run kept.
fn is_kept(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "bak")
}

fn is_database(name: &str) -> bool {
    [".sqlite", ".sqlite-wal", ".sqlite-shm", ".db", ".db-wal", ".db-shm"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

/// Returns the file of an origin.
fn main_of(origin: &Path) -> Option<PathBuf> {
    let main = origin.with_extension("");
    (origin_of(&main) == origin && main.is_file()).then_some(main)
}
