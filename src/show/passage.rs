//! The one place through which all texts of a session pass to its view.

use crate::record::Record;
use crate::redact::Redactor;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Passes on records and texts to a view, with their secrets masked if the user wants that.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'p, 'r> {
    redactor: Option<&'p Redactor<'r>>,
}

impl<'p, 'r> Passage<'p, 'r> {
    /// Creates a passage.
    pub fn new(redactor: Option<&'p Redactor<'r>>) -> Self {
        Self { redactor }
    }

    /// Notes the folder of a session, in whose texts the name of its user is masked.
    pub fn learn(&self, folder: &str) {
        self.redactor.iter().for_each(|redactor| redactor.learn(folder));
    }

    /// Masks the texts of a record.
    pub fn record(&self, record: &mut Record) {
        self.redactor.iter().for_each(|redactor| redactor.record(record));
    }

    /// Returns a record with its texts masked.
    pub fn masked<'t>(&self, record: &'t Record) -> Cow<'t, Record> {
        if self.redactor.is_none() {
            return Cow::Borrowed(record);
        }
        let mut record = record.clone();
        self.record(&mut record);
        Cow::Owned(record)
    }

    /// Returns a text masked.
    pub fn text(&self, text: String) -> String {
        match self.redactor.map(|redactor| redactor.text(&text)) {
            Some(Cow::Owned(masked)) => masked,
            _ => text,
        }
    }

    /// Returns how many texts were masked, by their kinds; `None` if that was not requested.
    pub fn counts(&self) -> Option<BTreeMap<String, u64>> {
        self.redactor.map(Redactor::counts)
    }
}
