//! Conversion: between formats as records, within one format as bytes where that is possible.

mod branch;
mod copy;
mod forks;
mod masked;
mod native;
mod patched;
mod relocate;
mod stream;
mod survey;
mod tokens;
mod ways;
mod work;

use crate::diagnostic::{Code, Diagnostic, Log, plural};
use crate::error::Result;
use crate::format::{Cx, Format, Map, NativeFn, Options, Parts, Reader, Sink, Target};
use crate::formats::{FORMATS, Spec, canonical};
use crate::migrate::{self, Outcome};
use crate::origin::{
    self, Header, Restored, Trace, Unlost, Unpacked, is_trimmed_from, rejected_for, trimmed,
};
use crate::parts;
use crate::record::{Field, Kind};
use crate::stage::{Like, Stage};
use copy::copy;
pub use native::Native;
use native::native;
pub use relocate::moved as moved_path;
use work::Work;

/// Converts one session. `version` is the version of the input.
///
/// Within one format, towards the same or a newer version, the conversion is a copy or a migration,
/// which leaves unchanged all bytes that need not change. Every other conversion goes through the
/// records. An origin beside the input restores its source first. Data that the target cannot hold
/// go into an origin of its own, and are counted in the log where there can be no origin. A linear
/// target gets the branch with the session's leaf. A linear target of another format gets the
/// messages that the source's own software would send to a model, such as summaries in place of the
/// messages that they summarize.
///
/// # Errors
/// If the input is damaged beyond what the options allow, or reading or writing fails. What `sink`
/// got by then is of no use.
pub fn run(
    from: &'static Format,
    version: u32,
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    if let Some(done) = untrimmed(from, to, parts, sink, cx)? {
        return Ok(done);
    }
    if copies(from, version, to) {
        return plainly(from, version, to, parts, sink, cx);
    }
    if let Some(restored) = origin::restore(from, parts, sink, again, cx)? {
        let done = restore(restored, to, sink, cx)?;
        // The source is another session than the file, in any target format.
        return Ok(Outcome { from: version, changed: true, restored: true, ..done });
    }
    let home = source(from, version, parts, cx)?.filter(|_| is_stream(from));
    match home.and_then(|home| Spec::parse(&home).ok()) {
        // A line of a tree is one record, so that no other record could hold its content.
        Some(home)
            if home.format.name == to.format.name
                && !to.version().tree
                && cx.options.redact.is_none() =>
        {
            let to = Spec { version: to.version.or(home.version), ..to };
            stream::write(version, to, parts, sink, cx)
        }
        _ => {
            let options = Options { complete: is_stream(from), ..cx.options.clone() };
            plainly(from, version, to, parts, sink, &Cx { options: &options, log: cx.log })
        }
    }
}

