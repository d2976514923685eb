//! Search for the files that the user's paths mean.

use super::filter::Filter;
use super::inputs::{Job, JobSource, Listed, Passed};
use crate::diagnostic::{Code, Diagnostic};
use crate::error::Error;
use crate::format::Format;
use crate::formats::FORMATS;
use crate::repair::QUARANTINE;
use crate::store::{BACKUP, ORIGIN, TEMPORARY, below, folder_of, real_folder};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// Files that runs write into folders that they walk, and that are not inputs.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The ending of backups.
    pub backup: Option<String>,
    /// The output folder.
    pub folder: Option<PathBuf>,
}

/// Finds the files that `paths` mean. Folders are walked in the order of names. Links are followed
/// only if the user named them. The result contains files that `filter` selects; files that runs
/// like this one have `written` are only counted, and their output folder is left out. A path that
/// cannot be read is returned as an error.
pub fn expand(paths: &[PathBuf], filter: &Filter, written: &Written) -> Listed {
    let output = written.folder.as_ref().and_then(|folder| folder.canonicalize().ok());
    let mut found = Listed::default();
    let mut roots = HashSet::new();
    for path in paths {
        if path == Path::new("-") {
            found.jobs.push(Job {
                source: JobSource::Stdin,
                relative: "stdin".into(),
                named: true,
                passed_over: None,
            });
        } else if path.is_dir() {
            // Several inputs share the output folder, so each folder gets a subfolder of its own.
            let root = if paths.len() > 1 { unused(&mut roots, path) } else { PathBuf::new() };
            let output = output.as_ref().and_then(|output| output_inside(path, output, filter));
            if let Some(inside) = &output {
                let message = "the output folder is not read as a part of the folder above it";
                let note = Diagnostic::new(Code::OutputInside, message);
                found.skipped.push((path.join(inside), note));
            }
            let (backup, output) = (written.backup.as_deref(), output.as_deref());
            let walk = Walk { filter, backup, folder: path, root: &root, output };
            found.append(walk.listed());
        } else {
            let relative = PathBuf::from(path.file_name().unwrap_or_default());
            let source = JobSource::File(path.as_path().into());
            found.jobs.push(Job { source, relative, named: true, passed_over: None });
        }
    }
    if paths.len() > 1 {
        once(&mut found);
    }
    found
}

impl Listed {
    fn append(&mut self, mut other: Self) {
        self.jobs.append(&mut other.jobs);
        self.errors.append(&mut other.errors);
        self.skipped.append(&mut other.skipped);
    }
}

/// Removes files that occur more than once, under whatever path.
fn once(found: &mut Listed) {
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut seen = HashSet::new();
    let skipped = &mut found.skipped;
    found.jobs.retain(|job| {
        let Some(path) = job.path() else { return true };
        let folder = folder_of(path);
        // There are many files, but few folders.
        let real = folders.entry(folder.to_owned()).or_insert_with(|| real_folder(folder));
        let new = seen.insert(real.join(path.file_name().unwrap_or_default()));
        if !new {
            let note = Diagnostic::of(Code::NamedTwice);
            skipped.push((path.to_path_buf(), note));
        }
        new
    });
}

/// Returns the folder's name, with a number appended if an earlier folder has it.
fn unused(roots: &mut HashSet<PathBuf>, folder: &Path) -> PathBuf {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().unwrap_or(OsStr::new("root")).to_owned();
    let mut root = PathBuf::from(&name);
    for n in 2.. {
        if roots.insert(root.clone()) {
            break;
        }
        let mut numbered = name.clone();
        numbered.push(format!("-{n}"));
        root = numbered.into();
    }
    root
}

/// A folder that the user named, while it is walked.
struct Walk<'a> {
    filter: &'a Filter,
    backup: Option<&'a str>,
    folder: &'a Path,
    /// The path of the folder below an output folder.
    root: &'a Path,
    /// The path of the output folder inside this folder, if it is there.
    output: Option<&'a Path>,
}

/// An item in a folder: files up to the next folder, or a folder.
enum Piece {
    Files(Listed),
    Folder(PathBuf),
}

impl Walk<'_> {
    /// Returns all files. Folders at the same depth are read in parallel.
    fn listed(&self) -> Listed {
        let mut pieces = self.pieces(self.folder);
        while pieces.iter().any(|piece| matches!(piece, Piece::Folder(_))) {
            let deeper = pieces.into_par_iter().flat_map_iter(|piece| match piece {
                Piece::Files(_) => vec![piece],
                Piece::Folder(folder) => self.pieces(&folder),
            });
            pieces = deeper.collect();
        }
        let mut all = Listed::default();
        for piece in pieces {
            if let Piece::Files(files) = piece {
                all.append(files);
            }
        }
        all
    }

    /// Returns the items of one folder, in the order of the names.
    fn pieces(&self, folder: &Path) -> Vec<Piece> {
        let (mut pieces, mut files) = (Vec::new(), Listed::default());
        for entry in in_order(folder, &mut files.errors) {
            let Entry { path, kind } = &entry;
            let inside = path.strip_prefix(self.folder).unwrap_or(path);
            if kind.is_dir() && self.output != Some(inside) && self.filter.enters(inside) {
                pieces.push(Piece::Files(std::mem::take(&mut files)));
                pieces.push(Piece::Folder(entry.path));
            } else if !kind.is_dir() && self.takes(inside, *kind) {
                let relative = below(self.root, inside);
                let passed_over = self.passed_over(&entry);
                let source = JobSource::File(entry.path.into());
                files.jobs.push(Job { source, relative, named: false, passed_over });
            }
        }
        pieces.push(Piece::Files(files));
        pieces
    }

    fn takes(&self, inside: &Path, kind: FileType) -> bool {
        // This check is first because there are many files. A link may lead to a folder that is
        // excluded.
        self.filter.takes_all()
            || ((!kind.is_symlink() || self.filter.enters(inside)) && self.filter.takes(inside))
    }

    fn passed_over(&self, Entry { path, kind }: &Entry) -> Option<Passed> {
        match () {
            () if is_ours(path.file_name().unwrap_or_default(), self.backup) => Some(Passed::Ours),
            () if is_unfinished(path.file_name().unwrap_or_default()) => Some(Passed::Unfinished),
            () if kind.is_symlink() => Some(Passed::Link),
            () if is_lone_output(path, self.folder) => Some(Passed::Output),
            () => (!kind.is_file()).then_some(Passed::Special),
        }
    }
}

