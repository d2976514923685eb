//! Lists of projects that agents keep.

/// Text file in which software keeps paths of projects.
#[derive(Debug)]
pub struct List {
    /// The path from the folder of all sessions.
    pub path: &'static str,
    /// Names of members whose values are paths.
    pub members: &'static [&'static str],
    /// Names of members whose own members have paths as their names.
    pub keyed: &'static [&'static str],
}
