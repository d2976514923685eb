//! Validation of a session by the demands of its format and version: each record by its schema, and
//! all of them as a tree.

mod outline;
mod rules;

use crate::context;
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::{Cannot, Error, Result};
use crate::format::{Cx, Format, Options, Parts, Version};
use crate::json::{Cursor, text};
use crate::parts::shown::{LineVisitor, Showing};
use crate::parts::watched::Watched;
use crate::position::Position;
use crate::record::{Field, Kind, Record};
use crate::session::Visitor;
use jsonschema::Validator;
use outline::Outline;
use rules::Rules;
use serde_json::Value;
use std::cell::RefCell;
use std::io;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// The schema of a version.
#[derive(Clone, Debug)]
pub struct Schema(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
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
        let rules = Rules::of(&schema);
        Ok(Self(Arc::new(Compiled { schema, rules, validator: OnceLock::new() })))
    }

    /// Returns the validator, which decides about every value and names its faults.
    ///
    /// # Errors
    /// If the schema itself is wrong, which a test rules out for the formats of the table.
    pub fn validator(&self) -> Result<&Validator> {
        if let Some(known) = self.0.validator.get() {
            return Ok(known);
        }
        let new = jsonschema::validator_for(&self.0.schema).map_err(wrong)?;
        Ok(self.0.validator.get_or_init(|| new))
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
        self.0.rules.hold(text, &mut Outline::default())
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
    let lines = SchemaLines::new(format, schema, max_errors);
    let options = cx.options.tolerant();
    let cx = &Cx { options: &options, log: cx.log };
    let (judged, found) = lines.judge(&mut lines.watching(parts, &options), None, cx)?;
    cx.log.take_over(found);
    Ok(judged)
}

/// Check of the lines of a session by its schema, in the first reading that reaches the end of the
/// main part, whatever else that reading is for.
#[derive(Debug)]
pub struct SchemaLines(Rc<RefCell<Check>>);

impl SchemaLines {
    /// Prepares the check, for at most so many findings in words.
    #[must_use]
    pub fn new(format: &'static Format, schema: &Schema, max_errors: usize) -> Self {
        Self(Rc::new(RefCell::new(Check {
            format,
            schema: schema.clone(),
            outline: Outline::default(),
            max_errors,
            log: Log::default(),
            is_over: false,
            longest: LONGEST,
        })))
    }

    /// Returns the parts, of which readings show the lines to the check.
    pub fn watching<'p>(&self, parts: &'p mut dyn Parts, options: &Options) -> Watched<'p> {
        let showing = Showing { visitor: self.0.clone(), limit: options.max_line };
        match self.0.borrow().format.pieces {
            None => Watched::showing(parts, showing),
            Some(_) => Watched::over(parts),
        }
    }

    /// Reads a session whose parts are [watched](Self::watching), and shows its records to the
    /// visitor. Defects that keep it from being opened as a tree are reported in the log of `cx`;
    /// returns the others.
    ///
    /// # Errors
    /// The errors of [`run`], and damage where the options stop at it.
    pub fn judge(
        &self,
        parts: &mut dyn Parts,
        mut visitor: Option<&mut dyn Visitor>,
        cx: &Cx<'_>,
    ) -> Result<(Judged, Log)> {
        let (format, mut records) = (self.0.borrow().format, 0);
        let mut opened = context::Opened::of(format, parts, cx, &mut |item| {
            let lead = item.at.line == 1
                && item.value.node.line().is_some_and(|line| leads(format, &line));
            records += u64::from(!is_blank(&item.value) && !lead);
            visitor.iter_mut().for_each(|visitor| visitor.record(item));
        })?;
        opened.session.report_cycles(cx);
        if let Some(pieces) = format.pieces {
            pieces(opened.session.parts(), cx, &mut |at, piece| {
                self.0.borrow_mut().line(at, piece);
                ControlFlow::Continue(())
            })?;
        } else if !self.0.borrow().is_over {
            self.0.borrow_mut().longest = usize::MAX;
            io::copy(&mut opened.session.parts().main()?, &mut io::sink()).cannot("read")?;
        }
        let log = std::mem::take(&mut self.0.borrow_mut().log);
        let messages = match context::check(opened, visitor, &Cx { options: cx.options, log: &log })
        {
            Ok(messages) => messages,
            Err(error) if error.code() == Code::Io => return Err(error),
            Err(error) => {
                // The software cannot build a context either; mostly that was found above.
                if cx.log.count_of(error.code()) + log.count_of(error.code()) == 0 {
                    log.report(error.into_diagnostic());
                }
                None
            }
        };
        Ok((Judged { records, messages }, log))
    }
}

