//! Repair of sessions.
use super::wire;
use crate::error::Result;
use crate::format::{Cx, Records, RepairIo, RepairOptions, Repaired};
use crate::json::salvage;
use crate::repair::{PlainLines, repair_lines};
static RULES: PlainLines = PlainLines {
    records: Records { begins: &[b"{\"id\":\"", b"{\"$set\":{", b"{\"sessionId\":\""], recognise, restore },
    is_header: wire::is_header,
    header: |_| br#"{"sessionId":"","projectHash":""}"#.to_vec(),
};
fn recognise(object: &[u8]) -> bool {
    wire::is_header(object) || wire::is_of_log(object)
}
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    salvage(torn).filter(|object| recognise(object))
}
/// Repairs a session.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    repair_lines(&RULES, io, wanted, cx)
}
