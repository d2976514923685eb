//! Restoration of the original files that a run replaced.

use super::barrier::sync_folder;
use super::check::{check_in_place, is_same_file};
use super::database::Grown;
use super::destination::folder_of;
use super::fingerprint::Fingerprint;
use super::journal::{Entry, Name, State};
use super::sealed::{create_folder, hash};
use super::temporary::Swept;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Outcome for one file whose original was to be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// The original is there again.
    Restored,
    /// The file that the run had added, or the original that it had kept, was removed.
    Removed,
    /// There is nothing left to do: an earlier undo did it, or the run ended before it wrote the
    /// file.
    There,
}

/// A folder below which originals are restored. No file outside of it is changed.
#[derive(Debug)]
pub struct Restorer {
    root: PathBuf,
    dry: bool,
    swept: Swept,
    /// The folders in which a file was renamed or removed.
    folders: BTreeSet<PathBuf>,
}

impl Restorer {
    /// Creates a restorer for the files below `root`. A `dry` one only checks and changes nothing.
    pub fn new(root: PathBuf, dry: bool) -> Result<Self> {
        let moved = "if the folder was moved, name its present path with `--root FOLDER`";
        let same = root.canonicalize().map_err(|error| {
            let doing = format!("the run worked in {}, and {moved}", root.display());
            Error::io(doing, error)
        })?;
        if same != root {
            let message = format!("{} leads to {} now; {moved}", root.display(), same.display());
            return Err(Error::request(Code::OutsideRoot, message));
        }
        Ok(Self { root, dry, swept: Swept::default(), folders: BTreeSet::new() })
    }

    /// Returns the database to which the run added rows, if that is what an entry describes.
    ///
    /// # Errors
    /// If a path in the entry is not one below the folder.
    pub fn grown(&self, entry: &Entry) -> Result<Option<Grown>> {
        let named = |path: &Name| entry.files.iter().find(|file| file.path == *path).cloned();
        let Some((written, rest)) = entry.outputs.split_first().filter(|_| entry.rows) else {
            return Ok(None);
        };
        let (path, Some(read)) = (self.inside(&written.path.path())?, named(&written.path)) else {
            return Ok(None);
        };
        let Some(backup) = self.backup(written, &path)? else { return Ok(None) };
        let log = rest.first().zip(entry.files.get(1));
        let log = log.map(|(copy, read)| Ok((self.inside(&copy.path.path())?, read.clone())));
        Ok(Some(Grown { path, backup, states: (read, written.clone()), log: log.transpose()? }))
    }

    /// Whether this is only a check.
    pub fn is_dry(&self) -> bool {
        self.dry
    }

    /// Restores the original that `written` took the place of and that `read` describes.
    pub fn restore(&mut self, read: &State, written: &State) -> Result<Back> {
        let target = self.target(written)?;
        let backup = self.backup(written, &target)?;
        check_present(&target, backup.as_deref())?;
        check_in_place(&target)?;
        let before = Fingerprint::of(&target)?;
        // An undo that was killed may have cut the file and not set its time.
        let is_cut = written.grown_from.is_some()
            && before.size() == read.size
            && before.modified() != read.modified
            && has_hash(&target, read)?;
        if !is_cut && !has_hash(&target, written)? {
            return self.unlike((&target, backup.as_deref()), read, written);
        }
        if let Some(size) = written.grown_from {
            if !self.dry {
                before.holds(&target)?;
                super::grow::cut(&target, size, time_of(read))?;
            }
            return Ok(Back::Restored);
        }
        let Some(backup) = backup else {
            return Err(Error::request(Code::NoBackup, Code::NoBackup.title()));
        };
        check_backup(&backup, read)?;
        if !self.dry {
            before.holds(&target)?;
            let renamed = fs::rename(&backup, &target);
            renamed.map_err(|error| Error::io("cannot restore the original", error))?;
            self.folders.insert(folder_of(&target).to_owned());
        }
        Ok(Back::Restored)
    }

