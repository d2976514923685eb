//! What a session's own software tells a model in words of its own: a command that a person ran, a
//! summary. Where a file has other words in the same shape, what they are made of is read from them.

use crate::format::Context;
use crate::formats::Spec;
use crate::json::Json;
use crate::record::{Field, Kind, Node, Record, Value, block};

/// What words are made of that a person may have edited, one or several at once.
const PARTS: &[&[Field]] =
    &[&[Field::Summary], &[Field::Output], &[Field::Command], &[Field::Command, Field::Output]];

/// Gives a record what these messages of the file say of it, if `home` tells of it in such words.
pub fn heard(source: &mut Record, bases: &[Record], home: Spec) -> bool {
    let summary = matches!(source.kind, Kind::Compaction | Kind::BranchSummary);
    let Some(open) = home.format.context.filter(|_| summary || holder(source).is_some()) else {
        return false;
    };
    let mut told = bases.iter().filter(|base| base.kind == Kind::Message);
    let (Some(base), None) = (told.next(), told.next()) else { return false };
    let Some(now) = block::said(&base.node).and_then(|text| text.text()) else { return false };
    let mut words = Words { rules: open(&Record::new(Kind::Session)), now };
    words.are(source) || PARTS.iter().any(|parts| words.make(source, parts))
}

/// The words of the file, and what makes such words at home.
struct Words {
    rules: Box<dyn Context>,
    now: String,
}

impl Words {
    /// What a model is told of a record.
    fn of(&mut self, record: &Record) -> Option<String> {
        block::said(&self.rules.sent(record)?)?.text()
    }

    fn are(&mut self, record: &Record) -> bool {
        self.of(record).as_deref() == Some(&self.now)
    }

    /// Reads these parts of a record from the words, if nothing else of them is another one.
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

    /// What the words have where the record has these parts.
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
        // Where there is none, words may have another shape.
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

/// What stands where a part is looked for: nobody writes that.
const HERE: &str = "\u{fdd0}\u{fdd1}";

/// The command that a person ran.
fn holder(record: &Record) -> Option<&Node> {
    record.node.node(Field::Bash)
}

/// Gives a record, or the command in it, a text; false if it has none.
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
