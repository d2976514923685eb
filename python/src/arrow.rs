//! Records as batches of Apache Arrow.

use crate::work::Paths;
use arrow_array::builder::{BooleanBuilder, StringBuilder, UInt64Builder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field as Column, Schema, SchemaRef};
use copyist::batch::{FileReport, Outcome as FileOutcome, Share};
use copyist::error::Result as Outcome;
use copyist::formats::canonical;
use copyist::manager::{Work, each_record_of};
use copyist::position::Located;
use copyist::record::{Field, Node, Record, block};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Number of rows in a batch: some megabytes of usual sessions.
const ROWS: usize = 8192;

/// Number of bytes of one column from which a batch is passed on.
const BYTES: usize = 64 << 20;

/// Records of sessions as a stream of Arrow batches, which pyarrow, polars and duckdb take over
/// without a copy. It can be read once.
///
/// >>> import copyist
/// >>> copyist.read_arrow([]).schema_names()[:3]
/// ['path', 'format', 'line']
#[pyclass(module = "copyist")]
pub struct RecordStream(Mutex<Option<Source>>);

/// Sessions whose records are read.
pub enum Source {
    Paths(Vec<PathBuf>),
    Shares(Vec<Share>),
}

impl Source {
    /// Returns the sessions, and reports on inputs that are none.
    fn sessions(self) -> Outcome<(Vec<Share>, Vec<FileReport>)> {
        match self {
            Self::Paths(paths) if paths.is_empty() => Ok((Vec::new(), Vec::new())),
            Self::Paths(paths) => {
                Work::detect().plan(paths, &[]).map(|plan| (plan.shares, plan.reports))
            }
            Self::Shares(shares) => Ok((shares, Vec::new())),
        }
    }
}

impl RecordStream {
    pub fn of(source: Source) -> Self {
        Self(Mutex::new(Some(source)))
    }
}

/// Read the records of the sessions in files and folders as Arrow batches. A file that cannot be
/// read is one row, with the reason in `error`.
///
/// >>> s = copyist.create("pi", "/work", "rows")
/// >>> hello = s.append_message({"role": "user", "content": "Hello"})
/// >>> import pyarrow
/// >>> pyarrow.table(copyist.read_arrow("rows")).column("kind").to_pylist()
/// ['session', 'message']
#[pyfunction]
pub fn read_arrow(paths: Paths) -> RecordStream {
    RecordStream::of(Source::Paths(paths.all()))
}

