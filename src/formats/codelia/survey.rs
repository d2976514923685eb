//! First reading of a run: finds the outputs of tools that the model was shown in another form.
//!
//! `tool.output` contains the output in full and as text; the model got it cut to 50 KiB, trimmed,
//! or with its images. The next request after the output contains the form that the model got, so a
//! run is read twice. The first reading keeps the position of each output that was shown in another
//! form.

use super::history::digest;
use super::{message, wire};
use crate::error::Result;
use crate::framing::FramedLines;
use crate::json::Json;
use crate::mapping::Source;
use crate::record::{Field, Node, Record, block};
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// Result of the first reading of a run.
#[derive(Debug, Default)]
pub struct Survey {
    /// Positions of outputs that the model was shown in another form.
    otherwise: HashSet<u64>,
    /// Outputs that no request has shown yet, in their order.
    waiting: Vec<Waiting>,
    /// Positions of all outputs, in a run that contains no requests at all.
    unrequested: Vec<u64>,
}

/// Returns the hash by which a message is found. A message that an editor laid out with spaces is
/// hashed as the runtime spells it.
fn found_by(message: &Json) -> u128 {
    let text = message.as_bytes();
    let spaced = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_whitespace);
    match spaced(0) || memchr::memchr(b':', text).is_some_and(spaced) {
        true => digest(&message.normal()),
        false => digest(text),
    }
}

/// Output that no request has shown yet.
#[derive(Debug)]
struct Waiting {
    call: u128,
    byte: u64,
    /// Hash of the message that the output would become.
    exact: u128,
}

impl Survey {
    /// Reads a run, which `open` opens. Faults in the run are left to the second reading.
    pub fn of(open: &mut dyn FnMut() -> Result<Box<dyn Read>>, limit: usize) -> Result<Self> {
        let mut survey = Self::default();
        // A run that was made from another format's session keeps no requests, so nothing need be
        // hashed to be found in them.
        let all = each(open()?, limit, &mut |text, byte| {
            let asked = names(text, b"llm.request");
            if !asked && names(text, b"tool.output") {
                survey.unrequested.push(byte);
            }
            !asked
        })?;
        if !all {
            survey = Self::default();
            each(open()?, limit, &mut |text, byte| {
                survey.line(text, byte);
                true
            })?;
        }
        Ok(survey)
    }

    /// Whether the output in the line at this byte differs from the one that the model was shown.
    pub fn is_otherwise(&self, byte: u64) -> bool {
        self.otherwise.contains(&byte)
    }

    /// Whether no request of the run shows the output in the line at this byte, provided that the
    /// output becomes an answer.
    pub fn is_unshown(&self, byte: u64) -> bool {
        self.waiting.binary_search_by_key(&byte, |output| output.byte).is_ok()
            || self.unrequested.binary_search(&byte).is_ok()
    }

    fn line(&mut self, text: &bytes::Bytes, byte: u64) {
        let wanted = names(text, b"tool.output")
            || (!self.waiting.is_empty() && names(text, b"llm.request"));
        if !wanted || simdutf8::basic::from_utf8(text).is_err() {
            return;
        }
        let Ok(parsed) = wire::read(text) else { return };
        if parsed.is("tool.output") {
            let call = parsed.record.node.json(Field::Call).map(|call| digest(call.as_bytes()));
            if let (Some(call), Some((_, spelling))) = (call, answer(&parsed.record.node)) {
                self.waiting.push(Waiting { call, byte, exact: digest(&spelling) });
            }
        } else if let Some(span) = parsed.apart.filter(|_| parsed.is("llm.request")) {
            let list = Json::trusted(text.slice(span.start..span.end));
            let shown: HashMap<u128, u128> =
                list.elements().filter_map(|message| shown(&message)).collect();
            self.shown(&shown);
        }
    }

    /// Compares the waiting outputs with the answers of a request, by their calls. Once an answer
    /// differs from its output, all later outputs are taken from the request, too, so that they
    /// stay in their order.
    fn shown(&mut self, shown: &HashMap<u128, u128>) {
        let mut others = false;
        let otherwise = &mut self.otherwise;
        self.waiting.retain(|output| {
            let Some(exact) = shown.get(&output.call) else { return true };
            others |= *exact != output.exact;
            if others {
                otherwise.insert(output.byte);
            }
            false
        });
    }
}

/// Passes the lines of a run to `show` until it returns false; returns whether `show` got all
/// lines.
fn each(
    part: Box<dyn Read>,
    limit: usize,
    show: &mut dyn FnMut(&bytes::Bytes, u64) -> bool,
) -> Result<bool> {
    let mut frames = FramedLines::over(part, limit)?;
    loop {
        match frames.next() {
            Ok(None) => return Ok(true),
            Ok(Some(frame)) if show(&frame.bytes, frame.at.byte) => {}
            Ok(Some(_)) => return Ok(false),
            Err(error) if error.is_recoverable() => {}
            Err(error) => return Err(error),
        }
    }
}

fn names(text: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find(text, name).is_some()
}

/// Returns the call that a message answers and the hash of the message.
fn shown(message: &Json) -> Option<(u128, u128)> {
    let call = Source::new(message.bytes()).peek("tool_call_id").ok().flatten()?;
    Some((digest(call.as_bytes()), found_by(message)))
}

/// Converts an output to the message that it becomes, with its spelling; `None` for an output that
/// becomes no message.
pub fn answer(output: &Node) -> Option<(Record, Vec<u8>)> {
    let mut result = block::of(block::TOOL_RESULT)
        .with(Field::Call, output.json(Field::Call)?.clone())
        .with(Field::Name, output.json(Field::Name)?.clone())
        .with(Field::Content, output.json(Field::Output).filter(|it| it.is_string())?.clone())
        .with_some(Field::IsError, output.json(Field::IsError).cloned());
    if let Some(reference) = output.json(Field::Reference) {
        let extra = [b"{\"output_ref\":", reference.as_bytes(), b"}"].concat();
        result.set(Field::Extra, Json::trusted(extra.into()));
    }
    let mut record = Record::new(crate::record::Kind::Message);
    record.node.set(Field::Role, Json::constant("\"tool\""));
    record.node.set(Field::Content, vec![result]);
    let mut spelling = Vec::new();
    message::write(&record, true, &mut spelling);
    Some((record, spelling))
}

/// Fills the fields of an output's record from the message that represents the output.
pub fn fill(output: &mut Node, message: &Json) {
    let Ok(record) = message::read(message.bytes()) else { return };
    let Some(result) = record.node.nodes(Field::Content).and_then(<[Node]>::first) else { return };
    let mut fields = vec![
        (Field::Call, result.json(Field::Call).cloned()),
        (Field::Name, result.json(Field::Name).cloned()),
        (Field::Output, result.json(Field::Content).cloned()),
        (Field::IsError, result.json(Field::IsError).cloned()),
    ];
    let extra = result.json(Field::Extra);
    fields.push((Field::Reference, extra.and_then(|extra| extra.member("output_ref"))));
    for (field, value) in fields {
        output.put(field, value.filter(|_| output.json(field).is_none()));
    }
}
