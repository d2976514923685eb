//! Reading a pack, which may come from anyone.

use super::{Manifest, PackedFile, folder};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::origin::{contents, digest_of, read_archive};
use crate::store::Packing;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// A pack whose files were written into a temporary folder of the user's own.
pub struct Packed {
    /// The description.
    pub manifest: Manifest,
    work: TempDir,
}

impl Packed {
    /// Reads a pack. Nothing is written but the temporary folder, and nothing outside of it.
    ///
    /// # Errors
    /// If it cannot be read, is no pack, is damaged, or contains anything but what it describes.
    pub fn open(path: &Path) -> Result<Self> {
        let unfit = |why: &str| Error::request(Code::BadPack, format!("{}: {why}", path.display()));
        let unreadable = |error| Error::io(format!("cannot read {}", path.display()), error);
        let file = File::open(path).map_err(unreadable)?;
        let packed = file.metadata().map_err(unreadable)?.len();
        if Packing::of_file(path) != Some(Packing::Zstd) {
            return Err(unfit("it is no pack of copyist, but another file"));
        }
        let work = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
        let (mut manifest, mut names, mut failed) = (None, BTreeSet::new(), None);
        let read = read_archive(file, (packed, 0), &mut |name, from| {
            if name == Manifest::NAME {
                manifest = Some(contents(from)?);
                return Ok(());
            }
            names.insert(name.to_owned());
            let written = write(&work.path().join(name), from);
            written
                .inspect_err(|error| failed = Some(io::Error::new(error.kind(), error.to_string())))
        });
        if let Some(error) = failed {
            return Err(Error::io(format!("cannot unpack {}", path.display()), error));
        }
        read.map_err(unfit)?;
        let manifest = manifest.ok_or_else(|| unfit("it is no pack of copyist"))?;
        let manifest: Manifest = serde_json::from_slice(&manifest)
            .map_err(|error| unfit(&format!("its {}: {error}", Manifest::NAME)))?;
        if manifest.copyist_pack != Manifest::VERSION {
            let version = manifest.copyist_pack;
            return Err(unfit(&format!(
                "it is a pack of version {version}, which a newer copyist reads"
            )));
        }
        let new = Self { manifest, work };
        new.check(names).map_err(|why| unfit(&why))?;
        Ok(new)
    }

    /// Checks that the pack contains exactly the files that it describes.
    fn check(&self, mut names: BTreeSet<String>) -> std::result::Result<(), String> {
        for (number, session) in self.manifest.sessions.iter().enumerate() {
            for PackedFile { path, digest } in &session.files {
                let name = format!("{}/{path}", folder(number));
                let is_plain = Path::new(&name)
                    .components()
                    .all(|piece| matches!(piece, Component::Normal(_)));
                if !is_plain || !names.remove(&name) {
                    return Err(format!("{path} is missing in it"));
                }
                let own = File::open(self.work.path().join(&name))
                    .ok()
                    .and_then(|file| digest_of(file).ok());
                if own.as_ref() != Some(digest) {
                    return Err(format!("{path} differs from its description"));
                }
            }
        }
        match names.first() {
            Some(name) => Err(format!("{name} is in it, and in no session")),
            None => Ok(()),
        }
    }

    /// Returns the folder with the files of a session.
    pub(super) fn folder(&self, number: usize) -> PathBuf {
        self.work.path().join(folder(number))
    }

    /// Returns the path of a journal for the changes in that folder.
    pub(super) fn journal(&self, number: usize) -> PathBuf {
        self.work.path().join(format!("{number}.jsonl"))
    }
}

/// Writes a file that only the user may read.
fn write(path: &Path, from: &mut dyn io::Read) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::copy(from, &mut options.open(path)?).map(drop)
}
