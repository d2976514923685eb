//! Outputs that appear as a whole or not at all.
//!
//! The bytes go to temporary files beside the target, which only their owner can read. When they
//! are complete, the files are flushed to the disk and renamed to their places, and the folders are
//! flushed. A failure before that leaves the target unchanged.

mod replaced;
mod sink;

pub use replaced::Replaced;

use super::attributes::{keep_attributes, keep_owner, keep_permissions};
use super::check::{
    Existing, check_in_place, check_part, check_room, check_target, special, taken,
};
use super::claims::{Claims, Owner, is_backup_of, is_one_place, numbered};
use super::destination::{Destination, Policy, folder_of};
use super::fingerprint::Fingerprint;
use super::packed::{Closed, Packed, Packing, plain_name};
use super::replacement::Backups;
use super::sealed::{Meets, Sealed, Staged, create_folder, put};
use super::shared::{Alone, Either, Live};
use super::temporary::{Temporary, named_temporary, temporary};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{BESIDE, Change, Out, no_room_for_parts};
use crate::repair::QUARANTINE;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// An output while it is written.
pub struct Output {
    destination: Destination,
    /// The input's files, and their metadata before they were read.
    sources: Vec<(Arc<Path>, Metadata)>,
    policy: Policy,
    /// Whether files that exist and have the contents to be written count as written.
    completes: bool,
    /// Whether the files keep the times at which they were made.
    is_dated_now: bool,
    /// Kind of file that existed at the place of the main part before the work.
    existing: Existing,
    /// The place of the quarantine, if the user named one.
    quarantine: Option<PathBuf>,
    /// The parts that wait for their places, in the order of their creation.
    pub(super) staged: Vec<Staged>,
    /// Changes to files that sessions share, by path.
    changes: Vec<(PathBuf, Box<dyn Change>)>,
    /// The paths of all parts that were created.
    pub(super) created: Vec<Arc<Path>>,
    /// The ends of compressed parts.
    packed: Vec<Closed>,
    /// The places that outputs have in this run.
    claims: Arc<Claims>,
    owner: Owner,
    /// The permissions of an output that has no input.
    permissions: Option<Permissions>,
    /// The origin, until its place is known.
    origin: Option<Temporary>,
    /// The lengths of `staged`, `changes`, `created` and `packed` at the mark.
    mark: Option<[usize; 4]>,
}

/// Maximum number of bytes that a spool holds in memory before it becomes a file. Most sessions
/// fit. A session has up to eight spools, and each worker has one session.
const IN_MEMORY: usize = 1 << 20;

impl Output {
    /// Checks before the work that nothing will be overwritten that must not be. `sources` are the
    /// regular files that are read, the main part's first, with their metadata before reading.
    /// `claims` contains the places that outputs have in the run.
    ///
    /// # Errors
    /// If the target exists, is an input, or is a symbolic link to be changed in place.
    pub fn prepare(
        destination: Destination,
        sources: Vec<(Arc<Path>, Metadata)>,
        policy: Policy,
        claims: Arc<Claims>,
    ) -> Result<Self> {
        let mut output = Self {
            sources,
            destination,
            policy,
            completes: false,
            is_dated_now: false,
            existing: Existing::Nothing,
            quarantine: None,
            staged: Vec::new(),
            changes: Vec::new(),
            created: Vec::new(),
            packed: Vec::new(),
            owner: claims.owner(),
            claims,
            permissions: None,
            origin: None,
            mark: None,
        };
        match (&output.destination, output.source()) {
            (Destination::File(target) | Destination::Files { main: target, .. }, _) => {
                let existing = output.claims.existing_at(target);
                if existing != Existing::Nothing {
                    output.claims.check(target)?;
                }
                check_target(target, existing, output.sources(), output.policy(target))?;
                output.check_special(target, existing)?;
                output.existing = existing;
            }
            (Destination::InPlace { .. }, Some(source)) => check_in_place(source)?,
            _ => {}
        }
        Ok(output)
    }

    /// Leaves the times of the files as they are made, for outputs that are no sessions.
    pub fn dated_now(self) -> Self {
        Self { is_dated_now: true, ..self }
    }

    /// Completes what a killed run began, if the session also `changes` a file that sessions share:
    /// files of its own got their places before that change.
    pub fn completing(self, changes: bool) -> Self {
        let in_place = matches!(self.destination, Destination::InPlace { .. });
        Self { completes: changes && !in_place && !self.policy.dry, ..self }
    }

    /// Sets the permissions of an output that has no input.
    pub fn permitted(self, permissions: Option<Permissions>) -> Self {
        Self { permissions, ..self }
    }

