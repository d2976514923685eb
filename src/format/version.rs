//! Versions of a format, and the steps between them.

use crate::record::Kind;

/// One version of a format.
#[derive(Debug)]
pub struct Version {
    /// Number after the `@`.
    pub number: u32,
    /// One line for `copyist formats`.
    pub summary: &'static str,
    /// JSON Schema of one record.
    pub schema: &'static str,
    /// Whether sessions are trees; a linear version holds one branch.
    pub tree: bool,
    /// The kinds of records that it can hold.
    pub kinds: &'static [Kind],
}

/// One step of migration from one version to the next, described for users.
#[derive(Debug)]
pub struct Step {
    /// The older version.
    pub from: u32,
    /// The newer version.
    pub to: u32,
    /// Change that the step makes, in one line.
    pub summary: &'static str,
}