    /// Moves a file back that the run moved. If its contents changed, the original is beside it.
    pub fn move_back(&mut self, read: &State, written: &State, old_name: &Path) -> Result<Back> {
        let (target, old) = (self.target(written)?, self.inside(old_name)?);
        if self.remove_half(read, written, old_name)? {
            return Ok(Back::There);
        }
        let backup = self.backup(written, &target)?;
        if let (true, Some(backup)) = (is_missing(&target) && !self.dry, &backup) {
            // A run that was killed in time moved the original and wrote nothing.
            check_backup(backup, read)?;
            create_folder(folder_of(&old), true)?;
            let renamed = fs::rename(backup, &old);
            renamed.map_err(|error| Error::io("cannot restore the original", error))?;
            return Ok(Back::Restored);
        }
        check_in_place(&target)?;
        if !is_missing(&old) {
            let message = format!("there is a file again at {}", old.display());
            return Err(Error::request(Code::NotAsWritten, message));
        }
        if !has_hash(&target, written)? {
            let message = format!(
                "it was changed since the run moved it{KEPT} there, or bring it back with what is \
                 new by `copyist move`"
            );
            return Err(Error::request(Code::NotAsWritten, message));
        }
        backup.iter().try_for_each(|backup| check_backup(backup, read))?;
        if !self.dry {
            let failed = |error| Error::io("cannot restore the original", error);
            create_folder(folder_of(&old), true)?;
            fs::rename(backup.as_ref().unwrap_or(&target), &old).map_err(failed)?;
            if backup.is_some() {
                fs::remove_file(&target).map_err(failed)?;
            }
            remove_empty_above(&target, &self.root);
            self.folders.extend([&old, &target].map(|path| folder_of(path).to_owned()));
        }
        Ok(Back::Restored)
    }

    /// Removes the new file of one that moves, if the old one is still there: a run was killed before
    /// that went. Returns whether the file is where it was before the run.
    pub fn remove_half(&mut self, read: &State, written: &State, old: &Path) -> Result<bool> {
        let (target, old) = (self.target(written)?, self.inside(old)?);
        if is_missing(&old) || is_missing(&target) {
            return Ok(!is_missing(&old));
        }
        let is_half = is(&old, read) && has_hash(&target, written)?;
        if is_half && !self.dry {
            let removed = fs::remove_file(&target);
            removed.map_err(|error| Error::io("cannot remove what the run added", error))?;
            remove_empty_above(&target, &self.root);
        }
        Ok(is_half)
    }

    /// Removes temporary files that a killed run left beside a file that it wrote.
    pub fn sweep(&self, written: &State) -> Result<()> {
        self.target(written).map(drop)
    }

    /// Removes a file that the run added, which `written` describes.
    pub fn remove(&mut self, written: &State) -> Result<Back> {
        let target = self.target(written)?;
        if is_missing(&target) {
            return Ok(Back::There);
        }
        check_in_place(&target)?;
        if !has_hash(&target, written)? {
            let message = format!(
                "the run added it, and it was changed since{KEPT}, or remove it yourself if what \
                 is new is not wanted, and repeat the undo"
            );
            return Err(Error::request(Code::NotAsWritten, message));
        }
        if !self.dry {
            let removed = fs::remove_file(&target);
            removed.map_err(|error| Error::io("cannot remove what the run added", error))?;
            self.folders.insert(folder_of(&target).to_owned());
        }
        Ok(Back::Removed)
    }

