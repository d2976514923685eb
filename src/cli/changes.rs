//! Output of the differences between two sessions, as text or as JSON.

use super::telling::Telling;
use super::text::cropped;
use super::text::printable;
use crate::batch::FileReport;
use crate::diagnostic::plural;
use crate::diff::{Change, Counts, FieldChange};
use crate::error::{Error, Result};
use crate::inspect::preview;
use crate::json::{Json, text};
use crate::mapping::Object;
use crate::position::{Located, Position};
use crate::record::{Field, Record};
use std::io::{self, BufWriter, StdoutLock, Write};

/// Prints differences.
pub struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    quiet: bool,
    width: usize,
    /// The names of the two sessions, until the first difference is printed.
    titles: Option<[String; 2]>,
}

impl Printer {
    /// Creates a printer with the user's options.
    pub fn new(telling: &Telling, width: usize, sides: [&FileReport; 2]) -> Self {
        let title = |side: &FileReport| {
            let format = side.format_name();
            printable(&format!("{} ({format})", &*side.path))
        };
        Self {
            out: BufWriter::new(io::stdout().lock()),
            json: telling.json,
            quiet: telling.quiet,
            width,
            titles: Some(sides.map(title)),
        }
    }

    /// Prints one difference.
    pub fn change(&mut self, change: &Change) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        let mut text = Vec::new();
        if self.json {
            as_json(change, &mut text);
        } else {
            if let Some([a, b]) = self.titles.take() {
                text.extend_from_slice(format!("--- {a}\n+++ {b}\n").as_bytes());
            }
            text.extend_from_slice(as_text(change, self.width).as_bytes());
        }
        self.write(&text)
    }

    /// Prints the totals.
    pub fn end(&mut self, counts: &Counts) -> Result<()> {
        let mut text = Vec::new();
        if self.json {
            let mut object = Object::open(&mut text);
            object.member("change", b"\"summary\"");
            let Counts { a, b, same, changed, only_a, only_b } = *counts;
            let all = [
                ("a", a),
                ("b", b),
                ("same", same),
                ("changed", changed),
                ("only_a", only_a),
                ("only_b", only_b),
            ];
            for (name, count) in all {
                object.member(name, count.to_string().as_bytes());
            }
            object.close();
            text.push(b'\n');
        } else if !self.quiet {
            text.extend_from_slice(summary(counts).as_bytes());
        }
        self.write(&text)?;
        self.out.flush().map_err(|error| Error::io("cannot write", error))
    }

    fn write(&mut self, text: &[u8]) -> Result<()> {
        self.out.write_all(text).map_err(|error| Error::io("cannot write", error))
    }
}

fn summary(counts: &Counts) -> String {
    let same = plural(counts.same, "record");
    if counts.is_same() {
        return format!("no difference in {same}\n");
    }
    let parts = [
        (counts.changed, "changed"),
        (counts.only_a, "only in the first"),
        (counts.only_b, "only in the second"),
    ];
    let differences = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    format!("{}; {same} the same\n", differences.collect::<Vec<_>>().join(", "))
}

fn as_text(change: &Change, width: usize) -> String {
    match change {
        Change::OnlyA(record) => one_sided('-', record, width),
        Change::OnlyB(record) => one_sided('+', record, width),
        Change::Changed(a, b, fields) => {
            let places = match (place(a.at), place(b.at)) {
                (a, b) if a == b => a,
                (a, b) => format!("{a}, {b}"),
            };
            let mut out = format!("~ {places}: {}\n", speaker(&a.value));
            for field in fields {
                out.push_str(&field_text(field, width));
            }
            out
        }
    }
}

fn one_sided(mark: char, record: &Located<Record>, width: usize) -> String {
    let start = format!("{mark} {}: {} ", place(record.at), speaker(&record.value));
    let room = width.saturating_sub(start.chars().count());
    format!("{start}{}\n", cropped(&printable(&preview::text(&record.value)), room))
}

fn place(at: Position) -> String {
    if at.line == 0 { "summary".to_owned() } else { format!("line {}", at.line) }
}

fn speaker(record: &Record) -> String {
    let role = record.node.text(Field::Role);
    printable(&role.unwrap_or_else(|| record.kind.name().to_owned()))
}

/// Formats a field with both of its values. Short values are printed side by side, long ones as
/// excerpts around the first difference.
fn field_text(change: &FieldChange, width: usize) -> String {
    let field = printable(&change.field);
    let [a, b] = [&change.a, &change.b].map(|value| value.as_ref().map(shown));
    let short = |text: &Option<String>| text.as_ref().is_none_or(|text| text.chars().count() < 24);
    if short(&a) && short(&b) {
        let [a, b] = [a, b].map(|text| text.unwrap_or_else(|| "absent".to_owned()));
        return format!("    {field}: {a} → {b}\n");
    }
    let differ = match (&a, &b) {
        (Some(a), Some(b)) => a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count(),
        _ => 0,
    };
    let mut out = format!("    {field}\n");
    for (mark, text) in [('-', a), ('+', b)] {
        if let Some(text) = text {
            let room = width.saturating_sub(8);
            let from = differ.saturating_sub(room / 3);
            let start = if from > 0 { "…" } else { "" };
            let part: String =
                start.chars().chain(text.chars().skip(from)).take(width * 2).collect();
            out.push_str(&format!("      {mark} {}\n", cropped(&part, room)));
        }
    }
    out
}

/// Returns a value for display: strings without quotes.
fn shown(value: &Json) -> String {
    let text = value.text().unwrap_or_else(|| String::from_utf8_lossy(&value.normal()).into());
    printable(&text)
}

fn as_json(change: &Change, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    let (name, a, b) = match change {
        Change::Changed(a, b, _) => ("changed", Some(a), Some(b)),
        Change::OnlyA(a) => ("only_a", Some(a), None),
        Change::OnlyB(b) => ("only_b", None, Some(b)),
    };
    text::quote(name, object.key("change"));
    for (key, side) in [("a", a), ("b", b)] {
        let Some(Located { value, at }) = side else { continue };
        let mut record = Object::open(object.key(key));
        record.member("line", at.line.to_string().as_bytes());
        text::quote(value.kind.name(), record.key("kind"));
        if let Some(id) = value.node.json(Field::Id) {
            record.member("id", id.as_bytes());
        }
        text::quote(&preview::text(value), record.key("text"));
        record.close();
    }
    if let Change::Changed(_, _, fields) = change {
        let list = object.key("fields");
        list.push(b'[');
        for (place, field) in fields.iter().enumerate() {
            if place > 0 {
                list.push(b',');
            }
            let mut object = Object::open(list);
            text::quote(&field.field, object.key("field"));
            for (key, value) in [("a", &field.a), ("b", &field.b)] {
                if let Some(value) = value {
                    object.member(key, value.as_bytes());
                }
            }
            object.close();
        }
        list.push(b']');
    }
    object.close();
    out.push(b'\n');
}
