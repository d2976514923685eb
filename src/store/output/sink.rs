//! The implementation of [`Sink`] by which a session is written to an [`Output`].

use super::{IN_MEMORY, Output};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Change, Out, Same, Sink, Spool};
use crate::repair::QUARANTINE;
use crate::store::check::{Existing, is_same_file};
use crate::store::destination::Destination;
use crate::store::origin_name::origin_of;
use crate::store::sealed::Meets;
use crate::store::shared;
use crate::store::spool::Buffered;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::{spooled_tempfile, spooled_tempfile_in};

impl Sink for Output {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        Ok(match self.create_for_any(name)? {
            Out::Here(part) => part,
            Out::Anywhere(part) => part,
        })
    }

    fn create_for_any(&mut self, name: &str) -> Result<Out<'static>> {
        let (target, existing): (Option<Arc<Path>>, _) = match name {
            "" if self.is_native() => {
                let message = "the session has no name that its software would give it";
                return Err(Error::request(Code::NoName, message));
            }
            "" => (self.target().map(Arc::from), self.existing),
            _ => {
                let mut target = self.part(name)?;
                if name == QUARANTINE && self.quarantine.is_none() {
                    target = target.map(|path| self.claim_quarantine(&path));
                }
                let existing = target.as_ref().map(|target| self.check(target)).transpose()?;
                (target.map(Arc::from), existing.unwrap_or(Existing::Nothing))
            }
        };
        target.iter().try_for_each(|target| self.claim(target, existing))?;
        self.created.extend(target.clone());
        match target {
            _ if self.policy.dry => Ok(Out::Anywhere(Box::new(io::sink()))),
            Some(target) => {
                let file = self.stage(Arc::clone(&target), existing, Meets::Stop)?;
                if let Some(staged) = self.staged.last_mut() {
                    staged.aside = name == QUARANTINE;
                }
                self.packed(file, &target)
            }
            None if self.destination == Destination::Stdout && name.is_empty() => {
                Ok(Out::Anywhere(Box::new(io::stdout())))
            }
            None => Ok(Out::Anywhere(Box::new(io::sink()))),
        }
    }

    fn add(&mut self, name: &str, contents: &[u8]) -> Result<bool> {
        let Some(target) = self.part(name)?.map(Arc::<Path>::from) else { return Ok(true) };
        self.claims.wait(self.destination.turn());
        // Other sessions may need the existing file, even if other files may be overwritten.
        if fs::symlink_metadata(&target).is_ok() && !self.claims.is_own(&target) {
            return shared::holds(&target, contents);
        }
        if !self.claims.share(&target, contents) {
            return Ok(false);
        }
        if self.policy.dry || self.staged.iter().any(|staged| staged.target == target) {
            return Ok(true);
        }
        let existing = self.check(&target)?;
        self.created.push(Arc::clone(&target));
        let written = self.stage(target, existing, Meets::Stays)?.write_all(contents);
        written.map(|()| true).map_err(|error| Error::io("cannot write", error))
    }

    fn origin(&mut self) -> Result<Option<Box<dyn Write>>> {
        let one = matches!(&self.destination, Destination::File(_) | Destination::Files { .. });
        if !(one || self.is_native()) || self.existing == Existing::Special {
            // If nothing is written, it does not matter that there is no place for the origin.
            let nowhere = self.destination == Destination::Nowhere;
            return Ok(nowhere.then(|| Box::new(io::sink()) as Box<dyn Write>));
        }
        if self.policy.dry {
            return Ok(Some(Box::new(io::sink())));
        }
        let place = match &self.destination {
            Destination::Native { folder, .. } => folder.join("origin"),
            _ => self.target().unwrap_or(Path::new("")).to_owned(),
        };
        let file = self.unplaced(&place)?;
        let open = Arc::clone(file.as_file());
        self.origin = Some(file);
        Ok(Some(Box::new(open)))
    }

    fn place_origin(&mut self, part: &str, same: Same) -> Result<()> {
        let beside = match part {
            "" => self.target().map(Path::to_owned),
            _ => self.part(part)?,
        };
        match (beside, self.origin.take()) {
            (Some(beside), Some(file)) => self.put_origin(file, &beside, &same),
            (Some(beside), None) if self.policy.dry => {
                self.created.push(origin_of(&beside).into());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        if let Some(target) = self.part(name)? {
            let same = |source: &Path| is_same_file(source, &target);
            if self.sources().any(same) {
                return Err(Error::request(Code::SameFile, Code::SameFile.title()));
            }
            self.created.push(target.as_path().into());
            if !self.policy.dry {
                self.changes.push((target, change));
            }
        }
        Ok(())
    }

    fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        let Some(first) = self.part(&nth(1))? else { return Ok(1) };
        self.claims.wait(self.destination.turn());
        let mut n = self.claims.untaken(&first);
        while let Some(target) = self.part(&nth(n))? {
            if Existing::at(&target) != Existing::Nothing {
                self.claims.check(&target)?;
            }
            if self.claims.take(&target, self.owner) {
                break;
            }
            n += 1;
        }
        self.claims.taken_up_to(&first, n);
        // The names of all its other files follow from this one.
        self.claims.pass(self.destination.turn());
        Ok(n)
    }

    fn is_native(&self) -> bool {
        matches!(self.destination, Destination::Native { .. })
    }

    fn is_in_place(&self) -> bool {
        self.changes_inputs()
    }

    fn discards(&self) -> bool {
        self.policy.dry
    }

    fn takes_parts(&self) -> bool {
        !matches!(self.destination, Destination::Stdout | Destination::File(_))
    }

    fn stem(&self) -> Option<String> {
        match &self.destination {
            Destination::Files { stem, .. } => Some(stem.file_name()?.to_string_lossy().into()),
            Destination::Native { stem, .. } => Some(stem.clone()),
            _ => None,
        }
    }

    fn checkpoint(&mut self) -> bool {
        let Self { staged, changes, created, packed, .. } = self;
        let mark = [staged.len(), changes.len(), created.len(), packed.len()];
        let gone = self.destination == Destination::Stdout || self.existing == Existing::Special;
        self.mark = Some(mark).filter(|_| !gone);
        self.can_roll_back()
    }

    fn can_roll_back(&self) -> bool {
        self.mark.is_some()
    }

    fn roll_back(&mut self) {
        let Some([staged, changes, created, packed]) = self.mark.take() else { return };
        self.staged.truncate(staged);
        self.changes.truncate(changes);
        self.created.truncate(created);
        self.packed.truncate(packed);
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        // The folder of the output has room for the spool; a temporary folder may be in memory.
        let folder = self.destination.folder(self.source()).filter(|folder| folder.is_dir());
        Ok(match folder.filter(|_| !self.policy.dry) {
            Some(folder) => Box::new(Buffered::new(spooled_tempfile_in(IN_MEMORY, folder))),
            None => Box::new(Buffered::new(spooled_tempfile(IN_MEMORY))),
        })
    }
}
