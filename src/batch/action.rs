//! The operations that a task can apply to inputs.

use crate::context::Request;
use crate::format::RepairOptions;
use crate::formats::Spec;
use crate::{inspect, show};
use std::path::PathBuf;

/// The operation of a task.
#[derive(Clone, Debug)]
pub enum Action {
    /// Migrates to a version; without a version to the newest one of the input's format.
    Migrate(Option<Spec>),
    /// Converts to a format.
    Convert(Spec),
    /// Checks for errors, and reports at most this number of them in words.
    Validate(usize),
    /// Detects the format.
    Detect,
    /// Prints the messages that would be sent to a model.
    Context(Request),
    /// Shows the session's contents in numbers and as a tree.
    Inspect(inspect::Request),
    /// Writes a view of the session.
    View(show::Request),
    /// Repairs damaged sessions.
    Repair(RepairSettings),
}

/// Options for repairing sessions.
#[derive(Clone, Debug, Default)]
pub struct RepairSettings {
    /// The user's repair options for each session.
    pub wanted: RepairOptions,
    /// The place of the quarantine file, if the user named one.
    pub quarantine: Option<PathBuf>,
}
