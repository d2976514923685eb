//! Work on files and folders.

use crate::error::{raised, raised_in};
use copyist::batch::{FileReport, Outcome as FileOutcome};
use copyist::diagnostic::{Code, Diagnostic};
use copyist::error::Error;
use copyist::error::Result as Outcome;
use copyist::manager::Work;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pythonize::pythonize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// One path, or any iterable of paths.
pub struct Paths(Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(path) = value.extract() {
            return Ok(Self(vec![path]));
        }
        value.try_iter()?.map(|path| path?.extract()).collect::<PyResult<_>>().map(Self)
    }
}

impl Paths {
    pub fn all(self) -> Vec<PathBuf> {
        self.0
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
    /// Checks that there is one place for outputs. A dry run needs none.
    fn check(&self) -> PyResult<()> {
        let places = [self.output.is_some(), self.out_dir.is_some(), self.in_place];
        match places.iter().filter(|given| **given).count() {
            1 => Ok(()),
            0 if self.dry_run => Ok(()),
            0 => Err(PyValueError::new_err("there is no place for outputs: name one")),
            _ => Err(PyValueError::new_err("there are several places for outputs: name one")),
        }
    }

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

    /// Does work that writes, and returns the reports. If one output was asked for and there is none,
    /// that is an exception.
    fn reports(
        self,
        py: Python<'_>,
        paths: Paths,
        work: impl FnOnce() -> Outcome<Work> + Send,
    ) -> PyResult<Py<PyAny>> {
        self.check()?;
        let paths = paths.all();
        let one = self.output.is_some();
        let done = watched(py, |stop| self.set(work()?).until(stop).run(paths))?;
        match done.as_slice() {
            [FileReport { outcome: FileOutcome::Failed, path, findings, .. }] if one => {
                let why = findings.diagnostics.last().cloned();
                let none = || Diagnostic::new(Code::UnknownFormat, Code::UnknownFormat.title());
                let error = Error::unfit(why.unwrap_or_else(none));
                Err(raised_in(py, Path::new(&**path), &error))
            }
            _ => Ok(pythonize(py, &done)?.unbind()),
        }
    }
}

/// Time between two looks at whether the user pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Does work without the lock of the interpreter. It is done by another thread, which has no part in
/// Python, while this one looks for signals. After a signal no further input is begun.
pub fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> Outcome<T> + Send,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let done = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel::<()>(0);
            let flag = Arc::clone(&stop);
            let worker = scope.spawn(move || {
                // Its end is noticed by the other side.
                let _ends = sender;
                work(flag).map_err(Box::new)
            });
            let mut interrupted = None;
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(LOOK) {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::Relaxed);
                    interrupted = Some(error);
                }
            }
            match worker.join() {
                Ok(done) => (done, interrupted),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    });
    match done {
        (_, Some(error)) => Err(error),
        (done, None) => done.map_err(|error| raised(py, &error)),
    }
}

/// Does work that only reads, and returns the reports.
fn reports(
    py: Python<'_>,
    paths: Paths,
    work: impl FnOnce() -> Outcome<Work> + Send,
) -> PyResult<Py<PyAny>> {
    let paths = paths.all();
    let done = watched(py, |stop| work()?.until(stop).run(paths))?;
    Ok(pythonize(py, &done)?.unbind())
}

/// Convert sessions to a format, such as "pi" or "connectonion@2", into a file or below a folder.
/// Data that the format cannot hold go into an origin beside the output. Return a report on each
/// session. A failed session has a report of its own, or is an exception if `output` was named.
///
/// >>> s = copyist.create("pi", "/work", "talks")
/// >>> hello = s.append_message({"role": "user", "content": "Hello"})
/// >>> [done] = copyist.convert(s.path, "connectonion", output="talk.yaml")
/// >>> done["outcome"], done["to"]
/// ('converted', 'connectonion@3')
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
    into.reports(py, paths, || {
        let work = Work::convert(&to)?;
        Ok(if origin { work } else { work.without_origin() })
    })
}

/// Migrate sessions to the newest version of their format.
///
/// >>> old = '{"type":"session","id":"s","timestamp":"2025-11-20T10:00:00.000Z","cwd":"/w"}'
/// >>> bytes = open("old.jsonl", "w").write(old + "\n")
/// >>> [done] = copyist.migrate("old.jsonl", in_place=True)
/// >>> done["outcome"], done["format"], done["to"]
/// ('migrated', 'pi@1', 'pi@3')
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
    into.reports(py, paths, || Ok(Work::migrate()))
}

/// Repair damaged sessions; with `resumable`, also those that a model's interface refuses.
///
/// >>> s = copyist.create("pi", "/work", "torn")
/// >>> hello = s.append_message({"role": "user", "content": "Hello"})
/// >>> bytes = open(s.path, "a").write('{"type":"mess')
/// >>> [done] = copyist.repair(s.path, output="whole.jsonl")
/// >>> done["outcome"]
/// 'repaired'
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
    into.reports(py, paths, || Ok(Work::repair(resumable)))
}

/// Check sessions: the outcome of each is "valid" or "invalid", with what was found.
///
/// >>> s = copyist.create("pi", "/work", "checked")
/// >>> hello = s.append_message({"role": "user", "content": "Hello"})
/// >>> [report["outcome"] for report in copyist.validate("checked")]
/// ['valid']
#[pyfunction]
#[pyo3(signature = (paths, *, threads=0))]
pub fn validate(py: Python<'_>, paths: Paths, threads: usize) -> PyResult<Py<PyAny>> {
    reports(py, paths, || Ok(Work::validate().threads(threads)))
}

/// Detect the format of each session in files and folders.
///
/// >>> s = copyist.create("pi", "/work", "found")
/// >>> hello = s.append_message({"role": "user", "content": "Hello"})
/// >>> [report["format"] for report in copyist.detect("found")]
/// ['pi@3']
#[pyfunction]
#[pyo3(signature = (paths, *, threads=0))]
pub fn detect(py: Python<'_>, paths: Paths, threads: usize) -> PyResult<Py<PyAny>> {
    reports(py, paths, || Ok(Work::detect().threads(threads)))
}

/// Run the command with these arguments, and return its exit code.
///
/// >>> copyist.run(["explain", "CY9999"])
/// 2
#[pyfunction]
pub fn run(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let all = std::iter::once(OsString::from("copyist")).chain(arguments).collect();
    py.detach(|| copyist::cli::run(all))
}
