//! Sessions of all agents on this machine: the folders that contain them, a summary of each, and the
//! search for one by name.

mod cache;
mod converting;
mod families;
mod find;
mod mention;
mod onward;
mod pack;
mod places;
mod relocation;
mod selection;
mod spelled;
mod spending;
mod succession;
mod summary;
mod survey;
mod trimming;

pub use cache::Cache;
pub use converting::Failed;
pub use families::count_once;
pub use find::{Search, SessionName, family_of, find, meant};
pub use mention::Mention;
pub use onward::{Onward, Recipient, Way, beginning_at, largest_of, onward, tokens_of};
pub use pack::{Arrival, Base, Manifest, Pack, Packed, PackedFile, PackedSession, Ready};
pub use places::{HomeFolder, SessionPlace, contains, in_projects, places};
pub use relocation::{Relocation, Row, relocation};
pub use selection::{Selection, Sort, since};
pub use spending::{By, Days, Group, Price, Prices, spending};
pub use succession::{OlderHome, Succession};
pub use summary::{State, Summary};
pub use survey::{Listed, survey, survey_projects};
pub use trimming::{Limits, Size, TrimmedPlace, Trimming, trim};
