//! Rows for training, one by one.

use crate::work::{Paths, watched};
use copyist::batch::{FileReport, Outcome as FileOutcome, Share, decoded};
use copyist::diagnostic::Log;
use copyist::export::{Choices, Per, Style};
use copyist::format::{Cx, OnError, Options};
use copyist::manager::{Work, rows_of};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::VecDeque;
use std::vec::IntoIter;

/// Rows of sessions as triples: the path of the session, and the row as JSON, or why the session has
/// none. Sessions are read when their rows are wanted.
#[pyclass(module = "copyist")]
pub struct Rows {
    shares: IntoIter<Share>,
    choices: Choices,
    ready: VecDeque<(String, Option<String>, Option<String>)>,
}

fn choice<T: Copy>(all: &[(&str, &str, T)], name: &str) -> PyResult<T> {
    let found = all.iter().find(|(known, ..)| *known == name).map(|(.., choice)| *choice);
    found.ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|(name, ..)| *name).collect();
        PyValueError::new_err(format!("no `{name}`: one of {}", known.join(", ")))
    })
}

fn choices(style: &str, per: &str) -> PyResult<Choices> {
    let style = choice(Style::ALL, style)?;
    if style == Style::Sts {
        return Err(PyValueError::new_err("a session trace is several lines: `export` writes it"));
    }
    Ok(Choices { per: choice(Per::ALL, per)?, ..Choices::of(style) })
}

/// Begin to read the rows of the sessions in files and folders.
#[pyfunction]
pub fn rows(py: Python<'_>, paths: Paths, style: &str, per: &str) -> PyResult<Rows> {
    let (choices, paths) = (choices(style, per)?, paths.all());
    let plan = watched(py, |_| Work::detect().plan(paths, &[]))?;
    let failed = plan.reports.iter().filter(|report| report.outcome == FileOutcome::Failed);
    let ready = failed.map(missing).collect();
    Ok(Rows { shares: plan.shares.into_iter(), choices, ready })
}

fn missing(report: &FileReport) -> (String, Option<String>, Option<String>) {
    let why = report.findings.diagnostics.last().map(|found| found.message.clone());
    (report.path.to_string(), None, Some(why.unwrap_or_default()))
}

/// Read the rows of the sessions in a portion.
#[pyfunction]
pub fn rows_of_portion(portion: &[u8], style: &str, per: &str) -> PyResult<Rows> {
    let shares = decoded(portion).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Rows { shares: shares.into_iter(), choices: choices(style, per)?, ready: VecDeque::new() })
}

#[pymethods]
impl Rows {
    fn __iter__(rows: PyRef<'_, Self>) -> PyRef<'_, Self> {
        rows
    }

    fn __next__(
        &mut self,
        py: Python<'_>,
    ) -> Option<(String, Option<String>, Option<String>)> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Some(row);
            }
            let share = self.shares.next()?;
            let (job, choices) = (&share.job, &self.choices);
            let path = job.name().to_string();
            let made = py.detach(|| {
                let (force_version, on_error) = (true, OnError::Stop);
                let options = Options { force_version, on_error, ..Options::default() };
                let cx = Cx { options: &options, log: &Log::default() };
                rows_of(&job.source, job.named, choices, &cx).map_err(|error| error.to_string())
            });
            match made {
                Ok(made) => self.ready.extend(made.into_iter().flat_map(|made| made.rows).map(|row| {
                    let text = String::from_utf8_lossy(&row.text).into_owned();
                    (path.clone(), Some(text), None)
                })),
                Err(why) => self.ready.push_back((path, None, Some(why))),
            }
        }
    }
}
