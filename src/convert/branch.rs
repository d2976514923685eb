//! Branch of a session that a linear target gets: the branch with the session's leaf, as the
//! source's own software would send it to a model.

use super::forks::Forks;
use super::survey::{Look, SourceKind, Survey, report_faults};
use crate::context::{as_message, is_plain};
use crate::diagnostic::{Code, Diagnostic, Log};
use crate::error::Result;
use crate::format::{Context, Cx, Format, Options, Parts};
use crate::formats::{Spec, canonical, records};
use crate::json::Json;
use crate::position::{Located, Position};
use crate::record::{Field, Kind, Node, Record};
use crate::tree::{InOrder, Path, Place, Shape, Straight, Tree};

/// The nodes on the path from the root to the leaf.
pub struct Branch {
    path: Path,
    /// Shape of the records read so far, of a session that is assumed to be one straight path.
    ahead: Option<Ahead>,
    /// The number of the record that is the session's leaf, if that has no identifier: such an
    /// entry of a tree follows no entry, and no entry follows it.
    alone: Option<u32>,
    /// The rules of the source, where the target is of another format.
    context: Option<Box<dyn Context>>,
    /// Messages before the first of the nodes, such as a summary of those that are left out.
    before: Vec<Located<Record>>,
    /// The number of the last compaction among all records.
    summed_up: u32,
    /// Number of nodes that were taken.
    nodes: u32,
    /// Number of messages that the target gets, that are on other branches, and that are not sent.
    shown: u64,
    elsewhere: u64,
    unsent: u64,
    /// Nodes that wait for nodes before them on the path.
    order: InOrder<(u32, Located<Record>)>,
    /// Kinds of records that the target holds as its source does, where the source is an older
    /// version of it.
    kinds: &'static [Kind],
    /// Whether the target has no records for edits of the context, so that the messages themselves
    /// must be edited.
    edits: bool,
    /// The identifier of the last node, where the target is a tree that gets the branch as a list.
    listed: Option<Json>,
    /// Nodes that a tree with such a list does not get, because an edit of the context leaves them
    /// out, each with the node that follows it there.
    omitted: Vec<(Json, Option<Json>)>,
}

impl Branch {
    /// Returns the branch of a session. `None` where the records come from a file of the very same
    /// version, or of another linear version of the target's format: the target can hold all
    /// records of such a file. A tree gets all branches as they are, unless a compaction names one
    /// by one the entries that it keeps, or names a first kept entry that is not sent: then the
    /// tree gets a list. Shows all records to `forks`.
    ///
    /// # Errors
    /// If the session cannot be read.
    pub fn of(
        (from, to): (&Format, Spec),
        parts: &mut dyn Parts,
        forks: &mut Option<Forks>,
        cx: &Cx<'_>,
    ) -> Result<Option<Self>> {
        parts.keep()?;
        // The last reading reports the findings.
        let log = Log::default();
        // The roles decide which messages count, not their contents.
        let options = Options { contents: false, ..cx.options.clone() };
        let quiet = Cx { options: &options, log: &log };
        let mut survey = Survey::within(cx.options.index_memory);
        for (number, item) in (0..).zip(records(from, parts, &quiet)?) {
            let located = item?;
            forks.iter_mut().for_each(|forks| forks.record(&located.value));
            if survey.record(number, located, to).is_break() {
                return Ok(None);
            }
        }
        let fits = to.version().tree && survey.fits_a_tree();
        let home = survey.source;
        let tree = std::mem::take(&mut survey.shape).finish();
        // A file of the target's own format had the same faults; the user may have edited a stream.
        let stream = from.name == canonical::FORMAT.name
            && (home == SourceKind::OtherFormat || to.version().tree);
        let leaf = survey.leaf.as_ref().filter(|_| stream);
        report_faults(&tree, leaf, (stream && to.version().tree, fits), cx);
        if fits || home == SourceKind::Same {
            return Ok(None);
        }
        Self::chosen(&tree, survey, (from, parts), to, (cx, &quiet))
    }

