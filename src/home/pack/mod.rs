//! Sessions in one file that goes to another machine: a tar archive in one Zstandard stream.
//!
//! The archive contains the files of each session as its agent names them, in a folder of its own,
//! `sessions/0`, `sessions/1` and so on, and at its end `manifest.json`: what the sessions are, from
//! where they come, and the hash of each file. `tar --zstd -tf FILE` lists them.

mod install;
mod make;
mod open;

pub use install::{Arrival, Ready};
pub use make::Pack;
pub use open::Packed;

use crate::origin::Digest;
use serde::{Deserialize, Serialize};

/// Description of a pack, in its last member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this description.
    pub copyist_pack: u32,
    /// The user's own folder where the pack was made, if it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// The sessions, in the order of their folders.
    pub sessions: Vec<PackedSession>,
}

impl Manifest {
    /// Name of the member.
    const NAME: &'static str = "manifest.json";
    /// The version that is written and read.
    const VERSION: u32 = 1;
}

/// A session in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedSession {
    /// The format, such as `codex`.
    pub agent: String,
    /// The identifier.
    pub id: String,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The folder to which the files belong.
    pub base: Base,
    /// The files, with paths below that folder.
    pub files: Vec<PackedFile>,
}

/// The folder to which the files of a session belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// The folder of the agent's sessions.
    Agent,
    /// The folder of the project.
    Project,
}

/// A file in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedFile {
    /// The path below the base, with `/` between its pieces.
    pub path: String,
    /// The length and the hash.
    #[serde(flatten)]
    pub digest: Digest,
}

/// Returns the folder of a session in the archive.
fn folder(number: usize) -> String {
    format!("sessions/{number}")
}
