//! What was said about one session, put together.

use super::{Code, Diagnostic, Differences, FieldOutcome, Severity};
use crate::position::Position;
use crate::record::Field;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// What was said about one session.
#[derive(Debug, Default)]
pub struct Log {
    inner: RefCell<Findings>,
    /// The part that findings are about.
    part: Cell<u32>,
    /// Whether what was written is of no use.
    gave_up: Cell<bool>,
}

/// The contents of a [`Log`].
#[derive(Debug, Default)]
pub struct Findings {
    /// The first findings, in the order in which they were made.
    pub diagnostics: Vec<Diagnostic>,
    /// How many findings there were of each code, those not kept included.
    pub counts: BTreeMap<Code, u64>,
    /// How often each field met each fate.
    pub losses: BTreeMap<(FieldOutcome, String), u64>,
    /// The same of fields of records, whose paths are not put together yet.
    fields: Vec<((Field, FieldOutcome, &'static str), u64)>,
    /// What differs between the session and what was written of it, if that was asked for.
    pub differences: Option<Differences>,
}

impl Log {
    /// How many findings are kept in full; the rest is counted.
    pub const KEPT: usize = 100_000;
    /// How many of these keep the text around their place.
    const SHOWN: usize = 1000;

    /// From now on, what is told is about this part, until another is named; whoever reads one file
    /// need not know which of several it is.
    pub fn turn_to(&self, part: u32) {
        self.part.set(part);
    }

    /// Adds a finding.
    pub fn report(&self, mut diagnostic: Diagnostic) {
        if let Some(at) = &mut diagnostic.at {
            at.part += self.part.get();
        }
        self.inner.borrow_mut().add(diagnostic);
    }

    /// Counts a field that met `fate`.
    pub fn count(&self, fate: FieldOutcome, path: &str) {
        let mut inner = self.inner.borrow_mut();
        match inner.losses.get_mut(&(fate, path.to_owned())) {
            Some(n) => *n += 1,
            None => drop(inner.losses.insert((fate, path.to_owned()), 1)),
        }
    }

    /// Counts a field of what has this path. Records have many such fields, so the whole path is put
    /// together once, in the end.
    pub fn count_field(&self, fate: FieldOutcome, path: &'static str, field: Field) {
        let fields = &mut self.inner.borrow_mut().fields;
        match fields.iter_mut().find(|(known, _)| *known == (field, fate, path)) {
            Some((_, n)) => *n += 1,
            None => fields.push(((field, fate, path), 1)),
        }
    }

    /// Counts a finding that nobody wants in words.
    pub fn tally(&self, code: Code) {
        *self.inner.borrow_mut().counts.entry(code).or_default() += 1;
    }

    /// How many findings there were of this code.
    #[must_use]
    pub fn count_of(&self, code: Code) -> u64 {
        self.inner.borrow().counts.get(&code).copied().unwrap_or(0)
    }

    /// The places of what was reported with one of these codes.
    #[must_use]
    pub fn places(&self, of: impl Fn(Code) -> bool) -> Vec<Position> {
        let inner = self.inner.borrow();
        let found = inner.diagnostics.iter().filter(|found| of(found.code));
        found.filter_map(|found| found.at).collect()
    }

    /// Notes what differs between the session and what was written of it.
    pub fn differ(&self, differences: Differences) {
        self.inner.borrow_mut().differences = Some(differences);
    }

    /// The fields that were dropped, with how often.
    #[must_use]
    pub fn dropped(&self) -> Vec<(String, u64)> {
        let mut inner = self.inner.borrow_mut();
        inner.settle();
        let dropped = inner.losses.iter().filter(|((fate, _), _)| *fate == FieldOutcome::Dropped);
        dropped.map(|((_, path), count)| (path.clone(), *count)).collect()
    }

    /// From now on, what was dropped counts as kept in the origin.
    pub fn carried(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.settle();
        for ((fate, path), count) in std::mem::take(&mut inner.losses) {
            let fate = if fate == FieldOutcome::Dropped { FieldOutcome::Origin } else { fate };
            *inner.losses.entry((fate, path)).or_default() += count;
        }
    }

    /// What was written to a sink that [forgets](crate::format::Sink::forgets) is of no use, and
    /// has to be written to one that does not.
    pub fn give_up(&self) {
        self.gave_up.set(true);
    }

    /// Whether a writer gave up.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.gave_up.get()
    }

    /// Adds what was said in another log.
    pub fn take_over(&self, other: Self) {
        let (mut inner, other) = (self.inner.borrow_mut(), other.into_findings());
        let room = Self::KEPT.saturating_sub(inner.diagnostics.len());
        inner.diagnostics.extend(other.diagnostics.into_iter().take(room));
        for (code, count) in other.counts {
            *inner.counts.entry(code).or_default() += count;
        }
        for (fate, count) in other.losses {
            *inner.losses.entry(fate).or_default() += count;
        }
        inner.differences = other.differences.or(inner.differences.take());
    }

    /// Everything that was said.
    #[must_use]
    pub fn into_findings(self) -> Findings {
        let mut findings = self.inner.into_inner();
        findings.settle();
        findings
    }
}

impl Findings {
    /// One finding and nothing else.
    #[must_use]
    pub fn of(diagnostic: Diagnostic) -> Self {
        let mut findings = Self::default();
        findings.add(diagnostic);
        findings
    }

    /// Puts the paths of fields together.
    fn settle(&mut self) {
        for ((field, fate, path), count) in std::mem::take(&mut self.fields) {
            let path = format!("{path}.{}", field.name());
            *self.losses.entry((fate, path)).or_default() += count;
        }
    }

    /// Adds a finding.
    pub fn add(&mut self, mut diagnostic: Diagnostic) {
        *self.counts.entry(diagnostic.code).or_default() += 1;
        if self.diagnostics.len() >= Log::SHOWN {
            diagnostic.window = None;
        }
        if self.diagnostics.len() < Log::KEPT {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The gravest finding.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.counts.keys().map(|code| code.severity()).max()
    }

    /// How many fields were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.losses
            .iter()
            .filter(|((fate, _), _)| *fate == FieldOutcome::Dropped)
            .map(|(_, n)| n)
            .sum()
    }
}
