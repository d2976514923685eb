//! Copies a session of several parts, with the files to which these refer.

use super::work::Work;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Cannot, Result};
use crate::format::{Cx, Format, Parts, Sink};
use crate::formats::Spec;
use crate::migrate::Outcome;
use crate::parts;
use crate::parts::watched::{Further, Watched};
use crate::stage::Stage;

/// Copies a session of any parts, once all of it was read without an error. Files that sessions may
/// share, such as stored outputs, are added where they do not exist yet.
///
/// # Errors
/// If the session is damaged beyond what the options allow, or reading or writing fails.
pub fn copy(
    format: &'static Format,
    version: u32,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    parts.keep()?;
    let mut done = Outcome { from: version, ..Outcome::default() };
    let mut watched = Watched::over(parts);
    for item in format.records(&mut watched, cx)? {
        item?;
        done.records += 1;
    }
    let further = watched.further;
    let (shared, names): (Vec<_>, Vec<_>) =
        parts.names().into_iter().partition(|name| format.is_shared(name));
    done.bytes_in += parts::copy(parts, sink, &names)?;
    if !shared.is_empty() {
        change_shared(Spec { format, version: format.version(version) }, parts, sink, cx)?;
    }
    // A session that is changed in place keeps the files beside it, and a single output file has no
    // files beside it.
    let beside = sink.takes_parts() && !sink.is_in_place();
    for file in further.iter().filter(|_| beside) {
        if let Further::Followed(name) = file {
            done.bytes_in += share(name, parts, sink, cx)?;
        }
    }
    done.bytes_out = done.bytes_in;
    Ok(done)
}

/// Writes what a session has in files that sessions share.
fn change_shared(own: Spec, parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<()> {
    let log = Log::default();
    let mut stage = Stage::before(sink);
    let quiet = Cx { options: cx.options, log: &log };
    Work::of(own.format, own, parts, &quiet)?.all(parts, &mut stage)?;
    stage.clear();
    stage.finish(None)
}

/// Copies a file that sessions may share.
fn share(name: &str, parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<u64> {
    let Some(mut from) = parts.follow(name)? else { return Ok(0) };
    let mut contents = Vec::new();
    let read = from.read_to_end(&mut contents).cannot("read")?;
    if !sink.add(name, &contents)? {
        let message = format!("another output has the name {name} and was not replaced");
        cx.report(Diagnostic::new(Code::OtherOutput, message));
    }
    Ok(read as u64)
}
