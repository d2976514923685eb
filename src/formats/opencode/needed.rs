//! Members without which `opencode import` refuses a document, and their usual values.
//!
//! Source: what release 1.18.33 refuses of documents in which one member after the other was left
//! out. Sessions of 1.0 have no `slug`, and no `agent` in answers.

use super::part::is;
use crate::json::{Json, Span};
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
pub fn complete_frame(frame: Bytes) -> Bytes {
    completed(frame, |edits, frame| edits.frame(frame))
}

/// Returns a message, completed.
pub fn complete_message(item: Bytes) -> Bytes {
    completed(item, |edits, item| edits.message(item, None))
}

fn completed(text: Bytes, add: impl Fn(&mut Edits<'_>, &Json)) -> Bytes {
    let json = Json::trusted(text.clone());
    let mut edits = Edits::of(&json);
    add(&mut edits, &json);
    edits.apply().map_or(text, Bytes::from)
}

/// Changes of a document, or of a part of one.
pub struct Edits<'d> {
    document: &'d Json,
    places: Vec<(Span, Vec<u8>)>,
    /// Whether a time is changed.
    pub is_dated: bool,
}

impl<'d> Edits<'d> {
    /// Begins without a change.
    pub fn of(document: &'d Json) -> Self {
        Self { document, places: Vec::new(), is_dated: false }
    }

    /// Whether a member is added.
    pub fn is_added(&self) -> bool {
        self.places.iter().any(|(place, _)| place.start == place.end)
    }

    /// Returns the text with the changes; `None` if there are none.
    pub fn apply(mut self) -> Option<Vec<u8>> {
        if self.places.is_empty() {
            return None;
        }
        let text = self.document.as_bytes();
        self.places.sort_by_key(|(place, _)| place.start);
        let (mut out, mut from) = (Vec::with_capacity(text.len()), 0);
        for (place, put) in self.places {
            out.extend_from_slice(text.get(from..place.start).unwrap_or_default());
            out.extend_from_slice(&put);
            from = place.end;
        }
        out.extend_from_slice(text.get(from..).unwrap_or_default());
        Some(out)
    }

    /// Completes what describes the session.
    pub fn frame(&mut self, document: &Json) {
        document.member("info").iter().for_each(|info| self.add(info, INFO));
    }

    /// Completes a message. One that is later than `latest` is dated then.
    pub fn message(&mut self, item: &Json, latest: Option<i64>) {
        if let Some(info) = item.member("info") {
            let user = is(info.member("role").as_ref(), "user");
            self.add(&info, if user { USER } else { ASSISTANT });
            let created = info.member("time").and_then(|time| time.member("created"));
            self.date(created.as_ref(), latest);
        }
        for part in item.member("parts").unwrap_or_default().elements() {
            if is(part.member("type").as_ref(), "reasoning") {
                self.add(&part, REASONING);
            }
            let Some(state) = part.member("state") else { continue };
            match state.member("status").and_then(|status| status.text()).as_deref() {
                Some("pending") => self.add(&state, PENDING),
                Some("running") => self.add(&state, RUNNING),
                Some("completed") => self.add(&state, COMPLETED),
                Some("error") => self.add(&state, FAILED),
                _ => {}
            }
        }
    }

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
            self.is_dated = true;
        }
    }
}
