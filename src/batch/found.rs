//! What an input is.

use crate::detect::detect;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Confidence, Format, Head, Sniffed};
use crate::formats::Spec;
use crate::store::Input;
use std::path::Path;

/// What an input turned out to be.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The format.
    pub format: &'static Format,
    /// The version, and how sure that is.
    pub sniffed: Sniffed,
}

impl Found {
    /// Format and version.
    #[must_use]
    pub fn name(&self) -> String {
        self.format.at(self.sniffed.version)
    }

    /// What the first bytes say, unless the person said otherwise. `None` for a file that is no
    /// session, if the person did not name it.
    ///
    /// # Errors
    /// If the input cannot be read, or is named and no session.
    pub fn of(
        input: &mut Input,
        path: Option<&Path>,
        from: Option<Spec>,
        named: bool,
    ) -> Result<Option<Self>> {
        let (bytes, whole) = input.head()?;
        let name = path.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let head = Head { name: &name, bytes: &bytes, whole };
        let found = match from {
            _ if whole && bytes.trim_ascii().is_empty() => {
                Err(Error::unfit(Diagnostic::new(Code::Empty, Code::Empty.title())))
            }
            Some(spec) => as_asked(spec, &head),
            None => detect(&head).ok_or_else(|| unknown(&head)),
        };
        match found {
            Ok((format, sniffed)) => Ok(Some(Self { format, sniffed })),
            Err(error) if named => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// The format that the person named. What it does not recognise may still be a damaged file of
/// it, and its reader says what is wrong; but not where the file is plainly something else.
fn as_asked(spec: Spec, head: &Head<'_>) -> Result<(&'static Format, Sniffed)> {
    let wrong = |what: String| Err(Error::request(Code::WrongFormat, what));
    let name = spec.format.name;
    let json_lines = spec.format.plane.is_some();
    let sniffed = match (spec.format.sniff)(head) {
        Some(sniffed) => sniffed,
        None => match detect(head) {
            Some((other, Sniffed { confidence: Confidence::Certain, version })) => {
                return wrong(format!("the file is {}, not {name}", other.at(version)));
            }
            _ if json_lines && head.is_pretty_json() => {
                return wrong(format!("the file is {PRETTY}, and {name} has one record a line"));
            }
            _ if json_lines && head.lacks_objects() => {
                return wrong(format!(
                    "the file is not {name}: no line begins as a JSON object does"
                ));
            }
            _ => Sniffed { confidence: Confidence::Weak, version: spec.version().number },
        },
    };
    let version = spec.version.map_or(sniffed.version, |version| version.number);
    Ok((spec.format, Sniffed { version, ..sniffed }))
}

const PRETTY: &str = "JSON spread over several lines";

fn unknown(head: &Head<'_>) -> Error {
    let title = Code::UnknownFormat.title();
    let message =
        if head.is_pretty_json() { format!("{title}: it is {PRETTY}") } else { title.into() };
    Error::request(Code::UnknownFormat, message)
}
