//! Lines that ConnectOnion adds to a session by itself, or that other programs add to its files.
//!
//! Source: sessions of releases 0.5.0 to 1.9.2. Turns have places in other formats, comments have
//! none.

use crate::record::{Kind, Record};

/// Returns what a line is that has no place in another format.
pub fn addition(record: &Record) -> Option<&'static str> {
    Some(match record.kind {
        Kind::Notice => "comment",
        Kind::Opaque => "other item",
        _ => return None,
    })
}