/// Converts the whole of a trimmed session: into the format from which it was made, and, where the
/// user wants that, into its own. `None` for any other session, and in other formats, which get the
/// trimmed one.
fn untrimmed(
    from: &'static Format,
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Outcome>> {
    let options = cx.options;
    let Some(trimmed) = trimmed(parts)?.filter(|_| !options.ignore_origin) else { return Ok(None) };
    let own = from.name == to.format.name && options.whole;
    if !own && !is_trimmed_from(&trimmed, to.format) {
        return Ok(None);
    }
    let Some(mut whole) = origin::whole(parts, sink)? else { return Ok(None) };
    let to =
        if own { Spec { version: to.version.or(from.version(whole.version)), ..to } } else { to };
    let done = run(from, whole.version, to, &mut whole.parts, sink, cx)?;
    Ok(Some(Outcome { changed: true, restored: true, ..done }))
}

fn is_stream(format: &Format) -> bool {
    format.name == canonical::FORMAT.name
}

/// Whether the target is the same format and version as the source. Without a version the newest is
/// meant, unless the format keeps the version of a session.
fn copies(from: &Format, version: u32, to: Spec) -> bool {
    let kept = to.version.is_none() && to.format.usual.is_some();
    from.name == to.format.name && (kept || to.version().number == version)
}

/// Writes the source in an origin as its file was written.
fn again(
    (source, header): (&mut Unpacked, &Header),
    target: Spec,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Trace> {
    let options = Options {
        ids: header.ids,
        map_paths: maps(&header.map_paths),
        ..header.reading(cx.options)
    };
    let cx = Cx { options: &options, log: cx.log };
    let Unpacked { format, version, parts } = source;
    let from = Spec { format, version: format.version(*version) };
    if !patched::takes(from, target) {
        return Work::of(format, target, parts, &cx)?.traced(parts, sink);
    }
    patched::rewritten((from, target), parts, sink, &cx)?;
    Work::of(format, target, parts, &cx)?.traced(parts, &mut Stage::trial(sink))
}

fn maps(paths: &[(String, String)]) -> Vec<Map> {
    paths.iter().map(|(old, new)| Map::new(old, new)).collect()
}

/// Writes a session that was restored.
fn restore(restored: Restored, to: Spec, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<Outcome> {
    let Restored { mut source, edits, findings, header } = restored;
    let mut paths = maps(&header.map_paths);
    paths.extend(cx.options.map_paths.iter().cloned());
    let options = Options { map_paths: paths, ..cx.options.clone() };
    let home = Spec::parse(&header.source).ok();
    let to = match home {
        Some(home) if to.version.is_none() && home.format.name == to.format.name => {
            if home.version().number != to.version().number {
                let version = home.format.at(home.version().number);
                let message = format!("written as {version}, the version of the original session");
                cx.report(Diagnostic::new(Code::OwnVersion, message));
            }
            home
        }
        _ => to,
    };
    let mut refused = None;
    for mut edit in edits {
        let log = Log::default();
        let inner = Cx { options: cx.options, log: &log };
        match patched::edited(&mut source, &mut edit, sink, &inner) {
            Ok(parts) => {
                source.parts = parts;
                cx.log.take_over(log);
                refused = None;
                break;
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    if let Some(error) = refused {
        return Err(rejected_for(error, findings));
    }
    cx.log.take_over(findings);
    let Unpacked { format, version, parts } = &mut source;
    if sink.is_native() && format.files.native.is_none() && copies(format, *version, to) {
        let own = Spec { format, version: format.version(*version) };
        let (options, log) = (header.reading(&options), Log::default());
        let quiet = Cx { options: &options, log: &log };
        let records = patched::placed(own, parts, sink, &quiet)?;
        let found = log.into_findings().diagnostics.into_iter();
        found.filter(|it| it.code == Code::OtherOutput).for_each(|it| cx.report(it));
        return Ok(Outcome { changed: true, records, ..Outcome::default() });
    }
    let copied = copies(format, *version, to) && !shares(format, parts);
    // Defects of a source that is copied were reported when it was converted.
    let (folder, id) = (options.folder.clone(), options.id.clone());
    let options = Options { force_version: copied, folder, id, ..header.reading(&options) };
    let log = Log::default();
    let log = if copied { &log } else { cx.log };
    plainly(format, *version, to, parts, sink, &Cx { options: &options, log })
}

/// Converts a session as it is in its files.
fn plainly(
    from: &'static Format,
    version: u32,
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let named = to.format.files.native.filter(|_| sink.is_native());
    written((from, version), to, parts, sink, named, cx)
}

/// Writes a session, under the name that its software would give it if the user requests that.
fn written(
    (from, version): (&'static Format, u32),
    requested: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    named: Option<NativeFn>,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let same = from.name == requested.format.name;
    let source = if same { Some(from.at(version)) } else { source(from, version, parts, cx)? };
    let to = as_it_came(requested, source.as_deref());
    let done = written_as((from, version), (to, source), parts, sink, named, cx)?;
    let left = requested.version.is_none();
    Ok(Outcome { to: left.then(|| to.version().number), ..done })
}

fn written_as(
    (from, version): (&'static Format, u32),
    (to, source): (Spec, Option<String>),
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    named: Option<NativeFn>,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let same = from.name == to.format.name;
    let target = to.version().number;
    let options = cx.options;
    let moves = !options.map_paths.is_empty()
        || options.plain
        || options.redact.is_some()
        || options.cuts.is_some();
    if same && from.plane.is_some() && version <= target && !moves {
        let input = parts.main()?;
        let target = Target::Version(target);
        if !sink.is_native() {
            let done = migrate::run_to(from, input, sink.create_for_any("")?, target, cx)?;
            return take_along(from, parts, sink, cx).map(|()| done);
        }
        let mut stage = Stage::before(sink);
        let done = migrate::run(from, input, &mut stage.create("")?, target, cx)?;
        take_along(from, parts, &mut stage, cx)?;
        let name = native(to, named, &mut stage, cx)?;
        return stage.finish(name).map(|()| done);
    }
    let is_placed =
        !from.is_only_read(&parts.names()) && (!sink.is_native() || !shares(from, parts));
    if same && version == target && is_placed && !moves {
        if !sink.is_native() {
            let done = copy(from, version, parts, sink, cx)?;
            return take_along(from, parts, sink, cx).map(|()| done);
        }
        let mut stage = Stage::before(sink);
        let done = copy(from, version, parts, &mut stage, cx)?;
        take_along(from, parts, &mut stage, cx)?;
        let name = native(to, named, &mut stage, cx)?;
        return stage.finish(name).map(|()| done);
    }
    let home = source.as_deref() == Some(&to.format.at(target));
    let header = header(source.as_deref(), (from, version), to, sink, cx);
    let formats = (Spec { format: from, version: from.version(version) }, to);
    let records = match () {
        // Sessions that are named by their software go to their places one after the other, at the
        // end.
        () if cx.options.compare || sink.is_native() => {
            ways::staged(formats, named, parts, sink, header, cx)?
        }
        () if home => Work::of(from, to, parts, cx)?.write_in_source_format(parts, sink)?,
        () => ways::write(formats, parts, sink, header, cx)?,
    };
    if same && version == target {
        take_along(from, parts, sink, cx)?;
    }
    report_losses(to, cx);
    Ok(Outcome { from: version, changed: true, records, ..Outcome::default() })
}

/// Writes a damaged session from the beginning if it lost records that the origin beside it still
/// has; returns whether it did. Other defects of the session are left to repair.
///
/// # Errors
/// If reading or writing fails.
pub fn bring_back(
    from: &'static Format,
    version: u32,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<bool> {
    let (mut whole, target) = match origin::unlost(from, parts, sink, again, cx)? {
        Some(Unlost::Records(whole, target)) => (whole, target),
        Some(Unlost::Written(mut written)) => {
            let names = written.names();
            parts::copy(&mut written, sink, &names)?;
            return Ok(true);
        }
        None => return Ok(false),
    };
    let log = Log::default();
    let options = Options { origin: false, ..cx.options.clone() };
    let quiet = Cx { options: &options, log: &log };
    match target {
        Some(to) => drop(plainly(&canonical::FORMAT, 1, to, &mut whole, sink, &quiet)?),
        None => {
            let own = Spec { format: from, version: from.version(version) };
            patched::healed(own, parts, &mut whole, sink, &quiet)?;
        }
    }
    Ok(true)
}

/// Copies the origin of a session that keeps its format.
///
/// # Errors
/// If it cannot be read or written.
pub fn take_along(
    format: &Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<()> {
    if !cx.options.origin || sink.is_in_place() {
        return Ok(());
    }
    let names = parts.names();
    let main = format.main_of(&names).to_owned();
    origin::copy(parts, sink, &main)
}

/// Returns the header of the origin of a session that goes to another format; `None` for a session
/// that the target holds completely.
fn header(
    source: Option<&str>,
    (from, version): (&'static Format, u32),
    to: Spec,
    sink: &dyn Sink,
    cx: &Cx<'_>,
) -> Option<Header> {
    let home = source.and_then(|source| Spec::parse(source).ok());
    let is_home = home.is_some_and(|home| {
        home.format.name == to.format.name && home.version().number == to.version().number
    });
    if !cx.options.origin || is_home || is_stream(from) && is_stream(to.format) {
        return None;
    }
    let source = source.unwrap_or(canonical::FORMAT.name).to_owned();
    let target = to.format.at(to.version().number);
    let mut header = Header::new(source, from.at(version), target, Like::of(sink), cx);
    header.latest = cx.options.latest.filter(|_| to.format.agent.expires);
    Some(header)
}

/// Whether other sessions share a part, so that only the records of this session may be copied.
fn shares(format: &Format, parts: &dyn Parts) -> bool {
    parts.names().iter().any(|name| format.is_shared(name))
}

/// Returns the first source format of a session, as its first session record names it.
fn source(
    from: &'static Format,
    version: u32,
    parts: &mut dyn Parts,
    cx: &Cx<'_>,
) -> Result<Option<String>> {
    if !is_stream(from) {
        return Ok(Some(from.at(version)));
    }
    parts.keep()?;
    let log = Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    // Defects of the session are reported when it is read for conversion.
    let records = from.records(parts, &quiet)?.map_while(Result::ok);
    let session = records.map(|record| record.value).find(|record| record.kind == Kind::Session);
    Ok(session.and_then(|session| session.node.text(Field::Source)))
}

/// Returns the target with the version from which a session came, if no version is given, the
/// format keeps the version of a session, and the session goes back to its format.
fn as_it_came(to: Spec, source: Option<&str>) -> Spec {
    if to.version.is_some() || to.format.usual.is_none() {
        return to;
    }
    let source = source.and_then(|source| Spec::parse(source).ok());
    let same = source.filter(|source| source.format.name == to.format.name);
    Spec { version: same.and_then(|source| source.version), ..to }
}

/// Returns the records of a session, with the paths that the user wants.
fn moved<'a>(reader: Reader<'a>, native: Option<Native>, cx: &'a Cx<'a>) -> Reader<'a> {
    let maps = cx.options.map_paths.as_slice();
    if maps.is_empty() {
        return reader;
    }
    // A stream may come from any format.
    let names = FORMATS.iter().flat_map(|format| format.files.folders).copied();
    let moves = relocate::Moves { maps, names: names.collect(), native };
    Box::new(reader.map(move |mut item| {
        item.iter_mut().for_each(|located| moves.record(&mut located.value));
        item
    }))
}

/// Reports the data for which `to` had no place, once for each kind of field.
pub fn report_losses(to: Spec, cx: &Cx<'_>) {
    let target = to.format.at(to.version().number);
    for (path, count) in cx.log.dropped() {
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let message = format!("{target} cannot hold {path}{times}");
        cx.report(Diagnostic::new(Code::Dropped, message));
    }
    let kinds = cx.log.not_held();
    if !kinds.is_empty() {
        let all: u64 = kinds.iter().map(|(_, count)| count).sum();
        let kinds: Vec<_> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let message = format!("{target} shows {} as text or not at all", plural(all, "block"));
        cx.report(Diagnostic::new(Code::NotShown, format!("{message}: {}", kinds.join(", "))));
    }
}
