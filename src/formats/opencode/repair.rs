//! Repair of export documents: of damage, and of members without which an import is refused.

use super::needed;
use super::{PATH, files, second};
use crate::diagnostic::Code;
use crate::document::{self, Changes, Rules};
use crate::error::{Error, Result};
use crate::format::{Cx, Parts, RepairIo, RepairOptions, Repaired};
use crate::json::{Json, member};
use bytes::Bytes;

static RULES: Rules = Rules {
    path: PATH,
    recognise: |item| ["info", "parts"].iter().all(|name| member(item, name).is_some()),
    lacks: |document, wanted| {
        let has = |name: &str| document.member(name).is_some();
        let named = || wanted.name.split('.').next().filter(|name| name.starts_with("ses_"));
        let info = named().map(|id| format!("{{\"info\":{{\"id\":\"{id}\"}}"));
        match (has("info"), has("messages"), info) {
            (true, true, _) => Some(Json::constant("{}")),
            (true, false, _) => Some(Json::constant("{\"messages\":[]}")),
            (false, _, info) => {
                let list = if has("messages") { "}" } else { ",\"messages\":[]}" };
                info.map(|info| Json::trusted((info + list).into_bytes().into()))
            }
        }
    },
    complete: Some(complete),
    notes_in: None,
};

/// Repairs a document.
///
/// # Errors
/// If nothing of it can be recovered, reading or writing fails, or the session is in a store.
pub fn repair(io: &mut dyn RepairIo, wanted: &RepairOptions, cx: &Cx<'_>) -> Result<Repaired> {
    let names = io.parts().names();
    io.parts().keep()?;
    let is_second = |parts: &mut dyn Parts| match files::document(&names) {
        Some(name) => second::is_document(parts, name),
        None => Ok(false),
    };
    if super::FORMAT.is_only_read(&names) || is_second(io.parts())? {
        let message = "a store is only read: `copyist convert --to opencode` makes a document of \
                       the session, which can be repaired";
        return Err(Error::request(Code::StoreOnlyRead, message));
    }
    document::repair(&RULES, io, wanted, cx)
}

/// Adds what an import demands and a document lacks, and dates messages of the future now, if the
/// session is to be continued: behind one, the program never ends a prompt. Returns the fixes; none
/// if nothing is to be changed.
fn complete(text: &[u8], wanted: &RepairOptions, cx: &Cx<'_>) -> Option<(Vec<u8>, Vec<Code>)> {
    let document = Json::trusted(Bytes::copy_from_slice(text));
    let mut changes = Changes::of(&document);
    needed::frame(&document, &mut changes);
    let latest = cx.options.latest.filter(|_| wanted.resumable);
    let mut is_dated = false;
    for item in document.member("messages").unwrap_or_default().elements() {
        needed::message(&item, &mut changes);
        let info = item.member("info").unwrap_or_default();
        let created = info.member("time").and_then(|time| time.member("created"));
        let is_late =
            |(time, latest): &(Json, i64)| time.float().is_some_and(|time| time > *latest as f64);
        if let Some((time, latest)) = created.zip(latest).filter(is_late) {
            changes.set(&time, latest.to_string().as_bytes());
            is_dated = true;
        }
    }
    let codes =
        [changes.is_added().then_some(Code::MemberRestored), is_dated.then_some(Code::TimeReached)];
    Some((changes.apply()?, codes.into_iter().flatten().collect()))
}
