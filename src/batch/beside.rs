//! The files that make up a session beside its main one.

use crate::format::{BESIDE, Format};
use crate::store::{Input, folder_of};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
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
/// files, or `path` is in one of the folders of its files, or a file beside its main file.
pub fn beside(format: &Format, path: &Path) -> Beside {
    if !format.files.below.is_empty() {
        return below(format, path).unwrap_or_default();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = format.files.beside.iter().filter(|ending| name.ends_with(**ending));
    let Some(stem) = ending.max_by_key(|ending| ending.len()).and_then(|e| name.strip_suffix(e))
    else {
        return Beside::default();
    };
    let part = |(place, ending): (usize, &&str)| {
        let name = if place == 0 { String::new() } else { (*ending).to_owned() };
        (name, Arc::<Path>::from(path.with_file_name(format!("{stem}{ending}"))))
    };
    let parts = format.files.beside.iter().enumerate().map(part);
    let (links, files): (Vec<_>, Vec<_>) = parts
        .filter(|(_, file)| file.is_file())
        .partition(|(_, file)| **file != *path && is_link(file));
    Beside { files, links: links.into_iter().map(|(_, link)| link).collect() }
}

/// Finds the files of a session whose further files are in folders below its name.
fn below(format: &Format, path: &Path) -> Option<Beside> {
    let ending = format.extensions.first()?;
    let is_below = |folder: &&Path| {
        folder.file_name().is_some_and(|name| format.files.below.iter().any(|below| name == *below))
    };
    let main_of = |stem: &Path| {
        let mut main = stem.as_os_str().to_owned();
        main.push(ending);
        PathBuf::from(main)
    };
    // Any folder may have such a name; that of a session has its main file beside it.
    let mut folders = path.ancestors().skip(1).filter(is_below).filter_map(Path::parent);
    let sides = Sides::of(format, folder_of(path));
    let stem = match folders.find(|stem| main_of(stem).is_file()) {
        Some(stem) => stem.to_owned(),
        None => {
            let own = path.file_name()?.to_str()?;
            let main = sides.mains.get(own).filter(|main| path.with_file_name(main).is_file());
            path.with_file_name(main.map_or(own, |main| main).strip_suffix(ending)?)
        }
    };
    let main = Arc::<Path>::from(main_of(&stem));
    if !main.is_file() || (*main != *path && is_link(&main)) {
        return None;
    }
    let sides = match folder_of(&main) {
        folder if folder == folder_of(path) => sides,
        folder => Sides::of(format, folder),
    };
    let name = main.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let own = sides.of_main.get(name).into_iter().flatten();
    let own = own.map(|side| (side, Arc::<Path>::from(main.with_file_name(side))));
    let own: Vec<_> = own.collect();
    let mut found = Beside { files: vec![(String::new(), main)], links: vec![] };
    for folder in format.files.below.iter().map(|folder| stem.join(folder)).filter(|f| !is_link(f))
    {
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
    // A migration leaves the file of a sub-agent beside the session, and copies it below.
    let copied =
        |name: &str| found.files.iter().any(|(part, _)| part.rsplit('/').next() == Some(name));
    let own: Vec<_> = own.into_iter().filter(|(name, _)| !copied(name)).collect();
    for (name, side) in own {
        match is_link(&side) {
            true => found.links.push(side),
            false => found.files.push((format!("{BESIDE}{name}"), side)),
        }
    }
    Some(found)
}

/// The files of a folder that belong to sessions beside them, by their names.
#[derive(Default)]
struct Sides {
    /// The main file of each.
    mains: HashMap<String, String>,
    /// The files of each main file, in the order of their names.
    of_main: HashMap<String, Vec<String>>,
}

thread_local! {
    /// The folders that were looked at, with their times and files: most folders have many sessions,
    /// each needs all names, and a thread gets sessions of all folders in turn.
    static SEEN: RefCell<HashMap<PathBuf, (SystemTime, Rc<Sides>)>> = RefCell::default();
}

/// Maximum number of folders that are remembered.
const FOLDERS: usize = 4096;

/// Age from which the time of a folder shows any change of it.
const SETTLED: Duration = Duration::from_secs(2);

impl Sides {
    fn of(format: &Format, folder: &Path) -> Rc<Self> {
        let time = std::fs::metadata(folder).and_then(|meta| meta.modified()).ok();
        let Some(time) = time.filter(|_| format.files.side.is_some()) else { return Rc::default() };
        SEEN.with_borrow_mut(|seen| match seen.get(folder) {
            Some((at, sides)) if *at == time => Rc::clone(sides),
            _ => {
                let sides = Rc::new(Self::read(format, folder));
                if seen.len() >= FOLDERS {
                    seen.clear();
                }
                if time.elapsed().is_ok_and(|age| age > SETTLED) {
                    seen.insert(folder.to_owned(), (time, Rc::clone(&sides)));
                }
                sides
            }
        })
    }

    fn read(format: &Format, folder: &Path) -> Self {
        let mut sides = Self::default();
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            files.filter_map(|file| file.file_name().into_string().ok()).collect();
        names.sort_unstable();
        for name in names {
            let mut head = || {
                let file = folder.join(&name);
                let head = |mut input: Input| input.head().map(|(bytes, _)| bytes.to_vec());
                let input = file.is_file().then(|| Input::file(file));
                input.and_then(|input| input.and_then(head).ok()).unwrap_or_default()
            };
            if let Some(main) = format.files.side.and_then(|side| side(&name, &mut head)) {
                sides.of_main.entry(main.clone()).or_default().push(name.clone());
                sides.mains.insert(name, main);
            }
        }
        sides
    }
}

/// Whether a file is a symbolic link. A link that the user did not name may lead anywhere.
pub fn is_link(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok_and(|meta| meta.is_symlink())
}
