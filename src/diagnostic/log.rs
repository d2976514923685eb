//! Collection of the findings about one session.

use super::{Code, Diagnostic, Differences, FieldOutcome, Severity};
use crate::position::Position;
use crate::record::{Field, Node};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Findings about one session, collected during the work.
#[derive(Debug, Default)]
pub struct Log {
    inner: RefCell<Findings>,
    /// The part that findings are about.
    part: Cell<u32>,
    /// Whether a writer gave up, so that its output must not be used.
    gave_up: Cell<bool>,
}

/// The contents of a [`Log`].
#[derive(Debug, Default)]
pub struct Findings {
    /// The first findings, in the order in which they were made.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of findings of each code, including those not kept.
    pub counts: BTreeMap<Code, u64>,
    /// Number of times that each field had each outcome.
    pub losses: BTreeMap<(FieldOutcome, String), u64>,
    /// Number of times that fields of records, whose paths are not joined yet, had each outcome.
    fields: Vec<((Field, FieldOutcome, &'static str), u64)>,
    /// Differences between the session and its written output, if they were requested.
    pub differences: Option<Differences>,
    /// Number of secrets of each kind that were masked, if that was requested.
    pub masked: Option<BTreeMap<String, u64>>,
}

impl Log {
    /// Number of findings that are kept in full; the rest is counted.
    pub const MOST_FINDINGS: usize = 100_000;
    /// Number of these findings that keep the text around their place.
    const SHOWN: usize = 1000;

    /// Assigns all further findings to this part, until another part is named. A reader of one file
    /// need not know which of several files it is.
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

    /// Counts a field with this outcome.
    pub fn count(&self, outcome: FieldOutcome, path: &str) {
        let mut inner = self.inner.borrow_mut();
        match inner.losses.get_mut(&(outcome, path.to_owned())) {
            Some(n) => *n += 1,
            None => drop(inner.losses.insert((outcome, path.to_owned()), 1)),
        }
    }

    /// Counts a field for which the output has no place.
    pub fn lost(&self, path: &str) {
        self.count(FieldOutcome::Dropped, path);
    }

    /// Counts a field of a record with this path. Records have many such fields, so the whole path
    /// is joined once, at the end.
    pub fn count_field(&self, outcome: FieldOutcome, path: &'static str, field: Field) {
        let fields = &mut self.inner.borrow_mut().fields;
        match fields.iter_mut().find(|(known, _)| *known == (field, outcome, path)) {
            Some((_, n)) => *n += 1,
            None => fields.push(((field, outcome, path), 1)),
        }
    }

    /// Counts the fields of a record with this path for which its output has no place.
    pub fn count_lost(&self, path: &'static str, node: &Node, is_held: impl Fn(Field) -> bool) {
        let lost = node.fields().filter(|field| !is_held(*field));
        lost.for_each(|field| self.count_field(FieldOutcome::Dropped, path, field));
    }

    /// Counts a finding without keeping its message.
    pub fn tally(&self, code: Code) {
        *self.inner.borrow_mut().counts.entry(code).or_default() += 1;
    }

    /// Returns how many findings of this code there are.
    #[must_use]
    pub fn count_of(&self, code: Code) -> u64 {
        self.inner.borrow().counts.get(&code).copied().unwrap_or(0)
    }

    /// Whether there is a finding with one of these codes.
    #[must_use]
    pub fn has(&self, of: impl Fn(Code) -> bool) -> bool {
        self.inner.borrow().counts.keys().any(|code| of(*code))
    }

    /// Returns the places of the findings with one of these codes.
    #[must_use]
    pub fn places(&self, of: impl Fn(Code) -> bool) -> Vec<Position> {
        let inner = self.inner.borrow();
        let found = inner.diagnostics.iter().filter(|found| of(found.code));
        found.filter_map(|found| found.at).collect()
    }

    /// Notes the differences between the session and its written output.
    pub fn differ(&self, differences: Differences) {
        self.inner.borrow_mut().differences = Some(differences);
    }

    /// Notes how many secrets of each kind were masked.
    pub fn mask(&self, counts: BTreeMap<String, u64>) {
        self.inner.borrow_mut().add_masked(&counts);
    }

    /// Returns the fields that were dropped, each with its count.
    #[must_use]
    pub fn dropped(&self) -> Vec<(String, u64)> {
        let mut inner = self.inner.borrow_mut();
        inner.settle();
        let dropped = inner.losses.iter().filter(|((fate, _), _)| *fate == FieldOutcome::Dropped);
        dropped.map(|((_, path), count)| (path.clone(), *count)).collect()
    }

    /// Returns how many blocks and items of other formats the target does not hold, by their types.
    #[must_use]
    pub fn not_held(&self) -> Vec<(String, u64)> {
        let mut inner = self.inner.borrow_mut();
        inner.settle();
        let mut kinds = BTreeMap::new();
        for ((outcome, path), count) in &inner.losses {
            if [FieldOutcome::Dropped, FieldOutcome::Origin].contains(outcome)
                && let Some(kind) = kind_in(path)
            {
                *kinds.entry(kind.to_owned()).or_default() += count;
            }
        }
        kinds.into_iter().collect()
    }

    /// Marks all fields dropped so far as kept in the origin.
    pub fn carried(&self) {
        let mut inner = self.inner.borrow_mut();
        inner.settle();
        for ((fate, path), count) in std::mem::take(&mut inner.losses) {
            let fate = if fate == FieldOutcome::Dropped { FieldOutcome::Origin } else { fate };
            *inner.losses.entry((fate, path)).or_default() += count;
        }
    }

    /// Notes that the output in a sink that [can roll back](crate::format::Sink::can_roll_back) must not be
    /// used, and has to be written again to a sink that cannot.
    pub fn give_up(&self) {
        self.gave_up.set(true);
    }

    /// Whether a writer gave up.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.gave_up.get()
    }

    /// Adds those findings with one of these codes whose code this log does not have yet.
    pub fn add_new(&self, found: Findings, of: impl Fn(Code) -> bool) {
        let new = |code: &Code| of(*code) && self.count_of(*code) == 0;
        let new: Vec<Code> = found.counts.into_keys().filter(new).collect();
        let found = found.diagnostics.into_iter().filter(|found| new.contains(&found.code));
        found.for_each(|found| self.report(found));
    }

    /// Adds the findings of another log.
    pub fn take_over(&self, other: Self) {
        let (mut inner, other) = (self.inner.borrow_mut(), other.into_findings());
        let room = Self::MOST_FINDINGS.saturating_sub(inner.diagnostics.len());
        inner.add_counts(&other);
        inner.diagnostics.extend(other.diagnostics.into_iter().take(room));
        inner.differences = other.differences.or(inner.differences.take());
    }

    /// Returns how many findings are kept in full.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.inner.borrow().diagnostics.len()
    }

