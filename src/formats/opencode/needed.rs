//! Members without which `opencode import` refuses a document, and their usual values.
//!
//! Source: what release 1.18.33 refuses of documents in which one member after the other was left
//! out. Sessions of 1.0 have no `slug`, and no `agent` in answers.

use super::part::is;
use crate::document::Changes;
use crate::json::Json;
use bytes::Bytes;

/// A member that an import demands, and its usual value.
type Needed = (&'static str, &'static str);

const INFO: &[Needed] = &[
    ("slug", "\"copied-session\""),
    ("title", "\"Untitled\""),
    ("version", "\"1.0.0\""),
    ("time", "{\"created\":0,\"updated\":0}"),
];
const USER: &[Needed] = &[
    ("agent", "\"build\""),
    ("model", "{\"providerID\":\"unknown\",\"modelID\":\"unknown\"}"),
    ("time", "{\"created\":0}"),
];
const ASSISTANT: &[Needed] = &[
    ("parentID", "\"msg_0\""),
    ("mode", "\"build\""),
    ("agent", "\"build\""),
    ("path", "{\"cwd\":\"/\",\"root\":\"/\"}"),
    ("cost", "0"),
    ("tokens", "{\"input\":0,\"output\":0,\"reasoning\":0,\"cache\":{\"read\":0,\"write\":0}}"),
    ("modelID", "\"unknown\""),
    ("providerID", "\"unknown\""),
    ("time", "{\"created\":0}"),
];
const REASONING: &[Needed] = &[("time", "{\"start\":0,\"end\":0}")];
const PENDING: &[Needed] = &[("input", "{}"), ("raw", "\"\"")];
const RUNNING: &[Needed] = &[("input", "{}"), ("time", "{\"start\":0}")];
const COMPLETED: &[Needed] = &[
    ("input", "{}"),
    ("output", "\"\""),
    ("title", "\"\""),
    ("metadata", "{}"),
    ("time", "{\"start\":0,\"end\":0}"),
];
const FAILED: &[Needed] =
    &[("input", "{}"), ("error", "\"\""), ("time", "{\"start\":0,\"end\":0}")];

/// Returns a document without its messages, completed.
pub fn complete_frame(text: Bytes) -> Bytes {
    completed(text, frame)
}

/// Returns a message, completed.
pub fn complete_message(text: Bytes) -> Bytes {
    completed(text, message)
}

fn completed(text: Bytes, complete: fn(&Json, &mut Changes<'_>)) -> Bytes {
    let json = Json::trusted(text.clone());
    let mut changes = Changes::of(&json);
    complete(&json, &mut changes);
    changes.apply().map_or(text, Bytes::from)
}

/// Completes what describes the session.
pub fn frame(document: &Json, changes: &mut Changes<'_>) {
    document.member("info").iter().for_each(|info| changes.add(info, INFO));
}

/// Completes a message.
pub fn message(item: &Json, changes: &mut Changes<'_>) {
    if let Some(info) = item.member("info") {
        let user = is(info.member("role").as_ref(), "user");
        changes.add(&info, if user { USER } else { ASSISTANT });
    }
    for part in item.member("parts").unwrap_or_default().elements() {
        if is(part.member("type").as_ref(), "reasoning") {
            changes.add(&part, REASONING);
        }
        let Some(state) = part.member("state") else { continue };
        match state.member("status").and_then(|status| status.text()).as_deref() {
            Some("pending") => changes.add(&state, PENDING),
            Some("running") => changes.add(&state, RUNNING),
            Some("completed") => changes.add(&state, COMPLETED),
            Some("error") => changes.add(&state, FAILED),
            _ => {}
        }
    }
}
