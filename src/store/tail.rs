//! The last line of a file, read from its end.

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The minimum and the maximum number of bytes that are read at a time.
const CHUNKS: (u64, u64) = (64 << 10, 4 << 20);

/// Returns the last line of a file: the bytes after the last line feed that is not the last byte,
/// up to the next line feed. Little more than the line is read, however long the file is.
///
/// # Errors
/// If the file cannot be read, or the line is longer than `limit` bytes.
pub fn last_line(path: &Path, limit: usize) -> Result<Vec<u8>> {
    let failed = |error| Error::io("cannot read", error);
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let start = start_of_line(&mut file, size).map_err(failed)?;
    if size - start > limit as u64 {
        let message = format!("the last line is longer than {limit} bytes, the limit");
        return Err(Error::request(Code::LineTooLong, message));
    }
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    // Another program may be adding to the file.
    file.take(size - start).read_to_end(&mut line).map_err(failed)?;
    if let Some(end) = memchr::memchr(b'\n', &line) {
        line.truncate(end);
    }
    Ok(line)
}

/// Returns the position where the last line begins.
fn start_of_line(file: &mut File, size: u64) -> io::Result<u64> {
    let (mut chunk, most) = CHUNKS;
    // The last byte belongs to the line or ends it, whatever it is.
    let mut end = size.saturating_sub(1);
    let mut buffer = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(chunk);
        buffer.resize((end - start) as usize, 0);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut buffer)?;
        if let Some(found) = memchr::memrchr(b'\n', &buffer) {
            return Ok(start + found as u64 + 1);
        }
        end = start;
        chunk = (chunk * 2).min(most);
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_that_of_the_scripts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let long = "x".repeat(200_000);
        let cases = [
            ("", ""),
            ("\n", ""),
            ("a", "a"),
            ("a\n", "a"),
            ("a\nb", "b"),
            ("a\nb\n", "b"),
            ("a\n\n", ""),
            ("a\n  \n", "  "),
            ("\nb", "b"),
        ];
        let file = format!("a\n{long}\n");
        for (text, line) in cases.into_iter().chain([(file.as_str(), long.as_str())]) {
            std::fs::write(&path, text).expect("a file");
            let found = last_line(&path, 1 << 30).expect("a line");
            assert_eq!(String::from_utf8(found).expect("UTF-8"), line, "{}", text.len());
        }
        assert!(last_line(&path, 1000).is_err());
    }
}
