//! Repair of a session.

use super::{line, wire};
use crate::error::Result;
use crate::format::{Cx, Records, RepairIo, RepairOptions, Repaired};
use crate::json::{Json, member, salvage};
use crate::repair::{PlainLines, repair_lines};
use bytes::Bytes;

static RULES: PlainLines = PlainLines {
    records: Records { begins: &[b"{\"type\":\""], recognise: super::is_event, restore },
    is_header: |record| {
        Json::read(&Bytes::copy_from_slice(record)).is_ok_and(|record| line::is_start(&record))
    },
    header: |wanted| {
        let _ = wire::START;
        format!(r#"{{"type":"session.start","data":{{"sessionId":{:?}}}}}"#, wanted.folder).into_bytes()
    },
};

fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    salvage(torn).filter(|object| super::is_event(object) && member(object, "data").is_some())
}

/// Repairs a session.
pub fn repair(bench: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    repair_lines(&RULES, bench, wanted, cx)
}
