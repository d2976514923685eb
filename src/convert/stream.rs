//! Conversion of a canonical stream to the format from which it comes.
//!
//! The output in the source format may not have the content of the stream, because it was edited
//! and its origin is not beside it. Then the stream is written as a session of another format.

use super::branch::off_branch;
use super::{native, plainly, report_losses, source, written};
use crate::context;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts, Reader, Sink};
use crate::formats::{Spec, canonical, records};
use crate::ids::hash;
use crate::json::Json;
use crate::migrate::Outcome;
use crate::origin::{Source, has_same_content};
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use crate::stage::{Stage, Staged};
use crate::tree::Shape;
use crate::yaml::encoding::{self, Encoding};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Writes a stream in the format from which it comes.
///
/// # Errors
/// If reading or writing fails, or the stream contains what its format cannot express.
pub fn write(
    version: u32,
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    parts.keep()?;
    let from = (&canonical::FORMAT, version);
    let log = Log::default();
    let inner = Cx { options: cx.options, log: &log };
    let mut stage = Stage::tentative(sink);
    let done = match written(from, to, parts, &mut stage, None, &inner) {
        Ok(done) => done,
        Err(error) => {
            cx.log.take_over(log);
            return Err(error);
        }
    };
    if speaks(parts, cx) && !has_content_of(to, parts, &mut stage, &inner)? {
        let mut relinked = relinked(&missing(parts, cx)?, parts, &mut stage, cx)?;
        let parts = relinked.as_mut().map_or(parts, |relinked| relinked);
        if !has_content_of(to, parts, &mut stage, &inner)? {
            let made = stage.whole()?;
            drop(stage);
            return adapted(to, made, parts, sink, cx);
        }
    }
    cx.log.take_over(log);
    finish(to, stage, cx).map(|()| done)
}

/// Whether the content that a stream shows to a model is known and is not empty. A missing parent
/// is reported, because the context then begins later than the stream.
fn speaks(parts: &mut dyn Parts, cx: &Cx<'_>) -> bool {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let sent = context::sent(&canonical::FORMAT, parts, &quiet, &quiet);
    let speaks = sent.is_ok_and(|mut sent| sent.next().is_some());
    let found = log.into_findings().diagnostics.into_iter();
    found.filter(|found| found.code == Code::MissingParent).for_each(|found| cx.report(found));
    speaks
}

/// Writes a stream whose format does not express it as it is.
fn adapted(
    to: Spec,
    mut made: Staged,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    for simpler in [on_branch, renumbered] {
        let findings = Log::default();
        let simpler = simpler(to, parts, sink, &Cx { options: cx.options, log: &findings })?;
        if let Some(mut simpler) = simpler
            && let Some(done) = finish_if_same(to, &mut simpler, findings, sink, cx)?
        {
            return Ok(done);
        }
    }
    // References to a missing message are reported, and may be the only defect.
    if are_same(to, &mut made, parts, cx)? {
        return plainly(&canonical::FORMAT, 1, to, parts, sink, cx);
    }
    let message = "the source format cannot express the edited stream, so it is written as a session \
                   of another format";
    cx.report(Diagnostic::new(Code::NotAsTold, message));
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut foreign = rewritten(parts, sink, &quiet, &mut |record| {
        record.node.take(Field::Source);
        true
    })?;
    plainly(&canonical::FORMAT, 1, to, &mut foreign, sink, cx)
}

