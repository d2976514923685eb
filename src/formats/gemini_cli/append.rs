//! Lines of messages that are added to a session.

use super::usual::Usual;
use super::write::{Answers, is_own};
use super::{LOG, message, read};
use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Appender, Cx, Options};
use crate::record::{Field, Kind, Record};

/// Returns what a record is that the program adds by itself.
pub fn addition(record: &Record) -> Option<&'static str> {
    match record.kind {
        Kind::Notice => Some("record of the log"),
        Kind::Event => Some("copy of results"),
        _ => None,
    }
}

/// Opens a session behind its record. Results of the last answer change its line, so none can be
/// added to it.
pub fn open(_: &Record, _: u32) -> Option<Box<dyn Appender>> {
    None
}
