//! A file that carries residue as the session that it was made of.

use super::align::are_shown_alike;
use super::anew::Anew;
use super::back::{Back, Done};
use super::condensed;
use super::differing::differing;
use super::fates::{Name, aligned, match_turns, names, renumbered, turns};
use super::instead;
use super::kin::Kin;
use super::left;
use super::pack::{Chunks, Items, refused, refused_for};
use super::shelf::Shelf;
use super::stage::Staged;
use super::unsaved;
use crate::context;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Error, Result};
use crate::format::{Carrier, Cx, Format, MARK, Options, Parts, Sink, Spool, Took};
use crate::formats::{Spec, canonical};
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Record};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};

/// What a file says with its residue, as a canonical stream.
pub struct Merged {
    /// The stream.
    pub parts: Staged,
    /// The file as it shows itself, without what it carries.
    pub shown: Staged,
    /// Whether it says anything that its source did not say.
    pub changed: bool,
    /// What there is to say of that, if it is used.
    pub said: Log,
}

/// Reads a session with the residue that it carries; `None` if it carries none.
///
/// # Errors
/// If it cannot be read, or there is no room.
pub fn merge(
    from: &'static Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Merged>> {
    let Some((mut now, chunks)) = taken(from, parts, sink, &cx.options.unspelled(), cx)? else {
        return tell_lacking(from, parts, cx).map(|()| None);
    };
    // What is said of residue that is refused would bury that it is.
    let said = Log::default();
    let inner = Cx { options: cx.options, log: &said };
    let told = match chunks {
        Some(chunks) if !cx.options.ignore_residue => told(&mut now, chunks, sink, &inner),
        _ => Ok(None),
    };
    match told {
        Ok(Some(merged)) => return Ok(Some(Merged { said, ..merged })),
        Err(error) if error.code() == Code::ResidueRefused => cx.report(refused_for(error, said)),
        Err(error) => return Err(error),
        Ok(None) => {}
    }
    let (parts, shown) = (now.shelf.parts()?, now.shelf.parts()?);
    Ok(Some(Merged { parts, shown, changed: true, said: Log::default() }))
}

