//! A repair that also counts how many messages of the session reach a model, before and after.

use super::found::Found;
use crate::context;
use crate::convert;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, OnError, Options, Parts, RepairOptions, Repaired, Sink};
use crate::repair;
use crate::store::{Input, Output, mend, plain_name};
use std::path::Path;
use std::sync::Arc;

/// Repairs a session, and counts the messages that `context` would print before and after the
/// repair. `judge` reports what is left.
///
/// # Errors
/// The errors of [`repair::run`].
pub fn repaired(
    format: &'static Format,
    on: (&mut dyn Parts, &mut dyn Sink),
    wanted: &RepairOptions,
    judge: Option<repair::Judge<'_>>,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let options = Options { on_error: OnError::Keep, ..cx.options.clone() };
    let counting = |parts: &mut dyn Parts| {
        let log = Log::default();
        context::count(format, parts, &Cx { options: &options, log: &log }).unwrap_or_default()
    };
    let questions = repair::Questions { counting: Some(&counting), judge };
    repair::run_asking(format, on, wanted, questions, cx)
}

/// Restores what a damaged input has lost, if the origin beside it still contains it. Returns the
/// names of the parts that were restored and are read again.
pub fn bring_back(
    found: &Found,
    input: &mut Input,
    output: &mut Output,
    cx: &Cx<'_>,
) -> Result<Vec<String>> {
    let (_, names) = mend(input, output, |parts, sink| {
        convert::bring_back(found.format, found.sniffed.version, parts, sink, cx)
    })?;
    Ok(names)
}

/// The name of the main part.
pub const MAIN: &[String] = &[String::new()];

/// Returns the user's repair options for a session, with the name and folder of its file added.
pub fn options_of(wanted: &RepairOptions, files: &[Arc<Path>]) -> RepairOptions {
    let name = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name).unwrap_or_default();
        plain_name(&name.to_string_lossy()).to_owned()
    };
    let path = files.first().and_then(|path| std::path::absolute(path).ok());
    RepairOptions {
        name: name(path.as_deref()),
        folder: name(path.as_deref().and_then(Path::parent)),
        ..wanted.clone()
    }
}

/// Adds to the result of a repair that text behind a compressed part was read, and that a
/// compressed file was read only as far as it can be unpacked.
///
/// # Errors
/// If the rest of the file would be lost: it cannot go to a quarantine, and `is_last_copy` states
/// that the output replaces the file and no backup is kept.
pub fn with_tear(
    done: Repaired,
    input: &Input,
    is_last_copy: bool,
    cx: &Cx<'_>,
) -> Result<Repaired> {
    let done = match input.plain_tail() {
        None => done,
        Some(at) => {
            let title = Code::TailRead.title();
            cx.report(Diagnostic::new(Code::TailRead, format!("{title}, from byte {at}")));
            Repaired { changed: true, fixes: done.fixes + 1, ..done }
        }
    };
    let Some(torn) = input.torn() else { return Ok(done) };
    if is_last_copy {
        let message = format!("{torn}; it is left unchanged, because no original would be kept");
        return Err(Error::unfit(Diagnostic::new(Code::TornArchive, message)));
    }
    let message = format!("{torn}; no checksum confirms what precedes that place");
    cx.report(Diagnostic::new(Code::ArchiveRead, message));
    Ok(Repaired { changed: true, fixes: done.fixes + 1, ..done })
}
