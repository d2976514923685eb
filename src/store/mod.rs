//! The world outside: files that are read, and files that are written so that a crash at any
//! moment leaves either the old contents or the new.

mod check;
mod copies;
mod input;
mod lock;
mod mended;
mod meter;
mod output;
mod place;
mod shared;
mod tail;
mod temporary;

pub use copies::Copies;
pub use input::{Among, Fingerprint, Input};
pub use mended::mend;
pub use meter::{Meter, Tally};
pub use output::{BACKUP, Backup, Destination, Output, Policy};
pub use tail::last_line;
pub use temporary::{Swept, TEMPORARY};