/// Takes a file for another one with residue that was edited since; `None` if that carries none. Both
/// are of one format.
///
/// # Errors
/// If either cannot be read, or what the one carries does not fit the other.
pub fn between(
    format: &'static Format,
    was: &mut dyn Parts,
    is: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Merged>> {
    let Some(carrier) = format.carrier else { return Ok(None) };
    let (log, said) = (Log::default(), Log::default());
    let (options, inner) = (cx.options.unspelled(), Cx { options: cx.options, log: &said });
    let quiet = Cx { options: &options, log: &log };
    let carried = now(format, carrier, was, sink, &quiet)?.and_then(|(_, chunks)| chunks);
    let Some(chunks) = carried else { return Ok(None) };
    let mut own = shelved(format, carrier, is, sink, &quiet)?.now;
    own.places.clear();
    let merged = told(&mut own, chunks, sink, &inner)?;
    Ok(merged.map(|merged| Merged { said, ..merged }))
}

/// Reads a session without the residue that it carries, as it is spelled; `None` if it carries none.
///
/// # Errors
/// If it cannot be read, or there is no room.
pub fn strip(
    from: &'static Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<Staged>> {
    let Some((mut now, chunks)) = taken(from, parts, sink, cx.options, cx)? else {
        return Ok(None);
    };
    if chunks.is_some() {
        let message = "residue left out, as `--no-residue` asks; what is written holds none of it";
        cx.report(Diagnostic::new(Code::ResidueGone, message));
    }
    now.shelf.parts().map(Some)
}

/// Reads a file and takes from it what it carries, if it is marked as one that does.
fn taken(
    from: &'static Format,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    options: &Options,
    cx: &Cx<'_>,
) -> Result<Option<(Now, Option<Chunks>)>> {
    let Some(carrier) = from.carrier else { return Ok(None) };
    if !is_marked(parts)? {
        return Ok(None);
    }
    let log = Log::default();
    let taken = now(from, carrier, parts, sink, &Cx { options, log: &log })?;
    // Only now is it known that the session is not read again.
    if taken.is_some() {
        log.into_findings().diagnostics.into_iter().for_each(|found| cx.report(found));
    }
    Ok(taken)
}

/// Says so if a session was written with a part that carried, which is not there any more.
fn tell_lacking(from: &Format, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<()> {
    let lacks = from.carrier.and_then(|carrier| carrier.lacks);
    let Some(lacks) = lacks.filter(|_| !cx.options.ignore_residue) else { return Ok(()) };
    let (options, log) = (cx.options.unspelled(), Log::default());
    if lacks(parts, &Cx { options: &options, log: &log })? {
        let message = "the session was converted, and the files that were written with this one, \
                       which carry its residue, are not read with it";
        cx.report(Diagnostic::new(Code::ResidueGone, message));
    }
    Ok(())
}

/// Whether a part holds what every file has that carries residue.
fn is_marked(parts: &mut dyn Parts) -> Result<bool> {
    parts.keep()?;
    for name in parts.names() {
        let mut part = parts.open(&name)?;
        let mut buffer = vec![0; 256 << 10];
        let mut kept = 0;
        loop {
            let read = part.read(buffer.get_mut(kept..).unwrap_or_default());
            let read = read.map_err(|error| Error::io("cannot read", error))?;
            if read == 0 {
                break;
            }
            let end = kept + read;
            let text = buffer.get(..end).unwrap_or_default();
            if memchr::memmem::find(text, MARK).is_some() {
                return Ok(true);
            }
            kept = end.min(MARK.len() - 1);
            buffer.copy_within(end - kept..end, 0);
        }
    }
    Ok(false)
}

/// The records of a file as it is now, without what it carries.
pub struct Now {
    /// The records.
    pub shelf: Shelf,
    /// By what each is known.
    pub names: Vec<Name>,
    /// Where each stands, if anybody can look there.
    pub places: Vec<Position>,
    /// Messages in place of which a model is told something else.
    pub instead: BTreeMap<u32, Record>,
    /// Those that say anew what others did, and tell nothing of their own.
    pub again: HashSet<u32>,
    /// Whether a message follows another one than the one before it.
    pub branches: bool,
}

impl Now {
    fn on(shelf: Shelf) -> Self {
        Self {
            shelf,
            names: Vec::new(),
            places: Vec::new(),
            instead: BTreeMap::new(),
            again: HashSet::new(),
            branches: false,
        }
    }

    /// A record as it is told to a model.
    ///
    /// # Errors
    /// If it cannot be read back.
    pub fn record(&mut self, number: u32) -> Result<Record> {
        match self.instead.get(&number) {
            _ if self.again.contains(&number) => Ok(Record::new(Kind::Opaque)),
            Some(record) => Ok(record.clone()),
            None => canonical::record(&self.shelf.line(number)?),
        }
    }
}

/// A file taken apart.
struct Shelved {
    now: Now,
    /// What it carries.
    chunks: Box<dyn Spool>,
    /// Whether that is anything, and whether anything says that there was.
    carries: bool,
    marked: bool,
}

fn shelved(
    from: &'static Format,
    carrier: &Carrier,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Shelved> {
    let mut now = Now::on(Shelf::new(sink.spool()?));
    let mut chunks = sink.spool()?;
    let (mut carries, mut marked, mut last) = (false, false, None);
    for item in (from.read)(parts, cx)? {
        let mut located = item?;
        let took: Took = (carrier.take)(&mut located.value);
        for chunk in &took.chunks {
            let chunk = chunk.text().unwrap_or_default();
            let written = chunks.write_all(format!("{}\n", chunk.trim()).as_bytes());
            written.map_err(|error| Error::io("cannot write a temporary file", error))?;
        }
        carries |= !took.chunks.is_empty();
        marked |= took.marked;
        if !took.whole {
            // With what was taken from it a record is spelled otherwise.
            if !cx.options.spelling || took.marked || !took.chunks.is_empty() {
                located.value.node.take(Field::Raw);
            }
            if located.value.is_node() && !located.value.is_aside() {
                let node = &located.value.node;
                let parent = node.json(Field::Parent).filter(|parent| !parent.is_null());
                now.branches |= parent != last.as_ref();
                last = node.json(Field::Id).cloned();
            }
            now.names.push(Name::of(&located.value, from.links()));
            now.places.push(located.at);
            now.shelf.add(&located.value)?;
        }
    }
    Ok(Shelved { now, chunks, carries, marked })
}

/// Reads a file and takes from it what it carries; `None` if that is nothing.
fn now(
    from: &'static Format,
    carrier: &Carrier,
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Option<(Now, Option<Chunks>)>> {
    let Shelved { now, chunks, carries, marked } = shelved(from, carrier, parts, sink, cx)?;
    // What was cut off was not dropped.
    let cut = [Code::YamlCutShort, Code::CutShort].map(|code| cx.log.count_of(code)) != [0, 0];
    if marked && !carries && !cut {
        let message =
            "the file was converted, and whoever wrote it again dropped all of its residue";
        cx.report(Diagnostic::new(Code::ResidueGone, message));
    }
    if !carries && !marked {
        return Ok(None);
    }
    let chunks = carries.then(|| Chunks::over(chunks)).transpose()?;
    Ok(Some((now, chunks)))
}

/// Merges a file with its residue.
fn told(now: &mut Now, chunks: Chunks, sink: &mut dyn Sink, cx: &Cx<'_>) -> Result<Option<Merged>> {
    let mut items = Items::of(chunks);
    let names = names(&mut items)?;
    let mut items = items.rewind()?;
    let home = home(&mut items)?;
    let anew = Anew::of(&names, now, home)?;
    renumbered(&names, now)?;
    let (mut fates, mut added) = aligned(&names, &now.names);
    anew.leave_out(now, (&mut fates, &mut added), cx);
    let mut items = items.rewind()?;
    let turns = turns(&mut items)?;
    match_turns(&turns, now, (&mut fates, &mut added))?;
    let unsaved = unsaved::taken(now, &mut added, home, cx)?;
    let kin = Kin::of(now, &added)?;
    let branches = kin.abroad.is_some_and(|abroad| abroad.version().tree);
    let linear = home.is_some_and(|home| !home.version().tree);
    let forks = !branches && left::forks(now, &added)?;
    if forks || (kin.tree || kin.stands()) && linear {
        left::behind(now, (&mut fates, &mut added), branches, cx)?;
    }
    instead::said(now, (&mut fates, &mut added), home, cx)?;
    let mut summed = condensed::said(now, (&mut fates, &mut added), kin.abroad, home)?;
    summed.said.extend(unsaved);
    let mut items = items.rewind()?;
    let mut back = Back::new(now, kin, (fates, added), summed, Shelf::new(sink.spool()?), cx);
    while let Some(item) = items.next()? {
        back.look(&item)?;
    }
    let mut items = items.rewind()?;
    while let Some(item) = items.next()? {
        back.item(&item)?;
    }
    let Done { mut shelf, changed, summed } = back.finish()?;
    let merged = shelf.parts()?;
    let mut shown = match summed.said.is_empty() {
        true => now.shelf.parts()?,
        false => replaced(&mut now.shelf, Shelf::new(sink.spool()?), &|number, _| {
            summed.said.get(&number).cloned()
        })?,
    };
    let mut says = match summed.is_told() {
        false => shelf.parts()?,
        true => {
            replaced(&mut shelf, Shelf::new(sink.spool()?), &|_, record| summed.passed(record))?
        }
    };
    let stream = &canonical::FORMAT;
    if !is_heard((stream, &mut says), (stream, &mut shown), cx)? {
        let why = "with it the session says something else than what the file shows";
        let differs = differing((stream, &mut says), (stream, &mut shown), cx);
        return Err(refused(&differs.map_or(why.to_owned(), |it| format!("{why}: {it}"))));
    }
    let shown = now.shelf.parts()?;
    Ok(Some(Merged { parts: merged, shown, changed, said: Log::default() }))
}

/// What the session comes from; `None` for a stream that no format has a name for, which holds all.
fn home(items: &mut Items) -> Result<Option<Spec>> {
    while let Some(item) = items.next()? {
        let source = item.member("is").and_then(|is| is.member(Field::Source.name()));
        if let Some(source) = source.and_then(|source| source.text()) {
            return Ok(Spec::parse(&source).ok());
        }
    }
    Ok(None)
}

/// Records with others in the place of some.
fn replaced(
    shelf: &mut Shelf,
    mut to: Shelf,
    instead: &dyn Fn(u32, &Record) -> Option<Record>,
) -> Result<Staged> {
    for number in 0..shelf.count() {
        let record = canonical::record(&shelf.line(number)?)?;
        to.add(&instead(number, &record).unwrap_or(record))?;
    }
    to.parts()
}

/// Whether a model would be told the same by what a file becomes with its residue as by the file
/// itself, the system's own words apart.
///
/// A session that stands at an entry without an identifier, or at none, may say nothing by the rules of
/// its source; what was written of it is what leads to the last entry that has one.
///
/// # Errors
/// If one of them cannot be read any more.
pub fn is_heard(merged: Source<'_>, plain: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    let (log, other) = (Log::default(), Log::default());
    let quiet = Cx { options: cx.options, log: &log };
    let other = Cx { options: cx.options, log: &other };
    let Ok(shows) = context::sent(plain.0, plain.1, &other, &quiet) else { return Ok(false) };
    let mut shows = shows.filter(is_told).peekable();
    let (format, merged) = merged;
    {
        let Ok(says) = context::sent(format, merged, &other, &quiet) else { return Ok(false) };
        let mut says = says.filter(is_told).peekable();
        if says.peek().is_some() || shows.peek().is_none() {
            return Ok(are_same(says, shows));
        }
    }
    let says = context::sent_to_last_named(format, merged, &other, &quiet);
    Ok(says.is_ok_and(|says| are_same(says.filter(is_told), shows)))
}

/// Whether a model would be told the same by two sessions, the system's own words apart.
///
/// # Errors
/// If one of them cannot be read.
pub fn says_the_same(a: Source<'_>, b: Source<'_>, cx: &Cx<'_>) -> Result<bool> {
    let logs = [Log::default(), Log::default(), Log::default()];
    let [cx_a, cx_b, quiet] = logs.each_ref().map(|log| Cx { options: cx.options, log });
    let a = context::sent(a.0, a.1, &cx_a, &quiet)?.filter(is_told);
    let b = context::sent(b.0, b.1, &cx_b, &quiet)?.filter(is_told);
    Ok(are_same(a, b))
}

/// A session to be read, and its format.
pub type Source<'s> = (&'static Format, &'s mut dyn Parts);

/// Whether a message counts: the system's own words do not.
pub fn is_told(item: &Result<Located<Record>>) -> bool {
    item.as_ref().map_or(true, |located| !located.value.node.is(Field::Role, "system"))
}

fn are_same(
    mut a: impl Iterator<Item = Result<Located<Record>>>,
    mut b: impl Iterator<Item = Result<Located<Record>>>,
) -> bool {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(Ok(a)), Some(Ok(b))) if are_shown_alike(&a.value.node, &b.value.node) => {}
            _ => return false,
        }
    }
}
