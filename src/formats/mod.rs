//! Table of all formats.
//!
//! A new format is a folder here and a row below; detection, the command line, the documentation
//! and the tests of every law iterate over this table.

pub mod agent_orchestrator;
pub mod atif;
pub mod canonical;
pub mod chat;
pub mod claude_code;
pub mod codelia;
pub mod codex;
pub mod connectonion;
pub mod copilot_cli;
pub mod gemini_cli;
pub mod opencode;
pub mod pi;

use crate::error::Result;
use crate::format::{Cx, Format, Parts, Reader, Version};
use crate::named::Named;
use crate::record::{Field, Node};

/// Every format, in the order in which the program lists them.
pub static FORMATS: &[&Format] = &[
    &pi::FORMAT,
    &claude_code::FORMAT,
    &codex::FORMAT,
    &copilot_cli::FORMAT,
    &connectonion::FORMAT,
    &agent_orchestrator::FORMAT,
    &codelia::FORMAT,
    &opencode::FORMAT,
    &gemini_cli::FORMAT,
    &atif::FORMAT,
    &chat::FORMAT,
    &canonical::FORMAT,
];

/// Returns the formats in which sessions are written; all are read.
pub fn written() -> impl Iterator<Item = &'static Format> + Clone {
    FORMATS.iter().copied().filter(|format| !format.reads_only)
}

/// Formats whose software finds sessions by name.
pub static NAMED: &[&Named] = &[&agent_orchestrator::NAMED];

/// Returns the format by whose rules a session is sent: its own, or for a stream that of its
/// source.
#[must_use]
pub fn ruling(format: &'static Format, session: &Node) -> &'static Format {
    if format.name == canonical::FORMAT.name { Spec::of(session).format } else { format }
}

/// Reads a session as a tree. Records of a stream get identifiers and parents that importers may
/// omit.
///
/// # Errors
/// If a part cannot be opened.
pub fn records<'a>(
    format: &Format,
    parts: &'a mut dyn Parts,
    cx: &'a Cx<'a>,
) -> Result<Reader<'a>> {
    Ok(named(format, format.records(parts, cx)?, cx))
}

/// Adds to the records of a stream the identifiers and parents that importers may omit; records of
/// other formats are unchanged.
#[must_use]
pub fn named<'a>(format: &Format, records: Reader<'a>, cx: &'a Cx<'a>) -> Reader<'a> {
    let stream = format.name == canonical::FORMAT.name;
    if stream { canonical::named(records, is_of_a_tree, cx) } else { records }
}

/// Whether the source of a session is a tree, in whose files entries may lack identifiers.
fn is_of_a_tree(session: &Node) -> bool {
    let source = Spec::of(session);
    source.format.name != canonical::FORMAT.name && source.version().tree
}

/// Format, and its version if one was named.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Format.
    pub format: &'static Format,
    /// Version, if one was named.
    pub version: Option<&'static Version>,
}

/// Returns the message that a format has no version of this name, with the versions that it has.
#[must_use]
pub fn lacks(format: &Format, number: impl std::fmt::Display) -> String {
    let numbers: Vec<_> = format.versions.iter().map(|v| v.number.to_string()).collect();
    format!("{} has no version `{number}`; it has {}", format.name, numbers.join(", "))
}

impl Spec {
    /// Reads `name` or `name@version`, in capital or small letters.
    ///
    /// # Errors
    /// Returns a message with the fault and the known names.
    ///
    /// ```
    /// use copyist::formats::Spec;
    /// assert_eq!(Spec::parse("pi@2").unwrap().version.unwrap().number, 2);
    /// assert!(Spec::parse("pi").unwrap().version.is_none());
    /// assert!(Spec::parse("word").unwrap_err().contains("known formats: pi, claude-code, codex, copilot-cli, connectonion, agent-orchestrator, codelia, opencode, gemini-cli, atif, chat, canonical"));
    /// ```
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let (name, number) = match text.split_once('@') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let is_name = |known: &str| known.eq_ignore_ascii_case(name);
        let is_called = |format: &Format| {
            is_name(format.name) || format.aliases.iter().any(|name| is_name(name))
        };
        let Some(format) = FORMATS.iter().find(|format| is_called(format)) else {
            let names: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
            return Err(format!(
                "no format is called `{name}`; known formats: {}",
                names.join(", ")
            ));
        };
        let Some(number) = number else {
            return Ok(Self { format, version: None });
        };
        let version = number.parse().ok().and_then(|number| format.version(number));
        if version.is_none() {
            return Err(lacks(format, number));
        }
        Ok(Self { format, version })
    }

    /// Returns the format that a session comes from, by its record: the format that its source
    /// names, or the canonical stream if it names none, as in a stream from an importer.
    #[must_use]
    pub fn of(session: &Node) -> Self {
        let source = session.text(Field::Source).and_then(|source| Self::parse(&source).ok());
        source.unwrap_or(Self { format: &canonical::FORMAT, version: None })
    }

    /// Returns the version named, or the version that is written by default.
    #[must_use]
    pub fn version(&self) -> &'static Version {
        let usual = self.format.usual.and_then(|usual| self.format.version(usual));
        let named = self.version.or(usual).or(self.format.versions.last());
        named.unwrap_or(&canonical::FORMAT.versions[0])
    }
}