    /// Sets the place of the quarantine.
    pub fn quarantined(self, quarantine: Option<PathBuf>) -> Result<Self> {
        if let Some(path) = &quarantine {
            let mut others = self.sources().chain(self.target());
            let one = others.any(|other| is_one_place(path, other));
            let backups = |suffix| self.sources().any(|source| is_backup_of(path, source, suffix));
            if one || self.destination.backup().is_some_and(backups) {
                let message = format!("{} is the path of another file of this run", path.display());
                return Err(Error::request(Code::SameFile, message));
            }
        }
        Ok(Self { quarantine, ..self })
    }

    /// Takes a place for this output.
    pub(super) fn claim(&self, target: &Path, existing: Existing) -> Result<()> {
        let special = existing == Existing::Special;
        // An output that has the place already does not wait again.
        let taken_before = || self.destination.turn() > 0 && self.owns(target);
        if special || self.replaces(target) || taken_before() {
            return Ok(());
        }
        self.claims.wait(self.destination.turn());
        if existing != Existing::Nothing {
            self.claims.check(target)?;
        }
        if self.claims.take(target, self.owner) { Ok(()) } else { Err(taken(target)) }
    }

    /// Whether a place belongs to this output.
    fn owns(&self, target: &Path) -> bool {
        self.claims.owner_of(target) == Some(self.owner)
    }

    /// Takes a place for the quarantine: `path`, or `path` with a number appended if another output
    /// has it. Where it is not beside an output, an existing quarantine may be the only copy of
    /// what an earlier run found, so the new one never replaces it.
    fn claim_quarantine(&self, path: &Path) -> PathBuf {
        let beside_output = match &self.destination {
            Destination::File(_) => self.existing != Existing::Special,
            destination => {
                matches!(destination, Destination::Files { .. } | Destination::Native { .. })
            }
        };
        numbered(path, |path| {
            (beside_output || fs::symlink_metadata(path).is_err())
                && self.claims.check(path).is_ok()
                && self.claims.take(path, self.owner)
        })
    }

