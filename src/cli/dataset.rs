//! A data set while it is written: files of rows, and the card that describes them.
//!
//! Nothing has its name before everything is complete: a run that is killed leaves no data set that
//! looks whole. `card.json` comes last.

mod card;

pub use card::Card;

use super::text::printable;
use super::{Stop, save};
use crate::diagnostic::Code;
use crate::error::Error;
use crate::format::Sink;
use crate::store::{Claims, Destination, Output, Packing, Policy, narrowest};
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The place of the rows.
pub enum Place {
    /// Rows are counted only.
    Nowhere,
    /// Standard output.
    Stdout,
    /// One file.
    File(PathBuf),
    /// A folder with files of rows, `card.json` and `README.md`.
    Folder(PathBuf),
}

/// The names of the files that describe a data set.
const CARD: &str = "card.json";
const README: &str = "README.md";

/// The user's choices for the files of a data set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Compression of the files of rows.
    pub packing: Option<Packing>,
    /// Maximum size of a file of rows, before compression.
    pub most: u64,
    /// Whether existing files are replaced.
    pub force: bool,
}

/// A data set while it is written.
pub struct Dataset {
    place: Place,
    settings: Settings,
    /// Files of the sessions. No output replaces one, or can be read by more users than they can.
    sessions: Vec<Arc<Path>>,
    claims: Arc<Claims>,
    permissions: Option<Permissions>,
    /// The last file of each part of the data set.
    open: BTreeMap<String, Shard>,
    /// The files that are complete, without their names.
    complete: Vec<(PathBuf, Output)>,
    /// Files of an earlier data set, which are replaced.
    old: Vec<PathBuf>,
}

/// A file of rows.
struct Shard {
    path: PathBuf,
    number: u32,
    size: u64,
    to: Box<dyn Write>,
    output: Option<Output>,
}

impl Dataset {
    /// Checks that the place is free, or holds an earlier data set that may be replaced. The rows
    /// are those of `sessions`, whose files stay as they are.
    pub fn open(place: Place, settings: Settings, sessions: Vec<Arc<Path>>) -> Result<Self, Stop> {
        let (mut settings, mut old) = (settings, Vec::new());
        if let Place::Folder(folder) = &place {
            old = earlier(folder, settings.force)?;
            // Files that are of no data set stay.
            settings.force &= !old.is_empty();
        }
        let permissions = narrowest(sessions.iter().map(|path| &**path));
        let claims = Arc::new(Claims::of(sessions.clone(), None));
        let (open, complete) = (BTreeMap::new(), Vec::new());
        let mut dataset =
            Self { place, settings, sessions, claims, permissions, open, complete, old };
        // A place that cannot be written is reported before the work.
        match &dataset.place {
            Place::File(_) => drop(dataset.shard("train")?),
            Place::Folder(folder) => {
                for name in [README, CARD] {
                    dataset.create(&folder.join(name)).map(drop)?;
                }
            }
            _ => {}
        }
        Ok(dataset)
    }

    /// Adds a row to a part of the data set.
    pub fn row(&mut self, part: &str, text: &[u8]) -> Result<(), Stop> {
        if matches!(self.place, Place::Nowhere) {
            return Ok(());
        }
        let most = self.settings.most;
        let in_folder = matches!(self.place, Place::Folder(_));
        let shard = self.shard(part)?;
        if most == 0 && shard.size > 0 && !in_folder {
            let message = "each of these traces is a file of its own; use `--out-dir DIR`";
            return Err(Stop::usage(message));
        }
        let written = shard.to.write_all(text).and_then(|()| shard.to.write_all(b"\n"));
        written.map_err(|error| failed(&shard.path, &error.to_string()))?;
        shard.size += text.len() as u64 + 1;
        if shard.size >= most && in_folder {
            self.next(part)?;
        }
        Ok(())
    }

    /// Returns the file to which the next row of a part is written.
    fn shard(&mut self, part: &str) -> Result<&mut Shard, Stop> {
        if !self.open.contains_key(part) {
            let shard = self.begin(part, 0)?;
            self.open.insert(part.to_owned(), shard);
        }
        self.open.get_mut(part).ok_or_else(|| Stop::broken("a file of rows is missing"))
    }

