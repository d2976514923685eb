//! Conversion: between formats as records, within one format as bytes where that is possible.

mod branch;
mod relocate;

use crate::diagnostic::{Code, Diagnostic, Fate, Log};
use crate::error::{Error, Result};
use crate::format::{Carrier, Cx, Format, Named, NativeFn, Parts, Reader, Sink, Target};
use crate::formats::{Spec, canonical};
use crate::migrate::{self, Outcome};
use crate::position::Located;
use crate::record::{Field, Kind, Node, Record, Value, block};
use crate::residue::{Stage, Trace, merge, note};
use branch::Branch;
use std::io::{self, Write};

/// Converts one session. `version` is the version that the input is of.
///
/// Within one format, towards the same or a newer version, this is a copy or a migration, which
/// leaves the bytes alone that need not change. Everything else goes through the records. What the
/// target cannot hold is counted in the log, and said once for each kind of field. A linear target
/// gets the branch that the session stands on; one of another format gets what the source's own
/// software would send to a model, such as summaries in place of what they sum up.
///
/// # Errors
/// If the input is damaged beyond what the options allow, or reading or writing fails.
pub fn run(
    from: &'static Format,
    version: u32,
    to: Spec,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    let merged = if copies(from, version, to) { None } else { merge(from, parts, sink, cx)? };
    let Some(mut merged) = merged else {
        return plainly(from, version, to, parts, sink, cx);
    };
    let done = plainly(&canonical::FORMAT, 1, to, &mut merged.parts, sink, cx)?;
    Ok(Outcome { from: version, ..done })
}

/// Whether the target is what the source is, so that residue stays where it is.
fn copies(from: &Format, version: u32, to: Spec) -> bool {
    from.name == to.format.name && to.version.is_none_or(|asked| asked.number == version)
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
    let to = as_it_came(from, version, to, parts, cx)?;
    let target = to.version().number;
    let moves = !cx.options.map_paths.is_empty();
    if from.name == to.format.name && from.plane.is_some() && version <= target && !moves {
        let input = parts.main()?;
        let mut output = sink.create("")?;
        return migrate::run(from, input, &mut output, Target::Version(target), cx);
    }
    if from.name == to.format.name && version == target && !shares(from, parts) && !moves {
        return copy(from, version, parts, sink, cx);
    }
    let branch = if to.version().tree { None } else { Branch::of(from, to, parts, cx)? };
    let carrier = to.format.carrier.filter(|_| cx.options.residue);
    let trace = carrier.map(|_| Trace::default());
    let mut work = Work { from, to, branch, trace, source: None, cx };
    let named = to.format.native.filter(|_| sink.is_native());
    let records = match (carrier, named) {
        (None, None) => work.records(parts, sink)?,
        _ => work.staged(carrier, named, parts, sink)?,
    };
    say_losses(to, cx);
    Ok(Outcome { from: version, changed: true, records, ..Outcome::default() })
}

/// Whether a part is one that other sessions share, so that only what is of this one may go on.
fn shares(format: &Format, parts: &dyn Parts) -> bool {
    let Some(member) = format.member else { return false };
    let shared = |name: &String| member(name, &mut Vec::new).is_some_and(|m| m.session.is_none());
    parts.names().iter().any(shared)
}

/// The version that a session came from, where its format keeps that if none is asked for.
fn as_it_came(
    from: &'static Format,
    version: u32,
    to: Spec,
    parts: &mut dyn Parts,
    cx: &Cx<'_>,
) -> Result<Spec> {
    if to.version.is_some() || to.format.usual.is_none() {
        return Ok(to);
    }
    let mut came = (from.name == to.format.name).then_some(version);
    if came.is_none() {
        parts.keep()?;
        let log = Log::default();
        let quiet = Cx { options: cx.options, log: &log };
        // What is wrong with it is said when it is read for good.
        let first = (from.read)(parts, &quiet)?.next().and_then(Result::ok);
        let source = first.and_then(|first| first.value.node.text(Field::Source));
        let source = source.and_then(|source| Spec::parse(&source).ok());
        let same = source.filter(|source| source.format.name == to.format.name);
        came = same.and_then(|source| source.version).map(|version| version.number);
    }
    Ok(Spec { version: came.and_then(|came| to.format.version(came)), ..to })
}

/// Copies a session of whatever parts, once all of it was read without an error.
fn copy(
    format: &Format,
    version: u32,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Outcome> {
    parts.keep()?;
    let mut done = Outcome { from: version, ..Outcome::default() };
    for item in (format.read)(parts, cx)? {
        item?;
        done.records += 1;
    }
    for name in parts.names() {
        let mut from = parts.open(&name)?;
        let mut to = sink.create(&name)?;
        let copied = io::copy(&mut from, &mut to).and_then(|bytes| to.flush().map(|()| bytes));
        done.bytes_in += copied.map_err(|error| Error::io("cannot copy", error))?;
    }
    done.bytes_out = done.bytes_in;
    Ok(done)
}

/// The records of a session, with the paths that a person wants.
fn read<'a>(from: &Format, parts: &'a mut dyn Parts, cx: &'a Cx<'a>) -> Result<Reader<'a>> {
    let reader = (from.read)(parts, cx)?;
    let maps = cx.options.map_paths.as_slice();
    if maps.is_empty() {
        return Ok(reader);
    }
    Ok(Box::new(reader.map(move |mut item| {
        item.iter_mut().for_each(|located| relocate::record(&mut located.value, maps));
        item
    })))
}

/// The way of one session through its records.
struct Work<'a> {
    from: &'static Format,
    to: Spec,
    branch: Option<Branch>,
    /// What the writer was given, where that will be asked.
    trace: Option<Trace>,
    /// What the session was read from at first.
    source: Option<String>,
    cx: &'a Cx<'a>,
}

