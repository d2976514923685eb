//! Flushing to the disk, so that files survive a power cut.

use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::path::Path;

/// Maximum number of files that are flushed one by one. More files are flushed together with
/// everything else that their file system holds back. That is one wait for the disk instead of one
/// for each file, though it may include what other programs wrote.
const FEW: usize = 8;

/// Makes the contents of files durable. The metadata of a file may be passed if it is known
/// already. Returns one outcome for each file.
pub fn flush(files: &[(&File, Option<&Metadata>)]) -> Vec<Result<()>> {
    if files.len() > FEW
        && let Some(done) = together::flush(files)
    {
        return done;
    }
    files.iter().map(|(file, _)| file.sync_all().map_err(failed)).collect()
}

fn failed(error: std::io::Error) -> Error {
    Error::io("cannot flush to the disk", error)
}

/// Makes renames in a folder durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced.map_err(|error| (error.kind(), error)) {
        // Some file systems cannot flush a folder, and one that only takes files cannot be opened.
        Ok(()) | Err((ErrorKind::InvalidInput | ErrorKind::PermissionDenied, _)) => Ok(()),
        Err((_, error)) => Err(Error::io("cannot flush the folder", error)),
    }
}

/// Flush of whole file systems. `syncfs` reports failed writes since Linux 5.8.
#[cfg(target_os = "linux")]
mod together {
    use super::{File, Metadata, Result, failed};
    use rustix::io::Errno;
    use std::collections::HashMap;
    use std::os::unix::fs::MetadataExt;

    /// Flushes every file system that contains one of the files; `None` if that is not possible.
    pub fn flush(files: &[(&File, Option<&Metadata>)]) -> Option<Vec<Result<()>>> {
        let mut systems: HashMap<u64, Option<Errno>> = HashMap::new();
        let mut outcomes = Vec::with_capacity(files.len());
        for (file, meta) in files {
            let device =
                meta.map_or_else(|| file.metadata().map(|meta| meta.dev()), |m| Ok(m.dev()));
            let system = systems.entry(device.ok()?);
            match *system.or_insert_with(|| rustix::fs::syncfs(file).err()) {
                Some(Errno::NOSYS) => return None,
                Some(error) => outcomes.push(Err(failed(error.into()))),
                None => outcomes.push(Ok(())),
            }
        }
        Some(outcomes)
    }
}

#[cfg(not(target_os = "linux"))]
mod together {
    use super::{File, Metadata, Result};

    /// Always returns `None`, because other systems have no call like `syncfs`.
    pub fn flush(_: &[(&File, Option<&Metadata>)]) -> Option<Vec<Result<()>>> {
        None
    }
}
