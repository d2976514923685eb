//! Work that several processes share: `copyist.spark` sends each of them a portion of a plan.

use crate::arrow::{RecordStream, Source};
use crate::work::{Paths, watched};
use copyist::batch::{Share, decoded, encoded, portions};
use copyist::error::Result as Outcome;
use copyist::manager::{Plan, Work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pythonize::pythonize;
use std::path::PathBuf;

/// The work, as Python describes it to each process.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Request {
    /// "detect", "migrate", "repair" or "convert".
    command: String,
    /// Format to convert to.
    to: Option<String>,
    origin: bool,
    resumable: bool,
    out_dir: Option<PathBuf>,
}

impl Request {
    fn work(self) -> Outcome<Work> {
        let work = match (&*self.command, &self.to) {
            ("convert", Some(to)) => Work::convert(to)?,
            ("repair", _) => Work::repair(self.resumable),
            ("migrate", _) => Work::migrate(),
            _ => Work::detect(),
        };
        let work = if self.origin { work } else { work.without_origin() };
        Ok(match self.out_dir {
            Some(folder) => work.out_dir(folder),
            None => work,
        })
    }
}

fn value_error(error: serde_json::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn shares(portion: &[u8]) -> PyResult<Vec<Share>> {
    decoded(portion).map_err(value_error)
}

/// Plan work: `(portions, sessions, header, reports, done)`. A portion is about `size` bytes of
/// sessions, at most `most` of them.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // They are the run's.
pub fn plan(
    py: Python<'_>,
    request: Request,
    paths: Paths,
    journals: Vec<(PathBuf, bool)>,
    size: u64,
    most: usize,
) -> PyResult<Py<PyAny>> {
    let paths = paths.all();
    let plan = watched(py, |_| request.work()?.plan(paths, &journals))?;
    let Plan { shares, reports, done, header } = plan;
    let count = shares.len();
    let portions = py.detach(|| {
        let portions = portions(shares, size, most);
        portions.iter().map(|portion| encoded(portion)).collect::<Result<Vec<_>, _>>()
    });
    let portions = portions.map_err(value_error)?;
    let portions: Vec<_> = portions.iter().map(|portion| PyBytes::new(py, portion)).collect();
    let header = serde_json::to_string(&header).map_err(value_error)?;
    let planned = (portions, count, header, pythonize(py, &reports)?, done);
    Ok(planned.into_pyobject(py)?.into_any().unbind())
}

/// Do the work on a portion, and record it in a journal; return the reports.
#[pyfunction]
pub fn run_portion(
    py: Python<'_>,
    request: Request,
    portion: &[u8],
    journal: PathBuf,
    header: &str,
) -> PyResult<Py<PyAny>> {
    let shares = shares(portion)?;
    let header = serde_json::from_str(header).map_err(value_error)?;
    let done = watched(py, |stop| {
        request.work()?.threads(1).until(stop).run_shares(shares, Some((&journal, &header)))
    })?;
    Ok(pythonize(py, &done)?.unbind())
}

/// Read the records of the sessions in a portion.
#[pyfunction]
pub fn read_portion(portion: &[u8]) -> PyResult<RecordStream> {
    Ok(RecordStream::of(Source::Shares(shares(portion)?)))
}
