//! Sessions that return to their source format.
//!
//! Writers assume that a session of their own format is consistent. A session that was edited in
//! another format may not be: its last answer may be in a summary, too, and lines that show a
//! question may be unchanged although the question was edited. Therefore the written session is
//! read again, and a model must get the same content from it as from the session. A stream without
//! edits is equal record by record, which one reading shows.

mod stream;

use super::branch::off_branch;
use super::{native, plainly, report_losses, source, written};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::edit;
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts, Reader, Sink};
use crate::formats::{Spec, canonical, records};
use crate::migrate::Outcome;
use crate::origin::{Edit, Source, Unpacked, has_same_content, rejected, rejected_for};
use crate::record::{Field, Kind, Record};
use crate::stage::{Stage, Staged};
use crate::tree::Shape;
use crate::yaml::encoding::{self, Encoding};
pub use stream::stream;

/// A session that was edited in another format.
pub struct Edited {
    /// Its stream.
    pub stream: Box<dyn Parts>,
    /// Findings about the edits, which are reported if the edits are used.
    pub findings: Log,
}

/// Returns the source with the edits of a session, as patches of its text. `None` if the text has
/// no place for an edit.
///
/// # Errors
/// If reading or writing fails, or the patched source does not have the content of the edited
/// session.
pub fn patched(
    source: &mut Unpacked,
    edit: &mut Edit,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    if source.format.name == canonical::FORMAT.name {
        return Ok(None);
    }
    let home = Spec { format: source.format, version: source.format.version(source.version) };
    let complete = edit.is_of_stream;
    let (log, options) = (Log::default(), Options { complete, ..cx.options.unspelled() });
    let quiet = Cx { options: &options, log: &log };
    let mut before = Stage::trial(sink);
    written((&canonical::FORMAT, 1), home, &mut edit.before, &mut before, None, &quiet)?;
    let mut before = before.whole()?;
    if edit.is_of_stream
        && let Some(linked) = stream::linked(&mut edit.after, sink, &quiet)?
    {
        edit.after = linked;
    }
    let losing = Cx { options: &options, log: cx.log };
    let mut after = Stage::trial(sink);
    written((&canonical::FORMAT, 1), home, &mut edit.after, &mut after, None, &losing)?;
    let mut after = after.whole()?;
    let (own, limit) = (&mut source.parts, cx.options.max_line);
    let merged = edit::merged(home.format, own, (&mut before, &mut after), limit, sink)?;
    let Some(mut merged) = merged else { return Ok(None) };
    if are_same(home, &mut merged, &mut edit.after, &Cx { options: &options, log: cx.log })? {
        return Ok(Some(merged));
    }
    Err(rejected("the source format has no place for what was edited or added"))
}

/// Converts a session further, or back to its source format, that was in another format and may
/// have been edited there.
///
/// # Errors
/// If reading or writing fails, or the output does not have the content that the file shows.
pub fn write(
    source_format: Spec,
    to: Spec,
    mut merged: Edited,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let is_restored = source_format.format.name == to.format.name;
    let ways = match () {
        () if is_restored => vec![to],
        // The stream holds all data, and an edit in a stream finds its place in the source format.
        () if to.format.name == canonical::FORMAT.name => Vec::new(),
        () => vec![source_format, to],
    };
    for way in ways {
        let log = Log::default();
        let inner = Cx { options: cx.options, log: &log };
        let is_last = way.format.name == to.format.name;
        let mut stage = if is_last { Stage::tentative(sink) } else { Stage::trial(sink) };
        let Some(done) = written_if_same(way, &mut *merged.stream, &mut stage, &inner)? else {
            let why = "the source format has no place for what was edited or added";
            return Err(rejected_for(rejected(why), merged.findings));
        };
        if is_last {
            cx.log.take_over(merged.findings);
            cx.log.take_over(log);
            return finish(to, stage, cx).map(|()| done);
        }
    }
    cx.log.take_over(merged.findings);
    plainly(&canonical::FORMAT, 1, to, &mut *merged.stream, sink, cx)
}

/// Moves the written output to its place.
fn finish(to: Spec, mut stage: Stage<'_>, cx: &Cx<'_>) -> Result<()> {
    for name in stage.share()? {
        let message = format!("another output has the name {name} and was not replaced");
        cx.report(Diagnostic::new(Code::OtherOutput, message));
    }
    let named = to.format.native.filter(|_| stage.is_native());
    let name = native(to, named, &mut stage, cx)?;
    stage.finish(name)
}

/// Writes a stream in a format. `None` if the content of the output differs from the content of the
/// stream.
fn written_if_same(
    to: Spec,
    parts: &mut dyn Parts,
    stage: &mut Stage<'_>,
    cx: &Cx<'_>,
) -> Result<Option<Outcome>> {
    let done = match written((&canonical::FORMAT, 1), to, parts, stage, None, cx) {
        Err(error) if is_no_fault_of_the_session(&error) => return Err(error),
        Err(_) => return Ok(None),
        Ok(done) => done,
    };
    Ok(has_content_of(to, parts, stage, cx)?.then_some(done))
}

