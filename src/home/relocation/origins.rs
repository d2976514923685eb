//! Origins of sessions whose project moved: they are written again, with the source and the target
//! as they are then.

use super::text::Paths;
use super::{Edited, Found, main_of, redo};
use crate::batch::Opened;
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::format::{Cx, Options, Parts};
use crate::formats::Spec;
use crate::home::converting::{named, opened, spool};
use crate::origin::{Origin, keep_whole, pair, whole};
use crate::store::{Edit, Fingerprint, origin_of};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

impl Found<'_> {
    /// Writes the origins again of which the source or the target changes.
    pub(super) fn origins(&mut self) -> Result<()> {
        for (origin, agent) in std::mem::take(&mut self.origins) {
            let Some(main) = main_of(&origin) else { continue };
            let read = Fingerprint::of(&origin)?;
            match self.origin(&origin, &main) {
                Ok(Some((contents, paths))) => {
                    let edit = Edit::once(contents, read);
                    self.edits.insert(origin, Edited { agent, edit, paths });
                }
                Ok(None) => {}
                Err(error) => self.unchanged.push((origin, error.message().to_owned())),
            }
        }
        Ok(())
    }

    /// Returns a new origin, and the number of paths in it that change; `None` if none does and the
    /// file beside it stays as it is.
    fn origin(&self, origin: &Path, main: &Path) -> Result<Option<(PathBuf, u64)>> {
        let failed = |error| Error::io("cannot write the origin", error);
        let work = self.fresh("origin");
        let kept = {
            let file = origin.to_owned();
            let size = main.metadata().map_or(0, |meta| meta.len());
            let opener = Rc::new(move || {
                let file = File::open(&file).map_err(|error| Error::io("cannot open", error))?;
                Ok(Box::new(file) as Box<_>)
            });
            Origin::open(opener, size)?.map_err(unusable)?
        };
        let mut sink = spool()?;
        let is_trimmed = kept.header.trimmed.is_some();
        let mut source = match is_trimmed {
            // What is new in a trimmed session belongs to the whole one.
            true => {
                let job = named(main);
                let now = opened(&job)?;
                let mut input = now.input.with_origin(now.found.format, None);
                whole(&mut input, &mut sink)?.ok_or_else(|| unusable("it is of another session"))?
            }
            false => kept.source(&mut sink)?.map_err(unusable)?,
        };
        let name = source.parts.file_name().unwrap_or_else(|| "session.jsonl".to_owned());
        let folder = work.join("source");
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let stem = crate::batch::stem(&name).to_owned();
        let mut paths = 0;
        for part in source.parts.names() {
            let file = match part.as_str() {
                "" => folder.join(&name),
                part => folder.join(format!("{stem}{part}")),
            };
            std::fs::create_dir_all(file.parent().unwrap_or(&folder)).map_err(failed)?;
            let before = work.join("part");
            let mut to = File::create(&before).map_err(failed)?;
            io::copy(&mut source.parts.open(&part)?, &mut to).map_err(failed)?;
            let is_whole = file.extension().is_some_and(|ending| ending == "json");
            let redo = redo(Paths::of(source.format, self.maps), is_whole);
            paths += redo.edit(&before, file)?.1;
        }
        if paths == 0 && !self.edits.contains_key(main) {
            return Ok(None);
        }
        if let Some(open) = source.parts.origin()? {
            let mut to = File::create(origin_of(&folder.join(&name))).map_err(failed)?;
            io::copy(&mut open()?, &mut to).map_err(failed)?;
        }
        let target = self.after(main, &work)?;
        let (source, target) = (named(&folder.join(&name)), named(&target));
        let (mut source, mut target) = (opened(&source)?, opened(&target)?);
        let spec = |opened: &Opened<'_>| {
            let format = opened.found.format;
            Spec { format, version: format.version(opened.found.sniffed.version) }
        };
        let (from, to) = (spec(&source), spec(&target));
        let contents = work.join("new.origin");
        let file = File::create(&contents).map_err(failed)?;
        let (options, log) = (Options::default(), Log::default());
        let cx = Cx { options: &options, log: &log };
        let file = Box::new(io::BufWriter::new(file));
        if is_trimmed {
            let mut source = source.input.with_origin(from.format, None);
            keep_whole((from, &mut source), &mut target.input, file, &mut sink, &cx)?;
        } else {
            pair((from, &mut source.input), (to, &mut target.input), file, &mut sink, &cx)?;
        }
        Ok(Some((contents, paths)))
    }

    /// Copies the files of a session as they will be.
    fn after(&self, main: &Path, work: &Path) -> Result<PathBuf> {
        let failed = |error| Error::io("cannot copy", error);
        let folder = work.join("target");
        let above = main.parent().unwrap_or(Path::new(""));
        let stem = main.with_extension("");
        let mut files = super::files(&stem);
        files.push(main.to_owned());
        for file in files {
            let to = folder.join(file.strip_prefix(above).unwrap_or(&file));
            std::fs::create_dir_all(to.parent().unwrap_or(&folder)).map_err(failed)?;
            let from = self.edits.get(&file).map_or(&*file, |edited| edited.edit.contents());
            std::fs::copy(from, &to).map_err(failed)?;
        }
        Ok(folder.join(main.file_name().unwrap_or_default()))
    }
}

fn unusable(why: &str) -> Error {
    Error::request(Code::OriginUnreadable, format!("the origin cannot be used: {why}"))
}
