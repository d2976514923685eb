//! The place of a session's origin file: beside its main part.

use super::input::Input;
use super::origin_name::{file_of, origin_of};
use super::output::Output;
use super::sealed::{Meets, Staged};
use super::temporary::Temporary;
use crate::diagnostic::Log;
use crate::error::{Error, Result};
use crate::format::{Cx, Opener, Options, Parts, Same};
use crate::memory::Buffer;
use crate::origin::{Origin, digest_of, rejected, write_stream};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Opens an origin file.
/// Returns the format and version in which a file was written, from the origin beside it; `None` for
/// a file that is as it was written.
pub fn target_beside(file: &Path) -> Option<String> {
    let origin = opened(origin_of(file)).ok()?;
    let now = digest_of(File::open(file).ok()?).ok()?;
    (!origin.trailer.parts.contains(&now)).then_some(origin.header.target)
}

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