#[pymethods]
impl RecordStream {
    /// The names of the columns.
    ///
    /// >>> copyist.read_arrow([]).schema_names()[:2]
    /// ['path', 'format']
    fn schema_names(&self) -> Vec<String> {
        schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The Arrow C stream: `pyarrow.table(stream)`, `polars.from_arrow(pyarrow.table(stream))`.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol allows to ignore a wish for other types.
        drop(requested_schema);
        let source =
            self.0.lock().map_err(|error| PyRuntimeError::new_err(error.to_string()))?.take();
        let Some(source) = source else {
            return Err(PyRuntimeError::new_err("the stream was read already"));
        };
        let stream = FFI_ArrowArrayStream::new(Box::new(Batches::of(source)));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn schema() -> SchemaRef {
    let text = |name| Column::new(name, DataType::Utf8, true);
    let number = |name| Column::new(name, DataType::UInt64, true);
    Arc::new(Schema::new(vec![
        Column::new("path", DataType::Utf8, false),
        text("format"),
        number("line"),
        text("kind"),
        text("id"),
        text("parent"),
        text("time"),
        text("role"),
        text("text"),
        text("provider"),
        text("model"),
        number("input_tokens"),
        number("output_tokens"),
        Column::new("synthesized", DataType::Boolean, true),
        text("record"),
        text("error"),
    ]))
}

/// Batches that another thread makes: at most two wait.
struct Batches(Receiver<Result<RecordBatch, ArrowError>>);

impl Batches {
    fn of(source: Source) -> Self {
        let (sender, receiver) = sync_channel(2);
        std::thread::spawn(move || {
            if let Err(error) = send(source, &sender) {
                // If nobody takes batches any more, nobody asks why there are none.
                let _ = sender.send(Err(ArrowError::ExternalError(error.to_string().into())));
            }
        });
        Self(receiver)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.recv().ok()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        schema()
    }
}

type Sender = SyncSender<Result<RecordBatch, ArrowError>>;

/// Sends the records of all sessions, until nobody takes them any more.
fn send(source: Source, to: &Sender) -> Outcome<()> {
    let (shares, failed) = source.sessions()?;
    let mut rows = Rows::default();
    failed.iter().for_each(|report| rows.failed(report));
    let found = Work::detect().threads(1).run_shares(shares.clone(), None)?;
    for (Share { job, .. }, report) in shares.iter().zip(&found) {
        if report.outcome != FileOutcome::Detected {
            rows.failed(report);
            continue;
        }
        let path = job.name();
        let format = report.format_name();
        let mut gone = false;
        let read = each_record_of(&job.source, job.named, &mut |_, located| {
            rows.record(&path, &format, located);
            gone = rows.is_full() && to.send(rows.batch()).is_err();
            if gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if gone {
            return Ok(());
        }
        if let Err(error) = read {
            rows.error(&path, &error.to_string());
        }
    }
    if rows.count > 0 {
        // Whoever does not take the last batch does not miss it.
        let _ = to.send(rows.batch());
    }
    Ok(())
}

/// Rows of the next batch.
#[derive(Default)]
struct Rows {
    count: usize,
    /// The columns of text, in the order of [`schema`].
    texts: [StringBuilder; 12],
    /// Line, tokens sent, tokens received.
    numbers: [UInt64Builder; 3],
    synthesized: BooleanBuilder,
    /// Room for the object of a record.
    object: Vec<u8>,
}

impl Rows {
    /// Whether the rows are enough for a batch. Offsets of text are 32 bits wide, so a batch with
    /// long records is shorter.
    fn is_full(&self) -> bool {
        let bytes = self.texts.iter().map(|column| column.values_slice().len()).max();
        self.count >= ROWS || bytes.unwrap_or(0) >= BYTES
    }

    fn record(&mut self, path: &str, format: &str, located: &Located<Record>) {
        let Located { value: record, at } = located;
        let node = &record.node;
        let said = block::message_text(node).and_then(|said| said.text());
        let fields =
            [Field::Id, Field::Parent, Field::Time, Field::Role, Field::Provider, Field::Model];
        let fields = fields.map(|field| node.text(field));
        let [id, parent, time, role, provider, model] = fields.each_ref().map(Option::as_deref);
        let mut object = std::mem::take(&mut self.object);
        object.clear();
        canonical::object_of(record, &mut object);
        let kind = Some(record.kind.name());
        let whole = Some(&*String::from_utf8_lossy(&object));
        let said = said.as_deref();
        let path = Some(path);
        let format = Some(format);
        self.texts([
            path, format, kind, id, parent, time, role, said, provider, model, whole, None,
        ]);
        self.object = object;
        let usage = node.node(Field::Usage);
        let [line, sent, received] = &mut self.numbers;
        line.append_value(at.line);
        sent.append_option(tokens(usage, Field::InputTokens));
        received.append_option(tokens(usage, Field::OutputTokens));
        self.synthesized.append_value(record.is_restored());
        self.count += 1;
    }

    /// A row for an input of which nothing can be read, with the reasons.
    fn failed(&mut self, report: &FileReport) {
        if matches!(report.outcome, FileOutcome::Failed | FileOutcome::Unreadable) {
            let found = report.findings.diagnostics.iter();
            let why: Vec<_> = found.map(|found| found.message.to_string()).collect();
            self.error(&report.path, &why.join("; "));
        }
    }

    /// A row for a file that cannot be read.
    fn error(&mut self, path: &str, why: &str) {
        let mut texts = [const { None }; 12];
        texts[0] = Some(path);
        texts[11] = Some(why);
        self.texts(texts);
        self.numbers.iter_mut().for_each(UInt64Builder::append_null);
        self.synthesized.append_null();
        self.count += 1;
    }

    fn texts(&mut self, values: [Option<&str>; 12]) {
        for (column, value) in self.texts.iter_mut().zip(values) {
            column.append_option(value);
        }
    }

    /// Returns the rows so far as a batch, and begins the next one.
    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        self.count = 0;
        let mut texts = self.texts.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let mut numbers =
            self.numbers.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let synthesized = Arc::new(self.synthesized.finish()) as ArrayRef;
        let schema = schema();
        let columns = schema.fields().iter().map(|field| match field.data_type() {
            DataType::UInt64 => numbers.next(),
            DataType::Boolean => Some(Arc::clone(&synthesized)),
            _ => texts.next(),
        });
        let columns = columns.collect::<Option<Vec<_>>>();
        let columns =
            columns.ok_or_else(|| ArrowError::SchemaError("a column is missing".into()))?;
        RecordBatch::try_new(Arc::clone(&schema), columns)
    }
}

fn tokens(usage: Option<&Node>, field: Field) -> Option<u64> {
    let tokens = usage?.json(field)?.float()?;
    // Counts are whole numbers; another value is none.
    (tokens >= 0.0 && tokens.fract() == 0.0).then_some(tokens as u64)
}