    /// Removes the original that the run kept of a file. The file must still be as `written`
    /// describes it if that is its `newest` state in the journal.
    pub fn discard(&mut self, read: &State, written: &State, newest: bool) -> Result<Back> {
        let target = self.target(written)?;
        let Some(backup) = self.backup(written, &target)?.filter(|backup| !is_missing(backup))
        else {
            return Ok(Back::There);
        };
        check_present(&target, Some(&backup))?;
        check_in_place(&target)?;
        let before = Fingerprint::of(&target)?;
        if newest && !has_hash(&target, written)? {
            let message = "the file is not what the run wrote";
            return Err(Error::request(Code::NotAsWritten, message));
        }
        check_backup(&backup, read)?;
        if !self.dry {
            before.holds(&target)?;
            let removed = fs::remove_file(&backup);
            removed.map_err(|error| Error::io("cannot remove the original", error))?;
            self.folders.insert(folder_of(&backup).to_owned());
        }
        Ok(Back::Removed)
    }

    /// Whether a file is there and is what the run wrote.
    pub fn is_as_written(&self, written: &State) -> Result<bool> {
        let target = self.inside(&written.path.path())?;
        Ok(target.is_file() && has_hash(&target, written)?)
    }

    /// Returns the path of the original that the run kept of `target`.
    fn backup(&self, written: &State, target: &Path) -> Result<Option<PathBuf>> {
        let Some(backup) = &written.backup else { return Ok(None) };
        let backup = self.inside(&backup.path())?;
        if is_backup_of(&backup, target) { Ok(Some(backup)) } else { Err(outside(target)) }
    }

    /// Returns the path of a file that the run wrote. Temporary files that a killed run left beside
    /// it are removed.
    fn target(&self, written: &State) -> Result<PathBuf> {
        let target = self.inside(&written.path.path())?;
        if !self.dry {
            self.swept.beside(&target);
        }
        Ok(target)
    }

    /// Handles a file that is not what the run wrote: if it is the original, the second name that a
    /// killed run gave it is removed.
    fn unlike(
        &mut self,
        (target, backup): (&Path, Option<&Path>),
        read: &State,
        written: &State,
    ) -> Result<Back> {
        if !is(target, read) {
            if written.grown_from.is_some_and(|size| is_between(target, size, written.size)) {
                let message = "the run may have been killed while it added to it; repeat its \
                               command, which completes it, and then undo";
                return Err(Error::request(Code::NotAsWritten, message));
            }
            let message = format!(
                "it was changed since the run wrote it{KEPT}{}",
                way_back(target, backup, written)
            );
            return Err(Error::request(Code::NotAsWritten, message));
        }
        // A run that was killed in time gave the original a second name and did nothing more.
        let second = backup.filter(|backup| is_same_file(backup, target));
        if let (Some(second), false) = (second, self.dry) {
            let removed = fs::remove_file(second);
            removed.map_err(|error| Error::io("cannot remove the backup", error))?;
            self.folders.insert(folder_of(target).to_owned());
        }
        Ok(Back::There)
    }

    /// Returns the full path of a file below the root folder. A path that leads through a symbolic
    /// link is refused.
    fn inside(&self, path: &Path) -> Result<PathBuf> {
        let plain = path.components().all(|piece| matches!(piece, Component::Normal(_)));
        let full = self.root.join(path);
        let folder = folder_of(&full);
        if !plain || folder.canonicalize().is_ok_and(|real| real != folder) {
            return Err(outside(&full));
        }
        Ok(full)
    }

    /// Makes all changes durable.
    pub fn finish(self) -> Result<()> {
        // A folder that became empty was removed.
        let folders = self.folders.iter().filter(|folder| folder.is_dir());
        folders.into_iter().try_for_each(|folder| sync_folder(folder))
    }
}

/// Words about a file that another program changed, as by a new turn.
const KEPT: &str = ", as a new turn does; nothing is lost, and it stays as it is: go on with it";

/// Removes the folders above a file and below `root`, as far as they are empty.
fn remove_empty_above(path: &Path, root: &Path) {
    let above = path.ancestors().skip(1).take_while(|folder| *folder != root);
    // Fails where the folder has other files, which stay.
    above.take_while(|folder| fs::remove_dir(folder).is_ok()).for_each(drop);
}

