//! Writing a pack.

use super::{Base, Manifest, PackedFile, PackedSession, folder};
use crate::batch::{FileReport, Job, Kind, Namer, Opened, OutputPlace, ReadOptions};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::{Format, Options};
use crate::formats::Spec;
use crate::home::converting::{Failed, converted, files};
use crate::home::survey::Listed;
use crate::origin::{Archive, Measure, Measuring};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A pack that is being written.
pub struct Pack {
    archive: Archive,
    manifest: Manifest,
}

impl Pack {
    /// Begins a pack. `home` is the user's own folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(to: Box<dyn Write>, home: Option<String>) -> Result<Self> {
        let archive = Archive::new(to, "cannot write the pack")?;
        let manifest = Manifest { copyist_pack: Manifest::VERSION, home, sessions: Vec::new() };
        Ok(Self { archive, manifest })
    }

    /// Adds a session with all its files and its origin, byte for byte unless the options mask
    /// secrets. `home` is the folder of its agent's sessions. Returns the report on its reading.
    ///
    /// # Errors
    /// If the session cannot be read, its agent has no place for it, or the pack cannot be written.
    pub fn add(
        &mut self,
        session: &Listed,
        home: Option<&Path>,
        options: Options,
    ) -> std::result::Result<FileReport, Failed> {
        let work = tempfile::tempdir().map_err(|error| Error::io("cannot work", error))?;
        let nothing = || Error::request(Code::UnknownFormat, Code::UnknownFormat.title());
        let read = ReadOptions::new(None, &options);
        let found = Opened::new(&session.job.source, read, true)?.ok_or_else(nothing)?.found;
        let format = found.format;
        let to = Spec { format, version: format.version(found.sniffed.version) };
        if format.files.shared.is_some() {
            let name = format.name;
            let message = format!("sessions of {name} share a database, and are not packed");
            return Err(Error::request(Code::NoName, message).into());
        }
        let (base, relative, root) = match place_of(session, format, home) {
            Some((base, relative, root)) => (base, Some(relative), root),
            None if format.files.home.is_some() => (Base::Agent, None, None),
            None => {
                let name = format.name;
                let message =
                    format!("it is in no folder of a project where {name} keeps sessions");
                return Err(Error::request(Code::NoName, message).into());
            }
        };
        // Other sessions get the names that their agent would give them.
        let at = if relative.is_some() { OutputPlace::Folder } else { OutputPlace::Native };
        let place = at(work.path().to_owned());
        let job = session.job.clone();
        let job = Job { relative: relative.unwrap_or_else(|| job.relative.clone()), ..job };
        let name = Namer::default().name(&job, Kind::Same);
        let report = converted((&job, &name), to, place, options, None)?;
        let mut packed = PackedSession {
            agent: format.name.to_owned(),
            id: session.summary.id.clone(),
            title: session.summary.title.clone(),
            project: root.or_else(|| session.summary.project.clone()),
            base,
            files: Vec::new(),
        };
        let within = folder(self.manifest.sessions.len());
        for file in files(work.path()) {
            packed.files.push(self.file(&file, work.path(), &within)?);
        }
        if packed.files.is_empty() {
            return Err(Failed::Report(Box::new(report)));
        }
        self.manifest.sessions.push(packed);
        Ok(report)
    }

    fn file(&mut self, file: &Path, work: &Path, within: &str) -> Result<PackedFile> {
        let failed = |error| Error::io("cannot read", error);
        let path = file.strip_prefix(work).unwrap_or(file);
        let pieces: Vec<_> = path.iter().map(|piece| piece.to_str()).collect();
        let path = pieces.into_iter().collect::<Option<Vec<_>>>().map(|pieces| pieces.join("/"));
        let path = path.ok_or_else(|| {
            let name = file.display();
            Error::request(Code::Io, format!("{name}: the name is not UTF-8"))
        })?;
        let from = File::open(file).map_err(failed)?;
        let size = from.metadata().map_err(failed)?.len();
        let mut measure = Measure::default();
        let from = Measuring { from, measure: &mut measure };
        self.archive.member(&format!("{within}/{path}"), size, from)?;
        Ok(PackedFile { path, digest: measure.digest() })
    }

    /// The description of what was added.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Ends the pack.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let text = serde_json::to_vec_pretty(&self.manifest).unwrap_or_default();
        self.archive.member(Manifest::NAME, text.len() as u64, text.as_slice())?;
        self.archive.finish()
    }
}

/// Returns the place of a session below its agent's folder, or else below the folder of the project
/// in which its agent keeps it, and that folder; `None` for a session that is elsewhere.
fn place_of(
    session: &Listed,
    format: &Format,
    home: Option<&Path>,
) -> Option<(Base, PathBuf, Option<String>)> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = real(&session.path);
    let below = |folder: &Path| path.strip_prefix(folder).ok().map(Path::to_owned);
    if let Some(relative) = home.and_then(|home| below(&real(home))) {
        return Some((Base::Agent, relative, None));
    }
    let is_project = |root: &&Path| {
        format.files.in_projects.iter().any(|folder| path.starts_with(root.join(folder)))
    };
    let project = path.ancestors().find(is_project)?;
    Some((Base::Project, below(project)?, project.to_str().map(str::to_owned)))
}
