//! What of a session a linear target gets: the branch that it stands on, as the source's own
//! software would send it to a model.

use crate::context::{as_message, is_plain};
use crate::diagnostic::{Code, Diagnostic, Fate, Log};
use crate::error::Result;
use crate::format::{Context, ContextFn, Cx, Format, Options, Parts};
use crate::formats::{Spec, canonical, records};
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::tree::{InOrder, Path, Shape, Tree, key_of};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The nodes on the way from the root to the leaf.
pub struct Branch {
    path: Path,
    /// The number of the record that the session stands at, if that has no identifier: such an entry
    /// of a tree follows nothing, and nothing follows it.
    alone: Option<u32>,
    /// The rules of the source, where the target is of another format.
    context: Option<Box<dyn Context>>,
    /// What is said before the first of the nodes, such as a summary of what was left out.
    before: Vec<Located<Record>>,
    /// The number of the last compaction among all records.
    summed_up: u32,
    /// How many nodes were taken.
    nodes: u32,
    /// Those whose turn has not come.
    order: InOrder<(u32, Located<Record>)>,
    /// What the target holds as its source does, where that is an older version of it.
    kinds: &'static [Kind],
    /// Whether edits of the context are none to such a target, so that messages must be edited.
    edits: bool,
    /// Whether the target is a tree that gets the branch as a list, and the last node of that.
    listed: Option<Json>,
    /// What such a target does not get, as an edit of the context leaves it out, and what follows
    /// it there.
    omitted: Vec<(Json, Option<Json>)>,
}

