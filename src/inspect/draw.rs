//! Drawing of a tree: chooses which entries get a row of their own, and their order.

use super::{Request, Shape};
use crate::record::{Kind, Record};
use crate::tree::{Bits, Branches, Path, Stop};
use crate::user_words::UserWords;
use serde::Serialize;
use std::collections::HashMap;

/// One row of a drawn tree.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Number of open branches to the left of the row.
    pub depth: u32,
    /// Whether the row begins a branch.
    pub begins: bool,
    /// Content of the row.
    #[serde(flatten)]
    pub item: Item,
}

/// Content of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Item {
    /// Several entries, one behind the other.
    Run {
        /// Number of the entries.
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
        /// Role of the speaker.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// Time at which it was written.
        #[serde(skip_serializing_if = "Option::is_none")]
        time: Option<String>,
        /// Preview of its content, in one line.
        text: String,
        /// The user's label on it.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Whether it is the session's leaf.
        leaf: bool,
        /// Whether it is on the way from the root to the leaf.
        active: bool,
    },
}

/// Entries that get a row wherever they are.
#[derive(Debug, Default)]
pub struct Marks {
    /// Questions of the user.
    questions: Bits,
    /// Summaries, labelled entries, the leaf.
    points: Bits,
}

impl Marks {
    /// Marks a record by its kind.
    pub fn note(&mut self, ordinal: u32, record: &Record, user_words: UserWords) {
        if user_words.is_question(record) {
            self.questions.insert(ordinal);
        } else if matches!(record.kind, Kind::Compaction | Kind::BranchSummary) {
            self.points.insert(ordinal);
        }
    }

    /// Marks entries to which labels or the leaf refer.
    pub fn points(&mut self, ordinals: impl Iterator<Item = u32>) {
        for ordinal in ordinals {
            self.points.insert(ordinal);
        }
    }
}

/// A tree as rows; rows of entries have no text yet.
#[derive(Debug, Default)]
pub struct Drawing {
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
    /// Places of the rows of entries, by ordinal.
    places: HashMap<u32, usize>,
    /// Number of the entries that are in no row.
    pub not_drawn: u64,
    /// Number of the entries to which a root leads.
    pub reached: u64,
    /// Counts that were made on the way.
    pub shape: Shape,
}

impl Drawing {
    /// Returns the row of an entry, if it has one of its own.
    pub fn row(&mut self, ordinal: u32) -> Option<&mut Row> {
        self.rows.get_mut(*self.places.get(&ordinal)?)
    }

    /// Adds the row of one entry.
    fn entry(&mut self, stop: Stop) {
        self.places.insert(stop.ordinal, self.rows.len());
        self.rows.push(Row { depth: stop.depth, begins: stop.begins, item: Item::Run { run: 1 } });
    }
}

/// Draws a tree. Where questions make too many rows, they are included in the runs between forks;
/// where there are still too many rows, the rest is only counted.
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
