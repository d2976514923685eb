//! Validation of a session by the demands of its format and version: each record by its schema, and
//! all of them as a tree.

mod outline;
mod rules;

use crate::context;
use crate::diagnostic::{Code, Diagnostic};
use crate::error::{Error, Result};
use crate::format::{Cx, Format, OnError, Options, Parts, Piece, Version};
use crate::json::{Cursor, text};
use crate::lines::Lines;
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use jsonschema::Validator;
use outline::Outline;
use rules::Rules;
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::OnceLock;

/// The schema of a version.
#[derive(Debug)]
pub struct Schema {
    schema: Value,
    rules: Rules,
    /// The validator, compiled at its first use: most sessions need none.
    validator: OnceLock<Validator>,
}

impl Schema {
    /// Reads the schema of a version.
    ///
    /// # Errors
    /// If it is not JSON, which a test rules out for the formats of the table.
    pub fn of(version: &Version) -> Result<Self> {
        let schema: Value = serde_json::from_str(version.schema).map_err(wrong)?;
        Ok(Self { rules: Rules::of(&schema), schema, validator: OnceLock::new() })
    }

    /// Returns the validator, which decides about every value and names its faults.
    ///
    /// # Errors
    /// If the schema itself is wrong, which a test rules out for the formats of the table.
    pub fn validator(&self) -> Result<&Validator> {
        if let Some(known) = self.validator.get() {
            return Ok(known);
        }
        let new = jsonschema::validator_for(&self.schema).map_err(wrong)?;
        Ok(self.validator.get_or_init(|| new))
    }

    /// Whether a JSON text follows the schema; `None` if only the validator can decide that.
    ///
    /// ```
    /// use copyist::{formats::pi, validate::Schema};
    /// let schema = Schema::of(&pi::FORMAT.versions[2])?;
    /// let entry = br#"{"type":"label","id":"b","parentId":"a","timestamp":"t","targetId":"a"}"#;
    /// assert_eq!(schema.quickly(entry), Some(true));
    /// assert_eq!(schema.quickly(br#"{"type":"label","id":7}"#), Some(false));
    /// # Ok::<(), copyist::error::Error>(())
    /// ```
    #[must_use]
    pub fn quickly(&self, text: &[u8]) -> Option<bool> {
        self.rules.hold(text, &mut Outline::default())
    }
}

fn wrong(error: impl std::fmt::Display) -> Error {
    Error::request(Code::Schema, format!("schema: {error}"))
}

/// Numbers that were found on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Number of records.
    pub records: u64,
    /// Number of messages in the context, where its messages were checked.
    pub messages: Option<u64>,
}

/// Checks one session, and reports all its defects in the log. Of the findings of the schema, at
/// most `max_errors` are reported in words; all are counted.
///
/// # Errors
/// If the input is not a session of the format, or cannot be read. Damage is not an error: it is
/// reported, and the rest is checked, also where the options would stop at it.
pub fn run(
    format: &'static Format,
    schema: &Schema,
    parts: &mut dyn Parts,
    max_errors: usize,
    cx: &Cx<'_>,
) -> Result<Judged> {
    let on_error = match cx.options.on_error {
        OnError::Stop => OnError::Keep,
        other => other,
    };
    let cx = &Cx { options: &Options { on_error, ..cx.options.clone() }, log: cx.log };
    let leads = |line: &[u8]| format.plane.is_some_and(|plane| (plane.leads)(line));
    let mut count = 0;
    let mut opened = context::Opened::of(format, parts, cx, &mut |item| {
        let lead = item.at.line == 1 && item.value.node.line().is_some_and(|line| leads(&line));
        count += u64::from(!is_blank(&item.value) && !lead);
    })?;
    opened.session.report_cycles(cx);
    let mut outline = Outline::default();
    let mut check = |at: Position, piece: &[u8]| {
        if at.line == 1 && leads(piece) {
            return ControlFlow::Continue(());
        }
        if schema.rules.hold(piece, &mut outline) != Some(true) {
            if !is_whole(piece) {
                // The reader has reported it.
                return ControlFlow::Continue(());
            }
            record(schema, piece, at, max_errors, cx);
        }
        for path in format.lacks.map(|lacks| lacks(piece)).unwrap_or_default() {
            let message = format!("{}: `{path}`", Code::MemberMissing.title());
            cx.report(Diagnostic::new(Code::MemberMissing, message).at(at));
        }
        ControlFlow::Continue(())
    };
    (format.pieces.unwrap_or(lines))(opened.session.parts(), cx, &mut check)?;
    let messages = match context::check(opened, cx) {
        Ok(messages) => messages,
        Err(error) if error.code() == Code::Io => return Err(error),
        Err(error) => {
            // The software cannot build a context either; mostly that was found above.
            if cx.log.count_of(error.code()) == 0 {
                cx.report(error.into_diagnostic());
            }
            None
        }
    };
    Ok(Judged { records: count, messages })
}

