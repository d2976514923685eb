//! Files in a folder that all sessions of a software share.

use super::Format;

/// Place of a file in the folder in which its software keeps all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the part: the end of its path, below that folder, beginning with a `/`.
    pub part: String,
    /// The session that it belongs to; `None` for a file that all of them share.
    pub session: Option<String>,
    /// The version of the format that has such files; the highest one is the session's version.
    pub version: u32,
}

impl Format {
    /// Whether sessions share the part of this name.
    #[must_use]
    pub fn is_shared(&self, name: &str) -> bool {
        let member = self.files.shared.and_then(|shared| (shared.member)(name, &mut Vec::new));
        member.is_some_and(|member| member.session.is_none())
    }

    /// Whether a session with these parts is in a store that is only read.
    #[must_use]
    pub fn is_only_read(&self, parts: &[String]) -> bool {
        let is_only_read = self.files.shared.map(|shared| shared.is_only_read);
        is_only_read.is_some_and(|is_only_read| parts.iter().any(|name| is_only_read(name)))
    }
}
