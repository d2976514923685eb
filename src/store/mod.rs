//! File access: reading files, and writing files so that a crash at any moment leaves either the
//! old contents or the new ones.

mod back;
mod barrier;
mod check;
mod claims;
mod copies;
mod destination;
mod exchange;
mod family;
mod fingerprint;
mod input;
mod journal;
mod limits;
mod lock;
mod meter;
mod origin;
mod output;
mod packed;
mod place;
mod repaired;
mod sealed;
mod shared;
mod spool;
mod tail;
mod temporary;
mod turns;

pub use back::{Back, Restorer};
pub use check::check_no_pipe;
pub use claims::{Claims, real, real_folder};
pub use copies::Copies;
pub use destination::{BACKUP, Backup, Destination, Policy, below, folder_of};
pub use exchange::exchange;
pub use fingerprint::Fingerprint;
pub use input::{Among, Input};
pub use journal::{Entry, Header, Journal, Name, State, read as read_journal};
pub use limits::{make_room, most_workers, spare_files};
pub use meter::{Meter, Tally};
pub use origin::{ORIGIN, is_alone, is_origin, origin_of, target_beside};
pub use output::{Output, Replaced};
pub use packed::{Packing, plain_name, text_of};
pub use place::other_names;
pub use repaired::mend;
pub use sealed::{Placed, Sealed, hash, put};
pub use tail::last_line;
pub use temporary::{Swept, TEMPORARY};
pub use turns::{Turn, WAITING};