/// Whether the output has the content of the stream.
fn has_content_of(
    to: Spec,
    parts: &mut dyn Parts,
    stage: &mut Stage<'_>,
    cx: &Cx<'_>,
) -> Result<bool> {
    // A line that shows a missing message has another content than before.
    if cx.log.count_of(Code::MissingTarget) > 0 {
        return Ok(false);
    }
    let made = &mut stage.whole()?;
    if are_same(to, made, parts, cx)? {
        return Ok(true);
    }
    // Files do not always name their encoding.
    let encoding = encoding_of(parts, cx)?;
    let options = Options { encoding, ..cx.options.clone() };
    Ok(encoding.is_some() && are_same(to, made, parts, &Cx { options: &options, log: cx.log })?)
}

/// Whether a file has the content of a stream. Data beyond this content are counted where the file
/// has less of them.
fn are_same(to: Spec, made: &mut Staged, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<bool> {
    let stream = &canonical::FORMAT;
    let same = match are_alike((to.format, made), (stream, parts), cx) {
        Ok(false) => has_same_content((to.format, made), (stream, parts), cx),
        Ok(true) => return Ok(true),
        failed => failed,
    };
    match same {
        Err(error) if is_no_fault_of_the_session(&error) => Err(error),
        Ok(true) => report_omitted(to, made, parts, cx).map(|()| true),
        _ => Ok(false),
    }
}

/// Counts the messages of a stream beside its branch that the file does not have. No model gets
/// these messages, so no other check misses them.
fn report_omitted(to: Spec, made: &mut Staged, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<()> {
    let source_format = source(&canonical::FORMAT, 1, parts, cx)?;
    let is_foreign = Spec::parse(&source_format.unwrap_or_default())
        .is_ok_and(|h| h.format.name != to.format.name);
    if is_foreign && cx.options.origin {
        // The origin contains them.
        return Ok(());
    }
    let there = beside(&canonical::FORMAT, parts, cx)?.len();
    let here = if there > 0 { beside(to.format, made, cx)?.len() } else { 0 };
    let left = Log::default();
    (here..there).for_each(|_| off_branch(Kind::Message, &left));
    report_losses(to, &Cx { options: cx.options, log: &left });
    cx.log.take_over(left);
    Ok(())
}

/// Returns the places among the nodes of the messages that are on no path to the leaf, in their
/// order. Messages beside the conversation are not included.
fn beside(format: &Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Vec<u32>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut shape = Shape::within(cx.options.index_memory);
    let (mut leaf, mut messages) = (None, Vec::new());
    for item in records(format, parts, &quiet)? {
        let located = item?;
        let Record { kind, node } = &located.value;
        leaf = node.json(Field::Leaf).filter(|_| *kind == Kind::Session).cloned().or(leaf);
        if *kind == Kind::Message && located.value.is_node() && !located.value.is_aside() {
            messages.push(shape.len() as u32);
        }
        shape.record(&located);
    }
    let path = shape.finish().path(leaf.as_ref()).unwrap_or_default();
    messages.retain(|message| path.position(*message).is_none());
    Ok(messages)
}

/// Returns the encoding of the file of a stream, if a record names it; such a record may be the
/// last.
fn encoding_of(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Option<&'static Encoding>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut found = None;
    for item in (canonical::FORMAT.read)(parts, &quiet)? {
        let node = item?.value.node;
        let name = node.node(Field::File).and_then(|file| file.text(Field::Encoding));
        found = name.and_then(|name| encoding::named(&name)).or(found);
    }
    Ok(found)
}

/// Whether both sessions have the same entries, and the same leaf.
fn are_alike(a: Source<'_>, b: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    const SPELLING: &[Field] = &[Field::RawBytes, Field::Eol];
    let logs = [Log::default(), Log::default()];
    let options = cx.options.unspelled();
    let [cx_a, cx_b] = logs.each_ref().map(|log| Cx { options: &options, log });
    let mut a = entries((a.0.read)(a.1, &cx_a)?);
    let mut b = entries((b.0.read)(b.1, &cx_b)?);
    loop {
        let same = match (a.next(), b.next()) {
            (None, None) => return Ok(true),
            (Some(Ok(a)), Some(Ok(b))) if a.kind != b.kind => false,
            (Some(Ok(a)), Some(Ok(b))) if a.kind == Kind::Session => {
                a.node.get(Field::Leaf) == b.node.get(Field::Leaf)
            }
            (Some(Ok(a)), Some(Ok(b))) => a.node.is_same(&b.node, SPELLING),
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
}

/// Returns the entries of a session, and the records that name its leaf.
fn entries(reader: Reader<'_>) -> impl Iterator<Item = Result<Record>> {
    let counts = |record: &Record| record.is_node() || record.node.get(Field::Leaf).is_some();
    reader
        .map(|item| item.map(|at| at.value))
        .filter(move |item| item.as_ref().map_or(true, counts))
}

fn is_no_fault_of_the_session(error: &Error) -> bool {
    const OUTSIDE: &[Code] =
        &[Code::Io, Code::OutputName, Code::NoName, Code::Exists, Code::OutputTaken];
    OUTSIDE.contains(&error.code())
}
