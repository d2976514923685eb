//! Words in which the source's agent sends its own records to a model, such as a command that the
//! user ran, or a summary. Where a file has other words in the same shape, the parts of the record
//! are read from them.

use crate::format::Context;
use crate::formats::Spec;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// Fields that such words contain and that the user may have edited, one or several at once.
const PARTS: &[&[Field]] =
    &[&[Field::Summary], &[Field::Output], &[Field::Command], &[Field::Command, Field::Output]];

/// Gives a record the content of these messages of the file, the first of which was `was`, if
/// `source_format` sends it in such words. Returns whether the words fit.
pub fn reword(source: &mut Record, was: &Record, bases: &[Record], source_format: Spec) -> bool {
    let summary = matches!(source.kind, Kind::Compaction | Kind::BranchSummary);
    let Some(open) =
        source_format.format.agent.context.filter(|_| summary || holder(source).is_some())
    else {
        return false;
    };
    let mut messages = bases.iter().filter(|base| base.kind == Kind::Message);
    let (Some(base), None) = (messages.next(), messages.next()) else { return false };
    let Some(now) = block::message_text(&base.node).and_then(|text| text.text()) else {
        return false;
    };
    let mut words = Words { rules: open(&Record::new(Kind::Session)), now };
    words.are(source)
        || PARTS.iter().any(|parts| words.make(source, parts))
        || (summary && replace_summary(source, was, &words.now).is_some())
}

/// Takes the new text of a summary, if the words are those of before with another text in its
/// place. What is around it may follow from other records.
fn replace_summary(source: &mut Record, was: &Record, now: &str) -> Option<()> {
    let old = source.node.text(Field::Summary).filter(|old| !old.is_empty())?;
    let was = block::message_text(&was.node)?.text()?;
    let (before, behind) = was.split_once(&old).filter(|(_, behind)| !behind.contains(&old))?;
    let new = now.strip_prefix(before)?.strip_suffix(behind)?;
    source.node.set(Field::Summary, Json::string(new));
    Some(())
}

/// Words of the file, and the rules that make such words in the source format.
struct Words {
    rules: Box<dyn Context>,
    now: String,
}

impl Words {
    /// Returns the words in which a record is sent to a model.
    fn of(&mut self, record: &Record) -> Option<String> {
        block::message_text(&self.rules.sent(record)?)?.text()
    }

    fn are(&mut self, record: &Record) -> bool {
        self.of(record).as_deref() == Some(&self.now)
    }

    /// Reads these fields of a record from the words, if nothing else in the words differs.
    fn make(&mut self, source: &mut Record, parts: &[Field]) -> bool {
        let Some(found) = self.found(source, parts) else { return false };
        let mut candidate = source.clone();
        for (field, text) in parts.iter().zip(&found) {
            set(&mut candidate, *field, text);
        }
        let fits = self.are(&candidate);
        if fits {
            *source = candidate;
        }
        fits
    }

    /// Returns the texts that the words have in the places of these fields.
    fn found(&mut self, source: &Record, parts: &[Field]) -> Option<Vec<String>> {
        let mut marked = source.clone();
        for field in parts {
            if !set(&mut marked, *field, HERE) {
                return None;
            }
        }
        let shape = self.of(&marked)?;
        let around: Vec<_> = shape.split(HERE).collect();
        let (first, between) = around.split_first()?;
        let (last, between) = between.split_last()?;
        // Words with an empty text may have another shape.
        let inner = self.now.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
        let Some(mut rest) = inner else { return Some(vec![String::new(); parts.len()]) };
        let mut found = Vec::new();
        for between in between {
            let (part, behind) = rest.split_once(between)?;
            found.push(part.to_owned());
            rest = behind;
        }
        found.push(rest.to_owned());
        Some(found).filter(|found| found.len() == parts.len())
    }
}

/// Mark for the place of a field that is searched for; no text contains it.
const HERE: &str = "\u{fdd0}\u{fdd1}";

/// Returns the command that the user ran.
fn holder(record: &Record) -> Option<&Node> {
    record.node.node(Field::Bash)
}

/// Sets a text of a record, or of the command in it; false if there is no such field.
fn set(record: &mut Record, field: Field, text: &str) -> bool {
    let node = match record.node.get_mut(Field::Bash) {
        Some(Value::Node(bash)) => bash,
        _ => &mut record.node,
    };
    let has = node.get(field).is_some();
    if has {
        node.set(field, Json::string(text));
    }
    has
}
