//! Runs over many sessions: finding them, naming their outputs, processing them in parallel, and
//! recording the results.

mod account;
mod beside;
mod commit;
mod copies;
mod filter;
mod found;
mod group;
mod identity;
mod inputs;
mod join;
mod merge;
mod names;
mod passed;
mod place;
mod planned;
mod refused;
mod repaired;
mod report;
mod reported_path;
mod richer;
mod settings;
mod share;
mod task;
mod undo;
mod verdict;
mod walk;
mod workers;

pub use account::{Account, Earlier, OpenedJournal, root};
pub use commit::{Commit, Done, Over};
pub use copies::Copies;
pub use filter::{Filter, Pattern};
pub use found::{Found, Opened, ReadOptions, ruin};
pub use group::{Gather, group};
pub use inputs::{Job, JobSource, Listed, Passed, Whole, stem};
pub use join::{Joining, join};
pub use names::{Name, Namer};
pub use place::Place;
pub use planned::{Planned, planned};
pub use report::{FailOn, FileReport, Outcome, RunReport, Skip, Summary};
pub use reported_path::ReportedPath;
pub use share::{Share, decoded, encoded, portions};
pub use task::{Action, RepairSettings, Task};
pub use undo::{Undone, undo};
pub use walk::{Written, expand};
pub use workers::{Workers, threads, threads_in_turn};
