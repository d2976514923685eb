//! Data by which formats name sessions.

use crate::record::Node;

/// Data by which a session is named.
#[derive(Clone, Copy, Debug)]
pub struct Named<'n> {
    /// The session's record.
    pub session: &'n Node,
    /// The user's first question.
    pub question: Option<&'n str>,
    /// Name of the output without naming by its software.
    pub stem: &'n str,
    /// The version that was written.
    pub version: u32,
    /// Place of this session among those that would have one name, counted from 1. A session
    /// without a number of its own gets this number behind its name.
    pub nth: u64,
}