/// Writes a stream if the output in the format has the content of the stream.
fn finish_if_same(
    to: Spec,
    parts: &mut dyn Parts,
    findings: Log,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Outcome>> {
    let log = Log::default();
    let mut stage = Stage::tentative(sink);
    let inner = Cx { options: cx.options, log: &log };
    let Some(done) = written_if_same(to, parts, &mut stage, &inner)? else { return Ok(None) };
    cx.log.take_over(findings);
    cx.log.take_over(log);
    finish(to, stage, cx)?;
    Ok(Some(done))
}

/// Returns the stream without the messages beside its branch, where it has some and a file of the
/// format has only one path.
fn on_branch(
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    let beside =
        if to.version().tree { Vec::new() } else { beside(&canonical::FORMAT, parts, cx)? };
    if beside.is_empty() {
        return Ok(None);
    }
    let log = Log::default();
    let mut node = 0;
    let on_branch = rewritten(parts, sink, &Cx { options: cx.options, log: &log }, &mut |record| {
        let gone = record.is_node() && beside.binary_search(&node).is_ok();
        node += u32::from(record.is_node());
        if gone {
            off_branch(record.kind, cx.log);
        }
        !gone
    });
    report_losses(to, cx);
    on_branch.map(Some)
}

/// Returns the stream with its turns numbered from the beginning, where turns, or all messages in
/// them, were removed.
pub fn renumbered(
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let Some(places) = places(canonical::FORMAT.records(parts, &quiet)?)? else { return Ok(None) };
    let counted = rewritten(parts, sink, &quiet, &mut |record| {
        let is_turn = record.kind == Kind::Turn;
        let field = if is_turn { Field::Number } else { Field::Turn };
        let Some(old) = number(record, field) else { return true };
        match places.get(&old) {
            Some(place) => record.node.set(field, Json::number(*place)),
            None if is_turn => cx.log.lost("turn without messages"),
            None => {}
        }
        !is_turn || places.contains_key(&old)
    });
    report_losses(to, cx);
    counted.map(Some)
}

/// Returns the parents that entries of a stream name and that are not in it, by their hashes.
pub fn missing(parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<HashSet<u64>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let (mut ids, mut parents) = (HashSet::new(), HashSet::new());
    for item in canonical::FORMAT.records(parts, &quiet)? {
        let node = item?.value.node;
        ids.extend(node.json(Field::Id).map(key_of));
        parents.extend(node.json(Field::Parent).filter(|parent| !parent.is_null()).map(key_of));
    }
    Ok(parents.difference(&ids).copied().collect())
}

fn key_of(id: &Json) -> u64 {
    hash(id.as_bytes())
}

/// Returns the stream in which each entry with one of these parents, which are missing, follows the
/// entry before it: a user who deletes an entry means no other entry.
pub fn relinked(
    missing: &HashSet<u64>,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    if missing.is_empty() {
        return Ok(None);
    }
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let mut last = Json::constant("null");
    let relinked = rewritten(parts, sink, &quiet, &mut |record| {
        if record.is_node() {
            let parent = record.node.json(Field::Parent);
            if parent.is_some_and(|parent| missing.contains(&key_of(parent))) {
                record.node.set(Field::Parent, last.clone());
            }
            last = record.node.json(Field::Id).unwrap_or(&last).clone();
        }
        true
    });
    relinked.map(Some)
}

/// Returns the stream with some records changed, or left out where `change` returns false.
fn rewritten(
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
    change: &mut dyn FnMut(&mut Record) -> bool,
) -> Result<Staged> {
    let mut stage = Stage::trial(sink);
    {
        let version = &canonical::FORMAT.versions[0];
        let mut writer = (canonical::FORMAT.write)(&mut stage, version, cx)?;
        for item in records(&canonical::FORMAT, parts, cx)? {
            let Located { value: mut record, at } = item?;
            if change(&mut record) {
                writer.record(&Located { value: record, at })?;
            }
        }
        writer.finish()?;
    }
    stage.whole()
}

/// Returns the numbers of the turns that have messages; `None` if those are all turns, and they are
/// numbered in order.
fn places(reader: Reader<'_>) -> Result<Option<BTreeMap<u64, u64>>> {
    let (mut turns, mut with_messages) = (Vec::<u64>::new(), BTreeSet::new());
    for item in reader {
        let record = item?.value;
        match record.kind {
            Kind::Turn => turns.push(number(&record, Field::Number).unwrap_or_default()),
            Kind::Message => with_messages.extend(number(&record, Field::Turn)),
            _ => {}
        }
    }
    let sorted = !turns.is_empty() && turns.is_sorted_by(|a, b| a < b);
    if !sorted || with_messages.iter().any(|turn| turns.binary_search(turn).is_err()) {
        return Ok(None);
    }
    let places: BTreeMap<_, _> =
        turns.iter().copied().filter(|t| with_messages.contains(t)).zip(1..).collect();
    let same = places.len() == turns.len() && places.iter().all(|(turn, place)| turn == place);
    Ok((!same).then_some(places))
}

fn number(record: &Record, field: Field) -> Option<u64> {
    record.node.json(field).and_then(Json::float).map(|number| number as u64)
}

/// Moves the written output to its place.
fn finish(to: Spec, mut stage: Stage<'_>, cx: &Cx<'_>) -> Result<()> {
    for name in stage.share()? {
        let message = format!("another output has the name {name} and was not replaced");
        cx.report(Diagnostic::new(Code::OtherOutput, message));
    }
    let named = to.format.files.native.filter(|_| stage.is_native());
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
pub fn are_same(to: Spec, made: &mut Staged, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<bool> {
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
    for item in canonical::FORMAT.records(parts, &quiet)? {
        let node = item?.value.node;
        let name = node.node(Field::File).and_then(|file| file.text(Field::Encoding));
        found = name.and_then(|name| encoding::named(&name)).or(found);
    }
    Ok(found)
}

/// Whether both sessions have the same entries, and the same leaf.
fn are_alike(a: Source<'_>, b: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    let logs = [Log::default(), Log::default()];
    let [cx_a, cx_b] = logs.each_ref().map(|log| Cx { options: cx.options, log });
    let mut a = entries(a.0.records(a.1, &cx_a)?);
    let mut b = entries(b.0.records(b.1, &cx_b)?);
    loop {
        let same = match (a.next(), b.next()) {
            (None, None) => return Ok(true),
            (Some(Ok(a)), Some(Ok(b))) if a.kind != b.kind => false,
            (Some(Ok(a)), Some(Ok(b))) if a.kind == Kind::Session => {
                a.node.get(Field::Leaf) == b.node.get(Field::Leaf)
            }
            (Some(Ok(a)), Some(Ok(b))) => a.node.is_same(&b.node, &[]),
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