    /// Returns the place of the quarantine: the one that the user named, else beside the output,
    /// else beside the input.
    fn quarantine(&self) -> Result<PathBuf> {
        let beside = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = plain_name(&name);
            let stem = name.strip_suffix(".jsonl").unwrap_or(name).to_owned();
            path.with_file_name(stem + QUARANTINE)
        };
        match (&self.quarantine, &self.destination) {
            (Some(path), _) => Ok(path.clone()),
            (None, Destination::InPlace { aside, .. }) => check_part(aside, QUARANTINE),
            (None, Destination::File(target)) if self.existing != Existing::Special => {
                Ok(beside(target))
            }
            (None, _) => match self.source() {
                Some(source) => Ok(beside(source)),
                None => Err(Error::request(Code::NoQuarantine, Code::NoQuarantine.title())),
            },
        }
    }

    fn sources(&self) -> impl Iterator<Item = &Path> {
        self.sources.iter().map(|(path, _)| &**path)
    }

    fn source(&self) -> Option<&Path> {
        self.sources().next()
    }

    fn target(&self) -> Option<&Path> {
        self.destination.target(self.source())
    }

    /// Returns the place of a part other than the main one; `None` if it is not written. The place
    /// that the user named for the quarantine is refused for other parts.
    fn part(&self, name: &str) -> Result<Option<PathBuf>> {
        let place = self.place_of(name)?;
        let quarantine = self.quarantine.as_deref().filter(|_| name != QUARANTINE);
        match place.as_deref().zip(quarantine) {
            Some((place, other)) if is_one_place(place, other) => Err(taken(place)),
            _ => Ok(place),
        }
    }

    fn place_of(&self, name: &str) -> Result<Option<PathBuf>> {
        match &self.destination {
            Destination::Nowhere => Ok(None),
            _ if name == QUARANTINE && self.quarantine.is_some() => self.quarantine().map(Some),
            Destination::Files { stem, .. } => check_part(stem, name).map(Some),
            Destination::Native { folder, stem, .. } if name == QUARANTINE => {
                check_part(&folder.join(stem), name).map(Some)
            }
            Destination::Native { folder, .. } if !name.starts_with(BESIDE) => {
                check_part(folder, name).map(Some)
            }
            _ if name == QUARANTINE => self.quarantine().map(Some),
            Destination::InPlace { stem, .. } => check_part(stem, name).map(Some),
            _ => Err(no_room_for_parts()),
        }
    }

    /// Whether the target is also an input, so that the new file replaces the old one.
    fn replaces(&self, target: &Path) -> bool {
        self.changes_inputs() && self.sources().any(|source| source == target)
    }

    fn changes_inputs(&self) -> bool {
        matches!(self.destination, Destination::InPlace { .. })
    }

    /// Checks whether a part other than the main one may be written to `target`. Returns the kind
    /// of file that exists there.
    fn check(&self, target: &Path) -> Result<Existing> {
        if self.replaces(target) {
            return check_in_place(target).map(|()| Existing::File);
        }
        let existing = self.claims.existing_at(target);
        if self.claims.owner_of(target).is_some_and(|owner| owner != self.owner) {
            return Err(taken(target));
        }
        // Whether the contents are the same is known only when they are complete.
        let waits = self.completes && existing == Existing::File;
        let policy = self.policy(target);
        let policy = Policy { force: policy.force || waits, ..policy };
        check_target(target, existing, self.sources(), policy)?;
        self.check_special(target, existing).map(|()| existing)
    }

    /// Returns the permissions for a place. A file that an earlier run wrote there may be
    /// overwritten.
    fn policy(&self, target: &Path) -> Policy {
        Policy { force: self.policy.force || self.claims.is_own(target), ..self.policy }
    }

    /// Checks that a pipe or a device is written to only where the user named it. A pipe without a
    /// reader would block the run for ever.
    fn check_special(&self, target: &Path, existing: Existing) -> Result<()> {
        let named = matches!(&self.destination, Destination::File(path) if path == target)
            || self.quarantine.as_deref() == Some(target);
        if existing == Existing::Special && !named { Err(special(target)) } else { Ok(()) }
    }

    /// Returns the folder that contains the temporary file for `target`. Folders of parts that are
    /// deeper are created only when the parts are put in place, so a killed run leaves all its
    /// temporary files in one folder. A quarantine may be outside of it.
    fn waiting_room<'t>(&'t self, target: &'t Path) -> &'t Path {
        let beside = folder_of(target);
        let is_beside = |folder: &Path| folder.as_os_str() == beside.as_os_str();
        let folder = self.destination.folder(self.source());
        let folder = folder.filter(|folder| is_beside(folder) || target.starts_with(folder));
        folder.unwrap_or(beside)
    }

    /// Whether the temporary file for `target` is in another folder.
    pub(super) fn is_elsewhere(&self, target: &Path) -> bool {
        self.waiting_room(target).as_os_str() != folder_of(target).as_os_str()
    }

    /// Whether a file at this place may be overwritten.
    pub(super) fn allows_over(&self, target: &Path) -> bool {
        self.policy(target).force
    }

    /// Checks whether the origin may be written to `target`. Returns the kind of file that exists
    /// there.
    pub(super) fn check_origin(&self, target: &Path, over: bool) -> Result<Existing> {
        let existing = self.claims.existing_at(target);
        let policy = Policy { force: over, ..self.policy };
        check_target(target, existing, self.sources(), policy)?;
        self.check_special(target, existing).map(|()| existing)
    }

    /// Opens the file to which a part's bytes are written until the part is complete.
    fn stage(&mut self, target: Arc<Path>, existing: Existing, meets: Meets) -> Result<Arc<File>> {
        if existing == Existing::Special {
            let file = OpenOptions::new().write(true).open(&target).map(Arc::new);
            return file.map_err(|error| Error::io("cannot open for writing", error));
        }
        let file = self.unplaced(&target)?;
        let (open, elsewhere) = (Arc::clone(file.as_file()), self.is_elsewhere(&target));
        let over = meets != Meets::Shared && self.policy(&target).force;
        let (made, aside, origin) = (None, false, false);
        self.staged.push(Staged { file, made, target, elsewhere, meets, over, aside, origin });
        Ok(open)
    }

    /// Creates the temporary file for `target`.
    fn unplaced(&self, target: &Path) -> Result<Temporary> {
        let folder = self.waiting_room(target);
        // Without an input whose permissions are kept, the output gets those of any new file.
        let like = self.sources.first().map(|(_, meta)| meta);
        // Only for the first few outputs is the folder missing.
        let new = || match &self.permissions {
            Some(_) => named_temporary(folder, true).map(Temporary::Named),
            None => temporary(folder, like),
        };
        new().or_else(|_| {
            if create_folder(folder, self.policy.current)? {
                self.claims.new_folder(folder);
            }
            new()
        })
    }

    /// Compresses a part if its name has the ending of a compressed file, or if a file that is
    /// changed in place is compressed.
    fn packed(&mut self, file: Arc<File>, target: &Path) -> Result<Out<'static>> {
        let changed = self.replaces(target);
        let packing = if changed { Packing::of_file(target) } else { Packing::of_name(target) };
        let Some(packing) = packing else { return Ok(Out::Anywhere(Box::new(file))) };
        let (writer, closed) =
            Packed::new(file, packing).map_err(|error| Error::io("cannot compress", error))?;
        self.packed.push(closed);
        Ok(Out::Here(Box::new(writer)))
    }

    /// Returns the paths of all parts that were created, the main part first if it was created.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths: Vec<_> = self.created.iter().map(|path| &**path).collect();
        paths.sort_by_key(|path| Some(*path) != self.target());
        paths
    }

    /// Checks that the input's files are as they were before reading.
    pub fn unchanged(&self) -> Result<()> {
        self.sources.iter().try_for_each(|(path, before)| Fingerprint::from(before).holds(path))
    }

    /// Puts the output in its place. Without this call, nothing of it remains.
    ///
    /// # Errors
    /// If the input changed meanwhile, the target appeared meanwhile, or the system refuses.
    pub fn commit(self) -> Result<()> {
        let sealed = self.seal(false)?;
        put(vec![sealed], |_| Ok(())).pop().unwrap_or(Ok(()))
    }

    /// Completes every file, so that it only waits for [`put`] to give it its place. If the input
    /// `stood_still` while it was read and is not replaced, later changes to it do not matter.
    pub fn seal(mut self, stood_still: bool) -> Result<Sealed> {
        let ended = self.packed.iter().try_for_each(Closed::outcome);
        ended.map_err(|error| Error::io("cannot write", error))?;
        let changes = std::mem::take(&mut self.changes);
        if self.completes {
            let complete = |staged: &Staged| staged.is_complete(!changes.is_empty());
            let complete = self.staged.iter().map(complete).collect::<Result<Vec<_>>>()?;
            let mut complete = complete.into_iter();
            self.staged.retain(|_| !complete.next().unwrap_or_default());
        }
        let alone = (!changes.is_empty()).then(Alone::wait);
        let mut live = Vec::new();
        for (target, change) in changes {
            let change = match Live::of(&target, change, self.policy.force)? {
                Either::Exists(change) => {
                    live.push(change);
                    continue;
                }
                Either::New(change) => change,
            };
            let new = change.make(None, self.policy.force)?;
            let written =
                self.stage(target.into(), Existing::Nothing, Meets::Shared)?.write_all(&new);
            written.map_err(|error| Error::io("cannot write", error))?;
        }
        let mut staged = std::mem::take(&mut self.staged);
        for staged in &mut staged {
            staged.made = self.finish(staged)?;
        }
        let backup = self.destination.backup().map(str::to_owned);
        let places = |path: &Arc<Path>| check_room(path, backup.as_deref(), self.replaces(path));
        if self.policy.dry {
            self.created.iter().try_for_each(places)?;
        }
        let (in_place, sources) = (self.changes_inputs(), self.fingerprints());
        let backups = Backups::default();
        let settled = stood_still && !in_place;
        Ok(Sealed { staged, sources, live, alone, in_place, settled, backup, backups })
    }

    fn fingerprints(self) -> Vec<(Arc<Path>, Fingerprint)> {
        self.sources.into_iter().map(|(path, meta)| (path, Fingerprint::from(&meta))).collect()
    }

    /// Drops the output. Only the fingerprints of the input's files are kept.
    pub fn discard(self) -> Sealed {
        Sealed { sources: self.fingerprints(), ..Sealed::default() }
    }

    /// Gives a file its final permissions and times. Returns the file's metadata after that.
    fn finish(&self, Staged { file, target, .. }: &Staged) -> Result<Option<Metadata>> {
        let file = file.as_file();
        if let Some((first, before)) = self.sources.first() {
            if self.is_dated_now {
                return keep_permissions(before, file).map(Some);
            }
            if !self.changes_inputs() {
                let made = keep_attributes(before, file)?;
                if !self.policy.current {
                    return Ok(Some(made));
                }
                let now = file.set_modified(SystemTime::now()).and_then(|()| file.metadata());
                return now.map(Some).map_err(|error| Error::io("cannot set the time", error));
            }
            // The permissions of the old file may have changed since it was read.
            let old = fs::metadata(if self.replaces(target) { target } else { first });
            let old = old.map_err(|error| Error::io("cannot keep permissions", error))?;
            let made = keep_attributes(&old, file)?;
            keep_owner(&old, file)?;
            return Ok(Some(made));
        }
        if let Some(permissions) = &self.permissions {
            let set = file.set_permissions(permissions.clone());
            set.map_err(|error| Error::io("cannot keep permissions", error))?;
        }
        Ok(file.metadata().ok())
    }
}
