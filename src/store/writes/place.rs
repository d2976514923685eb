//! The steps by which files get their places, and by which nothing is lost that other programs write
//! meanwhile.

use super::edit::{Edit, Redo};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::store::attributes::{keep_attributes, keep_owner, new_like};
use crate::store::check::{exists, is_same_file};
use crate::store::database::{Addition, Log};
use crate::store::destination::folder_of;
use crate::store::fingerprint::Fingerprint;
use crate::store::grow::{alone, grow};
use crate::store::held::Held;
use crate::store::replacement::{Kept, keep_under, rename_free, replace_if, second_name};
use crate::store::sealed::create_folder;
use crate::store::temporary::{Named, named_temporary, take_free};
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Maximum number of attempts on a file that other programs change.
const ATTEMPTS: usize = 20;

/// Number of folders above a file that are removed if they become empty: those of a session and of
/// its project.
const DEEPEST: usize = 3;

/// A file that has its place.
#[derive(Debug, Default)]
pub struct Placed {
    /// Whether the work was done again on another state of the file than the planned one.
    pub differs: bool,
    /// Whether a program went on at the old place, so that no entry describes the file.
    pub again: bool,
    /// An old file to which programs may still add lines.
    old: Option<Old>,
}

/// The old file of a new one.
#[derive(Debug)]
struct Old {
    /// The name under which it is kept.
    backup: PathBuf,
    /// Its place so far, if the new file has another one.
    path: Option<PathBuf>,
    /// Number of its bytes that the new file contains.
    size: u64,
    redo: Redo,
    new: PathBuf,
}

/// Writes a new file with the permissions of another one.
pub fn new(from: &Path, to: &Path, like: &Path) -> Result<Placed> {
    let failed = |error| Error::io(format!("cannot write {}", to.display()), error);
    create_folder(folder_of(to), true)?;
    let like = fs::metadata(like).map_err(failed)?;
    let file = copied(from, folder_of(to))?;
    file.as_file().set_permissions(like.permissions()).map_err(failed)?;
    place(file, to)
}

/// Adds the end of a file to another one.
pub fn grown(from: &Path, skip: u64, to: &Path, before: &Fingerprint) -> Result<Placed> {
    let failed = |error| Error::io("cannot read", error);
    if let Some(why) = Held::among([to]).why(to) {
        return Err(Error::request(Code::Changed, format!("{}: {why}", to.display())));
    }
    let mut bytes = Vec::new();
    let mut from = File::open(from).map_err(failed)?;
    from.seek(SeekFrom::Start(skip)).map_err(failed)?;
    from.read_to_end(&mut bytes).map_err(failed)?;
    grow(to, &bytes, before)?;
    Ok(Placed::default())
}

/// Puts new contents in the place of a file, which is kept under the name `backup`.
pub fn replaced(edit: &Edit, target: &Path, backup: &Path) -> Result<Placed> {
    let (edit, differs) = until_settled(edit, target, |edit, old| {
        let file = like(edit.contents(), old, folder_of(target))?;
        let kept = match keep_under(target, backup)? {
            Kept::Taken => return Err(exists(backup)),
            kept => kept,
        };
        replace_if(file, target, &|path| edit.holds(path)).inspect_err(|_| {
            if kept == Kept::New {
                // A second name of a file that stays does no harm.
                let _ = fs::remove_file(backup);
            }
        })
    })?;
    Ok(Placed { differs, again: false, old: Old::of(&edit, backup, None, target) })
}

/// Adds rows to a database, of which copies are kept.
pub fn added(rows: &Addition, database: &Path, backup: &Path, log: Option<&Log>) -> Result<Placed> {
    let differs = rows.carry_out(database, backup, log)?;
    Ok(Placed { differs, ..Placed::default() })
}

/// Moves a file whose contents change. It is at its new place before the old one goes.
pub fn moved(edit: &Edit, (old, to): (&Path, &Path), backup: &Path) -> Result<Placed> {
    create_folder(folder_of(to), true)?;
    let (edit, differs) = until_settled(edit, old, |edit, meta| {
        place(like(edit.contents(), meta, folder_of(to))?, to)?;
        let ours = Fingerprint::of(to)?;
        let put = edit.holds(old).and_then(|()| {
            let renamed = rename_free(old, backup);
            renamed.map_err(|error| Error::io(format!("cannot move {}", old.display()), error))?;
            edit.holds(backup).inspect_err(|_| {
                // The backup has all bytes, and the error names it.
                let _ = rename_free(backup, old);
            })
        });
        put.inspect_err(|_| {
            if ours.holds(to).is_ok() && fs::symlink_metadata(old).is_ok() {
                let _ = fs::remove_file(to);
            }
        })
    })?;
    remove_empty(old);
    Ok(Placed { differs, again: false, old: Old::of(&edit, backup, Some(old), to) })
}

/// Moves a file whose contents stay.
pub fn renamed(old: &Path, to: &Path) -> Result<Placed> {
    create_folder(folder_of(to), true)?;
    rename_free(old, to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => Error::io(format!("cannot move {}", old.display()), error),
    })?;
    remove_empty(old);
    Ok(Placed::default())
}

