//! Masks the secrets of a session on its way to the writer, if the user wants that.

use crate::diagnostic::Log;
use crate::error::Result;
use crate::format::{Cx, Writer};
use crate::position::Located;
use crate::record::Record;
use crate::redact::Redactor;

/// A writer that gets records with masked secrets.
struct Masked<'a> {
    redactor: Redactor<'a>,
    log: &'a Log,
    writer: Box<dyn Writer + 'a>,
}

/// Puts a mask before a writer.
pub fn over<'a>(writer: Box<dyn Writer + 'a>, cx: &'a Cx<'a>) -> Box<dyn Writer + 'a> {
    match &cx.options.redact {
        Some(rules) => Box::new(Masked { redactor: Redactor::new(rules), log: cx.log, writer }),
        None => writer,
    }
}

/// Masks the secrets of a text.
pub fn text(text: Option<String>, cx: &Cx<'_>) -> Option<String> {
    match &cx.options.redact {
        Some(rules) => text.map(|text| Redactor::new(rules).text(&text).into_owned()),
        None => text,
    }
}

impl Writer for Masked<'_> {
    fn record(&mut self, record: &Located<Record>) -> Result<()> {
        let mut record = record.clone();
        self.redactor.record(&mut record.value);
        self.writer.record(&record)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.log.mask(self.redactor.counts());
        self.writer.finish()
    }
}
