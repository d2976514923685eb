//! Repair of a run: puts its header first, and removes duplicate records.

use super::About;
use super::messages::content_hash;
use crate::diagnostic::Code;
use crate::format::{Cx, FoundRecord, LineRepair, Reach, Reaches, Records};
use crate::formats::codelia::made::{EPOCH, is_uuid, uuid};
use crate::formats::codelia::wire::TYPES;
use crate::ids::fingerprint;
use crate::json::{Json, is_whole, salvage, text};
use crate::mapping::Object;
use crate::position::Position;
use crate::repair::{Twice, mark, write_marked};
use bytes::Bytes;

/// Recognition and restoration of the records of runs.
pub static RECORDS: Records =
    Records { begins: &[b"{\"type\":\"", b"{\"type\": \""], recognise, restore };

/// Members that a record needs to be of use, by its type.
const NEEDS: &[(&str, &[&str])] = &[
    ("run.start", &["input"]),
    ("run.context", &["context_left_percent"]),
    ("agent.event", &["seq", "event"]),
    ("tool.output", &["tool", "tool_call_id", "result_raw"]),
    ("llm.request", &["seq", "input"]),
    ("llm.response", &["seq", "output"]),
    ("run.status", &["status"]),
    ("run.error", &["error"]),
    ("run.end", &["outcome"]),
];

fn is_text(value: Option<Json>) -> bool {
    value.is_some_and(|value| value.as_bytes().len() > 2 && value.is_string())
}

/// Returns the type of a record.
pub fn kind_of(record: &Json) -> Option<String> {
    record.member("type")?.text()
}

fn is_header(record: &Json) -> bool {
    kind_of(record).is_some_and(|kind| kind == "header")
}

/// Whether an object is a record, not an object from inside a record: those contain no run.
fn recognise(object: &[u8]) -> bool {
    let record = Json::trusted(Bytes::copy_from_slice(object));
    let Some(kind) = kind_of(&record) else { return false };
    let known = kind.starts_with("x.") || TYPES.iter().any(|of| of.wire == kind);
    let dated = is_text(record.member(if kind == "header" { "started_at" } else { "ts" }));
    known && dated && is_text(record.member("run_id"))
}

/// Restores a record from the complete members of a torn one, if those include all that a record of
/// its type needs.
fn restore(torn: &[u8]) -> Option<Vec<u8>> {
    let object = salvage(torn)?;
    let record = Json::trusted(object.clone().into());
    let kind = kind_of(&record)?;
    let (_, needs) = NEEDS.iter().find(|(name, _)| *name == kind)?;
    let whole = needs.iter().all(|name| record.member(name).is_some());
    (whole && recognise(&object)).then_some(object)
}

/// Facts about the run that the first records contain.
#[derive(Debug, Default)]
struct First {
    run: Option<Json>,
    session: Option<Json>,
    time: Option<Json>,
}

/// Headers of a run.
#[derive(Debug, Default)]
struct Header {
    /// First header that has an identifier.
    own: Option<Vec<u8>>,
    at: Position,
    in_place: bool,
    /// Rest of a header that has no identifier, or is torn.
    rest: Option<Vec<u8>>,
    /// Numbers of the records that are headers.
    numbers: Vec<u32>,
    /// Header that is written if none can stay in place.
    new: Vec<u8>,
}

impl Header {
    fn is_kept(&self) -> bool {
        self.own.is_some() && self.in_place
    }
}

/// Repair of a run.
pub struct Run<'a> {
    cx: &'a Cx<'a>,
    stem: String,
    session: Option<String>,
    header: Header,
    first: First,
    twice: Twice,
    copies: Vec<u32>,
    looked: u32,
    written: u32,
    /// Whether a blank line comes first: Codelia looks for the header in the first line only.
    led: bool,
    /// Hashes of the contents of the last answer's messages.
    answer: Vec<u64>,
    ended: bool,
    reaches: Reaches,
}

impl<'a> Run<'a> {
    /// Creates the repair of a part.
    pub fn new(about: &About<'a>) -> Self {
        Self {
            cx: about.cx,
            stem: about.stem().to_owned(),
            session: about.session.map(str::to_owned),
            header: Header::default(),
            first: First::default(),
            twice: Twice::default(),
            copies: Vec::new(),
            looked: 0,
            written: 0,
            led: false,
            answer: Vec::new(),
            ended: false,
            reaches: Reaches::default(),
        }
    }

    /// Returns how much of the run Codelia replays before the repair, and how much after it.
    pub fn reach(&self) -> (Reach, Reach) {
        let readable = self.header.is_kept() && self.header.numbers.first() == Some(&0);
        let before = if readable { self.reaches.before } else { Reach::default() };
        let gone = self.copies.len() as u64;
        let entries = self.reaches.after.entries.saturating_sub(gone);
        (before, Reach { entries, ..self.reaches.after })
    }

    /// Returns the hashes of the last answer, if the run has no end.
    pub fn broken_off(&self) -> Option<&[u64]> {
        (!self.ended).then_some(self.answer.as_slice())
    }

    /// Returns the time at which the run began.
    pub fn time(&self) -> Option<String> {
        self.first.time.as_ref()?.text()
    }

    fn look_at_header(&mut self, place: u32, record: &FoundRecord<'_>, header: &Json) {
        self.header.numbers.push(place);
        if self.header.own.is_some() {
            return;
        }
        self.header.at = record.at;
        self.header.in_place = place == 0 && !self.led;
        if is_text(header.member("run_id")) {
            let mut own = Vec::with_capacity(record.bytes.len());
            match record.repaired {
                Some(code) => mark(record.bytes, code, &mut own),
                None => own.extend_from_slice(record.bytes.trim_ascii_end()),
            }
            self.header.own = Some(own);
        } else {
            self.header.rest = Some(record.bytes.trim_ascii().to_vec());
        }
    }

