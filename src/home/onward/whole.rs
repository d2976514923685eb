//! The whole of a trimmed session that goes back to the agent from which it came.

use crate::batch::Job;
use crate::error::{Error, Result};
use crate::format::{Format, Parts};
use crate::formats::Spec;
use crate::home::converting::{named, opened, spool, stem};
use crate::home::trimming::keep;
use crate::origin::{is_trimmed_from, trimmed, whole};
use crate::store::{Edit, Fingerprint, Write, Writes, origin_of};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A copy of a trimmed session as if it had not been trimmed, with its new turns.
pub struct Whole {
    /// The copy, with the origin that the session had before.
    pub job: Job,
    /// The trimmed session.
    trimmed: PathBuf,
    own: Spec,
    /// The state of the trimmed session's origin.
    read: Fingerprint,
}

impl Whole {
    /// Copies the session into a folder; `None` for a session that is not trimmed, or does not come
    /// from an agent of this format.
    ///
    /// # Errors
    /// If the session was changed in another way than by new turns.
    pub fn of(job: &Job, to: &Format, work: &Path) -> Result<Option<Self>> {
        let failed = |error| Error::io("cannot copy", error);
        let Some(main) = job.path() else { return Ok(None) };
        if !origin_of(main).is_file() {
            return Ok(None);
        }
        let read = Fingerprint::of(&origin_of(main))?;
        let found = opened(job)?;
        let format = found.found.format;
        let own = Spec { format, version: format.version(found.found.sniffed.version) };
        let mut input = found.input.with_origin(format, None);
        if !trimmed(&mut input)?.is_some_and(|trimmed| is_trimmed_from(&trimmed, to)) {
            return Ok(None);
        }
        let Some(mut source) = whole(&mut input, &mut spool()?)? else { return Ok(None) };
        let copy = work.join("whole").join(main.file_name().unwrap_or_default());
        for part in source.parts.names() {
            let file = match part.as_str() {
                "" => copy.clone(),
                part => PathBuf::from(format!("{}{part}", stem(&copy).display())),
            };
            fs::create_dir_all(file.parent().unwrap_or(work)).map_err(failed)?;
            let mut to = File::create(file).map_err(failed)?;
            io::copy(&mut source.parts.open(&part)?, &mut to).map_err(failed)?;
        }
        if let Some(open) = source.parts.origin()? {
            let mut to = File::create(origin_of(&copy)).map_err(failed)?;
            io::copy(&mut open()?, &mut to).map_err(failed)?;
        }
        Ok(Some(Self { job: named(&copy), trimmed: main.to_path_buf(), own, read }))
    }

    /// Changes a write of the copy's origin into one of the trimmed session's origin, which then
    /// contains the copy and that origin.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn redirect(&self, writes: &mut Writes, work: &Path) -> Result<()> {
        let Some(copy) = self.job.path() else { return Ok(()) };
        let origin = origin_of(copy);
        for write in writes.iter_mut() {
            let Write::Replace { edit, to } = write else { continue };
            if *to != origin {
                continue;
            }
            fs::copy(edit.contents(), &origin).map_err(|error| Error::io("cannot copy", error))?;
            let fresh = work.join("trimmed.origin");
            keep(&self.job, self.own, &named(&self.trimmed), &fresh)?;
            *edit = Edit::once(fresh, self.read);
            *to = origin_of(&self.trimmed);
        }
        Ok(())
    }
}
