//! The place of a session's origin file: beside its main part.

use super::input::Input;
use super::output::Output;
use super::packed::plain_name;
use super::sealed::{Meets, Staged};
use super::temporary::Temporary;
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Opener, Options, Parts, Same};
use crate::memory::Buffer;
use crate::origin::{Origin, digest_of, rejected, write_stream};
use std::fs::{self, File};
use std::io;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::rc::Rc;

/// Ending that is appended to a file's name to form the name of its origin.
pub const ORIGIN: &str = ".origin";

/// Returns the path of a file's origin. The ending of a compressed file is removed first.
pub fn origin_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default();
    match name.to_str() {
        Some(name) => file.with_file_name(format!("{}{ORIGIN}", plain_name(name))),
        None => {
            let mut name = name.to_owned();
            name.push(ORIGIN);
            file.with_file_name(name)
        }
    }
}

/// Returns the path of a file's origin, which its software may have left behind where the file was
/// before.
pub fn origin_of_moved(file: &Path, format: &Format) -> PathBuf {
    let beside = origin_of(file);
    let is_there = |path: &PathBuf| fs::symlink_metadata(path).is_ok();
    if is_there(&beside) {
        return beside;
    }
    let file = std::path::absolute(file).ok();
    let path = file.and_then(|file| Some(file.to_str()?.replace(MAIN_SEPARATOR, "/")));
    let earlier = path.map(|path| (format.earlier)(&path)).unwrap_or_default();
    let mut origins = earlier.into_iter().map(|path| origin_of(Path::new(&path)));
    origins.find(is_there).unwrap_or(beside)
}

/// Returns the file that an origin belongs to, if it exists.
pub fn file_of(origin: &Path) -> Option<PathBuf> {
    let name = origin.file_name()?.to_str()?.strip_suffix(ORIGIN)?;
    let names =
        ["", ".gz", ".zst"].map(|packing| origin.with_file_name(format!("{name}{packing}")));
    names.into_iter().find(|path| fs::symlink_metadata(path).is_ok())
}

/// Whether a file has the name of an origin.
pub fn is_origin(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(ORIGIN.as_bytes()))
}

/// Whether an origin is alone because its file does not exist.
pub fn is_alone(path: &Path) -> bool {
    is_origin(path) && file_of(path).is_none()
}

/// Returns the format and version in which a file was written, from the origin beside it; `None` for
/// a file that is as it was written.
pub fn target_beside(file: &Path) -> Option<String> {
    let origin = opened(origin_of(file)).ok()?;
    let now = digest_of(File::open(file).ok()?).ok()?;
    (!origin.trailer.parts.contains(&now)).then_some(origin.header.target)
}

/// Opens an origin file.
fn opened(file: PathBuf) -> Result<Origin> {
    let opener: Opener = Rc::new(move || {
        let file = File::open(&file).map_err(|error| Error::io("cannot open", error))?;
        Ok(Box::new(file))
    });
    Origin::open(opener, 0)?.map_err(rejected)
}

impl Input {
    /// Opens the session that an origin contains: the file itself, or a stream of a session of
    /// several files.
    pub fn of_origin(path: &Path) -> Result<Self> {
        let failed = |error| Error::io("cannot unpack the origin", error);
        let origin = opened(path.to_owned())?;
        let mut source = origin.source(&mut Buffer::default())?.map_err(rejected)?;
        let (log, options) = (Log::default(), origin.header.reading(&Options::default()));
        let cx = Cx { options: &options, log: &log };
        let mut file = tempfile::tempfile().map_err(failed)?;
        match source.parts.names().as_slice() {
            [main] => drop(io::copy(&mut source.parts.open(main)?, &mut file).map_err(failed)?),
            _ => write_stream(source.format, &mut source.parts, &mut file, &cx)?,
        }
        Ok(Self::spooled(file))
    }
}

impl Output {
    /// Puts the origin in its place, before all parts. An existing origin whose file is gone is
    /// overwritten only if it has the same contents.
    pub(super) fn put_origin(&mut self, file: Temporary, beside: &Path, same: &Same) -> Result<()> {
        let target = origin_of(beside);
        let lone = file_of(&target).is_none();
        let again = || File::open(&target).is_ok_and(|mut file| same(&mut file));
        let over = self.allows_over(&target) || !lone || again();
        let stands = self.check_origin(&target, over)?;
        self.claim(&target, stands)?;
        let staged = Staged {
            file,
            made: None,
            target: target.into(),
            elsewhere: self.is_elsewhere(beside),
            meets: Meets::Stop,
            over,
            aside: false,
            origin: true,
        };
        self.created.push(staged.target.clone());
        self.staged.insert(0, staged);
        Ok(())
    }
}

/// Removes the origin of a file that is replaced, because it does not belong to the new file.
pub(super) fn remove_old(file: &Path) -> Result<()> {
    match fs::remove_file(origin_of(file)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove the old origin", error))
        }
        _ => Ok(()),
    }
}
