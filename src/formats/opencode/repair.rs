//! Repair of export documents: of damage, and of members without which an import is refused.

use super::PATH;
use super::part::is;
use crate::diagnostic::Code;
use crate::document::{self, Rules};
use crate::error::{Error, Result};
use crate::format::{Cx, RepairIo, RepairOptions, Repaired};
use crate::json::{Json, Span, member};
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
    if io.parts().names().iter().any(|name| !name.is_empty()) {
        let message = "a store is only read: `copyist convert --to opencode` makes a document of \
                       the session, which can be repaired";
        return Err(Error::request(Code::StoreOnlyRead, message));
    }
    document::repair(&RULES, io, wanted, cx)
}

/// Member that an import demands, and its usual value.
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

/// Adds what an import demands and a document lacks, and dates messages of the future now, if the
/// session is to be continued: behind one, the program never ends a prompt. Returns the fixes; none
/// if nothing is to be changed.
fn complete(text: &[u8], wanted: &RepairOptions, cx: &Cx<'_>) -> Option<(Vec<u8>, Vec<Code>)> {
    let document = Json::trusted(Bytes::copy_from_slice(text));
    let mut edits = Edits { document: &document, places: Vec::new(), dated: false };
    document.member("info").iter().for_each(|info| edits.add(info, INFO));
    for item in document.member("messages").unwrap_or_default().elements() {
        if let Some(info) = item.member("info") {
            let user = is(info.member("role").as_ref(), "user");
            edits.add(&info, if user { USER } else { ASSISTANT });
            let created = info.member("time").and_then(|time| time.member("created"));
            edits.date(created.as_ref(), cx.options.latest.filter(|_| wanted.resumable));
        }
        for part in item.member("parts").unwrap_or_default().elements() {
            if is(part.member("type").as_ref(), "reasoning") {
                edits.add(&part, REASONING);
            }
            let Some(state) = part.member("state") else { continue };
            match state.member("status").and_then(|status| status.text()).as_deref() {
                Some("pending") => edits.add(&state, PENDING),
                Some("running") => edits.add(&state, RUNNING),
                Some("completed") => edits.add(&state, COMPLETED),
                Some("error") => edits.add(&state, FAILED),
                _ => {}
            }
        }
    }
    let Edits { mut places, dated, .. } = edits;
    if places.is_empty() {
        return None;
    }
    let added = places.iter().any(|(place, _)| place.start == place.end);
    places.sort_by_key(|(place, _)| place.start);
    let (mut out, mut from) = (Vec::with_capacity(text.len()), 0);
    for (place, put) in places {
        out.extend_from_slice(text.get(from..place.start).unwrap_or_default());
        out.extend_from_slice(&put);
        from = place.end;
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    let codes = [added.then_some(Code::MemberRestored), dated.then_some(Code::TimeReached)];
    Some((out, codes.into_iter().flatten().collect()))
}

/// Changes of a document.
struct Edits<'d> {
    document: &'d Json,
    places: Vec<(Span, Vec<u8>)>,
    /// Whether a time is changed.
    dated: bool,
}

impl Edits<'_> {
    /// Adds the members that an object lacks.
    fn add(&mut self, object: &Json, needed: &[Needed]) {
        if !object.as_bytes().starts_with(b"{") {
            return;
        }
        let end = self.document.place_of(object).end.saturating_sub(1);
        let mut is_empty = object.members().next().is_none();
        let mut put = Vec::new();
        for (name, value) in needed {
            if object.member(name).is_none() {
                let comma = if std::mem::take(&mut is_empty) { "" } else { "," };
                put.extend_from_slice(format!("{comma}\"{name}\":{value}").as_bytes());
            }
        }
        if !put.is_empty() {
            self.places.push((Span { start: end, end }, put));
        }
    }

    /// Changes a time that is later than now.
    fn date(&mut self, time: Option<&Json>, latest: Option<i64>) {
        let late = time
            .zip(latest)
            .filter(|(time, latest)| time.float().is_some_and(|time| time > *latest as f64));
        if let Some((time, latest)) = late {
            self.places.push((self.document.place_of(time), latest.to_string().into_bytes()));
            self.dated = true;
        }
    }
}