    /// Returns the branch of a session that was surveyed.
    fn chosen(
        tree: &Tree,
        survey: Survey,
        (from, parts): (&Format, &mut dyn Parts),
        to: Spec,
        (cx, quiet): (&Cx<'_>, &Cx<'_>),
    ) -> Result<Option<Self>> {
        let Survey { straight, mut look, leaf, last, .. } = survey;
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
            branch.begin(alone, &|id| tree.ordinal(id));
            return Ok(Some(branch));
        }
        if let Some(found) = branch.path.cycle() {
            cx.report(found);
            return Ok(Some(branch));
        }
        // In most sessions the nodes are on the path in their order, and were shown as they came.
        if let (Some(seen), false) = (&look, straight.is(&branch.path)) {
            look = Some(branch.look(Look::new(seen.session.clone(), to), from, parts, quiet)?);
        }
        look.into_iter().for_each(|look| branch.begin(look, &|id| tree.ordinal(id)));
        Ok(Some(branch))
    }

    /// Returns the branch of a session of which only this first record is known, assumed to be one
    /// straight path that no compaction or edit shortens. Whether it [is](Self::is_straight) is
    /// determined as the records come, so that one reading is enough for most sessions.
    pub fn ahead(session: &Record, to: Spec, cx: &Cx<'_>) -> Self {
        let mut branch = Self::along(Path::default(), to);
        let shape = Shape::within(cx.options.index_memory);
        let straight = Straight::default();
        branch.ahead = Some(Ahead { shape, straight, place: Place::Elsewhere, leaf: None });
        branch.begin(Look::new(session.clone(), to), &|_| None);
        branch
    }

    /// Whether the session may still be one straight path, with this record.
    pub fn goes_on(&mut self, located: &Located<Record>) -> bool {
        let Some(ahead) = &mut self.ahead else { return true };
        let Record { kind, node } = &located.value;
        if *kind == Kind::Session {
            ahead.leaf = node.json(Field::Leaf).cloned().or(ahead.leaf.take());
            return ahead.leaf.is_none() || ahead.leaf.as_ref() == ahead.straight.last();
        }
        if !located.value.is_node() {
            return !kind.is_named();
        }
        ahead.shape.record(located);
        ahead.place = ahead.straight.node(&located.value);
        let cuts = [Kind::Compaction, Kind::ContextEdit].contains(kind);
        match (ahead.place, &mut self.context) {
            (Place::Elsewhere, _) => false,
            (Place::On(place), Some(context)) => !cuts && context.look(place, located).is_ok(),
            _ => !cuts,
        }
    }

    /// Whether the session is one straight path, now that all of it was read.
    pub fn is_straight(&mut self) -> bool {
        let Some(ahead) = self.ahead.take() else { return true };
        let path = ahead.shape.finish().path(ahead.leaf.as_ref());
        path.is_some_and(|path| ahead.straight.is(&path))
    }

    /// Returns the place on the path of a node, which is the one that was looked at last.
    fn position(&self, node: u32) -> Option<u32> {
        match &self.ahead {
            Some(Ahead { place: Place::On(place), .. }) => Some(*place),
            Some(_) => None,
            None => self.path.position(node),
        }
    }

    fn along(path: Path, to: Spec) -> Self {
        Self {
            path,
            ahead: None,
            alone: None,
            context: None,
            before: Vec::new(),
            summed_up: 0,
            nodes: 0,
            shown: 0,
            elsewhere: 0,
            unsent: 0,
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
            look.pass(&located.value);
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

    /// Begins with the messages that the rules of the source put before the branch.
    fn begin(&mut self, look: Look, ordinal: &dyn Fn(&Json) -> Option<u32>) {
        let Some((mut context, other)) = look.rules else { return };
        self.kinds = look.kinds;
        self.edits = look.edits && !other && !look.kinds.contains(&Kind::ContextEdit);
        self.summed_up = look.summed_up;
        let place = |id: &Json| self.path.position(ordinal(id)?);
        for record in context.begin(&place).into_iter().filter(|_| other) {
            let sent = context.sent(&record).filter(|node| !node.is(Field::Role, "system"));
            let value = sent.map(|node| match &self.listed {
                // A tree requires an identifier for it.
                Some(_) => as_message(node, &record.node),
                None => Record { kind: Kind::Message, node },
            });
            let at = Position::default();
            self.before.extend(value.map(|value| Located { value, at }));
        }
        self.context = Some(context);
    }

    /// Returns the messages before the nodes, and the number of the record that contains them.
    pub fn before(&mut self) -> (u32, Vec<Located<Record>>) {
        let mut before = std::mem::take(&mut self.before);
        before.iter_mut().for_each(|located| self.link(&mut located.value.node));
        (self.summed_up, before)
    }

    /// Whether the target can hold this record as it is.
    fn holds(&self, record: &Record) -> bool {
        // Only trees have messages of extensions.
        self.kinds.contains(&record.kind) && !record.node.is(Field::Subtype, "custom_message")
    }

    /// Takes the next node of the file, record `number`; a node that is not on the path is counted.
    pub fn take(&mut self, number: u32, located: Located<Record>, log: &Log) {
        self.nodes += 1;
        match self.position(self.nodes - 1) {
            Some(position) => self.order.add(position, (number, located)),
            None => {
                self.elsewhere += u64::from(is_conversation(&located.value));
                off_branch(located.value.kind, log);
            }
        }
    }

    /// Returns a note if the target does not get all messages because of other branches or of a
    /// compaction. Single messages that are never sent, such as failed answers, need none.
    pub fn note(&self, to: Spec) -> Option<Diagnostic> {
        let Self { shown, elsewhere, unsent, .. } = self;
        let (target, all) = (to.format.at(to.version().number), shown + elsewhere + unsent);
        let others = [(elsewhere, "on other branches"), (unsent, "not sent to a model")];
        let others = others.iter().filter(|(count, _)| **count > 0);
        let others: Vec<_> = others.map(|(count, what)| format!("{count} {what}")).collect();
        let message = format!("{target} shows {shown} of {all} messages; {}", others.join(", "));
        (*elsewhere > 0 || self.summed_up > 0 && *unsent > 0)
            .then(|| Diagnostic::new(Code::NotShown, message))
    }

    /// Takes a record that is not a node. An entry that would be a node if it had an identifier is
    /// on no path, which is counted, unless it is the session's leaf.
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

    /// Returns the next node on the path, in the form for the target; `None` if nodes before it are
    /// missing.
    pub fn ready(&mut self, log: &Log) -> Option<(u32, Located<Record>)> {
        loop {
            let (position, (number, located)) = self.order.next()?;
            let messages = u64::from(is_conversation(&located.value));
            self.unsent += messages;
            if let Some(mut node) = self.pass(position, located, log) {
                self.link(&mut node.value.node);
                self.unsent -= messages;
                self.shown += messages;
                return Some((number, node));
            }
        }
    }

    /// Makes a node the child of the node before it, where the target is a tree.
    fn link(&mut self, node: &mut Node) {
        let Some(last) = &mut self.listed else { return };
        if let Some(id) = node.json(Field::Id).cloned() {
            node.set(Field::Parent, std::mem::replace(last, id));
        }
    }

    /// Edits a message as the context shows it; counts a message that the context leaves out. A
    /// compaction whose first kept entry is left out keeps the entry that follows it.
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
        record.node.put(Field::FirstKept, next.and_then(|(_, next)| next.clone()));
        Some(())
    }

    /// Returns a node in the form for the target; `None` if the target does not get it, which is
    /// counted.
    fn pass(
        &mut self,
        position: u32,
        mut located: Located<Record>,
        log: &Log,
    ) -> Option<Located<Record>> {
        let kind = located.value.kind;
        if self.listed.is_some() && kind == Kind::ContextEdit {
            // The edit was applied to the branch.
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
            // Edits do not change whether a record is a message.
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
            // The summary was written before.
            None if kind == Kind::Compaction => None,
            None => {
                dropped(kind, "that is not sent", log);
                None
            }
        }
    }
}

/// State of a session that is assumed to be one straight path.
struct Ahead {
    shape: Shape,
    straight: Straight,
    /// Place of the node that was looked at last.
    place: Place,
    /// The leaf that the session names.
    leaf: Option<Json>,
}

/// Whether a record is a message of the conversation itself, not of a sub-agent.
fn is_conversation(record: &Record) -> bool {
    record.kind == Kind::Message && !record.is_aside()
}

/// Counts a node that is on no path to the leaf.
pub fn off_branch(kind: Kind, log: &Log) {
    dropped(kind, "off the active branch", log);
}

/// Counts a node that the target does not get.
fn dropped(kind: Kind, why: &str, log: &Log) {
    log.lost(&format!("{} {why}", kind.name()));
}
