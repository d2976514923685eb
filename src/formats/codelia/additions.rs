//! Lines that Codelia adds to a run by itself.
//!
//! Source: runs of revision 3fe5dc9 to release 0.1.80. Requests, states and outcomes belong to a run and go
//! where it goes.

use crate::record::{Kind, Record};

/// Returns what a line is that Codelia adds by itself.
pub fn addition(record: &Record) -> Option<&'static str> {
    Some(match record.kind {
        Kind::Event => "event",
        Kind::RunContext => "context size",
        Kind::Opaque => "other line",
        _ => return None,
    })
}
