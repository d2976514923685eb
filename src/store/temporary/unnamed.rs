//! Files that have no name.

pub use of_system::{create, link};

#[cfg(target_os = "linux")]
mod of_system {
    use crate::store::temporary::NEW;
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use rustix::io::Errno;
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::sync::OnceLock;

    const OWN: &str = "/proc/self/fd";

    /// Creates an unnamed file in a folder. Nothing of it is left unless it is given a name. Its
    /// permissions are those of any new file, or those of the file that it is to be `like`. `None`
    /// if the file system does not support such files, or refuses.
    pub fn create(folder: &Path, like: Option<&Metadata>) -> Option<File> {
        // Without `/proc`, an older kernel could not give the file a name.
        static NAMES: OnceLock<bool> = OnceLock::new();
        if !NAMES.get_or_init(|| Path::new(OWN).is_dir()) {
            return None;
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = like.map_or(NEW, |like| like.mode() & 0o777);
        open(folder, flags, Mode::from_raw_mode(mode)).ok().map(File::from)
    }

    /// Gives an unnamed file a name.
    pub fn link(file: &File, path: &Path) -> io::Result<()> {
        match linkat(file, c"", CWD, path, AtFlags::EMPTY_PATH) {
            // A kernel before 6.10 returns this error where the right to bypass permissions is
            // missing.
            Err(Errno::NOENT) => {
                let own = format!("{OWN}/{}", file.as_raw_fd());
                Ok(linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
            }
            linked => Ok(linked?),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod of_system {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    /// Always returns `None`, because other systems have no unnamed files.
    pub fn create(_: &Path, _: Option<&Metadata>) -> Option<File> {
        None
    }

    /// Always fails, because there are no unnamed files.
    pub fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
