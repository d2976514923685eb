//! Copies of a session that were continued separately, as one file.

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Options, Parts};
use crate::ids::{fingerprint, hash};
use crate::lines::Lines;
use crate::members::Scan;
use crate::store::Input;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;
use std::sync::Arc;

/// Writes copies of a session as one: the lines of the first, and of each other one the lines whose
/// identifiers no copy before it has. The file has no name, and its reading position is its
/// beginning.
///
/// # Errors
/// If two copies have different entries with one identifier, as it is not known which one counts;
/// or if reading or writing fails.
pub fn merged(files: &[Arc<Path>], options: &Options) -> Result<File> {
    let failed = |error| Error::io("cannot write a temporary file", error);
    let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
    let mut known: HashMap<u64, u64> = HashMap::new();
    for file in files {
        let mut input = Input::file(Arc::clone(file))?;
        let mut lines = Lines::new(input.main()?, options.max_line);
        lines.skip_bom()?;
        while let Some(line) = lines.next()? {
            let bytes = line.bytes.trim_ascii();
            let content = fingerprint(bytes);
            let scan = Scan::of(bytes).ok().flatten();
            let id = scan.and_then(|scan| scan.id);
            let key = id.map_or(content, |id| hash(id.value.of(bytes)));
            match known.insert(key, content) {
                None => {
                    out.write_all(bytes).and_then(|()| out.write_all(b"\n")).map_err(failed)?;
                }
                Some(other) if other == content => {}
                Some(_) => {
                    let id = id.map_or(&b""[..], |id| id.value.of(bytes));
                    let (id, path) = (String::from_utf8_lossy(id), file.display());
                    let message = format!(
                        "{}: line {} of {path} has the identifier {id}",
                        Code::CopiesDiffer.title(),
                        line.at.line
                    );
                    return Err(Error::unfit(Diagnostic::new(Code::CopiesDiffer, message)));
                }
            }
        }
    }
    let mut file = out.into_inner().map_err(|error| failed(error.into_error()))?;
    file.rewind().map_err(failed)?;
    Ok(file)
}
