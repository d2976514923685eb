//! Sessions that stand beside a session in the folders of its software.

use super::packed::plain_name;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Maximum depth of a session below its folder: a year, a month, a day, a file.
const DEEPEST: usize = 4;

/// Finds the file whose name, without the ending of a compressed file, ends with `ending`, in one of
/// these folders, below one of which `main` stands. Of several, the one whose path sorts last, as
/// the newest does where folders are days.
#[must_use]
pub fn find(main: &Path, folders: &[&str], ending: &str) -> Option<PathBuf> {
    let main = std::path::absolute(main).ok()?;
    let named = |path: &&Path| {
        path.file_name().is_some_and(|name| folders.iter().any(|folder| name == *folder))
    };
    let home = main.ancestors().skip(1).find(named)?.parent()?;
    let below = |folder: &&str| {
        let walk = WalkDir::new(home.join(folder)).max_depth(DEEPEST).follow_links(false);
        walk.into_iter().flatten().filter(|entry| entry.file_type().is_file())
    };
    let fits = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| plain_name(&name).ends_with(ending)) && *path != main
    };
    folders
        .iter()
        .flat_map(|folder| below(&folder))
        .map(walkdir::DirEntry::into_path)
        .filter(fits)
        .max()
}
