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
        let empty = whole && bytes.trim_ascii().is_empty();
        if empty && named {
            return Err(Error::unfit(Diagnostic::new(Code::Empty, Code::Empty.title())));
        }
        let found = match from {
            Some(spec) => {
                // Named by the person, the format is taken at its word; its reader says what is
                // wrong with the file.
                let version = spec.version().number;
                let guess = Sniffed { confidence: Confidence::Weak, version };
                let mut sniffed = (spec.format.sniff)(&head).unwrap_or(guess);
                sniffed.version = spec.version.map_or(sniffed.version, |v| v.number);
                Some((spec.format, sniffed))
            }
            None => detect(&head),
        };
        match found {
            Some((format, sniffed)) => Ok(Some(Self { format, sniffed })),
            None if named => Err(Error::request(Code::UnknownFormat, Code::UnknownFormat.title())),
            None => Ok(None),
        }
    }
}
