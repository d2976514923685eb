//! Data by which formats name sessions.

use crate::record::Node;
use std::path::Path;

/// Folder in which a software keeps its sessions, on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Home<'n>(pub Option<&'n Path>);

impl Home<'_> {
    /// Reads a text file by its path from the folder, with `/` between its pieces; `None` where
    /// there is none.
    #[must_use]
    pub fn read(&self, path: &str) -> Option<String> {
        let path = path.split('/').fold(self.0?.to_owned(), |folder, piece| folder.join(piece));
        std::fs::read_to_string(path).ok()
    }
}

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
    /// The folder in which the name is to be found, if it is known: the software may have given a
    /// project a folder there.
    pub home: Home<'n>,
}
