//! Conversion: between formats as records, within one format as bytes where that is possible.

mod again;
mod branch;
mod copy;
mod forks;
mod home;
mod native;
mod proof;
mod relocate;
mod work;

use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Cx, Format, NativeFn, Options, Parts, Reader, Sink, Target};
use crate::formats::{FORMATS, Spec, canonical, records};
use crate::migrate::{self, Outcome};
use crate::record::{Field, Kind};
use crate::residue::{Stage, merge, strip};
use copy::copy;
use native::{Native, native};
use work::Work;

/// Converts one session. `version` is the version that the input is of.
///
/// Within one format, towards the same or a newer version, this is a copy or a migration, which
/// leaves the bytes alone that need not change. Everything else goes through the records. What the
/// target cannot hold is counted in the log, and said once for each kind of field. A linear target
/// gets the branch that the session stands on; one of another format gets what the source's own
/// software would send to a model, such as summaries in place of what they sum up.
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
    if copies(from, version, to) {
        let stripped = if cx.options.residue { None } else { strip(from, parts, sink, cx)? };
        return match stripped {
            Some(mut own) => {
                let done = plainly(&canonical::FORMAT, 1, to, &mut own, sink, cx)?;
                Ok(Outcome { from: version, ..done })
            }
            None => plainly(from, version, to, parts, sink, cx),
        };
    }
    let Some(mut merged) = merge(from, parts, sink, cx)? else {
        let home = source(from, version, parts, cx)?.filter(|_| is_stream(from));
        return match home.and_then(|home| Spec::parse(&home).ok()) {
            // A line of a tree is one record, so that nothing else could say what that said.
            Some(home) if home.format.name == to.format.name && !to.version().tree => {
                let to = Spec { version: to.version.or(home.version), ..to };
                home::stream(version, to, parts, sink, cx)
            }
            _ => {
                let options = Options { complete: is_stream(from), ..cx.options.clone() };
                plainly(from, version, to, parts, sink, &Cx { options: &options, log: cx.log })
            }
        };
    };
    let home = source(&canonical::FORMAT, 1, &mut merged.parts, cx)?;
    let home = home.and_then(|home| Spec::parse(&home).ok());
    let done = match home {
        Some(home) if merged.changed || home.format.name == to.format.name => {
            home::edited(home, to, merged, sink, cx)?
        }
        _ => {
            cx.log.take_over(merged.said);
            plainly(&canonical::FORMAT, 1, to, &mut merged.parts, sink, cx)?
        }
    };
    // Without what it carries a file is another one, whatever it is written as.
    Ok(Outcome { from: version, changed: true, ..done })
}

fn is_stream(format: &Format) -> bool {
    format.name == canonical::FORMAT.name
}

/// Whether the target is what the source is, so that residue stays where it is, or is just left out.
/// Without a version the newest is meant, unless the format keeps that which a session has.
fn copies(from: &Format, version: u32, to: Spec) -> bool {
    let kept = to.version.is_none() && to.format.usual.is_some();
    from.name == to.format.name && (kept || to.version().number == version)
}

/// The same for a session without residue.
fn plainly(
    from: &'static Format,
    version: u32,
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let named = to.format.native.filter(|_| sink.is_native());
    written((from, version), to, parts, sink, named, cx)
}

/// Writes a session, under the name that its software would give it if that is asked for.
fn written(
    (from, version): (&'static Format, u32),
    asked: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    named: Option<NativeFn>,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let same = from.name == asked.format.name;
    let source = if same { Some(from.at(version)) } else { source(from, version, parts, cx)? };
    let to = as_it_came(asked, source.as_deref());
    let done = written_as((from, version), (to, source), parts, sink, named, cx)?;
    let left = asked.version.is_none();
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
    let moves = !cx.options.map_paths.is_empty();
    if same && from.plane.is_some() && version <= target && !moves {
        let input = parts.main()?;
        let target = Target::Version(target);
        if !sink.is_native() {
            return migrate::run_to(from, input, sink.create_for_any("")?, target, cx);
        }
        let mut stage = Stage::before(sink);
        let done = migrate::run(from, input, &mut stage.create("")?, target, cx)?;
        let name = native(to, named, &mut stage, cx)?;
        return stage.finish(None, name).map(|()| done);
    }
    if same && version == target && !shares(from, parts) && !moves {
        if !sink.is_native() {
            return copy(from, version, parts, sink, cx);
        }
        let mut stage = Stage::before(sink);
        let done = copy(from, version, parts, &mut stage, cx)?;
        let name = native(to, named, &mut stage, cx)?;
        return stage.finish(None, name).map(|()| done);
    }
    let carrier = to.format.carrier.filter(|_| cx.options.residue);
    let home = source.as_deref() == Some(&to.format.at(target));
    let mut work = Work::of(from, to, parts, cx)?;
    let records = match (carrier, named) {
        // Sessions that its software names take their places one after the other, at the end.
        _ if cx.options.compare || sink.is_native() => work.staged(carrier, named, parts, sink)?,
        (None, None) => work.records(parts, sink)?,
        (Some(carrier), _) if home => work.home(carrier, named, parts, sink)?,
        _ => work.staged(carrier, named, parts, sink)?,
    };
    say_losses(to, cx);
    Ok(Outcome { from: version, changed: true, records, ..Outcome::default() })
}

/// Whether a part is one that other sessions share, so that only what is of this one may go on.
fn shares(format: &Format, parts: &dyn Parts) -> bool {
    parts.names().iter().any(|name| is_shared(format, name))
}

/// Whether sessions share the part of this name.
fn is_shared(format: &Format, name: &str) -> bool {
    let member = format.member.and_then(|member| member(name, &mut Vec::new));
    member.is_some_and(|member| member.session.is_none())
}

/// What a session was read from at first, as its first session record says.
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
    // What is wrong with it is said when it is read for good.
    let records = (from.read)(parts, &quiet)?.map_while(Result::ok);
    let session = records.map(|record| record.value).find(|record| record.kind == Kind::Session);
    Ok(session.and_then(|session| session.node.text(Field::Source)))
}

/// The version that a session came from, where its format keeps that if none is asked for.
fn as_it_came(to: Spec, source: Option<&str>) -> Spec {
    if to.version.is_some() || to.format.usual.is_none() {
        return to;
    }
    let source = source.and_then(|source| Spec::parse(source).ok());
    let same = source.filter(|source| source.format.name == to.format.name);
    Spec { version: same.and_then(|source| source.version), ..to }
}

/// The records of a session, with the paths that a person wants.
fn read<'a>(
    from: &Format,
    parts: &'a mut dyn Parts,
    native: Option<Native>,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    let reader = records(from, parts, cx)?;
    let maps = cx.options.map_paths.as_slice();
    if maps.is_empty() {
        return Ok(reader);
    }
    // A stream may be of any of them.
    let names = FORMATS.iter().flat_map(|format| format.folders).copied();
    let moves = relocate::Moves { maps, names: names.collect(), native };
    Ok(Box::new(reader.map(move |mut item| {
        item.iter_mut().for_each(|located| moves.record(&mut located.value));
        item
    })))
}

/// Says what `to` had no place for, once for each kind of field.
pub fn say_losses(to: Spec, cx: &Cx<'_>) {
    let target = to.format.at(to.version().number);
    for (path, count) in cx.log.dropped() {
        let message = format!("{target} cannot hold {path} ({count} times)");
        cx.report(Diagnostic::new(Code::Dropped, message));
    }
}
