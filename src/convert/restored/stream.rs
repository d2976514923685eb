//! Conversion of a canonical stream to the format from which it comes.
//!
//! The output in the source format may not have the content of the stream. Then the stream is
//! treated as a file that was edited in another format: the output goes to a third format, as any
//! session does, and the stream goes there, too. The differences in the third format are the edits,
//! and are restored as edits.

use super::{
    are_same, beside, encoding_of, finish, has_content_of, is_no_fault_of_the_session,
    written_if_same,
};
use crate::context;
use crate::convert::branch::off_branch;
use crate::convert::work::Work;
use crate::convert::{plainly, report_losses, written};
use crate::diagnostic::{Code, Diagnostic, FieldOutcome, Log};
use crate::error::Result;
use crate::format::{Cx, Options, Parts, Reader, Sink};
use crate::formats::{FORMATS, Spec, canonical, records};
use crate::ids::hash;
use crate::json::Json;
use crate::migrate::Outcome;
use crate::origin::{Merged, between};
use crate::position::Located;
use crate::record::{Field, Kind, Record};
use crate::stage::{Stage, Staged};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Writes a stream in the format from which it comes.
///
/// # Errors
/// If reading or writing fails, or the stream contains what its format cannot express.
pub fn stream(
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
        let mut linked = linked(parts, &mut stage, cx)?;
        let parts = linked.as_mut().map_or(parts, |linked| linked);
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
    for simpler in [straight, closed] {
        let findings = Log::default();
        let simpler = simpler(to, parts, sink, &Cx { options: cx.options, log: &findings })?;
        if let Some(mut simpler) = simpler
            && let Some(done) = finish_if_same(to, &mut simpler, findings, sink, cx)?
        {
            return Ok(done);
        }
    }
    let via = through(to);
    let mut founded = founded(to, parts, sink, cx)?;
    let (mut shown, again) = through_third_format(to, via, &mut founded, parts, sink, cx)?;
    if let Some((Merged { stream: mut again, .. }, findings)) = again
        && let Some(done) = finish_if_same(to, &mut again, findings, sink, cx)?
    {
        return Ok(done);
    }
    // References to a missing message are reported, and may be the only defect.
    if are_same(to, &mut made, parts, cx)? {
        return plainly(&canonical::FORMAT, 1, to, parts, sink, cx);
    }
    let message = "the source format cannot express the edited stream, so it is written as a session \
                   of another format";
    cx.report(Diagnostic::new(Code::NotAsTold, message));
    let done = plainly(via.format, via.version().number, to, &mut shown, sink, cx)?;
    lost(parts, to, cx)?;
    Ok(done)
}

