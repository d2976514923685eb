//! Survey of a session before it is written: its shape, and the decisions of the rules of its
//! source.

use crate::diagnostic::{Code, Diagnostic};
use crate::format::{Context, ContextFn, Cx, Format};
use crate::formats::{Spec, canonical};
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::tree::{Place, Shape, Straight, Tree, key_of};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Where a session comes from, as a target sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceKind {
    /// Another format, or none.
    #[default]
    OtherFormat,
    /// Another version of the target's format.
    OtherVersion,
    /// The target itself, or another linear version of its format: the target has a place for all
    /// of it.
    Same,
}

impl SourceKind {
    fn of(session: &Node, to: Spec) -> Self {
        let source = Spec::of(session);
        let linear = source.version.is_some_and(|version| !version.tree);
        let same = source.version.is_some_and(|version| version.number == to.version().number);
        match source.format.name == to.format.name {
            true if linear || same => Self::Same,
            true => Self::OtherVersion,
            false => Self::OtherFormat,
        }
    }
}

/// Results of the first walk over a session.
#[derive(Default)]
pub struct Survey {
    pub shape: Shape,
    pub straight: Straight,
    /// The rules of the source after the walk, valid if the session is one straight path.
    pub look: Option<Look>,
    pub leaf: Option<(Json, Position)>,
    pub source: SourceKind,
    /// The last entry, if it is a message without an identifier, and its number.
    pub last: Option<(u32, Located<Record>)>,
    /// Whether a compaction names one by one the entries that it keeps.
    listed: bool,
    /// Whether a compaction or an edit of the context has no record in the target.
    unheld: bool,
    /// Hashes of the identifiers of the first messages that compactions keep, and of the messages
    /// that are beside the conversation in a tree.
    first_kept: HashSet<u64>,
    aside: HashSet<u64>,
}

impl Survey {
    /// Returns a survey before the first record, which will take at most so many bytes of memory
    /// for the shape.
    pub fn within(bytes: usize) -> Self {
        Self { shape: Shape::within(bytes), ..Self::default() }
    }

    /// Whether a tree can express which entries compactions keep: by the first kept entry, which
    /// must lead to the others in the tree.
    pub fn fits_a_tree(&self) -> bool {
        !self.listed && !self.unheld && self.first_kept.is_disjoint(&self.aside)
    }

    /// Takes a record; breaks off where the target has a place for all data of the source.
    pub fn record(&mut self, number: u32, located: Located<Record>, to: Spec) -> ControlFlow<()> {
        let Record { kind, node } = &located.value;
        self.listed |= node.json(Field::Kept).is_some();
        let cuts = [Kind::Compaction, Kind::ContextEdit].contains(kind);
        self.unheld |= cuts && to.version().tree && !to.version().kinds.contains(kind);
        let key = |field| node.json(field).map(|id| key_of(id.as_bytes()));
        self.first_kept.extend(key(Field::FirstKept));
        self.aside.extend(key(Field::Id).filter(|_| located.value.is_aside()));
        self.look.iter_mut().for_each(|look| look.pass(&located.value));
        if located.value.is_node() {
            self.shape.record(&located);
            if let (Place::On(place), Some(look)) =
                (self.straight.node(&located.value), &mut self.look)
            {
                look.at(number, place, &located);
            }
            self.last = None;
        } else if *kind == Kind::Session {
            self.source = SourceKind::of(node, to);
            match (self.source, to.version().tree) {
                (SourceKind::Same, true) => return ControlFlow::Continue(()),
                (SourceKind::Same, false) => return ControlFlow::Break(()),
                _ => {}
            }
            let leaf = node.json(Field::Leaf).map(|leaf| (leaf.clone(), located.at));
            self.leaf = leaf.or(self.leaf.take());
            self.look.get_or_insert_with(|| Look::new(located.value, to));
        } else if kind.is_named() {
            self.last = (*kind == Kind::Message).then_some((number, located));
        }
        ControlFlow::Continue(())
    }
}

/// Reports why the target may differ from the user's intent: a conversation that begins at a
/// missing parent, a leaf that is missing, or, for a tree that comes from another format, a tree
/// that the target's software cannot read. `whole` is true for a stream, `branches` for any other
/// session that keeps its branches.
pub fn report_faults(
    tree: &Tree,
    leaf: Option<&(Json, Position)>,
    (whole, branches): (bool, bool),
    cx: &Cx<'_>,
) {
    let gone = |(leaf, _): &&(Json, Position)| !leaf.is_null() && tree.ordinal(leaf).is_none();
    if let Some((_, at)) = leaf.filter(gone) {
        let message = "the leaf of the session is not in the stream; the last entry is used";
        cx.report(Diagnostic::new(Code::MissingTarget, message).at(*at));
    }
    // Another target gets one branch, and the code that follows the branch reports its defects.
    let counts = |code| match code {
        Code::MissingParent => true,
        Code::DuplicateId => whole,
        Code::Cycle => whole || branches,
        _ => false,
    };
    tree.findings().filter(|found| counts(found.code)).for_each(|found| cx.report(found));
}

/// Whether the target can express all branches of every session of the format.
pub fn is_whole(from: &Format, to: Spec) -> bool {
    // Only streams hold data that a tree cannot express. A tree may have no records for what
    // decides about the context, and a history that was replaced is not a branch of any tree.
    let stream = canonical::FORMAT.name;
    let wide = from.name == stream || from.replaces_history();
    let cuts = [Kind::Compaction, Kind::ContextEdit];
    let holds = cuts.iter().all(|kind| to.version().kinds.contains(kind));
    let fits = !wide && (holds || from.name == to.format.name);
    to.version().tree && (fits || to.format.name == stream)
}

/// A branch under the rules of its source, if the target has other rules.
pub struct Look {
    pub session: Record,
    /// The rules, and whether the source is of another format. `None` where its software could not
    /// build a context; all messages are written then.
    pub rules: Option<(Box<dyn Context>, bool)>,
    pub kinds: &'static [Kind],
    pub summed_up: u32,
    /// Whether anything edits the context.
    pub edits: bool,
}

impl Look {
    pub fn new(session: Record, to: Spec) -> Self {
        let rules = rules(&session, to).map(|(open, other)| (open(&session), other));
        let kinds =
            if rules.as_ref().is_some_and(|(_, other)| !other) { to.version().kinds } else { &[] };
        Self { session, rules, kinds, summed_up: 0, edits: false }
    }

    /// Shows a record of the session, on the branch or not, to the rules.
    pub fn pass(&mut self, record: &Record) {
        if let Some((context, _)) = &mut self.rules {
            context.pass(record);
        }
    }

    /// Shows node `number` of all records to the rules, at this position of the branch.
    pub fn at(&mut self, number: u32, position: u32, node: &Located<Record>) {
        if node.value.kind == Kind::Compaction {
            self.summed_up = number;
        }
        self.edits |= node.value.kind == Kind::ContextEdit;
        if let Some((context, _)) = &mut self.rules
            && context.look(position, node).is_err()
        {
            self.rules = None;
        }
    }
}

/// Returns the rules of a session's source, and whether the source's format differs from the
/// target's.
fn rules(session: &Record, to: Spec) -> Option<(ContextFn, bool)> {
    let source = Spec::of(&session.node).format;
    let other = source.name != to.format.name;
    Some((source.agent.context?, other))
}
