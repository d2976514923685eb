//! The files that make up a session beside its main one.

use crate::format::Format;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// The files that exist of a session.
#[derive(Default)]
pub struct Beside {
    /// The files, by the names of the parts.
    pub files: Vec<(String, Arc<Path>)>,
    /// The links. The user did not name them, so they are not followed.
    pub links: Vec<Arc<Path>>,
}

/// Finds the files of a session of `format`, if the name of `path` has one of the endings of its
/// files, or `path` is in one of the folders of its files.
#[must_use]
pub fn beside(format: &Format, path: &Path) -> Beside {
    if !format.below.is_empty() {
        return below(format, path).unwrap_or_default();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = format.beside.iter().filter(|ending| name.ends_with(**ending));
    let Some(stem) = ending.max_by_key(|ending| ending.len()).and_then(|e| name.strip_suffix(e))
    else {
        return Beside::default();
    };
    let part = |(place, ending): (usize, &&str)| {
        let name = if place == 0 { String::new() } else { (*ending).to_owned() };
        (name, Arc::<Path>::from(path.with_file_name(format!("{stem}{ending}"))))
    };
    let parts = format.beside.iter().enumerate().map(part);
    let (links, files): (Vec<_>, Vec<_>) = parts
        .filter(|(_, file)| file.is_file())
        .partition(|(_, file)| **file != *path && is_link(file));
    Beside { files, links: links.into_iter().map(|(_, link)| link).collect() }
}

/// Finds the files of a session whose further files are in folders below its name.
fn below(format: &Format, path: &Path) -> Option<Beside> {
    let ending = format.extensions.first()?;
    let is_below = |folder: &&Path| {
        folder.file_name().is_some_and(|name| format.below.iter().any(|below| name == *below))
    };
    let main_of = |stem: &Path| {
        let mut main = stem.as_os_str().to_owned();
        main.push(ending);
        PathBuf::from(main)
    };
    // Any folder may have such a name; that of a session has its main file beside it.
    let mut folders = path.ancestors().skip(1).filter(is_below).filter_map(Path::parent);
    let stem = match folders.find(|stem| main_of(stem).is_file()) {
        Some(stem) => stem.to_owned(),
        None => path.with_file_name(path.file_name()?.to_str()?.strip_suffix(ending)?),
    };
    let main = Arc::<Path>::from(main_of(&stem));
    if !main.is_file() || (*main != *path && is_link(&main)) {
        return None;
    }
    let mut found = Beside { files: vec![(String::new(), main)], links: vec![] };
    for folder in format.below.iter().map(|folder| stem.join(folder)).filter(|f| !is_link(f)) {
        for entry in WalkDir::new(&folder).sort_by_file_name().into_iter().flatten() {
            let file = Arc::<Path>::from(entry.path());
            let part = entry.path().strip_prefix(&stem).ok().and_then(Path::to_str);
            match part.map(|part| format!("/{}", part.replace('\\', "/"))) {
                _ if entry.file_type().is_symlink() => found.links.push(file),
                Some(part) if entry.file_type().is_file() => found.files.push((part, file)),
                _ => {}
            }
        }
    }
    Some(found)
}

/// Whether a file is a symbolic link. A link that the user did not name may lead anywhere.
#[must_use]
pub fn is_link(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|meta| meta.is_symlink())
}
