//! Restores the source of a file from its origin.

use super::archive::digest_of;
use super::base::{Base, Trace};
use super::damage::{Damage, has_no_content, healed, is_cut, is_emptied};
use super::digest::Digest;
use super::file::{Header, Origin, Source, rejected};
use super::file_records::FileRecords;
use super::guard;
use super::keep::Digesting;
use super::matching::branches::{self, Abandoned};
use super::matching::call_names::CallNames;
use super::matching::compactions::{self, Summed};
use super::matching::outcomes::{aligned, match_turns, renumbered, written_again};
use super::matching::parent_links::ParentLinks;
use super::matching::rewritten_history::RewrittenHistory;
use super::matching::{context_edits, copies, unsaved_run};
use super::merge::taken_back::TakenBack;
use super::merge::{Done, Merger};
use super::pair;
use super::record_key::RecordKey;
use super::record_store::RecordStore;
use super::stream_edits::{are_same_streams, has_foreign_messages, report_stream_edits};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, Options, Parts, Sink};
use crate::formats::{Spec, canonical};
use crate::record::{Field, Record};
use crate::stage::{Stage, Staged};
use std::collections::HashSet;

/// Session that is restored from a file with its origin.
pub struct Restored {
    /// The source as it was.
    pub source: Source,
    /// Edits of the file, which belong into the source: the first one for which the source has a place
    /// counts.
    pub edits: Vec<Edit>,
    /// Findings about the edits, to be reported if the edits are used.
    pub findings: Log,
    /// Header of the origin, for the version in which the file was made.
    pub header: Header,
}

/// Edit of a session: its canonical stream as it was and as it is now.
pub struct Edit {
    /// The stream of the source.
    pub before: Staged,
    /// The stream with the edits of the file.
    pub after: Staged,
    /// Whether the file is a stream. Records that a user adds to a stream may lack fields that the
    /// source's software requires.
    pub is_of_stream: bool,
}

