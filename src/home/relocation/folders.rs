//! Folders of projects, in which some agents keep sessions.

use super::text::without_mark;
use crate::convert::{Native, moved_path};
use crate::format::{Format, Map};
use crate::formats::Spec;
use crate::home::places::SessionPlace;
use crate::json::{Cursor, Json};
use crate::store::is_origin;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The new path of a file, or the reason why it does not move.
pub type Move = (PathBuf, Result<PathBuf, String>);

/// Number of lines in which a session names its folder.
const HEAD: usize = 200;

/// Returns the files of an agent that move with their project, and those that should and cannot.
pub fn moves(
    place: &SessionPlace,
    format: &'static Format,
    maps: &[Map],
    files: &[PathBuf],
) -> Vec<Move> {
    let Some(native) = Native::of(Spec { format, version: None }, true) else { return Vec::new() };
    if native.folder_of("/a") == native.folder_of("/b") {
        return Vec::new();
    }
    let mut folders: BTreeMap<&Path, Vec<&PathBuf>> = BTreeMap::new();
    let is_main = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "jsonl");
    for file in files.iter().filter(|file| is_main(file)) {
        let folder = file.parent().unwrap_or(Path::new(""));
        if folder.parent() == Some(&*place.path) {
            folders.entry(folder).or_default().push(file);
        }
    }
    let mut all = Vec::new();
    for (folder, mains) in folders {
        let name = format!("/{}", folder.file_name().unwrap_or_default().to_string_lossy());
        let new = |main: &Path| {
            let old = folder_named(main).filter(|old| native.folder_of(old) == name)?;
            let new = native.folder_of(&moved_path(&old, maps)?);
            (new != name).then(|| place.path.join(new.trim_start_matches('/')))
        };
        let targets: Vec<_> = mains.iter().map(|main| (*main, new(main))).collect();
        let mut taken = BTreeSet::new();
        for (main, to) in targets.iter().filter_map(|(main, to)| Some((*main, to.as_ref()?))) {
            let own: Vec<_> = files.iter().filter(|file| is_of(file, main)).collect();
            let place = |file: &Path| to.join(file.strip_prefix(folder).unwrap_or(file));
            let clash = own.iter().map(|file| place(file)).find(|to| to.symlink_metadata().is_ok());
            if let Some(clash) = clash {
                let why = format!("{} is there already", clash.display());
                all.push((main.clone(), Err(why)));
                taken.extend(own);
                continue;
            }
            for file in own {
                taken.insert(file);
                all.push((file.clone(), Ok(place(file))));
            }
        }
        // What belongs to no session goes along with the last one.
        let first = targets.first().and_then(|(_, to)| to.clone());
        let to = first.filter(|first| targets.iter().all(|(_, to)| to.as_ref() == Some(first)));
        let others = files.iter().filter(|file| file.starts_with(folder) && !taken.contains(file));
        for (file, to) in others.zip(std::iter::repeat(to)) {
            let Some(to) = to.map(|to| to.join(file.strip_prefix(folder).unwrap_or(file))) else {
                break;
            };
            if to.symlink_metadata().is_err() && !mains.contains(&file) {
                all.push((file.clone(), Ok(to)));
            }
        }
    }
    all
}

/// Whether a file belongs to the session in this main file.
pub fn is_of(file: &Path, main: &Path) -> bool {
    let stem = main.with_extension("");
    file == main || file.starts_with(&stem) || (is_origin(file) && file.with_extension("") == main)
}

/// Returns the folder that a session names first.
fn folder_named(main: &Path) -> Option<String> {
    let lines = BufReader::new(File::open(main).ok()?).split(b'\n').map_while(Result::ok);
    lines.take(HEAD).find_map(|line| {
        let line = without_mark(&Bytes::from(line));
        let span = Cursor::new(&line).skip_value().ok()?;
        Json::trusted(line.slice(span.start..span.end)).member("cwd")?.text()
    })
}
