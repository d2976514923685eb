//! Sessions that are written again into a folder, before their files get their places.

use crate::batch::{
    self, Action, Done, FileReport, Job, JobSource, Name, Opened, Outcome, OutputPlace,
    ReadOptions, Task,
};
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::format::Options;
use crate::formats::Spec;
use crate::origin::digest_of;
use crate::store::{Destination, Output, Policy, plain_name, put};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// Reason why a session cannot be written.
pub enum Failed {
    /// The conversion gave no output.
    Report(Box<FileReport>),
    /// Something else failed.
    Error(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Converts a session, whose output has this name; with an origin that is not beside it, that
/// origin is required.
pub fn converted(
    (job, name): (&Job, &Name),
    to: Spec,
    place: OutputPlace,
    options: Options,
    origin: Option<PathBuf>,
) -> std::result::Result<FileReport, Failed> {
    let options = Options { require_origin: origin.is_some(), ..options };
    let mut task = Task::looking(Action::Convert(to), options, &None);
    (task.place, task.origin) = (place, origin);
    let Done { mut report, sealed } = task.run(job, name);
    if report.outcome == Outcome::Failed {
        return Err(Failed::Report(Box::new(report)));
    }
    for placed in put(vec![sealed], |_| Ok(())) {
        if let Err(error) = placed {
            let why = report.fail(error);
            report.findings.add(why);
            return Err(Failed::Report(Box::new(report)));
        }
    }
    Ok(report)
}

/// Returns the input of a file that is named.
pub fn named(path: &Path) -> Job {
    let relative = PathBuf::from(path.file_name().unwrap_or_default());
    let source = JobSource::File(Arc::from(path));
    Job { source, relative, named: true, passed_over: None }
}

/// Opens a session.
///
/// # Errors
/// If it cannot be read, or is no session.
pub fn opened(job: &Job) -> Result<Opened<'_>> {
    let nothing = || Error::request(Code::UnknownFormat, Code::UnknownFormat.title());
    Opened::new(&job.source, ReadOptions::default(), true)?.ok_or_else(nothing)
}

/// Returns a sink that only lends room.
pub fn spool() -> Result<Output> {
    Output::prepare(Destination::Nowhere, Vec::new(), Policy::default(), Arc::default())
}

/// Whether two files have the same contents.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let size = |path: &Path| path.metadata().map_or(0, |meta| meta.len());
    size(one) == size(other) && begins_alike(one, other, size(one)).unwrap_or(false)
}

/// Whether two files have the same first bytes.
pub fn begins_alike(one: &Path, other: &Path, length: u64) -> Result<bool> {
    let digest = |path: &Path| {
        let file = File::open(path).map_err(|error| Error::io("cannot read", error))?;
        digest_of(file.take(length))
    };
    let (one, other) = (digest(one)?, digest(other)?);
    Ok(one.length == length && one == other)
}

/// Returns the files below a folder, in the order of their paths.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(|e| e.ok());
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// Returns the path of a session's files without the ending of its main file.
pub fn stem(main: &Path) -> PathBuf {
    let name = main.file_name().unwrap_or_default().to_string_lossy();
    main.with_file_name(batch::stem(plain_name(&name)))
}