/// Function that writes the source in an origin in the format and version of its file, and traces
/// what is written.
pub type WriteFn = fn((&mut Source, &Header), Spec, &mut dyn Sink, &Cx<'_>) -> Result<Trace>;

/// Reads a session with the origin beside it; `None` if there is none. `write` makes the base.
pub fn restore(
    from: &'static Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    write: WriteFn,
    cx: &Cx<'_>,
) -> Result<Option<Restored>> {
    let Some((origin, target, digests)) = opened(from, parts, cx)? else { return Ok(None) };
    let header = origin.header.clone();
    let log = Log::default();
    let mut source = match origin.source(sink)? {
        Ok(source) => source,
        Err(why) => {
            let why = format!("the origin is not used: {why}");
            return Err(unusable(Code::OriginUnreadable, &why));
        }
    };
    if is_of(&origin, &digests) {
        let unpacked = (&mut source, &header, target);
        if !reproduces((from, parts, &digests), unpacked, sink, write, cx)? {
            return Err(rejected("the session in the origin differs from the session in the file"));
        }
        return Ok(Some(Restored { source, edits: Vec::new(), findings: log, header }));
    }
    let mut unedited = stream_of((&mut source, &header), sink, cx)?;
    // Findings about a rejected origin would bury the rejection.
    let inner = Cx { options: cx.options, log: &log };
    let found = Log::default();
    let unpacked = (&mut unedited, &header, target);
    let was = match header.by_turns {
        true => pair::as_it_was(&origin.trailer, parts, sink)?,
        false => None,
    };
    let done = changed(from, (parts, &found), (unpacked, was), sink, write, &inner);
    if matches!(done, Ok(Changed::Not | Changed::Merged(_))) {
        // The file is not read again, so what is wrong with it is reported now.
        found.into_findings().diagnostics.into_iter().for_each(|found| cx.report(found));
    }
    match done {
        Ok(Changed::Not) => Ok(Some(Restored { source, edits: Vec::new(), findings: log, header })),
        Ok(Changed::Another) => {
            let message = "the origin beside the file is of another session, and is not used";
            Err(unusable(Code::OriginOfAnother, message))
        }
        Ok(Changed::Merged(merged)) => {
            let Merged { base, streams, is_last_first } = *merged;
            let mut edits = Vec::new();
            let mut befores =
                base.map(|base| (base, true)).into_iter().chain([(unedited.parts, false)]);
            for after in streams {
                if let Some((before, is_of_stream)) = befores.next() {
                    edits.push(Edit { before, after, is_of_stream });
                }
            }
            if is_last_first {
                edits.reverse();
            }
            Ok(Some(Restored { source, edits, findings: log, header }))
        }
        Err(error) if error.code() == Code::OriginRejected => Err(rejected_for(error, log)),
        Err(error) => Err(error),
    }
}

/// Returns the source in an origin as a stream. What is wrong with the source was reported when it
/// was converted.
pub fn stream_of(
    (source, header): (&mut Source, &Header),
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Source> {
    let (log, options) = (Log::default(), header.reading(cx.options));
    source.stream(sink, &Cx { options: &options, log: &log })
}

/// Opens the origin beside a session, with the version that its file was written in and the digests
/// of the session's parts; `None` if there is none.
pub fn opened(
    from: &Format,
    parts: &mut dyn Parts,
    cx: &Cx<'_>,
) -> Result<Option<(Origin, Spec, Vec<Digest>)>> {
    let Some(opener) = parts.origin()?.filter(|_| !cx.options.ignore_origin) else {
        return Ok(None);
    };
    parts.keep()?;
    let (digests, size) = digests(parts)?;
    let unusable = |why: &str| {
        Err(unusable(Code::OriginUnreadable, &format!("the origin is not used: {why}")))
    };
    let origin = match Origin::open(opener, size)? {
        Ok(origin) => origin,
        Err(why) => return unusable(why),
    };
    if origin.header.trimmed.is_some() {
        // The whole session is another one for a model.
        return Ok(None);
    }
    match Spec::parse(&origin.header.target) {
        Ok(target) if target.format.name == from.name => Ok(Some((origin, target, digests))),
        Ok(_) => unusable(&format!("it was written for a file of {}", origin.header.target)),
        Err(_) => unusable("its target is not a format of this release"),
    }
}

/// Whether a file is as it was written, by the digests of its parts.
pub fn is_of(origin: &Origin, digests: &[Digest]) -> bool {
    !origin.trailer.shares && digests == sorted(origin.trailer.parts.clone())
}

/// Returns the source of the origin beside a session, and whether the session is as it was written.
/// The second value is `None` if the origin cannot be used. Returns `None` where there is no origin
/// beside the session.
pub fn look(parts: &mut dyn Parts) -> Result<Option<(String, Option<bool>)>> {
    let Some(opener) = parts.origin()? else { return Ok(None) };
    parts.keep()?;
    let (digests, size) = digests(parts)?;
    Ok(Some(match Origin::open(opener, size)? {
        Ok(origin) => {
            let same = digests == sorted(origin.trailer.parts.clone());
            (origin.header.source, Some(same))
        }
        Err(_) => ("another session".to_owned(), None),
    }))
}

/// Whether today's writer makes an unchanged file from the stream, or the stream at least shows the
/// same to a model: an origin may come from anyone.
fn reproduces(
    (from, parts, digests): (&'static Format, &mut dyn Parts, &[Digest]),
    (source, header, target): (&mut Source, &Header, Spec),
    sink: &mut dyn Sink,
    write: WriteFn,
    cx: &Cx<'_>,
) -> Result<bool> {
    let log = Log::default();
    let mut digesting = Digesting::like(sink, header.place.clone());
    let options = header.writing(cx.options);
    let then = Cx { options: &options, log: &log };
    let written = write((&mut *source, header), target, &mut digesting, &then);
    if written.is_ok() && sorted(digesting.digests()) == digests {
        return Ok(true);
    }
    let options = header.reading(cx.options);
    let quiet = Cx { options: &options, log: &log };
    let in_calls = from.agent.results_in_calls;
    guard::is_confirmed((source.format, &mut source.parts), (from, parts), in_calls, &quiet)
}

/// The digests of a session's parts, sorted, and their size.
fn digests(parts: &mut dyn Parts) -> Result<(Vec<Digest>, u64)> {
    let mut digests = Vec::new();
    for name in parts.names() {
        digests.push(digest_of(parts.open(&name)?)?);
    }
    let size = digests.iter().map(|digest| digest.length).sum();
    Ok((sorted(digests), size))
}

fn sorted(mut digests: Vec<Digest>) -> Vec<Digest> {
    digests.sort_by(|a, b| a.blake3.cmp(&b.blake3));
    digests
}

/// Makes the error for an origin that cannot be used. Nothing is written then: a session that was
/// read alone would lack what only the source has.
fn unusable(code: Code, why: &str) -> Error {
    Error::request(code, format!("{why}; to read the file alone, use `--ignore-origin`"))
}

/// Makes the error for a rejected origin, with the first edit of the file.
pub fn rejected_for(rejected: Error, log: Log) -> Error {
    const DONE: &[Code] = &[Code::OriginEdited, Code::OriginDeleted, Code::OriginAdded];
    let found = rejected.into_diagnostic();
    let done = log.into_findings().diagnostics.into_iter();
    let first = done.filter(|found| DONE.contains(&found.code)).min_by_key(|found| found.at);
    let Some(first) = first else { return Error::unfit(found) };
    let message = format!("{} ({})", found.message, first.message);
    Error::unfit(Diagnostic { message, at: first.at, ..found })
}

/// Change of a file since it was written.
enum Changed {
    /// Change of nothing but the spelling.
    Not,
    /// Change to another session.
    Another,
    /// Edit of the session, merged with the origin.
    Merged(Box<Merged>),
}

/// File merged with its origin.
struct Merged {
    /// The stream without the edits, where the file is a stream.
    base: Option<Staged>,
    /// The file, where it is a stream, and the stream of the source with the edits of the file.
    streams: Vec<Staged>,
    /// Whether the last of these counts first.
    is_last_first: bool,
}

/// Message about an edit of which nothing is left.
const NO_PLACE: &str = "the file was edited where the session's own format has no place for it, and the edit is left out";

/// Merges a file that is not as it was written with its origin. `was` is the file as it was, where
/// it is not what a writer makes of the source.
fn changed(
    from: &'static Format,
    (parts, found): (&mut dyn Parts, &Log),
    ((stream, header, target), was): ((&mut Source, &Header, Spec), Option<Staged>),
    sink: &mut dyn Sink,
    write: WriteFn,
    cx: &Cx<'_>,
) -> Result<Changed> {
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let (mut base, mut written) =
        base_of((&mut *stream, header, target), was, sink, write, &quiet)?;
    let is_cut = is_cut(&mut written, parts)?;
    let reading = Cx { options: cx.options, log: found };
    let mut now = FileRecords::of(from, parts, RecordStore::new(sink.spool()?), &reading)?;
    let is_stream = from.name == canonical::FORMAT.name;
    let is_same = match is_stream {
        true => are_same_streams(&mut base, &mut now)?,
        false => {
            let hashes =
                |names: &[RecordKey]| -> Vec<u64> { names.iter().map(|name| name.hash).collect() };
            hashes(&base.names) == hashes(&now.names)
        }
    };
    if is_same {
        return Ok(Changed::Not);
    }
    let is_one = is_of_one_session(&mut base, &mut now)?;
    let damage = match () {
        () if is_one => Damage::found(found),
        // A file without content of its own is not of another session.
        () if is_emptied(&base, &mut now)? => Damage::Anywhere,
        () if has_no_content(&mut now)? => Damage::found(found),
        () => return Ok(Changed::Another),
    };
    if is_cut && !damage.is_any() {
        let message = "the end of the file is missing since it was converted; if you did not delete \
                       it, `copyist repair` restores it";
        cx.report(Diagnostic::new(Code::OriginDeleted, message));
    }
    if damage.is_any() {
        let stores = [RecordStore::new(sink.spool()?), RecordStore::new(sink.spool()?)];
        now = healed((&mut base, &mut now), &damage, from, stores, cx)?.unwrap_or(now);
    }
    let source_format = Spec::parse(&header.source).ok();
    let origin: (_, &mut dyn Parts) = (source_format, &mut stream.parts);
    if !is_stream {
        let merged = merged(&mut base, &mut now, origin, sink, cx)?;
        if merged.is_none() && !cx.log.has(|_| true) && cx.log.dropped().is_empty() {
            // No edit is lost in silence.
            cx.report(Diagnostic::new(Code::Dropped, NO_PLACE));
        }
        let merged =
            merged.map(|stream| Merged { base: None, streams: vec![stream], is_last_first: false });
        return Ok(merged.map_or(Changed::Not, |merged| Changed::Merged(Box::new(merged))));
    }
    // A stream holds all data of the source, so the file is the edited session. Where the source's
    // format has another place for an edit, the stream is merged as any other file.
    let added = report_stream_edits(&base, &now, cx);
    let is_last_first = has_foreign_messages(&mut now, added)?;
    let (was, is) = (base.parts()?, now.store.parts()?);
    let quiet = Cx { options: cx.options, log: &Log::default() };
    let merged = match merged(&mut base, &mut now, origin, sink, &quiet) {
        Err(error) if error.code() != Code::OriginRejected => return Err(error),
        merged => merged.unwrap_or_default(),
    };
    let streams = [is].into_iter().chain(merged).collect();
    Ok(Changed::Merged(Box::new(Merged { base: Some(was), streams, is_last_first })))
}

/// Writes the base of an origin, and reads it. If the file was not made by a writer, the base is the
/// file as it `was`. Returns the base's records and its parts.
pub fn base_of(
    (stream, header, target): (&mut Source, &Header, Spec),
    was: Option<Staged>,
    sink: &mut dyn Sink,
    write: WriteFn,
    cx: &Cx<'_>,
) -> Result<(Base, Staged)> {
    let mut stage = Stage::like(sink, header.place.clone());
    let options = header.writing(cx.options);
    let then = Cx { options: &options, log: cx.log };
    let trace = write((stream, header), target, &mut stage, &then)?;
    let written = stage.whole()?;
    drop(stage);
    let mut written = was.unwrap_or(written);
    let store = RecordStore::new(sink.spool()?);
    Ok((Base::of(target.format, &mut written, &trace, store, cx)?, written))
}

/// Whether a file and the base are of one session: by its identifier, or by a message.
pub fn is_of_one_session(base: &mut Base, now: &mut FileRecords) -> Result<bool> {
    let id = |record: &Record| record.node.json(Field::Id).filter(|id| !id.is_null()).cloned();
    if let (false, false) = (base.names.is_empty(), now.names.is_empty()) {
        let (was, is) = (base.record(0)?, now.record(0)?);
        if id(&was).is_some_and(|was| id(&is).is_some_and(|is| is == was)) {
            return Ok(true);
        }
    }
    let messages = |names: &[RecordKey]| -> HashSet<u64> {
        names.iter().filter(|name| name.tag.has_text()).map(|name| name.hash).collect()
    };
    Ok(!messages(&base.names).is_disjoint(&messages(&now.names)))
}

/// Merges the records of a file with the source's records, by way of the base; `None` if the
/// session is unchanged.
fn merged(
    base: &mut Base,
    now: &mut FileRecords,
    (source_format, origin): (Option<Spec>, &mut dyn Parts),
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    let source_format =
        source_format.filter(|source_format| source_format.format.name != canonical::FORMAT.name);
    let (log, options) = (Log::default(), Options::default());
    let quiet = Cx { options: &options, log: &log };
    let anew = RewrittenHistory::of(&base.names, now, source_format)?;
    copies::find(&base.names, now, source_format)?;
    renumbered(&base.names, now)?;
    if now.is_foreign(source_format)? {
        written_again(base, now)?;
    }
    let (mut outcomes, mut added) = aligned(&base.names, &now.names);
    let names = CallNames::of(base, &mut *origin, &quiet)?;
    if !names.is_empty() {
        let restore = |record: &mut Record| names.restore(record);
        base.rewrite(RecordStore::new(sink.spool()?), &restore)?;
        now.store = now.store.rewritten(RecordStore::new(sink.spool()?), &restore)?;
    }
    anew.leave_out(now, (&mut outcomes, &mut added), cx);
    match_turns(base, now, (&mut outcomes, &mut added))?;
    let unsaved = unsaved_run::taken(now, &mut added, source_format, cx)?;
    let linked = compactions::relink(now, &added, source_format)?;
    let parent_links = ParentLinks::of(now, &added)?;
    let branching = parent_links.file_format.is_some_and(|file_format| file_format.version().tree);
    let linear = source_format.is_some_and(|source_format| !source_format.version().tree);
    let forks = !branching && branches::forks(now, &added)?;
    let takes_back = source_format.filter(|_| branching);
    let turns =
        takes_back.and_then(|spec| (spec.format.agent.rewind?.turns)(spec.version().number));
    let mut abandoned = Abandoned::default();
    if forks || (parent_links.tree || parent_links.names_new_leaf()) && linear {
        let kinds = (branching, turns.is_some());
        abandoned = branches::behind(now, (&mut outcomes, &mut added), kinds, cx)?;
    }
    context_edits::apply(now, (&mut outcomes, &mut added), source_format, cx)?;
    let mut summed = compactions::find_new(
        now,
        (&mut outcomes, &mut added),
        parent_links.file_format,
        source_format,
    )?;
    summed.replacements.extend(unsaved);
    for (number, record) in linked {
        summed.replacements.entry(number).or_insert(record);
    }
    summed.open_calls = abandoned.open_calls;
    let store = RecordStore::new(sink.spool()?);
    let file_format = parent_links.file_format;
    let in_calls = file_format.is_some_and(|spec| spec.format.agent.results_in_calls);
    let mut back =
        Merger::new((&mut *now, base), parent_links, (outcomes, added), summed, store, cx);
    back.taken_back = TakenBack::of(abandoned.taken_back, turns);
    let Done { store: mut stream, changed, summed } = back.all(&mut *origin, &quiet)?;
    if !changed {
        return Ok(None);
    }
    let merged = stream.parts()?;
    check_shown((&mut stream, now), &summed, in_calls, sink, cx)?;
    Ok(Some(merged))
}

/// Checks that a merged stream shows to a model what the file shows. `in_calls` is as in
/// [`guard::is_confirmed`].
///
/// # Errors
/// If it shows anything else, or cannot be read.
fn check_shown(
    (stream, now): (&mut RecordStore, &mut FileRecords),
    summed: &Summed,
    in_calls: bool,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<()> {
    let mut shown = match summed.replacements.is_empty() {
        true => now.store.parts()?,
        false => now.store.replaced(RecordStore::new(sink.spool()?), &|number, _| {
            summed.replacements.get(&number).cloned()
        })?,
    };
    let mut says = match summed.has_new() {
        false => stream.parts()?,
        true => {
            stream.replaced(RecordStore::new(sink.spool()?), &|_, record| summed.passed(record))?
        }
    };
    let format = &canonical::FORMAT;
    if !guard::is_confirmed((format, &mut says), (format, &mut shown), in_calls, cx)? {
        let why = "the session that it restores would differ from the file";
        let differs = guard::differing((format, &mut says), (format, &mut shown), in_calls, cx);
        return Err(rejected(&differs.map_or(why.to_owned(), |it| format!("{why}: {it}"))));
    }
    Ok(())
}