/// Whether the record is a blank line, which readers return so that it is preserved.
fn is_blank(record: &Record) -> bool {
    let text = || record.node.text(Field::Text);
    record.kind == Kind::Opaque && text().is_some_and(|text| text.trim().is_empty())
}

/// Shows the lines of a session.
fn lines(parts: &mut dyn Parts, cx: &Cx<'_>, show: Piece<'_>) -> Result<()> {
    let mut lines = Lines::new(parts.main()?, cx.options.max_line);
    lines.skip_bom()?;
    loop {
        match lines.next() {
            Ok(None) => return Ok(()),
            Ok(Some(line)) if line.is_blank() => {}
            Ok(Some(line)) => {
                if show(line.at, line.bytes).is_break() {
                    return Ok(());
                }
            }
            // The reader has reported it.
            Err(error) if error.is_recoverable() => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a piece is one JSON value.
fn is_whole(piece: &[u8]) -> bool {
    let mut cursor = Cursor::new(piece);
    simdutf8::basic::from_utf8(piece).is_ok() && cursor.skip_value().is_ok() && cursor.end().is_ok()
}

fn record(schema: &Schema, piece: &[u8], at: Position, max_errors: usize, cx: &Cx<'_>) {
    let value = match value(piece) {
        Ok(value) => value,
        Err(error) => {
            let message = format!("not checked against the schema: {error}");
            cx.report(Diagnostic::new(Code::Unchecked, message).at(at));
            return;
        }
    };
    let schema = match schema.validator() {
        Ok(schema) => schema,
        Err(error) => return cx.report(error.into_diagnostic()),
    };
    // Collecting errors takes several times as long, also where there are none.
    if schema.is_valid(&value) {
        return;
    }
    for error in schema.iter_errors(&value) {
        if cx.log.count_of(Code::Schema) >= max_errors as u64 {
            cx.log.tally(Code::Schema);
            continue;
        }
        let path = error.instance_path().to_string();
        let place = if path.is_empty() { "the record" } else { &path };
        // Values are masked: they can be megabytes long, or secret.
        let message = format!("{place}: {}", error.masked_with("the value"));
        cx.report(Diagnostic::new(Code::Schema, message).at(at));
    }
}

/// Parses a line with serde_json, with lone surrogates read as U+FFFD.
pub(crate) fn value(line: &[u8]) -> serde_json::Result<Value> {
    match serde_json::from_slice(line) {
        Ok(value) => Ok(value),
        Err(error) => match without_lone_surrogates(line) {
            Some(line) => serde_json::from_slice(&line),
            None => Err(error),
        },
    }
}

/// Returns the text with every string that contains a surrogate escape decoded and quoted again;
/// `None` if there is none.
fn without_lone_surrogates(line: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find_iter(line, b"\\u")
        .find(|at| line.get(at + 2).is_some_and(|b| b.eq_ignore_ascii_case(&b'd')))?;
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = memchr::memchr(b'"', rest) {
        let (before, string) = rest.split_at_checked(start)?;
        let length = Cursor::new(string).skip_value().ok()?.end;
        let (string, after) = string.split_at_checked(length)?;
        out.extend_from_slice(before);
        text::quote(&text::decode(string)?, &mut out);
        rest = after;
    }
    out.extend_from_slice(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_surrogate_is_no_reason_not_to_check() {
        let value = value(br#"{"a":"x\ud83d","b":["\uD83D\uDE00"]}"#).expect("JSON");
        assert_eq!(value, serde_json::json!({"a": "x\u{fffd}", "b": ["😀"]}));
    }
}
