//! Sessions beside a session in the folders of its software.

use super::packed::plain_name;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Maximum depth of a session below its folder: a year, a month, a day, a file.
const DEEPEST: usize = 4;

/// Finds the file whose name, without the ending of a compressed file, ends with `ending`, in one
/// of these folders, below one of which `main` is. Of several, the one whose path sorts last, as
/// the newest does where folders are days.
pub fn find(main: &Path, folders: &[&str], ending: &str) -> Option<PathBuf> {
    let main = std::path::absolute(main).ok()?;
    let home = home_of(&main, folders)?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| plain_name(&name).ends_with(ending)) && *path != main
    };
    let newest = |folder: &Path, depth: usize| files(folder, depth).filter(fits).max();
    // Mostly it is of the same day, and there are many days.
    let beside = newest(main.parent()?, 1);
    let all = || folders.iter().filter_map(|folder| newest(&home.join(folder), DEEPEST)).max();
    beside.or_else(all)
}

/// Returns all other files in these folders, below one of which `main` is; `None` if it is below
/// none of them, or there are more than `most`.
pub fn others(main: &Path, folders: &[&str], most: usize) -> Option<Vec<PathBuf>> {
    let main = std::path::absolute(main).ok()?;
    let home = home_of(&main, folders)?;
    let all = folders.iter().flat_map(|folder| files(&home.join(folder), DEEPEST));
    let found: Vec<PathBuf> = all.filter(|path| *path != main).take(most + 1).collect();
    (found.len() <= most).then_some(found)
}

/// Returns the folder that holds these folders, one of which is above `main`.
fn home_of<'m>(main: &'m Path, folders: &[&str]) -> Option<&'m Path> {
    let named = |path: &&Path| {
        path.file_name().is_some_and(|name| folders.iter().any(|folder| name == *folder))
    };
    main.ancestors().skip(1).find(named)?.parent()
}

fn files(folder: &Path, depth: usize) -> impl Iterator<Item = PathBuf> + use<> {
    let walk = WalkDir::new(folder).max_depth(depth).follow_links(false).into_iter().flatten();
    walk.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path)
}
