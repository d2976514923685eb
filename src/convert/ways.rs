//! The ways in which a session is written through its records: in one reading, with its branches
//! read first, or as a patch of its own text; with an origin, or in the places of its agent.

use super::native::native;
use super::patched;
use super::work::Work;
use crate::diagnostic::{Differences, Log};
use crate::diff::{self, Failed, Request, Side};
use crate::error::Result;
use crate::format::{Cx, Format, NativeFn, Options, Parts, Sink};
use crate::formats::Spec;
use crate::origin::{Header, Keep, Kept, Measured};
use crate::parts::watched::Watched;
use crate::stage::Stage;

/// Writes the records, and an origin if there is a `header` for one. Most sessions are one
/// straight path to their last entry, so that one reading is enough. Where a session is not,
/// the output so far is discarded, and all branches are read first.
///
/// # Errors
/// If the input is damaged beyond what the options allow, or reading or writing fails.
pub fn write(
    (from, to): (Spec, Spec),
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    header: Option<Header>,
    cx: &Cx<'_>,
) -> Result<u64> {
    let keep = header.map(|header| Keep::begin(sink, header)).transpose()?.flatten();
    let Some(keep) = keep else { return plain((from, to), parts, sink, cx) };
    let (mut measured, mut watched) = (Measured::over(sink), Watched::over(parts));
    // The parts are read once more, for the origin.
    watched.keep()?;
    let count = plain((from, to), &mut watched, &mut measured, cx)?;
    let further = watched.further;
    keep.finish(Kept { format: from.format, parts, further }, to.format, &mut measured, cx)?;
    cx.log.carried();
    Ok(count)
}

fn plain(
    (from, to): (Spec, Spec),
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<u64> {
    if patched::takes(from, to) && cx.options.redact.is_none() {
        return patched::rewritten((from, to), parts, sink, cx);
    }
    let from = from.format;
    let log = Log::default();
    let inner = Cx { options: cx.options, log: &log };
    if let Some(mut ahead) = Work::ahead(from, to, &inner).filter(|_| sink.checkpoint()) {
        parts.keep()?;
        let done = ahead.records(parts, sink);
        drop(ahead);
        if !matches!(done, Ok(None)) {
            cx.log.take_over(log);
            return done.map(Option::unwrap_or_default);
        }
        sink.roll_back();
    }
    Work::of(from, to, parts, cx)?.all(parts, sink)
}

/// Writes the records to a stage, from which they go to places that are known only then.
///
/// # Errors
/// The errors of [`write()`].
pub fn staged(
    (from, to): (Spec, Spec),
    named: Option<NativeFn>,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    header: Option<Header>,
    cx: &Cx<'_>,
) -> Result<u64> {
    parts.keep()?;
    let mut stage = Stage::before(sink);
    let count = write((from, to), parts, &mut stage, header, cx)?;
    if cx.options.compare {
        compare((from.format, parts), (to, &mut stage), cx)?;
    }
    let native = native(to, named, &mut stage, cx)?;
    stage.finish(native).map(|()| count)
}

/// Notes the differences between the session and its written output.
fn compare(
    (from, parts): (&'static Format, &mut dyn Parts),
    (to, stage): (Spec, &mut Stage<'_>),
    cx: &Cx<'_>,
) -> Result<()> {
    let log = Log::default();
    let quiet = &Cx { options: cx.options, log: &log };
    let a = Side { format: from, parts, cx: quiet, quiet };
    // The stream may spell a line longer than its source did.
    let options =
        Options { max_line: cx.options.max_line.saturating_mul(16), ..cx.options.clone() };
    let wide = &Cx { options: &options, log: &log };
    let b = Side { format: to.format, parts: &mut stage.whole()?, cx: wide, quiet: wide };
    let mut differences = Differences::default();
    let done = diff::run(a, b, Request::default(), &mut |change| {
        diff::count(&change, &mut differences);
        Ok(())
    });
    match done {
        Ok(_) => cx.log.differ(differences),
        Err(Failed::A(error) | Failed::B(error) | Failed::Show(error)) => return Err(error),
    }
    Ok(())
}