/// Whether the record is a blank line, which readers return so that it is preserved.
fn is_blank(record: &Record) -> bool {
    let text = || record.node.text(Field::Text);
    record.kind == Kind::Opaque && text().is_some_and(|text| text.trim().is_empty())
}

/// Whether a piece is one JSON value.
fn is_whole(piece: &[u8]) -> bool {
    let mut cursor = Cursor::new(piece);
    simdutf8::basic::from_utf8(piece).is_ok() && cursor.skip_value().is_ok() && cursor.end().is_ok()
}

/// Number of bytes of a line above which the lines are read once more, so that it is not in memory
/// twice.
const LONGEST: usize = 8 << 20;

/// Whether a line comes before the session, and the schema does not describe it.
fn leads(format: &Format, line: &[u8]) -> bool {
    format.plane.is_some_and(|plane| (plane.leads)(line))
}

/// Check of each piece of a session by the schema.
#[derive(Debug)]
struct Check {
    format: &'static Format,
    schema: Schema,
    outline: Outline,
    max_errors: usize,
    log: Log,
    is_over: bool,
    longest: usize,
}

impl LineVisitor for Check {
    fn begin(&mut self) -> bool {
        if !self.is_over {
            self.log = Log::default();
        }
        !self.is_over
    }

    fn line(&mut self, at: Position, piece: &[u8]) {
        if at.line == 1 && leads(self.format, piece) {
            return;
        }
        if self.schema.0.rules.hold(piece, &mut self.outline) != Some(true) {
            if !is_whole(piece) {
                // The reader has reported it.
                return;
            }
            self.whole(at, piece);
        }
        for path in self.format.lacks.map(|lacks| lacks(piece)).unwrap_or_default() {
            let message = format!("{}: `{path}`", Code::MemberMissing.title());
            self.log.report(Diagnostic::new(Code::MemberMissing, message).at(at));
        }
    }

    fn end(&mut self) {
        self.is_over = true;
    }

    fn longest(&self) -> usize {
        self.longest
    }
}

impl Check {
    /// Checks one JSON value about which the rules do not decide.
    fn whole(&self, at: Position, piece: &[u8]) {
        let log = &self.log;
        let value = match value(piece) {
            Ok(value) => value,
            Err(error) => {
                let message = format!("not checked against the schema: {error}");
                log.report(Diagnostic::new(Code::Unchecked, message).at(at));
                return;
            }
        };
        let schema = match self.schema.validator() {
            Ok(schema) => schema,
            Err(error) => return log.report(error.into_diagnostic()),
        };
        // Collecting errors takes several times as long, also where there are none.
        if schema.is_valid(&value) {
            return;
        }
        for error in schema.iter_errors(&value) {
            if log.count_of(Code::Schema) >= self.max_errors as u64 {
                log.tally(Code::Schema);
                continue;
            }
            let path = error.instance_path().to_string();
            let place = if path.is_empty() { "the record" } else { &path };
            // Values are masked: they can be megabytes long, or secret.
            let message = format!("{place}: {}", error.masked_with("the value"));
            log.report(Diagnostic::new(Code::Schema, message).at(at));
        }
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
