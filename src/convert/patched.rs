//! Sessions that change within their format, as patches of their own text: with the edits that were
//! made in another format, with other paths, in another version of lines, or with records that were
//! lost.

use super::plainly;
use super::stream::{are_same, missing, relinked, renumbered};
use super::work::Work;
use crate::convert;
use crate::diagnostic::Log;
use crate::edit;
use crate::error::Result;
use crate::format::{Cx, OnError, Options, Parts, Sink};
use crate::formats::{Spec, canonical};
use crate::origin::{Edit, Unpacked, has_same_content, rejected};
use crate::stage::{Stage, Staged};

/// Whether a session that goes to other paths, or to another version of its format, is written as a
/// patch: a version of YAML has little in common with the next one.
pub fn takes(from: Spec, to: Spec) -> bool {
    let is_same = from.version().number == to.version().number;
    let is_of_lines = from.format.extensions.first() == Some(&".jsonl");
    from.format.name == to.format.name && (is_same || is_of_lines)
}

/// Writes a session in its own format: what the new version or the new paths do not change keeps
/// its bytes. Returns the number of records.
///
/// # Errors
/// If the input is damaged beyond what the options allow, or reading or writing fails.
pub fn rewritten(
    (from, to): (Spec, Spec),
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<u64> {
    parts.keep()?;
    let mut before = written(from, parts, sink, cx)?;
    let mut stage = Stage::before(sink);
    let count = Work::of(from.format, to, parts, cx)?.all(parts, &mut stage)?;
    finish((from, to), (parts, &mut before), stage, cx).map(|()| count)
}

/// Returns the source with the edits of a session.
///
/// # Errors
/// If reading or writing fails, if the source's text has no place for an edit, or if the patched
/// source does not have the content of the edited session.
pub fn edited(
    source: &mut Unpacked,
    edit: &mut Edit,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Staged> {
    let home = Spec { format: source.format, version: source.format.version(source.version) };
    let complete = edit.is_of_stream;
    let (log, options) = (Log::default(), Options { complete, ..cx.options.clone() });
    let quiet = Cx { options: &options, log: &log };
    if edit.is_of_stream {
        // A parent that was missing before stays so.
        let mut lost = missing(&mut edit.after, &quiet)?;
        if !lost.is_empty() {
            let before = missing(&mut edit.before, &quiet)?;
            lost.retain(|parent| !before.contains(parent));
        }
        if let Some(relinked) = relinked(&lost, &mut edit.after, sink, &quiet)? {
            edit.after = relinked;
        }
        // Turns that were in order before are to be so again.
        if renumbered(home, &mut edit.before, sink, &quiet)?.is_none()
            && let Some(renumbered) = renumbered(home, &mut edit.after, sink, &quiet)?
        {
            edit.after = renumbered;
        }
    }
    let mut before = Stage::trial(sink);
    convert::written((&canonical::FORMAT, 1), home, &mut edit.before, &mut before, None, &quiet)?;
    let mut before = before.whole()?;
    let losing = Cx { options: &options, log: cx.log };
    let mut after = Stage::trial(sink);
    convert::written((&canonical::FORMAT, 1), home, &mut edit.after, &mut after, None, &losing)?;
    let mut after = after.whole()?;
    let (own, limit) = (&mut source.parts, cx.options.max_line);
    let merged = edit::merged(home.format, own, (&mut before, &mut after), limit, sink)?;
    if let Some(mut merged) = merged
        && are_same(home, &mut merged, &mut edit.after, &Cx { options: &options, log: cx.log })?
    {
        return Ok(merged);
    }
    Err(rejected("the source format has no place for what was edited or added"))
}

/// Copies a session to the places that its format's writer names. Returns the number of records.
///
/// # Errors
/// If reading or writing fails.
pub fn placed(own: Spec, parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<u64> {
    let names = written(own, parts, sink, cx)?.names();
    let mut stage = Stage::before(sink);
    let count = Work::of(own.format, own, parts, cx)?.all(parts, &mut stage)?;
    stage.fill(&names, parts)?;
    stage.finish(None).map(|()| count)
}

/// Writes a damaged session with the records of the stream `whole`, which has those that were lost.
///
/// # Errors
/// If reading or writing fails.
pub fn healed(
    from: Spec,
    parts: &mut dyn Parts,
    whole: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<()> {
    let mut before = written(from, parts, sink, cx)?;
    let mut stage = Stage::before(sink);
    plainly(&canonical::FORMAT, 1, from, whole, &mut stage, cx)?;
    finish((from, from), (parts, &mut before), stage, cx)
}

/// Puts a session in its place, with the text that the change leaves alone. A patch into another
/// version must have the content of the session that the writer wrote: versions may have too little
/// in common.
fn finish(
    (own, to): (Spec, Spec),
    (parts, before): (&mut dyn Parts, &mut Staged),
    mut stage: Stage<'_>,
    cx: &Cx<'_>,
) -> Result<()> {
    let (mut after, limit) = (stage.whole()?, cx.options.max_line);
    let format = own.format;
    let merged = edit::merged(format, parts, (before, &mut after), limit, &mut stage)?;
    if let Some(mut merged) = merged {
        let is_same = own.version().number == to.version().number;
        let (log, made) = (Log::default(), (format, &mut merged as &mut dyn Parts));
        let quiet = Cx { options: cx.options, log: &log };
        if is_same || has_same_content(made, (format, &mut after), &quiet).unwrap_or(false) {
            stage.replace(&merged, &|name| !format.is_shared(name));
        }
    }
    stage.finish(None)
}

/// Returns a session as its format's writer writes it, damaged lines included.
fn written(own: Spec, parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<Staged> {
    let (log, map_paths) = (Log::default(), Vec::new());
    let options = Options {
        map_paths,
        cuts: None,
        plain: false,
        on_error: OnError::Keep,
        ..cx.options.clone()
    };
    let quiet = Cx { options: &options, log: &log };
    let mut stage = Stage::trial(sink);
    Work::of(own.format, own, parts, &quiet)?.all(parts, &mut stage)?;
    stage.whole()
}
