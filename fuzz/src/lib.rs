//! What the fuzz targets share.

use copyist::diagnostic::Log;
use copyist::error::Result;
use copyist::format::{Cx, Format, OnError, Options, Target};
use copyist::migrate;

/// Every way to meet damage.
pub const WAYS: [OnError; 3] = [OnError::Stop, OnError::Skip, OnError::Keep];

/// The options for one of them.
#[must_use]
pub fn meeting(on_error: OnError) -> Options {
    Options { on_error, ..Options::default() }
}

/// What the byte plane makes of a session, and whether it changed anything.
///
/// # Errors
/// Those of [`migrate::run`].
pub fn migrated(
    format: &Format,
    session: &[u8],
    target: Target,
    options: &Options,
) -> Result<(Vec<u8>, bool)> {
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let mut out = Vec::new();
    let done = migrate::run(format, Box::new(session), &mut out, target, &cx)?;
    Ok((out, done.changed))
}