impl Work<'_> {
    /// Writes the records.
    fn records(&mut self, parts: &mut dyn Parts, sink: &mut dyn Sink) -> Result<u64> {
        let (to, cx) = (self.to, self.cx);
        let mut writer = (to.format.write)(sink, to.version(), cx)?;
        let mut count = 0;
        for item in read(self.from, parts, cx)? {
            let mut located = item?;
            let number = count as u32;
            count += 1;
            let began = located.value.kind == Kind::Session;
            if began {
                self.session(&mut located.value);
            }
            let trace = &mut self.trace;
            let mut pass = |number, record: &Located<Record>| {
                trace.iter_mut().for_each(|trace| trace.passed(number, &record.value));
                writer.record(record)
            };
            let Some(branch) = &mut self.branch else {
                pass(number, &located)?;
                continue;
            };
            if !located.value.is_node() {
                pass(number, &located)?;
                let (number, before) = if began { branch.before() } else { (0, Vec::new()) };
                before.iter().try_for_each(|said| pass(number, said))?;
            } else if let Some(node) = branch.pass(located, cx.log) {
                pass(number, &node)?;
            }
        }
        writer.finish()?;
        Ok(count)
    }

    /// Notes what the session comes from. How its file was spelled means nothing in another format.
    fn session(&mut self, record: &mut Record) {
        if self.source.is_none() {
            self.source = record.node.text(Field::Source);
            // Mostly nothing is left out on the way to the file that it came from.
            if self.comes_home() {
                self.trace = None;
            }
        }
        let name = self.source.as_deref().unwrap_or_default().split('@').next();
        let held = [self.to.format.name, canonical::FORMAT.name];
        if !held.contains(&name.unwrap_or_default())
            && self.to.format.name != canonical::FORMAT.name
            && let Some(Value::Node(file)) = record.node.take(Field::File)
        {
            let lost = |field: Field| format!("session.file.{}", field.name());
            file.fields().for_each(|field| self.cx.log.count(Fate::Dropped, &lost(field)));
        }
    }

    /// Writes the records to a stage, and puts into the output what it does not tell of them.
    fn staged(
        &mut self,
        carrier: Option<&'static Carrier>,
        named: Option<NativeFn>,
        parts: &mut dyn Parts,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        parts.keep()?;
        let mut stage = Stage::before(sink);
        let count = self.records(parts, &mut stage)?;
        let log = Log::default();
        let quiet = Cx { options: self.cx.options, log: &log };
        let path = named.map(|named| self.path(named, &stage, &quiet)).transpose()?;
        let native = path.map(|path| (path, self.to.format.extensions[0]));
        let noted = match carrier.filter(|_| !self.is_whole()) {
            Some(carrier) if stage.carries(carrier)? => {
                let trace = match self.trace.take() {
                    Some(trace) => trace,
                    None => self.traced(parts, &mut stage)?,
                };
                let source = read(self.from, parts, &quiet)?;
                let from = (self.source.as_deref(), self.cx.log.dropped().is_empty());
                let to = (self.to, carrier);
                note(source, from, &trace, to, &mut stage, &quiet)?
                    .map(|(count, chunks)| (carrier, count, chunks))
            }
            _ => return stage.finish(None, native).map(|()| count),
        };
        stage.finish(noted, native)?;
        self.cx.log.carried();
        Ok(count)
    }

    /// What the writer was given, found by writing once more to nowhere.
    fn traced(&self, parts: &mut dyn Parts, stage: &mut Stage<'_>) -> Result<Trace> {
        let log = Log::default();
        let cx = Cx { options: self.cx.options, log: &log };
        let Work { from, to, .. } = *self;
        let branch = if to.version().tree { None } else { Branch::of(from, to, parts, &cx)? };
        let (trace, source) = (Some(Trace::default()), self.source.clone());
        let mut work = Work { from, to, branch, trace, source, cx: &cx };
        work.records(parts, &mut Stage::before(stage))?;
        Ok(work.trace.unwrap_or_default())
    }

    /// Whether the target is a file of the source's own version, and nothing was left out.
    fn is_whole(&self) -> bool {
        self.comes_home() && self.cx.log.dropped().is_empty()
    }

    /// Whether the target is a file of the source's own version.
    fn comes_home(&self) -> bool {
        let target = self.to.format.at(self.to.version().number);
        self.source.as_deref() == Some(&target)
    }

    /// Where the target's software would keep the session.
    fn path(&self, named: NativeFn, stage: &Stage<'_>, quiet: &Cx<'_>) -> Result<String> {
        let (mut session, mut asked) = (Node::default(), None);
        for item in (self.to.format.read)(&mut stage.parts(), quiet)? {
            let node = item?.value.node;
            if session.is_empty() {
                session = node;
            } else if node.is(Field::Role, "user") {
                let texts = node.nodes(Field::Content).and_then(block::all_text);
                asked = node.text(Field::Content).or_else(|| texts?.text());
                break;
            }
        }
        let stem = stage.stem().unwrap_or_default();
        let version = self.to.version().number;
        Ok(named(&Named { session: &session, asked: asked.as_deref(), stem: &stem, version }))
    }
}

/// Says what `to` had no place for, once for each kind of field.
pub fn say_losses(to: Spec, cx: &Cx<'_>) {
    let target = to.format.at(to.version().number);
    for (path, count) in cx.log.dropped() {
        let message = format!("{target} cannot hold {path} ({count} times)");
        cx.report(Diagnostic::new(Code::Dropped, message));
    }
}
