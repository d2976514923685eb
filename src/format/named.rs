//! Data by which formats name sessions.

use crate::record::Node;
use std::fmt::Debug;

/// Folder in which a software keeps its sessions, on this machine.
pub trait Home: Debug + Send + Sync {
    /// Reads the beginning of a text file, up to [`BEGINNING`] bytes, by its path from the folder,
    /// with `/` between its pieces; `None` where there is none.
    fn read(&self, path: &str) -> Option<String>;

    /// Lists the names of what is in a folder, by its path.
    fn names(&self, path: &str) -> Vec<String>;
}

/// Number of bytes that are read of a file.
pub const BEGINNING: u64 = 1 << 20;

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
    pub home: Option<&'n dyn Home>,
}
