//! Sessions of all agents on this machine: the folders that contain them, a summary of each, and the
//! search for one by name.

mod cache;
mod find;
mod mention;
mod onward;
mod places;
mod selection;
mod summary;
mod survey;

pub use cache::Cache;
pub use find::{Search, could_name, find};
pub use mention::Mention;
pub use onward::{Failed, Onward, Recipient, Way, Writes, onward, tokens_of};
pub use places::{Place, places};
pub use selection::{Selection, Sort, since};
pub use summary::{State, Summary};
pub use survey::{Listed, survey};