    fn begin(&self, part: &str, number: u32) -> Result<Shard, Stop> {
        let path = match &self.place {
            Place::Folder(folder) => {
                let packed = self.settings.packing.map_or("", Packing::ending);
                folder.join(format!("{part}-{number:05}.jsonl{packed}"))
            }
            Place::File(path) => path.clone(),
            Place::Stdout | Place::Nowhere => {
                let to = Box::new(BufWriter::new(stdout()));
                return Ok(Shard { path: "-".into(), number, size: 0, to, output: None });
            }
        };
        let (to, output) = self.create(&path)?;
        Ok(Shard { path, number, size: 0, to, output: Some(output) })
    }

    fn create(&self, path: &Path) -> Result<(Box<dyn Write>, Output), Stop> {
        let policy = Policy { force: self.settings.force, ..Policy::default() };
        let claims = Arc::clone(&self.claims);
        let output = Output::prepare(Destination::from(path), vec![], policy, claims);
        let created = output.and_then(|output| {
            let mut output = output.permitted(self.permissions.clone());
            let to = output.create("")?;
            Ok((to, output))
        });
        created.map_err(|error| match (error.code(), &self.place) {
            (Code::Exists, Place::Folder(_)) => {
                failed(path, "the file is of no export, and is not replaced; name another folder")
            }
            (Code::Exists, _) => failed(path, "the file exists; `--force` replaces it"),
            _ => failed(path, error.message()),
        })
    }

    /// Ends the file of a part, and begins the next one.
    fn next(&mut self, part: &str) -> Result<(), Stop> {
        let Some(shard) = self.open.remove(part) else { return Ok(()) };
        let number = shard.number + 1;
        self.complete(shard)?;
        let shard = self.begin(part, number)?;
        self.open.insert(part.to_owned(), shard);
        Ok(())
    }

    fn complete(&mut self, shard: Shard) -> Result<(), Stop> {
        let Shard { path, mut to, output, size, .. } = shard;
        to.flush().map_err(|error| failed(&path, &error.to_string()))?;
        drop(to);
        // The last file of a part may have no row.
        self.complete.extend(output.filter(|_| size > 0).map(|output| (path, output)));
        Ok(())
    }

    /// Gives all files their names, the card last, and returns the paths of those with rows. Without
    /// rows, nothing changes.
    pub fn finish(mut self, card: &Card) -> Result<Vec<PathBuf>, Stop> {
        for (_, shard) in std::mem::take(&mut self.open) {
            self.complete(shard)?;
        }
        let mut complete = std::mem::take(&mut self.complete);
        complete.sort_by(|a, b| a.0.cmp(&b.0));
        let paths: Vec<PathBuf> = complete.iter().map(|(path, _)| path.clone()).collect();
        if paths.is_empty() {
            return Ok(paths);
        }
        // The card of an earlier data set describes files that are replaced now.
        self.remove_old(&paths)?;
        for (path, output) in complete {
            output.commit().map_err(|error: Error| failed(&path, error.message()))?;
        }
        if let Place::Folder(folder) = &self.place {
            let like: Vec<&Path> = self.sessions.iter().map(|path| &**path).collect();
            for (name, text) in [(README, card.readme(&paths)), (CARD, card.json(&paths))] {
                save(&folder.join(name), text.as_bytes(), self.settings.force, &like)?;
            }
        }
        Ok(paths)
    }

    /// Removes the files of an earlier data set that this one does not have.
    fn remove_old(&self, new: &[PathBuf]) -> Result<(), Stop> {
        let stays = |path: &PathBuf| new.contains(path) || self.claims.check(path).is_err();
        for path in self.old.iter().filter(|path| !stays(path)) {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(path, &error.to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn failed(path: &Path, why: &str) -> Stop {
    Stop { code: 3, message: format!("{}: {why}", printable(&path.to_string_lossy())) }
}

/// Returns the files of an earlier data set in a folder, its card first, so that no card is without
/// its rows.
fn earlier(folder: &Path, force: bool) -> Result<Vec<PathBuf>, Stop> {
    let card = folder.join(CARD);
    let Ok(text) = std::fs::read(&card) else { return Ok(Vec::new()) };
    if !force {
        return Err(failed(folder, "there is a data set; `--force` replaces it"));
    }
    let known: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    let files = known.as_ref().filter(|card| card.get("copyist").is_some());
    let files = files.and_then(|card| card.get("files")?.as_array());
    let Some(files) = files else {
        return Err(failed(&card, "it is not the card of an export, and is not replaced"));
    };
    let names = files.iter().filter_map(|file| file.as_str());
    let is_name = |name: &&str| Path::new(name).file_name().is_some_and(|own| own == *name);
    let old = names.filter(is_name).map(|name| folder.join(name));
    Ok(std::iter::once(card).chain(old).collect())
}
