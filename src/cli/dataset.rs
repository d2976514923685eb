//! A data set while it is written: files of rows, and the card that describes them.
//!
//! Nothing has its name before everything is complete: a run that is killed leaves no data set that
//! looks whole. `card.json` comes last.

mod card;

pub use card::Card;

use super::Stop;
use super::text::printable;
use crate::error::Error;
use crate::format::Sink;
use crate::store::{Claims, Destination, Output, Policy};
use std::collections::BTreeMap;
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

/// Compression of the files of rows.
#[derive(Clone, Copy, Debug)]
pub enum Packed {
    /// None.
    Plain,
    /// Zstandard.
    Zstd,
    /// Gzip.
    Gzip,
}

impl Packed {
    fn ending(self) -> &'static str {
        match self {
            Self::Plain => ".jsonl",
            Self::Zstd => ".jsonl.zst",
            Self::Gzip => ".jsonl.gz",
        }
    }
}

/// The names of the files that describe a data set.
const CARD: &str = "card.json";
const README: &str = "README.md";

/// A data set while it is written.
pub struct Dataset {
    place: Place,
    packed: Packed,
    most: u64,
    force: bool,
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
    /// Checks that the place is free, or holds an earlier data set that may be replaced.
    pub fn open(place: Place, packed: Packed, most: u64, force: bool) -> Result<Self, Stop> {
        let old = match &place {
            Place::Folder(folder) => earlier(folder, force)?,
            _ => Vec::new(),
        };
        let (open, complete) = (BTreeMap::new(), Vec::new());
        let mut dataset = Self { place, packed, most, force, open, complete, old };
        // A place that cannot be written is reported before the work.
        match &dataset.place {
            Place::File(_) => drop(dataset.shard("train")?),
            Place::Folder(folder) => std::fs::create_dir_all(folder)
                .map_err(|error| failed(folder, &error.to_string()))?,
            _ => {}
        }
        Ok(dataset)
    }

    /// Adds a row to a part of the data set.
    pub fn row(&mut self, part: &str, text: &[u8]) -> Result<(), Stop> {
        if matches!(self.place, Place::Nowhere) {
            return Ok(());
        }
        let most = self.most;
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
                folder.join(format!("{part}-{number:05}{}", self.packed.ending()))
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
        let policy = Policy { force: self.force, ..Policy::default() };
        let output =
            Output::prepare(Destination::from(path), vec![], policy, Arc::new(Claims::default()));
        let created = output.and_then(|mut output| {
            let to = output.create("")?;
            Ok((to, output))
        });
        created.map_err(|error| failed(path, error.message()))
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
        let is_wanted = size > 0 || matches!(self.place, Place::File(_));
        self.complete.extend(output.filter(|_| is_wanted).map(|output| (path, output)));
        Ok(())
    }

    /// Gives all files their names, the card last, and returns their paths.
    pub fn finish(mut self, card: &Card) -> Result<Vec<PathBuf>, Stop> {
        for (_, shard) in std::mem::take(&mut self.open) {
            self.complete(shard)?;
        }
        let mut complete = std::mem::take(&mut self.complete);
        complete.sort_by(|a, b| a.0.cmp(&b.0));
        let paths: Vec<PathBuf> = complete.iter().map(|(path, _)| path.clone()).collect();
        let mut all: Vec<(PathBuf, Output)> = complete;
        if let Place::Folder(folder) = &self.place {
            for (name, text) in [(README, card.readme(&paths)), (CARD, card.json(&paths))] {
                let path = folder.join(name);
                let (mut to, output) = self.create(&path)?;
                to.write_all(text.as_bytes()).map_err(|error| failed(&path, &error.to_string()))?;
                drop(to);
                all.push((path, output));
            }
            // An earlier card describes files that are replaced now.
            self.remove_old(&paths)?;
        }
        for (path, output) in all {
            output.commit().map_err(|error: Error| failed(&path, error.message()))?;
        }
        Ok(paths)
    }

    /// Removes the files of an earlier data set that this one does not have.
    fn remove_old(&self, new: &[PathBuf]) -> Result<(), Stop> {
        for path in self.old.iter().filter(|path| !new.contains(path)) {
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
