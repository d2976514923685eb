//! The records of a session one by one, for sessions that memory does not hold.

use crate::batch::{JobSource, Opened, ReadOptions};
use crate::diagnostic::{Code, Log};
use crate::error::{Error, Result};
use crate::export::{self, Choices, Rows};
use crate::format::{Cx, OnError, Options};
use crate::formats;
use crate::position::Located;
use crate::record::Record;
use std::ops::ControlFlow;
use std::path::Path;

/// The name and version of a format.
pub type FormatName = (&'static str, u32);

/// Shows every record of the session in a file, in the order of the file, until `show` breaks off.
/// Damaged lines are shown as records that hold them. Returns the name and version of the format.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// let mut messages = 0;
/// copyist::manager::each_record("session.jsonl", &mut |record| {
///     messages += u64::from(record.value.kind == copyist::record::Kind::Message);
///     ControlFlow::Continue(())
/// })?;
/// # Ok::<(), copyist::error::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, or no format recognises it.
pub fn each_record(
    path: impl AsRef<Path>,
    show: &mut dyn FnMut(&Located<Record>) -> ControlFlow<()>,
) -> Result<FormatName> {
    let none = || Error::request(Code::UnknownFormat, Code::UnknownFormat.title());
    let source = JobSource::File(path.as_ref().into());
    each_record_of(&source, true, &mut |_, record| show(record))?.ok_or_else(none)
}

/// Shows every record of a session with the name and version of its format, until `show` breaks
/// off. Returns the format, or `None` if a source that was not `named` is no session.
///
/// # Errors
/// If it cannot be read, or is named and no format recognises it.
pub fn each_record_of(
    source: &JobSource,
    named: bool,
    show: &mut dyn FnMut(FormatName, &Located<Record>) -> ControlFlow<()>,
) -> Result<Option<FormatName>> {
    let options = Options { on_error: OnError::Keep, ..Options::default() };
    let opened = Opened::new(source, ReadOptions::new(None, &options), named)?;
    let Some(Opened { found, mut input, .. }) = opened else { return Ok(None) };
    let format = (found.format.name, found.sniffed.version);
    let log = Log::default();
    let cx = Cx { options: &options, log: &log };
    for item in formats::records(found.format, &mut input, &cx)? {
        if show(format, &item?).is_break() {
            break;
        }
    }
    Ok(Some(format))
}

/// Returns the rows for training of a session; `None` for a source that was not `named` and is no
/// session.
///
/// # Errors
/// If it cannot be read, or is named and no format recognises it.
///
/// ```
/// use copyist::batch::JobSource;
/// use copyist::diagnostic::Log;
/// use copyist::export::{Choices, Style};
/// use copyist::format::{Cx, Options};
/// use copyist::manager::rows_of;
/// # let path = format!("{}/testdata/chat/v1/kites/in/kites.jsonl", env!("CARGO_MANIFEST_DIR"));
/// let kites = JobSource::File(std::path::Path::new(&path).into());
/// let (options, log) = (Options::default(), Log::default());
/// let cx = Cx { options: &options, log: &log };
/// let made = rows_of(&kites, true, &Choices::of(Style::Trl), &cx)?.expect("a session");
/// assert!(made.rows[0].text.starts_with(b"{\"messages\":[{\"role\":\"system\""));
/// # Ok::<(), copyist::error::Error>(())
/// ```
pub fn rows_of(
    source: &JobSource,
    named: bool,
    choices: &Choices,
    cx: &Cx<'_>,
) -> Result<Option<Rows>> {
    let opened = Opened::new(source, ReadOptions::new(None, cx.options), named)?;
    let Some(Opened { found, mut input, .. }) = opened else { return Ok(None) };
    export::rows(found.format, &mut input, choices, cx).map(Some)
}
