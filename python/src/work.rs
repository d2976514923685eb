//! Work on files and folders.

use crate::error::raised;
use copyist::batch::FileReport;
use copyist::error::Result as Outcome;
use copyist::manager::Work;
use pyo3::prelude::*;
use pythonize::pythonize;
use std::ffi::OsString;
use std::path::PathBuf;

/// One path or several.
#[derive(FromPyObject)]
pub enum Paths {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl Paths {
    pub fn all(self) -> Vec<PathBuf> {
        match self {
            Self::One(path) => vec![path],
            Self::Several(paths) => paths,
        }
    }
}

/// Destination of the outputs.
#[derive(Default)]
struct Into_ {
    output: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    in_place: bool,
    force: bool,
    dry_run: bool,
    threads: usize,
}

impl Into_ {
    fn set(self, mut work: Work) -> Work {
        if let Some(file) = self.output {
            work = work.output(file);
        }
        if let Some(folder) = self.out_dir {
            work = work.out_dir(folder);
        }
        work = if self.in_place { work.in_place() } else { work };
        work = if self.force { work.force() } else { work };
        work = if self.dry_run { work.dry_run() } else { work };
        work.threads(self.threads)
    }
}

/// Does the work without the lock of the interpreter, and returns the reports.
fn reports(
    py: Python<'_>,
    paths: Paths,
    work: impl FnOnce() -> Outcome<Work> + Send,
) -> PyResult<Py<PyAny>> {
    let paths = paths.all();
    let done: Outcome<Vec<FileReport>> = py.detach(|| {
        // The workers are threads of their own, so that this one, which belongs to Python, has no
        // part in their pool.
        std::thread::scope(|scope| match scope.spawn(|| work()?.run(paths)).join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    let done = done.map_err(|error| raised(py, &error))?;
    Ok(pythonize(py, &done)?.unbind())
}

/// Convert sessions to a format, such as "pi" or "connectonion@2", into a file or below a folder.
/// Data that the format cannot hold go into an origin beside the output. Return a report on each.
#[pyfunction]
#[pyo3(signature = (paths, to, *, output=None, out_dir=None, force=false, dry_run=false, origin=true, threads=0))]
#[allow(clippy::too_many_arguments)] // They are Python's keywords.
pub fn convert(
    py: Python<'_>,
    paths: Paths,
    to: String,
    output: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    force: bool,
    dry_run: bool,
    origin: bool,
    threads: usize,
) -> PyResult<Py<PyAny>> {
    let into = Into_ { output, out_dir, force, dry_run, threads, ..Into_::default() };
    reports(py, paths, || {
        let work = into.set(Work::convert(&to)?);
        Ok(if origin { work } else { work.without_origin() })
    })
}

/// Migrate sessions to the newest version of their format.
#[pyfunction]
#[pyo3(signature = (paths, *, output=None, out_dir=None, in_place=false, force=false, dry_run=false, threads=0))]
#[allow(clippy::too_many_arguments)] // They are Python's keywords.
pub fn migrate(
    py: Python<'_>,
    paths: Paths,
    output: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    in_place: bool,
    force: bool,
    dry_run: bool,
    threads: usize,
) -> PyResult<Py<PyAny>> {
    let into = Into_ { output, out_dir, in_place, force, dry_run, threads };
    reports(py, paths, || Ok(into.set(Work::migrate())))
}

/// Repair damaged sessions; with `resumable`, also those that a model's interface refuses.
#[pyfunction]
#[pyo3(signature = (paths, *, output=None, out_dir=None, in_place=false, resumable=false, force=false, dry_run=false, threads=0))]
#[allow(clippy::too_many_arguments)] // They are Python's keywords.
pub fn repair(
    py: Python<'_>,
    paths: Paths,
    output: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    in_place: bool,
    resumable: bool,
    force: bool,
    dry_run: bool,
    threads: usize,
) -> PyResult<Py<PyAny>> {
    let into = Into_ { output, out_dir, in_place, force, dry_run, threads };
    reports(py, paths, || Ok(into.set(Work::repair(resumable))))
}

/// Check sessions: the outcome of each is "valid" or "invalid", with what was found.
#[pyfunction]
#[pyo3(signature = (paths, *, threads=0))]
pub fn validate(py: Python<'_>, paths: Paths, threads: usize) -> PyResult<Py<PyAny>> {
    reports(py, paths, || Ok(Work::validate().threads(threads)))
}

/// Detect the format of each session in files and folders.
#[pyfunction]
#[pyo3(signature = (paths, *, threads=0))]
pub fn detect(py: Python<'_>, paths: Paths, threads: usize) -> PyResult<Py<PyAny>> {
    reports(py, paths, || Ok(Work::detect().threads(threads)))
}

/// Run the command with these arguments, and return its exit code.
#[pyfunction]
pub fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let all = std::iter::once(OsString::from("copyist")).chain(arguments).collect();
    py.detach(|| copyist::cli::run(all))
}
