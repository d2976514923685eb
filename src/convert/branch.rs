//! What of a session a linear target gets: the branch that it stands on, as the source's own
//! software would send it to a model.

use crate::context::{as_message, is_plain};
use crate::diagnostic::{Fate, Log};
use crate::error::Result;
use crate::format::{Context, ContextFn, Cx, Format, Parts};
use crate::formats::Spec;
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::tree::{InOrder, Path, Shape, Tree};

/// The nodes on the way from the root to the leaf.
pub struct Branch {
    path: Path,
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
    /// What such a target does not get, as an edit of the context leaves it out, and what follows
    /// it there.
    omitted: Vec<(Json, Option<Json>)>,
}

impl Branch {
    /// The branch of a session. `None` where the records come from a file of the very same
    /// version, or another linear one of the target's format: what that holds beside the
    /// conversation, this one holds, too.
    ///
    /// # Errors
    /// If the session cannot be read.
    pub fn of(from: &Format, to: Spec, parts: &mut dyn Parts, cx: &Cx<'_>) -> Result<Option<Self>> {
        parts.keep()?;
        let same = to.format.at(to.version().number);
        // The last reading says what there is to say.
        let log = Log::default();
        let options = cx.options.unspelled();
        let quiet = Cx { options: &options, log: &log };
        let (mut shape, mut nodes) = (Shape::default(), 0);
        let (mut look, mut leaf) = (None::<Look>, None);
        for (number, item) in (0..).zip((from.read)(parts, &quiet)?) {
            let located = item?;
            if located.value.is_node() {
                shape.record(&located);
                look.iter_mut().for_each(|look| look.at(number, nodes, &located));
                nodes += 1;
            } else if located.value.kind == Kind::Session {
                let node = &located.value.node;
                if node.is(Field::Source, &same) || is_as_linear(node, to) {
                    return Ok(None);
                }
                leaf = node.json(Field::Leaf).cloned().or(leaf);
                look.get_or_insert_with(|| Look::new(located.value, to));
            }
        }
        let tree = shape.finish();
        let Some(path) = tree.path(leaf.as_ref()) else { return Ok(None) };
        let mut branch = Self {
            path,
            context: None,
            before: Vec::new(),
            summed_up: 0,
            nodes: 0,
            order: InOrder::default(),
            kinds: &[],
            edits: false,
            omitted: Vec::new(),
        };
        if let Some(found) = branch.path.cycle() {
            cx.report(found);
            return Ok(Some(branch));
        }
        // Mostly all nodes are on the way, in their order, and were looked at as they came.
        let straight = (0..nodes).all(|node| branch.path.position(node) == Some(node));
        if let (Some(seen), false) = (&look, straight) {
            look = Some(branch.look(Look::new(seen.session.clone(), to), from, parts, &quiet)?);
        }
        look.into_iter().for_each(|look| branch.begin(look, &tree));
        Ok(Some(branch))
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
        for (number, item) in (0..).zip((from.read)(parts, quiet)?) {
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
            let value = sent.map(|node| Record { kind: Kind::Message, node });
            let at = Position::default();
            self.before.extend(value.map(|value| Located { value, at }));
        }
        self.context = Some(context);
    }

    /// What comes before the nodes, and the number of the record that says it.
    pub fn before(&mut self) -> (u32, Vec<Located<Record>>) {
        (self.summed_up, std::mem::take(&mut self.before))
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
            None => dropped(located.value.kind, "off the active branch", log),
        }
    }

    /// The next node on the way, as what it is to the target; `None` if its turn has not come.
    pub fn ready(&mut self, log: &Log) -> Option<(u32, Located<Record>)> {
        loop {
            let (position, (number, located)) = self.order.next()?;
            if let Some(node) = self.pass(position, located, log) {
                return Some((number, node));
            }
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
        if self.edits {
            self.edit(&mut located.value, log)?;
        }
        let spoken = [Kind::Message, Kind::Compaction, Kind::BranchSummary].contains(&kind);
        let spoken = spoken && !self.holds(&located.value);
        let Some(context) = self.context.as_mut().filter(|_| spoken) else {
            return Some(located);
        };
        let message = context.message(position, &located.value);
        let sent = message.and_then(|message| {
            let sent = context.sent(&message)?;
            Some(if is_plain(&message) { message } else { as_message(sent, &located.value.node) })
        });
        match sent {
            Some(value) => Some(Located { value, at: located.at }),
            // A summary was said before.
            None if kind == Kind::Compaction => None,
            None => {
                dropped(kind, "that is not sent", log);
                None
            }
        }
    }
}

/// Counts a node that the target does not get.
fn dropped(kind: Kind, why: &str, log: &Log) {
    log.count(Fate::Dropped, &format!("{} {why}", kind.name()));
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
    let source = Spec::parse(&session.node.text(Field::Source)?).ok()?;
    let other = source.format.name != to.format.name;
    Some((source.format.context?, other))
}

/// Whether a session comes from another linear version of the target's format.
fn is_as_linear(session: &Node, to: Spec) -> bool {
    let source = session.text(Field::Source).and_then(|source| Spec::parse(&source).ok());
    source.is_some_and(|from| from.format.name == to.format.name && !from.version().tree)
}