/// Returns the output of the format for the stream without its new messages: messages without a
/// turn have no place among messages that have one. The output has no origin, because it is read as
/// it shows itself.
fn founded(to: Spec, parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<Staged> {
    let log = Log::default();
    let options = Options { origin: false, compare: false, ..cx.options.clone() };
    let quiet = Cx { options: &options, log: &log };
    let mut tell = false;
    for item in (canonical::FORMAT.read)(parts, &quiet)? {
        tell |= is_in_turn(&item?.value);
    }
    let mut settled = rewritten(parts, sink, &quiet, &mut |record| {
        let findings = record.kind == Kind::Message && !record.node.is(Field::Role, "system");
        !tell || !findings || is_in_turn(record)
    })?;
    let mut stage = Stage::trial(sink);
    written((&canonical::FORMAT, 1), to, &mut settled, &mut stage, None, &quiet)?;
    stage.whole()
}

fn is_in_turn(record: &Record) -> bool {
    record.kind == Kind::Message && number(record, Field::Turn).is_some()
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

/// Counts the records of a stream that are not sent to a model.
fn lost(parts: &mut dyn Parts, to: Spec, cx: &Cx<'_>) -> Result<()> {
    let (log, seen) = (Log::default(), Log::default());
    for item in (canonical::FORMAT.read)(parts, &Cx { options: cx.options, log: &seen })? {
        let record = item?.value;
        if !record.is_node() && record.kind != Kind::Session {
            log.count(FieldOutcome::Dropped, record.kind.name());
        }
    }
    report_losses(to, &Cx { options: cx.options, log: &log });
    cx.log.take_over(log);
    Ok(())
}

/// Returns the stream without the messages beside its branch, where it has some and a file of the
/// format has only one path.
fn straight(
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
    let straight = rewritten(parts, sink, &Cx { options: cx.options, log: &log }, &mut |record| {
        let gone = record.is_node() && beside.binary_search(&node).is_ok();
        node += u32::from(record.is_node());
        if gone {
            off_branch(record.kind, cx.log);
        }
        !gone
    });
    report_losses(to, cx);
    straight.map(Some)
}

/// Returns the stream with its turns numbered from the beginning, where turns, or all messages in
/// them, were removed.
fn closed(
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let Some(places) = places((canonical::FORMAT.read)(parts, &quiet)?)? else { return Ok(None) };
    let counted = rewritten(parts, sink, &quiet, &mut |record| {
        let is_turn = record.kind == Kind::Turn;
        let field = if is_turn { Field::Number } else { Field::Turn };
        let Some(old) = number(record, field) else { return true };
        match places.get(&old) {
            Some(place) => record.node.set(field, Json::number(*place)),
            None if is_turn => cx.log.count(FieldOutcome::Dropped, "turn without messages"),
            None => {}
        }
        !is_turn || places.contains_key(&old)
    });
    report_losses(to, cx);
    counted.map(Some)
}

/// Returns the stream in which each entry whose parent is missing follows the entry before it: a
/// user who deletes an entry means no other entry.
pub fn linked(parts: &mut dyn Parts, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<Option<Staged>> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let (mut ids, mut parents) = (HashSet::new(), HashSet::new());
    let print = |id: &Json| hash(id.as_bytes());
    for item in (canonical::FORMAT.read)(parts, &quiet)? {
        let node = item?.value.node;
        ids.extend(node.json(Field::Id).map(print));
        parents.extend(node.json(Field::Parent).filter(|parent| !parent.is_null()).map(print));
    }
    if parents.is_subset(&ids) {
        return Ok(None);
    }
    let mut last = Json::constant("null");
    let linked = rewritten(parts, sink, &quiet, &mut |record| {
        if record.is_node() {
            let parent = record.node.json(Field::Parent);
            if parent.is_some_and(|parent| !parent.is_null() && !ids.contains(&print(parent))) {
                record.node.set(Field::Parent, last.clone());
            }
            last = record.node.json(Field::Id).unwrap_or(&last).clone();
        }
        true
    });
    linked.map(Some)
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
    let (mut turns, mut findings) = (Vec::<u64>::new(), BTreeSet::new());
    for item in reader {
        let record = item?.value;
        match record.kind {
            Kind::Turn => turns.push(number(&record, Field::Number).unwrap_or_default()),
            Kind::Message => findings.extend(number(&record, Field::Turn)),
            _ => {}
        }
    }
    let sorted = !turns.is_empty() && turns.is_sorted_by(|a, b| a < b);
    if !sorted || findings.iter().any(|turn| turns.binary_search(turn).is_err()) {
        return Ok(None);
    }
    let places: BTreeMap<_, _> =
        turns.iter().copied().filter(|t| findings.contains(t)).zip(1..).collect();
    let same = places.len() == turns.len() && places.iter().all(|(turn, place)| turn == place);
    Ok((!same).then_some(places))
}

fn number(record: &Record, field: Field) -> Option<u64> {
    record.node.json(field).and_then(Json::float).map(|number| number as u64)
}

/// Returns the third format through which a session of this format is compared: one that holds all
/// branches, if there is another.
fn through(to: Spec) -> Spec {
    let stream = canonical::FORMAT.name;
    let others =
        || FORMATS.iter().filter(|format| ![to.format.name, stream].contains(&format.name));
    let format = others().find(|format| format.links()).or_else(|| others().next());
    Spec { format: format.copied().unwrap_or(&canonical::FORMAT), version: None }
}

/// Returns the stream in a third format, and the output of its own format with the edits found
/// there; `None` for the latter if the edits cannot be determined.
fn through_third_format(
    to: Spec,
    via: Spec,
    made: &mut Staged,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<(Staged, Option<(Merged, Log)>)> {
    let log = Log::default();
    let plain = Options { origin: false, compare: false, ..cx.options.clone() };
    // The output contains the new paths.
    let encoding = encoding_of(parts, cx)?;
    let own = Options { map_paths: Vec::new(), encoding, ..plain.clone() };
    let mut shown = {
        let mut stage = Stage::trial(sink);
        let cx = Cx { options: &plain, log: &log };
        plainly(&canonical::FORMAT, 1, via, parts, &mut stage, &cx)?;
        stage.whole()?
    };
    let findings = Log::default();
    let again = edits(to, via, made, &mut shown, sink, (&own, &findings));
    match again {
        Err(error) if is_no_fault_of_the_session(&error) => Err(error),
        again => Ok((shown, again.unwrap_or(None).map(|merged| (merged, findings)))),
    }
}

/// Returns the output of a format for a stream, with the edits that `shown` contains in comparison
/// with a third format's view of the output.
fn edits(
    to: Spec,
    via: Spec,
    made: &mut Staged,
    shown: &mut Staged,
    sink: &mut dyn Sink,
    (options, findings): (&Options, &Log),
) -> Result<Option<Merged>> {
    let log = Log::default();
    let cx = Cx { options, log: &log };
    let stream = Spec { format: &canonical::FORMAT, version: None };
    let mut origin = {
        let mut stage = Stage::trial(sink);
        plainly(to.format, to.version().number, stream, made, &mut stage, &cx)?;
        stage.whole()?
    };
    let work = Work::of(&canonical::FORMAT, via, &mut origin, &cx)?;
    let (mut base, trace) = {
        let mut stage = Stage::trial(sink);
        let trace = work.traced(&mut origin, &mut stage)?;
        (stage.whole()?, trace)
    };
    let telling = Cx { options, log: findings };
    let home = Some(to);
    between(via.format, (&mut origin, home), (&mut base, &trace), shown, sink, &telling)
}