/// Lets `put` put the new contents of a file in place, and does the work again as long as other
/// programs change the file. Returns the contents that have their place, and whether they are other
/// ones than the first.
fn until_settled(
    edit: &Edit,
    path: &Path,
    mut put: impl FnMut(&Edit, &Metadata) -> Result<()>,
) -> Result<(Edit, bool)> {
    let (mut edit, mut differs) = (edit.clone(), false);
    for attempt in 1.. {
        let _lock = lock(path)?;
        let old = fs::metadata(path).map_err(|error| Error::io("cannot open", error))?;
        if edit.holds(path).is_err() {
            (edit, differs) = (edit.again(path)?, true);
        }
        match put(&edit, &old) {
            Err(error) if error.code() == Code::Changed && attempt < ATTEMPTS => {}
            done => {
                done?;
                break;
            }
        }
    }
    Ok((edit, differs))
}

/// Waits until no other process of copyist writes to a file, and keeps them away as long as the
/// result is open; `None` for a file that cannot be written to.
pub fn lock(path: &Path) -> Result<Option<File>> {
    match alone(path, new_like(None), false) {
        Err(error) if error.io_kind() == io::ErrorKind::PermissionDenied => Ok(None),
        locked => locked.map(Some),
    }
}

/// Returns a temporary file with these contents, which only its owner can access.
fn copied(from: &Path, folder: &Path) -> Result<Named> {
    let failed = |error| Error::io("cannot write", error);
    let file = named_temporary(folder, true)?;
    io::copy(&mut File::open(from).map_err(failed)?, &mut &**file.as_file()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    Ok(file)
}

/// Returns a temporary file with these contents, and the permissions, times and owner of an old
/// file.
fn like(from: &Path, old: &Metadata, folder: &Path) -> Result<Named> {
    let file = copied(from, folder)?;
    keep_attributes(old, file.as_file())?;
    keep_owner(old, file.as_file())?;
    Ok(file)
}

/// Gives a file its place, which must be free.
fn place(file: Named, to: &Path) -> Result<Placed> {
    take_free(file, to).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(to),
        _ => Error::io(format!("cannot write {}", to.display()), error),
    })?;
    Ok(Placed::default())
}

/// Removes the folders above a file that moved, as far as they are empty.
pub fn remove_empty(old: &Path) {
    // Fails where the folder has other files, which stay.
    old.ancestors().skip(1).take(DEEPEST).all(|folder| fs::remove_dir(folder).is_ok());
}

impl Old {
    fn of(edit: &Edit, backup: &Path, path: Option<&Path>, new: &Path) -> Option<Self> {
        let redo = edit.by_lines()?.clone();
        let (backup, size) = (backup.to_owned(), edit.read().size());
        Some(Self { backup, path: path.map(Path::to_owned), size, redo, new: new.to_owned() })
    }

    /// Adds the whole lines behind these bytes of a file to the new one. Returns the number of bytes
    /// that the new file contains then.
    fn bring(&self, file: &Path, from: u64) -> Result<u64> {
        let failed = |error| Error::io(format!("cannot read {}", file.display()), error);
        let mut old = File::open(file).map_err(failed)?;
        old.seek(SeekFrom::Start(from)).map_err(failed)?;
        let mut lines = Vec::new();
        old.read_to_end(&mut lines).map_err(failed)?;
        lines.truncate(memchr::memrchr(b'\n', &lines).map_or(0, |end| end + 1));
        if lines.is_empty() {
            return Ok(from);
        }
        let added = self.redo.lines(&lines).map_err(failed)?;
        for attempt in 1.. {
            let _lock = lock(&self.new)?;
            match grow(&self.new, &added, &Fingerprint::of(&self.new)?) {
                Err(error) if error.code() == Code::Changed && attempt < ATTEMPTS => {}
                done => {
                    done?;
                    break;
                }
            }
        }
        Ok(from + lines.len() as u64)
    }
}

/// Brings over the lines that programs added to an old file since it was replaced or moved. Returns
/// whether there were some.
pub fn follow(placed: &mut Placed) -> Result<bool> {
    let Some(old) = &mut placed.old else { return Ok(false) };
    let (mut brought, before) = (false, old.size);
    loop {
        let size = old.bring(&old.backup, old.size)?;
        if size == old.size {
            break;
        }
        old.size = size;
    }
    brought |= old.size > before;
    // A program that opens its file for each line begins a new one at the old place.
    if let Some(path) = old.path.clone().filter(|path| path.is_file()) {
        let kept = second_name(&path, &old.new);
        let moved = rename_free(&path, &kept);
        moved.map_err(|error| Error::io(format!("cannot move {}", path.display()), error))?;
        if !is_same_file(&kept, &old.new) {
            old.bring(&kept, 0)?;
        }
        remove_empty(&path);
        (brought, placed.again) = (true, true);
    }
    Ok(brought)
}