/// Whether a file is in a folder for outputs of tools below the folder `root`, and the session that
/// the folder belongs to is not there.
fn is_lone_output(path: &Path, root: &Path) -> bool {
    let inside = path.strip_prefix(root).ok().and_then(Path::parent);
    inside.into_iter().flat_map(Path::ancestors).any(|folder| {
        let named = |format: &&&Format| {
            folder
                .file_name()
                .is_some_and(|name| format.files.outputs.iter().any(|own| name == *own))
        };
        FORMATS.iter().find(named).is_some_and(|format| {
            let mut main = folder_of(&root.join(folder)).as_os_str().to_owned();
            main.push(format.extensions.first().copied().unwrap_or_default());
            !Path::new(&main).is_file()
        })
    })
}

/// An entry of a folder.
struct Entry {
    path: PathBuf,
    kind: FileType,
}

/// Returns the entries of a folder, in the order of the names. Errors are added to `errors`.
fn in_order(folder: &Path, errors: &mut Vec<(PathBuf, Error)>) -> Vec<Entry> {
    let mut failed = |error| {
        errors.push((folder.to_owned(), Error::io("cannot read the folder", error)));
    };
    let entry = |found: fs::DirEntry| Ok(Entry { kind: found.file_type()?, path: found.path() });
    let mut entries = Vec::new();
    let found = fs::read_dir(folder).map_err(&mut failed).into_iter().flatten();
    for found in found.map(|found| found.and_then(entry)) {
        found.map_or_else(&mut failed, |found| entries.push(found));
    }
    // Within one folder, the order of the paths is the order of the names.
    entries.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    entries
}

/// Returns the path of the output folder inside a folder above it, if the walk would enter it.
fn output_inside(folder: &Path, output: &Path, filter: &Filter) -> Option<PathBuf> {
    let inside = output.strip_prefix(folder.canonicalize().ok()?).ok()?.to_owned();
    let mut way = inside.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    let entered = !inside.as_os_str().is_empty() && way.all(|folder| filter.enters(folder));
    entered.then_some(inside)
}

/// Whether a file was created by this program: a temporary file, a quarantine file, an origin, or a
/// backup, whose name may end in a number.
fn is_ours(name: &OsStr, backup: Option<&str>) -> bool {
    let name = name.as_encoded_bytes();
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let numberless = name.get(..name.len() - digits).unwrap_or_default();
    let plain = numberless.strip_suffix(b".").filter(|_| digits > 0).unwrap_or(name);
    let ours = [Some(BACKUP), backup, Some(QUARANTINE), Some(ORIGIN)];
    name.starts_with(TEMPORARY.as_bytes())
        || ours.iter().flatten().any(|suffix| plain.ends_with(suffix.as_bytes()))
}

/// Whether a file has a name that programs give to files that are not complete: Syncthing's
/// `.syncthing.NAME.tmp` and `~syncthing~NAME.tmp`, `NAME.part` and `NAME.crdownload` of browsers
/// and download programs, `~NAME` and `NAME~` of editors and of Office.
fn is_unfinished(name: &OsStr) -> bool {
    const ENDINGS: [&[u8]; 5] = [b".part", b".partial", b".crdownload", b".download", b"~"];
    let name = name.as_encoded_bytes();
    let syncthing = name.starts_with(b".syncthing.") && name.ends_with(b".tmp");
    let begins = [b"~".as_slice(), b".~"].iter().any(|start| name.starts_with(start));
    syncthing || begins || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_another_program_has_not_finished_are_no_inputs() {
        for name in [
            ".syncthing.a.jsonl.tmp",
            "~syncthing~a.jsonl.tmp",
            "a.jsonl.part",
            "a.jsonl.crdownload",
            "~$a.jsonl",
            ".~lock.a.jsonl#",
            "a.jsonl~",
        ] {
            assert!(is_unfinished(OsStr::new(name)), "{name}");
        }
        for name in ["a.jsonl", "a.sync-conflict-20260303-100000-ABCDEFG.jsonl", "part.jsonl"] {
            assert!(!is_unfinished(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn walk_over_backups_skips_them() {
        let ours = |name: &str| is_ours(OsStr::new(name), Some(".orig"));
        for name in [
            "a.jsonl.bak",
            "a.jsonl.bak.12",
            "a.orig",
            "a.orig.2",
            ".copyist-7-x.tmp",
            "a.quarantine.jsonl.2",
        ] {
            assert!(ours(name), "{name}");
        }
        for name in ["a.jsonl", "a.2", "bak.jsonl", "a.bak.jsonl", "12"] {
            assert!(!ours(name), "{name}");
        }
    }
}
