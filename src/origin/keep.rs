//! The origin of a session while the session is written: the source's parts, and the digests of the
//! target's.

use super::archive::{Measuring, Writing};
use super::digest::{Digest, Measure};
use super::file::{CHAIN, HEADER, Header, TRAILER, Trailer, size_of, source_of};
use crate::error::{Cannot, Result};
use crate::format::{Change, Cx, Format, Opener, Parts, ReadSeek, Sink, Spool};
use crate::formats::Spec;
use crate::parts::watched::Further;
use crate::stage::{Like, Stage, Staged};
use serde::Serialize;
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// Place of an origin, which is written when the session is.
pub struct Keep {
    pub(super) file: Box<dyn Write>,
    pub(super) header: Header,
    /// The origin that the source has beside it, for a source that is trimmed.
    pub(super) chain: Option<Opener>,
}

/// The source of a session that was written.
pub struct Kept<'a> {
    /// Format of the parts.
    pub format: &'static Format,
    /// The parts that were read.
    pub parts: &'a mut dyn Parts,
    /// Files that were opened from them.
    pub further: Vec<Further>,
}

impl Keep {
    /// Begins an origin; `None` where the sink has no place for one.
    pub fn begin(sink: &mut dyn Sink, header: Header) -> Result<Option<Self>> {
        Ok(sink.origin()?.map(|file| Self { file, header, chain: None }))
    }

    /// Writes the origin of a session whose target's parts `sink` has measured, and places it.
    pub fn finish(
        self,
        source: Kept<'_>,
        target: &Format,
        sink: &mut Measured<'_>,
        cx: &Cx<'_>,
    ) -> Result<()> {
        let written = std::mem::take(&mut sink.written);
        let (names, measures): (Vec<_>, Vec<_>) = written.parts.into_iter().unzip();
        let made = Made {
            parts: measures.iter().map(|part| part.borrow().digest()).collect(),
            shares: written.shares,
        };
        let source = Some(self.write(source, made, sink.sink, cx)?);
        let same = move |other: &mut dyn ReadSeek| source_of(other) == source;
        sink.sink.place_origin(target.main_of(&names), Rc::new(same))
    }

    /// Writes the origin of a target, and returns the digest of the source. `sink` lends room.
    pub(super) fn write(
        self,
        source: Kept<'_>,
        made: Made,
        sink: &mut dyn Sink,
        cx: &Cx<'_>,
    ) -> Result<Digest> {
        let Self { file, mut header, chain } = self;
        let Kept { format, parts, further } = source;
        parts.keep()?;
        let mut share = share_of((format, &header.read), parts, sink, cx)?;
        header.file_name = parts.file_name();
        header.session = parts.session();
        let mut archive = Writing::new(file, "cannot write the origin")?;
        let own = parts.names().into_iter().filter(|name| !format.is_shared(name));
        let own: Vec<_> = own.map(|name| (name, false)).collect();
        let shared = share.names().into_iter().filter(|name| format.is_shared(name));
        let names: Vec<_> = own.into_iter().chain(shared.map(|name| (name, true))).collect();
        let stem = stem_of(format, header.file_name.as_deref());
        for (name, _) in &names {
            let wanted = match (name.as_str(), &header.file_name) {
                ("", Some(file)) => file.clone(),
                ("", None) => format!("{stem}{}", format.extensions.first().unwrap_or(&"")),
                _ => format!("{stem}{name}"),
            };
            header.parts.push((name.clone(), archive.free_name("source", &wanted)));
        }
        json(&mut archive, HEADER, &header)?;
        if let Some(mut chain) = chain.map(|open| open()).transpose()? {
            let size = size_of(&mut *chain)?;
            archive.member(CHAIN, size, chain)?;
        }
        let mut measure = Measure::default();
        for ((name, is_shared), (_, member)) in names.iter().zip(&header.parts) {
            let parts: &mut dyn Parts = if *is_shared { &mut share } else { parts };
            let size = parts.size(name)?;
            let from = Measuring { from: parts.open(name)?, measure: &mut measure };
            archive.member(member, size, from)?;
        }
        let mut referred = Vec::new();
        for file in further {
            let member = archive.free_name("shared", &label(&file));
            let Some(mut first) = opened(&file, parts)? else { continue };
            let size = io::copy(&mut first, &mut io::sink()).cannot("read")?;
            drop(first);
            let Some(from) = opened(&file, parts)? else { continue };
            archive.member(&member, size, from)?;
            referred.push((file, member));
        }
        let Made { parts, shares } = made;
        let source = measure.digest();
        let trailer = Trailer { source: source.clone(), parts, shares, further: referred };
        json(&mut archive, TRAILER, &trailer)?;
        archive.finish()?;
        Ok(source)
    }
}

/// The target of a session, as it is beside the origin.
pub(super) struct Made {
    /// Digests of the parts.
    pub parts: Vec<Digest>,
    /// Whether the session also has a place in a file that sessions share.
    pub shares: bool,
}

/// Adds a member in JSON.
fn json(archive: &mut Writing, name: &str, value: &impl Serialize) -> Result<()> {
    // Texts and numbers always have a spelling.
    let json = serde_json::to_vec(value).unwrap_or_default();
    archive.member(name, json.len() as u64, json.as_slice())
}

/// Returns the name of a session's files without the ending of its main file.
fn stem_of(format: &Format, file: Option<&str>) -> String {
    let file = file.unwrap_or("session");
    let ending = format.extensions.iter().find_map(|ending| file.strip_suffix(ending));
    ending.filter(|stem| !stem.is_empty()).unwrap_or(file).to_owned()
}

