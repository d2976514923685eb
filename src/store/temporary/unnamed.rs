//! Files without names.

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

    /// Creates one in a folder, of which nothing is left unless it is given a name, with the
    /// permissions of any new file or of that which it is to be `like`; `None` if the file system
    /// knows no such files, or refuses.
    pub fn create(folder: &Path, like: Option<&Metadata>) -> Option<File> {
        // Without it an older kernel could not give the file a name.
        static NAMES: OnceLock<bool> = OnceLock::new();
        if !NAMES.get_or_init(|| Path::new(OWN).is_dir()) {
            return None;
        }
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = like.map_or(NEW, |like| like.mode() & 0o777);
        open(folder, flags, Mode::from_raw_mode(mode)).ok().map(File::from)
    }

    /// Gives one a name.
    ///
    /// # Errors
    /// If something has it, or the system refuses.
    pub fn link(file: &File, path: &Path) -> io::Result<()> {
        match linkat(file, c"", CWD, path, AtFlags::EMPTY_PATH) {
            // So says a kernel before 6.10 where the right to pass over permissions is missing.
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

    /// Other systems know nothing of the kind.
    pub fn create(_: &Path, _: Option<&Metadata>) -> Option<File> {
        None
    }

    /// So there are none to be named.
    pub fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