    /// Rebuilds a header from the rest of the old one, from file names, and from records.
    fn rebuilt(&self) -> Vec<u8> {
        let left = self.header.rest.clone().map(|left| Json::trusted(left.into()));
        let kept = |key: &str| left.as_ref().and_then(|left| left.member(key));
        let named = || is_uuid(&self.stem).then(|| Json::string(&self.stem));
        let run = self.first.run.clone().or_else(named);
        let session = || self.session.as_ref().map(|id| Json::string(id));
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        let mut put = |key: &str, value: Option<Json>| {
            value.into_iter().for_each(|value| object.member(key, value.as_bytes()));
        };
        put("type", Some(Json::constant("\"header\"")));
        put("schema_version", kept("schema_version").or(Some(Json::constant("1"))));
        put("run_id", run.or_else(|| Some(Json::string(&uuid(self.stem.as_bytes())))));
        put(
            "session_id",
            kept("session_id").or_else(|| self.first.session.clone()).or_else(session),
        );
        let time = kept("started_at").or_else(|| self.first.time.clone());
        put("started_at", time.or_else(|| Some(Json::string(EPOCH))));
        const KNOWN: [&str; 5] = ["type", "schema_version", "run_id", "session_id", "started_at"];
        for (key, value) in left.iter().flat_map(Json::members) {
            if !KNOWN.iter().any(|known| text::is(key, known)) {
                object.spelled(key, value);
            }
        }
        object.close();
        let mut marked = Vec::new();
        mark(&out, Code::HeaderRebuilt, &mut marked);
        marked
    }
}

impl LineRepair for Run<'_> {
    fn look(&mut self, record: &FoundRecord<'_>) -> bool {
        let bytes = record.bytes.trim_ascii();
        if !is_whole(bytes) || bytes.first() != Some(&b'{') {
            return false;
        }
        let place = self.looked;
        self.looked += 1;
        let line = Json::trusted(Bytes::copy_from_slice(bytes));
        let kind = kind_of(&line).unwrap_or_default();
        let unlike = line.member("ts").is_some() && NEEDS.iter().any(|(name, _)| *name == kind);
        self.twice.record(fingerprint(bytes), unlike);
        if is_header(&line) {
            self.look_at_header(place, record, &line);
        } else {
            let First { run, session, time } = &mut self.first;
            for (known, key) in [(run, "run_id"), (session, "session_id"), (time, "ts")] {
                *known =
                    known.take().or_else(|| line.member(key).filter(|v| is_text(Some(v.clone()))));
            }
        }
        match kind.as_str() {
            "run.end" => self.ended = true,
            "llm.response" => {
                let messages = line.member("output").and_then(|output| output.member("messages"));
                let messages = messages.iter().flat_map(Json::elements);
                self.answer = messages.filter_map(|message| content_hash(&message)).collect();
            }
            _ => {}
        }
        let says = matches!(kind.as_str(), "run.start" | "llm.response");
        self.reaches.count(says, record.read);
        true
    }

    fn blank(&mut self) {
        self.led |= self.looked == 0;
    }

    fn quarantined(&mut self, bytes: &[u8], code: Code) {
        let left = if code == Code::TornRecord { salvage(bytes) } else { None };
        if let Some(left) = left.filter(|left| is_header(&Json::trusted(left.clone().into()))) {
            self.header.rest.get_or_insert(left);
        }
    }

    fn needs_another_pass(&mut self) -> bool {
        if !self.ended {
            self.cx.report_at(Code::NoRunEnd, Position::default());
        }
        self.copies = self.twice.copies();
        self.copies.retain(|place| self.header.numbers.binary_search(place).is_err());
        self.header.new = match &self.header.own {
            Some(own) => own.clone(),
            None => self.rebuilt(),
        };
        false
    }

    fn changes(&self) -> bool {
        !self.header.is_kept() || self.removes()
    }

    fn removes(&self) -> bool {
        !self.copies.is_empty()
            || self.header.numbers.len() > 1
            || (self.header.own.is_none() && !self.header.numbers.is_empty())
    }

    /// Writes a header that cannot be left where it is.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.header.is_kept() {
            return;
        }
        out.extend_from_slice(&self.header.new);
        out.push(b'\n');
        let (code, at) = match self.header.own {
            Some(_) => (Code::HeaderMoved, self.header.at),
            None => (Code::HeaderRebuilt, Position { line: 1, ..Position::default() }),
        };
        self.cx.report_at(code, at);
    }

    fn write(&mut self, record: &FoundRecord<'_>, out: &mut Vec<u8>) -> Option<Code> {
        let place = self.written;
        self.written += 1;
        if self.header.numbers.binary_search(&place).is_ok() {
            let own = self.header.own.as_deref() == Some(record.bytes.trim_ascii_end());
            return match (self.header.is_kept(), place == 0, own) {
                (true, true, _) => {
                    write_marked(record, out);
                    None
                }
                // This header was written before all other records.
                (false, _, true) if self.header.at == record.at => None,
                (.., same) => {
                    let code = match (same, &self.header.own) {
                        (true, _) => Code::DuplicateRemoved,
                        (false, Some(_)) => Code::HeaderRemoved,
                        (false, None) => Code::HeaderRebuilt,
                    };
                    if code != Code::HeaderRebuilt {
                        self.cx.report_at(code, record.at);
                    }
                    Some(code)
                }
            };
        }
        if self.copies.binary_search(&place).is_ok() {
            self.cx.report_at(Code::DuplicateRemoved, record.at);
            return Some(Code::DuplicateRemoved);
        }
        write_marked(record, out);
        None
    }
}
