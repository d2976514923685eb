//! Sessions that a migration makes again: an older version of a session that was migrated holds all
//! of it, for what the newer one has beside that follows from it.

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Format, Parts, Target};
use crate::migrate;
use crate::residue::Stage;
use std::io::{self, BufReader, Read, Write};

/// Whether migration makes of what was written in an older version, byte for byte, the session of
/// this version that it was written of.
///
/// # Errors
/// If the session cannot be read.
pub fn makes_it_again(
    (format, version): (&'static Format, u32),
    parts: &mut dyn Parts,
    stage: &Stage<'_>,
    cx: &Cx<'_>,
) -> Result<bool> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut made = stage.parts();
    let mut compared = Compared(BufReader::with_capacity(256 << 10, parts.main()?));
    let done = migrate::run(format, made.main()?, &mut compared, Target::Version(version), &quiet);
    let rest = compared.0.read(&mut [0]);
    Ok(done.is_ok() && rest.is_ok_and(|rest| rest == 0))
}

/// Takes what another reader gives, too, and nothing else.
struct Compared<R>(BufReader<R>);

impl<R: Read> Write for Compared<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut there = vec![0; bytes.len()];
        self.0.read_exact(&mut there)?;
        if there != bytes {
            return Err(io::Error::other("something else is written"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
