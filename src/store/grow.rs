//! Files to which bytes are added at the end, as their agents do.

use super::fingerprint::Fingerprint;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;

/// Waits until no other process of copyist writes to a file, and keeps them away as long as the
/// result is open. A file that is `new` is created.
///
/// # Errors
/// If it cannot be opened, or is there although it is `new`.
pub fn alone(path: &Path, mut options: OpenOptions, new: bool) -> Result<File> {
    options.read(true).append(true).create_new(new);
    loop {
        let file = options.open(path).map_err(|error| failed("open", path, error))?;
        file.lock().map_err(|error| failed("lock", path, error))?;
        // Whoever had the lock before may have put another file in the place of this one.
        let ours = Fingerprint::of_open(&file)?;
        if Fingerprint::of(path).is_ok_and(|now| now.is_same_file(&ours)) {
            return Ok(file);
        }
    }
}

/// Appends lines to a file, behind a line ending if its last line lacks it. Returns where they
/// begin, and the file's fingerprint.
///
/// # Errors
/// If the system refuses. Bytes that were written before the error are removed.
pub fn append(path: &Path, lines: &[u8]) -> Result<(u64, Fingerprint)> {
    let opened = OpenOptions::new().read(true).append(true).create(true).open(path);
    let mut file = opened.map_err(|error| failed("open", path, error))?;
    let torn = is_torn(&mut file).map_err(|error| failed("read", path, error))?;
    let end = if torn { add(path, file, &[b"\n", lines].concat()) } else { add(path, file, lines) };
    end.map(|(end, now)| (end.saturating_sub(lines.len() as u64), now))
}

/// Adds bytes to a file behind its end, unless it has changed since `before`.
///
/// # Errors
/// If it has changed ([`Code::Changed`](crate::diagnostic::Code::Changed)), or the system refuses.
/// Bytes that were written before the error are removed.
pub fn grow(path: &Path, bytes: &[u8], before: &Fingerprint) -> Result<()> {
    let opened = OpenOptions::new().read(true).append(true).open(path);
    let file = opened.map_err(|error| failed("open", path, error))?;
    before.holds(path)?;
    add(path, file, bytes).map(drop)
}

/// Adds bytes in one write, so that no line of another program gets between them. Returns where
/// they end, and the file's fingerprint.
fn add(path: &Path, mut file: File, bytes: &[u8]) -> Result<(u64, Fingerprint)> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.write(rest) {
            Ok(0) => return Err(given_up(path, &mut file, done, io::ErrorKind::WriteZero.into())),
            Ok(written) => done += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(given_up(path, &mut file, done, error)),
        }
    }
    // Another program may have appended since the end was looked at.
    let end = file.stream_position().map_err(|error| failed("write to", path, error))?;
    match file.sync_data() {
        Ok(()) => Ok((end, Fingerprint::of_open(&file)?)),
        Err(error) => Err(given_up(path, &mut file, done, error)),
    }
}

/// Takes back the bytes that were written, and returns the error.
fn given_up(path: &Path, file: &mut File, written: usize, error: io::Error) -> Error {
    take_back(file, written as u64);
    failed("write to", path, error)
}

/// Takes away the bytes that were written last to an open file, because half a line would make the
/// next one unreadable, unless another program has appended to them.
fn take_back(file: &mut File, written: u64) {
    if let (Ok(end), Ok(size)) = (file.stream_position(), file.metadata())
        && written > 0
        && size.len() == end
    {
        let _ = file.set_len(end.saturating_sub(written));
    }
}

/// Whether the last line of a file lacks its ending.
fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Removes what was added to a file that had this size, and this time of the last change.
pub(super) fn cut(path: &Path, size: u64, time: Option<SystemTime>) -> Result<()> {
    let cut = OpenOptions::new().write(true).open(path).and_then(|file: File| {
        file.set_len(size)?;
        time.map_or(Ok(()), |time| file.set_modified(time))?;
        file.sync_all()
    });
    cut.map_err(|error| Error::io("cannot remove what the run added", error))
}

fn failed(doing: &str, path: &Path, error: io::Error) -> Error {
    Error::io(format!("cannot {doing} {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_grows_only_from_the_state_that_was_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one\n").expect("room");
        let before = Fingerprint::of(&path).expect("a file");
        grow(&path, b"two\n", &before).expect("room");
        assert!(grow(&path, b"two\n", &before).is_err());
        assert_eq!(std::fs::read(&path).expect("a file"), b"one\ntwo\n");
        let time = SystemTime::UNIX_EPOCH;
        cut(&path, 4, Some(time)).expect("room");
        assert_eq!(std::fs::read(&path).expect("a file"), b"one\n");
        assert_eq!(path.metadata().and_then(|meta| meta.modified()).expect("a time"), time);
    }

    #[test]
    fn lines_follow_a_line_ending() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one").expect("room");
        assert_eq!(append(&path, b"two\n").expect("room").0, 4);
        assert_eq!(append(&path, b"three\n").expect("room").0, 8);
        assert_eq!(std::fs::read(&path).expect("a file"), b"one\ntwo\nthree\n");
    }

    #[test]
    fn what_another_program_adds_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for (appended, left) in [("", "one\n"), ("theirs\n", "one\nhalftheirs\n")] {
            std::fs::write(&path, "one\n").expect("room");
            let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
            file.write_all(b"half").expect("room");
            let mut other = OpenOptions::new().append(true).open(&path).expect("a file");
            other.write_all(appended.as_bytes()).expect("room");
            take_back(&mut file, 4);
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), left);
        }
    }
}
