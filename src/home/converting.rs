//! Sessions that are written again into a folder, before their files get their places.

use crate::batch::{
    self, Action, Done, FileReport, Job, JobSource, Name, Outcome, OutputPlace, Task,
};
use crate::error::Error;
use crate::format::Options;
use crate::formats::Spec;
use crate::store::{plain_name, put};
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
) -> Result<FileReport, Failed> {
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
