//! Originals that are put back.

use super::barrier::sync_folder;
use super::check::check_in_place;
use super::input::Fingerprint;
use super::journal::State;
use super::output::folder_of;
use super::sealed::hash;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};

/// What became of a file whose original was to be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// The original is there again.
    Restored,
    /// It is there already: an earlier undo put it back, or the run did not come to replace it.
    There,
}

/// A folder below which originals are put back, and nowhere else.
#[derive(Debug)]
pub struct Restorer {
    root: PathBuf,
    dry: bool,
    /// The folders in which something was renamed.
    folders: BTreeSet<PathBuf>,
}

impl Restorer {
    /// For what is below `root`; a `dry` one only looks.
    ///
    /// # Errors
    /// If the folder is not there, or no longer the one that it was.
    pub fn new(root: PathBuf, dry: bool) -> Result<Self> {
        let same = root.canonicalize();
        let same = same.map_err(|error| Error::io(format!("{}", root.display()), error))?;
        if same != root {
            let message = format!("{} leads to {} now", root.display(), same.display());
            return Err(Error::request(Code::OutsideRoot, message));
        }
        Ok(Self { root, dry, folders: BTreeSet::new() })
    }

    /// Puts the original back that `written` took the place of and `read` describes.
    ///
    /// # Errors
    /// If either is not what it was, or stands elsewhere.
    pub fn restore(&mut self, read: &State, written: &State) -> Result<Back> {
        let target = self.inside(&written.path.path())?;
        let backup =
            written.backup.as_ref().map(|backup| self.inside(&backup.path())).transpose()?;
        if backup.as_ref().is_some_and(|backup| !is_backup_of(backup, &target)) {
            return Err(outside(&target));
        }
        check_in_place(&target)?;
        let before = Fingerprint::of(&target)?;
        if hash(File::open(&target))? != *written.hash.as_deref().unwrap_or_default() {
            return self.unlike(&target, backup.as_deref(), read);
        }
        let Some(backup) = backup else {
            return Err(Error::request(Code::NoBackup, Code::NoBackup.title()));
        };
        let meta = fs::symlink_metadata(&backup);
        if !meta.is_ok_and(|meta| meta.is_file()) {
            let message = format!("its original {} is gone", backup.display());
            return Err(Error::request(Code::NotAsWritten, message));
        }
        if !is(&backup, read) {
            let message = format!("its original {} was changed", backup.display());
            return Err(Error::request(Code::NotAsWritten, message));
        }
        if !self.dry {
            before.holds(&target)?;
            let renamed = fs::rename(&backup, &target);
            renamed.map_err(|error| Error::io("cannot put the original back", error))?;
            self.folders.insert(folder_of(&target).to_owned());
        }
        Ok(Back::Restored)
    }

    /// For a file that is not what the run wrote.
    fn unlike(&mut self, target: &Path, backup: Option<&Path>, read: &State) -> Result<Back> {
        if !is(target, read) {
            let kept = backup
                .filter(|backup| backup.is_file())
                .map_or(String::new(), |backup| format!("; the original is {}", backup.display()));
            let message = format!("it was changed since the run wrote it{kept}");
            return Err(Error::request(Code::NotAsWritten, message));
        }
        // A run that was killed in time gave the original a second name and did nothing more.
        let second =
            backup.filter(|backup| same_file::is_same_file(backup, target).unwrap_or(false));
        if let (Some(second), false) = (second, self.dry) {
            let removed = fs::remove_file(second);
            removed.map_err(|error| Error::io("cannot remove the backup", error))?;
            self.folders.insert(folder_of(target).to_owned());
        }
        Ok(Back::There)
    }

    /// The path of a file in the folder, which leads there through no link.
    fn inside(&self, path: &Path) -> Result<PathBuf> {
        let plain = path.components().all(|piece| matches!(piece, Component::Normal(_)));
        let full = self.root.join(path);
        let folder = folder_of(&full);
        if !plain || folder.canonicalize().is_ok_and(|real| real != folder) {
            return Err(outside(&full));
        }
        Ok(full)
    }

    /// Makes it all durable.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(self) -> Result<()> {
        self.folders.iter().try_for_each(|folder| sync_folder(folder))
    }
}

fn outside(path: &Path) -> Error {
    let message = format!("{} is not below the folder of the run", path.display());
    Error::request(Code::OutsideRoot, message)
}

/// Whether a name is one that a run gives to an original.
fn is_backup_of(backup: &Path, target: &Path) -> bool {
    let name = |path: &Path| path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let (longer, name) = (name(backup), name(target));
    backup.parent() == target.parent() && longer.len() > name.len() && longer.starts_with(&name)
}

fn is(path: &Path, state: &State) -> bool {
    Fingerprint::of(path)
        .is_ok_and(|now| now.size() == state.size && now.modified() == state.modified)
}
