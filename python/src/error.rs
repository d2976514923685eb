//! Errors as exceptions, with code and place.

use copyist::error::Error;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::path::Path;

create_exception!(
    copyist,
    CopyistError,
    PyException,
    "What kept copyist from its work.\n\n`code` is the permanent code, which `copyist explain` \
     knows; `line` and `byte` are the place in the file, or None.\n\n\
     >>> try:\n\
     ...     copyist.open(\"none.jsonl\")\n\
     ... except copyist.CopyistError as error:\n\
     ...     print(error.code, error.line)\n\
     CY0705 None"
);

/// Makes the exception for an error.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error, error.to_string())
}

/// Makes the exception for an error in a file.
pub fn raised_in(py: Python<'_>, path: &Path, error: &Error) -> PyErr {
    exception(py, error, format!("{}: {error}", path.display()))
}

fn exception(py: Python<'_>, error: &Error, message: String) -> PyErr {
    let made = CopyistError::new_err(message);
    let place = error.position().filter(|place| place.line > 0);
    let value = made.value(py);
    let set = value
        .setattr("code", error.code().name())
        .and_then(|()| value.setattr("line", place.map(|place| place.line)))
        .and_then(|()| value.setattr("byte", place.map(|place| place.byte)));
    set.err().unwrap_or(made)
}