/// Returns what the name of a further file's member is made of.
fn label(file: &Further) -> String {
    match file {
        Further::Followed(name) => name.clone(),
        Further::Found(_, ending) => ending.clone(),
        Further::Index(name) => format!("index of {name}"),
    }
}

/// Opens a further file again.
fn opened(file: &Further, parts: &mut dyn Parts) -> Result<Option<Box<dyn Read>>> {
    match file {
        Further::Followed(name) => parts.follow(name),
        Further::Found(folders, ending) => {
            let folders: Vec<_> = folders.iter().map(String::as_str).collect();
            parts.find(&folders, ending)
        }
        Further::Index(_) => Ok(parts.index()?.map(|(_, index)| index)),
    }
}

/// Returns the parts that sessions share as if they contained only this session; nothing where
/// there are none.
fn share_of(
    (format, version): (&'static Format, &str),
    parts: &mut dyn Parts,
    sink: &mut dyn Sink,
    cx: &Cx<'_>,
) -> Result<Staged> {
    if !parts.names().iter().any(|name| format.is_shared(name)) {
        return Ok(Staged::default());
    }
    let log = crate::diagnostic::Log::default();
    let quiet = Cx { options: cx.options, log: &log };
    let spec = Spec::parse(version).unwrap_or(Spec { format, version: None });
    let mut stage = Stage::trial(sink);
    {
        let mut writer = (format.write)(&mut stage, spec.version(), &quiet)?;
        for item in format.records(parts, &quiet)? {
            writer.record(&item?)?;
        }
        writer.finish()?;
    }
    stage.whole()
}

/// Parts of a session that were written.
#[derive(Default)]
struct Written {
    parts: Vec<(String, Rc<RefCell<Measure>>)>,
    /// Whether anything is written into files that sessions share.
    shares: bool,
    /// Number of parts at the mark.
    mark: usize,
}

/// Sink whose parts are measured as they are written.
pub struct Measured<'s> {
    sink: &'s mut dyn Sink,
    written: Written,
}

impl<'s> Measured<'s> {
    /// Wraps a sink.
    pub fn over(sink: &'s mut dyn Sink) -> Self {
        Self { sink, written: Written::default() }
    }
}

/// Sink for a place like another one, which keeps only the digests of what is written.
pub struct Digesting<'s> {
    sink: &'s mut dyn Sink,
    place: Like,
    parts: Vec<Rc<RefCell<Measure>>>,
}

impl<'s> Digesting<'s> {
    /// Creates a sink for a place like this one; temporary room comes from `sink`.
    pub fn like(sink: &'s mut dyn Sink, place: Like) -> Self {
        Self { sink, place, parts: Vec::new() }
    }

    /// The digests of the parts.
    pub fn digests(&self) -> Vec<Digest> {
        self.parts.iter().map(|part| part.borrow().digest()).collect()
    }
}

impl Sink for Digesting<'_> {
    fn create(&mut self, _: &str) -> Result<Box<dyn Write>> {
        let measure = Rc::<RefCell<Measure>>::default();
        self.parts.push(Rc::clone(&measure));
        Ok(Box::new(Part { inner: Box::new(io::sink()), measure }))
    }

    fn add(&mut self, _: &str, _: &[u8]) -> Result<bool> {
        Ok(true)
    }

    fn change(&mut self, _: &str, _: Box<dyn Change>) -> Result<()> {
        Ok(())
    }

    fn is_native(&self) -> bool {
        self.place.is_native
    }

    fn takes_parts(&self) -> bool {
        self.place.takes_parts
    }

    fn stem(&self) -> Option<String> {
        self.place.stem.clone()
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.sink.spool()
    }
}

/// Part that is measured as it is written.
struct Part {
    inner: Box<dyn Write>,
    measure: Rc<RefCell<Measure>>,
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.measure.borrow_mut().update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Sink for Measured<'_> {
    fn create(&mut self, name: &str) -> Result<Box<dyn Write>> {
        let (inner, measure) = (self.sink.create(name)?, Rc::default());
        self.written.parts.push((name.to_owned(), Rc::clone(&measure)));
        Ok(Box::new(Part { inner, measure }))
    }

    fn add(&mut self, name: &str, contents: &[u8]) -> Result<bool> {
        self.written.shares = true;
        self.sink.add(name, contents)
    }

    fn change(&mut self, name: &str, change: Box<dyn Change>) -> Result<()> {
        self.written.shares = true;
        self.sink.change(name, change)
    }

    fn is_native(&self) -> bool {
        self.sink.is_native()
    }

    fn take(&mut self, nth: &dyn Fn(u64) -> String) -> Result<u64> {
        self.sink.take(nth)
    }

    fn is_in_place(&self) -> bool {
        self.sink.is_in_place()
    }

    fn takes_parts(&self) -> bool {
        self.sink.takes_parts()
    }

    fn stem(&self) -> Option<String> {
        self.sink.stem()
    }

    fn checkpoint(&mut self) -> bool {
        self.written.mark = self.written.parts.len();
        self.sink.checkpoint()
    }

    fn roll_back(&mut self) {
        self.written.parts.truncate(self.written.mark);
        self.sink.roll_back();
    }

    fn can_roll_back(&self) -> bool {
        self.sink.can_roll_back()
    }

    fn spool(&mut self) -> Result<Box<dyn Spool>> {
        self.sink.spool()
    }
}