/// Whether the size of a file is between these two.
fn is_between(path: &Path, least: u64, most: u64) -> bool {
    path.metadata().is_ok_and(|meta| least < meta.len() && meta.len() < most)
}

/// Returns the time of the last change of a file that the run read.
fn time_of(read: &State) -> Option<SystemTime> {
    let time: jiff::Timestamp = read.modified.as_deref()?.parse().ok()?;
    Some(time.into())
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Checks that a file that the run wrote is there.
fn check_present(target: &Path, backup: Option<&Path>) -> Result<()> {
    if !is_missing(target) {
        return Ok(());
    }
    let message = format!("it is gone, removed or renamed{}", backup_hint(backup));
    Err(Error::request(Code::NotAsWritten, message))
}

/// Describes for an error message where the original is. Empty if there is no backup.
fn backup_hint(backup: Option<&Path>) -> String {
    let backup = backup.filter(|backup| backup.is_file());
    let rename = "look at both, and rename it if that is what you want";
    backup
        .map_or(String::new(), |backup| format!("; the original is {}: {rename}", backup.display()))
}

/// Returns the way to the original of a file that was changed since the run wrote it, in words.
fn way_back(target: &Path, backup: Option<&Path>, written: &State) -> String {
    if let Some(backup) = backup.filter(|backup| backup.is_file()) {
        let (backup, target) = (backup.display(), target.display());
        let rename = format!("rename the original {backup} to {target}");
        return format!(", or, if what is new is not wanted, {rename} yourself");
    }
    if !begins_as(target, written) {
        return String::new();
    }
    let cut = format!("cut it yourself behind its first {} bytes", written.size);
    format!(", or, if what is new is not wanted, {cut}, which the run wrote, and repeat the undo")
}

/// Whether the file still begins with what the run wrote.
fn begins_as(path: &Path, written: &State) -> bool {
    let mut hasher = blake3::Hasher::new();
    let read =
        File::open(path).and_then(|file| io::copy(&mut file.take(written.size), &mut hasher));
    read.is_ok() && Some(hasher.finalize().to_hex().as_str()) == written.hash.as_deref()
}

fn has_hash(path: &Path, state: &State) -> Result<bool> {
    Ok(hash(File::open(path))? == *state.hash.as_deref().unwrap_or_default())
}

/// Checks that a backup is the file that the run read. Where the journal has a hash of the
/// contents, the hash decides. Without a hash, a copy or a file with a new time cannot be
/// distinguished from a changed file and is refused.
fn check_backup(backup: &Path, read: &State) -> Result<()> {
    let name = backup.display();
    let meta = fs::symlink_metadata(backup);
    let why = match meta {
        Ok(meta) if meta.is_file() => match Fingerprint::from(&meta) {
            now if now.size() != read.size => format!("its original {name} was changed"),
            now if now.modified() == read.modified => return Ok(()),
            _ if read.hash.is_some() => match has_hash(backup, read)? {
                true => return Ok(()),
                false => format!("its original {name} was changed"),
            },
            _ => format!(
                "its original {name} has another time than in the journal, as a copy has; \
                 the journal does not show whether its contents are the same"
            ),
        },
        _ => format!("its original {name} is gone; `copyist clean` or a user removed it"),
    };
    Err(Error::request(Code::NotAsWritten, why))
}

fn outside(path: &Path) -> Error {
    let message = format!("{} is not below the folder of the run", path.display());
    Error::request(Code::OutsideRoot, message)
}

/// Whether a file name is one that a run gives to a backup of `target`.
fn is_backup_of(backup: &Path, target: &Path) -> bool {
    let name = |path: &Path| path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let (longer, name) = (name(backup), name(target));
    backup.parent() == target.parent() && longer.len() > name.len() && longer.starts_with(&name)
}

fn is(path: &Path, state: &State) -> bool {
    Fingerprint::of(path)
        .is_ok_and(|now| now.size() == state.size && now.modified() == state.modified)
}
