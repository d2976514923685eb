//! copyist for Python: sessions to read and to continue, work on files, and batches of records.

mod arrow;
mod error;
mod rows;
mod session;
mod shared;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _copyist {
    #[pymodule_export]
    use crate::arrow::{RecordStream, read_arrow};
    #[pymodule_export]
    use crate::error::CopyistError;
    #[pymodule_export]
    use crate::rows::{Rows, rows, rows_of_portion};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::shared::{plan, read_portion, run_portion};
    #[pymodule_export]
    use crate::work::{convert, detect, migrate, repair, run, validate};
}
