//! Residue: what a target cannot express, carried in its files, and what comes back of it.
//!
//! A session that is converted is written first and read again as any file of its target. Each
//! record of the source is then noted as what the target's records do not tell of it
//! (`template`), in chunks (`pack`) for which the format has a place
//! ([`Carrier`](crate::format::Carrier)). So formats know nothing of each other, and what their
//! writers leave out needs no list.
//!
//! When such a file is read, its records are compared with what they were by their hashes. What
//! is the same gives the source's record exactly. What was edited gives the edit, with what only
//! the residue tells around it; what was deleted is gone; what is new follows. In the end the
//! session must say to a model what the file itself says, or the residue is not used: nobody sees
//! it, so nothing may hide in it.

mod align;
mod anew;
mod asked;
mod back;
mod blocks;
mod condensed;
mod cut;
mod differing;
mod fates;
mod fill;
mod forms;
mod home;
mod instead;
mod kin;
mod left;
mod merge;
mod note;
mod outline;
mod pack;
mod places;
mod print;
mod retold;
mod said;
mod share;
mod shelf;
mod signed;
mod stage;
mod tail;
mod template;
mod turned;
mod unsaved;
mod words;

pub use merge::{Merged, Source, between, is_heard, merge, says_the_same, strip};
pub use note::{Noted, Trace, note};
pub(crate) use pack::Chunks;
pub use pack::{refused, refused_for};
pub use stage::{Stage, Staged};
