//! The schemas that have names: of formats, and of what copyist prints and reads.

use super::Stop;
use crate::formats::Spec;
use serde_json::Value;

/// A schema that has a name.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Schema of a format's records.
    Records(Spec),
    /// Schema of a document of copyist.
    Document(&'static Document),
}

/// A document of copyist that has a schema.
#[derive(Debug)]
pub struct Document {
    /// Name of the schema on the command line.
    pub name: &'static str,
    /// Description of the document.
    pub about: &'static str,
    /// Name of the schema's file.
    pub file: &'static str,
    /// Text of the schema.
    pub text: &'static str,
    /// Patterns of the names that such documents have.
    pub matches: &'static [&'static str],
}

/// The documents that have schemas.
pub const DOCUMENTS: &[Document] = &[
    Document {
        name: "report",
        about: "the file that `--report` writes",
        file: "report.schema.json",
        text: include_str!("../../schemas/report.schema.json"),
        matches: &[],
    },
    Document {
        name: "json",
        about: "a line that a command prints with `--json`",
        file: "lines.schema.json",
        text: include_str!("../../schemas/lines.schema.json"),
        matches: &[],
    },
    Document {
        name: "config",
        about: "the file of settings",
        file: "config.schema.json",
        text: include_str!("../../schemas/config.schema.json"),
        matches: &["**/copyist/config.yaml"],
    },
];

impl Document {
    /// Returns the schema together with the schemas that it refers to.
    pub fn alone(&self) -> Result<String, Stop> {
        let mut schema = parsed(self.text)?;
        let others = DOCUMENTS.iter().filter(|other| other.name != self.name);
        let used: Vec<_> =
            others.filter(|other| self.text.contains(&format!("\"{}#", other.file))).collect();
        if used.is_empty() {
            return Ok(self.text.to_owned());
        }
        for other in used {
            schema["$defs"][other.file] = parsed(other.text)?;
        }
        Ok(format!("{schema:#}\n"))
    }
}

/// Parses the text of a schema.
pub fn parsed(text: &str) -> Result<Value, Stop> {
    serde_json::from_str(text).map_err(|error| Stop::broken(format!("schema: {error}")))
}
