//! Which entries of a tree get a row of their own, and in which order.

use super::{Request, Shape};
use crate::record::{Kind, Record};
use crate::tree::{Bits, Branches, Path, Stop};
use serde::Serialize;
use std::collections::HashMap;

/// One row of a drawn tree.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// How many branches stand open to the left of it.
    pub depth: u32,
    /// Whether it begins a branch.
    pub begins: bool,
    /// What it shows.
    #[serde(flatten)]
    pub item: Item,
}

/// What a row shows.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Item {
    /// Several entries, one behind the other.
    Run {
        /// How many.
        run: u64,
    },
    /// One entry.
    Entry {
        /// Its identifier.
        id: String,
        /// Its line.
        line: u64,
        /// The kind of its record.
        kind: &'static str,
        /// Who speaks.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// When it was written.
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<String>,
        /// What it says, in a line.
        text: String,
        /// A person's mark on it.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Whether the session stands at it.
        leaf: bool,
        /// Whether it is on the way from the root to the leaf.
        active: bool,
    },
}

/// Entries that get a row wherever they stand.
#[derive(Debug, Default)]
pub struct Marks {
    /// What a person asked.
    questions: Bits,
    /// Summaries, labelled entries, the leaf.
    points: Bits,
}

impl Marks {
    /// Marks a record by its kind.
    pub fn note(&mut self, ordinal: u32, record: &Record) {
        if record.is_question() {
            self.questions.insert(ordinal);
        } else if matches!(record.kind, Kind::Compaction | Kind::BranchSummary) {
            self.points.insert(ordinal);
        }
    }

    /// Marks what people point at.
    pub fn points(&mut self, ordinals: impl Iterator<Item = u32>) {
        for ordinal in ordinals {
            self.points.insert(ordinal);
        }
    }
}

/// A tree as rows, those of entries still without their text.
#[derive(Debug, Default)]
pub struct Drawing {
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
    /// Where the row of an entry is, by its ordinal.
    places: HashMap<u32, usize>,
    /// The entries in no row.
    pub not_drawn: u64,
    /// The entries that a root leads to.
    pub reached: u64,
    /// What was counted on the way.
    pub shape: Shape,
}

impl Drawing {
    /// The row of an entry, if it has one of its own.
    pub fn row(&mut self, ordinal: u32) -> Option<&mut Row> {
        self.rows.get_mut(*self.places.get(&ordinal)?)
    }

    /// Adds the row of one entry.
    fn entry(&mut self, stop: Stop) {
        self.places.insert(stop.ordinal, self.rows.len());
        self.rows.push(Row { depth: stop.depth, begins: stop.begins, item: Item::Run { run: 1 } });
    }
}

/// Draws a tree. Where questions make too many rows, they are left to the runs between forks;
/// where there are too many rows still, the rest is counted only.
pub fn draw(branches: &Branches, main: &Path, marks: &Marks, request: Request) -> Drawing {
    let drawing = attempt(branches, main, request, |stop| {
        request.full
            || marks.points.contains(stop.ordinal)
            || marks.questions.contains(stop.ordinal)
    });
    if drawing.not_drawn == 0 || request.full {
        return drawing;
    }
    attempt(branches, main, request, |stop| marks.points.contains(stop.ordinal))
}

fn attempt(
    branches: &Branches,
    main: &Path,
    request: Request,
    wanted: impl Fn(&Stop) -> bool,
) -> Drawing {
    let mut drawing = Drawing::default();
    let mut run = 0;
    let mut bottom = 0;
    branches.walk(main, &mut |stop| {
        drawing.reached += 1;
        drawing.shape.roots += u64::from(stop.root);
        drawing.shape.forks += u64::from(stop.children > 1);
        drawing.shape.ends += u64::from(stop.children == 0);
        if !(stop.begins || stop.children != 1 || wanted(&stop)) {
            run += 1;
            bottom = stop.depth;
            return true;
        }
        if run > 0 && drawing.rows.len() < request.rows {
            drawing.rows.push(Row { depth: bottom, begins: false, item: Item::Run { run } });
            run = 0;
        }
        if drawing.rows.len() < request.rows {
            drawing.entry(stop);
        } else {
            drawing.not_drawn += run + 1;
            run = 0;
        }
        true
    });
    drawing
}
