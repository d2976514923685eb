//! Origins: files from which the source of a converted session is restored.
//!
//! A conversion writes its target as the target's own agent would, and the source's canonical
//! stream, compressed, into a file of its own beside it (`file`). Converting the target back
//! restores the source: verbatim where the target is as it was written. Where it was edited, the
//! stream is written once more, as the base. Base and file are matched record by record
//! (`matching`), and each difference is an edit of the source (`merge`). In the end the session
//! must show to a model what the file itself shows (`guard`); otherwise the origin is not used, as
//! it may come from anyone.
//!
//! The formats know nothing of origins, except beside which of their files an origin is.

mod archive;
mod base;
mod damage;
mod digest;
mod file;
mod file_records;
mod frame;
mod guard;
mod keep;
mod matching;
mod merge;
mod pair;
mod record_hash;
mod record_key;
mod record_store;
mod restore;
mod stream_edits;
mod trimmed;
mod unlost;

pub use archive::{Measuring, Writing as Archive, contents, digest_of, read as read_archive};
pub use base::Trace;
pub use digest::{Digest, Measure};
pub use file::{Header, Origin, Source as Unpacked, copy, rejected, write_stream};
pub use guard::{Source, has_same_content, is_confirmed};
pub use keep::{Keep, Kept, Measured};
pub use pair::{Before, Since, header_of, pair, source_before, target_before};
pub use record_store::RecordStore;
pub use restore::{Edit, Restored, look, rejected_for, restore, stream_of};
pub use trimmed::{is_trimmed_from, keep_whole, trimmed, whole};
pub use unlost::{Unlost, unlost};
