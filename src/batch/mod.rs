//! Many sessions: finding them, naming their outputs, working on them side by side, and keeping
//! account.

mod filter;
mod inputs;
mod names;
mod report;
mod task;
mod workers;

pub use filter::{Filter, Pattern};
pub use inputs::{Job, Origin, expand};
pub use names::Namer;
pub use report::{FileReport, Outcome, RunReport, Summary};
pub use task::{Action, FailOn, Place, Task};
pub use workers::each;
