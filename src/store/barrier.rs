//! The moment from which files survive a power cut.

use crate::error::{Error, Result};
use std::fs::File;
use std::path::Path;

/// So many files are flushed one by one. More are flushed with all that their file system holds
/// back: one wait for the disk instead of one for each, though it may include what other programs
/// wrote.
const FEW: usize = 8;

/// Makes the contents of files durable. Gives an outcome for each.
pub fn flush(files: &[&File]) -> Vec<Result<()>> {
    if files.len() > FEW
        && let Some(done) = together::flush(files)
    {
        return done;
    }
    files.iter().map(|file| file.sync_all().map_err(failed)).collect()
}

fn failed(error: std::io::Error) -> Error {
    Error::io("cannot flush to the disk", error)
}

/// Makes renames in a folder durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems cannot flush a folder.
        Err(error) if error.kind() != std::io::ErrorKind::InvalidInput => {
            Err(Error::io("cannot flush the folder", error))
        }
        _ => Ok(()),
    }
}

/// `syncfs` tells of failed writes since Linux 5.8.
#[cfg(target_os = "linux")]
mod together {
    use super::{File, Result, failed};
    use rustix::io::Errno;
    use std::collections::HashMap;
    use std::os::unix::fs::MetadataExt;

    /// Flushes every file system that one of the files is in; `None` if that cannot be done.
    pub fn flush(files: &[&File]) -> Option<Vec<Result<()>>> {
        let mut systems: HashMap<u64, Option<Errno>> = HashMap::new();
        let mut outcomes = Vec::with_capacity(files.len());
        for file in files {
            let system = systems.entry(file.metadata().ok()?.dev());
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
    use super::{File, Result};

    /// Other systems know nothing of the kind.
    pub fn flush(_: &[&File]) -> Option<Vec<Result<()>>> {
        None
    }
}