impl Branch {
    /// The branch of a session. `None` where the records come from a file of the very same
    /// version, or another linear one of the target's format: what that holds beside the
    /// conversation, this one holds, too. A tree gets all branches as they are, unless a compaction
    /// names one by one what it keeps, or a first one that is not sent: then it gets a list.
    ///
    /// # Errors
    /// If the session cannot be read.
    pub fn of(from: &Format, to: Spec, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Option<Self>> {
        parts.keep()?;
        // The last reading says what there is to say.
        let log = Log::default();
        // Who speaks decides which messages count, not what is said.
        let options = Options { contents: false, ..cx.options.unspelled() };
        let quiet = Cx { options: &options, log: &log };
        let mut survey = Survey::default();
        for (number, item) in (0..).zip(records(from, parts, &quiet)?) {
            if survey.record(number, item?, to).is_break() {
                return Ok(None);
            }
        }
        let fits = to.version().tree && survey.fits_a_tree();
        let home = survey.home;
        let tree = std::mem::take(&mut survey.shape).finish();
        // A file of the target's own format had the same faults; a person may have edited a stream.
        let stream =
            from.name == canonical::FORMAT.name && (home == Home::Elsewhere || to.version().tree);
        let leaf = survey.leaf.as_ref().filter(|_| stream);
        tell_faults(&tree, leaf, stream && to.version().tree, cx);
        if fits || home == Home::There {
            return Ok(None);
        }
        Self::chosen(&tree, survey, (from, parts), to, (cx, &quiet))
    }

    /// The branch of a session that was looked through.
    fn chosen(
        tree: &Tree,
        survey: Survey,
        (from, parts): (&Format, &mut dyn Parts),
        to: Spec,
        (cx, quiet): (&Cx<'_>, &Cx<'_>),
    ) -> Result<Option<Self>> {
        let Survey { nodes, mut look, leaf, last, .. } = survey;
        let leaf = leaf.map(|(leaf, _)| leaf);
        let last = last.filter(|_| leaf.is_none());
        let path = match &last {
            Some(_) => Path::default(),
            None => match tree.path(leaf.as_ref()) {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        let mut branch = Self::along(path, to);
        if let (Some(seen), Some((number, last))) = (&look, last) {
            let mut alone = Look::new(seen.session.clone(), to);
            alone.at(number, 0, &last);
            branch.alone = Some(number);
            branch.begin(alone, tree);
            return Ok(Some(branch));
        }
        if let Some(found) = branch.path.cycle() {
            cx.report(found);
            return Ok(Some(branch));
        }
        // Mostly all nodes are on the way, in their order, and were looked at as they came.
        let straight = (0..nodes).all(|node| branch.path.position(node) == Some(node));
        if let (Some(seen), false) = (&look, straight) {
            look = Some(branch.look(Look::new(seen.session.clone(), to), from, parts, quiet)?);
        }
        look.into_iter().for_each(|look| branch.begin(look, tree));
        Ok(Some(branch))
    }

    fn along(path: Path, to: Spec) -> Self {
        Self {
            path,
            alone: None,
            context: None,
            before: Vec::new(),
            summed_up: 0,
            nodes: 0,
            order: InOrder::default(),
            kinds: &[],
            edits: false,
            listed: to.version().tree.then_some(Json::constant("null")),
            omitted: Vec::new(),
        }
    }

    /// Shows the branch to the rules of its source.
    fn look(
        &self,
        mut look: Look,
        from: &Format,
        parts: &mut dyn Parts,
        quiet: &Cx<'_>,
    ) -> Result<Look> {
        let (mut nodes, mut order) = (0, InOrder::default());
        for (number, item) in (0..).zip(records(from, parts, quiet)?) {
            let located = item?;
            if look.rules.is_none() {
                break;
            }
            if located.value.is_node() {
                if let Some(position) = self.path.position(nodes) {
                    order.add(position, (number, located));
                }
                nodes += 1;
            }
            for (position, (number, located)) in order.by_ref() {
                look.at(number, position, &located);
            }
        }
        Ok(look)
    }

    /// Begins with what the rules of the source say of the branch.
    fn begin(&mut self, look: Look, tree: &Tree) {
        let Some((mut context, other)) = look.rules else { return };
        self.kinds = look.kinds;
        self.edits = look.edits && !other && !look.kinds.contains(&Kind::ContextEdit);
        self.summed_up = look.summed_up;
        let place = |id: &Json| self.path.position(tree.ordinal(id)?);
        for record in context.begin(&place).into_iter().filter(|_| other) {
            let sent = context.sent(&record).filter(|node| !node.is(Field::Role, "system"));
            let value = sent.map(|node| match &self.listed {
                // A tree has to call it something.
                Some(_) => as_message(node, &record.node),
                None => Record { kind: Kind::Message, node },
            });
            let at = Position::default();
            self.before.extend(value.map(|value| Located { value, at }));
        }
        self.context = Some(context);
    }

    /// What comes before the nodes, and the number of the record that says it.
    pub fn before(&mut self) -> (u32, Vec<Located<Record>>) {
        let mut before = std::mem::take(&mut self.before);
        before.iter_mut().for_each(|said| self.link(&mut said.value.node));
        (self.summed_up, before)
    }

    /// Whether the target has the same record.
    fn holds(&self, record: &Record) -> bool {
        // Only trees have messages of extensions.
        self.kinds.contains(&record.kind) && !record.node.is(Field::Subtype, "custom_message")
    }

    /// Takes the next node of the file, record `number`; one that is not on the way is counted.
    pub fn take(&mut self, number: u32, located: Located<Record>, log: &Log) {
        self.nodes += 1;
        match self.path.position(self.nodes - 1) {
            Some(position) => self.order.add(position, (number, located)),
            None => off_branch(located.value.kind, log),
        }
    }

    /// Takes a record that is no node. An entry that would be one if it had an identifier is on no
    /// way, which is counted, unless the session stands at it.
    pub fn beside(
        &mut self,
        number: u32,
        located: Located<Record>,
        log: &Log,
    ) -> Option<Located<Record>> {
        let kind = located.value.kind;
        match kind.is_named() {
            false => Some(located),
            true if self.alone == Some(number) => self.pass(0, located, log),
            true => {
                dropped(kind, "without an identifier", log);
                None
            }
        }
    }

    /// The next node on the way, as what it is to the target; `None` if its turn has not come.
    pub fn ready(&mut self, log: &Log) -> Option<(u32, Located<Record>)> {
        loop {
            let (position, (number, located)) = self.order.next()?;
            if let Some(mut node) = self.pass(position, located, log) {
                self.link(&mut node.value.node);
                return Some((number, node));
            }
        }
    }

    /// Puts a node behind the one before it, where the target is a tree.
    fn link(&mut self, node: &mut Node) {
        let Some(last) = &mut self.listed else { return };
        if let Some(id) = node.json(Field::Id).cloned() {
            node.set(Field::Parent, std::mem::replace(last, id));
        }
    }

    /// Edits a message as the context shows it, which is counted where it leaves it out. A
    /// compaction that would keep what was left out keeps what follows it.
    fn edit(&mut self, record: &mut Record, log: &Log) -> Option<()> {
        let id = record.node.json(Field::Id).cloned();
        if record.kind == Kind::Message {
            let edited = self.context.as_ref().map(|context| context.edited(record));
            match edited {
                Some(None) => {
                    dropped(record.kind, "that is not sent", log);
                    self.omitted.extend(id.map(|id| (id, None)));
                    return None;
                }
                Some(Some(edited)) => *record = edited,
                None => {}
            }
        }
        for (_, next) in self.omitted.iter_mut().filter(|(_, next)| next.is_none()) {
            next.clone_from(&id);
        }
        let kept = record.node.json(Field::FirstKept);
        let next = self.omitted.iter().find(|(omitted, _)| Some(omitted) == kept);
        if let Some(next) = next.and_then(|(_, next)| next.clone()) {
            record.node.set(Field::FirstKept, next);
        }
        Some(())
    }

    /// What a node is to the target; `None` if it is nothing, which is counted.
    fn pass(
        &mut self,
        position: u32,
        mut located: Located<Record>,
        log: &Log,
    ) -> Option<Located<Record>> {
        let kind = located.value.kind;
        if self.listed.is_some() && kind == Kind::ContextEdit {
            // What it says of the branch was done.
            dropped(kind, "of the branch", log);
            return None;
        }
        if self.edits {
            self.edit(&mut located.value, log)?;
        }
        let spoken = [Kind::Message, Kind::Compaction, Kind::BranchSummary].contains(&kind);
        let spoken = spoken && !self.holds(&located.value);
        let Some(context) = self.context.as_mut().filter(|_| spoken) else {
            return Some(located);
        };
        let at = located.at;
        let sent = if is_plain(&located.value) {
            // Edits leave it what it is.
            let message = context.taken(position, located.value);
            message.filter(|message| context.is_sent(message))
        } else {
            let message = context.message(position, &located.value);
            message.and_then(|message| {
                let sent = context.sent(&message)?;
                let plain = is_plain(&message);
                Some(if plain { message } else { as_message(sent, &located.value.node) })
            })
        };
        match sent {
            Some(value) => Some(Located { value, at }),
            // A summary was said before.
            None if kind == Kind::Compaction => None,
            None => {
                dropped(kind, "that is not sent", log);
                None
            }
        }
    }
}

/// Counts a node that stands on no way to the leaf.
pub fn off_branch(kind: Kind, log: &Log) {
    dropped(kind, "off the active branch", log);
}

/// Counts a node that the target does not get.
fn dropped(kind: Kind, why: &str, log: &Log) {
    log.count(Fate::Dropped, &format!("{} {why}", kind.name()));
}

/// Where a session comes from, as a target sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Home {
    /// Another format, or none.
    #[default]
    Elsewhere,
    /// Another version of the target's format.
    Near,
    /// The target itself, or another linear version of its format: it has a place for all of it.
    There,
}

impl Home {
    fn of(session: &Node, to: Spec) -> Self {
        let source = Spec::of(session);
        let linear = source.version.is_some_and(|version| !version.tree);
        let same = source.version.is_some_and(|version| version.number == to.version().number);
        match source.format.name == to.format.name {
            true if linear || same => Self::There,
            true => Self::Near,
            false => Self::Elsewhere,
        }
    }
}

/// What the first walk over a session finds.
#[derive(Default)]
struct Survey {
    shape: Shape,
    nodes: u32,
    /// What the rules of the source saw, if all nodes are on the way.
    look: Option<Look>,
    leaf: Option<(Json, Position)>,
    home: Home,
    /// The last entry, if it is a message without an identifier, and its number.
    last: Option<(u32, Located<Record>)>,
    /// Whether a compaction names one by one what it keeps.
    listed: bool,
    /// What compactions call the first message that they keep, and messages that stand beside the
    /// conversation in a tree, by hashes.
    first_kept: HashSet<u64>,
    aside: HashSet<u64>,
}

impl Survey {
    /// Whether a tree can say what compactions keep: by the first entry, which must be one that leads
    /// to them there.
    fn fits_a_tree(&self) -> bool {
        !self.listed && self.first_kept.is_disjoint(&self.aside)
    }

    /// Takes a record; breaks off where the target has a place for all that the source has.
    fn record(&mut self, number: u32, located: Located<Record>, to: Spec) -> ControlFlow<()> {
        let Record { kind, node } = &located.value;
        self.listed |= node.json(Field::Kept).is_some();
        let key = |field| node.json(field).map(|id| key_of(id.as_bytes()));
        self.first_kept.extend(key(Field::FirstKept));
        self.aside.extend(key(Field::Id).filter(|_| located.value.is_aside()));
        if located.value.is_node() {
            self.shape.record(&located);
            self.look.iter_mut().for_each(|look| look.at(number, self.nodes, &located));
            self.nodes += 1;
            self.last = None;
        } else if *kind == Kind::Session {
            self.home = Home::of(node, to);
            match (self.home, to.version().tree) {
                (Home::There, true) => return ControlFlow::Continue(()),
                (Home::There, false) => return ControlFlow::Break(()),
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

/// Says why the target may not be what was meant: a conversation that begins elsewhere, or ends there
/// by this leaf, or, of a tree that comes from no such, one that the target's software cannot read.
fn tell_faults(tree: &Tree, leaf: Option<&(Json, Position)>, whole: bool, cx: &Cx<'_>) {
    let gone = |(leaf, _): &&(Json, Position)| !leaf.is_null() && tree.ordinal(leaf).is_none();
    if let Some((_, at)) = leaf.filter(gone) {
        let message = "the leaf of the session is not in the stream; the last entry is taken";
        cx.report(Diagnostic::new(Code::MissingTarget, message).at(*at));
    }
    // Another target gets one branch, and who follows that says what is wrong with it.
    let counts = |code| match code {
        Code::MissingParent => true,
        Code::DuplicateId | Code::Cycle => whole,
        _ => false,
    };
    tree.findings().filter(|found| counts(found.code)).for_each(|found| cx.report(found));
}

/// A branch under the rules of its source, if the target has others.
struct Look {
    session: Record,
    /// The rules, and whether the source is of another format. `None` where its software could build
    /// no context; all that is said is written then.
    rules: Option<(Box<dyn Context>, bool)>,
    kinds: &'static [Kind],
    summed_up: u32,
    /// Whether anything edits the context.
    edits: bool,
}

impl Look {
    fn new(session: Record, to: Spec) -> Self {
        let rules = rules(&session, to).map(|(open, other)| (open(&session), other));
        let kinds =
            if rules.as_ref().is_some_and(|(_, other)| !other) { to.version().kinds } else { &[] };
        Self { session, rules, kinds, summed_up: 0, edits: false }
    }

    /// Looks at node `number` of all records, which stands at this position of the branch.
    fn at(&mut self, number: u32, position: u32, node: &Located<Record>) {
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

/// The rules of a session's source, and whether that is another format than the target's.
fn rules(session: &Record, to: Spec) -> Option<(ContextFn, bool)> {
    let source = Spec::of(&session.node).format;
    let other = source.name != to.format.name;
    Some((source.context?, other))
}