    /// Adds the counts of other findings.
    pub fn add_counts(&self, other: &Findings) {
        self.inner.borrow_mut().add_counts(other);
    }

    /// Returns all findings.
    #[must_use]
    pub fn into_findings(self) -> Findings {
        let mut findings = self.inner.into_inner();
        findings.settle();
        findings
    }
}

impl Findings {
    /// Returns a collection of one finding.
    #[must_use]
    pub fn of(diagnostic: Diagnostic) -> Self {
        let mut findings = Self::default();
        findings.add(diagnostic);
        findings
    }

    /// Joins the paths of fields.
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
        if self.diagnostics.len() < Log::MOST_FINDINGS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn add_counts(&mut self, other: &Self) {
        for (code, count) in &other.counts {
            *self.counts.entry(*code).or_default() += count;
        }
        for (fate, count) in &other.losses {
            *self.losses.entry(fate.clone()).or_default() += count;
        }
        other.masked.iter().for_each(|masked| self.add_masked(masked));
    }

    fn add_masked(&mut self, counts: &BTreeMap<String, u64>) {
        let masked = self.masked.get_or_insert_default();
        for (kind, count) in counts {
            *masked.entry(kind.clone()).or_default() += count;
        }
    }

    /// Returns the findings that are kept in full, and the counts without them.
    #[must_use]
    pub fn divided(mut self) -> (Vec<Diagnostic>, Self) {
        let found = std::mem::take(&mut self.diagnostics);
        for one in &found {
            self.counts.entry(one.code).and_modify(|count| *count -= 1);
        }
        self.counts.retain(|_, count| *count > 0);
        (found, self)
    }

    /// Returns the highest severity of the findings.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.counts.keys().map(|code| code.severity()).max()
    }

    /// Returns how many fields were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.losses
            .iter()
            .filter(|((fate, _), _)| *fate == FieldOutcome::Dropped)
            .map(|(_, n)| n)
            .sum()
    }
}

/// Returns the type of a block or item in the path of a loss, if the whole of it was lost.
fn kind_in(path: &str) -> Option<&str> {
    let (before, kind) = path.rsplit_once('.')?;
    let own = before == "opaque" || before.ends_with(".opaque");
    (own || kind == "document").then_some(kind)
}
