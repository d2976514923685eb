//! Matching of the file with the source, by way of the base: the base's records are matched with
//! both.

pub mod align;
pub mod branches;
pub mod call_names;
pub mod compactions;
pub mod context_edits;
pub mod copies;
pub mod outcomes;
pub mod parent_links;
pub mod rewritten_history;
pub mod shared_answers;
pub mod unsaved_run;
